//! The reader of a map with what may come: nothing panics, and what is accepted means one thing. Shared with the target
//! in `fuzz/`, so it holds no tests.

use loadline_cluster::codec::MapRecord;

/// Bytes as they are, and as the body of a record whose frame fits. Returns whether that was accepted.
pub(crate) fn map(bytes: &[u8]) -> bool {
    let _ = MapRecord::decode(bytes);
    // What was read of the older format is written in the new one, and still the same.
    if let Ok(record) = MapRecord::decode(&framed(1, bytes)) {
        assert_eq!(MapRecord::decode(&record.encode()), Ok(record));
    }
    let framed = framed(2, bytes);
    let read = MapRecord::decode(&framed);
    if let Ok(record) = &read {
        assert_eq!(record.encode(), framed, "it means one thing");
    }
    read.is_ok()
}

/// A record of this version with magic, length and checksum around `body`.
pub(crate) fn framed(version: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 20).expect("bodies here are short");
    let head = [&b"LOADLMAP"[..], &version.to_le_bytes(), &length.to_le_bytes()].concat();
    let mut bytes = [&head, body].concat();
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}
