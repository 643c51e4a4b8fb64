//! Scrubs at any time of a node's life. What was never damaged is never found different, however copies come and go; no slot stays taken, and no
//! write waits for a scrub that has gone. What has rotted is found, all of it, and replaced from a copy that is right.

use crate::judge::{Judged, OSDS, contents, is_whole, sync};
use loadline_base::Span;
use loadline_node::ScrubReport;
use loadline_osd::{OsdId, PgId, ScrubKind, ScrubRequest};
use loadline_sim::Sim;
use loadline_sim::disk::CutStyle;
use loadline_store::paged::LogMode;
use std::collections::BTreeSet;

const DEEP: ScrubRequest =
    ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
const REPAIR: ScrubRequest = ScrubRequest { repairs: true, ..DEEP };

pub(crate) fn scrub_report(node: &mut Sim, pg: PgId) -> ScrubReport {
    let now = node.now();
    node.node_mut().scrub_report(now, pg)
}

fn pgs(node: &mut Sim) -> Vec<PgId> {
    node.map().pgs().map(|(pg, _)| pg).collect()
}

fn load(judged: &mut Judged) {
    for _ in 0..judged.rng.below(30) {
        judged.issue();
        let steps = judged.rng.below(15);
        judged.steps(steps);
    }
}

/// Has some groups scrubbed, in some way.
fn scrub_some(judged: &mut Judged) {
    for pg in pgs(judged.node()) {
        let kind = [ScrubKind::Shallow, ScrubKind::Deep][judged.rng.below(2) as usize];
        let repairs = kind == ScrubKind::Deep && judged.rng.below(3) == 0;
        let request = ScrubRequest { kind, is_requested: true, repairs };
        if judged.rng.below(2) == 0 {
            judged.node().change(|cluster, fx| cluster.scrub(pg, request, fx));
        }
    }
}

/// Has every group scrubbed, and waits for the end. The answer is how many errors were found.
fn scrub_all(judged: &mut Judged, request: ScrubRequest) -> u64 {
    for pg in pgs(judged.node()) {
        assert!(judged.node().change(|cluster, fx| cluster.scrub(pg, request, fx)), "{pg} serves");
    }
    let limit = judged.node().now() + Span::from_secs(60);
    loop {
        judged.steps(50);
        let is_over = pgs(judged.node()).into_iter().all(|pg| {
            let report = scrub_report(judged.node(), pg);
            report.record.last.is_some() && report.record.under_way.is_none()
        });
        if is_over && is_whole(judged.node()) {
            break;
        }
        assert!(judged.node().now() < limit, "the scrubs end: {}", judged.state());
    }
    let node = judged.node();
    let found = pgs(node).into_iter().map(|pg| scrub_report(node, pg).record);
    found.map(|record| record.findings.counts.all()).sum()
}

fn happen(judged: &mut Judged) {
    let osd = judged.rng.below(u64::from(OSDS)) as u32;
    match judged.rng.below(5) {
        0 if judged.down.is_empty() => {
            judged.take_down(OsdId::new(osd));
            judged.down.insert(osd);
        }
        1 => judged.open_all(),
        2 => judged.crash(None),
        3 => {
            let styles = [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Torn];
            let style = styles[judged.rng.below(4) as usize];
            judged.crash(Some(style));
        }
        _ => {}
    }
}

fn history(seed: u64) {
    let mut judged = Judged::new(seed, LogMode::ALL[seed as usize % 4], 0);
    for _ in 0..6 + judged.rng.below(6) {
        load(&mut judged);
        scrub_some(&mut judged);
        load(&mut judged);
        happen(&mut judged);
        let steps = judged.rng.below(200);
        judged.steps(steps);
    }
    judged.settle_and_check();
    assert_eq!(scrub_all(&mut judged, DEEP), 0, "nothing was damaged");
    for osd in (0..OSDS).map(OsdId::new) {
        let unfinished = judged.node().osd(osd).unfinished();
        let is_scrub = unfinished.as_ref().is_some_and(|what| what.contains("ScrubRun"));
        assert!(!is_scrub, "{osd}: {unfinished:?}");
    }
    judged.settle_and_check();
}

