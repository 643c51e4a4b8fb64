//! A file with descriptors, in whatever form.

use crate::failure::Failure;
use loadline_device::cdl::{
    ATA_LOG_BYTES, AtaLimits, DescriptorPage, SIMPLE_PAGE_BYTES, T2_PAGE_BYTES,
};
use loadline_host::open_named;
use std::io::{self, Read};
use std::path::Path;

/// What a file holds.
pub(super) enum Descriptors {
    /// One set, from a `.cdl` file.
    Text(DescriptorPage),
    /// One set, from a mode page.
    ModePage(DescriptorPage),
    /// Those of reads and of writes, from an ATA log page.
    Ata(AtaLimits),
}

/// Larger files are none: the text of a page has about 2 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Descriptors {
    /// Reads a file. Pages and logs are told from text by their size and their first byte.
    pub(super) fn open(path: &Path) -> Result<Descriptors, Failure> {
        let bytes = read(path).map_err(|error| Failure::unreadable(path, &error))?;
        Descriptors::parse(&bytes)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
    }

    fn parse(bytes: &[u8]) -> Result<Descriptors, String> {
        let page_size = [SIMPLE_PAGE_BYTES, T2_PAGE_BYTES].contains(&bytes.len());
        // The control mode page with a subpage, saved or not; as text it would begin with a J.
        if page_size && bytes[0] & 0x7f == 0x4a {
            let page = DescriptorPage::from_mode_page(bytes).map_err(|error| error.to_string())?;
            return Ok(Descriptors::ModePage(page));
        }
        if bytes.len() == ATA_LOG_BYTES && bytes.contains(&0) {
            let limits = AtaLimits::from_log(bytes).map_err(|error| error.to_string())?;
            return Ok(Descriptors::Ata(limits));
        }
        // Zeros are text to a reader of characters.
        let text = str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| match page_size {
            true => "a mode page of descriptors begins with 4Ah, and this begins otherwise".to_owned(),
            false => format!(
                "neither the text of a .cdl file nor a mode page ({SIMPLE_PAGE_BYTES} or {T2_PAGE_BYTES} bytes) nor an \
                 ATA log page ({ATA_LOG_BYTES} bytes)"
            ),
        })?;
        Ok(Descriptors::Text(DescriptorPage::parse(text).map_err(|error| error.to_string())?))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_named(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
