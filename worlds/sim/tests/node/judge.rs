//! A node under a load, and the model that knows what each block may hold.

mod loss;

use loadline_base::{Bytes, Rng, Span, Time, WallTime};
use loadline_cluster::settings::{
    DriveLimits, Enforcement, LevelTarget as Level, Scope, Settings, SettingsChange,
};
use loadline_cluster::{Config, Placement, PoolId, PoolSpec, SyncOf, Target};
use loadline_device::cdl::{Descriptor, Limit, Limits, TimeoutPolicy as Ends, Unit};
use loadline_device::{ClassTag, Medium};
use loadline_node::Lateness;
use loadline_osd::{
    ClientId, Data, DiskFault, OpId, OpKind, OsdId, OsdOptions, OsdSet, Policy, ScrubKind,
    ScrubRecord, ScrubRequest,
};
use loadline_qos::{LOADLINE_PRESET, ServiceClass};
use loadline_sim::Sim;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_store::ObjectNo;
use loadline_store::WindowBounds;
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{self, Format, LogMode, Protection, format};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const OSDS: u32 = 4;
pub(crate) const OBJECTS: u64 = 24;
/// Blocks of an object: the objects are sixteen pages long, which is large enough for a write beside the log.
pub(crate) const BLOCKS: u32 = 16;
pub(crate) const BLOCK: u32 = 4096;
pub(crate) const PGS: u32 = 6;
const DISK: Bytes = Bytes::from_mib(24);
/// Log and recovery area, before the pages of a disk.
const LOG: Bytes = Bytes::from_mib(4);
const RECOVERY: Bytes = Bytes::from_mib(2);

/// A block of the pool.
pub(crate) type Block = (u64, u32);

/// What a block may hold: stamps of writes; 0 is zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The last write that was acknowledged, or read back.
    pub(crate) acked: u64,
    /// What it held before, since the last flush: a crash that loses what was not flushed may lead back to any of them. With how many flushes had
    /// begun when it held that last.
    unflushed: BTreeMap<u64, u32>,
    /// Writes without an answer since.
    maybe: BTreeSet<u64>,
}

/// A flush under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFlush {
    pub(crate) number: u32,
    /// How many had begun, with it.
    begun: u32,
}

/// An op under way.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    pub(crate) kind: OpKind,
    pub(crate) blocks: Vec<(Block, u64)>,
}

/// A node with its judge.
pub(crate) struct Judged {
    pub(crate) rng: Rng,
    pub(crate) node: Option<Sim>,
    pub(crate) down: BTreeSet<u32>,
    pub(crate) out: BTreeSet<u32>,
    /// What a crash may lose.
    mode: LogMode,
    /// How many of a hundred requests with a duration limit the disks end for time.
    ended_percent: u8,
    /// The longest that the map's owner and an OSD hear each other late; at once if it is zero.
    late: Span,
    pub(crate) known: BTreeMap<Block, Known>,
    busy: BTreeMap<Block, OpId>,
    under_way: BTreeMap<(u32, u32), UnderWay>,
    stamp: u64,
    pub(crate) acknowledged: u64,
    /// Flushes that have begun.
    flushes: u32,
    /// How often an operator had to say that an empty disk is to be filled.
    pub(crate) told_to_fill: u32,
    /// The OSDs that a kept map told of when the node died, and whose disks nothing has been done to since.
    told_of: OsdSet,
    /// Every stamp that was ever issued for a block.
    issued: BTreeMap<Block, BTreeSet<u64>>,
}

fn spec() -> SimDiskSpec {
    let timing = Timing {
        per_request: Span::from_micros(60),
        bytes_per_second: 1 << 30,
        flush: Span::from_micros(300),
        channels: 8,
    };
    SimDiskSpec { size: DISK, sector: 4096, write_cache: true, timing }
}

/// Where the pages of a disk begin.
pub(crate) fn first_page() -> u64 {
    (LOG.get() + RECOVERY.get()).next_multiple_of(4096)
}

/// A disk with an empty store.
pub(crate) fn fresh_disk(seed: u64) -> SimDisk {
    disk_of(DISK, seed)
}

