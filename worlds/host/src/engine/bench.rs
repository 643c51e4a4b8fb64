//! What the OSDs' disks can do (qos.md 6): measured at the start of a node where nobody knows it, and when somebody asks.
//!
//! At a start all OSDs in question take each step together. They also work together later: files on one drive, and
//! every OSD of this loop's one thread, have only a share of what one alone could do.

use super::Engine;
use super::admin::{CommandOutcome, Executed, Ticket};
use super::benches::{BenchPart, OnRequest, RunningBench};
use super::boot::BootError;
use super::host_node::HostNode;
use crate::admin::api::{AdminAnswer, AdminRefusal, BenchAsked};
use loadline_base::{Bytes, Span};
use loadline_osd::{BenchShape, BenchStep, DiskSpace, Event, NoRoom, OsdId};
use loadline_qos::benchmark_skipped;

/// The published benchmark: 3000 writes of 4 KiB to 100 objects of 4 MiB (qos.md 6.2).
const TOTAL: Bytes = Bytes::new(12_288_000);
const BLOCK: Bytes = Bytes::from_kib(4);
const OBJECT: Bytes = Bytes::from_mib(4);
/// The smallest block that may be asked for; the largest is an object.
const BLOCK_MIN: Bytes = Bytes::new(512);
/// What may be asked for at most: writes below 1 MiB at a rate of 100 per second for 30 s, larger ones at 100 MiB/s
/// (`osd_bench_small_size_max_iops`, `osd_bench_large_size_max_throughput`, `osd_bench_duration`).
const SMALL_BELOW: Bytes = Bytes::from_mib(1);
const SMALL_WRITES_MAX: u64 = 30 * 100;
const LARGE_BYTES_MAX: Bytes = Bytes::from_mib(30 * 100);
/// The objects take at most this part of the free room, so that a benchmark makes no disk full.
const PART_OF_FREE: u64 = 4;

impl HostNode {
    fn is_to_be_measured(&self, osd: OsdId) -> bool {
        let skipped = benchmark_skipped(&self.settings.levels.benchmark(osd));
        tracing::debug!(%osd, ?skipped, "benchmark of the start");
        skipped.is_none()
    }

    /// What is written to an OSD; `None` if there is no room for a single object.
    fn bench_shape(&mut self, osd: OsdId, total: Bytes, block: Bytes) -> Option<BenchShape> {
        let DiskSpace { free, page_bytes, .. } = self.node.osd(osd).space()?;
        let room = free * page_bytes / PART_OF_FREE / OBJECT.get();
        let objects = room.min(u64::from(BenchShape::OBJECTS_MAX)) as u32;
        (objects > 0).then(|| BenchShape {
            objects,
            object_bytes: OBJECT.get() as u32,
            writes: (total.get() / block.get()) as u32,
            block_bytes: block.get() as u32,
            seed: self.now.nanos() ^ u64::from(osd.get()) << 48,
        })
    }
}

