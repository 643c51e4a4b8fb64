//! Answers, in either version of the protocol.

/// Which version a connection speaks; it begins with the second, and `HELLO 3` changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RespVersion {
    /// Maps are flat arrays, and nothing has a form for each type.
    #[default]
    Two,
    /// Nulls, maps and numbers with a fraction have forms of their own.
    Three,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum RespReply {
    /// A short text without line ends, such as `OK`.
    Simple(&'static str),
    /// An error: a code in capitals, a blank, a sentence. Line ends in it become blanks.
    Error(String),
    /// A whole number.
    Integer(i64),
    /// A string of bytes.
    Bulk(Vec<u8>),
    /// Text for people; a string of bytes in version 2.
    Verbatim(String),
    /// A number with a fraction; a string of bytes in version 2.
    Double(f64),
    /// There is no such string.
    Null,
    /// There is no such list: what a transaction that was not carried out is answered with.
    NullArray,
    /// A list.
    Array(Vec<RespReply>),
    /// Pairs; a list of twice as many in version 2.
    Map(Vec<(RespReply, RespReply)>),
}

impl RespReply {
    /// What each part takes beside its bytes: itself, and what an allocator adds to them.
    pub const PART: usize = size_of::<RespReply>() + 2 * size_of::<usize>();

    /// `OK`.
    pub const OK: RespReply = RespReply::Simple("OK");

    /// A string of bytes, or none.
    pub fn bulk_or_null(value: Option<Vec<u8>>) -> RespReply {
        value.map_or(RespReply::Null, RespReply::Bulk)
    }

    /// A string of bytes.
    pub fn bulk(text: impl AsRef<[u8]>) -> RespReply {
        RespReply::Bulk(text.as_ref().to_vec())
    }

    /// Bytes of its strings, and some for each part of it.
    pub fn bytes(&self) -> usize {
        RespReply::PART
            + match self {
                RespReply::Error(text) | RespReply::Verbatim(text) => text.len(),
                RespReply::Bulk(bytes) => bytes.len(),
                RespReply::Array(items) => items.iter().map(RespReply::bytes).sum(),
                RespReply::Map(pairs) => {
                    pairs.iter().map(|(key, value)| key.bytes() + value.bytes()).sum()
                }
                _ => 0,
            }
    }

    /// Appends the answer's bytes.
    pub fn encode(&self, version: RespVersion, out: &mut Vec<u8>) {
        let is_three = version == RespVersion::Three;
        match self {
            RespReply::Simple(text) => line(out, b'+', text.as_bytes()),
            RespReply::Error(text) => {
                let text: Vec<u8> =
                    text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }).collect();
                line(out, b'-', &text);
            }
            RespReply::Integer(number) => line(out, b':', number.to_string().as_bytes()),
            RespReply::Bulk(bytes) => string(out, bytes),
            RespReply::Verbatim(text) if is_three => {
                line(out, b'=', (text.len() + 4).to_string().as_bytes());
                out.extend_from_slice(b"txt:");
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            RespReply::Verbatim(text) => string(out, text.as_bytes()),
            RespReply::Double(number) if is_three => line(out, b',', number.to_string().as_bytes()),
            RespReply::Double(number) => string(out, number.to_string().as_bytes()),
            RespReply::Null | RespReply::NullArray if is_three => out.extend_from_slice(b"_\r\n"),
            RespReply::Null => out.extend_from_slice(b"$-1\r\n"),
            RespReply::NullArray => out.extend_from_slice(b"*-1\r\n"),
            RespReply::Array(items) => {
                line(out, b'*', items.len().to_string().as_bytes());
                items.iter().for_each(|item| item.encode(version, out));
            }
            RespReply::Map(pairs) => {
                match version {
                    RespVersion::Three => line(out, b'%', pairs.len().to_string().as_bytes()),
                    RespVersion::Two => line(out, b'*', (2 * pairs.len()).to_string().as_bytes()),
                }
                for (key, value) in pairs {
                    key.encode(version, out);
                    value.encode(version, out);
                }
            }
        }
    }
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    line(out, b'$', bytes.len().to_string().as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(reply: &RespReply, version: RespVersion) -> String {
        let mut out = Vec::new();
        reply.encode(version, &mut out);
        String::from_utf8(out).expect("the examples are text")
    }

    #[test]
    fn each_answer_has_its_form_in_each_version() {
        let pair = (RespReply::bulk("a"), RespReply::Integer(-1));
        let cases = [
            (RespReply::OK, "+OK\r\n", "+OK\r\n"),
            (RespReply::Error("ERR a\r\nb".into()), "-ERR a  b\r\n", "-ERR a  b\r\n"),
            (RespReply::bulk(""), "$0\r\n\r\n", "$0\r\n\r\n"),
            (RespReply::Verbatim("hi".into()), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
            (RespReply::Double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n"),
            (RespReply::Null, "$-1\r\n", "_\r\n"),
            (RespReply::NullArray, "*-1\r\n", "_\r\n"),
            (RespReply::Array(vec![RespReply::Integer(2)]), "*1\r\n:2\r\n", "*1\r\n:2\r\n"),
            (RespReply::Map(vec![pair]), "*2\r\n$1\r\na\r\n:-1\r\n", "%1\r\n$1\r\na\r\n:-1\r\n"),
        ];
        for (reply, two, three) in cases {
            assert_eq!(encoded(&reply, RespVersion::Two), two);
            assert_eq!(encoded(&reply, RespVersion::Three), three);
        }
    }
}
