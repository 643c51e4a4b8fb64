//! A node with images, and whole copies of what each image and each snapshot must read as.

use crate::judge::{OSDS, config, fresh_disk, is_whole, may_be_replaced, settings, stores};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::images::{JobId, OBJECT_BYTES_MIN, View, split};
use loadline_cluster::{PoolId, PoolSpec, Target};
use loadline_node::{JobOp, Node};
use loadline_osd::{ClientId, Data, DiskFault, OpId, OpKind, OsdId, PgId, SnapshotNo};
use loadline_sim::Sim;
use loadline_sim::disk::{CutStyle, SimDisk};
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a cell; an object has 16.
pub(super) const CELL: u64 = 4096;
pub(super) const POOL: PoolId = PoolId::new(0);
/// The family of the objects that fill the disks: no image has it.
const FILLING: u64 = 60_000;
/// When nothing has been answered for so long, nothing will be: it is longer than any pause of recovery. OSDs that only look whether a
/// scrub is due go on for ever.
const PATIENCE: Span = Span::from_secs(60);

/// What an op was for.
enum UnderWay {
    /// A part of a write or of zeros.
    Update,
    /// A part of a read, and where its bytes belong.
    Read(u64),
    /// Where a part holds data: its place and length.
    Ranges(u64, u32),
    /// A part of a job.
    Job,
    /// A write or a removal that nothing is concluded from, of this block of what fills the disks.
    Filling(u64),
}

/// An op as it was issued.
struct Issued {
    what: UnderWay,
    target: Target,
    data: Data,
}

/// A node with its judge.
pub(super) struct Judged {
    pub(super) rng: Rng,
    node: Option<Sim>,
    mode: LogMode,
    pub(super) down: Option<OsdId>,
    /// Each cell of each image, and of each snapshot under `image@snapshot`: the stamp of its last write, 0 for zeros.
    pub(super) copies: BTreeMap<String, Vec<u64>>,
    /// Cells of images under a write, as they will be.
    writing: BTreeMap<String, Vec<u64>>,
    under_way: BTreeMap<(u32, u32), Issued>,
    /// Whether disks may fail to read for a while. Who is refused something then asks again when they read.
    pub(super) has_trouble: bool,
    /// Ops that were refused: how many, and those that are to be asked again.
    pub(super) refused: u64,
    again: Vec<Issued>,
    /// The job of which a part is under way, the block after that part, and its ops without an answer.
    job: Option<(JobId, u64, usize)>,
    bytes: Vec<u8>,
    /// Whether each cell of what is read holds data, as the node says.
    held: Vec<bool>,
    stamp: u64,
    /// Blocks of what fills the disks that may be there.
    filled: BTreeSet<u64>,
    /// When the node last looked how full its disks are, in tests that fill them.
    looked: Option<Time>,
    /// How often an OSD had found no room for what it owes, and had its disk opened again.
    pub(super) stood_still: u64,
    /// Steps since the last load.
    waited: u32,
    /// When something was answered last, or begun.
    heard: Time,
}

fn key(id: OpId) -> (u32, u32) {
    (id.slot.get(), id.number)
}

fn read_of(view: &View) -> OpKind {
    match view.read_at.0 {
        0 => OpKind::Read,
        snapshot => OpKind::ReadAt(SnapshotNo(snapshot)),
    }
}

pub(super) fn contents(stamp: u64) -> Vec<u8> {
    match stamp {
        0 => vec![0; CELL as usize],
        _ => stamp.to_le_bytes().repeat(CELL as usize / 8),
    }
}

impl Judged {
    pub(super) fn new(seed: u64) -> Judged {
        Judged::with_copies(seed, 3)
    }

    /// With a pool of so many copies.
    pub(super) fn with_copies(seed: u64, copies: u32) -> Judged {
        Judged::in_mode(seed, copies, LogMode::LogOnly)
    }

    /// On stores that promise so much.
    pub(super) fn in_mode(seed: u64, copies: u32, mode: LogMode) -> Judged {
        let mut judged = Judged {
            rng: Rng::new(seed),
            node: None,
            mode,
            down: None,
            copies: BTreeMap::new(),
            writing: BTreeMap::new(),
            under_way: BTreeMap::new(),
            has_trouble: false,
            refused: 0,
            again: Vec::new(),
            job: None,
            bytes: Vec::new(),
            held: Vec::new(),
            stamp: 0,
            filled: BTreeSet::new(),
            looked: None,
            stood_still: 0,
            waited: 0,
            heard: Time::ZERO,
        };
        let disks = (0..OSDS).map(|osd| fresh_disk(seed ^ u64::from(osd + 1))).collect();
        judged.boot(Time::ZERO, disks);
        let (name, pgs) = ("p".into(), 4);
        let spec =
            PoolSpec { name, pgs, copies, object_bytes: OBJECT_BYTES_MIN, recovery_priority: 0 };
        judged.node().create_pool(spec);
        judged.commit();
        judged
    }

