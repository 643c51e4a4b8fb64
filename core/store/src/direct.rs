//! The direct store: metadata only; one object access is one device request.

use crate::objects::{CollectionId, ObjectNo, Objects};
use crate::window::{Window, WindowBounds};
use loadline_base::{Bytes, IdVec, SlotId, Slots, Time};
use loadline_device::{ClassTag, Kind, Priority, Request};
use std::collections::VecDeque;

/// The store's number for a device request; the device's answer names it.
pub type RequestId = SlotId;

/// One access to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<T> {
    /// Read or write.
    pub kind: Kind,
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
    /// Comes back with the [`Completion`].
    pub token: T,
}

/// A request to hand to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What the device's answer must name.
    pub id: RequestId,
    /// The request.
    pub request: Request,
}

/// An access that the device has carried out; a write is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<T> {
    /// The access as it was handed in.
    pub access: Access<T>,
    /// When it was handed in.
    pub entered: Time,
    /// When it left the window for the device.
    pub submitted: Time,
}

#[derive(Clone, Debug)]
struct Pending<T> {
    access: Access<T>,
    entered: Time,
    submitted: Time,
}

/// Objects of one disk without their data, behind a [`Window`]. Reads pass beside the window, as they do in
/// the store that the published studies ran on.
#[derive(Clone, Debug)]
pub struct DirectStore<T> {
    collections: IdVec<CollectionId, Objects>,
    window: Window,
    waiting: VecDeque<RequestId>,
    pending: Slots<Pending<T>>,
}

impl<T: Copy> DirectStore<T> {
    /// An empty store.
    pub fn new(bounds: WindowBounds) -> DirectStore<T> {
        DirectStore {
            collections: IdVec::new(),
            window: Window::new(bounds),
            waiting: VecDeque::new(),
            pending: Slots::new(),
        }
    }

    /// The objects of a collection; an unknown collection is an empty one.
    pub fn objects(&mut self, collection: CollectionId) -> &mut Objects {
        while self.collections.len() <= usize::from(collection) {
            self.collections.push(Objects::default());
        }
        &mut self.collections[collection]
    }

    /// Takes an access; what may go to the device at once is appended to `out`.
    pub fn access(&mut self, now: Time, access: Access<T>, out: &mut Vec<Submission>) {
        let id = self.pending.acquire(Pending { access, entered: now, submitted: now });
        match access.kind {
            Kind::Read => out.push(submission(id, &access)),
            Kind::Write if self.waiting.is_empty() && self.window.admits(access.length) => {
                self.window.enter(access.length);
                out.push(submission(id, &access));
            }
            Kind::Write => self.waiting.push_back(id),
        }
    }

    /// Takes the device's answer; what may now enter the window is appended to `out`.
    pub fn done(&mut self, now: Time, id: RequestId, out: &mut Vec<Submission>) -> Completion<T> {
        let Pending { access, entered, submitted } = self.pending.release(id);
        if access.kind == Kind::Write {
            self.window.leave(access.length);
            self.admit_waiting(now, out);
        }
        Completion { access, entered, submitted }
    }

    /// Lets the oldest waiting writes in while the window admits them; nobody overtakes.
    fn admit_waiting(&mut self, now: Time, out: &mut Vec<Submission>) {
        while let Some(&id) = self.waiting.front() {
            let pending = self.pending.at_mut(id);
            if !self.window.admits(pending.access.length) {
                return;
            }
            self.window.enter(pending.access.length);
            pending.submitted = now;
            out.push(submission(id, &pending.access));
            self.waiting.pop_front();
        }
    }

    /// How many writes wait for the window.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What is in flight through the window.
    pub fn in_flight(&self) -> (Bytes, u32) {
        self.window.in_flight()
    }
}

fn submission<T>(id: RequestId, access: &Access<T>) -> Submission {
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
    Submission { id, request }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(length: Bytes, token: u32) -> Access<u32> {
        Access {
            kind: Kind::Write,
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
            Access { kind: Kind::Read, ..write(Bytes::from_kib(4), 3) },
            &mut out,
        );
        let sent: Vec<u64> = out.iter().map(|s| s.request.length.get()).collect();
        assert_eq!((sent, store.waiting()), (vec![4 << 20, 4096], 1));

        let first = out[0].id;
        out.clear();
        let done = store.done(Time::from_nanos(9), first, &mut out);
        assert_eq!((done.access.token, out.len(), store.waiting()), (1, 1, 0));
        let second = out[0].id;
        let done = store.done(Time::from_nanos(20), second, &mut out);
        assert_eq!((done.entered, done.submitted), (Time::ZERO, Time::from_nanos(9)));
    }
}
