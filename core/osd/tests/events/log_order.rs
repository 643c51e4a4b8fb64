//! Entries of a log on a copy, of several clients and images: carried out in the order of their numbers, whoever has the turn.

use crate::bench::{Bench, PG, interval, options, plan};
use loadline_base::Span;
use loadline_osd::{Directive, Effect, OpKind, OsdId, OsdOptions, TenantTable, TenantTerms};
use loadline_qos::SchedulerKind;
use std::ops::Range;
use std::sync::Arc;

const FIRST_IMAGE: u64 = 1 << 48;
const SECOND_IMAGE: u64 = 2 << 48;

/// A primary and a copy whose worker is busy until [`Bench::release`].
fn bench(threads_per_shard: u32) -> Bench {
    let options = OsdOptions { threads_per_shard, ..options() };
    let mut bench = Bench::new(2, plan("loadline", SchedulerKind::Mclock), options);
    bench.fill(0, &[]);
    bench.fill(1, &[]);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    bench.hold(|effect| matches!(effect, Effect::Compute(osd, ..) if *osd == OsdId::new(1)));
    bench
}

/// Ten writes of one client and two of another, who comes last and has every second turn. A log that got an entry before the one in front of
/// it would panic.
fn write(bench: &mut Bench) {
    let first = |number: u32| (1, FIRST_IMAGE + u64::from(number));
    let second = |number: u32| (2, SECOND_IMAGE + u64::from(number));
    write_of(bench, 0..10, first);
    write_of(bench, 10..12, second);
}

/// Writes of the client, to the object, that `whose` says. The primary numbers each before the next one comes.
fn write_of(bench: &mut Bench, numbers: Range<u32>, whose: fn(u32) -> (u32, u64)) {
    for number in numbers {
        let (client, object) = whose(number);
        bench.op_of(client, PG, number, OpKind::Write, (object, 2), false);
        bench.run();
    }
}

fn replies(bench: &mut Bench) -> usize {
    bench.release();
    bench.run().iter().filter(|line| line.starts_with("reply ")).count()
}

fn share(bench: &mut Bench, images: &[u64]) {
    let terms =
        TenantTerms { reservation: 100.0, weight: 1.0, limit: 0.0, burst: Span::ZERO, copies: 2 };
    let images = images.iter().map(|first| ((first >> 32) as u32, terms)).collect();
    let table = Arc::new(TenantTable { osds: 2, images });
    for osd in [0, 1].map(OsdId::new) {
        bench.direct(osd, Directive::ShareImages(table.clone()));
    }
}

#[test]
fn a_later_clients_turn_takes_what_came_before_along() {
    for threads in [1, 2] {
        let mut bench = bench(threads);
        write(&mut bench);
        assert_eq!(replies(&mut bench), 12);
        assert_eq!(bench.osds[1].queued(), 0, "no turn is left over");
    }
}

#[test]
fn images_turns_do_so_too() {
    let mut bench = bench(1);
    share(&mut bench, &[FIRST_IMAGE, SECOND_IMAGE]);
    write(&mut bench);
    assert_eq!(replies(&mut bench), 12);
    assert_eq!(bench.osds[1].queued(), 0);
}

/// A turn that is still to come of what has gone with another's waits for nothing: it is neither counted nor shown.
#[test]
fn turns_of_what_has_gone_are_not_shown() {
    let mut bench = bench(1);
    write(&mut bench);
    let shown = |bench: &Bench| {
        let shards = bench.osds[1].waiting(bench.now);
        shards.iter().map(|(_, waiting)| waiting.len()).sum::<usize>()
    };
    // One of twelve is on the worker.
    assert_eq!((shown(&bench), bench.osds[1].queued()), (11, 12));
    let mut least = 11;
    while bench.osds[1].queued() > 0 {
        bench.release_one();
        let (shown, queued) = (shown(&bench), bench.osds[1].queued());
        assert!(shown <= queued && shown <= least, "{shown} shown, {queued} there");
        least = shown;
    }
}

/// Images become tenants, one of them ceases to be one, and none is one any more, all while their writes wait.
#[test]
fn what_waits_stays_in_order_when_tenants_come_and_go() {
    let mut bench = bench(1);
    write(&mut bench);
    share(&mut bench, &[FIRST_IMAGE, SECOND_IMAGE]);
    write_of(&mut bench, 12..16, |number| (2, SECOND_IMAGE + u64::from(number)));
    share(&mut bench, &[FIRST_IMAGE]);
    bench.run();
    share(&mut bench, &[]);
    assert_eq!(replies(&mut bench), 16);
    assert_eq!(bench.osds[1].queued(), 0);
}

/// A crash forgets what waits with its order.
#[test]
fn a_restart_begins_anew() {
    let mut bench = bench(1);
    write(&mut bench);
    bench.restart(1);
    bench.activate(PG, interval(3, &[0, 1]));
    bench.release();
    bench.run();
    // The disk answers at once now: the replies are counted below.
    for number in 20..24 {
        bench.op_of(number % 2, PG, number, OpKind::Write, (FIRST_IMAGE, 3), false);
    }
    assert_eq!(replies(&mut bench), 4);
}