    fn boot(&mut self, now: Time, disks: Vec<SimDisk>) {
        let node = Sim::start(now, &config(&settings()), stores(self.mode), disks);
        self.node = Some(node.unwrap_or_else(|(error, _)| panic!("no start: {error}")));
        self.down = None;
        // A disk that replaced another has died before it knew whose it is; an operator says it again.
        for osd in (0..OSDS).map(OsdId::new) {
            if self.node().cluster().fault(osd) == Some(DiskFault::Empty) {
                self.node().cluster().expect_new_disk(osd);
                self.node().open(osd);
            }
        }
    }

    pub(super) fn node(&mut self) -> &mut Sim {
        self.node.as_mut().expect("the node runs")
    }

    /// Waits until every change of the map is kept.
    pub(super) fn commit(&mut self) {
        while !self.node().is_map_committed() {
            self.go_on();
        }
    }

    /// Writes, zeros and jobs, without waiting for their ends.
    pub(super) fn load(&mut self) {
        self.waited = 0;
        self.heard = self.node().now();
        for _ in 0..self.rng.below(4) {
            let name = self.name();
            if self.copies.contains_key(&name) && !self.writing.contains_key(&name) {
                self.load_image(&name);
            }
            if self.rng.below(3) == 0 {
                self.work();
            }
            let steps = self.rng.below(30);
            self.steps(steps);
        }
    }

    pub(super) fn load_image(&mut self, name: &str) {
        let cells = self.copies[name].len() as u64;
        let from = self.rng.below(cells);
        let most = cells - from;
        let most = if self.rng.below(3) == 0 { most } else { most.min(4) };
        let count = 1 + self.rng.below(most);
        let zero = self.rng.below(4) == 0;
        self.update(name, from, count, zero);
    }

    /// Writes or zeroes cells of an image, without waiting for the end.
    pub(super) fn update(&mut self, name: &str, from: u64, count: u64, zero: bool) {
        let view = self.view(name);
        let mut cells = self.copies[name].clone();
        let (kind, mut data) = (if zero { OpKind::Zero } else { OpKind::Write }, Vec::new());
        for cell in from..from + count {
            self.stamp += 1;
            let stamp = if zero { 0 } else { self.stamp };
            cells[cell as usize] = stamp;
            data.extend(contents(stamp));
        }
        let range = (from * CELL, count * CELL);
        let pieces = match zero {
            true => self.node().node_mut().pieces_with_data(&view, range),
            false => split(&view, range.0, range.1).collect(),
        };
        for piece in pieces {
            let at = piece.at as usize;
            let data = match zero {
                true => Data::NONE,
                false => Data::new(data[at..at + piece.length as usize].to_vec()),
            };
            let range = (piece.offset, piece.length);
            self.issue(UnderWay::Update, kind, piece.object, range, data);
        }
        self.writing.insert(name.to_owned(), cells);
    }

    fn issue(
        &mut self,
        what: UnderWay,
        kind: OpKind,
        object: ObjectNo,
        (offset, length): (u32, u32),
        data: Data,
    ) {
        let target = target(kind, object, (offset, length));
        self.issue_it(Issued { what, target, data });
        self.take_replies();
    }

    /// Whether a write to a part of an image is refused.
    pub(super) fn is_refused(&mut self, name: &str, offset: u64, bytes: Vec<u8>) -> bool {
        let range = (offset, bytes.len() as u64);
        self.is_answered_by_error(name, OpKind::Write, range, Data::new(bytes))
    }

    /// Whether a read of a cell of an image or a snapshot is refused.
    pub(super) fn is_cell_refused(&mut self, name: &str, cell: u64) -> bool {
        let kind = read_of(&self.view(name));
        self.is_answered_by_error(name, kind, (cell * CELL, CELL), Data::NONE)
    }

