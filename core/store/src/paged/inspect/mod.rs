//! Any structure of a store as facts and tables, for people and for programs. It reads what lies on the devices, as a
//! restart would find it, and changes nothing.
//!
//! Everything is a list of [`Part`]s: named facts, a table, or bytes. [`Part`] prints itself as text; a program takes the
//! fields and makes of them what it likes.

mod contents;
mod describe;
mod free_map;
mod log;
mod page;
mod recovery;
mod superblock;
mod text;
mod tree;

pub use superblock::totals;

use super::api::Target;
use super::check::{Finding, ReadAt, newest};
use super::ids::PageNo;
use super::node::NodeFault;
use super::page::PageFault;
use super::superblock::Superblock;
use std::fmt;

/// One value of a fact or of a table's cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// Words.
    Text(String),
    /// There is none.
    Nothing,
}

/// A part of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is about.
    pub name: &'static str,
    /// What there is.
    pub body: Body,
}

/// What a part consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Names with values.
    Facts(Vec<(&'static str, Value)>),
    /// Rows under a head.
    Table {
        /// Names of the columns.
        head: &'static [&'static str],
        /// As many values in each as the head has names.
        rows: Vec<Vec<Value>>,
        /// Rows that were left out.
        more: u64,
    },
    /// Bytes without structure.
    Bytes(Vec<u8>),
}

/// Why something cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// These are not the devices of a store.
    NoStore(Finding),
    /// Bytes cannot be read.
    Unreadable(Target, u64),
    /// No page has this number.
    NoSuchPage(PageNo),
    /// A page of the tree is not whole.
    Page(PageNo, PageFault),
    /// A page of the tree is no sound node.
    Node(PageNo, NodeFault),
}

/// A store that is looked at.
pub struct Inspector<'a> {
    devices: &'a dyn ReadAt,
    superblock: Superblock,
}

impl<'a> Inspector<'a> {
    /// Reads the newest superblock.
    pub fn open(devices: &'a dyn ReadAt) -> Result<Inspector<'a>, Trouble> {
        let superblock = newest(devices).map_err(Trouble::NoStore)?;
        Ok(Inspector { devices, superblock })
    }

    /// The newest superblock.
    pub fn newest(&self) -> &Superblock {
        &self.superblock
    }

    fn read(&self, target: Target, offset: u64, length: usize) -> Result<Vec<u8>, Trouble> {
        let mut bytes = vec![0; length];
        match self.devices.read_at(target, offset, &mut bytes) {
            true => Ok(bytes),
            false => Err(Trouble::Unreadable(target, offset)),
        }
    }

    /// A page's bytes, whatever they are.
    fn page_bytes(&self, number: PageNo) -> Result<Vec<u8>, Trouble> {
        let layout = &self.superblock.layout;
        if !layout.is_page(number) && !layout.is_map(number) {
            return Err(Trouble::NoSuchPage(number));
        }
        self.read(Target::Data, layout.page.offset(number), layout.page.bytes())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NoStore(finding) => write!(f, "{finding}"),
            Trouble::Unreadable(target, offset) => {
                let device = if *target == Target::Data { "data" } else { "log" };
                write!(f, "byte {offset} of the {device} device cannot be read")
            }
            Trouble::NoSuchPage(page) => write!(f, "there is no {page} in this store"),
            Trouble::Page(page, _) => write!(f, "{page} of the tree is damaged"),
            Trouble::Node(page, _) => write!(f, "{page} of the tree is no sound node"),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl Part {
    fn facts(name: &'static str, facts: Vec<(&'static str, Value)>) -> Part {
        Part { name, body: Body::Facts(facts) }
    }

    fn table(
        name: &'static str,
        head: &'static [&'static str],
        rows: Vec<Vec<Value>>,
        more: u64,
    ) -> Part {
        Part { name, body: Body::Table { head, rows, more } }
    }
}