#[test]
fn nothing_is_found_where_nothing_was_damaged() {
    for seed in 0..16 {
        println!("seed {seed}");
        history(seed);
    }
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn nothing_is_found_where_nothing_was_damaged_in_many_more_lives() {
    for seed in 1_000..2_000 {
        println!("seed {seed}");
        history(seed);
    }
}

/// What a death has met.
#[derive(Default, Debug)]
struct Met {
    /// Scrubs under way.
    scrubs: u64,
    /// Writes that had waited for one.
    writes: u64,
}

/// Scrubs under a load, and something that dies after so many steps of them: an OSD, the node, or with the power. Everything goes on: ops are
/// answered, scrubs come to their end, and no slot stays taken.
fn dies(seed: u64, steps: u64) -> Met {
    let mut judged = Judged::new(seed, LogMode::Fsync, 0);
    (0..3).for_each(|_| load(&mut judged));
    judged.finish_ops();
    judged.node().wait_until(is_whole);
    for pg in pgs(judged.node()) {
        let request = if judged.rng.below(3) == 0 { REPAIR } else { DEEP };
        assert!(judged.node().change(|cluster, fx| cluster.scrub(pg, request, fx)), "{pg} serves");
    }
    for _ in 0..steps {
        if judged.rng.below(3) == 0 {
            judged.issue();
        }
        judged.steps(1);
    }
    let mut met = Met::default();
    for pg in pgs(judged.node()) {
        let record = scrub_report(judged.node(), pg).record;
        met.scrubs += u64::from(record.under_way.is_some());
    }
    for osd in (0..OSDS).map(OsdId::new) {
        met.writes += judged.node().osd(osd).scrub_counts().blocked_writes;
    }
    match judged.rng.below(6) {
        style @ 0..4 => {
            let styles = [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Torn];
            judged.crash(Some(styles[style as usize]));
        }
        4 => judged.crash(None),
        _ => {
            let osd = judged.rng.below(u64::from(OSDS)) as u32;
            judged.take_down(OsdId::new(osd));
            judged.down.insert(osd);
        }
    }
    load(&mut judged);
    let steps = judged.rng.below(300);
    judged.steps(steps);
    judged.settle_and_check();
    let limit = judged.node().now() + Span::from_secs(60);
    loop {
        judged.steps(50);
        let node = judged.node();
        let is_idle = |osd: u32| node.osd(OsdId::new(osd)).unfinished().is_none();
        if (0..OSDS).all(is_idle) && is_whole(judged.node()) {
            break;
        }
        assert!(judged.node().now() < limit, "it comes to rest: {}", judged.state());
    }
    for pg in pgs(judged.node()) {
        let record = scrub_report(judged.node(), pg).record;
        assert_eq!(record.under_way, None, "{pg} was scrubbed to the end");
    }
    assert_eq!(scrub_all(&mut judged, DEEP), 0, "nothing was damaged");
    judged.settle_and_check();
    met
}

fn die_at(steps: impl Iterator<Item = u64>) -> Met {
    let mut sum = Met::default();
    for steps in steps {
        println!("seed {steps} dies after {steps} steps");
        let Met { scrubs, writes } = dies(steps, steps);
        sum.scrubs += scrubs;
        sum.writes += writes;
    }
    sum
}

#[test]
fn scrubs_go_on_whatever_dies_after_any_step_of_them() {
    let met = die_at((0..600).step_by(37));
    assert!(met.scrubs > 20 && met.writes > 5, "{met:?}");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn scrubs_go_on_whatever_dies_after_each_step_of_them() {
    die_at(0..1_200);
}

/// Pages of one disk rot. None of them is met by a client before.
fn rotten(seed: u64) -> u64 {
    let mut judged = Judged::new(seed, LogMode::Fsync, 0);
    for _ in 0..6 {
        load(&mut judged);
    }
    judged.finish_ops();
    judged.node().wait_until(is_whole);
    sync(judged.node());
    // What is in memory alone is on its way home by then.
    let later = judged.node().now() + Span::from_secs(1);
    judged.node().wait_until(|node| node.now() > later);
    let victim = OsdId::new(judged.rng.below(u64::from(OSDS)) as u32);
    let known = judged.known.iter().filter(|(_, known)| known.acked > 0);
    let pages: Vec<(u64, Vec<u8>)> = known
        .map(|((object, block), known)| (*object, contents(*object, *block, known.acked)))
        .collect();
    let mut rotted = BTreeSet::new();
    let disk = judged.node.as_mut().expect("the node runs").disk(victim);
    let image = disk.image();
    let page = crate::judge::BLOCK as usize;
    for (at, bytes) in image.chunks(page).enumerate() {
        if let Some((object, _)) = pages.iter().step_by(3).find(|(_, page)| page == bytes) {
            disk.rot((at * page) as u64..((at + 1) * page) as u64);
            rotted.insert(*object);
        }
    }
    let found = scrub_all(&mut judged, DEEP);
    // A page that was there once and is free now rots unseen, and harms nobody.
    assert!(found <= rotted.len() as u64, "{found} of {rotted:?}");
    assert_eq!(scrub_all(&mut judged, REPAIR), 0, "all of it is replaced");
    assert_eq!(scrub_all(&mut judged, DEEP), 0);
    judged.settle_and_check();
    found
}

#[test]
fn what_has_rotted_is_found_and_replaced() {
    let found: Vec<u64> = (0..8).map(rotten).collect();
    assert!(found.iter().sum::<u64>() > 20, "{found:?}");
}

/// The same seed finds the same.
#[test]
fn scrubs_are_deterministic() {
    let life = || {
        let mut judged = Judged::new(5, LogMode::Fsync, 0);
        load(&mut judged);
        judged.finish_ops();
        judged.node().wait_until(is_whole);
        scrub_all(&mut judged, DEEP);
        let node = judged.node();
        let records = pgs(node).into_iter().map(|pg| scrub_report(node, pg).record);
        format!("{:?} {:?}", records.collect::<Vec<_>>(), node.now())
    };
    assert_eq!(life(), life());
}
