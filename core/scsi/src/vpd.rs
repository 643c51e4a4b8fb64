//! INQUIRY: the standard data, and the pages of vital product data.

use crate::TRANSFER_BLOCKS_MAX;
use crate::fields::{put, put_text};
use crate::identity::DiskIdentity;

/// Bytes of the standard data.
const INQUIRY_BYTES: usize = 96;

/// The pages of vital product data that there are.
const PAGES: [u8; 6] = [0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2];

/// The standard data of a disk that claims this version of the primary commands.
pub(crate) fn inquiry(identity: &DiskIdentity, version: u8) -> Vec<u8> {
    let mut data = vec![0; INQUIRY_BYTES];
    data[2] = version;
    // Hierarchical addressing of LUNs, and the form of response data that every disk has.
    data[3] = 0x12;
    data[4] = (INQUIRY_BYTES - 5) as u8;
    // Commands may be queued (CMDQUE).
    data[7] = 0x02;
    put_text(&mut data, 8, 8, &identity.vendor);
    put_text(&mut data, 16, 16, &identity.product);
    put_text(&mut data, 32, 4, &identity.revision);
    data
}

/// A page of vital product data; `None` if there is none of this code.
pub(crate) fn page(identity: &DiskIdentity, code: u8) -> Option<Vec<u8>> {
    let body = match code {
        0x00 => PAGES.to_vec(),
        0x80 => serial(identity),
        0x83 => designators(identity),
        0xb0 => block_limits(),
        0xb1 => characteristics(identity),
        // Provisioning: a disk that has all its blocks.
        0xb2 => vec![0; 4],
        _ => return None,
    };
    let mut page = vec![0, code];
    page.extend((body.len() as u16).to_be_bytes());
    page.extend(body);
    Some(page)
}

fn serial(identity: &DiskIdentity) -> Vec<u8> {
    let mut body = vec![0; identity.serial.len().clamp(1, 32)];
    let length = body.len();
    put_text(&mut body, 0, length, &identity.serial);
    body
}

/// The name in the world as a binary NAA of the local kind (3h), and vendor with product as text.
fn designators(identity: &DiskIdentity) -> Vec<u8> {
    let mut body = vec![0x01, 0x03, 0x00, 0x08];
    body.extend((identity.world_wide & u64::MAX >> 4 | 0x3 << 60).to_be_bytes());
    let mut text = vec![0; 24];
    put_text(&mut text, 0, 8, &identity.vendor);
    put_text(&mut text, 8, 16, &identity.product);
    body.extend([0x02, 0x01, 0x00, text.len() as u8]);
    body.extend(text);
    body
}

fn block_limits() -> Vec<u8> {
    let mut body = vec![0; 0x3c];
    // Transfers go best by whole physical sectors of eight blocks.
    put(&mut body, 2, &8u16.to_be_bytes());
    put(&mut body, 4, &(TRANSFER_BLOCKS_MAX as u32).to_be_bytes());
    body
}

fn characteristics(identity: &DiskIdentity) -> Vec<u8> {
    let mut body = vec![0; 0x3c];
    put(&mut body, 0, &identity.rpm.to_be_bytes());
    // The form factor: 3.5 inches.
    body[3] = 0x02;
    body
}
