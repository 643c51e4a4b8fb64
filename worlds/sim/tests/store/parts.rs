//! What needs more pages than may be held at once: queries in parts, and transactions in steps that nothing keeps from their end.

use crate::bounds::{
    PAGE, ask, crash, floor, format, object, open, options, read, scatter, scattered, submit,
    transact, write,
};
use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_sim::SimStore;
use loadline_store::paged::api::pattern;
use loadline_store::paged::bounds::limits;
use loadline_store::paged::{
    Answer, Ask, Edit, Fault, Format, LogMode, Op, OpError, Payload, Protection, ScanBounds,
};
use loadline_store::{CollectionId, ObjectNo, Version};

/// An object of scattered pages could be written with any cache and read with a large one only: a query that looked at more pages than
/// a quarter of the cache was refused, and who had asked took the disk for damaged. It goes in parts now. Nobody may see that: while
/// updates of two things that are far apart go on, every answer has both from the same one.
#[test]
fn a_query_in_parts_is_answered_with_one_state() {
    const COUNT: u64 = 2000;
    let key = |at: u64| at.to_be_bytes().to_vec();
    // Everything that the queries find first and last.
    let update = |round: u64| {
        let far = |at: u64| {
            let version = Version(round);
            let (name, value) = (key(at), vec![round as u8; 60]);
            [
                Edit::Put { key: key(at), value: value.clone() },
                Edit::SetAttribute { object: object(9), name, value },
                write(1, at % 1200 * PAGE, vec![round as u8; PAGE as usize]),
                Edit::Truncate { object: object(100 + at), length: at, version },
            ]
        };
        Ask::Transaction([far(0), far(COUNT - 1)].concat())
    };
    let all = usize::MAX;
    let collection = CollectionId::new(1);
    let base = Some(object(2));
    let (offset, length, with_bytes) = (0, u64::MAX, true);
    let queries = [
        Ask::Scan { from: key(0), most: ScanBounds::keys(all) },
        Ask::Attributes(object(9)),
        Ask::List { collection, from: ObjectNo(100), most: all },
        Ask::Read { object: object(1), offset, length },
        Ask::Sparse { object: object(1), base, offset, length, with_bytes },
    ];
    // The rounds of which the first and the last thing is that an answer tells of.
    let rounds = |answer: &Answer| match answer {
        Answer::Pairs(pairs) => {
            assert_eq!(pairs.len() as u64, COUNT);
            [&pairs[0], &pairs[COUNT as usize - 1]].map(|(_, value)| u64::from(value[0]))
        }
        Answer::Objects(objects) => {
            assert_eq!(objects.len() as u64, COUNT);
            [objects[0], objects[COUNT as usize - 1]].map(|(_, meta)| meta.version.0)
        }
        Answer::Bytes(Some(bytes)) | Answer::Sparse(Some((_, bytes))) => {
            assert_eq!(bytes.len() as u64, 1200 * PAGE);
            let last = (COUNT - 1) % 1200 * PAGE;
            [bytes[0], bytes[last as usize]].map(u64::from)
        }
        other => panic!("{other:?}"),
    };
    let options = options(floor(), Protection::Checkpoint, LogMode::LogOnly);
    let mut host = open(options, &format());
    scatter(&mut host, 1200);
    for first in (0..COUNT).step_by(20) {
        let of = |at: u64| {
            let (name, value) = (key(at), vec![0; 60]);
            [
                Edit::Put { key: key(at), value: value.clone() },
                Edit::SetAttribute { object: object(9), name, value },
                Edit::Truncate { object: object(100 + at), length: at, version: Version(0) },
            ]
        };
        let edits = (first..first + 20).flat_map(of).collect();
        assert_eq!(transact(&mut host, edits), Ok(Answer::Done));
    }
    let mut round = 1;
    assert_eq!(ask(&mut host, update(round)), Ok(Answer::Done));
    for query in queries {
        assert_eq!(ask(&mut host, Ask::Sync), Ok(Answer::Done));
        host = crash(host, options, &mut Rng::new(round));
        let before = round;
        host.submit(Op { ask: query.clone(), lane: None, class: ClassTag(1), token: 1 });
        submit(&mut host, update(round + 1));
        let answer = loop {
            assert!(host.step(), "stuck at {query:?}: {:?}", host.store().waits());
            let Some(done) = host.ended_mut().pop() else { continue };
            match (done.token, done.result) {
                (0, Ok(Answer::Done)) => {
                    round += 1;
                    submit(&mut host, update(round + 1));
                }
                (1, Ok(answer)) => break answer,
                (_, other) => panic!("{query:?}: {other:?}"),
            }
        };
        let [first, last] = rounds(&answer);
        // The last update may be carried out and not answered yet.
        let is_one = (before..=round + 1).any(|round| first % 256 == round % 256);
        assert!(first == last && is_one, "{first} and {last}: {query:?}");
        assert!(host.wait_until(|host| !host.ended().is_empty()), "updates go on");
        assert_eq!(host.ended_mut().pop().expect("it was there").result, Ok(Answer::Done));
        round += 1;
    }
}