    /// Asks for a cell of an image or a snapshot, and concludes nothing from the answer.
    pub(super) fn begin_to_read_cell(&mut self, name: &str, cell: u64) {
        let kind = read_of(&self.view(name));
        self.begin(name, kind, (cell * CELL, CELL), Data::NONE);
    }

    fn begin(
        &mut self,
        name: &str,
        kind: OpKind,
        (offset, length): (u64, u64),
        data: Data,
    ) -> OpId {
        let view = self.view(name);
        let piece = split(&view, offset, length).next().expect("it is in the image");
        let target = target(kind, piece.object, (piece.offset, piece.length));
        self.node().issue(&target, data)
    }

    fn is_answered_by_error(
        &mut self,
        name: &str,
        kind: OpKind,
        range: (u64, u64),
        data: Data,
    ) -> bool {
        let id = self.begin(name, kind, range, data);
        let is_answered = |node: &Sim| !node.workload().replies.is_empty();
        assert!(self.node().wait_until(is_answered), "it is answered");
        let replies = std::mem::take(&mut self.node().workload_mut().replies);
        let [reply] = &replies[..] else { panic!("one op was under way: {replies:?}") };
        assert_eq!(reply.op, id);
        reply.result.is_err()
    }

    fn issue_it(&mut self, op: Issued) {
        let id = self.node().issue(&op.target, op.data.clone());
        self.under_way.insert(key(id), op);
    }

    /// Begins the next part of a job, unless one is under way.
    pub(super) fn work(&mut self) {
        if self.job.is_some() {
            return;
        }
        let Some(job) = self.node().cluster().due_image_job(POOL, |_| true).copied() else {
            return;
        };
        let (ops, next) = self.node().node_mut().part_of_job(&job);
        self.job = Some((job.id, next, ops.len()));
        for JobOp { kind, object, offset, length } in ops {
            self.issue(UnderWay::Job, kind, object, (offset, length), Data::NONE);
        }
        self.end_part();
    }

    /// Reports the part of a job that is under way, if all of it is done.
    fn end_part(&mut self) {
        if let Some((id, next, 0)) = self.job {
            self.job = None;
            self.node().job_advanced(id, next);
        }
    }

