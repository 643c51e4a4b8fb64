//! The direct store: metadata only; one object access is one device request.

use crate::objects::{CollectionId, ObjectNo, Objects};
use crate::window::{Window, WindowBounds};
use loadline_base::{Bytes, IdVec, SlotId, Slots, Time};
use loadline_device::{ClassTag, Priority, Request, RequestKind};
use std::collections::VecDeque;

/// The store's number for a device request; the device's answer names it.
///
/// Slots are used again, so the life tells an answer to the running store from a late one to the store that
/// crashed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    slot: SlotId,
    life: u32,
}

impl RequestId {
    /// The request in `slot` of a store in its `life`-th life.
    pub const fn new(slot: SlotId, life: u32) -> RequestId {
        RequestId { slot, life }
    }

    /// Where the store keeps it.
    pub const fn slot(self) -> SlotId {
        self.slot
    }

    /// In which life of the store it was made.
    pub const fn life(self) -> u32 {
        self.life
    }
}

/// One access to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAccess<T> {
    /// Read or write.
    pub kind: RequestKind,
    /// Where the object is.
    pub collection: CollectionId,
    /// The object.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u64,
    /// How many bytes, at least one.
    pub length: Bytes,
    /// The service class whose work this is.
    pub class: ClassTag,
    /// Comes back with the [`AccessCompletion`].
    pub token: T,
}

/// A request to hand to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What the device's answer must name.
    pub id: RequestId,
    /// The request.
    pub request: Request,
    /// Whether its access is durable with it. Only those parts of a large one do not commit that others follow.
    pub commits: bool,
}

/// An access that the device has answered; if it carried out a write, that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessCompletion<T> {
    /// The access as it was handed in.
    pub access: DirectAccess<T>,
    /// When it was handed in.
    pub entered: Time,
    /// When it left the window for the device.
    pub submitted: Time,
}

#[derive(Clone, Debug)]
struct PendingAccess<T> {
    access: DirectAccess<T>,
    entered: Time,
    submitted: Time,
    /// It was asked again, without a limit.
    again: bool,
}

/// Objects of one disk without their data, behind a [`Window`]. Reads pass beside the window, as they do in
/// the store that the published studies ran on, unless the store [counts](DirectStore::counting_reads) them.
#[derive(Clone, Debug)]
pub struct DirectStore<T> {
    collections: IdVec<CollectionId, Objects>,
    window: Window,
    counts_reads: bool,
    waiting: VecDeque<SlotId>,
    pending: Slots<PendingAccess<T>>,
    life: u32,
}

impl<T: Copy> DirectStore<T> {
    /// An empty store.
    pub fn new(bounds: WindowBounds) -> DirectStore<T> {
        DirectStore {
            collections: IdVec::new(),
            window: Window::new(bounds),
            counts_reads: false,
            waiting: VecDeque::new(),
            pending: Slots::new(),
            life: 0,
        }
    }

    /// An empty store whose reads pass the window as its writes do.
    pub fn counting_reads(bounds: WindowBounds) -> DirectStore<T> {
        DirectStore { counts_reads: true, ..DirectStore::new(bounds) }
    }

    /// Begins the next life, as after a crash: what was under way is forgotten, and the device's answers to it
    /// will mean nothing. The objects stay.
    pub fn restart(&mut self) {
        self.window = Window::new(self.window.bounds());
        self.waiting.clear();
        self.pending = Slots::new();
        self.life = self.life.wrapping_add(1);
    }

    /// Changes the window while work waits; what may now enter is appended to `out`.
    pub fn set_window(&mut self, now: Time, bounds: WindowBounds, out: &mut Vec<Submission>) {
        self.window.set_bounds(bounds);
        self.admit_waiting(now, out);
    }

    /// The objects of a collection; an unknown collection is an empty one.
    pub fn objects(&mut self, collection: CollectionId) -> &mut Objects {
        self.collections.get_or_default(collection)
    }

    /// How many objects a collection has.
    pub fn count(&self, collection: CollectionId) -> u64 {
        self.collections.get(collection).map_or(0, |objects| objects.len() as u64)
    }

    /// Takes an access; what may go to the device at once is appended to `out`.
    pub fn access(&mut self, now: Time, access: DirectAccess<T>, out: &mut Vec<Submission>) {
        let slot = self.pending.acquire(PendingAccess {
            access,
            entered: now,
            submitted: now,
            again: false,
        });
        let id = RequestId::new(slot, self.life);
        if !self.passes_window(access.kind) {
            out.push(submission(id, &access));
        } else if self.waiting.is_empty() && self.window.admits(access.length) {
            self.window.enter(access.length);
            out.push(submission(id, &access));
        } else {
            self.waiting.push_back(slot);
        }
    }

    fn passes_window(&self, kind: RequestKind) -> bool {
        match kind {
            RequestKind::Read => self.counts_reads,
            RequestKind::Write => true,
            RequestKind::Flush | RequestKind::Discard => unreachable!("an access reads or writes"),
        }
    }

    /// Whether the window has room for more.
    pub fn admits(&self) -> bool {
        self.waiting.is_empty() && self.window.admits(Bytes::new(1))
    }

    /// A request that the device has ended for time, to be carried out without a limit; `None` if it is of before a restart,
    /// or was asked again before. What is ended for time without a limit has failed.
    pub fn again(&mut self, id: RequestId) -> Option<Submission> {
        if id.life != self.life {
            return None;
        }
        let pending = self.pending.at_mut(id.slot);
        let is_first = !std::mem::replace(&mut pending.again, true);
        is_first.then(|| submission(id, &pending.access))
    }

