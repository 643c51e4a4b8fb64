//! Big-endian fields out of bytes and into them.

/// The field of `N` bytes at `start`.
fn at<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    let field = bytes[start..].first_chunk();
    *field.expect("a field lies inside what was checked to hold it")
}

pub(crate) fn u16_at(bytes: &[u8], start: usize) -> u16 {
    u16::from_be_bytes(at(bytes, start))
}

pub(crate) fn u32_at(bytes: &[u8], start: usize) -> u32 {
    u32::from_be_bytes(at(bytes, start))
}

pub(crate) fn u64_at(bytes: &[u8], start: usize) -> u64 {
    u64::from_be_bytes(at(bytes, start))
}

/// Writes a field at `start`.
pub(crate) fn put(bytes: &mut [u8], start: usize, field: &[u8]) {
    bytes[start..start + field.len()].copy_from_slice(field);
}

/// Text in a field of fixed length, filled up with blanks; what is no printable ASCII becomes a dot.
pub(crate) fn put_text(bytes: &mut [u8], start: usize, length: usize, text: &str) {
    let printable = |byte: u8| if matches!(byte, b' '..=b'~') { byte } else { b'.' };
    let filled = text.bytes().map(printable).chain(std::iter::repeat(b' '));
    bytes[start..start + length].iter_mut().zip(filled).for_each(|(place, byte)| *place = byte);
}
