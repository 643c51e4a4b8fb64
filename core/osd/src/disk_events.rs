//! What happens between an OSD and the disk of its paged store: opening, requests, answers, the window, and the end.

use crate::access::{AccessDone, AccessFailure, AccessKind, ObjectRange, Update};
use crate::commit::{Commit, Kept};
use crate::device_terms::without_limit;
use crate::directive::{DiskFault, DiskRoom, Notice, Opened};
use crate::disk::{
    Identity, LoadNext, LoadedGroup, MapEdits, OpEnded, OpeningPhase, Paged, Sent, StoreBackend,
    StoreToken, transactions,
};
use crate::event::{Effect, Effects, Timer};
use crate::ids::PgId;
use crate::item::Item;
use crate::message::Data;
use crate::osd::Osd;
use crate::parts::NextPart;
use crate::pg::{CopyReport, Pg};
use loadline_base::{Bytes, SlotId, Span, Time};
use loadline_device::{Outcome, RequestKind};
use loadline_qos::Urgency;
use loadline_store::paged::{Answer, Cause, Edit, Io, IoDone, ObjectId, PagedStore};

/// While the window is full, a checkpoint's requests go without waiting for their turn as long as the device has fewer
/// than this.
const PAST_FULL_WINDOW: u32 = 4;
/// For so long what is owed waits for room. Trims and deletions, which give some, pause for 5 s at most between their steps
/// (`osd_snap_trim_sleep_hdd`, `osd_delete_sleep_hdd`): two of them at least have their turn.
const FULL_PATIENCE: Span = Span::from_secs(10);
/// A crash leaves few of them.
const HALVES_PER_TRANSACTION: usize = 30;

/// The room on a disk, in pages. Those that are kept for what the OSD owes are none: nobody is to count on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free now, or with the next checkpoint.
    pub free: u64,
    /// All that there are.
    pub total: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

impl DiskSpace {
    /// Bytes of all pages.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.total * self.page_bytes)
    }

    /// The share of the pages that is free, in whole percent.
    pub fn free_percent(&self) -> u32 {
        (self.free * 100 / self.total.max(1)) as u32
    }

    /// Whether less than this share of the pages is free, in percent.
    pub fn has_less_free_than(&self, share: u64) -> bool {
        self.free * 100 < self.total * share
    }
}

