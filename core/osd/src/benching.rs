//! How an OSD carries out a step of a benchmark.

use crate::access::{AccessFailure, AccessKind, ObjectRange, Update};
use crate::bench::{BenchShape, BenchStep, BenchUnderWay, FIRST_COLLECTION};
use crate::commit::Commit;
use crate::event::{Effect, Effects};
use crate::ids::PgId;
use crate::message::Data;
use crate::osd::Osd;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::{ObjectNo, Version};

impl Osd {
    /// Begins a step of the benchmark. [`Effect::Benched`] tells its end, unless the OSD goes down before.
    pub(crate) fn begin_bench(&mut self, now: Time, shape: BenchShape, step: BenchStep) {
        assert!(self.bench.is_none(), "one step of a benchmark at a time");
        self.bench = Some(BenchUnderWay::begin(now, shape, step));
    }

    /// Hands in as much as the window admits.
    pub(crate) fn go_on_benching(&mut self, now: Time, fx: &mut Effects) {
        while self.store.paged().admits()
            && let Some(bench) = &mut self.bench
            && let Some((object, offset, length)) = bench.next()
        {
            let byte = bench.byte();
            self.bench_access(now, object, offset, length.map(|length| (length, byte)));
        }
        if let Some(bench) = self.bench.take_if(|bench| bench.is_over()) {
            fx.world.push(Effect::Benched(self.id, bench.result(now)));
        }
    }

    /// Writes bytes of one value to an object of the benchmark, or removes it.
    fn bench_access(&mut self, now: Time, object: u32, offset: u32, write: Option<(u32, u8)>) {
        let touch = write.map_or(AccessKind::Remove, |(length, byte)| {
            AccessKind::Write(Data::new(vec![byte; length as usize]))
        });
        let place = ObjectRange {
            pg: PgId::new(FIRST_COLLECTION + object),
            object: ObjectNo(0),
            offset: u64::from(offset),
            length: write.map_or(0, |(length, _)| u64::from(length)),
        };
        let update = Update { version: Version(1), ..Update::none(touch) };
        self.access(now, Urgency::default(), &place, update, Commit::Bench);
    }

    /// An access of the benchmark has ended.
    pub(crate) fn bench_access_ended(
        &mut self,
        result: Result<(), AccessFailure>,
        fx: &mut Effects,
    ) {
        match result {
            // A full disk is no reason to stop: what the benchmark wrote is removed again.
            Ok(()) | Err(AccessFailure::NoSpace) => {
                let bench = self.bench.as_mut().expect("a crash forgets its accesses too");
                bench.access_ended(result.is_ok());
            }
            Err(failure) => self.stop_for(failure, fx),
        }
    }
}
