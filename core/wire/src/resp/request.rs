//! Requests out of a connection's bytes, however they are cut.

use std::fmt;

/// What one connection may make its reader keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RespLimits {
    /// Bytes of one string.
    pub string_bytes: usize,
    /// Bytes of all strings of a request.
    pub request_bytes: usize,
    /// Strings of a request.
    pub strings: usize,
}

/// Bytes of a line that a person has typed, as the original has it.
const INLINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that a connection which waits keeps at its disposal.
const IDLE_BYTES: usize = 4 << 10;
/// Bytes of a line that says how much follows.
const HEADER_BYTES_MAX: usize = 32;

/// Why a connection cannot go on: what follows cannot be told apart any more. The sentences are the original's where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RespFault {
    /// A number of strings that is none, or more than may be.
    Strings,
    /// A length that is none, or more than may be.
    StringLength,
    /// No length where one had to be.
    NoString(u8),
    /// A string is not followed by a line's end.
    StringEnd,
    /// A typed line is too long.
    InlineLength,
    /// Quotes of a typed line that do not close, or close inside a word.
    Quotes,
    /// All strings of a request together are more than may be; so many bytes.
    RequestLength(usize),
}

impl fmt::Display for RespFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            RespFault::Strings => f.write_str("invalid multibulk length"),
            RespFault::StringLength => f.write_str("invalid bulk length"),
            RespFault::NoString(byte) => {
                write!(f, "expected '$', got '{}'", byte.escape_ascii())
            }
            RespFault::StringEnd => f.write_str("a string is not followed by CR LF"),
            RespFault::InlineLength => f.write_str("too big inline request"),
            RespFault::Quotes => f.write_str("unbalanced quotes in request"),
            RespFault::RequestLength(most) => write!(f, "a request has at most {most} bytes"),
        }
    }
}

/// A request: a command's name and its arguments, at least the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RespRequest {
    bytes: Vec<u8>,
    /// Where each string ends.
    ends: Vec<usize>,
}

impl RespRequest {
    /// How many strings it has, the name included.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A string of it, 0 being the name.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// All strings of it.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    fn end_string(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// Reads the requests of a connection. What it keeps is bounded by its limits, whatever comes.
#[derive(Debug)]
pub struct RespReader {
    limits: RespLimits,
    input: Vec<u8>,
    /// Up to where the input was understood, and up to where a line's end was looked for.
    at: usize,
    searched: usize,
    /// A request that is not whole.
    begun: Option<BegunRequest>,
}

#[derive(Debug)]
struct BegunRequest {
    request: RespRequest,
    /// Strings that it will have, and that have come.
    strings: usize,
    came: usize,
    /// Bytes that the string which has begun still lacks.
    lacks: Option<usize>,
    /// Whether nothing of it is kept.
    is_skipped: bool,
}

/// What is known of a request that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComingRequest<'r> {
    /// The command's name, once it is there.
    pub name: Option<&'r [u8]>,
    /// Strings that it will have.
    pub strings: usize,
    /// Those that will be announced.
    pub to_come: usize,
    /// Bytes that it takes as far as it is there or announced.
    pub bytes: usize,
}

impl RespReader {
    /// For a connection of which nothing has come.
    pub fn new(limits: RespLimits) -> RespReader {
        RespReader { limits, input: Vec::new(), at: 0, searched: 0, begun: None }
    }

