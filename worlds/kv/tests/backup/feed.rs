//! Any bytes as the stream of a backup, with what must hold afterwards; also the body of the fuzz target `kv_backup`.

use loadline_kv::verify_backup;

/// Bytes behind the first as a stream as they are, or, where that is odd, as bodies in frames whose checksums are right: each with its length in a byte
/// before it. Answers how many keys the stream has, if it is whole.
pub(crate) fn stream(bytes: &[u8]) -> Option<u64> {
    let [mode, rest @ ..] = bytes else { return None };
    if mode.is_multiple_of(2) { read(rest) } else { read(&framed(rest)) }
}

fn framed(mut rest: &[u8]) -> Vec<u8> {
    let mut stream = [&b"LOADLKVB"[..], &1_u64.to_le_bytes()].concat();
    let mut frame = 0_u64;
    while let [length, behind @ ..] = rest {
        let (body, behind) = behind.split_at(behind.len().min(usize::from(*length)));
        let sum = crc32c::crc32c_append(crc32c::crc32c(&frame.to_le_bytes()), body);
        stream.extend_from_slice(&(body.len() as u32).to_le_bytes());
        stream.extend_from_slice(&sum.to_le_bytes());
        stream.extend_from_slice(body);
        (frame, rest) = (frame + 1, behind);
    }
    stream
}

fn read(stream: &[u8]) -> Option<u64> {
    let keys = verify_backup(stream).ok()?;
    // Each key has two lengths, a keyspace's name and a tail; and nothing that is whole is whole with less or more.
    assert!(keys <= stream.len() as u64 / 11);
    assert!(verify_backup(&stream[..stream.len() - 1]).is_err());
    assert!(verify_backup(&[stream, &[0]].concat()[..]).is_err());
    Some(keys)
}
