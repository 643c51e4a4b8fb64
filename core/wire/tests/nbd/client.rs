//! A naive client: it writes the protocol's messages by hand and reads the server's. All numbers are literals.

/// Client flags: fixed newstyle, no zeroes.
pub(crate) const MODERN: u32 = 3;

pub(crate) fn be(parts: &[(u64, usize)]) -> Vec<u8> {
    parts.iter().flat_map(|(value, bytes)| value.to_be_bytes()[8 - bytes..].to_vec()).collect()
}

pub(crate) fn hello(flags: u32) -> Vec<u8> {
    flags.to_be_bytes().to_vec()
}

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let head = be(&[(u64::from(number), 4), (data.len() as u64, 4)]);
    [b"IHAVEOPT".as_slice(), &head, data].concat()
}

/// A string behind its length in 32 bits.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [&be(&[(text.len() as u64, 4)]), text.as_bytes()].concat()
}

/// The data of the options info (6) and go (7).
pub(crate) fn choice(name: &str, wishes: &[u16]) -> Vec<u8> {
    let mut data = text(name);
    data.extend(be(&[(wishes.len() as u64, 2)]));
    data.extend(wishes.iter().flat_map(|wish| wish.to_be_bytes()));
    data
}

/// The data of the options about metadata contexts (9 and 10).
pub(crate) fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let count = be(&[(queries.len() as u64, 4)]);
    [text(name), count, queries.iter().flat_map(|query| text(query)).collect()].concat()
}

/// A request without its payload.
pub(crate) fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let words = [(0x2560_9513, 4), (u64::from(flags), 2), (u64::from(command), 2)];
    [be(&words), be(&[(cookie, 8), (offset, 8), (u64::from(length), 4)])].concat()
}

/// A reply to an option: its option, its kind, its data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionReply {
    pub(crate) option: u32,
    pub(crate) kind: u32,
    pub(crate) data: Vec<u8>,
}

/// An answer of the transmission phase, or one chunk of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Simple { cookie: u64, error: u32, data: Vec<u8> },
    Chunk { cookie: u64, done: bool, kind: u16, data: Vec<u8> },
}

/// Reads what a server sent. Panics where the bytes are no message: that is a failed test.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        assert!(self.0.len() >= count, "the server stopped in the middle of a message");
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }

    pub(crate) fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub(crate) fn option_reply(&mut self) -> OptionReply {
        assert_eq!(self.number(8), 0x0003_e889_0455_65a9, "the magic of an option's reply");
        let (option, kind) = (self.number(4) as u32, self.number(4) as u32);
        let length = self.number(4) as usize;
        OptionReply { option, kind, data: self.take(length).to_vec() }
    }

    pub(crate) fn option_replies(&mut self) -> Vec<OptionReply> {
        let mut replies = Vec::new();
        while !self.0.is_empty() {
            replies.push(self.option_reply());
        }
        replies
    }

    /// One answer. `length_of` tells how much a read with this cookie asked for, and 0 for other commands.
    pub(crate) fn answer(&mut self, length_of: impl Fn(u64) -> usize) -> Answer {
        match self.number(4) {
            0x6744_6698 => {
                let (error, cookie) = (self.number(4) as u32, self.number(8));
                let length = if error == 0 { length_of(cookie) } else { 0 };
                Answer::Simple { cookie, error, data: self.take(length).to_vec() }
            }
            0x668e_33ef => {
                let (flags, kind) = (self.number(2), self.number(2) as u16);
                let (cookie, length) = (self.number(8), self.number(4) as usize);
                let data = self.take(length).to_vec();
                assert!(flags < 2, "a chunk has one flag");
                Answer::Chunk { cookie, done: flags == 1, kind, data }
            }
            magic => panic!("{magic:#x} begins no answer"),
        }
    }
}
