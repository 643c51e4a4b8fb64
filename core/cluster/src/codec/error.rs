//! Why bytes are no record of the map, in one sentence.

use super::types::VERSION;
use std::fmt;

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// They do not begin as a map does.
    Foreign,
    /// The record says that it has another length.
    Length {
        /// What it says.
        said: u32,
        /// What is there.
        found: usize,
    },
    /// The checksum does not fit.
    Checksum,
    /// The format is newer than this program.
    Newer(u32),
    /// Whole, but a field means nothing.
    Malformed {
        /// About where (bytes from the start).
        at: usize,
    },
    /// Whole, but the parts do not fit each other.
    Contradiction,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapError::Foreign => f.write_str("this is not a cluster map"),
            MapError::Length { said, found } => {
                write!(f, "the cluster map has {found} bytes and should have {said}")
            }
            MapError::Checksum => {
                f.write_str("the cluster map is damaged: its checksum does not fit")
            }
            MapError::Newer(version) => write!(
                f,
                "the cluster map has format {version} and this program knows {VERSION}: use a newer program"
            ),
            MapError::Malformed { at } => {
                write!(f, "the cluster map is not valid: byte {at} means nothing there")
            }
            MapError::Contradiction => {
                f.write_str("the cluster map is not valid: its parts contradict each other")
            }
        }
    }
}

impl std::error::Error for MapError {}
