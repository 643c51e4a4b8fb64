//! The benchmark of an OSD's own store (qos.md 6.2): objects are written whole, then small writes to random places of
//! them are timed, then everything is removed.
//!
//! It goes to the store without passing a queue; only the window bounds what is in flight. Its objects stand in
//! collections that no placement group has, one for each, so that no order among them holds anything up.

use loadline_base::{Rng, Span, Time};

/// The collections of the benchmark are the last ones that there can be; a pool never has so many groups.
pub(crate) const FIRST_COLLECTION: u32 = u32::MAX - BenchShape::OBJECTS_MAX;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchShape {
    /// Objects that are written whole before.
    pub objects: u32,
    /// Bytes of each.
    pub object_bytes: u32,
    /// Writes that are timed.
    pub writes: u32,
    /// Bytes of each, at most an object's.
    pub block_bytes: u32,
    /// Decides what is written where.
    pub seed: u64,
}

/// One step. They follow each other as named; whoever measures several OSDs lets them take each step together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchStep {
    /// Remove what an earlier benchmark may have left, and write the objects.
    Fill,
    /// Make the writes that are timed.
    Run,
    /// Remove the objects.
    Clear,
}

/// A step could not be carried out whole, because the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The step under way.
#[derive(Debug)]
pub(crate) struct BenchUnderWay {
    shape: BenchShape,
    step: BenchStep,
    rng: Rng,
    begun: Time,
    issued: u32,
    ended: u32,
    failed: bool,
}

impl BenchShape {
    /// The most objects that a benchmark may have: the published number.
    pub const OBJECTS_MAX: u32 = 100;

    /// How many accesses a step has.
    fn accesses(&self, step: BenchStep) -> u32 {
        match step {
            BenchStep::Fill => BenchShape::OBJECTS_MAX + self.objects,
            BenchStep::Run => self.writes,
            BenchStep::Clear => BenchShape::OBJECTS_MAX,
        }
    }
}

impl BenchUnderWay {
    pub(crate) fn begin(now: Time, shape: BenchShape, step: BenchStep) -> BenchUnderWay {
        assert!(shape.objects <= BenchShape::OBJECTS_MAX, "{shape:?} has too many objects");
        assert!(shape.block_bytes <= shape.object_bytes, "a block of {shape:?} is in an object");
        let rng = Rng::new(shape.seed);
        BenchUnderWay { shape, step, rng, begun: now, issued: 0, ended: 0, failed: false }
    }

    /// What all bytes are that it writes.
    pub(crate) fn byte(&self) -> u8 {
        self.shape.seed as u8
    }

    /// An access has ended, or found no room.
    pub(crate) fn access_ended(&mut self, has_room: bool) {
        self.ended += 1;
        self.failed |= !has_room;
    }

    /// How long it took, or that there was no room.
    pub(crate) fn result(&self, now: Time) -> Result<Span, NoRoom> {
        if self.failed { Err(NoRoom) } else { Ok(now.since(self.begun)) }
    }

    /// The next access, if there is one left and it makes sense to go on.
    pub(crate) fn next(&mut self) -> Option<(u32, u32, Option<u32>)> {
        let BenchShape { objects, object_bytes, block_bytes, .. } = self.shape;
        let number = self.issued;
        if number == self.shape.accesses(self.step) || self.failed {
            return None;
        }
        self.issued += 1;
        Some(match self.step {
            BenchStep::Fill if number >= BenchShape::OBJECTS_MAX => {
                (number - BenchShape::OBJECTS_MAX, 0, Some(object_bytes))
            }
            BenchStep::Fill | BenchStep::Clear => (number, 0, None),
            BenchStep::Run => {
                let object = self.rng.below(u64::from(objects)) as u32;
                let blocks = u64::from(object_bytes / block_bytes);
                let block = self.rng.below(blocks) as u32;
                (object, block * block_bytes, Some(block_bytes))
            }
        })
    }

    /// Whether its last access has ended.
    pub(crate) fn is_over(&self) -> bool {
        let all = self.failed || self.issued == self.shape.accesses(self.step);
        all && self.ended == self.issued
    }
}
