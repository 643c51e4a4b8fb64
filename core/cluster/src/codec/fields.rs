//! Fields that more than one part of the record has.

use loadline_store::paged::codec::Reader;

pub(super) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn put_list<T>(
    out: &mut Vec<u8>,
    items: impl ExactSizeIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    put_u32(out, u32::try_from(items.len()).expect("a list of the map is short"));
    items.for_each(|item| put(out, item));
}

pub(super) fn read_text(from: &mut Reader<'_>) -> Option<String> {
    String::from_utf8(from.bytes()?.to_vec()).ok()
}

/// A list's length is only believed as far as its entries go.
pub(super) fn read_list<T, L: FromIterator<T>>(
    from: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Option<T>,
) -> Option<L> {
    let count = from.u32()?;
    (0..count).map(|_| read(from)).collect()
}
