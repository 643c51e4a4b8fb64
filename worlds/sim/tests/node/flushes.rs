//! Devices that refuse a flush when clients were answered already. Who asks then whether all is durable is not told that it is, unless another
//! copy has it.
//!
//! A guest's flush was answered as a good one when the one OSD that had to make its writes durable had failed at exactly that: it had stopped, and no
//! more was asked of it.

use crate::judge::{
    Judged, OSDS, OpenFlush, config, fresh_disk, is_durable, is_whole, settings, stores, sync,
    target,
};
use crate::swarm::{load, many_seeds};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_cluster::{PoolId, PoolSpec, SyncEnd, SyncOf};
use loadline_osd::{Data, Directive, DiskFault, OpKind, OsdId, OsdSet, PgId};
use loadline_sim::Sim;
use loadline_sim::disk::CutStyle;
use loadline_store::paged::{Fault, LogMode};

const PG: PgId = PgId::new(0);

fn node(mode: LogMode, copies: u32) -> Sim {
    let disks = (1..5).map(fresh_disk).collect();
    let started = Sim::start(Time::ZERO, &config(&settings()), stores(mode), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    let (name, object_bytes) = ("p".into(), 64 << 10);
    node.create_pool(PoolSpec { name, pgs: 1, copies, object_bytes, recovery_priority: 0 });
    assert!(node.wait_until(is_whole));
    sync(&mut node);
    node
}

fn write(node: &mut Sim) {
    write_this(node, 7);
}

fn write_this(node: &mut Sim, byte: u8) {
    let id = node.issue(&target(OpKind::Write, 5, (0, 4096)), Data::new(vec![byte; 4096]));
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    node.workload_mut().replies.clear();
}

/// Whether that is there.
fn holds(node: &mut Sim, byte: u8) -> bool {
    let id = node.issue(&target(OpKind::Read, 5, (0, 4096)), Data::NONE);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    let reply = node.workload_mut().replies.pop().expect("it is the only one");
    reply.result.expect("it can be read").into_vec() == [byte; 4096]
}

/// The power goes, and the node starts again with what its disks kept.
fn after_a_power_cut(node: Sim, mode: LogMode) -> Sim {
    let (at, disks) = (node.now(), node.crash(Some(CutStyle::AllLost), &mut Rng::new(6)));
    let started = Sim::start(at, &config(&settings()), stores(mode), disks);
    started.unwrap_or_else(|(error, _)| panic!("no start: {error}"))
}

fn is_flush(fault: Option<DiskFault>) -> bool {
    matches!(fault, Some(DiskFault::Store(Fault::Flush(_))))
}

fn opens(node: &mut Sim, osd: OsdId) {
    node.open(osd);
    while !node.cluster().map().osds()[osd].up {
        assert!(node.step(), "{osd} comes up");
    }
}

fn with_an_image(node: &mut Sim) -> SyncOf {
    let pool = PoolId::new(0);
    let made = node.change_images(|all| all.create("i", pool, 1 << 20, OBJECT_BYTES_MIN));
    SyncOf::Image(made.expect("the name is new"))
}

fn run_for(node: &mut Sim, span: Span) {
    let later = node.now() + span;
    node.wait_until(|node| node.now() >= later);
}

/// An OSD has no room for backfills until another one comes up, at which all are looked at.
fn take_no_backfills(node: &mut Sim, osd: OsdId) {
    node.change(|_, fx| fx.directives.push((osd, Directive::SetBackfillFull(true))));
}

/// Whether a sync could promise anything; `None` if it does not end.
fn end_of(node: &mut Sim, number: u32) -> Option<bool> {
    let limit = node.now() + Span::from_secs(20);
    loop {
        let mut ended = node.cluster().take_synced().into_iter();
        if let Some(ended) = ended.find(|ended| ended.number == number) {
            return Some(ended.is_durable);
        }
        if node.now() >= limit || !node.step() {
            return None;
        }
    }
}

/// A node with an image, of whose one group one OSD alone has the last write.
fn with_a_write_on_one(mode: LogMode) -> (Sim, OsdId, SyncOf) {
    let mut node = node(mode, 2);
    let [alone, other] = node.map().pg(PG).acting[..] else { panic!("two copies") };
    let image = with_an_image(&mut node);
    node.take_down(other);
    write(&mut node);
    (node, alone, image)
}

#[test]
fn who_asks_for_durability_hears_once_that_it_failed() {
    // The device refuses the very flush that is asked for, or one that the store makes by itself before.
    for before in [Span::ZERO, Span::from_secs(2)] {
        let (mut node, alone, image) = with_a_write_on_one(LogMode::LogOnly);
        node.disk(alone).fail_flush(1);
        run_for(&mut node, before);
        assert!(!is_durable(&mut node, image));
        assert!(is_flush(node.cluster().fault(alone)));
        assert!(is_durable(&mut node, image), "it was told");
        assert!(!is_durable(&mut node, SyncOf::Node), "this one was not");
        opens(&mut node, alone);
        write(&mut node);
        assert!(is_durable(&mut node, image));
        assert!(is_durable(&mut node, SyncOf::Node));
    }
}

/// A flush had been refused once in the node's life, and its end waited for no disk any more: everything that was answered since the last flush was
/// lost by it.
#[test]
fn what_is_told_to_be_lost_keeps_nothing_else_from_being_durable() {
    for mode in [LogMode::LogOnly, LogMode::Background, LogMode::None] {
        let (mut node, alone, image) = with_a_write_on_one(mode);
        node.disk(alone).fail_flush(1);
        assert!(!is_durable(&mut node, image));
        opens(&mut node, alone);
        write_this(&mut node, 8);
        assert!(!is_durable(&mut node, SyncOf::Node), "it hears of the flush that was refused");
        assert!(holds(&mut after_a_power_cut(node, mode), 8), "{mode:?}");
    }
}

#[test]
fn what_another_copy_has_is_durable_there() {
    for copies in [2, 3] {
        let mut node = node(LogMode::LogOnly, copies);
        write(&mut node);
        let first = node.map().pg(PG).acting[0];
        node.disk(first).fail_flush(1);
        assert!(is_durable(&mut node, SyncOf::Node), "with {copies} copies");
        assert!(is_flush(node.cluster().fault(first)));
    }
}

/// Who is answered when it is durable loses nothing by a flush that fails.
#[test]
fn what_was_durable_when_it_was_answered_is_not_lost() {
    let (mut node, alone, image) = with_a_write_on_one(LogMode::Fsync);
    node.disk(alone).fail_flush(1);
    node.issue(&target(OpKind::Write, 5, (0, 4096)), Data::new(vec![8; 4096]));
    while node.cluster().fault(alone).is_none() {
        assert!(node.step(), "its flush is refused");
    }
    assert!(is_flush(node.cluster().fault(alone)));
    assert!(is_durable(&mut node, image));
    assert!(is_durable(&mut node, SyncOf::Node));
}

/// An OSD that is taken down has lost nothing, and nothing of it is durable before it runs again.
#[test]
fn what_a_disk_owes_is_waited_for() {
    let (mut node, alone, image) = with_a_write_on_one(LogMode::LogOnly);
    node.take_down(alone);
    let number = node.sync(image);
    assert_eq!(end_of(&mut node, number), None, "its group is not served, nor is this answered");
    assert!(!is_durable(&mut node, SyncOf::Node), "who wants an answer now gets one");
    opens(&mut node, alone);
    assert_eq!(end_of(&mut node, number), Some(true));
    assert!(holds(&mut after_a_power_cut(node, LogMode::LogOnly), 7));
}

/// It is given up with its disk.
#[test]
fn what_a_disk_owes_is_lost_with_it() {
    let (mut node, alone, image) = with_a_write_on_one(LogMode::LogOnly);
    node.take_down(alone);
    let number = node.sync(image);
    node.replace(alone, fresh_disk(50));
    assert_eq!(end_of(&mut node, number), Some(false));
    assert!(is_durable(&mut node, image), "it was told");
}

/// One copy of three was being filled for long, and another one had been away for a moment. It had all again, and was not said to have before the filling ended: when
/// the third went, each flush of the pool waited for that one's disk, or failed without a log, though all was served.
#[test]
fn a_group_that_is_served_owes_nothing() {
    for mode in [LogMode::LogOnly, LogMode::None] {
        let mut node = node(mode, 3);
        let image = with_an_image(&mut node);
        let [first, second, filled] = node.map().pg(PG).acting[..] else { panic!("three copies") };
        node.take_down(filled);
        node.replace(filled, fresh_disk(50));
        opens(&mut node, filled);
        take_no_backfills(&mut node, filled);
        node.take_down(second);
        write(&mut node);
        opens(&mut node, second);
        take_no_backfills(&mut node, filled);
        run_for(&mut node, Span::from_secs(5));
        write_this(&mut node, 8);
        let group = node.map().pg(PG);
        assert_eq!((&group.backfill[..], group.lacking), (&[filled][..], OsdSet::one(second)));
        node.take_down(first);
        let number = node.sync(image);
        assert_eq!(end_of(&mut node, number), Some(true), "{mode:?}");
        assert!(holds(&mut node, 8), "{mode:?}");
    }
}

/// A disk with answered writes that no other one had was away when the node started again. Nothing was known of that any more, and flushes were answered as
/// good ones.
#[test]
fn what_a_disk_owes_is_owed_after_a_restart() {
    let (mut node, alone, image) = with_a_write_on_one(LogMode::LogOnly);
    node.take_down(alone);
    run_for(&mut node, Span::from_secs(1));
    let (at, mut disks) = (node.now(), node.crash(None, &mut Rng::new(6)));
    let away = std::mem::replace(&mut disks[alone.get() as usize], fresh_disk(50));
    let started = Sim::start(at, &config(&settings()), stores(LogMode::LogOnly), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    let number = node.sync(image);
    assert_eq!(end_of(&mut node, number), None, "the disk is away");
    assert!(!is_durable(&mut node, SyncOf::Node));
    node.put_disk(alone, away);
    opens(&mut node, alone);
    assert_eq!(end_of(&mut node, number), Some(true));
    assert!(holds(&mut after_a_power_cut(node, LogMode::LogOnly), 7));
}

/// Where all that was owed could be had, nobody owes it.
#[test]
fn a_restart_without_a_disk_that_others_can_do_without_owes_nothing() {
    let mut node = node(LogMode::LogOnly, 2);
    let image = with_an_image(&mut node);
    write(&mut node);
    let first = node.map().pg(PG).acting[0];
    let (at, mut disks) = (node.now(), node.crash(None, &mut Rng::new(6)));
    disks[first.get() as usize] = fresh_disk(50);
    let started = Sim::start(at, &config(&settings()), stores(LogMode::LogOnly), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    assert!(is_durable(&mut node, image));
    assert!(is_durable(&mut node, SyncOf::Node));
}

/// What histories with refused flushes showed.
#[derive(Clone, Copy, Debug, Default)]
struct Flushes {
    refused: u64,
    durable: u64,
    not_durable: u64,
}

/// Who asks for durability in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedBy {
    /// The node for all, and nothing else happens meanwhile.
    Node,
    /// Images' clients too, who wait for what is owed.
    Images,
}

/// Devices refuse flushes while OSDs go and come, and the power goes. Whoever was told that all is durable finds it.
struct History {
    judged: Judged,
    /// The image whose clients flush, and when they do.
    image: Option<(SyncOf, Rng)>,
    open: Vec<OpenFlush>,
    seen: Flushes,
}

impl History {
    fn new(seed: u64, by: AskedBy) -> History {
        let mode = [LogMode::LogOnly, LogMode::LogOnly, LogMode::Fsync][seed as usize % 3];
        let mut judged = Judged::of_copies(seed, mode, 1 + seed as u32 / 3 % 3);
        let image = (by == AskedBy::Images).then(|| {
            let image = with_an_image(judged.node());
            assert!(judged.node().wait_until(|node| node.is_map_committed()), "it is kept");
            (image, Rng::new(!seed))
        });
        History { judged, image, open: Vec::new(), seen: Flushes::default() }
    }

    fn run(mut self) -> Flushes {
        for _ in 0..20 + self.judged.rng.below(20) {
            load(&mut self.judged);
            self.happen();
            if let Some((image, rng)) = &mut self.image
                && rng.below(2) == 0
            {
                self.open.push(self.judged.begin_flush(*image));
            }
            self.take_ended();
        }
        end_refusals(&mut self.judged);
        // One may be on its way.
        run_for(self.judged.node(), Span::from_secs(1));
        self.judged.find_stopped();
        self.judged.settle_and_check();
        let limit = self.judged.node().now() + Span::from_secs(20);
        while !self.open.is_empty() {
            let goes_on = self.judged.node().now() < limit && self.judged.node().step();
            assert!(goes_on, "whoever waited for a disk that runs has its answer: {:?}", self.open);
            self.take_ended();
        }
        self.seen
    }

    fn happen(&mut self) {
        let judged = &mut self.judged;
        let osd = judged.rng.below(u64::from(OSDS)) as u32;
        match judged.rng.below(8) {
            0 => {
                judged.node().disk(OsdId::new(osd)).fail_flush(1);
                self.seen.refused += 1;
            }
            1 | 2 if !judged.down.contains(&osd) => {
                judged.take_down(OsdId::new(osd));
                judged.down.insert(osd);
            }
            3 => {
                judged.find_stopped();
                judged.open_all();
            }
            4 | 5 => self.flush_all(),
            end @ (6 | 7) => {
                // A disk that does not open may be the one without which there is no start.
                end_refusals(judged);
                judged.crash((end == 7).then_some(CutStyle::AllLost));
                self.open.clear();
            }
            _ => judged.steps(300),
        }
    }

    fn flush_all(&mut self) {
        let flush = self.judged.begin_flush(SyncOf::Node);
        let number = flush.number;
        self.open.push(flush);
        self.take_ended();
        while self.open.iter().any(|flush| flush.number == number) {
            assert!(self.judged.node().step(), "it ends");
            self.take_ended();
        }
    }

    fn take_ended(&mut self) {
        for SyncEnd { number, is_durable } in self.judged.node().cluster().take_synced() {
            let Some(at) = self.open.iter().position(|flush| flush.number == number) else {
                continue;
            };
            let flush = self.open.remove(at);
            self.judged.end_flush(flush, is_durable);
            match is_durable {
                true => self.seen.durable += 1,
                false => self.seen.not_durable += 1,
            }
        }
    }
}

fn end_refusals(judged: &mut Judged) {
    for osd in (0..OSDS).map(OsdId::new) {
        judged.node().disk(osd).end_failing_flushes();
    }
}

fn search(seeds: impl Iterator<Item = u64>, by: AskedBy) -> Flushes {
    let mut all = Flushes::default();
    for seed in seeds {
        let Flushes { refused, durable, not_durable } = History::new(seed, by).run();
        all.refused += refused;
        all.durable += durable;
        all.not_durable += not_durable;
    }
    println!("{all:?}");
    all
}

fn told(seeds: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
    seeds.inspect(|seed| println!("seed {seed}"))
}

#[test]
fn what_was_flushed_is_there_though_devices_refuse_flushes() {
    let Flushes { refused, durable, not_durable } = search(told(0..30), AskedBy::Node);
    assert!(refused > 50 && durable > 100 && not_durable > 15);
}

/// Who waits for a disk that is away has its answer when that runs again, also where the node has begun anew meanwhile.
#[test]
fn what_images_flush_is_there_whoever_they_wait_for() {
    let Flushes { refused, durable, not_durable } = search(told(0..30), AskedBy::Images);
    assert!(refused > 50 && durable > 200 && not_durable > 15);
}

/// The only copy with a write refuses a flush, which is told; the next flush, with nobody there who serves the group, is durable, and the write is gone.
#[test]
fn what_was_told_to_be_lost_is_not_durable_by_the_next_flush() {
    search(told(1302..1303), AskedBy::Node);
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn a_thousand_histories_in_which_devices_refuse_flushes() {
    let Flushes { refused, durable, not_durable } = search(many_seeds(1_000), AskedBy::Node);
    assert!(refused > 1000 && durable > 2000 && not_durable > 500);
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn a_thousand_histories_in_which_images_flush_meanwhile() {
    let Flushes { refused, durable, not_durable } = search(many_seeds(1_000), AskedBy::Images);
    assert!(refused > 1000 && durable > 4000 && not_durable > 500);
}