    /// Takes what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.forget();
        self.input.extend_from_slice(bytes);
    }

    /// Lets go what was understood.
    fn forget(&mut self) {
        if self.at > 0 {
            self.input.drain(..self.at);
            self.searched = self.searched.saturating_sub(self.at);
            self.at = 0;
        }
    }

    /// Gives back what a burst has taken, for a connection that is about to wait.
    pub fn rest(&mut self) {
        self.forget();
        self.input.shrink_to(IDLE_BYTES);
    }

    /// Bytes that it keeps.
    pub fn held(&self) -> usize {
        self.input.len() + self.begun.as_ref().map_or(0, |begun| begun.request.bytes())
    }

    /// Bytes of those that are not handed out.
    pub fn unread(&self) -> usize {
        self.held() - self.at
    }

    /// Bytes that it keeps beside a request that is not whole.
    pub fn input(&self) -> usize {
        self.input.len()
    }

    /// The request that is not whole, if one has begun by its parts and is to be kept.
    pub fn coming(&self) -> Option<ComingRequest<'_>> {
        let BegunRequest { request, strings, came, lacks, is_skipped } = self.begun.as_ref()?;
        let coming = ComingRequest {
            name: request.get(0),
            strings: *strings,
            to_come: strings - came - usize::from(lacks.is_some()),
            bytes: request.bytes() + lacks.unwrap_or(0),
        };
        (!is_skipped).then_some(coming)
    }

    /// Keeps nothing of the request that is not whole, and hands it out to nobody.
    pub fn skip(&mut self) {
        if let Some(begun) = &mut self.begun {
            (begun.request, begun.is_skipped) = (RespRequest::default(), true);
        }
    }

    /// The next whole request; `None` until more comes.
    ///
    /// # Errors
    /// [`RespFault`]; nothing that follows on this connection means anything.
    pub fn next_request(&mut self) -> Result<Option<RespRequest>, RespFault> {
        loop {
            let Some(begun) = &mut self.begun else {
                match self.input.get(self.at) {
                    None => return Ok(None),
                    Some(b'*') => match self.header()? {
                        None => return Ok(None),
                        Some(count) => self.begin(count)?,
                    },
                    Some(_) => match self.inline()? {
                        None => return Ok(None),
                        Some(request) if request.len() == 0 => {}
                        Some(request) => return Ok(Some(request)),
                    },
                }
                continue;
            };
            if begun.came == begun.strings {
                match self.begun.take() {
                    Some(begun) if !begun.is_skipped => return Ok(Some(begun.request)),
                    _ => continue,
                }
            }
            let is_further = match begun.lacks {
                None => self.begin_string()?,
                Some(lacks) => self.go_on_with_string(lacks)?,
            };
            if !is_further {
                return Ok(None);
            }
        }
    }

    fn begin(&mut self, count: i64) -> Result<(), RespFault> {
        // As the original, an empty request is passed over.
        if count > 0 {
            let strings = usize::try_from(count).unwrap_or(usize::MAX);
            if strings > self.limits.strings {
                return Err(RespFault::Strings);
            }
            let (request, came, lacks, is_skipped) = Default::default();
            self.begun = Some(BegunRequest { request, strings, came, lacks, is_skipped });
        }
        Ok(())
    }

    fn begin_string(&mut self) -> Result<bool, RespFault> {
        match self.input.get(self.at) {
            None => return Ok(false),
            Some(b'$') => {}
            Some(&byte) => return Err(RespFault::NoString(byte)),
        }
        let Some(length) = self.header()? else { return Ok(false) };
        let length = usize::try_from(length).map_err(|_| RespFault::StringLength)?;
        if length > self.limits.string_bytes {
            return Err(RespFault::StringLength);
        }
        let begun = self.begun.as_mut().expect("a request has begun");
        if begun.request.bytes() + length > self.limits.request_bytes {
            return Err(RespFault::RequestLength(self.limits.request_bytes));
        }
        begun.lacks = Some(length);
        Ok(true)
    }

    fn go_on_with_string(&mut self, lacks: usize) -> Result<bool, RespFault> {
        let begun = self.begun.as_mut().expect("a request has begun");
        let here = &self.input[self.at..];
        let more = lacks.min(here.len());
        if !begun.is_skipped {
            begun.request.bytes.extend_from_slice(&here[..more]);
        }
        self.at += more;
        begun.lacks = Some(lacks - more);
        if lacks > more {
            return Ok(false);
        }
        match self.input[self.at..] {
            [b'\r', b'\n', ..] => {
                self.at += 2;
                begun.lacks = None;
                begun.came += 1;
                if !begun.is_skipped {
                    begun.request.end_string();
                }
                Ok(true)
            }
            [] | [b'\r'] => Ok(false),
            _ => Err(RespFault::StringEnd),
        }
    }

    /// The number in a line that says how much follows, behind its first byte.
    fn header(&mut self) -> Result<Option<i64>, RespFault> {
        let here = &self.input[self.at..];
        let fault = if here[0] == b'*' { RespFault::Strings } else { RespFault::StringLength };
        let window = &here[..here.len().min(HEADER_BYTES_MAX)];
        let Some(end) = window.iter().position(|byte| *byte == b'\n') else {
            return if window.len() < HEADER_BYTES_MAX { Ok(None) } else { Err(fault) };
        };
        let text = here[1..end].strip_suffix(b"\r").ok_or(fault)?;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        self.at += end + 1;
        number.ok_or(fault).map(Some)
    }

    /// A typed line, which may have no words.
    fn inline(&mut self) -> Result<Option<RespRequest>, RespFault> {
        let from = self.searched.max(self.at);
        let Some(end) = self.input[from..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.input.len();
            let is_long = self.input.len() - self.at > INLINE_BYTES_MAX;
            return if is_long { Err(RespFault::InlineLength) } else { Ok(None) };
        };
        let line = &self.input[self.at..from + end];
        let request = words(line)?;
        self.at = from + end + 1;
        Ok(Some(request))
    }
}

