//! Scrubs that the clock begins, on a node with disks.

use crate::judge::{Judged, OSDS, fresh_disk, is_whole, settings, sync};
use crate::scrub::scrub_report;
use loadline_base::{Span, Time};
use loadline_node::ScrubReport;
use loadline_osd::{
    ChunkBounds, MachineLoad, OsdId, OsdOptions, Policy, ScrubHeld, ScrubKind, ScrubRecord,
    ScrubRequest, ScrubSchedule,
};
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;

/// Every three seconds, every second time deep.
fn hurried(schedule: ScrubSchedule) -> ScrubSchedule {
    ScrubSchedule {
        least: Span::from_secs(3),
        most: Span::from_secs(12),
        deep: Span::from_secs(6),
        spread_ppm: 0,
        early_deep_ppm: 0,
        ..schedule
    }
}

/// A node with some data whose OSDs scrub by this.
fn node(change: impl Fn(&mut OsdOptions)) -> Judged {
    let mut judged = Judged::new(11, LogMode::Fsync, 0);
    for _ in 0..60 {
        judged.issue();
        judged.steps(20);
    }
    judged.finish_ops();
    judged.node().wait_until(is_whole);
    sync(judged.node());
    configure(&mut judged, change);
    judged
}

fn configure(judged: &mut Judged, change: impl Fn(&mut OsdOptions)) {
    let (settings, first) = (settings(), OsdId::new(0));
    let policy = Policy { plan: settings.plan(first), seed: 1 };
    let mut options = OsdOptions { threads_per_shard: 1, ..settings.osd_options(first) };
    options.scrub.schedule = hurried(options.scrub.schedule);
    change(&mut options);
    judged.node().configure(&policy, options);
}

/// Each second for so long: of every group its scrubs so far, and whether one rests.
fn watch(judged: &mut Judged, seconds: u64) -> Vec<Vec<ScrubReport>> {
    let look = |judged: &mut Judged| {
        pass(judged, 1);
        let node = judged.node();
        let pgs: Vec<_> = node.map().pgs().map(|(pg, _)| pg).collect();
        pgs.into_iter().map(|pg| scrub_report(node, pg)).collect()
    };
    (0..seconds).map(|_| look(judged)).collect()
}

/// Deep scrubs of every ten minutes: each group's has its share of a third of that, in which its chunks are spread, and between which it has no
/// slot. What an operator asks for does not wait for it.
#[test]
fn the_clock_takes_its_time_for_a_scrub_and_no_more() {
    let (interval, share) = (Span::from_secs(600), |led: u64| Span::from_secs(200) / led);
    let mut judged = node(|options| {
        let schedule = &mut options.scrub.schedule;
        (schedule.least, schedule.most, schedule.deep) = (interval, Span::ZERO, interval);
        schedule.backoff_ppm = 0;
        options.scrub.deep_chunk = ChunkBounds { least: 3, most: 3 };
    });
    let map = judged.node().map().clone();
    let pgs: Vec<_> = map.pgs().collect();
    let led = |osd: OsdId| pgs.iter().filter(|(_, pg)| pg.serving() == Some(osd)).count() as u64;
    let shares: Vec<Span> =
        pgs.iter().map(|(_, pg)| share(led(pg.serving().expect("it serves")))).collect();
    let pg = pgs[0].0;
    let looks = watch(&mut judged, 900);
    let rests = |look: &[ScrubReport]| look.iter().filter(|it| it.rests_until.is_some()).count();
    assert!(looks.iter().any(|look| rests(look) > 0), "some are ahead of their pace");
    assert!(looks.iter().flatten().all(|it| !it.runs || it.rests_until.is_none()));
    let last = looks.last().expect("there are looks");
    for (report, share) in last.iter().zip(shares) {
        let (record, states) = (&report.record, report.states);
        assert!(record.last_deep.is_some(), "in its time: {record:?}");
        // The last chunk of three ends it.
        let least = share / states * ((states - 1) / 3 * 3);
        assert!(record.duration + Span::from_secs(2) >= least, "{record:?}, {states} and {share}");
        assert!(record.duration <= share + Span::from_secs(5), "{record:?}, {share}");
    }
    let asked = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    let before = last[0].record.last_deep;
    judged.node().change(|cluster, fx| cluster.scrub(pg, asked, fx));
    let soon = watch(&mut judged, 3);
    assert!(soon[2][0].record.last_deep > before, "an operator waits for no pace");
}

