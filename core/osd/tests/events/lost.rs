//! Unfound objects that an operator gives up.
//!
//! The last write of an object was on one disk alone after a crash, and that disk could not read it. The object was an error for ever,
//! although every other disk had it as it was before.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan};
use loadline_base::Span;
use loadline_osd::{Activation, Directive, OpKind, OsdId};
use loadline_qos::SchedulerKind;
use loadline_store::{ObjectNo, Version};

/// Three copies with object 1, and object 2 written so often on each. The first one cannot read it, the others lack the last write
/// of it.
fn bench(written: [usize; 3], acting: &[u32]) -> Bench {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    for (osd, times) in (0..).zip(written) {
        bench.fill(osd, &[1]);
        bench.fill(osd, &vec![2; times]);
    }
    bench.spoil(0, 2);
    bench.activate(PG, unfinished(2, acting));
    bench.run();
    assert_eq!(bench.osds[acting[0] as usize].unfound(PG), 1);
    bench
}

fn unfinished(number: u32, acting: &[u32]) -> Activation {
    missing(missing(interval(number, acting), 1, &[2]), 2, &[2])
}

fn give_up(bench: &mut Bench, primary: u32) -> Vec<String> {
    bench.direct(OsdId::new(primary), Directive::GiveUpUnfound(PG));
    bench.run()
}

/// Every copy has object 2 in this version, or no copy has it, and the group is whole.
fn check(bench: &mut Bench, seen: &[String], version: Option<u64>) {
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    let objects: &[u64] = if version.is_some() { &[1, 2] } else { &[1] };
    bench.check_copies(&[0, 1, 2], objects);
    for osd in &mut bench.osds {
        let meta = osd.objects(PG).meta(ObjectNo(2));
        assert_eq!(meta.map(|meta| meta.version), version.map(Version));
        assert_eq!((osd.unfound(PG), osd.unfinished()), (0, None));
        let copy = osd.copy(PG).expect("it has a copy");
        let knows = copy.filling || copy.log.head() == Version(2 << 32 | 1);
        assert!(knows, "the change is in every log");
    }
}

#[test]
fn the_newest_that_is_left_of_it_counts() {
    for acting in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
        for written in [[3, 2, 1], [3, 1, 2], [3, 1, 1]] {
            let mut bench = bench(written, &acting);
            let seen = give_up(&mut bench, acting[0]);
            check(&mut bench, &seen, Some(2 << 32 | 1));
            let pushes = |osd: u32| {
                seen.iter().any(|seen| {
                    seen.starts_with(&format!("osd.{osd} to")) && seen.ends_with(" push 2")
                })
            };
            assert!(!pushes(0) || acting[0] == 0, "the lost one is nobody's source: {seen:?}");
            let older = if written[1] > written[2] { 2 } else { 1 };
            let is_alone = written[1] != written[2];
            assert!(
                !is_alone || !pushes(older) || acting[0] == older,
                "nor an older one: {seen:?}"
            );
        }
    }
}

/// Its disk was replaced by another one: nobody has the lost write any more, readable or not.
#[test]
fn a_write_that_went_with_its_disk_is_given_up_too() {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    (0..3).for_each(|osd| bench.fill(osd, if osd == 0 { &[] } else { &[1, 2] }));
    bench.activate(PG, filling(unfinished(2, &[1, 2]), 0));
    bench.run();
    assert_eq!(bench.osds[1].unfound(PG), 1);
    let seen = give_up(&mut bench, 1);
    check(&mut bench, &seen, Some(2 << 32 | 1));
}

#[test]
fn what_has_nothing_older_is_forgotten() {
    let mut bench = bench([1, 0, 0], &[0, 1, 2]);
    let seen = give_up(&mut bench, 0);
    check(&mut bench, &seen, None);
}

/// An op that comes meanwhile waits, and finds the object as it was.
#[test]
fn who_asks_meanwhile_waits() {
    let mut bench = bench([3, 2, 1], &[0, 1, 2]);
    bench.op(7, OpKind::Read, 2, 2);
    assert!(bench.run().contains(&"reply 7 failed".to_owned()));
    bench.direct(OsdId::new(0), Directive::GiveUpUnfound(PG));
    bench.op(8, OpKind::Read, 2, 2);
    let seen = bench.run();
    check(&mut bench, &seen, Some(2 << 32 | 1));
    bench.activate(PG, interval(3, &[0, 1, 2]));
    bench.op(8, OpKind::Read, 2, 3);
    assert!(bench.run().contains(&"reply 8".to_owned()), "{seen:?}");
}

#[test]
fn what_can_be_read_again_is_not_given_up() {
    let mut bench = bench([3, 2, 1], &[1, 0, 2]);
    bench.heal(0, 2);
    let seen = give_up(&mut bench, 1);
    assert!(!seen.iter().any(|line| line.contains("left of 2")), "{seen:?}");
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    let versions = [0, 1, 2].map(|osd: usize| bench.osds[osd].objects(PG).meta(ObjectNo(2)));
    assert!(versions.iter().all(|meta| meta.is_some_and(|meta| meta.version == Version(4))));
}

/// While it is looked for once more by itself.
#[test]
fn what_is_under_way_is_given_up_as_well() {
    let mut bench = bench([3, 2, 1], &[1, 0, 2]);
    let retried = bench.now + options().recovery_retry_interval + Span::from_millis(1);
    bench.hold(|effect| matches!(effect, loadline_osd::Effect::Device(..)));
    bench.run_until(retried);
    bench.direct(OsdId::new(1), Directive::GiveUpUnfound(PG));
    bench.release();
    let seen = bench.run();
    check(&mut bench, &seen, Some(2 << 32 | 1));
}
