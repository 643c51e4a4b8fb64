//! The same node with its OSDs on several threads, as a machine's loops turn them: the owner of the map stands on the first with a rack
//! of its own, the other racks on threads of theirs, and what passes between them are batches. A history of ops, OSDs that die and come back, and ends of
//! the whole process is judged as the others are: what was acknowledged is there, and all copies are alike. Threads are not turned by a seed, so a
//! failure may take several runs to come again.

#![expect(clippy::disallowed_methods, reason = "what is tested is threads")]

use crate::judge::{
    BLOCK, BLOCKS, Block, Known, OBJECTS, OSDS, PGS, UnderWay, config, contents, fresh_disk,
    settings, stores, target,
};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::{OsdState, PoolSpec};
use loadline_node::{Delays, LifeNotice, Node, OtherRacks, Rack, RackEvent};
use loadline_osd::{Data, Effect, Event, OpId, OpKind, OsdId, OsdSet, Reply};
use loadline_sim::disk::{RequestDone, SimDisk};
use loadline_store::paged::{Io, IoDone, IoId, LogMode};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a thread without work listens before it lets the time leap.
const PATIENCE: Duration = Duration::from_micros(50);
/// The time leaps no further at once: another thread may be about to do something.
const LEAP: Span = Span::from_millis(1);

/// The time of all threads: it goes on with each look, and leaps where a thread has nothing to do.
#[derive(Default)]
struct SharedTime(AtomicU64);

impl SharedTime {
    fn now(&self) -> Time {
        Time::from_nanos(self.0.fetch_add(100, Ordering::SeqCst))
    }

    fn leap(&self, due: Time) {
        let furthest = self.now() + LEAP;
        self.0.fetch_max(due.min(furthest).nanos(), Ordering::SeqCst);
    }
}

/// What one thread sends another.
enum RackMail {
    Events(Vec<RackEvent>),
    Told(Vec<LifeNotice>),
    Done(Vec<Effect>),
    End,
}

/// The disks of a rack.
#[derive(Default)]
struct RackDisks(BTreeMap<OsdId, SimDisk>);

impl RackDisks {
    fn submit(&mut self, now: Time, osd: OsdId, life: u32, io: &Io, data: Vec<u8>) {
        let id = u64::from(life) << 32 | u64::from(io.id.0.get());
        self.of(osd).submit(now, id, &io.request, data);
    }

    fn of(&mut self, osd: OsdId) -> &mut SimDisk {
        self.0.get_mut(&osd).expect("it stands in this rack")
    }

    /// The next answer that is due.
    fn answer(&mut self, now: Time) -> Option<(OsdId, Event)> {
        self.0.iter_mut().find_map(|(osd, disk)| {
            let RequestDone { id, outcome, data, .. } = disk.finish(now)?;
            let id_of_store = IoId(loadline_base::SlotId::new(id as u32));
            let done = IoDone { id: id_of_store, outcome, data };
            Some((*osd, Event::IoDone((id >> 32) as u32, done)))
        })
    }

    fn next_done(&self) -> Time {
        self.0.values().filter_map(SimDisk::next_done).min().unwrap_or(Time::MAX)
    }
}

/// A rack with its disks; its thread lets go of it between two turns.
struct Seat {
    rack: Rack,
    disks: RackDisks,
}

struct HeldSeat<'a>(MutexGuard<'a, Seat>);

impl Deref for HeldSeat<'_> {
    type Target = Rack;

    fn deref(&self) -> &Rack {
        &self.0.rack
    }
}

impl DerefMut for HeldSeat<'_> {
    fn deref_mut(&mut self) -> &mut Rack {
        &mut self.0.rack
    }
}

/// Which rack each OSD stands in; the first rack is the owner's.
#[derive(Clone)]
struct Places {
    rack_of: BTreeMap<OsdId, usize>,
    others: Vec<Arc<Mutex<Seat>>>,
}

impl Places {
    fn seat(&self, osd: OsdId) -> MutexGuard<'_, Seat> {
        self.others[self.rack_of[&osd] - 1].lock().expect("its thread runs")
    }
}

