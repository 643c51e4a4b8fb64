//! The change of one page: what the store applies in memory, and what the log repeats at restart.
//!
//! One function applies an edit, whether it is made the first time or read back from the log, so the page that a
//! restart arrives at is the same byte for byte.
//!
//! An encoded edit is a tag byte and its fields in the order of the enum. Numbers are varints (seven bits a byte, low
//! ones first) because most are below 128; byte strings carry their length in front.

use super::ids::PageNo;
use super::node::{self, TreeNode};
use super::page::{self, HEADER, PageKind};

/// One change of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEdit<'a> {
    /// An empty page of this kind.
    Init {
        /// What the page is to hold.
        kind: PageKind,
    },
    /// A page of object data, all zero.
    InitRaw,
    /// A new cell of a tree node; those from there on move up by one.
    Insert {
        /// The new cell's place in key order.
        at: u16,
        /// Its key, between those of its neighbours.
        key: &'a [u8],
        /// Its value; in an inner node, a child.
        value: &'a [u8],
    },
    /// A cell's new value, of any length that fits.
    Replace {
        /// Which cell.
        at: u16,
        /// The value.
        value: &'a [u8],
    },
    /// New bytes inside a cell's value, whose length stays.
    Patch {
        /// Which cell.
        at: u16,
        /// First byte in the value.
        offset: u16,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A cell less.
    Remove {
        /// Which cell.
        at: u16,
    },
    /// No cells from this one on.
    Truncate {
        /// The first cell that goes.
        from: u16,
    },
    /// Pages taken or given back in a free map.
    Bits {
        /// The first bit, counted from the end of the header.
        first: u32,
        /// How many.
        count: u32,
        /// Whether they are in use from now on.
        used: bool,
    },
    /// New bytes in a page of object data.
    Bytes {
        /// First byte in the page.
        offset: u32,
        /// The bytes.
        data: &'a [u8],
    },
}

impl<'a> PageEdit<'a> {
    /// Makes the change. An edit that does not [fit](PageEdit::fits) is a bug; of the key order only `fits` looks.
    pub fn apply(&self, number: PageNo, page: &mut [u8]) {
        assert!(self.has_room(page), "an edit of {number} is not possible on it");
        match *self {
            PageEdit::Init { kind } => page::init(page, kind, number),
            PageEdit::InitRaw => page.fill(0),
            PageEdit::Insert { at, key, value } => node::insert(page, at, key, value),
            PageEdit::Replace { at, value } => node::replace(page, at, value),
            PageEdit::Patch { at, offset, bytes } => node::patch(page, at, offset, bytes),
            PageEdit::Remove { at } => node::remove(page, at),
            PageEdit::Truncate { from } => node::truncate(page, from),
            PageEdit::Bits { first, count, used } => set_bits(page, first, count, used),
            PageEdit::Bytes { offset, data } => {
                page[offset as usize..][..data.len()].copy_from_slice(data);
            }
        }
    }

    /// Whether the edit can be applied to `page` and leaves a valid page behind. A tree node must have passed
    /// [`node::check`]; pages of other kinds may hold anything.
    pub fn fits(&self, page: &[u8]) -> bool {
        self.has_room(page) && self.keeps_order(page)
    }

    /// Whether kind, place and free space allow the edit.
    fn has_room(&self, page: &[u8]) -> bool {
        match *self {
            PageEdit::Init { .. } | PageEdit::InitRaw => true,
            PageEdit::Bits { first, count, .. } => {
                let bits = (page.len() - HEADER) as u64 * 8;
                page::kind(page) == Some(PageKind::FreeMap) && first as u64 + count as u64 <= bits
            }
            PageEdit::Bytes { offset, data } => offset as usize + data.len() <= page.len(),
            _ => TreeNode::of(page).is_some_and(|node| self.has_room_in(node)),
        }
    }

    fn has_room_in(&self, node: TreeNode<'_>) -> bool {
        let count = node.count();
        match *self {
            PageEdit::Insert { at, key, value } => {
                at <= count
                    && (node.is_leaf() || value.len() == node::CHILD)
                    && node::entry_bytes(key.len(), value.len()) <= node.free()
            }
            PageEdit::Replace { at, value } => {
                at < count
                    && (node.is_leaf() || value.len() == node::CHILD)
                    && value.len() <= node.free() + node.value(at).len()
            }
            PageEdit::Patch { at, offset, bytes } => {
                at < count && offset as usize + bytes.len() <= node.value(at).len()
            }
            PageEdit::Remove { at } => at < count,
            PageEdit::Truncate { from } => from <= count,
            _ => false,
        }
    }

