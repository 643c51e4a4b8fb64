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
    /// Requests that the loop has answered.
    answered: u64,
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
        let (sent, answered) = (Slots::new(), 0);
        let mut opened = StoreOnDisk {
            turns,
            disk,
            store,
            outbox,
            asked,
            applied,
            sent,
            roomless,
            answered,
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

    /// Requests that the disk has answered.
    pub(super) fn requests(&self) -> u64 {
        self.answered
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

    fn disk_done(&mut self, token: u64, outcome: Outcome, data: Vec<u8>) {
        let token = SlotId::new(u32::try_from(token).expect("the token is a slot"));
        let sent = self.sent.release(token);
        self.answered += 1;
        let now = self.turns.now();
        if outcome == Outcome::NoSpace && sent.request.kind == RequestKind::Write {
            return self.roomless.push((now + ROOM_PAUSE, sent, data));
        }
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