impl OtherRacks for Places {
    fn hold(&self, osd: OsdId) -> Option<Box<dyn DerefMut<Target = Rack> + '_>> {
        (self.rack_of[&osd] > 0).then(|| Box::new(HeldSeat(self.seat(osd))) as _)
    }

    fn hold_all(&self) -> Vec<Box<dyn DerefMut<Target = Rack> + '_>> {
        let held = self.others.iter().map(|seat| HeldSeat(seat.lock().expect("its thread runs")));
        held.map(|seat| Box::new(seat) as _).collect()
    }
}

/// Where a thread sends what leaves its rack.
#[derive(Clone)]
struct Ways {
    rack_of: BTreeMap<OsdId, usize>,
    mailboxes: Vec<Sender<RackMail>>,
}

impl Ways {
    /// A thread that has ended hears nothing, as one of a process that has died.
    fn send(&self, to: usize, mail: RackMail) {
        let _ = self.mailboxes[to].send(mail);
    }

    /// One batch for each rack that something is for.
    fn send_events(&self, leaving: &mut Vec<RackEvent>) {
        let mut batches: BTreeMap<usize, Vec<RackEvent>> = BTreeMap::new();
        for (osd, event) in leaving.drain(..) {
            batches.entry(self.rack_of[&osd]).or_default().push((osd, event));
        }
        for (to, batch) in batches {
            self.send(to, RackMail::Events(batch));
        }
    }
}

