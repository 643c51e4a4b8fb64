//! A disk in memory. Puts end as a whole, or say so, or are given up and leave nothing that counts; what is known of a copy is
//! kept however much it is.

use super::*;
use crate::commit::RecoverySender;
use crate::damage::Astray;
use crate::disk::keys::{GroupRecord, HAS_LOST_PAGES, lack_key};
use crate::disk::{LoadNext, LoadedGroup, Whole, transactions};
use crate::ids::{IntervalId, OpId, OsdId, OsdSet, ShardId};
use crate::message::Activation;
use crate::pg::Pg;
use crate::pg_log::{ChangedBytes, Divergence, LogEntry, LogReach, PgLog};
use loadline_base::SlotId;
use loadline_device::{Outcome, RequestKind};
use loadline_qos::Urgency;
use loadline_store::paged::api::pattern;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Format, Payload, Protection, Ranges, ScanBounds, format};
use loadline_store::{ObjectMeta, Version};

const PG: PgId = PgId::new(3);
const OBJECT: ObjectNo = ObjectNo(7);
const OTHER: ObjectNo = ObjectNo(8);
const LENGTH: u64 = 4 << 20;

/// A store with its disk.
struct Rig {
    paged: Paged,
    disk: Vec<u8>,
    now: Time,
    ended: Vec<(AccessDone, Option<Answer>)>,
    /// Transfers are carried out in parts of so many bytes.
    part: Option<u64>,
    /// Parts that wait for their turn.
    turns: Vec<NextPart>,
    /// What accesses that are no puts are for.
    commit: Commit,
    /// What of that counts as work of the disk.
    served: Vec<EndedWork>,
}

