//! The readers of descriptors with what may come: nothing panics, and what is accepted means one thing. Shared with the
//! targets in `fuzz/`, so it holds no tests. Each function returns whether its input was accepted.

use loadline_device::cdl::{AtaLimits, DescriptorPage};

/// Text as a `.cdl` file.
pub(crate) fn file(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let Ok(page) = DescriptorPage::parse(text) else { return false };
    assert_eq!(DescriptorPage::parse(&page.file()), Ok(page), "what is saved is read back");
    assert_eq!(DescriptorPage::from_mode_page(&page.to_mode_page()), Ok(page));
    assert!(page.to_string().lines().count() >= 7);
    true
}

/// Bytes as a mode page.
pub(crate) fn mode_page(bytes: &[u8]) -> bool {
    let Ok(page) = DescriptorPage::from_mode_page(bytes) else { return false };
    let again = page.to_mode_page();
    assert_eq!(
        DescriptorPage::from_mode_page(&again),
        Ok(page),
        "a page is written as it was read"
    );
    assert!(differ_in_reserved_bits_only(bytes, &again));
    file(page.file().as_bytes())
}

/// Bytes as an ATA log page.
pub(crate) fn ata_log(bytes: &[u8]) -> bool {
    let Ok(limits) = AtaLimits::from_log(bytes) else { return false };
    assert_eq!(
        AtaLimits::from_log(&limits.to_log()),
        Ok(limits),
        "a log is written as it was read"
    );
    assert!(differ_in_reserved_bits_only(bytes, &limits.to_log()));
    let (reads, writes) = limits.to_pages();
    file(reads.file().as_bytes()) && file(writes.file().as_bytes())
}

/// The writer sets no bit that it did not read: what it leaves out is reserved and zero.
fn differ_in_reserved_bits_only(read: &[u8], written: &[u8]) -> bool {
    read.len() == written.len()
        && read.iter().zip(written).all(|(read, written)| written & !read == 0)
}
