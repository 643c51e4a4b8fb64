//! The benchmark of an OSD's own store, on a disk in memory: what it leaves behind is nothing, a full disk ends it without
//! ending the OSD, and a crash forgets it.

use crate::bench::{options, plan};
use loadline_base::{Bytes, Span, Time};
use loadline_device::{Outcome, Request, RequestKind};
use loadline_osd::{
    BenchShape, BenchStep, DeviceTerms, Directive, Effect, Effects, Envelope, Event, NoRoom,
    Notice, Osd, OsdId, OsdOptions, Pacing, Policy, PutEnd, Reply, Timer, WorkerRun,
};
use loadline_qos::SchedulerKind;
use loadline_store::WindowBounds;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{self, Classes, Format, Io, IoDone, Protection, format};
use std::collections::VecDeque;

const SIZE: Bytes = Bytes::from_mib(64);
/// What the disk takes for each request.
const SERVICE: Span = Span::from_micros(100);
pub(crate) const SHAPE: BenchShape =
    BenchShape { objects: 3, object_bytes: 4 << 20, writes: 200, block_bytes: 4096, seed: 7 };

/// An OSD with its disk, which serves one request at a time.
pub(crate) struct Rig {
    pub(crate) osd: Osd,
    now: Time,
    disk: Vec<u8>,
    pub(crate) line: VecDeque<(u32, Io)>,
    ended: Vec<Result<Span, NoRoom>>,
    timers: Vec<(Time, Timer)>,
    pub(crate) replies: Vec<Reply>,
    pub(crate) puts: Vec<PutEnd>,
    /// What other OSDs were sent.
    pub(crate) sent: Vec<Envelope>,
    /// Whether the disk reads nothing now.
    pub(crate) is_unreadable: bool,
    size: Bytes,
    /// What the disk was asked for.
    pub(crate) asked: Vec<Request>,
    /// What the owner of the map was told.
    pub(crate) told: Vec<Notice>,
    /// Items that had a turn in the queue.
    pub(crate) turns: u32,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        Rig::with(options().device, paged::Options::default().classes)
    }

    /// One whose requests go on these terms.
    pub(crate) fn with(device: DeviceTerms, classes: Classes) -> Rig {
        Rig::on_disk(SIZE, OsdOptions { device, ..options() }, classes)
    }

    /// One with a disk of this size, of which log and recovery area take 8 MiB.
    pub(crate) fn of_size(size: Bytes) -> Rig {
        Rig::on_disk(size, options(), paged::Options::default().classes)
    }

    /// One that holds back background work beside clients, and clients beside an image that is promised something.
    pub(crate) fn paced() -> Rig {
        let goal = Span::from_millis(1);
        let pacing = Some(Pacing { goal, part_max: Bytes::from_kib(512) });
        let classes = paged::Options::default().classes;
        Rig::on_disk(SIZE, OsdOptions { pacing, ..options() }, classes)
    }

    fn on_disk(size: Bytes, options: OsdOptions, classes: Classes) -> Rig {
        let shape = Format {
            store_id: 1,
            data_bytes: size,
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(4),
            segment_bytes: Bytes::from_kib(256),
            block_bytes: 4096,
            recovery_bytes: Bytes::from_mib(4),
            page: PageSize::new(4096).unwrap(),
        };
        let mut disk = vec![0; size.get() as usize];
        for (_, offset, bytes) in format(&shape, Protection::Checkpoint).unwrap() {
            disk[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        let store =
            paged::Options { cache: Bytes::from_mib(16), classes, ..paged::Options::default() };
        let policy = Policy { plan: plan("loadline", SchedulerKind::Mclock), seed: 1 };
        let window = WindowBounds { bytes: Bytes::from_kib(256), ops: 16 };
        let bounds = OsdOptions { window, ..options };
        let mut rig = Rig {
            osd: Osd::paged(OsdId::new(0), policy, bounds, store),
            now: Time::ZERO,
            disk,
            line: VecDeque::new(),
            ended: Vec::new(),
            timers: Vec::new(),
            replies: Vec::new(),
            puts: Vec::new(),
            sent: Vec::new(),
            is_unreadable: false,
            size,
            asked: Vec::new(),
            told: Vec::new(),
            turns: 0,
        };
        rig.open();
        rig
    }

    /// Opens the disk, and waits until it is.
    pub(crate) fn open(&mut self) {
        self.line.clear();
        self.step(Event::Directive(Directive::Open(self.size)));
        self.run_until(|rig| rig.osd.is_open());
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Lets the disk answer all that it was asked.
    pub(crate) fn settle(&mut self) {
        self.run_until(|rig| rig.line.is_empty());
    }

    /// Carries out what is asked but for processor time, which costs nothing here.
    fn take(&mut self, effects: Effects) -> Vec<WorkerRun> {
        let mut runs = Vec::new();
        self.told.extend(effects.owner);
        for effect in effects.world {
            match effect {
                Effect::Io(_, life, io) => {
                    self.asked.push(io.request);
                    self.line.push_back((life, io));
                }
                Effect::Benched(_, ended) => self.ended.push(ended),
                Effect::Timer(_, at, timer) => self.timers.push((at, timer)),
                Effect::Reply(reply) => self.replies.push(*reply),
                Effect::PutEnded(_, end) => self.puts.push(end),
                Effect::Send(envelope) => self.sent.push(*envelope),
                Effect::Compute(_, run, _) => {
                    self.turns += 1;
                    runs.push(run);
                }
                _ => {}
            }
        }
        runs
    }

    pub(crate) fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut effects = Effects::default();
            self.osd.step(self.now, event, &mut effects);
            events.extend(self.take(effects).into_iter().map(Event::Computed));
        }
    }

    /// Lets the disk answer, or time pass, until it is so.
    pub(crate) fn run_until(&mut self, is_so: impl Fn(&Rig) -> bool) {
        for steps in 0.. {
            if is_so(self) {
                return;
            }
            assert!(steps < 1_000_000, "it goes on for ever: {:?}", self.osd.unfinished());
            let Some((life, io)) = self.line.pop_front() else {
                let (due, timer) = self.next_timer();
                self.now = self.now.max(due);
                self.step(Event::Timer(timer));
                continue;
            };
            self.now += SERVICE;
            let done = self.serve(io);
            self.step(Event::IoDone(life, done));
        }
    }

    fn next_timer(&mut self) -> (Time, Timer) {
        let next = (0..self.timers.len()).min_by_key(|at| self.timers[*at].0);
        self.timers.remove(next.expect("something is to happen"))
    }

    fn serve(&mut self, io: Io) -> IoDone {
        let Io { id, request, mut data, .. } = io;
        if self.is_unreadable && request.kind == RequestKind::Read {
            return IoDone { id, outcome: Outcome::Failed, data: Vec::new() };
        }
        let range =
            request.offset as usize..request.offset as usize + request.length.get() as usize;
        match request.kind {
            RequestKind::Read => data = self.disk[range].to_vec(),
            RequestKind::Write => self.disk[range].copy_from_slice(&data),
            RequestKind::Flush | RequestKind::Discard => {}
        }
        IoDone { id, outcome: Outcome::Done, data }
    }

    pub(crate) fn bench(&mut self, shape: BenchShape, step: BenchStep) -> Result<Span, NoRoom> {
        self.step(Event::Bench(shape, step));
        self.run_until(|rig| !rig.ended.is_empty());
        self.ended.pop().expect("it has ended")
    }

    pub(crate) fn free(&self) -> u64 {
        self.osd.space().expect("the disk is open").free
    }
}