fn format_of(size: Bytes, store_id: u64) -> Format {
    Format {
        store_id,
        data_bytes: size,
        log_device_bytes: None,
        log_bytes: LOG,
        segment_bytes: Bytes::from_kib(256),
        block_bytes: 4096,
        recovery_bytes: RECOVERY,
        page: PageSize::new(4096).expect("a page size"),
    }
}

/// The least cache of a store on a disk of this size.
pub(crate) fn least_cache(size: Bytes) -> Bytes {
    cache_least(&format_of(size, 1).layout().expect("it fits"))
}

/// One of this size.
pub(crate) fn disk_of(size: Bytes, seed: u64) -> SimDisk {
    // Zero is nobody's, and two seeds differ in their low bits.
    let shape = format_of(size, seed | 1 << 63);
    let mut disk = SimDisk::new(SimDiskSpec { size, ..spec() }, seed);
    for (_, offset, bytes) in format(&shape, Protection::Checkpoint).expect("the shape is sound") {
        disk.poke(offset, &bytes);
    }
    disk
}

pub(crate) fn config(settings: &Settings) -> Config {
    let first = OsdId::new(0);
    let options = settings.osd_options(first);
    let window = WindowBounds { ops: 32, ..options.window };
    Config {
        osds: OSDS,
        placement: Placement::Even,
        placement_seed: 3,
        policy: Policy { plan: settings.plan(first), seed: 1 },
        options: OsdOptions { threads_per_shard: 1, window, ..options },
    }
}

pub(crate) fn settings() -> Settings {
    let mut settings =
        Settings::new(LOADLINE_PRESET, &[Medium::Ssd; OSDS as usize], Enforcement::Refuse);
    let mut limits = Limits::default();
    let guideline = Limit { time: 1, policy: Ends::Abort };
    limits.descriptors[0] =
        Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.set_drive_limits(osd, DriveLimits { reads: limits, writes: limits });
    }
    let all = Level::Stored(Scope::Osds);
    let change = SettingsChange::set(all, "osd_async_recovery_min_cost", "3")
        .and_set(all, "osd_device_client_limit", "10 ms")
        .and_set(all, "osd_device_background_recovery_limit", "10 ms")
        .and_set(all, "osd_device_background_best_effort_limit", "10 ms");
    settings.apply(&change).expect("the option exists");
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.start(osd);
    }
    settings
}

/// A scrub of either kind, with repairs or without, as chance has it.
pub(crate) fn any_scrub(rng: &mut Rng) -> ScrubRequest {
    let kind = [ScrubKind::Shallow, ScrubKind::Deep][rng.below(2) as usize];
    ScrubRequest { kind, is_requested: true, repairs: rng.below(2) == 0 }
}

/// Asks for a scrub of every group; who cannot begin one now does not.
pub(crate) fn ask_for_scrubs(node: &mut Sim, request: ScrubRequest) {
    let pgs: Vec<_> = node.map().pgs().map(|(pg, _)| pg).collect();
    for pg in pgs {
        node.change(|cluster, fx| cluster.scrub(pg, request, fx));
    }
}

/// Whether a scrub of this kind that was asked for at a moment has ended.
pub(crate) fn is_scrubbed_since(record: &ScrubRecord, kind: ScrubKind, asked: Time) -> bool {
    let last = if kind == ScrubKind::Deep { record.last_deep } else { record.last };
    last.map(WallTime::unix_nanos) >= Some(asked.since(Time::ZERO).nanos())
}

/// Whether every copy is in its place, and the map tells so.
pub(crate) fn is_whole(node: &Sim) -> bool {
    node.is_clean() && node.is_map_committed()
}

/// Whether `osd replace` gives an OSD that is down another disk without being forced. The others have said what they have: what was under way when it
/// went may have lost pages on them because this disk had them.
pub(crate) fn may_be_replaced(node: &mut Sim, osd: OsdId) -> bool {
    while node.cluster().is_settling_without(OsdSet::one(osd)) && node.step() {}
    let cluster = node.cluster();
    let takes_changes = cluster.missing_holders() == OsdSet::EMPTY;
    takes_changes && cluster.may_hold_last_copy(osd).is_empty()
}

