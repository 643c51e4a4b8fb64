//! What is within the limits is taken, with any cache from the floor on, by the life that is asked and by the next one that finds
//! it in the log.

use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::api::pattern;
use loadline_store::paged::bounds::{cache_least, limits};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Answer, Ask, Bound, Edit, Fault, Format, LogMode, ObjectId, Op, OpError, OpLane, Options,
    Payload, Protection, RestartFault,
};
use loadline_store::{CollectionId, ObjectNo, Version};
use std::collections::BTreeMap;

/// Pages of 1 KiB make trees high and stores small.
pub(super) const PAGE: u64 = 1024;

pub(super) fn format() -> Format {
    Format {
        store_id: 9,
        data_bytes: Bytes::from_mib(16),
        log_device_bytes: None,
        log_bytes: Bytes::from_kib(512),
        segment_bytes: Bytes::from_kib(128),
        block_bytes: 512,
        recovery_bytes: Bytes::from_kib(256),
        page: PageSize::new(PAGE as u32).expect("a legal size"),
    }
}

pub(super) fn floor() -> Bytes {
    cache_least(&format().layout().expect("it fits"))
}

pub(super) fn options(cache: Bytes, protection: Protection, log_mode: LogMode) -> Options {
    let old_versions = Bytes::new(cache.get() / 4);
    let direct_write = Bytes::from_kib(4);
    Options { cache, protection, log_mode, old_versions, direct_write, ..Options::default() }
}

pub(super) fn open(options: Options, format: &Format) -> SimStore {
    let timing = Timing::FREE;
    let spec = SimDiskSpec { size: format.data_bytes, sector: 512, write_cache: true, timing };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    disks.format(format, options.protection).expect("it fits");
    SimStore::open(Time::ZERO, options, disks)
}

pub(super) fn crash(host: SimStore, options: Options, rng: &mut Rng) -> SimStore {
    let mut disks = host.into_disks();
    disks.data.power_cut(CutStyle::Random, rng);
    let mut host = SimStore::open(Time::ZERO, options, disks);
    host.wait_until(|host| host.store().is_open() || host.store().fault().is_some());
    assert_eq!(host.store().fault(), None, "{options:?}");
    host
}

pub(super) fn submit(host: &mut SimStore, ask: Ask) {
    host.submit(Op { ask, lane: Some(OpLane(1)), class: ClassTag(1), token: 0 });
}

pub(super) fn ask(host: &mut SimStore, what: Ask) -> Result<Answer, OpError> {
    submit(host, what.clone());
    let is_done = host.wait_until(|host| !host.ended().is_empty());
    assert!(is_done, "stuck at {what:?}: {:?}", host.store().waits());
    host.ended_mut().pop().expect("it was there").result
}

pub(super) fn transact(host: &mut SimStore, edits: Vec<Edit>) -> Result<Answer, OpError> {
    ask(host, Ask::Transaction(edits))
}

pub(super) fn object(number: u64) -> ObjectId {
    ObjectId { collection: CollectionId::new(1), object: ObjectNo(number), snapshot: 0 }
}

pub(super) fn write(number: u64, offset: u64, data: Vec<u8>) -> Edit {
    let data = Payload::Bytes(data);
    Edit::Write { object: object(number), offset, data, version: Version(1) }
}

/// All bytes of an object.
pub(super) fn read(host: &mut SimStore, number: u64) -> Option<Vec<u8>> {
    match ask(host, Ask::Read { object: object(number), offset: 0, length: u64::MAX }) {
        Ok(Answer::Bytes(bytes)) => bytes,
        other => panic!("object {number}: {other:?}"),
    }
}

fn page_of(seed: u64, index: u64) -> Vec<u8> {
    pattern(seed, index * PAGE, PAGE)
}

/// Two objects whose pages take turns on the device, so that each page is an extent of its own.
pub(super) fn scatter(host: &mut SimStore, pages: u64) {
    for index in 0..pages {
        let edits = (1..=2).map(|number| write(number, index * PAGE, page_of(number, index)));
        assert_eq!(transact(host, edits.collect()), Ok(Answer::Done));
    }
}

pub(super) fn scattered(number: u64, pages: u64) -> Vec<u8> {
    pattern(number, 0, pages * PAGE)
}

