//! What deep scrubs record: of each state of an object the digest that all of its copies had, so that the next scrub finds one that has changed
//! without a write, though all copies are alike, and knows which of several is as it was.
//!
//! A digest is a note of the object in the store of each copy, with the version that it holds for. So a write makes it void and costs
//! nothing for that; it goes with the object, and a former state has the one of the state that it was. It is written behind a chunk where a copy
//! has it not, or has another, and never of an object in which anything was found. One that is lost, with power or with a copy that is replaced, is
//! recorded again by the next deep scrub.

use crate::snapshots::SnapshotNo;
use loadline_store::paged::NOTE;
use loadline_store::{ObjectNo, Version};

/// The name of the note: version (8) and digest (4), little-endian.
const NAME: [u8; 2] = [NOTE, b'd'];

/// The digest of one state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedDigest {
    /// Which state.
    pub state: (ObjectNo, SnapshotNo),
    /// The version in which the digest was taken.
    pub version: Version,
    /// CRC-32C of all its bytes.
    pub digest: u32,
}

impl RecordedDigest {
    /// Name and value of the note.
    pub(super) fn note(&self) -> (Vec<u8>, Vec<u8>) {
        let version = self.version.0.to_le_bytes();
        (NAME.to_vec(), [&version[..], &self.digest.to_le_bytes()].concat())
    }
}

/// The digest that is recorded for this version, if one is.
pub(super) fn recorded_for(version: Version, notes: &[(Vec<u8>, Vec<u8>)]) -> Option<u32> {
    let (_, value) = notes.iter().find(|(name, _)| *name == NAME)?;
    let (of, digest) = value.split_at_checked(8)?;
    let of = Version(u64::from_le_bytes(of.try_into().ok()?));
    let digest = u32::from_le_bytes(digest.try_into().ok()?);
    (of == version).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_holds_for_its_version_alone() {
        let state = (ObjectNo(7), SnapshotNo(3));
        let digest = RecordedDigest { state, version: Version(1 << 40), digest: 0xfeed_beef };
        let (name, value) = digest.note();
        assert_eq!(name[0], NOTE);
        let of = |version, value: &[u8]| {
            let notes = [(vec![NOTE], Vec::new()), (name.clone(), value.to_vec())];
            recorded_for(Version(version), &notes)
        };
        assert_eq!(of(1 << 40, &value), Some(0xfeed_beef));
        assert_eq!(of(1 << 40 | 1, &value), None, "it was written since");
        for cut in 0..value.len() {
            assert_eq!(of(1 << 40, &value[..cut]), None);
        }
        assert_eq!(recorded_for(Version(1), &[]), None);
    }
}