/// Makes everything durable that was answered.
pub(crate) fn sync(node: &mut Sim) {
    assert!(is_durable(node, SyncOf::Node), "nothing is lost");
}

/// The same. Whether everything could be made durable.
pub(crate) fn is_durable(node: &mut Sim, of: SyncOf) -> bool {
    let number = node.sync(of);
    loop {
        let mut ended = node.cluster().take_synced().into_iter();
        if let Some(ended) = ended.find(|ended| ended.number == number) {
            return ended.is_durable;
        }
        assert!(node.step(), "it ends");
    }
}

pub(crate) fn stores(mode: LogMode) -> paged::Options {
    let class = |class: ServiceClass| ClassTag(class as u8);
    paged::Options {
        log_mode: mode,
        cache: Bytes::from_mib(2),
        checkpoint_interval: Span::from_millis(40),
        classes: paged::Classes {
            log: class(ServiceClass::Immediate),
            checkpoint: class(ServiceClass::BestEffort),
            restart: class(ServiceClass::Immediate),
        },
        ..paged::Options::default()
    }
}

impl Judged {
    /// A new cluster with one pool of three copies, on disks that end so many of a hundred requests for time.
    pub(crate) fn new(seed: u64, mode: LogMode, ended_percent: u8) -> Judged {
        Judged::late(seed, mode, ended_percent, Span::ZERO)
    }

    /// The same, where the map's owner and the OSDs hear each other so late.
    pub(crate) fn late(seed: u64, mode: LogMode, ended_percent: u8, late: Span) -> Judged {
        Judged::begin(seed, mode, (ended_percent, late), 3)
    }

    /// The same with so many copies, on disks that end nothing for time.
    pub(crate) fn of_copies(seed: u64, mode: LogMode, copies: u32) -> Judged {
        Judged::begin(seed, mode, (0, Span::ZERO), copies)
    }

    fn begin(seed: u64, mode: LogMode, (ended_percent, late): (u8, Span), copies: u32) -> Judged {
        let mut judged = Judged {
            rng: Rng::new(seed),
            node: None,
            down: BTreeSet::new(),
            out: BTreeSet::new(),
            mode,
            ended_percent,
            late,
            known: BTreeMap::new(),
            busy: BTreeMap::new(),
            under_way: BTreeMap::new(),
            stamp: 0,
            acknowledged: 0,
            flushes: 0,
            told_to_fill: 0,
            told_of: OsdSet::EMPTY,
            issued: BTreeMap::new(),
        };
        let disks = (0..OSDS).map(|osd| judged.fresh_disk(seed ^ u64::from(osd + 1))).collect();
        judged.boot(Time::ZERO, disks);
        let spec = PoolSpec {
            name: "p".into(),
            pgs: PGS,
            copies,
            object_bytes: u64::from(BLOCKS * BLOCK),
            recovery_priority: 0,
        };
        judged.node().create_pool(spec);
        let created = judged.node().wait_until(|node| node.is_map_committed());
        assert!(created, "the pool is there");
        judged
    }

    /// A disk with an empty store.
    pub(crate) fn fresh_disk(&self, seed: u64) -> SimDisk {
        let mut disk = fresh_disk(seed);
        disk.end_over_limit(self.ended_percent);
        disk
    }

    pub(crate) fn node(&mut self) -> &mut Sim {
        self.node.as_mut().expect("the node runs")
    }