/// The words of a typed line: between blanks, or in quotes, double ones with escapes as in C.
fn words(line: &[u8]) -> Result<RespRequest, RespFault> {
    let mut request = RespRequest::default();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        match rest {
            [] => return Ok(request),
            [quote @ (b'"' | b'\''), after @ ..] => {
                rest = quoted(after, *quote, &mut request.bytes)?;
                if rest.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    return Err(RespFault::Quotes);
                }
            }
            word => {
                let is_end = |byte: &u8| byte.is_ascii_whitespace();
                let end = word.iter().position(is_end).unwrap_or(word.len());
                request.bytes.extend_from_slice(&word[..end]);
                rest = &word[end..];
            }
        }
        request.end_string();
    }
}

/// Appends what stands in quotes, and answers what follows them.
fn quoted<'l>(mut rest: &'l [u8], quote: u8, out: &mut Vec<u8>) -> Result<&'l [u8], RespFault> {
    loop {
        rest = match rest {
            [] => return Err(RespFault::Quotes),
            [byte, after @ ..] if *byte == quote => return Ok(after),
            [b'\\', b'\'', after @ ..] if quote == b'\'' => {
                out.push(b'\'');
                after
            }
            [b'\\', b'x', high, low, after @ ..] if quote == b'"' && is_hex(*high, *low) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
                out.push(digit(*high) << 4 | digit(*low));
                after
            }
            [b'\\', escaped, after @ ..] if quote == b'"' => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                out.push(*byte);
                after
            }
        };
    }
}