#[test]
fn it_takes_the_time_of_its_writes_and_leaves_nothing() {
    let mut rig = Rig::new();
    let before = rig.free();
    rig.bench(SHAPE, BenchStep::Fill).unwrap();
    // Three objects of 1024 pages, and what the tree needs for them.
    assert!(before - rig.free() >= 3 * 1024, "{before} {}", rig.free());
    let begun = rig.now;
    let took = rig.bench(SHAPE, BenchStep::Run).unwrap();
    assert_eq!(took, rig.now.since(begun), "from the first write to the last answer");
    assert!(took > Span::ZERO);
    rig.bench(SHAPE, BenchStep::Clear).unwrap();
    // A tree that has grown may keep a node or two.
    assert!(before - rig.free() <= 4, "{before} {}", rig.free());
    assert_eq!(rig.osd.unfinished(), None);
}

/// All that fills the window waits for room in the log, and only a checkpoint makes some. Its requests have their turn in
/// the queue, from which nothing is taken while the window is full: some of them go without a turn.
#[test]
fn a_window_full_of_what_waits_for_a_checkpoint_lets_the_checkpoint_go_on() {
    let mut rig = Rig::new();
    // Four times what the log holds.
    let long = BenchShape { writes: 4_000, ..SHAPE };
    rig.bench(long, BenchStep::Fill).unwrap();
    rig.bench(long, BenchStep::Run).unwrap();
    rig.settle();
    assert_eq!(rig.osd.unfinished(), None);
}

#[test]
fn a_full_disk_ends_it_and_not_the_osd() {
    let mut rig = Rig::new();
    let before = rig.free();
    let large = BenchShape { objects: BenchShape::OBJECTS_MAX, ..SHAPE };
    assert_eq!(rig.bench(large, BenchStep::Fill), Err(NoRoom));
    assert!(rig.osd.is_open());
    rig.bench(large, BenchStep::Clear).unwrap();
    assert!(before - rig.free() <= 4, "{before} {}", rig.free());
}

#[test]
fn a_crash_forgets_it_and_the_next_one_removes_what_it_left() {
    let mut rig = Rig::new();
    let before = rig.free();
    rig.bench(SHAPE, BenchStep::Fill).unwrap();
    rig.step(Event::Bench(SHAPE, BenchStep::Run));
    rig.step(Event::Directive(Directive::Crash));
    rig.line.clear();
    rig.step(Event::Directive(Directive::Open(SIZE)));
    rig.run_until(|rig| rig.osd.is_open());
    assert!(rig.ended.is_empty(), "nobody hears of it");
    assert!(rig.free() < before, "its objects are still there");
    rig.bench(SHAPE, BenchStep::Clear).unwrap();
    assert!(before - rig.free() <= 4, "{before} {}", rig.free());
}

/// The disk is opened again while requests of the life before are still with it. Their answers come before those of the new life's, some
/// under the same ids, and count for nothing.
#[test]
fn answers_of_an_earlier_life_are_nobodys() {
    let mut rig = Rig::new();
    rig.bench(SHAPE, BenchStep::Fill).unwrap();
    rig.step(Event::Bench(SHAPE, BenchStep::Run));
    let before = std::mem::take(&mut rig.line);
    rig.step(Event::Directive(Directive::Crash));
    rig.step(Event::Directive(Directive::Open(SIZE)));
    let ids = before.iter().chain(&rig.line).map(|(_, io)| io.id).collect::<Vec<_>>();
    assert!(ids.len() > before.len() && before[0].0 < rig.line[0].0, "two lives");
    for id in ids {
        let done = IoDone { id, outcome: Outcome::Failed, data: Vec::new() };
        rig.step(Event::IoDone(before[0].0, done));
    }
    rig.run_until(|rig| rig.osd.is_open());
    rig.bench(SHAPE, BenchStep::Clear).unwrap();
    assert_eq!(rig.osd.unfinished(), None);
}