    /// Starts the node on these disks. All of them are opened, so nobody is down any more.
    pub(crate) fn boot(&mut self, now: Time, disks: Vec<SimDisk>) {
        let (config, stores) = (config(&settings()), stores(self.mode));
        let node = match self.late {
            Span::ZERO => Sim::start(now, &config, stores, disks),
            most => {
                let lateness = Lateness { seed: self.rng.next_u64(), most };
                Sim::start_late(now, &config, stores, disks, lateness)
            }
        };
        self.node = Some(node.unwrap_or_else(|(error, _)| panic!("no start: {error}")));
        self.down.clear();
        self.node().open_again();
        // Replaced, and then the node died before the map told which disk that is: the operator says it once more.
        let told_of = std::mem::take(&mut self.told_of);
        for osd in (0..OSDS).map(OsdId::new) {
            if self.node().cluster().fault(osd) == Some(DiskFault::Empty) {
                assert!(!told_of.contains(osd), "{osd} had come, and its disk is empty");
                self.told_to_fill += 1;
                self.node().cluster().expect_new_disk(osd);
                self.node().open(osd);
            }
        }
    }

    /// Makes everything durable that was acknowledged.
    pub(crate) fn flush(&mut self) {
        self.finish_ops();
        if is_durable(self.node(), SyncOf::Node) {
            self.known.values_mut().for_each(|known| known.unflushed.clear());
        }
    }

    /// Begins to make durable what was acknowledged until now, whoever is down.
    pub(crate) fn begin_flush(&mut self, of: SyncOf) -> OpenFlush {
        self.take_replies();
        self.flushes += 1;
        OpenFlush { number: self.node().sync(of), begun: self.flushes }
    }

    /// That has ended. If everything is durable, what a block held last before the flush began is gone for good.
    pub(crate) fn end_flush(&mut self, flush: OpenFlush, is_durable: bool) {
        for known in self.known.values_mut() {
            if is_durable {
                known.unflushed.retain(|_, begun| *begun >= flush.begun);
            } else {
                // Who was told that it may be lost hears it once: that the next one is durable says nothing of these.
                known.maybe.extend(std::mem::take(&mut known.unflushed).into_keys());
            }
        }
        self.take_replies();
    }

    /// OSDs that have stopped by themselves are down as if somebody had taken them down.
    pub(crate) fn find_stopped(&mut self) {
        for osd in 0..OSDS {
            if self.node().cluster().fault(OsdId::new(osd)).is_some() {
                self.down.insert(osd);
            }
        }
    }

    /// The OSDs that are down come back.
    pub(crate) fn open_all(&mut self) {
        for osd in std::mem::take(&mut self.down) {
            self.node().open(OsdId::new(osd));
        }
    }

    /// An OSD's process dies.
    pub(crate) fn take_down(&mut self, osd: OsdId) {
        self.node().take_down(osd);
        while !self.node().is_closed(osd) {
            self.steps(1);
        }
        self.lose(false);
    }

    /// What a crash may take away, by the log mode's promise.
    fn lose(&mut self, with_power: bool) {
        let loses = match self.mode {
            LogMode::Fsync => false,
            LogMode::LogOnly => with_power,
            LogMode::Background | LogMode::None => true,
        };
        for known in self.known.values_mut().filter(|_| loses) {
            known.maybe.extend(known.unflushed.keys());
        }
    }

    /// Dies, perhaps with the power, and starts again. What had no answer may have happened.
    pub(crate) fn crash(&mut self, power: Option<CutStyle>) {
        if self.node().is_map_committed() {
            let cluster = self.node().cluster();
            let up = |osd: &OsdId| cluster.map().osds()[*osd].up;
            self.told_of = cluster.map().osds().ids().filter(up).collect();
        }
        self.crash_and(power, |_, _| {});
    }

    /// The same, with something done to the disks before the start.
    pub(crate) fn crash_and(
        &mut self,
        power: Option<CutStyle>,
        change: impl FnOnce(&mut Vec<SimDisk>, &mut Rng),
    ) {
        self.take_replies();
        let node = self.node.take().expect("the node runs");
        let now = node.now();
        let mut disks = node.crash(power, &mut self.rng);
        change(&mut disks, &mut self.rng);
        self.forget_under_way();
        self.lose(power.is_some());
        self.boot(now, disks);
    }

    fn forget_under_way(&mut self) {
        for op in std::mem::take(&mut self.under_way).into_values() {
            for (block, stamp) in op.blocks.iter().filter(|_| op.kind != OpKind::Read) {
                self.known.entry(*block).or_default().may_hold(*stamp);
            }
        }
        self.busy.clear();
    }