impl Rig {
    /// A disk with so many MiB for pages.
    fn new(mib: u64) -> Rig {
        let size = Bytes::from_mib(6 + mib);
        let shape = Format {
            store_id: 1,
            data_bytes: size,
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(4),
            segment_bytes: Bytes::from_kib(256),
            block_bytes: 4096,
            recovery_bytes: Bytes::from_mib(2),
            page: PageSize::new(4096).expect("a page size"),
        };
        let mut disk = vec![0; size.get() as usize];
        for (_, offset, bytes) in format(&shape, Protection::Checkpoint).expect("it fits") {
            disk[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Rig::open(disk)
    }

    fn open(disk: Vec<u8>) -> Rig {
        let options = Options { cache: Bytes::from_mib(4), ..Options::default() };
        let bounds = WindowBounds { bytes: Bytes::from_mib(64), ops: 64 };
        let paged = Paged::new(options, bounds);
        let size = Bytes::new(disk.len() as u64);
        let mut rig = Rig {
            paged,
            disk,
            now: Time::ZERO,
            ended: Vec::new(),
            part: None,
            turns: Vec::new(),
            commit: Commit::Nothing,
            served: Vec::new(),
        };
        rig.paged.open(rig.now, size);
        rig.run();
        rig.paged.phase = OpeningPhase::Open;
        rig.ended.clear();
        rig
    }

    /// Lets the next thing happen; false if there is none, but for what the clock brings.
    fn step(&mut self) -> bool {
        let completions = std::mem::take(&mut self.paged.out.completions);
        let is_some = !completions.is_empty();
        for completion in completions {
            self.served.extend(completion.token.ended_work());
            match self.paged.ended(self.now, completion) {
                OpEnded::Access(mut done) => {
                    let told = done.told.take();
                    self.ended.push((done, told));
                }
                OpEnded::Turn(next) => self.turns.push(next),
                OpEnded::Nothing => {}
            }
        }
        let requests = self.paged.take_io();
        let moves = is_some || !requests.is_empty();
        for io in requests {
            self.paged.requests.send(&io);
            let Io { id, request, mut data, .. } = io;
            let from = request.offset as usize;
            let range = from..from + request.length.get() as usize;
            match request.kind {
                RequestKind::Read => data = self.disk[range].to_vec(),
                RequestKind::Write => self.disk[range].copy_from_slice(&data),
                RequestKind::Flush | RequestKind::Discard => {}
            }
            self.paged.done(self.now, IoDone { id, outcome: Outcome::Done, data });
        }
        moves
    }

    fn steps(&mut self, steps: u32) {
        for _ in 0..steps {
            assert!(self.step(), "it goes on");
        }
    }

    fn run(&mut self) {
        for _ in 0..10_000 {
            if self.step() {
                continue;
            }
            if self.paged.is_idle() {
                return;
            }
            self.now = self.paged.next_tick().expect("something is to happen").max(self.now);
            self.paged.tick(self.now);
        }
        panic!("it goes on for ever: {}", self.paged.waits());
    }

    fn access(&mut self, object: ObjectNo, touch: AccessKind, version: u64) {
        self.access_with(object, touch, version, Vec::new());
    }

    fn access_with(&mut self, object: ObjectNo, touch: AccessKind, version: u64, edits: Vec<Edit>) {
        let asker = RecoverySender { osd: OsdId::new(1), interval: 1, urgency: Urgency::default() };
        let token = match touch {
            AccessKind::Put(_) => Commit::HistoryStored(asker, SnapshotNo::HEAD),
            _ => self.commit,
        };
        self.paged.access(
            self.now,
            Access {
                pg: PG,
                object,
                offset: 0,
                // About what an object of these tests holds.
                length: LENGTH / 4,
                touch,
                version: Version(version),
                first: Vec::new(),
                edits,
                past_damage: None,
                class: loadline_device::ClassTag(ServiceClass::Recovery as u8),
                token,
            },
            self.part,
        );
    }

    fn transaction_bytes(&self) -> usize {
        self.paged.store().expect("it is open").limits().transaction_bytes / 4 * 3
    }

    /// Carries transactions out, and tells what the disk says of the group after each of them if there is a crash.
    fn keep(&mut self, all: Vec<Vec<Edit>>) -> Vec<Option<LoadedGroup>> {
        let mut told = Vec::new();
        for edits in all {
            self.access_with(OBJECT, AccessKind::Nothing, 0, edits);
            self.run();
            assert_eq!(self.results(), [Ok(())]);
            told.push(Rig::open(self.disk.clone()).load());
        }
        told
    }

    /// What the disk says of the group.
    fn load(&mut self) -> Option<LoadedGroup> {
        let (mut load, mut ask) = (DiskLoad::default(), DiskLoad::first());
        loop {
            self.paged.ask(self.now, ask);
            self.run();
            let (_, answer) = self.ended.pop().expect("a question is answered");
            match load.answered(answer.expect("with what was found")) {
                LoadNext::Ask(next) => ask = next,
                LoadNext::Done => return load.groups.remove(&PG),
                LoadNext::Newer(_) | LoadNext::Unreadable => {
                    panic!("the store has what no OSD writes")
                }
            }
        }
    }

    /// Every fourth page of an object, in a hundred and more steps.
    fn put(&mut self, object: ObjectNo, version: u64) {
        let pages: Vec<u64> = (0..LENGTH / 4096).step_by(4).collect();
        let bytes = vec![version as u8; pages.len() * 4096];
        let data = pages.iter().map(|page| page * 4096..(page + 1) * 4096).collect();
        let data = Data::sparse(Ranges { data, zeros: Vec::new() }, bytes);
        let whole = Whole { label: SnapshotNo::HEAD, length: LENGTH, base: None, data };
        self.access(object, AccessKind::Put(whole), version);
    }

    /// How the accesses since the last call have ended.
    fn results(&mut self) -> Vec<Result<(), AccessFailure>> {
        self.ended.drain(..).map(|(done, _)| done.result.map(drop)).collect()
    }

    fn version(&mut self, object: ObjectNo) -> Option<u64> {
        self.paged.ask(self.now, Ask::Stat(object_id(PG, object, SnapshotNo::HEAD)));
        self.run();
        match self.ended.pop() {
            Some((_, Some(Answer::Meta(meta)))) => meta.map(|meta| meta.version.0),
            other => panic!("a question of the store is answered: {other:?}"),
        }
    }
}

#[test]
fn a_put_ends_once_and_as_a_whole() {
    let mut rig = Rig::new(16);
    rig.put(OBJECT, 5);
    rig.put(OTHER, 6);
    rig.run();
    assert_eq!(rig.results(), [Ok(()), Ok(())]);
    assert_eq!((rig.version(OBJECT), rig.version(OTHER)), (Some(5), Some(6)));
    rig.access(
        OBJECT,
        AccessKind::ReadWhole { label: SnapshotNo::HEAD, base: None, bytes: LENGTH },
        0,
    );
    rig.run();
    let (done, _) = rig.ended.pop().expect("it was read");
    let data = done.result.expect("it can be read");
    assert_eq!(data.ranges().map(|ranges| ranges.data.len()), Some(256));
    assert!(data.into_vec() == [5; 256 * 4096]);
}

/// Between two parts other work has its turn; what comes out is the same.
#[test]
fn a_transfer_in_parts_waits_for_its_turns_and_ends_as_a_whole() {
    let mut rig = Rig::new(16);
    rig.part = Some(256 << 10);
    rig.put(OBJECT, 5);
    let mut sizes = Vec::new();
    loop {
        rig.run();
        let Some(next) = rig.turns.pop() else { break };
        assert!(rig.ended.is_empty() && rig.turns.is_empty() && rig.paged.background() == (0, 0));
        sizes.push(next.bytes);
        rig.paged.go_on(rig.now, next.transfer);
        assert_eq!(rig.paged.background(), (1, u64::from(next.bytes)));
    }
    // The first 64 KiB go with the beginning.
    assert_eq!((sizes, rig.results()), (vec![64 << 10; 15], vec![Ok(())]));
    let whole = AccessKind::ReadWhole { label: SnapshotNo::HEAD, base: None, bytes: LENGTH };
    rig.access(OBJECT, whole, 0);
    for part in 1..=4 {
        rig.run();
        let next = rig.turns.pop();
        assert_eq!(next.map(|next| next.bytes), (part < 4).then_some(256 << 10));
        next.into_iter().for_each(|next| rig.paged.go_on(rig.now, next.transfer));
    }
    let (done, _) = rig.ended.pop().expect("it was read");
    let data = done.result.expect("it can be read");
    assert_eq!(data.ranges().map(|ranges| ranges.data.len()), Some(256));
    assert!(data.into_vec() == [5; 256 * 4096]);
}

/// The interval ended in the middle of a put, and what the next one wrote came before its last steps: they made it what it had
/// been.
#[test]
fn what_is_given_up_writes_no_more_and_its_object_does_not_count() {
    let mut rig = Rig::new(16);
    rig.put(OBJECT, 5);
    rig.put(OTHER, 6);
    rig.steps(6);
    rig.paged.give_up_puts(PG, Some(OBJECT));
    rig.run();
    assert_eq!(rig.results(), [Ok(())], "nobody hears of what was given up");
    assert_eq!((rig.version(OBJECT), rig.version(OTHER)), (Some(0), Some(6)));
    rig.put(OBJECT, 7);
    rig.steps(6);
    rig.paged.give_up_puts(PgId::new(4), None);
    rig.run();
    assert_eq!((rig.results(), rig.version(OBJECT)), (vec![Ok(())], Some(7)));
    rig.put(OBJECT, 8);
    rig.paged.give_up_puts(PG, None);
    rig.run();
    assert_eq!((rig.results(), rig.version(OBJECT)), (Vec::new(), Some(0)));
}

/// A step in the middle finds no room: that is how the put ends, and none of the later ones is tried.
#[test]
fn a_put_without_room_ends_so_and_its_object_does_not_count() {
    let mut rig = Rig::new(2);
    for object in 0.. {
        rig.put(ObjectNo(object), 5);
        rig.run();
        let results = rig.results();
        if results == [Ok(())] {
            continue;
        }
        assert_eq!(results, [Err(AccessFailure::NoSpace)]);
        assert_eq!(rig.version(ObjectNo(object)), Some(0));
        assert!(object > 0 && rig.version(ObjectNo(object - 1)) == Some(5));
        return;
    }
}

/// The step that found no room was followed by the last one, which said that the object is whole.
#[test]
fn no_step_follows_one_that_has_failed() {
    let mut rig = Rig::new(2);
    let data = vec![0..3 << 20, LENGTH - 4096..LENGTH];
    let data = Data::sparse(Ranges { data, zeros: Vec::new() }, vec![5; (3 << 20) + 4096]);
    let whole = Whole { label: SnapshotNo::HEAD, length: LENGTH, base: None, data };
    rig.access(OBJECT, AccessKind::Put(whole), 5);
    rig.run();
    assert_eq!(rig.results(), [Err(AccessFailure::NoSpace)]);
    assert_eq!(rig.version(OBJECT), Some(0));
}

fn log_of(pg: &mut Pg, interval: u32, objects: std::ops::Range<u64>) {
    for object in objects {
        let op = OpId { slot: SlotId::new(0), number: 0 };
        pg.log.append(interval, ObjectNo(object), op, ChangedBytes::ALL);
    }
}

fn log_entries(log: &PgLog) -> Vec<(Version, ObjectNo)> {
    log.entries().map(|entry| (entry.version, entry.object)).collect()
}

/// A copy with a log of ten thousand writes came back to a group that had ten thousand others: what there was to be kept was more
/// than a transaction of a small disk may be, and the OSD stopped. It is kept in several now, and wherever they are cut
/// short the disk tells of nothing that is not there.
#[test]
fn a_full_log_and_many_lacks_are_kept_on_a_small_disk() {
    const LONG: u64 = 9_800;
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    (pg.filling, pg.active_in) = (false, IntervalId { term: 1, epoch: 1 });
    pg.log.keep_from_now_on(LogReach::default(), true);
    log_of(&mut pg, 1, 0..200);
    let common = pg.log.clone();
    // Writes that nobody else has.
    log_of(&mut pg, 1, 100_000..100_000 + LONG);
    let bytes_max = rig.transaction_bytes();
    let first = pg.save(PG, bytes_max);
    assert!(first.len() > 2, "{} transactions", first.len());
    let told = rig.keep(first);
    let (last, before) = told.split_last().expect("there are some");
    let is_new = |group: &LoadedGroup| group.record.filling;
    assert!(before.iter().all(|group| group.as_ref().is_some_and(is_new)), "it was new");
    let last = last.as_ref().expect("it is there");
    assert_eq!((last.record.filling, last.entries.len()), (false, 10_000));

    let old = log_entries(&pg.log);
    pg.log = common;
    log_of(&mut pg, 2, 200..200 + LONG);
    pg.active_in = IntervalId { term: 1, epoch: 2 };
    pg.lacks = (200..200 + LONG).chain(100_000..100_000 + LONG).map(ObjectNo).collect();
    let new = log_entries(&pg.log);
    let all = pg.save(PG, bytes_max);
    let count = all.len();
    let mut seen = [0; 3];
    for (at, group) in rig.keep(all).into_iter().enumerate() {
        let group = group.expect("it is there");
        let log = log_entries(&PgLog::loaded(group.record.tail, group.entries.clone()));
        assert!(!group.record.filling && !group.record.gaps);
        if at == count - 1 {
            assert_eq!((group.record.active_in.epoch, &group.lacks), (2, &pg.lacks));
            assert_eq!(log, new);
            continue;
        }
        assert_eq!(group.record.active_in.epoch, 1);
        let undone = old.iter().filter(|entry| !new.contains(entry) && !log.contains(entry));
        let come: Vec<_> = log.iter().filter(|entry| !old.contains(entry)).collect();
        let lacked = |(_, object): &(Version, ObjectNo)| group.lacks.contains(object);
        assert!(undone.clone().all(lacked), "what is gone from the log is lacked");
        assert!(come.iter().copied().all(lacked), "what has come is lacked");
        let expected = new.iter().skip(200).take(come.len());
        assert!(come.iter().copied().eq(expected), "the log is one that the group once had");
        assert!(come.is_empty() || undone.clone().count() as u64 == LONG);
        seen[usize::from(undone.count() > 0) + usize::from(!come.is_empty())] += 1;
    }
    assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");

    // A life on: the copy has everything, and its log is a short one.
    let mut pg = Pg::loaded(ShardId::new(0), rig.load().expect("it is there"));
    pg.lacks.clear();
    pg.log.keep_from_now_on(LogReach::default(), false);
    rig.keep(pg.save(PG, bytes_max));
    let group = rig.load().expect("it is there");
    assert_eq!((group.entries.len(), group.lacks.len()), (250, 0));
}

/// A copy that was filled, or recovered beside the writes, takes the others' log: while only a part of it is on the disk it is still one
/// that was not.
#[test]
fn a_copy_counts_as_whole_when_all_of_its_log_is_there() {
    let mut rig = Rig::new(16);
    let bytes_max = rig.transaction_bytes();
    let mut pg = Pg::new(ShardId::new(0));
    pg.gaps = Some(BTreeSet::new());
    rig.keep(pg.save(PG, bytes_max));
    pg.log.keep_from_now_on(LogReach::default(), true);
    log_of(&mut pg, 1, 0..10_000);
    (pg.filling, pg.gaps) = (false, None);
    let told = rig.keep(pg.save(PG, bytes_max));
    let flags = told.into_iter().flatten().map(|group| (group.record.filling, group.record.gaps));
    let flags: Vec<_> = flags.collect();
    let (last, before) = flags.split_last().expect("there are some");
    assert!(before.len() > 1 && before.iter().all(|flags| *flags == (true, true)), "{flags:?}");
    assert_eq!(*last, (false, false));
}

/// The end of a copy with a full log, and a write of an object that is in all of its entries and that could not be carried out.
#[test]
fn what_is_known_of_a_full_log_goes_and_comes_in_several_transactions() {
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    pg.log.keep_from_now_on(LogReach::default(), true);
    for _ in 0..10_000 {
        log_of(&mut pg, 1, 7..8);
    }
    let bytes_max = rig.transaction_bytes();
    rig.keep(pg.save(PG, bytes_max));
    let missed = transactions(pg.save_missed(PG, OBJECT), bytes_max);
    assert!(missed.len() > 1);
    for group in rig.keep(missed) {
        assert!(group.is_some_and(|group| group.lacks.contains(&OBJECT)));
    }
    let gone = transactions(pg.save_deletion(PG, true), bytes_max);
    assert!(gone.len() > 1);
    let told = rig.keep(gone);
    let (last, before) = told.split_last().expect("there are some");
    let is_known = |group: &LoadedGroup| group.record.filling;
    assert!(last.is_none() && before.iter().all(|group| group.as_ref().is_some_and(is_known)));
    let nothing = Ask::Scan { from: vec![b'g'], most: ScanBounds::keys(10) };
    rig.paged.ask(rig.now, nothing);
    rig.run();
    assert_eq!(rig.ended.pop().and_then(|(_, answer)| answer), Some(Answer::Pairs(Vec::new())));
}

/// The disk tells how an object has gone astray as long as it lacks, also after another interval, and no longer.
#[test]
fn how_an_object_has_diverged_is_kept_until_it_comes() {
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    pg.filling = false;
    rig.keep(pg.save(PG, usize::MAX));
    let divergence = Divergence {
        version: Version(9),
        since: Version(7),
        changed: ChangedBytes { offset: 512, length: 1024 },
    };
    let diverged = Some(Astray::Diverged(divergence));
    // The disk says already that both lack.
    pg.lacks = [OBJECT, OTHER].into();
    rig.keep(pg.save(PG, usize::MAX));
    pg.disk.note_divergence(OBJECT, divergence);
    rig.keep(vec![pg.save_missed(PG, OTHER)]);
    pg.disk.note_divergence(OTHER, divergence);
    for _ in 0..2 {
        rig.keep(pg.save(PG, usize::MAX));
        let group = rig.load().expect("it is there");
        assert_eq!(group.lacks, [OBJECT, OTHER].into());
        pg = Pg::loaded(ShardId::new(0), group);
        let astray = [OBJECT, OTHER].map(|object| pg.disk.damage.astray(object));
        assert_eq!(astray, [diverged, Some(Astray::Patchy)], "what was missed says more");
    }
    pg.lacks.remove(&OBJECT);
    pg.disk.damage.end_strays_but(&pg.lacks);
    rig.keep(pg.save(PG, usize::MAX));
    let group = rig.load().expect("it is there");
    assert_eq!((group.lacks, group.astray), ([OTHER].into(), [(OTHER, Astray::Patchy)].into()));
}

/// A copy was given an object that it lacked, and loses a page of it in the same interval. (Both stand under one key of the disk, and the next
/// interval took away that it lacks the object, so what the disk said of the page went with it: after a restart the copy counted as whole.)
#[test]
fn a_page_that_is_lost_stays_told_though_the_object_had_just_come() {
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    pg.filling = false;
    pg.lacks = [OBJECT].into();
    rig.keep(pg.save(PG, usize::MAX));
    let arrival = pg.save_arrival(PG, OBJECT);
    rig.keep(vec![vec![arrival]]);
    pg.lacks.remove(&OBJECT);
    let lost = Edit::Put { key: lack_key(PG, OBJECT).to_vec(), value: HAS_LOST_PAGES.to_vec() };
    rig.keep(vec![vec![lost]]);
    pg.disk.note_damage(OBJECT);
    for _ in 0..2 {
        rig.keep(pg.save(PG, usize::MAX));
        let group = rig.load().expect("it is there");
        assert_eq!((group.lacks, group.damaged), (BTreeSet::new(), [OBJECT].into()));
    }
    let whole = pg.save_whole(PG, OBJECT).expect("the disk says otherwise");
    rig.keep(vec![vec![whole]]);
    assert!(rig.load().expect("it is there").damaged.is_empty());
}

/// A page of an object rots while it is in memory and is written in part, and the OSD dies. (Its disk did not open then: one page of one object, and
/// everything was filled again from the others.)
#[test]
fn a_page_that_the_log_needs_and_that_has_rotted_is_told_as_lost() {
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    rig.keep(pg.save(PG, usize::MAX));
    let object = object_id(PG, OBJECT, SnapshotNo::HEAD);
    let write = |version, offset, data| {
        let write = Edit::Write { object, offset, data, version: Version(version) };
        Ask::Transaction(vec![write])
    };
    let whole = Payload::Pattern { seed: 4, offset: 0, length: 3 * 4096 };
    for ask in [write(1, 0, whole), Ask::Checkpoint, write(2, 5000, Payload::Bytes(vec![7; 10]))] {
        rig.paged.ask(rig.now, ask);
        rig.run();
        assert_eq!(rig.results(), [Ok(())]);
    }
    let mut disk = rig.disk;
    let bytes = pattern(4, 4096, 512);
    let page = disk.chunks(512).position(|sector| sector == bytes).expect("it is there");
    disk[page * 512] ^= 1;
    let mut rig = Rig::open(disk);
    assert_eq!(rig.version(OBJECT), Some(2));
    let group = rig.load().expect("it is there");
    assert_eq!((group.lacks, group.damaged), (BTreeSet::new(), [OBJECT].into()));
}

/// Older programs kept what a copy lacks in one list.
#[test]
fn the_list_of_an_older_program_is_read_and_replaced() {
    let mut rig = Rig::new(16);
    let mut pg = Pg::new(ShardId::new(0));
    rig.keep(pg.save(PG, usize::MAX));
    let list = [OBJECT, OTHER].map(|object| object.0.to_le_bytes()).concat();
    let key = [&b"k"[..], &PG.get().to_be_bytes()].concat();
    let told = rig.keep(vec![vec![Edit::Put { key: key.clone(), value: list }]]);
    let group = told.into_iter().next().flatten().expect("it is there");
    assert_eq!(group.lacks, [OBJECT, OTHER].into());
    let mut pg = Pg::loaded(ShardId::new(0), group);
    pg.lacks.remove(&OTHER);
    pg.disk.damage.end_stray(OTHER);
    rig.keep(pg.save(PG, usize::MAX));
    assert_eq!(rig.load().expect("it is there").lacks, [OBJECT].into());
    rig.paged.ask(rig.now, Ask::Get(key));
    rig.run();
    assert_eq!(rig.ended.pop().and_then(|(_, answer)| answer), Some(Answer::Value(None)));
}

/// What came while the last interval lasted is here after a crash, if it is as the log tells, and the log tells of every write.
#[test]
fn what_is_here_as_the_log_tells_is_not_lacked() {
    let of = |gaps| GroupRecord {
        active_in: IntervalId { term: 1, epoch: 1 },
        gaps,
        filling: false,
        tail: Version::default(),
    };
    let entry = |version, object| LogEntry {
        version: Version(version),
        object,
        op: OpId::NOBODYS,
        changed: ChangedBytes::ALL,
    };
    let meta = |version| ObjectMeta { version: Version(version), length: 9 };
    let missed = ObjectNo(77);
    let group = |gaps| {
        let mut group = LoadedGroup::new(of(gaps));
        group.lacks = [OBJECT, OTHER, missed].into();
        group.astray = [(missed, Astray::Patchy)].into();
        group.entries = vec![entry(1, OBJECT), entry(2, OTHER), entry(3, OBJECT), entry(4, missed)];
        group.objects = vec![(OBJECT, meta(3)), (OTHER, meta(1)), (missed, meta(4))];
        group
    };
    assert_eq!(group(false).lacks_indeed(), [OTHER, missed].into());
    assert_eq!(group(true).lacks_indeed(), [OBJECT, OTHER, missed].into());
}

/// An OSD whose log reaches further than is usual is opened again. (The first interval cut its log as far as logs reach where nobody has said anything,
/// before it was told how far this one does.)
#[test]
fn a_log_that_reaches_further_than_is_usual_still_does_after_a_restart() {
    let mut rig = Rig::new(16);
    let reach = LogReach { clean: 2_000, degraded: 20_000 };
    let mut pg = Pg::new(ShardId::new(0));
    let osd = OsdId::new(0);
    let interval = |interval| Activation {
        interval,
        term: 1,
        acting: vec![osd],
        copies: 1,
        missing: Vec::new(),
        damaged: Vec::new(),
        asynchronous: OsdSet::EMPTY,
        backfill: Vec::new(),
        object_bytes: LENGTH,
        recovery_priority: 0,
        index_in_pool: 0,
        log: None,
        before: IntervalId::NEVER,
    };
    pg.begin(osd, reach, &interval(1));
    log_of(&mut pg, 1, 0..1_500);
    rig.keep(pg.save(PG, rig.transaction_bytes()));
    let mut pg = Pg::loaded(ShardId::new(0), rig.load().expect("it is there"));
    pg.begin(osd, reach, &interval(2));
    assert_eq!(pg.log.entries().count(), 1_500);
}

/// Zeros counted as so many bytes written: a disk that was given a few discards of 4 MiB was full, and one that was given many had five times
/// the capacity that it has.
#[test]
fn zeros_count_as_the_metadata_that_they_are() {
    let mut rig = Rig::new(16);
    rig.commit = Commit::Put(1);
    let page = AccessKind::Write(Data::new(vec![1; 4096]));
    for (version, touch, bytes) in
        [(1, page, LENGTH / 4), (2, AccessKind::Zero, 4096), (3, AccessKind::Remove, 4096)]
    {
        rig.access(OBJECT, touch, version);
        assert_eq!(rig.paged.window.in_flight(), (Bytes::new(bytes), 1), "version {version}");
        rig.run();
        assert_eq!(rig.results(), [Ok(())]);
        assert_eq!(std::mem::take(&mut rig.served), [EndedWork { bytes, is_update: true }]);
    }
}

/// Each write has the log flushed by the clock half a second later; the next checkpoint is minutes away.
#[test]
fn a_tick_that_is_far_away_is_asked_for_once() {
    let mut rig = Rig::new(16);
    let mut ticks: Vec<Time> = Vec::new();
    let mut flushes = 0;
    for version in 1..=40 {
        let edit = Edit::Put { key: b"key".to_vec(), value: vec![version as u8] };
        rig.access_with(OBJECT, AccessKind::Nothing, version, vec![edit]);
        let end = rig.now + Span::from_secs(1);
        loop {
            while rig.step() {}
            ticks.extend(rig.paged.next_tick());
            let Some(at) = ticks.iter().copied().min().filter(|at| *at <= end) else { break };
            ticks.swap_remove(ticks.iter().position(|it| *it == at).expect("it is in the list"));
            flushes += 1;
            rig.now = at;
            rig.paged.tick(at);
        }
        rig.now = end;
        assert!(ticks.len() <= 2, "{version} writes, and these ticks are to come: {ticks:?}");
    }
    assert!(flushes >= 40, "each write had its flush: {flushes}");
}

/// What an earlier life of the disk has asked for comes to one that waits for something later.
#[test]
fn a_tick_of_an_earlier_life_starts_nothing() {
    let mut rig = Rig::new(16);
    rig.access(OBJECT, AccessKind::Nothing, 1);
    while rig.step() {}
    let due = rig.paged.next_tick().expect("the log is to be flushed");
    rig.now = due - Span::from_nanos(1);
    rig.paged.tick(rig.now);
    assert_eq!(rig.paged.next_tick(), None, "it is scheduled already");
    rig.now = due;
    rig.paged.tick(rig.now);
    rig.run();
    assert_eq!(rig.results(), [Ok(())]);
}