fn is_hex(high: u8, low: u8) -> bool {
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: RespLimits = RespLimits { string_bytes: 100, request_bytes: 300, strings: 8 };

    fn all(chunks: &[&[u8]]) -> Result<Vec<Vec<Vec<u8>>>, RespFault> {
        let mut reader = RespReader::new(LIMITS);
        let mut found = Vec::new();
        for chunk in chunks {
            reader.push(chunk);
            while let Some(request) = reader.next_request()? {
                found.push(request.iter().map(<[u8]>::to_vec).collect());
            }
        }
        Ok(found)
    }

    fn one(bytes: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, RespFault> {
        all(&[bytes])
    }

    #[test]
    fn requests_of_both_kinds_are_read() {
        let set = vec![b"SET".to_vec(), b"a\r\n".to_vec(), Vec::new()];
        assert_eq!(one(b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n"), Ok(vec![set]));
        let typed = [&b"get"[..], b"a b", b"c'd", b"\x01\n"].map(<[u8]>::to_vec).to_vec();
        assert_eq!(one(b"get \"a b\" 'c\\'d' \"\\x01\\n\"\r\n"), Ok(vec![typed]));
        assert_eq!(one(b"\r\n*0\r\n*-1\r\nPING\n"), Ok(vec![vec![b"PING".to_vec()]]));
    }

    #[test]
    fn what_cannot_go_on_is_said() {
        let cases: [(&[u8], RespFault); 11] = [
            (b"*x\r\n", RespFault::Strings),
            (b"*9\r\n", RespFault::Strings),
            (b"*1\r\n:3\r\n", RespFault::NoString(b':')),
            (b"*1\r\n$-1\r\n", RespFault::StringLength),
            (b"*1\r\n$101\r\n", RespFault::StringLength),
            (b"*1\r\n$1\r\nabc", RespFault::StringEnd),
            (b"*11111111111111111111111111111111111", RespFault::Strings),
            (b"*1\r\n$11111111111111111111111111111111111", RespFault::StringLength),
            (b"get \"a\r\n", RespFault::Quotes),
            (b"get 'a'b\r\n", RespFault::Quotes),
            (b"*1\n", RespFault::Strings),
        ];
        for (bytes, fault) in cases {
            assert_eq!(one(bytes), Err(fault), "{}", bytes.escape_ascii());
        }
        let long = [b"*4\r\n".to_vec(), b"$90\r\n".to_vec(), vec![b'a'; 90]].concat();
        let longs = [&long[..], b"\r\n$90\r\n", &[b'b'; 90], b"\r\n$90\r\n", &[b'c'; 90]].concat();
        let more = [&longs[..], b"\r\n$90\r\n"].concat();
        assert_eq!(one(&more), Err(RespFault::RequestLength(300)));
        assert_eq!(one(&vec![b'a'; 70_000]), Err(RespFault::InlineLength));
    }

    /// What is known of a request before it is whole says whether it can be served, and one that cannot is passed over.
    #[test]
    fn a_request_is_known_before_it_is_whole_and_may_be_passed_over() {
        let mut reader = RespReader::new(LIMITS);
        assert_eq!(reader.coming(), None);
        reader.push(b"*3\r\n$3\r\nSE");
        assert_eq!(reader.next_request(), Ok(None));
        let coming = ComingRequest { name: None, strings: 3, to_come: 2, bytes: 3 };
        assert_eq!(reader.coming(), Some(coming));
        reader.push(b"T\r\n$1\r\nk\r\n$90\r\nvv");
        assert_eq!(reader.next_request(), Ok(None));
        let bytes = 3 + 1 + 90 + 2 * size_of::<usize>();
        let name = Some(&b"SET"[..]);
        assert_eq!(reader.coming(), Some(ComingRequest { name, strings: 3, to_come: 0, bytes }));
        let input = reader.input();
        reader.skip();
        assert_eq!((reader.coming(), reader.held()), (None, input));
        reader.push(&[&[b'v'; 88][..], b"\r\n*1\r\n$4\r\nPING\r\n"].concat());
        let next = reader.next_request().expect("it goes on").expect("it is whole");
        assert_eq!((next.len(), next.get(0)), (1, Some(&b"PING"[..])));
    }

    proptest! {
        #[test]
        fn where_it_is_cut_makes_no_difference(
            requests in prop::collection::vec(prop::collection::vec(
                prop::collection::vec(any::<u8>(), 0..20), 1..6), 0..6),
            cuts in prop::collection::vec(1..9usize, 1..50),
        ) {
            let mut bytes = Vec::new();
            for request in &requests {
                bytes.extend_from_slice(format!("*{}\r\n", request.len()).as_bytes());
                for string in request {
                    bytes.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
                    bytes.extend_from_slice(string);
                    bytes.extend_from_slice(b"\r\n");
                }
            }
            let mut chunks = Vec::new();
            let (mut rest, mut cuts) = (&bytes[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let cut = rest.len().min(*cuts.next().expect("there is one at least"));
                chunks.push(&rest[..cut]);
                rest = &rest[cut..];
            }
            prop_assert_eq!(all(&chunks), Ok(requests));
        }
    }
}