const MODES: [(Protection, LogMode); 4] = [
    (Protection::Checkpoint, LogMode::Fsync),
    (Protection::Checkpoint, LogMode::None),
    (Protection::Log, LogMode::Fsync),
    (Protection::Log, LogMode::LogOnly),
];

/// A snapshot of an object of many extents was refused: the estimate of its clone was more than the cache could hold, and the
/// engine took the refusal for a bug of its own. It goes in steps now, and so does the removal of the clone.
#[test]
fn an_object_of_many_extents_is_cloned_cut_and_removed_at_the_floor() {
    const PAGES: u64 = 1200;
    for (protection, log_mode) in MODES {
        let mut host = open(options(floor(), protection, log_mode), &format());
        scatter(&mut host, PAGES);
        let clone = Edit::Clone { from: object(1), to: object(3) };
        assert_eq!(transact(&mut host, vec![clone]), Ok(Answer::Done));
        let steps = host.store().metrics().totals.steps;
        assert!(steps > 1, "{steps} steps before the last");
        assert!(read(&mut host, 3) == Some(scattered(1, PAGES)), "the clone is the object");
        let whole = Payload::Pattern { seed: 7, offset: 0, length: PAGES * PAGE };
        let data = Edit::Write { object: object(1), offset: 0, data: whole, version: Version(2) };
        let (from, half) = (100 * PAGE + 7, PAGES / 2 * PAGE + 9);
        let range = from..half;
        let punch = Edit::Punch { object: object(2), range, version: Version(2) };
        let cut = Edit::Truncate { object: object(3), length: half, version: Version(2) };
        assert_eq!(transact(&mut host, vec![data, punch, cut]), Ok(Answer::Done));
        let mut punched = scattered(2, PAGES);
        punched[from as usize..half as usize].fill(0);
        let expected = [
            (1, scattered(7, PAGES)),
            (2, punched),
            (3, scattered(1, PAGES)[..half as usize].to_vec()),
        ];
        for (number, expected) in &expected {
            assert!(read(&mut host, *number).as_ref() == Some(expected), "object {number}");
        }
        let removals = [1, 2, 3].map(|number| Edit::Remove { object: object(number) });
        assert_eq!(transact(&mut host, removals.to_vec()), Ok(Answer::Done));
        for number in [1, 2, 3] {
            assert_eq!(read(&mut host, number), None);
        }
        assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
        while host.step() {}
        let allocator = &host.store().space().pages.allocator;
        let layout = format().layout().expect("it fits");
        let used = layout.pages_count - allocator.free() - allocator.returning();
        assert!(used < PAGES / 10, "{used} pages are used by nothing");
    }
}

/// A crash between two steps leaves a transaction half done on the disk; the restart brings it to its end, or it has never been.
#[test]
fn a_transaction_in_steps_is_whole_or_not_there_wherever_it_is_cut() {
    const PAGES: u64 = 700;
    let mut seen = [0, 0];
    for (protection, log_mode) in MODES {
        let options = options(floor(), protection, log_mode);
        let mut host = open(options, &format());
        scatter(&mut host, PAGES);
        let clone = vec![
            write(2, 5, vec![9; 20]),
            Edit::Clone { from: object(1), to: object(3) },
            write(1, 0, vec![8; 3 * PAGE as usize]),
            Edit::Remove { object: object(2) },
        ];
        assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
        submit(&mut host, Ask::Transaction(clone));
        let (mut rng, mut event) = (Rng::new(4), 0);
        let mut first = scattered(1, PAGES);
        first[..3 * PAGE as usize].fill(8);
        let mut after = 0;
        while after < 200 && host.step() {
            event += 1;
            after += u32::from(!host.ended().is_empty());
            if event > 8 && event % 40 > 0 {
                continue;
            }
            let mut disks = host.disks().clone();
            disks.data.power_cut(CutStyle::Random, &mut rng);
            let mut again = SimStore::open(Time::ZERO, options, disks);
            let third = read(&mut again, 3);
            let is_done = third.is_some();
            seen[usize::from(is_done)] += 1;
            let context = format!("{protection} {log_mode}, event {event}");
            let expected = |done, before: Vec<u8>| if is_done { done } else { Some(before) };
            assert!(third.is_none_or(|third| third == scattered(1, PAGES)), "{context}: 3");
            let (one, two) = (read(&mut again, 1), read(&mut again, 2));
            assert!(one == expected(Some(first.clone()), scattered(1, PAGES)), "{context}: 1");
            assert!(two == expected(None, scattered(2, PAGES)), "{context}: 2");
        }
        let steps = host.store().metrics().totals.steps;
        assert!(steps > 1, "{steps} steps before the last");
    }
    assert!(seen[0] > 3 && seen[1] > 10, "{seen:?} restarts found it undone and done");
}