/// Behind a round of deep scrubs, whose shares are long, an OSD began nothing until the share of the last one was over: on a node of few groups
/// no shallow scrub for a day and more. Those that are deep by chance are shallow as long.
#[test]
fn the_share_of_a_deep_scrub_keeps_no_shallow_one_waiting() {
    for early_deep_ppm in [0, 1_000_000] {
        let mut judged = node(|options| {
            let schedule = &mut options.scrub.schedule;
            let (least, deep) = (Span::from_secs(60), Span::from_secs(6_000));
            (schedule.least, schedule.most, schedule.deep) = (least, Span::ZERO, deep);
            (schedule.backoff_ppm, schedule.early_deep_ppm) = (0, early_deep_ppm);
        });
        let asked = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
        let pgs: Vec<_> = judged.node().map().pgs().map(|(pg, _)| pg).collect();
        for pg in pgs {
            judged.node().change(|cluster, fx| cluster.scrub(pg, asked, fx));
        }
        pass(&mut judged, 10);
        let after_round = records(&mut judged);
        assert!(after_round.iter().all(|it| it.last.is_some() && it.last == it.last_deep));
        // Their time, and a third of it in which all have theirs.
        pass(&mut judged, 60 + 20 + 5);
        for (before, now) in after_round.iter().zip(records(&mut judged)) {
            assert!(now.last > before.last, "it was scrubbed again: {now:?}");
            assert_eq!(now.last_deep, before.last_deep, "not deeply: {now:?}");
        }
    }
}

fn pass(judged: &mut Judged, seconds: u64) {
    let until = judged.node().now() + Span::from_secs(seconds);
    judged.node().run_until(until);
}

fn records(judged: &mut Judged) -> Vec<ScrubRecord> {
    let node = judged.node();
    let pgs: Vec<_> = node.map().pgs().map(|(pg, _)| pg).collect();
    pgs.into_iter().map(|pg| scrub_report(node, pg).record).collect()
}

fn ended(judged: &mut Judged) -> u64 {
    let node = judged.node();
    (0..OSDS).map(|osd| node.osd(OsdId::new(osd)).scrub_counts().ended).sum()
}

#[test]
fn every_group_is_scrubbed_in_its_time() {
    let mut judged = node(|_| {});
    pass(&mut judged, 40);
    let today = judged.node().now().since(Time::ZERO);
    for record in records(&mut judged) {
        let ago = |at: Option<loadline_base::WallTime>| {
            Span::from_nanos(today.nanos() - at.expect("it was scrubbed").unix_nanos())
        };
        // A third of the looks, one group at a time of six; one that is late after twelve seconds goes with one of the next looks.
        assert!(ago(record.last) < Span::from_secs(12 + 2), "{record:?}");
        assert!(ago(record.last_deep) < Span::from_secs(24), "{record:?}");
    }
    let before = ended(&mut judged);
    configure(&mut judged, |options| options.scrub.schedule.least = Span::from_secs(3_600));
    configure(&mut judged, |options| {
        options.scrub.schedule.least = Span::from_secs(3_600);
        options.scrub.schedule.most = Span::ZERO;
    });
    pass(&mut judged, 3);
    let settled = ended(&mut judged);
    pass(&mut judged, 30);
    assert_eq!(ended(&mut judged), settled, "nothing is due ({before} before)");
}

#[test]
fn what_the_clock_has_begun_ends_when_it_is_forbidden() {
    let slow = |options: &mut OsdOptions| options.scrub.sleep = Span::from_secs(1_000);
    let mut judged = node(slow);
    pass(&mut judged, 20);
    let under_way = |judged: &mut Judged| {
        records(judged).into_iter().filter_map(|record| record.under_way).collect::<Vec<_>>()
    };
    assert!(!under_way(&mut judged).is_empty(), "some sleep before their first chunk");
    // What an operator asks for goes on.
    let pg = judged.node().map().pgs().map(|(pg, _)| pg).next().expect("there are groups");
    let asked = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    judged.node().change(|cluster, fx| cluster.scrub(pg, asked, fx));
    configure(&mut judged, |options| {
        slow(options);
        options.scrub.schedule.no_shallow = true;
        options.scrub.schedule.no_deep = true;
    });
    let left = under_way(&mut judged);
    assert!(left.len() == 1 && left[0].request.is_requested, "{left:?}");
    pass(&mut judged, 30);
    assert_eq!(under_way(&mut judged).len(), 1, "none is begun");
}

/// Every group is to be scrubbed for an operator, and no scrub has come to its first chunk when a disk is made empty. What its OSD had led and leads again
/// was forgotten, and what earlier scrubs had found there.
#[test]
fn what_an_operator_asks_for_outlives_the_primarys_disk() {
    let with_sleep = |sleep: Span| {
        move |options: &mut OsdOptions| {
            options.scrub.sleep = sleep;
            (options.scrub.schedule.no_shallow, options.scrub.schedule.no_deep) = (true, true);
        }
    };
    let mut judged = node(with_sleep(Span::from_secs(1_000)));
    let victim = OsdId::new(1);
    let led = |judged: &mut Judged| {
        let map = judged.node().map();
        map.pgs().filter(|(_, pg)| pg.serving() == Some(victim)).count()
    };
    let before = led(&mut judged);
    let pgs: Vec<_> = judged.node().map().pgs().map(|(pg, _)| pg).collect();
    let asked = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    for pg in pgs {
        judged.node().change(|cluster, fx| cluster.scrub(pg, asked, fx));
    }
    pass(&mut judged, 2);
    judged.take_down(victim);
    judged.node().replace(victim, fresh_disk(77));
    judged.node().open(victim);
    judged.node().wait_until(is_whole);
    pass(&mut judged, 2);
    assert!(before > 0 && led(&mut judged) == before, "it leads again");
    assert!(records(&mut judged).iter().all(|it| it.last.is_none()), "they sleep");
    configure(&mut judged, with_sleep(Span::ZERO));
    pass(&mut judged, 1_100);
    for record in records(&mut judged) {
        assert!(record.last_deep.is_some(), "it was scrubbed: {record:?}");
    }
}