impl Engine {
    /// Measures the OSDs whose capacity nobody knows, before clients come.
    pub(super) fn measure_capacities(&mut self) -> Result<(), BootError> {
        let osds = self.host.node.cluster().map().osds().iter();
        let up: Vec<OsdId> = osds.filter(|(_, state)| state.up).map(|(osd, _)| osd).collect();
        let unknown: Vec<OsdId> =
            up.into_iter().filter(|osd| self.host.is_to_be_measured(*osd)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        tracing::info!(osds = unknown.len(), "measuring what the OSDs can do");
        // What a benchmark left that was killed goes first.
        self.bench_all(unknown, BenchStep::Fill)
    }

    /// Measures an OSD that is open and takes no part yet. Returns whether a benchmark has begun.
    pub(super) fn measure_held(&mut self, osd: OsdId) -> bool {
        let shape =
            self.host.is_to_be_measured(osd).then(|| self.host.bench_shape(osd, TOTAL, BLOCK));
        let Some(Some(shape)) = shape else { return false };
        tracing::info!(%osd, "measuring what it can do");
        self.begin_bench(vec![(osd, shape)], BenchStep::Fill, None);
        true
    }

    fn bench_all(&mut self, osds: Vec<OsdId>, first: BenchStep) -> Result<(), BootError> {
        let shaped = osds
            .into_iter()
            .filter_map(|osd| Some((osd, self.host.bench_shape(osd, TOTAL, BLOCK)?)));
        let parts = shaped.collect::<Vec<_>>();
        self.begin_bench(parts, first, None);
        self.run_until(|engine| engine.bench.is_idle())?;
        let measured = self.host.node.cluster().last_change();
        self.run_until(|engine| engine.host.node.cluster().is_kept(measured))
    }

    /// Begins to measure one OSD.
    ///
    /// # Errors
    /// It cannot be measured now, or not so; nothing was begun then.
    pub(super) fn begin_osd_bench(
        &mut self,
        ticket: Ticket,
        osd: OsdId,
        asked: &BenchAsked,
    ) -> Executed {
        if !self.host.node.cluster().map().osds()[osd].up {
            return Err(AdminRefusal::unavailable(format!("{osd} is down")));
        }
        if !self.bench.is_idle() {
            return Ok(CommandOutcome::Busy("another benchmark is under way".to_owned()));
        }
        let (total, block) = amount(asked)?;
        let shape = self.host.bench_shape(osd, total, block);
        let shape = shape.ok_or_else(|| {
            AdminRefusal::conflict(format!("{osd} has too little room for a benchmark"))
        })?;
        self.begin_bench(
            vec![(osd, shape)],
            BenchStep::Fill,
            Some(OnRequest { ticket, store: asked.store }),
        );
        Ok(CommandOutcome::Later)
    }

    fn begin_bench(
        &mut self,
        osds: Vec<(OsdId, BenchShape)>,
        first: BenchStep,
        asked: Option<OnRequest>,
    ) {
        let part = |(osd, shape)| (osd, BenchPart { shape, waits: false, took: None });
        let parts = osds.into_iter().map(part).collect();
        self.bench.running = Some(RunningBench { step: first, parts, asked });
        self.begin_bench_step();
    }

    /// Lets every part that can take the present step begin it.
    fn begin_bench_step(&mut self) {
        let running = self.bench.running.as_mut().expect("a benchmark is under way");
        let step = running.step;
        for (osd, part) in &mut running.parts {
            part.waits = step != BenchStep::Run || part.took.is_some_and(|took| took.is_ok());
            if part.waits {
                self.host.node.pass(*osd, Event::Bench(part.shape, step));
            }
        }
    }

    /// A step has ended on an OSD.
    pub(super) fn benched(&mut self, osd: OsdId, ended: Result<Span, NoRoom>) {
        let running = self.bench.running.as_mut();
        let Some(RunningBench { step, parts, .. }) = running else { return };
        let Some(part) = parts.get_mut(&osd) else { return };
        part.waits = false;
        if *step != BenchStep::Clear {
            part.took = Some(ended.map_err(|NoRoom| "ran out of room in its benchmark"));
        }
    }

    /// Goes on with the benchmark as far as it can. An OSD that went down takes no further part.
    pub(super) fn bench_settle(&mut self) {
        let map = self.host.node.cluster().map();
        let Some(running) = &mut self.bench.running else { return };
        for (osd, part) in &mut running.parts {
            if part.waits && !map.osds()[*osd].up && !self.host.node.cluster().is_held_open(*osd) {
                (part.waits, part.took) = (false, Some(Err("went down in its benchmark")));
            }
        }
        if running.parts.values().any(|part| part.waits) {
            return;
        }
        running.step = match running.step {
            BenchStep::Fill => BenchStep::Run,
            BenchStep::Run => BenchStep::Clear,
            BenchStep::Clear => return self.end_bench(),
        };
        self.begin_bench_step();
    }

    fn end_bench(&mut self) {
        let RunningBench { parts, mut asked, .. } =
            self.bench.running.take().expect("it has just ended");
        for (osd, BenchPart { shape, took, .. }) in parts {
            let keep = asked.as_ref().is_none_or(|asked| asked.store);
            let Some(took) = took else { continue };
            let ended = took.map(|took| self.host.take_capacity(osd, &shape, took, keep));
            if let Err(why) = ended {
                tracing::warn!(%osd, "the OSD {why}");
            }
            if let Some(OnRequest { ticket, .. }) = asked.take() {
                let ended = ended.map(AdminAnswer::Bench);
                self.admin_ended(
                    ticket,
                    ended.map_err(|why| AdminRefusal::unavailable(format!("{osd} {why}"))),
                );
            }
        }
    }
}

/// Bytes to write, and bytes of each write.
fn amount(asked: &BenchAsked) -> Result<(Bytes, Bytes), AdminRefusal> {
    let block = asked.block_bytes.map_or(BLOCK, Bytes::new);
    if block < BLOCK_MIN || block > OBJECT {
        let wanted = format!("from {BLOCK_MIN} to {OBJECT}, the size of an object");
        return Err(AdminRefusal::bad(format!("a block cannot be {block}")).wants(wanted));
    }
    let most = match block < SMALL_BELOW {
        true => Bytes::new(block.get() * SMALL_WRITES_MAX),
        false => LARGE_BYTES_MAX,
    };
    let total = asked.total_bytes.map_or(TOTAL.min(most).max(block), Bytes::new);
    if total < block || total > most {
        let wanted = format!("from one block to {} bytes", most.get());
        let error = format!("{} bytes cannot be written in blocks of {block}", total.get());
        return Err(AdminRefusal::bad(error).wants(wanted));
    }
    if asked.store && (total, block) != (TOTAL, BLOCK) {
        let error = format!(
            "a capacity is what the published benchmark finds, {} bytes in blocks of {BLOCK}",
            TOTAL.get()
        );
        return Err(AdminRefusal::bad(error).wants("no other total or block where it is stored"));
    }
    Ok((total, block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_asked_for_is_bounded_as_published() {
        let check_as = |store, total_bytes, block_bytes, answer: Result<(u64, u64), &str>| {
            let asked = BenchAsked { total_bytes, block_bytes, store };
            let found = amount(&asked).map(|(total, block)| (total.get(), block.get()));
            let found = found.map_err(|refusal| refusal.to_string());
            match (&found, answer) {
                (Err(found), Err(says)) => assert!(found.contains(says), "{found}"),
                _ => assert_eq!(found.ok(), answer.ok()),
            }
        };
        let check = |total, block, answer| check_as(false, total, block, answer);
        check(None, None, Ok((12_288_000, 4096)));
        check(Some(12_288_001), None, Err("12288001 bytes cannot be written in blocks of 4 KiB"));
        check(Some(4095), None, Err("from one block to 12288000 bytes"));
        check(None, Some(64 << 10), Ok((12_288_000, 64 << 10)));
        check(Some(3000 << 20), Some(4 << 20), Ok((3000 << 20, 4 << 20)));
        check(Some((3000 << 20) + 1), Some(4 << 20), Err("from one block to 3145728000 bytes"));
        check(None, Some(511), Err("a block cannot be 511 B"));
        check(None, Some(8 << 20), Err("from 512 B to 4 MiB"));
        // An OSD's capacity is in writes of 4 KiB: others, or few enough for a cache, were stored as it too.
        let published = "the published benchmark finds, 12288000 bytes in blocks of 4 KiB";
        check_as(true, None, None, Ok((12_288_000, 4096)));
        check_as(true, Some(12_288_000), Some(4096), Ok((12_288_000, 4096)));
        check_as(true, None, Some(64 << 10), Err(published));
        check_as(true, Some(4096), None, Err(published));
        check_as(true, None, Some(511), Err("a block cannot be 511 B"));
    }
}
