//! What some work takes of an OSD's gate.

/// What some work takes of the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub ops: u32,
    pub bytes: u64,
    /// In the scheduler's cost units.
    pub cost: u64,
}

impl Demand {
    /// Whether it needs nothing of the disk.
    pub(crate) fn is_none(self) -> bool {
        self.ops == 0
    }

    pub(crate) fn add(&mut self, other: Demand) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.cost += other.cost;
    }

    pub(crate) fn remove(&mut self, other: Demand) {
        assert!(
            self.ops >= other.ops && self.bytes >= other.bytes && self.cost >= other.cost,
            "only what entered the gate can leave it"
        );
        self.ops -= other.ops;
        self.bytes -= other.bytes;
        self.cost -= other.cost;
    }
}
