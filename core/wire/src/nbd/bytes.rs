//! Messages out of bytes that arrive in any pieces, and fields out of messages, without ever reading past an end.

use super::STRING_MAX;

/// Collects the head of a message, whose length is fixed.
#[derive(Debug)]
pub(super) struct HeadBuffer<const N: usize> {
    bytes: [u8; N],
    have: usize,
}

impl<const N: usize> HeadBuffer<N> {
    pub(super) const fn new() -> HeadBuffer<N> {
        HeadBuffer { bytes: [0; N], have: 0 }
    }

    /// How many bytes are missing; at least one.
    pub(super) fn missing(&self) -> usize {
        N - self.have
    }

    /// Takes what it can from the input, and returns the head once it is whole.
    pub(super) fn fill(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        let count = self.missing().min(input.len());
        self.bytes[self.have..self.have + count].copy_from_slice(advance(input, count));
        self.have += count;
        (self.have == N).then_some(self.bytes)
    }
}

/// Collects a body of known length. Its buffer is allocated once, for a length that was checked before.
#[derive(Debug)]
pub(super) struct BodyBuffer {
    bytes: Vec<u8>,
    length: usize,
}

impl BodyBuffer {
    pub(super) fn new(length: u32) -> BodyBuffer {
        let length = length as usize;
        BodyBuffer { bytes: Vec::with_capacity(length), length }
    }

    /// How many bytes are missing.
    pub(super) fn missing(&self) -> usize {
        self.length - self.bytes.len()
    }

    /// Takes what it can from the input, and returns the body once it is whole.
    pub(super) fn fill(&mut self, input: &mut &[u8]) -> Option<Vec<u8>> {
        let count = self.missing().min(input.len());
        self.bytes.extend_from_slice(advance(input, count));
        (self.missing() == 0).then(|| std::mem::take(&mut self.bytes))
    }
}

/// Passes over a body that nobody wants.
#[derive(Debug)]
pub(super) struct Skip(pub(super) u32);

impl Skip {
    /// Takes what it can from the input, and returns whether the body has passed.
    pub(super) fn pass(&mut self, input: &mut &[u8]) -> bool {
        let count = (self.0 as usize).min(input.len());
        advance(input, count);
        self.0 -= count as u32;
        self.0 == 0
    }
}

fn advance<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (head, rest) = input.split_at(count);
    *input = rest;
    head
}

/// What is left of an option's data.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes, if there are as many.
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A string behind its length in 32 bits.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        let length = self.u32()?;
        string(self.take(usize::try_from(length).ok()?)?)
    }

    /// Whether everything was read.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bytes as a string of the protocol: UTF-8 without NUL, of at most 4096 bytes.
pub(super) fn string(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    (text.len() <= STRING_MAX && !text.contains('\0')).then_some(text)
}

/// The text up to its first `STRING_MAX` bytes, cut between characters.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(STRING_MAX)]
}