/// Transactions whose first steps end within their first change: a removal has all of its marks at the change's beginning, and so has a
/// clone over an object, which removes that first.
fn begun_by_a_removal() -> [Edit; 2] {
    [Edit::Remove { object: object(2) }, Edit::Clone { from: object(1), to: object(2) }]
}

/// What the second of two [scattered](scatter) objects is after one of these.
fn after(edit: &Edit, pages: u64) -> Option<Vec<u8>> {
    matches!(edit, Edit::Clone { .. }).then(|| scattered(1, pages))
}

/// The store knew that a transaction had begun by how far it was. One that was carried out in part and stood at its very beginning was taken
/// for one that had not begun: it was logged once more with each step, and in the end all others waited for it for ever.
#[test]
fn a_transaction_in_steps_that_begins_with_a_removal_lets_the_next_ones_go() {
    const PAGES: u64 = 1200;
    let mut rng = Rng::new(6);
    for (protection, log_mode) in MODES {
        for edit in begun_by_a_removal() {
            let options = options(floor(), protection, log_mode);
            let mut host = open(options, &format());
            scatter(&mut host, PAGES);
            assert_eq!(transact(&mut host, vec![edit.clone()]), Ok(Answer::Done));
            let steps = host.store().metrics().totals.steps;
            assert!(steps > 0, "it has gone in one step");
            assert_eq!(transact(&mut host, vec![write(4, 0, vec![4; 9])]), Ok(Answer::Done));
            assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
            let mut host = crash(host, options, &mut rng);
            assert!(read(&mut host, 1) == Some(scattered(1, PAGES)), "{protection} {log_mode}");
            assert!(read(&mut host, 2) == after(&edit, PAGES), "{protection} {log_mode}");
            assert_eq!(read(&mut host, 4), Some(vec![4; 9]));
        }
    }
}

/// The same in the next life: a restart that found such a transaction half done left the note of its progress in the tree, and the
/// restart behind the next checkpoint looked in vain for the transaction that it spoke of.
#[test]
fn a_restart_brings_a_transaction_to_its_end_that_stands_at_its_beginning() {
    const PAGES: u64 = 1200;
    let mut seen = [0, 0];
    for (protection, log_mode) in MODES {
        for edit in begun_by_a_removal() {
            let options = options(floor(), protection, log_mode);
            let mut host = open(options, &format());
            scatter(&mut host, PAGES);
            assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
            submit(&mut host, Ask::Transaction(vec![edit.clone()]));
            let (mut rng, mut event) = (Rng::new(4), 0);
            let mut after_answer = 0;
            while after_answer < 60 && host.step() {
                event += 1;
                after_answer += u32::from(!host.ended().is_empty());
                if event % 60 > 0 {
                    continue;
                }
                let mut disks = host.disks().clone();
                disks.data.power_cut(CutStyle::Random, &mut rng);
                let mut again = SimStore::open(Time::ZERO, options, disks);
                let second = read(&mut again, 2);
                let context = format!("{protection} {log_mode}, event {event}");
                let is_done = second == after(&edit, PAGES);
                seen[usize::from(is_done)] += 1;
                assert!(is_done || second == Some(scattered(2, PAGES)), "{context}: 2");
                // Nothing stands behind the checkpoint that the next restart begins at.
                assert_eq!(ask(&mut again, Ask::Checkpoint).map(drop), Ok(()), "{context}");
                let mut third = crash(again, options, &mut rng);
                assert!(read(&mut third, 2) == second, "{context}: 2");
                assert!(read(&mut third, 1) == Some(scattered(1, PAGES)), "{context}: 1");
                let put = vec![write(4, 0, vec![4; 9])];
                assert_eq!(transact(&mut third, put), Ok(Answer::Done), "{context}");
            }
            let steps = host.store().metrics().totals.steps;
            assert!(steps > 0, "it has gone in one step");
        }
    }
    assert!(seen[0] > 3 && seen[1] > 3, "{seen:?} restarts found it undone and done");
}