/// Whether any scrub has ended while something waited for its recovery.
fn scrubs_beside_recovery(during_recovery: bool) -> u64 {
    let mut judged = node(|options| {
        options.scrub.schedule.during_recovery = during_recovery;
        // Recovery begins, and hardly goes on.
        options.recovery_sleep = Span::from_secs(1_000);
    });
    judged.take_down(OsdId::new(3));
    for _ in 0..80 {
        judged.issue();
        judged.steps(20);
    }
    judged.node().open(OsdId::new(3));
    pass(&mut judged, 4);
    let before = ended(&mut judged);
    pass(&mut judged, 40);
    ended(&mut judged) - before
}

#[test]
fn while_something_is_recovered_no_scrub_begins_unless_it_may() {
    let (without, with) = (scrubs_beside_recovery(false), scrubs_beside_recovery(true));
    assert!(with > without, "{with} and {without}");
}

/// A machine with more to do than the threshold allows: the clock begins nothing and says why, an operator's scrub goes on, and what is past its
/// deadline is begun all the same. A higher threshold lets all begin again.
#[test]
fn a_busy_machine_keeps_the_clock_from_scrubs_and_no_operator() {
    let busy = MachineLoad { minute_milli: 900, quarter_hour_milli: 800 };
    let set_up = |most: Span, load_threshold_milli: u32| {
        move |options: &mut OsdOptions| {
            let schedule = &mut options.scrub.schedule;
            (schedule.most, schedule.load_threshold_milli) = (most, load_threshold_milli);
            options.scrub.is_paced = false;
        }
    };
    let mut judged = node(set_up(Span::ZERO, 500));
    judged.node().set_machine_load(busy);
    pass(&mut judged, 20);
    let before = ended(&mut judged);
    let looks = watch(&mut judged, 20);
    assert_eq!(ended(&mut judged), before, "none is begun");
    let held = Some(ScrubHeld::Load { minute_milli: 900, threshold_milli: 500 });
    let last = looks.last().expect("there are looks");
    assert!(last.iter().all(|report| report.held_back == held), "{last:?}");
    let pg = judged.node().map().pgs().map(|(pg, _)| pg).next().expect("there are groups");
    let asked = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    judged.node().change(|cluster, fx| cluster.scrub(pg, asked, fx));
    pass(&mut judged, 2);
    assert_eq!(ended(&mut judged), before + 1, "an operator's is");
    configure(&mut judged, set_up(Span::ZERO, 901));
    pass(&mut judged, 40);
    let begun = ended(&mut judged);
    assert!(begun > before + last.len() as u64, "all are begun: {begun}");
    configure(&mut judged, set_up(Span::from_secs(12), 500));
    pass(&mut judged, 40);
    assert!(ended(&mut judged) > begun, "what is past its deadline is begun");
}

/// Objects of one copy rot: few are replaced unasked, many are told and left.
#[test]
fn what_the_clock_finds_is_repaired_if_it_is_little() {
    let rotten = |most: u64| {
        let mut judged = node(|options| {
            options.scrub.auto_repairs_max = most;
            options.scrub.schedule.deep = Span::from_secs(3);
        });
        pass(&mut judged, 2);
        let known: Vec<_> = judged.known.iter().filter(|(_, known)| known.acked > 0).collect();
        let pages: Vec<(u64, Vec<u8>)> = known
            .into_iter()
            .map(|((object, block), known)| {
                (*object, crate::judge::contents(*object, *block, known.acked))
            })
            .collect();
        let disk = judged.node.as_mut().expect("the node runs").disk(OsdId::new(1));
        let image = disk.image();
        let size = crate::judge::BLOCK as usize;
        // Not every object has a copy there.
        let found = pages.iter().find_map(|(object, page)| {
            let places = image.chunks(size).enumerate().filter(|(_, bytes)| bytes == page);
            let places: Vec<usize> = places.map(|(at, _)| at * size).collect();
            (!places.is_empty()).then_some((ObjectNo(*object), places))
        });
        let (object, places) = found.expect("the disk holds something");
        places.iter().for_each(|at| disk.rot(*at as u64..(*at + size) as u64));
        pass(&mut judged, 60);
        let errors: u64 =
            records(&mut judged).iter().map(|record| record.findings.counts.all()).sum();
        let repaired: u64 =
            (0..OSDS).map(|osd| judged.node().osd(OsdId::new(osd)).scrub_counts().repaired).sum();
        (object, errors, repaired)
    };
    let (object, errors, repaired) = rotten(5);
    assert_eq!((errors, repaired), (0, 1), "{object}");
    let (_, errors, repaired) = rotten(0);
    assert_eq!((errors, repaired), (1, 0));
}