    /// Takes the device's answer; what may now enter the window is appended to `out`. `None` if it answers a
    /// request of before a restart.
    pub fn done(
        &mut self,
        now: Time,
        id: RequestId,
        out: &mut Vec<Submission>,
    ) -> Option<AccessCompletion<T>> {
        if id.life != self.life {
            return None;
        }
        let PendingAccess { access, entered, submitted, .. } = self.pending.release(id.slot);
        if self.passes_window(access.kind) {
            self.window.leave(access.length);
            self.admit_waiting(now, out);
        }
        Some(AccessCompletion { access, entered, submitted })
    }

    /// Whether a request is of the present life of the store.
    pub fn is_of_this_life(&self, id: RequestId) -> bool {
        id.life == self.life
    }

    /// The token of the access that a request carries out.
    pub fn token(&self, id: RequestId) -> T {
        self.pending.at(id.slot).access.token
    }

    /// Lets the oldest waiting accesses in while the window admits them; nobody overtakes.
    fn admit_waiting(&mut self, now: Time, out: &mut Vec<Submission>) {
        while let Some(&slot) = self.waiting.front() {
            let pending = self.pending.at_mut(slot);
            if !self.window.admits(pending.access.length) {
                return;
            }
            self.window.enter(pending.access.length);
            pending.submitted = now;
            out.push(submission(RequestId::new(slot, self.life), &pending.access));
            self.waiting.pop_front();
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// How many accesses wait for the window.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What is in flight through the window.
    pub fn in_flight(&self) -> (Bytes, u32) {
        self.window.in_flight()
    }
}

fn submission<T>(id: RequestId, access: &DirectAccess<T>) -> Submission {
    // A calibrated drive does not look at the address; a fixed place per object keeps it plausible.
    let offset = (access.object.0 << 22) + access.offset;
    let request = Request {
        kind: access.kind,
        offset,
        length: access.length,
        class: access.class,
        priority: Priority::default(),
        duration_limit: None,
    };
    Submission { id, request, commits: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(length: Bytes, token: u32) -> DirectAccess<u32> {
        DirectAccess {
            kind: RequestKind::Write,
            collection: CollectionId::new(0),
            object: ObjectNo(1),
            offset: 0,
            length,
            class: ClassTag(1),
            token,
        }
    }

    #[test]
    fn writes_wait_in_order_behind_a_large_one_and_reads_do_not() {
        let bounds = WindowBounds { bytes: Bytes::from_kib(256), ops: 1024 };
        let mut store = DirectStore::new(bounds);
        let mut out = Vec::new();
        store.access(Time::ZERO, write(Bytes::from_mib(4), 1), &mut out);
        store.access(Time::ZERO, write(Bytes::from_kib(4), 2), &mut out);
        store.access(
            Time::ZERO,
            DirectAccess { kind: RequestKind::Read, ..write(Bytes::from_kib(4), 3) },
            &mut out,
        );
        let sent: Vec<u64> = out.iter().map(|s| s.request.length.get()).collect();
        assert_eq!((sent, store.waiting()), (vec![4 << 20, 4096], 1));

        let first = out[0].id;
        out.clear();
        let done = store.done(Time::from_nanos(9), first, &mut out).expect("it was pending");
        assert_eq!((done.access.token, out.len(), store.waiting()), (1, 1, 0));
        let second = out[0].id;
        let done = store.done(Time::from_nanos(20), second, &mut out).expect("it was pending");
        assert_eq!((done.entered, done.submitted), (Time::ZERO, Time::from_nanos(9)));
    }

    /// An OSD crashed with a full window. Its answers came while it was down, so nothing ever left the window, and
    /// every write of its next life waited for ever; an answer that came later freed another request's slot.
    #[test]
    fn a_restarted_store_has_an_empty_window_and_ignores_old_answers() {
        let bounds = WindowBounds { bytes: Bytes::from_kib(4), ops: 1024 };
        let mut store = DirectStore::new(bounds);
        let mut out = Vec::new();
        store.access(Time::ZERO, write(Bytes::from_kib(4), 1), &mut out);
        store.access(Time::ZERO, write(Bytes::from_kib(4), 2), &mut out);
        store.objects(CollectionId::new(0)).write(ObjectNo(1), 9, crate::Version(1));
        let old = out[0].id;
        store.restart();
        out.clear();
        store.access(Time::ZERO, write(Bytes::from_kib(4), 3), &mut out);
        assert_eq!((out.len(), store.waiting()), (1, 0));
        assert_eq!(store.done(Time::ZERO, old, &mut out), None);
        let done = store.done(Time::ZERO, out[0].id, &mut out).expect("the new request");
        assert_eq!((done.access.token, store.objects(CollectionId::new(0)).len()), (3, 1));
    }

    #[test]
    fn a_wider_window_lets_waiting_writes_in_at_once() {
        let bounds = |kib| WindowBounds { bytes: Bytes::from_kib(kib), ops: 1024 };
        let mut store = DirectStore::new(bounds(4));
        let mut out = Vec::new();
        for token in 0..4 {
            store.access(Time::ZERO, write(Bytes::from_kib(4), token), &mut out);
        }
        store.set_window(Time::ZERO, bounds(12), &mut out);
        assert_eq!((out.len(), store.waiting()), (3, 1));
    }
}