    pub(super) fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            self.node().step();
            self.look_for_room();
        }
        self.take_replies();
    }

    /// Writes objects of no image until a write waits for room, or so many have found some.
    pub(super) fn fill(&mut self, most: usize) {
        let now = self.node().now();
        self.looked.get_or_insert(now);
        for block in 0..most as u64 {
            self.filled.insert(block);
            let data =
                Data::new(contents(block + 1).repeat(OBJECT_BYTES_MIN as usize / CELL as usize));
            self.issue_filling(OpKind::Write, block, data);
            let limit = self.node().now() + Span::from_millis(200);
            while self.is_filling(block) && self.node().now() < limit {
                self.steps(1);
            }
            if self.is_filling(block) {
                break;
            }
        }
    }

    fn issue_filling(&mut self, kind: OpKind, block: u64, data: Data) {
        let object = ObjectNo(FILLING << 48 | block);
        let length = if kind == OpKind::Write { OBJECT_BYTES_MIN as u32 } else { 0 };
        self.issue(UnderWay::Filling(block), kind, object, (0, length), data);
    }

    fn is_filling(&self, block: u64) -> bool {
        self.under_way.values().any(|op| matches!(op.what, UnderWay::Filling(it) if it == block))
    }

    /// Begins to remove what fills the disks, but for what still waits to be written. The answer is whether there was anything.
    pub(super) fn make_room(&mut self) -> bool {
        let idle: Vec<u64> =
            self.filled.iter().copied().filter(|block| !self.is_filling(*block)).collect();
        for block in &idle {
            self.filled.remove(block);
            self.issue_filling(OpKind::Purge, *block, Data::NONE);
        }
        !idle.is_empty()
    }

    /// What a node does every second, in tests that fill its disks.
    fn look_for_room(&mut self) {
        let now = self.node().now();
        if self.looked.is_some_and(|looked| now.since(looked) >= Span::from_secs(1)) {
            self.looked = Some(now);
            self.node().check_fullness();
            let osds = (0..OSDS).map(OsdId::new);
            let is_full = |osd: &OsdId| self.node().cluster().fault(*osd) == Some(DiskFault::Full);
            self.stood_still += osds.filter(is_full).count() as u64;
            self.node().open_again();
        }
    }

    /// An image is about to be removed, with what is written there.
    pub(super) fn forget(&mut self, name: &str) {
        self.copies.remove(name);
        self.writing.remove(name);
    }

    /// Lets the next thing happen. When nothing ever will, what is needed is on the OSD that is down.
    pub(super) fn go_on(&mut self) {
        if !self.again.is_empty() {
            // What was looked for in vain is not looked for again at once.
            let later = self.node().now() + PATIENCE;
            self.node().run_until(later);
            self.take_replies();
            let again = std::mem::take(&mut self.again);
            again.into_iter().for_each(|op| self.issue_it(op));
        }
        self.waited += 1;
        assert!(self.waited < 1_000_000, "it goes on for ever: {}", self.state());
        let goes_on = self.node().step();
        self.look_for_room();
        let now = self.node().now();
        if now.since(self.heard) > PATIENCE && self.make_room() {
            (self.heard, self.waited) = (now, 0);
        }
        if !goes_on || now.since(self.heard) > PATIENCE {
            assert!(goes_on || self.down.is_some(), "nothing goes on: {}", self.state());
            let helps = self.has_trouble || self.down.is_some();
            assert!(
                helps || now.since(self.heard) < PATIENCE * 10,
                "nothing is answered: {}",
                self.state()
            );
            self.open_what_is_down();
            self.end_trouble();
            self.look();
            self.heard = if helps { now } else { self.heard };
        }
        self.take_replies();
    }

    fn take_replies(&mut self) {
        for (issued, _) in self.node().cluster().take_displaced() {
            let op = self.under_way.remove(&key(issued.op.id)).expect("it had no reply");
            if let UnderWay::Job = op.what {
                // The part is none that was done.
                let (_, next, left) = self.job.as_mut().expect("a part of it is under way");
                (*next, *left) = (0, *left - 1);
                self.end_part();
            }
        }
        for reply in std::mem::take(&mut self.node().workload_mut().replies) {
            // A second reply to an op that was sent again.
            let Some(op) = self.under_way.remove(&key(reply.op)) else { continue };
            self.heard = reply.replied;
            let Ok(data) = reply.result else {
                let is_excused = self.has_trouble || !self.again.is_empty();
                assert!(is_excused, "no disk of this test is damaged");
                self.refused += 1;
                self.end_trouble();
                self.again.push(op);
                continue;
            };
            match op.what {
                UnderWay::Update | UnderWay::Filling(_) => {}
                UnderWay::Ranges(at, offset) => {
                    for range in &data.ranges().expect("it was asked for").data {
                        let from = (at + range.start - u64::from(offset)) / CELL;
                        let count = (range.end - range.start).div_ceil(CELL);
                        self.held[from as usize..(from + count) as usize].fill(true);
                    }
                }
                UnderWay::Read(at) => {
                    let data = data.into_vec();
                    self.bytes[at as usize..at as usize + data.len()].copy_from_slice(&data);
                }
                UnderWay::Job => {
                    self.job.as_mut().expect("a part of it is under way").2 -= 1;
                    self.end_part();
                }
            }
        }
    }

    /// Waits for everything that is under way.
    pub(super) fn drain(&mut self) {
        self.heard = self.node().now();
        while !(self.under_way.is_empty() && self.again.is_empty()) {
            self.go_on();
        }
        self.copies.append(&mut self.writing);
        self.commit();
    }

    /// Dies and starts again. What was under way may have happened; reading tells.
    pub(super) fn crash(&mut self) {
        self.crash_with(None);
    }

    /// The same, perhaps with the power.
    pub(super) fn crash_with(&mut self, power: Option<CutStyle>) {
        self.crash_and(power, |_, _| {});
    }

    /// The same, with something done to the disks before the start.
    pub(super) fn crash_and(
        &mut self,
        power: Option<CutStyle>,
        change: impl FnOnce(&mut Vec<SimDisk>, &mut Rng),
    ) {
        self.take_replies();
        let node = self.node.take().expect("the node runs");
        let now = node.now();
        let mut disks = node.crash(power, &mut self.rng);
        change(&mut disks, &mut self.rng);
        if std::mem::take(&mut self.has_trouble) {
            // A start that cannot read what it needs is refused, and may be tried again when it can.
            disks.iter_mut().for_each(SimDisk::end_failing_reads);
        }
        self.under_way.clear();
        self.again.clear();
        self.job = None;
        self.boot(now, disks);
        for (name, new) in std::mem::take(&mut self.writing) {
            let found = self.read(&name);
            let old = self.copies.insert(name.clone(), found.clone()).expect("it exists");
            for (at, stamp) in found.iter().enumerate() {
                let may = [old[at], new[at]];
                assert!(may.contains(stamp), "{name} cell {at}: {stamp} and not of {may:?}");
            }
        }
    }

    pub(super) fn view(&mut self, name: &str) -> View {
        let found = self.node().cluster().kept_images().find(name);
        found.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The stamps of every cell.
    pub(super) fn read(&mut self, name: &str) -> Vec<u64> {
        self.heard = self.node().now();
        let view = self.view(name);
        self.bytes = vec![0; view.size as usize];
        let kind = read_of(&view);
        for piece in split(&view, 0, view.size) {
            let range = (piece.offset, piece.length);
            self.issue(UnderWay::Read(piece.at), kind, piece.object, range, Data::NONE);
        }
        self.held = vec![false; (view.size / CELL) as usize];
        for piece in split(&view, 0, view.size) {
            let range = (piece.offset, piece.length);
            let kind = OpKind::Ranges(SnapshotNo(view.read_at.0));
            let what = UnderWay::Ranges(piece.at, piece.offset);
            self.issue(what, kind, piece.object, range, Data::NONE);
        }
        let is_read = |op: &Issued| matches!(op.what, UnderWay::Read(_) | UnderWay::Ranges(..));
        while self.under_way.values().chain(&self.again).any(is_read) {
            self.go_on();
        }
        self.check_block_status(&view);
        self.bytes.chunks(CELL as usize).map(stamp_of).collect()
    }

    /// What keeps the node from going on.
    pub(super) fn state(&mut self) -> String {
        let node = self.node();
        let mut text = String::new();
        for osd in (0..OSDS).map(OsdId::new) {
            let (fault, unfinished) = (node.cluster().fault(osd), node.osd(osd).unfinished());
            let space = node.osd(osd).space();
            text += &format!("\n{osd} {fault:?} {space:?} {unfinished:?}");
        }
        for (pg, state) in node.cluster().map().pgs().filter(|(_, state)| !state.clean) {
            text += &format!("\n{pg} {state:?}");
        }
        for pg in node.cluster().map().pgs_of(POOL).collect::<Vec<_>>() {
            text += &format!("\n{pg} {:?}", node.node_mut().pg_report(pg));
        }
        text
    }

    /// What is said to be a hole must read as zeros, and what is said to hold data must not: nothing writes zeros here.
    fn check_block_status(&mut self, view: &View) {
        for (cell, bytes) in self.bytes.chunks(CELL as usize).enumerate() {
            let is_zero = bytes.iter().all(|byte| *byte == 0);
            assert_eq!(self.held[cell], !is_zero, "cell {cell} of image {:?}", view.image);
        }
        for piece in split(view, 0, view.size) {
            if !self.node().node_mut().hold_racks().may_hold_data(view, &piece) {
                let from = piece.at as usize;
                let bytes = &self.bytes[from..from + piece.length as usize];
                assert!(bytes.iter().all(|byte| *byte == 0), "{} is no hole", piece.object);
            }
        }
    }

    /// What would be lost with an image is told at any time, and never less than it holds. Those that show an ancestor's data are left
    /// out: what they hold themselves nobody here knows.
    pub(super) fn check_written(&mut self) {
        let is_settled = |name: &&String| !self.writing.contains_key(*name);
        let names: Vec<String> = self.copies.keys().filter(is_settled).cloned().collect();
        for name in names {
            let images = self.node().cluster().images();
            let Ok(image) = images.image(&name) else { continue };
            let (id, is_clone) = (image.id, image.parent.is_some());
            let ends = |object: &[u64]| {
                object.iter().rposition(|stamp| *stamp > 0).map_or(0, |at| at as u64 + 1)
            };
            let least = self.copies[&name].chunks(16).map(ends).sum::<u64>() * CELL;
            let told = self.node().node_mut().written(id, 0);
            let is_enough = is_clone || told.may_be_more || told.bytes >= least;
            assert!(is_enough, "{name} holds {least} bytes, and {told:?} are told of");
        }
    }

    pub(super) fn check(&mut self, name: &str) {
        let found = self.read(name);
        assert_eq!(found, self.copies[name], "{name}");
    }

    /// Reads a random image or snapshot that nobody writes now. The answer is how many were not plain images.
    pub(super) fn check_some(&mut self) -> usize {
        let idle: Vec<&String> =
            self.copies.keys().filter(|name| !self.writing.contains_key(*name)).collect();
        if idle.is_empty() {
            return 0;
        }
        let name = idle[self.rng.below(idle.len() as u64) as usize].clone();
        self.check(&name);
        let view = self.view(&name);
        usize::from(view.is_read_only() || !view.ancestors.is_empty())
    }

    pub(super) fn check_all(&mut self) {
        let names: BTreeSet<String> = self.copies.keys().cloned().collect();
        names.iter().for_each(|name| self.check(name));
    }

    /// All disks read again.
    pub(super) fn end_trouble(&mut self) {
        self.has_trouble = false;
        for osd in (0..OSDS).map(OsdId::new) {
            self.node().disk(osd).end_failing_reads();
        }
    }

    /// What a node does every second, and an operator for OSDs that could not read their disks when those were opened.
    pub(super) fn look(&mut self) {
        let seed = self.rng.next_u64();
        let node = self.node();
        node.open_again();
        node.heal_damaged(|osd| fresh_disk(seed ^ u64::from(osd.get()) << 8));
        for osd in (0..OSDS).map(OsdId::new) {
            if node.waits_for_disk(osd) == (0, false) && node.cluster().fault(osd).is_some() {
                node.open(osd);
            }
        }
    }

    /// Takes an OSD down until [`Judged::open_what_is_down`].
    pub(super) fn take_down(&mut self, osd: OsdId) {
        // Those that do not hold the map yet cannot outvote one that does.
        self.commit();
        self.node().take_down(osd);
        self.down = Some(osd);
    }

    /// Gives an OSD an empty disk, if nothing is lost by that.
    pub(super) fn replace(&mut self, osd: OsdId) {
        self.commit();
        self.node().take_down(osd);
        let seed = self.rng.next_u64();
        if may_be_replaced(self.node(), osd) {
            self.node().replace(osd, fresh_disk(seed));
        }
        self.node().open(osd);
    }

    pub(super) fn open_what_is_down(&mut self) {
        if let Some(osd) = self.down.take() {
            self.node().open(osd);
        }
    }

    /// Lets everything be where it should be.
    pub(super) fn heal(&mut self) {
        self.open_what_is_down();
        let mut healed = self.looked.is_none() && self.node().wait_until(is_whole);
        if self.looked.is_some() {
            let limit = self.node().now() + Span::from_secs(600);
            while !is_whole(self.node()) && self.node().now() < limit {
                self.steps(1);
            }
            healed = is_whole(self.node());
        }
        assert!(healed, "everything heals: {}", self.state());
    }

    /// Lets all go that is kept for removed snapshots, on every copy.
    pub(super) fn finish_trims(&mut self) {
        let limit = self.node().now() + Span::from_secs(60);
        let pgs: Vec<_> = self.node().cluster().map().pgs_of(POOL).collect();
        let are_over = |node: &mut Node| {
            let is_over = |pg: &PgId| node.pg_report(*pg).trim.is_none();
            pgs.iter().all(is_over) && node.trim_report().objects_left == 0
        };
        while !are_over(self.node().node_mut()) {
            assert!(self.node().now() < limit, "trims end: {}", self.state());
            assert!(self.node().step(), "nothing goes on: {}", self.state());
        }
        for osd in (0..OSDS).map(OsdId::new) {
            for pg in &pgs {
                assert_eq!(self.node().osd(osd).left_to_trim(*pg), (0, 0), "{pg} on {osd}");
            }
        }
    }

    /// Each OSD in turn is away, so that every copy leads once.
    pub(super) fn check_every_copy(&mut self) {
        self.check_all();
        for osd in (0..OSDS).map(OsdId::new) {
            self.node().take_down(osd);
            self.check_all();
            self.down = Some(osd);
            self.heal();
        }
        let differing = self.node().copies_that_differ();
        assert!(differing.is_empty(), "copies differ: {differing:?}");
    }
}

fn target(kind: OpKind, object: ObjectNo, (offset, length): (u32, u32)) -> Target {
    let client = ClientId::new(0);
    Target { client, kind, traced: false, background: false, pool: POOL, object, offset, length }
}

fn stamp_of(cell: &[u8]) -> u64 {
    let stamp = u64::from_le_bytes(cell[..8].try_into().expect("a cell is longer"));
    assert_eq!(cell, contents(stamp), "a cell of one write");
    stamp
}
