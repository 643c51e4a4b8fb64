//! What may be lost with disks that were given up.

use loadline_osd::{OsdSet, PgId};

/// What may be lost with disks that were given up in this life of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Whose.
    pub given_up: OsdSet,
    /// The epoch of the map that the node went on from.
    pub epoch: u32,
    /// Whether that map was known to be the last. If not, the lost disks may have had later ones, and later writes to any placement group.
    pub is_last: bool,
    /// Placement groups whose last interval nobody who is left took part in with a whole copy: they are as older copies have them.
    pub older: Vec<PgId>,
    /// Those of which no copy with everything is left, but one that was being filled or caught up: objects that had not arrived, and
    /// that no other copy has, read as before, or as zeros.
    pub unfinished: Vec<PgId>,
    /// Those of which no copy is left: they begin empty.
    pub empty: Vec<PgId>,
}