/// A value in pieces, as long as one may be, is found whatever the cache, alone and among others.
#[test]
fn the_longest_values_are_read_at_the_floor() {
    let format =
        Format { log_bytes: Bytes::from_mib(8), segment_bytes: Bytes::from_mib(1), ..format() };
    let options = options(floor(), Protection::Checkpoint, LogMode::Fsync);
    let mut host = open(options, &format);
    let length = limits(&format.layout().expect("it fits")).value_bytes;
    let value = |key: u8| pattern(u64::from(key), 0, length as u64);
    for key in 0..5 {
        let put = Edit::Put { key: vec![key], value: value(key) };
        assert_eq!(transact(&mut host, vec![put]), Ok(Answer::Done));
    }
    let mut host = crash(host, options, &mut Rng::new(1));
    for key in 0..5 {
        let found = ask(&mut host, Ask::Get(vec![key]));
        assert!(found == Ok(Answer::Value(Some(value(key)))), "key {key}");
    }
    let all = (0..5).map(|key| (vec![key], value(key))).collect();
    let found = ask(&mut host, Ask::Scan { from: vec![0], most: ScanBounds::keys(10) });
    assert!(found == Ok(Answer::Pairs(all)));
}

/// Whoever wanted some keys had all their values read, whatever these took: a scan says now how many bytes it wants, and reads the pages of no more.
#[test]
fn a_scan_ends_where_it_has_bytes_enough() {
    const LONG: u64 = 20 * PAGE;
    let format =
        Format { log_bytes: Bytes::from_mib(8), segment_bytes: Bytes::from_mib(1), ..format() };
    let options = options(floor(), Protection::Checkpoint, LogMode::Fsync);
    let mut host = open(options, &format);
    let pair = |key: u8| (vec![key], pattern(u64::from(key), 0, LONG));
    for (key, value) in (0..100).map(pair) {
        assert_eq!(transact(&mut host, vec![Edit::Put { key, value }]), Ok(Answer::Done));
    }
    let mut host = crash(host, options, &mut Rng::new(1));
    assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
    // More than two keys and their values have.
    let most = ScanBounds { keys: 100, bytes: 2 * (1 + LONG as usize) + 1 };
    let scans = [Ask::Scan { from: vec![0], most }, Ask::ScanBack { until: vec![100], most }];
    for (scan, keys) in scans.into_iter().zip([[0, 1, 2], [99, 98, 97]]) {
        let before = host.store().metrics().totals.pages_read;
        let found = ask(&mut host, scan);
        assert!(found == Ok(Answer::Pairs(keys.map(pair).to_vec())));
        let read = host.store().metrics().totals.pages_read - before;
        assert!(read < 4 * LONG / PAGE, "{read} pages");
    }
}