/// Waits for mail as long as nothing is due, and takes all that is there. `None` when the end is told.
fn receive(mail: &Receiver<RackMail>, time: &SharedTime, due: Time) -> Option<Vec<RackMail>> {
    let mut taken = Vec::new();
    if due > time.now() {
        match mail.recv_timeout(PATIENCE) {
            Ok(first) => taken.push(first),
            Err(RecvTimeoutError::Timeout) => time.leap(due),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    taken.extend(mail.try_iter());
    (!taken.iter().any(|mail| matches!(mail, RackMail::End))).then_some(taken)
}

/// Turns a rack until the end is told.
fn turn_rack(seat: &Mutex<Seat>, mail: &Receiver<RackMail>, ways: &Ways, time: &SharedTime) {
    let mut due = Time::ZERO;
    while let Some(taken) = receive(mail, time, due) {
        let (now, mut seat) = (time.now(), seat.lock().expect("nobody else has failed"));
        let Seat { rack, disks } = &mut *seat;
        for mail in taken {
            let RackMail::Events(events) = mail else { unreachable!("it is for the owner") };
            events.into_iter().for_each(|event| rack.arrived(now, event));
        }
        while let Some((osd, event)) = disks.answer(now) {
            rack.happened(osd, event);
        }
        while rack.fire(now) {}
        let mut done = Vec::new();
        while let Some(effect) = rack.next(now) {
            match effect {
                Effect::Io(osd, life, mut io) => {
                    let data = std::mem::take(&mut io.data);
                    disks.submit(now, osd, life, &io, data);
                }
                effect => done.push(effect),
            }
        }
        let told = std::mem::take(rack.told());
        ways.send_events(rack.leaving());
        if !told.is_empty() {
            ways.send(0, RackMail::Told(told));
        }
        if !done.is_empty() {
            ways.send(0, RackMail::Done(done));
        }
        due = rack.next_timer().min(disks.next_done());
    }
}

/// A node whose racks stand on threads.
struct ThreadedNode {
    node: Node,
    disks: RackDisks,
    places: Places,
    ways: Ways,
    mail: Receiver<RackMail>,
    threads: Vec<JoinHandle<()>>,
    time: Arc<SharedTime>,
    replies: Vec<Reply>,
    /// OSDs whose disks are to be opened when nothing is in flight.
    opening: BTreeSet<OsdId>,
}

impl ThreadedNode {
    /// A node on these disks, on so many threads, that serves.
    fn start(disks: Vec<SimDisk>, threads: usize, time: Arc<SharedTime>) -> ThreadedNode {
        let config = config(&settings());
        let mut node = Node::on_disks(&config, stores(LogMode::Fsync), Delays::default());
        let rack_of: BTreeMap<OsdId, usize> =
            (0..OSDS as usize).map(|osd| (OsdId::from(osd), osd % threads)).collect();
        let mut on_racks: Vec<RackDisks> = (0..threads).map(|_| RackDisks::default()).collect();
        for (osd, disk) in disks.into_iter().enumerate() {
            on_racks[osd % threads].0.insert(OsdId::from(osd), disk);
        }
        let mut on_racks = on_racks.into_iter().enumerate();
        let (_, own) = on_racks.next().expect("the owner's thread has one");
        let (mailboxes, mut mails): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel()).unzip();
        let ways = Ways { rack_of: rack_of.clone(), mailboxes };
        let mut threads = Vec::new();
        let mut others = Vec::new();
        for ((at, disks), mail) in on_racks.zip(mails.drain(1..)) {
            let rack = node.rack().part(|osd| rack_of[&osd] == at);
            let seat = Arc::new(Mutex::new(Seat { rack, disks }));
            others.push(Arc::clone(&seat));
            let (ways, time) = (ways.clone(), Arc::clone(&time));
            threads.push(std::thread::spawn(move || turn_rack(&seat, &mail, &ways, &time)));
        }
        let places = Places { rack_of, others };
        node.look_elsewhere(Box::new(places.clone()));
        let mail = mails.pop().expect("the owner has a mailbox");
        let (replies, opening) = (Vec::new(), (0..OSDS).map(OsdId::new).collect());
        let disks = own;
        let mut started =
            ThreadedNode { node, disks, places, ways, mail, threads, time, replies, opening };
        started.run_until(|it| it.opening.is_empty() && !it.node.cluster().is_opening());
        let now = started.time.now();
        if started.node.cluster().is_new() {
            started.node.change(now, |cluster, fx| cluster.create(7, fx));
        } else {
            let begun = started.node.change(now, |cluster, fx| cluster.start(OsdSet::EMPTY, fx));
            begun.expect("the disks lead to a cluster");
            started.node.change(now, |cluster, fx| cluster.take_over(fx));
        }
        started.run_until(|it| it.node.cluster().is_serving());
        started
    }

    /// Waits for something to happen, and does what follows from it.
    fn turn(&mut self) {
        let due = self.node.next_timer().min(self.disks.next_done());
        let due = if self.node.is_settled() { due } else { Time::ZERO };
        let taken = receive(&self.mail, &self.time, due).expect("the end is told by this thread");
        let now = self.time.now();
        for mail in taken {
            match mail {
                RackMail::Events(events) => {
                    events.into_iter().for_each(|event| self.node.rack().arrived(now, event));
                }
                RackMail::Told(told) => told.into_iter().for_each(|it| self.node.heard(now, it)),
                RackMail::Done(done) => done.into_iter().for_each(|effect| self.done(effect)),
                RackMail::End => unreachable!("it ends no thread but the others"),
            }
        }
        while let Some((osd, event)) = self.disks.answer(now) {
            self.node.happened(osd, event);
        }
        while self.node.fire(now) {}
        self.open_what_rests(now);
        while let Some(effect) = self.node.next(now) {
            match effect {
                Effect::Io(osd, life, mut io) => {
                    let data = std::mem::take(&mut io.data);
                    self.disks.submit(now, osd, life, &io, data);
                }
                effect => self.done(effect),
            }
        }
        self.ways.send_events(self.node.leaving());
    }

    fn done(&mut self, effect: Effect) {
        let Effect::Reply(reply) = effect else { unreachable!("nothing else was asked for") };
        if self.node.cluster_mut().finish(reply.op).is_some() {
            self.replies.push(*reply);
        }
    }

    fn open_what_rests(&mut self, now: Time) {
        for osd in self.opening.clone() {
            let (disk_rests, bytes) = self.with_disk(osd, |disk| {
                let size = disk.spec().size;
                (disk.in_flight() == 0, size)
            });
            if disk_rests && !self.node.look_at(osd).has_disk() {
                self.opening.remove(&osd);
                self.node.change(now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
            }
        }
    }

    fn with_disk<T>(&mut self, osd: OsdId, asked: impl FnOnce(&mut SimDisk) -> T) -> T {
        match self.places.rack_of[&osd] {
            0 => asked(self.disks.of(osd)),
            _ => asked(self.places.seat(osd).disks.of(osd)),
        }
    }

    fn run_until(&mut self, mut is_so: impl FnMut(&mut ThreadedNode) -> bool) {
        let limit = self.time.now() + Span::from_secs(600);
        while !is_so(self) {
            self.turn();
            assert!(self.time.now() < limit, "it waits for ever: {}", self.state());
        }
    }

    fn state(&mut self) -> String {
        let osds = self.node.each_osd().map(|(osd, it)| format!("\n{osd} {:?}", it.unfinished()));
        let osds: String = osds.collect();
        let pgs = self.node.cluster().map().pgs().filter(|(_, state)| !state.clean);
        osds + &pgs.map(|(pg, state)| format!("\n{pg} {state:?}")).collect::<String>()
    }

    fn is_whole(&self) -> bool {
        let cluster = self.node.cluster();
        let serves = cluster.map().pgs().all(|(_, state)| state.ready);
        self.opening.is_empty() && cluster.is_clean() && serves && cluster.is_map_committed()
    }

    /// The process dies: the disks as they are then.
    fn kill(self, rng: &mut Rng) -> Vec<SimDisk> {
        let ThreadedNode { node, mut disks, places, ways, threads, .. } = self;
        (1..ways.mailboxes.len()).for_each(|to| ways.send(to, RackMail::End));
        threads.into_iter().for_each(|thread| thread.join().expect("it has run to its end"));
        drop(node);
        for seat in &places.others {
            disks.0.append(&mut seat.lock().expect("its thread has ended well").disks.0);
        }
        disks.0.values_mut().for_each(|disk| disk.kill(rng));
        disks.0.into_values().collect()
    }
}

/// A node on threads, and what its blocks may hold.
struct ThreadedHistory {
    rng: Rng,
    threads: usize,
    /// None between the end of a process and the next one.
    node: Option<ThreadedNode>,
    time: Arc<SharedTime>,
    known: BTreeMap<Block, Known>,
    under_way: BTreeMap<(u32, u32), UnderWay>,
    stamp: u64,
    acknowledged: u64,
}

impl ThreadedHistory {
    fn new(seed: u64, threads: usize) -> ThreadedHistory {
        let time = Arc::<SharedTime>::default();
        let disks = (0..OSDS).map(|osd| fresh_disk(seed << 8 | u64::from(osd + 1))).collect();
        let mut node = ThreadedNode::start(disks, threads, Arc::clone(&time));
        let object_bytes = u64::from(BLOCKS * BLOCK);
        let (name, recovery_priority) = ("p".to_owned(), 0);
        let spec = PoolSpec { name, pgs: PGS, copies: 3, object_bytes, recovery_priority };
        node.node.change(time.now(), |cluster, fx| cluster.create_pool(spec, fx));
        node.run_until(|it| it.is_whole());
        ThreadedHistory {
            rng: Rng::new(seed),
            threads,
            node: Some(node),
            time,
            known: BTreeMap::new(),
            under_way: BTreeMap::new(),
            stamp: 0,
            acknowledged: 0,
        }
    }

    fn node(&mut self) -> &mut ThreadedNode {
        self.node.as_mut().expect("it runs")
    }

    fn is_busy(&self, block: Block) -> bool {
        self.under_way.values().any(|op| op.blocks.iter().any(|(busy, _)| *busy == block))
    }

    /// Issues an op on blocks that no other op is about.
    fn issue(&mut self) {
        let (object, first) = (self.rng.below(OBJECTS), self.rng.below(u64::from(BLOCKS)) as u32);
        let count = 1 + self.rng.below(u64::from(BLOCKS - first).min(3)) as u32;
        let blocks = (first..first + count).map(|block| (object, block));
        if blocks.clone().any(|block| self.is_busy(block)) {
            return;
        }
        self.stamp += 1;
        let (kind, stamp) = match self.rng.below(10) {
            0..6 => (OpKind::Write, self.stamp),
            6 => (OpKind::Zero, 0),
            _ => (OpKind::Read, 0),
        };
        let bytes = match kind {
            OpKind::Write => {
                blocks.clone().flat_map(|(_, block)| contents(object, block, stamp)).collect()
            }
            _ => Vec::new(),
        };
        let blocks = blocks.map(|block| (block, stamp)).collect();
        self.send(kind, (object, first, count), bytes, blocks);
    }

    fn send(
        &mut self,
        kind: OpKind,
        (object, first, count): (u64, u32, u32),
        bytes: Vec<u8>,
        blocks: Vec<(Block, u64)>,
    ) {
        let target = target(kind, object, (first * BLOCK, count * BLOCK));
        let now = self.time.now();
        let node = &mut self.node().node;
        let (OpId { slot, number }, envelope) =
            node.cluster_mut().issue(now, &target, Data::new(bytes));
        if let Some(envelope) = envelope {
            node.send(envelope);
        }
        self.under_way.insert((slot.get(), number), UnderWay { kind, blocks });
    }

    fn turns(&mut self, turns: u64) {
        (0..turns).for_each(|_| self.node().turn());
        self.take_replies();
    }

    fn take_replies(&mut self) {
        for reply in std::mem::take(&mut self.node().replies) {
            let key = (reply.op.slot.get(), reply.op.number);
            let Some(UnderWay { kind, blocks }) = self.under_way.remove(&key) else { continue };
            let data = reply.result.expect("no disk is damaged").into_vec();
            for (at, (block, stamp)) in blocks.into_iter().enumerate() {
                let known = self.known.entry(block).or_default();
                if kind == OpKind::Read {
                    let from = (at * BLOCK as usize).min(data.len());
                    known.read(block, &data[from..(from + BLOCK as usize).min(data.len())], 0);
                } else {
                    known.acknowledged(stamp, 0);
                    self.acknowledged += 1;
                }
            }
        }
    }

    fn finish_ops(&mut self) {
        while !self.under_way.is_empty() {
            self.node().run_until(|it| !it.replies.is_empty());
            self.take_replies();
        }
    }

    /// An OSD dies as a process does, and comes back while ops go on.
    fn crash_osd(&mut self) {
        let osd = OsdId::new(self.rng.below(u64::from(OSDS)) as u32);
        let now = self.time.now();
        self.node().node.change(now, |cluster, fx| cluster.take_down(osd, fx));
        self.load();
        self.node().opening.insert(osd);
        self.load();
        self.node().run_until(|it| it.is_whole());
    }

    /// An OSD is out for a while: its groups move, and move back.
    fn move_osd(&mut self) {
        let osd = OsdId::new(self.rng.below(u64::from(OSDS)) as u32);
        for is_in in [false, true] {
            let now = self.time.now();
            let state = OsdState { up: true, is_in };
            self.node().node.change(now, |cluster, fx| cluster.set_osd(osd, state, fx));
            self.load();
        }
    }

    /// The whole process dies, and starts again on its disks.
    fn die(&mut self) {
        self.take_replies();
        let node = self.node.take().expect("it runs");
        let disks = node.kill(&mut self.rng);
        for UnderWay { kind, blocks } in std::mem::take(&mut self.under_way).into_values() {
            for (block, stamp) in blocks.into_iter().filter(|_| kind != OpKind::Read) {
                self.known.entry(block).or_default().may_hold(stamp);
            }
        }
        self.node = Some(ThreadedNode::start(disks, self.threads, Arc::clone(&self.time)));
    }

    fn load(&mut self) {
        for _ in 0..self.rng.below(60) {
            self.issue();
            let turns = self.rng.below(8);
            self.turns(turns);
        }
    }

    fn check(&mut self) {
        self.finish_ops();
        self.node().run_until(|it| it.is_whole());
        for object in 0..OBJECTS {
            let blocks = (0..BLOCKS).map(|block| ((object, block), 0)).collect();
            self.send(OpKind::Read, (object, 0, BLOCKS), Vec::new(), blocks);
        }
        self.finish_ops();
        self.node().run_until(|it| it.is_whole());
        let differing = self.node().node.copies_that_differ();
        assert!(differing.is_empty(), "copies differ: {differing:?}");
    }
}

#[test]
fn histories_on_threads_lose_nothing() {
    for (seed, threads) in [(1, 2), (2, 3), (3, 4)] {
        let mut history = ThreadedHistory::new(seed, threads);
        for _ in 0..10 {
            history.load();
            match history.rng.below(4) {
                0 => history.die(),
                1 => history.move_osd(),
                2 => history.crash_osd(),
                _ => history.check(),
            }
        }
        history.check();
        assert!(history.acknowledged > 300, "{} blocks", history.acknowledged);
        history.die();
        history.check();
    }
}