    /// Issues a random op on blocks that nobody else touches at the time.
    pub(crate) fn issue(&mut self) {
        let object = self.rng.below(OBJECTS);
        let first = self.rng.below(u64::from(BLOCKS)) as u32;
        let most = u64::from(BLOCKS - first);
        let count = 1 + if self.rng.below(4) == 0 { self.rng.below(most) as u32 } else { 0 };
        let blocks: Vec<Block> = (first..first + count).map(|block| (object, block)).collect();
        if blocks.iter().any(|block| self.busy.contains_key(block)) {
            return;
        }
        let kind = match self.rng.below(10) {
            0..5 => OpKind::Write,
            5 => OpKind::Zero,
            _ => OpKind::Read,
        };
        self.stamp += 1;
        let stamp = if kind == OpKind::Zero { 0 } else { self.stamp };
        let mut bytes = Vec::new();
        if kind == OpKind::Write {
            for (_, block) in &blocks {
                bytes.extend(contents(object, *block, stamp));
            }
        }
        for block in blocks.iter().filter(|_| kind != OpKind::Read) {
            self.issued.entry(*block).or_default().insert(stamp);
        }
        let client = ClientId::new(self.rng.below(3) as u32);
        let range = (first * BLOCK, count * BLOCK);
        let target = Target { client, ..target(kind, object, range) };
        let id = self.node().issue(&target, Data::new(bytes));
        for block in &blocks {
            self.busy.insert(*block, id);
        }
        let blocks = blocks.into_iter().map(|block| (block, stamp)).collect();
        self.under_way.insert((id.slot.get(), id.number), UnderWay { kind, blocks });
        self.take_replies();
    }

    /// Looks at what has been answered.
    pub(crate) fn take_replies(&mut self) {
        for reply in std::mem::take(&mut self.node().workload_mut().replies) {
            let key = (reply.op.slot.get(), reply.op.number);
            // A second reply to an op that was sent again.
            let Some(op) = self.under_way.remove(&key) else { continue };
            let data = reply.result.expect("no disk of this test is damaged").into_vec();
            for (at, (block, stamp)) in op.blocks.iter().enumerate() {
                self.busy.remove(block);
                let known = self.known.entry(*block).or_default();
                if op.kind == OpKind::Read {
                    let from = (at * BLOCK as usize).min(data.len());
                    let to = (from + BLOCK as usize).min(data.len());
                    known.read(*block, &data[from..to], self.flushes);
                } else {
                    known.acknowledged(*stamp, self.flushes);
                    self.acknowledged += 1;
                }
            }
        }
    }

