//! What a real drive holds for descriptors, read from its mode pages by `sg_raw` of sg3_utils, where `cdladm` is not to be had.
//!
//! Drives behind libata are left to `cdladm`: Linux 6.12 translates their policies and their allowed loss wrongly (cdl.md 1.7).

use loadline_device::cdl::{DescriptorPage, ModePage, T2_PAGE_BYTES};
use std::path::Path;
use std::process::{Command, Stdio};

/// The pages of reads and of writes that a SCSI drive holds. The error is a sentence without the drive's name.
pub fn held_pages(path: &Path) -> Result<Vec<DescriptorPage>, String> {
    let name = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = name.file_name().unwrap_or_default();
    // The page by which a SATA drive behind a translation is known (ATA information).
    if Path::new("/sys/block").join(name).join("device/vpd_pg89").exists() {
        return Err("it is a SATA drive, whose descriptors only cdladm reads rightly".to_owned());
    }
    [ModePage::T2A, ModePage::T2B].into_iter().map(|kind| page(path, kind)).collect()
}

fn page(path: &Path, kind: ModePage) -> Result<DescriptorPage, String> {
    let failed = |why: String| format!("sg_raw cannot read page {kind}: {why}");
    // MODE SENSE(10) without block descriptors, with room for 512 bytes.
    let subpage = format!("{:02x}", kind.subpage());
    let command = ["5a", "08", "0a", &subpage, "00", "00", "00", "02", "00", "00"];
    let asked = Command::new("sg_raw")
        .args(["--binary", "--request=512"])
        .arg(path)
        .args(command)
        .stdin(Stdio::null())
        .output();
    let asked = asked.map_err(|error| failed(error.to_string()))?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        return Err(failed(last.unwrap_or("it said nothing").trim().to_owned()));
    }
    decode(&asked.stdout, kind).map_err(failed)
}

/// The page behind the header of MODE SENSE(10), whose last bytes tell how long the block descriptors are.
fn decode(data: &[u8], kind: ModePage) -> Result<DescriptorPage, String> {
    let short = || format!("the drive gave {} bytes", data.len());
    let descriptors = data.get(6..8).ok_or_else(short)?;
    let start = 8 + usize::from(u16::from_be_bytes([descriptors[0], descriptors[1]]));
    let page = data.get(start..start + T2_PAGE_BYTES).ok_or_else(short)?;
    let page = DescriptorPage::from_mode_page(page).map_err(|error| error.to_string())?;
    if page.kind() == kind { Ok(page) } else { Err(format!("the drive gave page {}", page.kind())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_behind_its_header() {
        let page = DescriptorPage::BENCHMARK_T2A;
        let data = |blocks: u8| {
            let mut header = vec![0, 0xee, 0, 0x10, 0, 0, 0, blocks];
            header.resize(8 + usize::from(blocks), 0);
            [header, page.to_mode_page(), vec![0; 20]].concat()
        };
        for blocks in [0, 8] {
            assert_eq!(decode(&data(blocks), ModePage::T2A), Ok(page));
        }
        assert_eq!(
            decode(&data(0), ModePage::T2B),
            Err("the drive gave page T2A".to_owned()),
            "another than was asked for"
        );
        assert_eq!(decode(&data(0)[..200], ModePage::T2A), Err("the drive gave 200 bytes".into()));
        assert_eq!(decode(&[], ModePage::T2A), Err("the drive gave 0 bytes".into()));
    }
}
