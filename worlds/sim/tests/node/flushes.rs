//! Devices that refuse a flush when clients were answered already. Who asks then whether all is durable is not told that it is, unless another
//! copy has it.
//!
//! A guest's flush was answered as a good one when the one OSD that had to make its writes durable had failed at exactly that: it had stopped, and no
//! more was asked of it.

use crate::judge::{
    Judged, OSDS, config, fresh_disk, is_durable, is_whole, settings, stores, sync, target,
};
use crate::swarm::load;
use loadline_base::{Rng, Span, Time};
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_cluster::{PoolId, PoolSpec, SyncOf};
use loadline_osd::{Data, DiskFault, OpKind, OsdId, PgId};
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

/// A node with an image, of whose one group one OSD alone has the last write.
fn with_a_write_on_one(mode: LogMode) -> (Sim, OsdId, SyncOf) {
    let mut node = node(mode, 2);
    let [alone, other] = node.map().pg(PG).acting[..] else { panic!("two copies") };
    let pool = PoolId::new(0);
    let made = node.change_images(|all| all.create("i", pool, 1 << 20, OBJECT_BYTES_MIN));
    let image = SyncOf::Image(made.expect("the name is new"));
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
        let later = node.now() + before;
        node.wait_until(|node| node.now() >= later);
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
    let later = node.now() + Span::from_secs(5);
    node.wait_until(|node| node.now() >= later);
    assert_eq!(node.cluster().take_synced(), [], "its group is not served, nor is this answered");
    assert!(!is_durable(&mut node, SyncOf::Node), "who wants an answer now gets one");
    opens(&mut node, alone);
    let ended = node.cluster().take_synced();
    assert!(ended.iter().any(|ended| ended.number == number && ended.is_durable), "{ended:?}");
    assert!(holds(&mut after_a_power_cut(node, LogMode::LogOnly), 7));
}

/// It is given up with its disk.
#[test]
fn what_a_disk_owes_is_lost_with_it() {
    let (mut node, alone, image) = with_a_write_on_one(LogMode::LogOnly);
    node.take_down(alone);
    let number = node.sync(image);
    node.replace(alone, fresh_disk(50));
    let ended = node.cluster().take_synced();
    assert!(ended.iter().any(|ended| ended.number == number && !ended.is_durable), "{ended:?}");
    assert!(is_durable(&mut node, image), "it was told");
}

/// What histories with refused flushes showed.
#[derive(Clone, Copy, Debug, Default)]
struct Flushes {
    refused: u64,
    durable: u64,
    not_durable: u64,
}

impl Flushes {
    /// Devices refuse flushes while OSDs go and come, and the power goes. Whoever was told that all is durable finds it.
    fn history(&mut self, seed: u64) {
        let mode = [LogMode::LogOnly, LogMode::LogOnly, LogMode::Fsync][seed as usize % 3];
        let mut judged = Judged::of_copies(seed, mode, 1 + seed as u32 / 3 % 3);
        for _ in 0..20 + judged.rng.below(20) {
            load(&mut judged);
            self.happen(&mut judged);
        }
        end_refusals(&mut judged);
        judged.find_stopped();
        judged.settle_and_check();
    }

    fn happen(&mut self, judged: &mut Judged) {
        let osd = judged.rng.below(u64::from(OSDS)) as u32;
        match judged.rng.below(8) {
            0 => {
                judged.node().disk(OsdId::new(osd)).fail_flush(1);
                self.refused += 1;
            }
            1 | 2 if !judged.down.contains(&osd) => {
                judged.take_down(OsdId::new(osd));
                judged.down.insert(osd);
            }
            3 => {
                judged.find_stopped();
                judged.open_all();
            }
            4 | 5 => self.flush(judged),
            end @ (6 | 7) => {
                // A disk that does not open may be the one without which there is no start.
                end_refusals(judged);
                judged.crash((end == 7).then_some(CutStyle::AllLost));
            }
            _ => judged.steps(300),
        }
    }

    fn flush(&mut self, judged: &mut Judged) {
        match judged.flush_what_is_answered() {
            true => self.durable += 1,
            false => self.not_durable += 1,
        }
    }
}

fn end_refusals(judged: &mut Judged) {
    for osd in (0..OSDS).map(OsdId::new) {
        judged.node().disk(osd).end_failing_flushes();
    }
}

fn search(seeds: std::ops::Range<u64>) -> Flushes {
    let mut flushes = Flushes::default();
    for seed in seeds {
        println!("seed {seed}");
        flushes.history(seed);
    }
    println!("{flushes:?}");
    flushes
}

#[test]
fn what_was_flushed_is_there_though_devices_refuse_flushes() {
    let Flushes { refused, durable, not_durable } = search(0..30);
    assert!(refused > 50 && durable > 100 && not_durable > 15);
}

/// The only copy with a write refuses a flush, which is told; the next flush, with nobody there who serves the group, is durable, and the write is gone.
#[test]
fn what_was_told_to_be_lost_is_not_durable_by_the_next_flush() {
    search(1302..1303);
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn a_thousand_histories_in_which_devices_refuse_flushes() {
    let Flushes { refused, durable, not_durable } = search(1000..2000);
    assert!(refused > 1000 && durable > 2000 && not_durable > 500);
}
