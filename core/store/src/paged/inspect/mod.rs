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

use super::api::StoreDevice;
use super::check::{ReadAt, StoreFinding, newest};
use super::ids::PageNo;
use super::node::NodeFault;
use super::page::PageFault;
use super::superblock::Superblock;
use std::fmt;

/// One value of a fact or of a table's cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownValue {
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
    Facts(Vec<(&'static str, ShownValue)>),
    /// Rows under a head.
    Table {
        /// Names of the columns.
        head: &'static [&'static str],
        /// As many values in each as the head has names.
        rows: Vec<Vec<ShownValue>>,
        /// Rows that were left out.
        more: u64,
    },
    /// Bytes without structure.
    Bytes(Vec<u8>),
}

/// Why something cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InspectTrouble {
    /// These are not the devices of a store.
    NoStore(StoreFinding),
    /// Bytes cannot be read.
    Unreadable(StoreDevice, u64),
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
    pub fn open(devices: &'a dyn ReadAt) -> Result<Inspector<'a>, InspectTrouble> {
        let superblock = newest(devices).map_err(InspectTrouble::NoStore)?;
        Ok(Inspector { devices, superblock })
    }

    /// The newest superblock.
    pub fn newest(&self) -> &Superblock {
        &self.superblock
    }

    fn read(
        &self,
        target: StoreDevice,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, InspectTrouble> {
        let mut bytes = vec![0; length];
        match self.devices.read_at(target, offset, &mut bytes) {
            true => Ok(bytes),
            false => Err(InspectTrouble::Unreadable(target, offset)),
        }
    }

    /// A page's bytes, whatever they are.
    fn page_bytes(&self, number: PageNo) -> Result<Vec<u8>, InspectTrouble> {
        let layout = &self.superblock.layout;
        if !layout.is_page(number) && !layout.is_map(number) {
            return Err(InspectTrouble::NoSuchPage(number));
        }
        self.read(StoreDevice::Data, layout.page.offset(number), layout.page.bytes())
    }
}

impl fmt::Display for InspectTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectTrouble::NoStore(finding) => write!(f, "{finding}"),
            InspectTrouble::Unreadable(target, offset) => {
                let device = if *target == StoreDevice::Data { "data" } else { "log" };
                write!(f, "byte {offset} of the {device} device cannot be read")
            }
            InspectTrouble::NoSuchPage(page) => write!(f, "there is no {page} in this store"),
            InspectTrouble::Page(page, _) => write!(f, "{page} of the tree is damaged"),
            InspectTrouble::Node(page, _) => write!(f, "{page} of the tree is no sound node"),
        }
    }
}

impl std::error::Error for InspectTrouble {}

impl From<u64> for ShownValue {
    fn from(number: u64) -> ShownValue {
        ShownValue::Number(number)
    }
}

impl From<String> for ShownValue {
    fn from(text: String) -> ShownValue {
        ShownValue::Text(text)
    }
}

impl From<&str> for ShownValue {
    fn from(text: &str) -> ShownValue {
        ShownValue::Text(text.to_owned())
    }
}

impl Part {
    fn facts(name: &'static str, facts: Vec<(&'static str, ShownValue)>) -> Part {
        Part { name, body: Body::Facts(facts) }
    }

    fn table(
        name: &'static str,
        head: &'static [&'static str],
        rows: Vec<Vec<ShownValue>>,
        more: u64,
    ) -> Part {
        Part { name, body: Body::Table { head, rows, more } }
    }
}