    pub(crate) fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            if !self.node().step() {
                break;
            }
        }
        self.take_replies();
    }

    /// Ends the load and lets everything heal; then every block is read, and copies must be alike.
    pub(crate) fn settle_and_check(&mut self) {
        self.open_all();
        self.out.clear();
        // Those of the map: that one is in again may have been forgotten with a map that was on no disk yet.
        let osds = self.node().cluster().map().osds();
        let out: Vec<OsdId> =
            osds.iter().filter(|(_, state)| !state.is_in).map(|(osd, _)| osd).collect();
        for osd in out {
            self.node().set_in(osd, true);
        }
        self.heal();
        self.finish_ops();
        self.read_everything();
        let differing = self.node().copies_that_differ();
        assert!(differing.is_empty(), "copies differ: {differing:?}");
    }

    /// Waits until every copy is where it should be. A node that waits for ever still has its timers, so there is a limit.
    fn heal(&mut self) {
        let limit = self.node().now() + Span::from_secs(600);
        self.node().wait_until(|node| is_whole(node) || node.now() > limit);
        assert!(is_whole(self.node()), "everything heals: {}", self.state());
    }

    /// Waits until every op has its answer.
    pub(crate) fn finish_ops(&mut self) {
        let limit = self.node().now() + Span::from_secs(30);
        while !self.under_way.is_empty() && self.node().now() < limit && self.node().step() {
            self.take_replies();
        }
        assert!(self.under_way.is_empty(), "every op is answered: {}", self.state());
    }

    /// What keeps the node from being clean.
    pub(crate) fn state(&mut self) -> String {
        let node = self.node();
        let held = node.cluster().held_writes();
        let mut text = format!("committed: {}, {held} writes are held", node.is_map_committed());
        let osds: Vec<OsdId> = node.cluster().map().osds().ids().collect();
        for osd in osds {
            let unfinished = node.osd(osd).unfinished();
            let state = node.cluster().map().osds()[osd];
            let fault = node.cluster().fault(osd);
            let disk = node.waits_for_disk(osd);
            text += &format!("\n{osd} {state:?} {fault:?} {unfinished:?} {disk:?}");
        }
        for (pg, state) in node.cluster().map().pgs().filter(|(_, state)| !state.clean) {
            text += &format!("\n{pg} {state:?}");
        }
        text
    }

    /// Reads every block, then again from other copies.
    fn read_everything(&mut self) {
        (0..OBJECTS).for_each(|object| self.read_object(object));
        if self.node().map().pools()[&PoolId::new(0)].spec.copies == 1 {
            return;
        }
        let osd = OsdId::new(self.rng.below(u64::from(OSDS)) as u32);
        self.take_down(osd);
        (0..OBJECTS).for_each(|object| self.read_object(object));
        self.node().open(osd);
        self.heal();
    }

    fn read_object(&mut self, object: u64) {
        let target = target(OpKind::Read, object, (0, BLOCKS * BLOCK));
        let id = self.node().issue(&target, Data::NONE);
        let blocks = (0..BLOCKS).map(|block| ((object, block), 0)).collect();
        self.under_way.insert((id.slot.get(), id.number), UnderWay { kind: OpKind::Read, blocks });
        self.node().wait_until(|node| !node.workload().replies.is_empty());
        self.take_replies();
    }
}

/// An op of the first client on the first pool, on so many bytes from a place on.
pub(crate) fn target(kind: OpKind, object: u64, (offset, length): (u32, u32)) -> Target {
    let (client, pool, object) = (ClientId::new(0), PoolId::new(0), ObjectNo(object));
    Target { client, kind, traced: false, background: false, pool, object, offset, length }
}

impl Known {
    /// The block was read when so many flushes had begun: it must hold something that it may hold, and does so from now on.
    pub(crate) fn read(&mut self, block: Block, bytes: &[u8], flushes: u32) {
        let is = |stamp: u64| match stamp {
            0 => bytes.iter().all(|byte| *byte == 0),
            stamp => bytes == contents(block.0, block.1, stamp),
        };
        let candidates = [self.acked].into_iter().chain(self.maybe.iter().copied());
        let found = candidates.into_iter().find(|stamp| is(*stamp));
        let Some(found) = found else {
            let head = u64::from_le_bytes(bytes.get(..8).unwrap_or(&[0; 8]).try_into().expect("8"));
            panic!("block {block:?} holds stamp {head}, and may hold {self:?}");
        };
        self.acknowledged(found, flushes);
    }

    /// A write without an answer may have happened.
    pub(crate) fn may_hold(&mut self, stamp: u64) {
        self.maybe.insert(stamp);
    }

    /// It holds this, and no longer what it might have held when so many flushes had begun.
    pub(crate) fn acknowledged(&mut self, stamp: u64, flushes: u32) {
        let held = std::mem::take(&mut self.maybe).into_iter().chain([self.acked]);
        self.unflushed.extend(held.map(|stamp| (stamp, flushes)));
        self.acked = stamp;
    }
}

/// What a write puts into a block: its stamp first, then what only this block and stamp have.
pub(crate) fn contents(object: u64, block: u32, stamp: u64) -> Vec<u8> {
    let mut bytes = stamp.to_le_bytes().to_vec();
    let seed = stamp ^ object << 40 ^ u64::from(block) << 32;
    bytes.extend(paged::api::pattern(seed, 0, u64::from(BLOCK) - 8));
    bytes
}
