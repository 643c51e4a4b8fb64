//! One call of a command: its strings, its keys, and the time.

use crate::keys::{ANSWER_BYTES_MAX, KeyTable};
use crate::refusal::RespRefusal;
use loadline_wire::resp::{RespReply, RespRequest};

/// See [above](self).
pub(crate) struct KeyCall<'c> {
    pub(crate) request: &'c RespRequest,
    pub(crate) keys: &'c mut KeyTable,
    /// Milliseconds since 1970.
    pub(crate) now_ms: u64,
    /// Bytes that its answer may have.
    pub(crate) room: u64,
}

impl<'c> KeyCall<'c> {
    /// A string behind the name, 1 being the first. There are as many as the command's arity says.
    pub(crate) fn string(&self, index: usize) -> &'c [u8] {
        self.request.get(index).unwrap_or_default()
    }

    /// All strings from this one on.
    pub(crate) fn strings(&self, from: usize) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        self.request.iter().skip(from)
    }

    /// The first key.
    pub(crate) fn key(&self) -> &'c [u8] {
        self.string(1)
    }

    /// Refuses an answer before it is made that would have so many parts, and bytes in them.
    pub(super) fn check_room(&self, parts: usize, bytes: usize) -> Result<(), RespRefusal> {
        answer_fits((bytes + parts * RespReply::PART) as u64, self.room)
    }

    /// A whole number.
    pub(crate) fn integer(&self, index: usize) -> Result<i64, RespRefusal> {
        integer(self.string(index)).ok_or(RespRefusal::NoInteger)
    }
}

/// Refuses an answer that is longer than it may be, or than there is room for.
pub(crate) fn answer_fits(bytes: u64, room: u64) -> Result<(), RespRefusal> {
    match bytes {
        bytes if bytes > ANSWER_BYTES_MAX as u64 => {
            Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX as u64))
        }
        bytes if bytes > room => Err(RespRefusal::Room),
        _ => Ok(()),
    }
}

/// An answer with these values, which may name one large value often, in so much room.
pub(super) fn several<'v>(
    values: impl Iterator<Item = Result<Option<&'v [u8]>, RespRefusal>>,
    room: u64,
) -> Result<RespReply, RespRefusal> {
    let (mut replies, mut bytes) = (Vec::new(), RespReply::PART);
    for value in values {
        let value = value?;
        bytes += value.map_or(0, <[u8]>::len) + RespReply::PART;
        answer_fits(bytes as u64, room)?;
        replies.push(RespReply::bulk_or_null(value.map(<[u8]>::to_vec)));
    }
    Ok(RespReply::Array(replies))
}

/// A whole number as the original has it: no sign but a minus, no blanks, no zeros in front.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_plain.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain() {
        for (text, number) in
            [("0", Some(0)), ("-1", Some(-1)), ("9223372036854775807", Some(i64::MAX))]
        {
            assert_eq!(integer(text.as_bytes()), number);
        }
        for text in ["", "-", "-0", "01", "+1", " 1", "1 ", "1.0", "9223372036854775808"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
