//! The benchmark of an OSD's own store (qos.md 6.2): objects are written whole, then small writes to random places of
//! them are timed, then everything is removed.
//!
//! It goes to the store without passing a queue; only the window bounds what is in flight. Its objects stand in
//! collections that no placement group has, one for each, so that no order among them holds anything up.

use crate::access::{Place, Update};
use crate::commit::Commit;
use crate::disk::{Failure, Touch};
use crate::event::{Effect, Effects};
use crate::ids::PgId;
use crate::message::Data;
use crate::osd::Osd;
use loadline_base::{Rng, Span, Time};
use loadline_qos::Urgency;
use loadline_store::{ObjectNo, Version};

/// The collections of the benchmark are the last ones that there can be; a pool never has so many groups.
const FIRST_COLLECTION: u32 = u32::MAX - BenchShape::OBJECTS_MAX;

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
pub(crate) struct Bench {
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

impl Bench {
    /// The next access, if there is one left and it makes sense to go on.
    fn next(&mut self) -> Option<(u32, u32, Option<u32>)> {
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

    fn is_over(&self) -> bool {
        let all = self.failed || self.issued == self.shape.accesses(self.step);
        all && self.ended == self.issued
    }
}

impl Osd {
    /// Begins a step of the benchmark. [`Effect::Benched`] tells its end, unless the OSD goes down before.
    pub(crate) fn begin_bench(&mut self, now: Time, shape: BenchShape, step: BenchStep) {
        assert!(self.bench.is_none(), "one step of a benchmark at a time");
        assert!(shape.objects <= BenchShape::OBJECTS_MAX, "{shape:?} has too many objects");
        assert!(shape.block_bytes <= shape.object_bytes, "a block of {shape:?} is in an object");
        let rng = Rng::new(shape.seed);
        self.bench =
            Some(Bench { shape, step, rng, begun: now, issued: 0, ended: 0, failed: false });
    }

    /// Hands in as much as the window admits.
    pub(crate) fn go_on_benching(&mut self, now: Time, fx: &mut Effects) {
        while self.store.paged().admits()
            && let Some(bench) = &mut self.bench
            && let Some((object, offset, length)) = bench.next()
        {
            let seed = bench.shape.seed as u8;
            self.bench_access(now, object, offset, length.map(|length| (length, seed)));
        }
        if let Some(bench) = self.bench.take_if(|bench| bench.is_over()) {
            let took: Span = now.since(bench.begun);
            fx.world
                .push(Effect::Benched(self.id, if bench.failed { Err(NoRoom) } else { Ok(took) }));
        }
    }

    /// Writes bytes of one value to an object of the benchmark, or removes it.
    fn bench_access(&mut self, now: Time, object: u32, offset: u32, write: Option<(u32, u8)>) {
        let touch = write.map_or(Touch::Remove, |(length, byte)| {
            Touch::Write(Data::new(vec![byte; length as usize]))
        });
        let place = Place {
            pg: PgId::new(FIRST_COLLECTION + object),
            object: ObjectNo(0),
            offset: u64::from(offset),
            length: write.map_or(0, |(length, _)| u64::from(length)),
        };
        let update = Update { version: Version(1), ..Update::none(touch) };
        self.access(now, Urgency::default(), &place, update, Commit::Bench);
    }

    /// An access of the benchmark has ended.
    pub(crate) fn bench_access_ended(&mut self, result: Result<(), Failure>, fx: &mut Effects) {
        match result {
            // A full disk is no reason to stop: what the benchmark wrote is removed again.
            Ok(()) | Err(Failure::NoSpace) => {
                let bench = self.bench.as_mut().expect("a crash forgets its accesses too");
                bench.ended += 1;
                bench.failed |= result.is_err();
            }
            Err(failure) => self.stop(failure.fault(), fx),
        }
    }
}
