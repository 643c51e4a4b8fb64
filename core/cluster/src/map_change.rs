//! Which change of the map is meant.

/// A change of the map, by its number. A map that counts keeps all up to the one that it was written after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapChange(u64);

impl MapChange {
    /// The one after it.
    pub(crate) fn next(self) -> MapChange {
        MapChange(self.0 + 1)
    }
}