    /// Whether the keys are in strict order afterwards, and an inner node's first key is still the empty one.
    fn keeps_order(&self, page: &[u8]) -> bool {
        match *self {
            PageEdit::Insert { at, key, .. } => {
                let node = TreeNode::new(page);
                (node.is_leaf() || at > 0 || key.is_empty())
                    && (at == 0 || node.key(at - 1) < key)
                    && (at == node.count() || key < node.key(at))
            }
            PageEdit::Remove { at: 0 } => {
                let node = TreeNode::new(page);
                node.is_leaf() || node.count() == 1
            }
            _ => true,
        }
    }

    /// Appends the edit to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            PageEdit::Init { kind } => out.extend([0, kind as u8]),
            PageEdit::InitRaw => out.push(1),
            PageEdit::Insert { at, key, value } => {
                put_numbers(out, 2, &[at.into()]);
                put_bytes(out, key);
                put_bytes(out, value);
            }
            PageEdit::Replace { at, value } => {
                put_numbers(out, 3, &[at.into()]);
                put_bytes(out, value);
            }
            PageEdit::Patch { at, offset, bytes } => {
                put_numbers(out, 4, &[at.into(), offset.into()]);
                put_bytes(out, bytes);
            }
            PageEdit::Remove { at } => put_numbers(out, 5, &[at.into()]),
            PageEdit::Truncate { from } => put_numbers(out, 6, &[from.into()]),
            PageEdit::Bits { first, count, used: false } => put_numbers(out, 7, &[first, count]),
            PageEdit::Bits { first, count, used: true } => put_numbers(out, 8, &[first, count]),
            PageEdit::Bytes { offset, data } => {
                put_numbers(out, 9, &[offset]);
                put_bytes(out, data);
            }
        }
    }

    /// The edit at the beginning of `bytes` and what follows it, or nothing if there is no edit.
    pub fn decode(bytes: &'a [u8]) -> Option<(PageEdit<'a>, &'a [u8])> {
        let (&tag, rest) = bytes.split_first()?;
        let mut rest = EditReader(rest);
        let edit = match tag {
            0 => PageEdit::Init { kind: PageKind::from_u8(rest.byte()?)? },
            1 => PageEdit::InitRaw,
            2 => PageEdit::Insert { at: rest.short()?, key: rest.bytes()?, value: rest.bytes()? },
            3 => PageEdit::Replace { at: rest.short()?, value: rest.bytes()? },
            4 => PageEdit::Patch { at: rest.short()?, offset: rest.short()?, bytes: rest.bytes()? },
            5 => PageEdit::Remove { at: rest.short()? },
            6 => PageEdit::Truncate { from: rest.short()? },
            7 | 8 => {
                PageEdit::Bits { first: rest.number()?, count: rest.number()?, used: tag == 8 }
            }
            9 => PageEdit::Bytes { offset: rest.number()?, data: rest.bytes()? },
            _ => return None,
        };
        Some((edit, rest.0))
    }
}

/// Sets or clears `count` bits, whole bytes at a time where it can.
fn set_bits(page: &mut [u8], first: u32, count: u32, used: bool) {
    let map = &mut page[HEADER..];
    let (mut bit, end) = (first as usize, first as usize + count as usize);
    while bit < end {
        let from = bit % 8;
        let take = (8 - from).min(end - bit);
        let mask = (0xff_u8 >> (8 - take)) << from;
        if used {
            map[bit / 8] |= mask;
        } else {
            map[bit / 8] &= !mask;
        }
        bit += take;
    }
}

fn put_numbers(out: &mut Vec<u8>, tag: u8, numbers: &[u32]) {
    out.push(tag);
    for &number in numbers {
        put_number(out, number);
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, u32::try_from(bytes.len()).expect("an edit is smaller than a page"));
    out.extend_from_slice(bytes);
}

/// What is still to be decoded. Each call takes one field from its beginning, or nothing if it is not whole.
struct EditReader<'a>(&'a [u8]);

impl<'a> EditReader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).ok();
            }
        }
        None
    }

    fn short(&mut self) -> Option<u16> {
        u16::try_from(self.number()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests;
