//! Puts on a disk in memory: they end as a whole, or say so, or are given up and leave nothing that counts.

use super::*;
use crate::disk::Whole;
use loadline_device::{Kind, Outcome};
use loadline_store::Version;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Format, Protection, Ranges, format};

const PG: PgId = PgId::new(3);
const OBJECT: ObjectNo = ObjectNo(7);
const OTHER: ObjectNo = ObjectNo(8);
const LENGTH: u64 = 4 << 20;

/// A store with its disk.
struct Rig {
    paged: Paged,
    disk: Vec<u8>,
    now: Time,
    ended: Vec<(Done, Option<Answer>)>,
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
        let options = Options { cache: Bytes::from_mib(4), ..Options::default() };
        let bounds = WindowBounds { bytes: Bytes::from_mib(64), ops: 64 };
        let paged = Paged::new(options, bounds);
        let mut rig = Rig { paged, disk, now: Time::ZERO, ended: Vec::new() };
        rig.paged.open(rig.now, size);
        rig.run();
        rig.paged.phase = Phase::Open;
        rig.ended.clear();
        rig
    }

    /// Lets the next thing happen; false if there is none, but for what the clock brings.
    fn step(&mut self) -> bool {
        let completions = std::mem::take(&mut self.paged.out.completions);
        let is_some = !completions.is_empty();
        for completion in completions {
            self.ended.extend(self.paged.ended(self.now, completion));
        }
        let requests = self.paged.take_io();
        let moves = is_some || !requests.is_empty();
        for Io { id, request, mut data, .. } in requests {
            let from = request.offset as usize;
            let range = from..from + request.length.get() as usize;
            match request.kind {
                Kind::Read => data = self.disk[range].to_vec(),
                Kind::Write => self.disk[range].copy_from_slice(&data),
                Kind::Flush | Kind::Discard => {}
            }
            self.paged.at_device += 1;
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

    fn access(&mut self, object: ObjectNo, touch: Touch, version: u64) {
        self.paged.access(
            self.now,
            Access {
                pg: PG,
                object,
                offset: 0,
                length: 0,
                touch,
                version: Version(version),
                first: Vec::new(),
                edits: Vec::new(),
                class: ClassTag(1),
                token: Commit::Nothing,
            },
        );
    }

    /// Every fourth page of an object, in a hundred and more steps.
    fn put(&mut self, object: ObjectNo, version: u64) {
        let pages: Vec<u64> = (0..LENGTH / 4096).step_by(4).collect();
        let bytes = vec![version as u8; pages.len() * 4096];
        let data = pages.iter().map(|page| page * 4096..(page + 1) * 4096).collect();
        let data = Data::sparse(Ranges { data, zeros: Vec::new() }, bytes);
        let whole = Whole { label: SnapshotNo::HEAD, length: LENGTH, base: None, data };
        self.access(object, Touch::Put(whole), version);
    }

    /// How the accesses since the last call have ended.
    fn results(&mut self) -> Vec<Result<(), Failure>> {
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
    rig.access(OBJECT, Touch::ReadWhole { label: SnapshotNo::HEAD, base: None }, 0);
    rig.run();
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
        assert_eq!(results, [Err(Failure::NoSpace)]);
        assert_eq!(rig.version(ObjectNo(object)), Some(0));
        assert!(object > 0 && rig.version(ObjectNo(object - 1)) == Some(5));
        return;
    }
}