/// What 256 MiB of cache had taken, a restart with 4 MiB refused: a transaction of the log found no room.
#[test]
fn any_cache_from_the_floor_on_restarts_what_a_large_one_has_left() {
    const PAGES: u64 = 1500;
    for (protection, log_mode) in MODES {
        let large = Options {
            log_trigger_percent: 100,
            dirty_trigger_percent: 100,
            ..options(Bytes::from_mib(24), protection, log_mode)
        };
        let format = Format { recovery_bytes: Bytes::from_mib(4), ..format() };
        let mut host = open(large, &format);
        scatter(&mut host, PAGES);
        let puts = |round: u64| {
            let put = move |key: u64| Edit::Put {
                key: (key * 7919 % 10_007).to_be_bytes().to_vec(),
                value: vec![round as u8; 20],
            };
            (0..400).map(move |key| put(round * 400 + key)).collect::<Vec<_>>()
        };
        assert_eq!(ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
        let mut edits = puts(0);
        edits.push(Edit::Clone { from: object(1), to: object(3) });
        edits.push(Edit::Remove { object: object(2) });
        edits.extend(puts(1));
        assert_eq!(transact(&mut host, edits), Ok(Answer::Done));
        let remove = vec![Edit::Remove { object: object(1) }];
        assert_eq!(transact(&mut host, remove), Ok(Answer::Done));
        assert_eq!(ask(&mut host, Ask::Sync), Ok(Answer::Done));
        assert_eq!(host.store().metrics().totals.steps, 0, "a large cache needs none");
        let mut rng = Rng::new(5);
        let mut host = crash(host, options(floor(), protection, log_mode), &mut rng);
        // Without a log the sync was a checkpoint.
        let replays = log_mode != LogMode::None;
        assert!(!replays || host.store().metrics().totals.checkpoints > 3, "{}", protection);
        for number in [1, 2] {
            assert_eq!(read(&mut host, number), None);
        }
        assert!(read(&mut host, 3) == Some(scattered(1, PAGES)));
        let key = (799 * 7919 % 10_007_u64).to_be_bytes().to_vec();
        assert_eq!(ask(&mut host, Ask::Get(key)), Ok(Answer::Value(Some(vec![1; 20]))));
    }
}

#[test]
fn a_cache_below_the_floor_is_refused_with_the_figure() {
    let below = Bytes::new(floor().get() - PAGE);
    let host = open(options(below, Protection::Checkpoint, LogMode::Fsync), &format());
    let mut host = host;
    host.wait_until(|host| host.store().fault().is_some());
    let (least, found) = (floor(), below);
    let fault = Fault::Restart(RestartFault::CacheTooSmall { least, found });
    assert_eq!(host.store().fault(), Some(fault));
    assert_eq!(
        fault.to_string(),
        format!("the cache is {below} and this store needs at least {}", floor())
    );
}

#[test]
fn what_exceeds_a_limit_is_refused_by_name() {
    let mut host = open(options(floor(), Protection::Checkpoint, LogMode::Fsync), &format());
    let limits = limits(&format().layout().expect("it fits"));
    let put = |key: usize, value: usize| Edit::Put { key: vec![1; key], value: vec![2; value] };
    let many = |count: u32| {
        (0..count).map(|at| Edit::Put {
            key: at.to_be_bytes().to_vec(),
            value: vec![0; limits.value_bytes],
        })
    };
    let in_one = (limits.transaction_bytes / (limits.value_bytes + 12)) as u32;
    for (edits, bound) in [
        (vec![put(limits.key_bytes, limits.value_bytes)], None),
        (many(in_one).collect(), None),
        (many(in_one + 1).collect(), Some(Bound::TransactionBytes)),
        (vec![put(limits.key_bytes + 1, 1)], Some(Bound::KeyBytes)),
        (vec![put(0, 1)], Some(Bound::KeyBytes)),
        (vec![put(1, limits.value_bytes + 1)], Some(Bound::ValueBytes)),
        (vec![write(1, limits.object_bytes, vec![0])], Some(Bound::ObjectBytes)),
    ] {
        let result = transact(&mut host, edits);
        let found = match result {
            Ok(_) => None,
            Err(OpError::Exceeds(exceeded)) => Some(exceeded.bound),
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(found, bound);
    }
}

type Objects = BTreeMap<u64, Vec<u8>>;

/// A random edit, in the model and as it is asked.
fn edit(
    rng: &mut Rng,
    keys: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    objects: &mut Objects,
    value_max: u64,
) -> Edit {
    let number = 1 + rng.below(5);
    let key = vec![b'k'; 1 + rng.below(60) as usize].into_iter().chain([rng.below(60) as u8]);
    let key: Vec<u8> = key.collect();
    let version = Version(rng.next_u64());
    match rng.below(9) {
        0..=2 => {
            let long = if rng.below(10) == 0 { value_max } else { 60 };
            let value = vec![rng.next_u64() as u8; rng.below(long + 1) as usize];
            keys.insert(key.clone(), value.clone());
            Edit::Put { key, value }
        }
        3 => {
            keys.remove(&key);
            Edit::Delete { key }
        }
        4 | 5 => {
            let most = if rng.below(4) == 0 { 40 * PAGE } else { 2 * PAGE };
            let (offset, length) = (rng.below(200 * PAGE), 1 + rng.below(most));
            let data = vec![rng.next_u64() as u8; length as usize];
            let old = objects.entry(number).or_default();
            old.resize(old.len().max((offset + length) as usize), 0);
            old[offset as usize..][..length as usize].copy_from_slice(&data);
            write(number, offset, data)
        }
        6 => {
            let to = 1 + rng.below(5);
            match objects.get(&number).cloned() {
                Some(bytes) => objects.insert(to, bytes),
                None => objects.remove(&to),
            };
            Edit::Clone { from: object(number), to: object(to) }
        }
        7 => {
            objects.remove(&number);
            Edit::Remove { object: object(number) }
        }
        _ if rng.below(2) == 0 => {
            let length = rng.below(200 * PAGE);
            objects.entry(number).or_default().resize(length as usize, 0);
            Edit::Truncate { object: object(number), length, version }
        }
        _ => {
            let (from, to) = (rng.below(100 * PAGE), 100 * PAGE + rng.below(100 * PAGE));
            if let Some(bytes) = objects.get_mut(&number) {
                let end = bytes.len().min(to as usize);
                bytes[end.min(from as usize)..end].fill(0);
            }
            Edit::Punch { object: object(number), range: from..to, version }
        }
    }
}

/// Random transactions of up to thirty edits, each of them within the limits, with crashes in between: nothing is refused, nothing is
/// stuck, and everything is there.
#[test]
fn whatever_is_within_the_limits_is_taken() {
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let (protection, log_mode) = MODES[seed as usize % 4];
        let log_bytes = Bytes::from_kib([256, 512, 2048][seed as usize % 3]);
        let segment_bytes = Bytes::from_kib(64);
        let format = Format { log_bytes, segment_bytes, ..format() };
        let draw = |rng: &mut Rng| {
            let more = rng.below(3);
            let cache = floor().get() + more * rng.below(floor().get());
            Options {
                log_trigger_percent: 10 + rng.below(60) as u8,
                dirty_trigger_percent: 10 + rng.below(60) as u8,
                ..options(Bytes::new(cache), protection, log_mode)
            }
        };
        let mut host = open(draw(&mut rng), &format);
        let value_max = limits(&format.layout().expect("it fits")).value_bytes as u64;
        let (mut keys, mut objects) = (BTreeMap::new(), Objects::new());
        for round in 0..120 {
            let most = if rng.below(4) == 0 { 30 } else { 3 };
            let before = (keys.clone(), objects.clone());
            let edits: Vec<Edit> = (0..=rng.below(most))
                .map(|_| edit(&mut rng, &mut keys, &mut objects, value_max))
                .collect();
            let count = edits.len();
            match transact(&mut host, edits) {
                Ok(_) => {}
                Err(OpError::Exceeds(exceeded))
                    if exceeded.bound == Bound::TransactionBytes && count > 1 =>
                {
                    (keys, objects) = before;
                }
                Err(error) => panic!("seed {seed}, round {round}: {error:?}"),
            }
            if rng.below(12) == 0 {
                assert!(ask(&mut host, Ask::Sync).is_ok());
                let options = draw(&mut rng);
                host = crash(host, options, &mut rng);
            }
        }
        for number in 1..=5 {
            assert!(
                read(&mut host, number) == objects.get(&number).cloned(),
                "seed {seed}, object {number}"
            );
        }
        for (key, value) in &keys {
            let found = ask(&mut host, Ask::Get(key.clone()));
            assert_eq!(found, Ok(Answer::Value(Some(value.clone()))), "seed {seed}");
        }
    }
}