impl Osd {
    /// Whether what this OSD knows is on a disk.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.store, StoreBackend::Paged(_))
    }

    /// Begins to open the disk, which has this size.
    pub(crate) fn open(&mut self, now: Time, data_bytes: Bytes) {
        self.groups.clear();
        self.store.paged().open(now, data_bytes);
    }

    /// How much room the disk has, while it is open.
    pub fn space(&self) -> Option<DiskSpace> {
        match &self.store {
            StoreBackend::Paged(paged) if matches!(paged.phase, OpeningPhase::Open) => {
                let store = paged.store()?;
                let allocator = &store.space().pages.allocator;
                let (layout, kept) = (store.superblock().layout, store.kept_pages());
                let free = (allocator.free() + allocator.returning()).saturating_sub(kept);
                let page_bytes = layout.page.bytes() as u64;
                let total = layout.pages_count.saturating_sub(kept);
                Some(DiskSpace { free, total, page_bytes })
            }
            _ => None,
        }
    }

    /// The paged store of a disk that is open or being opened, to look into.
    pub fn paged_store(&self) -> Option<&PagedStore<StoreToken>> {
        match &self.store {
            StoreBackend::Paged(paged) => paged.store(),
            StoreBackend::Direct(..) => None,
        }
    }

    /// Whether there is a disk that is open or being opened.
    pub fn has_disk(&self) -> bool {
        matches!(&self.store, StoreBackend::Paged(paged) if !matches!(paged.phase, OpeningPhase::Closed))
    }

    /// Whether this is the present life of its disk: what an earlier one has asked of it is nobody's.
    pub fn is_in_disk_life(&self, life: u32) -> bool {
        matches!(&self.store, StoreBackend::Paged(paged) if paged.life == life)
    }

    /// Whether the disk is open and its contents are known.
    pub fn is_open(&self) -> bool {
        match &self.store {
            StoreBackend::Direct(..) => true,
            StoreBackend::Paged(paged) => matches!(paged.phase, OpeningPhase::Open),
        }
    }

    pub(crate) fn identify(&mut self, now: Time, identity: Identity) {
        self.keep(now, PgId::new(0), identity.edits(), Kept::Term(identity.term));
    }

    pub(crate) fn save_map(&mut self, now: Time, epoch: u32, map: Data) {
        let (transaction_bytes, value_bytes) =
            (self.store.transaction_bytes(), self.store.value_bytes());
        let MapEdits { before, last } =
            self.store.paged().kept_map.replace(map.into_vec(), value_bytes);
        let mut all = match before.is_empty() {
            true => Vec::new(),
            false => transactions(before, transaction_bytes),
        };
        all.push(last);
        let pg = PgId::new(0);
        let place = ObjectRange::of_group(pg);
        self.keep_in_order(now, &place, all, Commit::Keeping(Kept::Map(epoch)));
        self.store.hurry(now, pg);
    }

    /// Writes down that a copy takes part in an interval. Without a disk it needs no writing.
    pub(crate) fn keep_activation(&mut self, now: Time, pg: PgId, interval: u32) {
        if self.is_durable() {
            let bytes_max = self.store.transaction_bytes();
            let all = self.pg_mut(pg).expect("it was placed").save(pg, bytes_max);
            let token = Commit::Keeping(Kept::Interval(interval));
            self.keep_in_order(now, &ObjectRange::of_group(pg), all, token);
            self.store.hurry(now, pg);
        }
    }

    /// Keeps edits in their order, in as many transactions as the store takes them in. `token` comes back with the last.
    pub(crate) fn keep_all(
        &mut self,
        now: Time,
        place: &ObjectRange,
        edits: Vec<Edit>,
        token: Commit,
    ) {
        let all = transactions(edits, self.store.transaction_bytes());
        self.keep_in_order(now, place, all, token);
    }

    fn keep_in_order(
        &mut self,
        now: Time,
        place: &ObjectRange,
        all: Vec<Vec<Edit>>,
        token: Commit,
    ) {
        let mut left = all.len();
        for edits in all {
            left -= 1;
            let token = if left == 0 { token } else { Commit::Nothing };
            let update = Update { edits, ..Update::none(AccessKind::Nothing) };
            self.access(now, Urgency::default(), place, update, token);
        }
    }

    /// Keeps edits after all that the group's copy was told before, none of which sleeps for a checkpoint any more: while the owner of
    /// the map waits nobody serves the group. What counts is durable when the owner hears of it.
    pub(crate) fn keep(&mut self, now: Time, pg: PgId, edits: Vec<Edit>, kept: Kept) {
        let update = Update { edits, ..Update::none(AccessKind::Nothing) };
        self.access(
            now,
            Urgency::default(),
            &ObjectRange::of_group(pg),
            update,
            Commit::Keeping(kept),
        );
        self.store.hurry(now, pg);
    }

    /// Makes everything durable that was answered.
    pub(crate) fn sync(&mut self, now: Time, number: u32) {
        self.make_durable(now, PgId::new(0), Commit::Synced(number));
    }

    pub(crate) fn make_durable(&mut self, now: Time, pg: PgId, token: Commit) {
        let update = Update::none(AccessKind::Sync);
        self.access(now, Urgency::default(), &ObjectRange::of_group(pg), update, token);
    }

    pub(crate) fn io_done(&mut self, now: Time, life: u32, done: IoDone, fx: &mut Effects) {
        let paged = self.store.paged();
        if paged.life != life {
            return;
        }
        let Sent { target, request } = paged.requests.take_sent(done.id);
        match done.outcome {
            Outcome::OverLimit if request.duration_limit.is_some() => {
                let request = without_limit(request);
                self.send_again(Sent { target, request }, done, fx);
            }
            Outcome::NoSpace if request.kind == RequestKind::Write => {
                let io = Io { id: done.id, target, request, data: done.data };
                let due = paged.requests.hold_for_room(now, io);
                fx.world.extend(due.map(|at| Effect::Timer(self.id, at, Timer::Room)));
            }
            _ => paged.done(now, done),
        }
    }

    /// The device ended a request for time, which says nothing of the medium: it gets the request again without a limit.
    /// A write has come back with its bytes.
    fn send_again(&mut self, sent: Sent, done: IoDone, fx: &mut Effects) {
        self.counters.over_limit += 1;
        let Sent { target, request } = sent;
        let data = if request.kind == RequestKind::Write { done.data } else { Vec::new() };
        assert!(data.len() as u64 == request.length.get() || request.kind == RequestKind::Read);
        let io = Io { id: done.id, target, request, data };
        let paged = self.store.paged();
        paged.requests.send_again(&io);
        fx.world.push(Effect::Io(self.id, paged.life, io));
    }

    /// Asks for the writes again that the device had no room for.
    pub(crate) fn ask_for_room(&mut self, fx: &mut Effects) {
        let (id, paged) = (self.id, self.store.paged());
        for io in paged.requests.take_for_room() {
            paged.requests.send_again(&io);
            fx.world.push(Effect::Io(id, paged.life, io));
        }
    }

    /// How many writes the device has no room for. They are asked for again until it has.
    pub fn waits_for_room(&self) -> usize {
        match &self.store {
            StoreBackend::Direct(..) => 0,
            StoreBackend::Paged(paged) => paged.requests.waits_for_room(),
        }
    }

    pub(crate) fn tick_disk(&mut self, now: Time) {
        self.store.paged().tick(now);
    }

    pub(crate) fn crash_disk(&mut self) {
        self.store.crash();
        self.bench = None;
    }

    /// Carries on until the store has nothing more to say: ends of accesses, requests, its next tick.
    pub(crate) fn settle_disk(&mut self, now: Time, fx: &mut Effects) {
        loop {
            self.take_completions(now, fx);
            self.take_doubts(now, fx);
            self.go_on_benching(now, fx);
            self.count_background();
            self.take_by_window(now, fx);
            let out = &self.store.paged().out;
            if out.completions.is_empty() && out.doubts.is_empty() {
                break;
            }
        }
        self.send_io(now, fx);
        if let Some(fault) = self.store.fault() {
            return self.stop(DiskFault::Store(fault), fx);
        }
        let (id, paged) = (self.id, self.store.paged());
        if let Some(at) = paged.next_tick() {
            fx.world.push(Effect::Timer(id, at, Timer::Store));
        }
        self.tell_room(fx);
        self.watch_room(now, fx);
    }

    /// What is owed waits for room, and behind it all that comes for its placement group, what would give room among it. If nobody else gives some
    /// for a while the disk is opened anew: what waited had no answer, and comes again when there is room for it, behind what gives room.
    fn watch_room(&mut self, now: Time, fx: &mut Effects) {
        let since = self.paged_store().and_then(PagedStore::without_room_since);
        match since.map(|since| since + FULL_PATIENCE) {
            Some(end) if end <= now => self.stop(DiskFault::Full, fx),
            Some(end) if self.life.full_until != Some(end) => {
                self.life.full_until = Some(end);
                fx.world.push(Effect::Timer(self.id, end, Timer::Full));
            }
            _ => {}
        }
    }

    /// The owner of the map goes by the room on this disk.
    fn tell_room(&mut self, fx: &mut Effects) {
        let space = self.space();
        let room = DiskRoom {
            free_percent: space.map(|space| space.free_percent()),
            bytes: space.map_or_else(Bytes::default, |space| space.bytes()),
            waiting: self.waits_for_room(),
        };
        if room != self.life.room {
            self.life.room = room;
            fx.owner.push(Notice::Room(room));
        }
    }

    fn take_completions(&mut self, now: Time, fx: &mut Effects) {
        while !self.store.paged().out.completions.is_empty() {
            let mut completions = std::mem::take(&mut self.store.paged().out.completions);
            let life = self.store.paged().life;
            for completion in completions.drain(..) {
                let paged = self.store.paged();
                if paged.life != life {
                    return;
                }
                if let Some(ended) = completion.token.ended_work() {
                    self.served(now, ended, fx);
                }
                let done = match self.store.paged().ended(now, completion) {
                    OpEnded::Access(done) => done,
                    OpEnded::Turn(NextPart { transfer, bytes, class, work }) => {
                        self.enqueue(now, Item::Part { transfer, bytes, class, work }, fx);
                        continue;
                    }
                    OpEnded::Nothing => continue,
                };
                match (done.token, done.told) {
                    (Commit::Loaded, Some(answer)) => self.loaded(now, answer, fx),
                    (Commit::Loaded, None) => {
                        let fault = self.store.fault();
                        self.stop(fault.map_or(DiskFault::Contents, DiskFault::Store), fx);
                    }
                    (_, told) => {
                        let done = AccessDone { told, ..done };
                        self.account_done(now, &done, fx);
                        self.committed(now, done, fx);
                    }
                }
            }
            keep_memory(&mut self.store.paged().out.completions, completions);
        }
    }

    /// The gate goes by what the store has of background work.
    fn count_background(&mut self) {
        let (ops, bytes) = self.store.paged().background();
        self.gate().settle();
        self.gate().set_background_at_disk(ops, bytes);
    }

    /// Lets the shards take while the window has room.
    pub(crate) fn take_by_window(&mut self, now: Time, fx: &mut Effects) {
        let (is_full, ops) = (!self.store.admits(), self.store.in_window());
        self.gate().set_store(now, is_full, ops);
        self.queue.pump_all(now, fx);
        let (has_work, ops) = match &self.store {
            StoreBackend::Direct(..) => {
                let ops = self.gate().ops_at_disk();
                (ops > 0, ops)
            }
            StoreBackend::Paged(paged) => (paged.requests.at_device() > 0, self.store.in_window()),
        };
        self.queue.note_load(now, has_work, ops);
    }

    /// Hands the store's requests out; those of a checkpoint wait their turn like any other work.
    fn send_io(&mut self, now: Time, fx: &mut Effects) {
        let paged = self.store.paged();
        let is_open = matches!(paged.phase, OpeningPhase::Open);
        let mut requests = paged.take_io();
        for io in requests.drain(..) {
            if is_open && self.store.paged().cause(io.id) == Cause::Checkpoint {
                let bytes = io.request.length.get() as u32;
                let item = Item::StoreIo(self.store.paged().requests.queue(io), bytes);
                self.enqueue(now, item, fx);
            } else {
                self.send_one_io(io, fx);
            }
        }
        keep_memory(&mut self.store.paged().out.io, requests);
        // All that fills the window may wait for the checkpoint, so the window must not hold up the checkpoint.
        while self.may_pass_full_window()
            && let Some(slot) = self.store.paged().requests.first_queued()
        {
            self.send_queued_io(slot, fx);
        }
    }

    fn may_pass_full_window(&mut self) -> bool {
        !self.gate().admits() && self.store.paged().requests.at_device() < PAST_FULL_WINDOW
    }

    /// Queues what waits for its turn anew, in queues that are new.
    pub(crate) fn enqueue_waiting_io(&mut self, now: Time, fx: &mut Effects) {
        let StoreBackend::Paged(paged) = &self.store else { return };
        let item = |(slot, io): (SlotId, &Io)| Item::StoreIo(slot, io.request.length.get() as u32);
        for item in paged.requests.queued().map(item).collect::<Vec<_>>() {
            self.enqueue(now, item, fx);
        }
    }

    fn send_one_io(&mut self, mut io: Io, fx: &mut Effects) {
        let (id, terms, paged) = (self.id, &self.options.device, self.store.paged());
        io.request = match paged.cause(io.id) {
            Cause::Log => terms.apply_to_log(io.request),
            Cause::Checkpoint => terms.apply_to_checkpoint(io.request),
            Cause::Op | Cause::Restart => terms.apply(io.request),
        };
        paged.requests.send(&io);
        fx.world.push(Effect::Io(id, paged.life, io));
    }

    /// A checkpoint's request has had its turn, unless it went before.
    pub(crate) fn send_queued_io(&mut self, slot: SlotId, fx: &mut Effects) {
        if let Some(io) = self.store.paged().requests.take_queued(slot) {
            self.send_one_io(io, fx);
        }
    }

    /// The disk is of no use any more. The owner is told, and this OSD does nothing until it is opened again.
    pub(crate) fn stop(&mut self, fault: DiskFault, fx: &mut Effects) {
        let store = self.store.id();
        self.crash_disk();
        self.life.takes_part = false;
        fx.owner.push(Notice::Stopped(fault, store));
    }

    /// The same, because of an access that nobody else can help with. A store that has stopped itself says why.
    pub(crate) fn stop_for(&mut self, failure: AccessFailure, fx: &mut Effects) {
        let fault = self.store.fault().filter(|_| failure == AccessFailure::Stopped);
        self.stop(fault.map_or(failure.fault(), DiskFault::Store), fx);
    }

    fn loaded(&mut self, now: Time, answer: Answer, fx: &mut Effects) {
        let paged: &mut Paged = self.store.paged();
        let OpeningPhase::Loading(load) = &mut paged.phase else {
            unreachable!("questions of the loading are asked while it lasts");
        };
        match load.answered(answer) {
            LoadNext::Ask(ask) => paged.ask(now, ask),
            LoadNext::Unreadable => self.stop(DiskFault::Contents, fx),
            LoadNext::Newer(format) => self.stop(DiskFault::NewerFormat(format), fx),
            LoadNext::Done => {
                let load = std::mem::take(load);
                paged.phase = OpeningPhase::Open;
                paged.kept_map = load.kept_map;
                for (id, group) in load.groups {
                    self.remove_halves(now, id, &group.halves);
                    self.take_group(id, group);
                }
                self.tell_room(fx);
                let copy = |id| Some((id, CopyReport::of(self.copy(id)?, false)));
                let copies = self.copies().filter_map(copy).collect();
                let (store, logged) = (self.store.id(), self.store.logged());
                let (log_mode, identity, map) =
                    (self.store.paged().log_mode(), load.identity, load.map);
                let opened = Opened { store, logged, log_mode, identity, map, copies };
                fx.owner.push(Notice::Opened(Box::new(opened)));
            }
        }
    }

    /// Removes what updates that never happened have left.
    fn remove_halves(&mut self, now: Time, id: PgId, halves: &[ObjectId]) {
        for some in halves.chunks(HALVES_PER_TRANSACTION) {
            let edits = some.iter().map(|object| Edit::Remove { object: *object }).collect();
            let update = Update { edits, ..Update::none(AccessKind::Nothing) };
            self.access(
                now,
                Urgency::default(),
                &ObjectRange::of_group(id),
                update,
                Commit::Nothing,
            );
        }
    }

    /// A copy as the disk tells of it.
    fn take_group(&mut self, id: PgId, mut group: LoadedGroup) {
        let objects = self.store.objects(id);
        for (object, meta) in &group.objects {
            objects.replace(*object, *meta);
        }
        // The owner knows its number inside its pool, and tells it before the copy is used.
        self.place(id, 0);
        self.take_scrub_record(id, std::mem::take(&mut group.scrubs));
        let here = self.pg_mut(id).expect("it was placed");
        *here = Pg::loaded(here.shard, group);
    }
}

/// Puts an emptied list back in the place that it was taken from, for its memory, unless something has come there meanwhile: every event of a disk takes it.
fn keep_memory<T>(place: &mut Vec<T>, emptied: Vec<T>) {
    if place.is_empty() {
        *place = emptied;
    }
}
