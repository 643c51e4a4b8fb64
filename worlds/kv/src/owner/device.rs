//! The store on its disk: requests to the loop, answers back.

use super::mail::DbAsk;
use crate::error::DbOpenError;
use crate::options::DbOptions;
use loadline_base::{SlotId, Slots, Span, Time};
use loadline_device::{ClassTag, Outcome, Request, RequestKind};
use loadline_host::{DiskId, Loop, LoopEvent, LoopOptions, Mailbox, Mode, OpenedDisk};
use loadline_store::paged::{Ask, Completion, IoDone, IoId, LogMode, Op, Outbox, PagedStore};
use std::path::PathBuf;

/// How long a write waits that the file system had no room for, before it is asked for again: as an OSD's does.
const ROOM_PAUSE: Span = Span::from_millis(50);

/// A store, its disk and the loop that turns both.
pub(super) struct StoreOnDisk {
    turns: Loop<DbAsk>,
    disk: DiskId,
    store: PagedStore<SlotId>,
    outbox: Outbox<SlotId>,
    /// Ops that the store is to get together, each with its promise.
    asked: Vec<(Op<SlotId>, LogMode)>,
    /// Updates that are carried out and were not told.
    applied: Vec<SlotId>,
    sent: Slots<SentRequest>,
    /// Writes that found no room, and when they are asked for again.
    roomless: Vec<(Time, SentRequest, Vec<u8>)>,
    /// Whether there are any: whoever closes a database waits for its end, and not for room.
    waits_for_room: bool,
    /// Requests that the disk has carried out.
    carried_out: u64,
    events: Vec<LoopEvent<DbAsk>>,
}

/// A request that the loop has.
#[derive(Clone, Copy)]
struct SentRequest {
    id: IoId,
    request: Request,
}

impl StoreOnDisk {
    /// Opens the store on this disk and turns until it is open.
    pub(super) fn open(disk: OpenedDisk, options: &DbOptions) -> Result<StoreOnDisk, DbOpenError> {
        let path: PathBuf = disk.path().to_owned();
        let loop_options = LoopOptions { backend: options.backend, ..LoopOptions::default() };
        let mut turns = Loop::new(loop_options)?;
        let bytes = disk.size();
        let disk = turns.add_disk(disk)?;
        let mut outbox = Outbox::new();
        let store = PagedStore::open(turns.now(), options.store(), bytes, None, &mut outbox);
        let (asked, applied, roomless, events) = Default::default();
        let (sent, carried_out) = (Slots::new(), 0);
        let mut opened = StoreOnDisk {
            turns,
            disk,
            store,
            outbox,
            asked,
            applied,
            sent,
            roomless,
            waits_for_room: true,
            carried_out,
            events,
        };
        opened.hand_out();
        let mut mail = Vec::new();
        while !opened.store.is_open() {
            if let Some(fault) = opened.store.fault() {
                return Err(DbOpenError::Store { path, fault });
            }
            opened.turn(None, &mut mail);
        }
        Ok(opened)
    }

    /// The way into the owner's loop.
    pub(super) fn mailbox(&self) -> Mailbox<DbAsk> {
        self.turns.mailbox()
    }

    /// The store, to look at.
    pub(super) fn store(&self) -> &PagedStore<SlotId> {
        &self.store
    }

    /// The loop's time.
    pub(super) fn now(&self) -> Time {
        self.turns.now()
    }

