//! The places where studies, drives and published figures lie.

/// A kind of data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// `studies/*.toml`
    Studies,
    /// `drives/*.toml`
    Drives,
    /// `drives/store/*.toml`: drives with contents, for studies of a store.
    StoreDrives,
    /// `published/*.toml`
    Published,
}

impl Shelf {
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Shelf::Studies => "studies",
            Shelf::Drives => "drives",
            Shelf::StoreDrives => "drives/store",
            Shelf::Published => "published",
        }
    }

    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Shelf::Studies => "study",
            Shelf::Drives | Shelf::StoreDrives => "drive",
            Shelf::Published => "set of published figures",
        }
    }
}