/// A page that could not be read stopped the store if a transaction met it in a later step: what was done could not be taken back. All
/// that a transaction looks at is read before its first step now, so it fails as any other does and nothing of it is seen.
#[test]
fn a_damaged_page_fails_a_transaction_before_its_first_step() {
    const PAGES: u64 = 500;
    let options = options(floor(), Protection::Checkpoint, LogMode::LogOnly);
    let mut host = open(options, &format());
    scatter(&mut host, PAGES);
    let clone = Edit::Clone { from: object(1), to: object(3) };
    assert_eq!(transact(&mut host, vec![clone]), Ok(Answer::Done));
    assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
    let layout = format().layout().expect("it fits");
    let disks = host.into_disks();
    let (mut failed, mut done) = (0, 0);
    for page in (0..1500).step_by(23) {
        let mut damaged = disks.clone();
        let at = layout.page.offset(layout.pages_first.plus(page));
        damaged.data.rot(at..at + PAGE);
        let mut host = SimStore::open(Time::ZERO, options, damaged);
        host.wait_until(|host| host.store().is_open() || host.store().fault().is_some());
        if matches!(host.store().fault(), Some(Fault::Restart(_))) {
            continue;
        }
        let edits = vec![
            Edit::Remove { object: object(2) },
            Edit::Clone { from: object(1), to: object(4) },
            Edit::Remove { object: object(3) },
        ];
        let result = transact(&mut host, edits);
        assert_eq!(host.store().fault(), None, "page {page}: {result:?}");
        let exists = |host: &mut SimStore, number: u64| match ask(host, Ask::Stat(object(number))) {
            Ok(Answer::Meta(meta)) => Some(meta.is_some()),
            _ => None,
        };
        let found = [2, 3, 4].map(|number| exists(&mut host, number));
        let (of_it, expected) = match result {
            Ok(Answer::Done) => (&mut done, [false, false, true]),
            Err(OpError::Damaged(_)) => (&mut failed, [true, true, false]),
            other => panic!("page {page}: {other:?}"),
        };
        *of_it += 1;
        let is_expected = |(found, expected): (&Option<bool>, &bool)| {
            found.is_none_or(|found| found == *expected)
        };
        assert!(found.iter().zip(&expected).all(is_expected), "page {page}: {found:?}");
        let put = Edit::Put { key: vec![0xff], value: vec![1] };
        let put = transact(&mut host, vec![put]);
        assert!(matches!(put, Ok(Answer::Done) | Err(OpError::Damaged(_))), "{put:?}");
    }
    assert!(failed > 2 && done > 10, "{failed} failed, {done} were carried out");
}

/// A transaction that only gives back was begun without asking for room, and one that had to wait for pages was told that there are none
/// while the device was being told that they are free. Holes in a cloned object cut what it shares in pieces, which
/// takes pages before any are given back, and the store stopped when there were no more in the middle of its steps.
#[test]
fn a_transaction_that_finds_no_room_fails_before_its_first_step() {
    (0..3).for_each(holes_without_room);
}

/// On a full device on which so many runs of 32 pages were made free again: the first step finds room, the last ones do not.
fn holes_without_room(runs: u64) {
    const PAGES: u64 = 1800;
    let options = options(floor(), Protection::Checkpoint, LogMode::LogOnly);
    let mut host = open(options, &format());
    let whole = Payload::Pattern { seed: 1, offset: 0, length: PAGES * PAGE };
    let data = Edit::Write { object: object(1), offset: 0, data: whole, version: Version(1) };
    assert_eq!(transact(&mut host, vec![data]), Ok(Answer::Done));
    let clone = Edit::Clone { from: object(1), to: object(2) };
    assert_eq!(transact(&mut host, vec![clone]), Ok(Answer::Done));
    let mut pieces = 0;
    for pages in [32, 1] {
        loop {
            let piece = write(100 + pieces, 0, vec![7; (pages * PAGE) as usize]);
            match transact(&mut host, vec![piece]) {
                Ok(_) => pieces += 1,
                Err(error) => break assert_eq!(error, OpError::NoSpace),
            }
        }
    }
    for piece in 0..runs {
        let remove = Edit::Remove { object: object(100 + piece) };
        assert_eq!(transact(&mut host, vec![remove]), Ok(Answer::Done));
    }
    assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
    while host.step() {}
    let holes = || {
        let hole = |at: u64| {
            let range = 2 * at * PAGE..(2 * at + 1) * PAGE;
            Edit::Punch { object: object(2), range, version: Version(2) }
        };
        (0..PAGES / 2).map(hole).collect::<Vec<_>>()
    };
    let free = host.store().space().pages.allocator.free();
    assert_eq!(transact(&mut host, holes()), Err(OpError::NoSpace), "{free} pages are free");
    assert_eq!(host.store().fault(), None);
    assert!(read(&mut host, 2) == Some(scattered(1, PAGES)), "nothing of it is seen");
    let removals = (runs..pieces).map(|piece| Edit::Remove { object: object(100 + piece) });
    for removal in removals {
        assert_eq!(transact(&mut host, vec![removal]), Ok(Answer::Done));
    }
    assert_eq!(transact(&mut host, holes()), Ok(Answer::Done));
    let steps = host.store().metrics().totals.steps;
    assert!(steps > 0, "it goes in steps");
    let mut expected = scattered(1, PAGES);
    expected.chunks_mut(2 * PAGE as usize).for_each(|two| two[..PAGE as usize].fill(0));
    assert!(read(&mut host, 2) == Some(expected));
}