    /// Whether the disk has requests that it has not answered.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.roomless.is_empty()
    }

    /// Requests that the disk has carried out, those that it has refused not among them.
    pub(super) fn requests(&self) -> u64 {
        self.carried_out
    }

    /// Whether the disk is reached past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.turns.disk(self.disk).mode().direct
    }

    /// Whether io_uring carries system calls out.
    pub(super) fn has_ring(&self) -> bool {
        matches!(self.turns.mode(), Mode::Uring { .. })
    }

    /// Puts an op among those that the store gets with the next [`hand_over`](Self::hand_over). What it ends with is among [`completions`](Self::completions).
    pub(super) fn submit(&mut self, token: SlotId, ask: Ask, promise: LogMode) {
        let op = Op { ask, lane: None, class: ClassTag(0), token };
        self.asked.push((op, promise));
    }

    /// Whether there are ops that the store has not got yet.
    pub(super) fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Hands the store what was asked, all together.
    pub(super) fn hand_over(&mut self) {
        if self.has_asked() {
            let now = self.turns.now();
            self.store.submit_all(now, &mut self.asked, &mut self.outbox);
            self.hand_out();
        }
    }

    /// No checkpoint begins any more, until [`release`](Self::release).
    pub(super) fn hold(&mut self) {
        self.store.hold_checkpoints();
    }

    /// Checkpoints may begin again.
    pub(super) fn release(&mut self) {
        let now = self.turns.now();
        self.store.release_checkpoints(now, &mut self.outbox);
        self.hand_out();
    }

    /// Updates that are carried out and were not told, in that order.
    pub(super) fn applied(&mut self) -> Vec<SlotId> {
        std::mem::take(&mut self.applied)
    }

    /// Ops that have ended and were not told.
    pub(super) fn completions(&mut self) -> Vec<Completion<SlotId>> {
        std::mem::take(&mut self.outbox.completions)
    }

    /// Waits until something happens or `until` has come, does what is due, and appends the mail that has come.
    pub(super) fn turn(&mut self, until: Option<Time>, mail: &mut Vec<DbAsk>) {
        let room = self.roomless.iter().map(|(at, ..)| *at).min();
        let due = [until, self.store.next_tick(), room].into_iter().flatten().min();
        let mut events = std::mem::take(&mut self.events);
        self.turns.turn(due, &mut events);
        for event in events.drain(..) {
            match event {
                LoopEvent::DiskDone { token, outcome, data, .. } => {
                    self.disk_done(token, outcome, data);
                }
                LoopEvent::Mail(ask) => mail.push(ask),
                _ => unreachable!("a loop without sockets and signals tells of disks and mail"),
            }
        }
        self.events = events;
        let now = self.turns.now();
        self.ask_again(now);
        if self.store.next_tick().is_some_and(|due| due <= now) {
            self.store.tick(now, &mut self.outbox);
            self.hand_out();
        }
    }

    /// A write that finds no room is refused from now on, which stops the store. What waits is asked for once more.
    pub(super) fn give_up_on_room(&mut self) {
        self.waits_for_room = false;
        for (_, sent, data) in std::mem::take(&mut self.roomless) {
            self.send(sent, data);
        }
    }

    fn disk_done(&mut self, token: u64, outcome: Outcome, data: Vec<u8>) {
        let token = SlotId::new(u32::try_from(token).expect("the token is a slot"));
        let sent = self.sent.release(token);
        let now = self.turns.now();
        let found_no_room = outcome == Outcome::NoSpace && sent.request.kind == RequestKind::Write;
        if found_no_room && self.waits_for_room {
            return self.roomless.push((now + ROOM_PAUSE, sent, data));
        }
        self.carried_out += u64::from(outcome == Outcome::Done);
        self.store.done(now, IoDone { id: sent.id, outcome, data }, &mut self.outbox);
        self.hand_out();
    }

    /// Asks again for what found no room a while ago.
    fn ask_again(&mut self, now: Time) {
        for (_, sent, data) in
            self.roomless.extract_if(.., |(at, ..)| *at <= now).collect::<Vec<_>>()
        {
            self.send(sent, data);
        }
    }

    fn hand_out(&mut self) {
        self.applied.append(&mut self.outbox.applied);
        for io in std::mem::take(&mut self.outbox.io) {
            self.send(SentRequest { id: io.id, request: io.request }, io.data);
        }
    }

    fn send(&mut self, sent: SentRequest, data: Vec<u8>) {
        let token = u64::from(self.sent.acquire(sent).get());
        self.turns.submit(self.disk, token, &sent.request, data);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::start::DATA_FILE;
    use super::*;
    use loadline_host::DiskOpen;
    use loadline_store::paged::{Answer, Edit, OpError};

    /// A full file system under a database that was closed kept its owner, and whoever waited for that, for ever.
    #[test]
    fn who_closes_a_database_does_not_wait_for_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = DbOptions::small();
        drop(crate::Db::open(folder.path(), options).expect("it opens"));
        let disk = DiskOpen::existing(folder.path().join(DATA_FILE)).open().expect("it is there");
        let mut device = StoreOnDisk::open(disk, &options).expect("it opens");
        // Its pages are in memory then, so that puts write alone.
        submit_put(&mut device);
        device.hand_over();
        assert_eq!(first_end(&mut device), Ok(Answer::Done));
        let before = device.requests();
        put_without_room(&mut device);
        assert!(
            device.completions().is_empty() && !device.roomless.is_empty(),
            "it waits for room"
        );
        assert_eq!(device.requests(), before, "what was refused was not carried out");
        device.give_up_on_room();
        assert_eq!(first_end(&mut device), Ok(Answer::Done), "there was room by then");
        put_without_room(&mut device);
        let ended = device.completions();
        assert!(matches!(ended[..], [Completion { result: Err(_), .. }]), "{ended:?}");
        assert!(device.store.fault().is_some());
    }

    fn submit_put(device: &mut StoreOnDisk) {
        let edit = Edit::Put { key: b"k".to_vec(), value: b"v".to_vec() };
        device.submit(SlotId::new(7), Ask::Transaction(vec![edit]), LogMode::Fsync);
    }

    fn first_end(device: &mut StoreOnDisk) -> Result<Answer, OpError> {
        loop {
            device.turn(None, &mut Vec::new());
            if let Some(ended) = device.completions().pop() {
                return ended.result;
            }
        }
    }

    /// A put for whose record the file system has no room.
    fn put_without_room(device: &mut StoreOnDisk) {
        submit_put(device);
        hand_over_without_room(device);
    }

    /// Hands the store what was asked, and the file system has no room for what that writes.
    pub(in super::super) fn hand_over_without_room(device: &mut StoreOnDisk) {
        let now = device.now();
        device.store.submit_all(now, &mut device.asked, &mut device.outbox);
        for io in std::mem::take(&mut device.outbox.io) {
            // The loop does not get it.
            let token = device.sent.acquire(SentRequest { id: io.id, request: io.request });
            device.disk_done(u64::from(token.get()), Outcome::NoSpace, io.data);
        }
    }
}
