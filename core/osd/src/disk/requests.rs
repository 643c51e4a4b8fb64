//! The requests of a paged store between it and its device: those that wait for their turn in a queue like any other work, those
//! that the device has, and those that it had no room for.

use super::room::WaitForRoom;
use loadline_base::{SlotId, Slots, Time};
use loadline_device::Request;
use loadline_store::paged::{Io, IoId, StoreDevice};

/// What is needed to send a request again; a write comes back with its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub target: StoreDevice,
    pub request: Request,
}

/// All of them.
#[derive(Default)]
pub(crate) struct DiskRequests {
    queued: Slots<Io>,
    /// How many the device has and has not answered, those that it had no room for among them.
    at_device: u32,
    /// The same by the slots of their ids.
    sent: Vec<Option<Sent>>,
    for_room: WaitForRoom,
}

impl DiskRequests {
    /// A request waits for its turn.
    pub(crate) fn queue(&mut self, io: Io) -> SlotId {
        self.queued.acquire(io)
    }

    /// Those that wait for their turn.
    pub(crate) fn queued(&self) -> impl Iterator<Item = (SlotId, &Io)> {
        self.queued.iter()
    }

    /// The one of them in the first slot.
    pub(crate) fn first_queued(&self) -> Option<SlotId> {
        self.queued.iter().next().map(|(slot, _)| slot)
    }

    /// It is a request's turn; `None` if it went before.
    pub(crate) fn take_queued(&mut self, slot: SlotId) -> Option<Io> {
        self.queued.get(slot)?;
        Some(self.queued.release(slot))
    }

    /// The device gets a request.
    pub(crate) fn send(&mut self, io: &Io) {
        self.at_device += 1;
        self.send_again(io);
    }

    /// The device gets a request again that it has not carried out.
    pub(crate) fn send_again(&mut self, io: &Io) {
        let place = io.id.0.get() as usize;
        if self.sent.len() <= place {
            self.sent.resize(place + 1, None);
        }
        self.sent[place] = Some(Sent { target: io.target, request: io.request });
    }

    /// What was sent under an id and comes back now.
    pub(crate) fn take_sent(&mut self, id: IoId) -> Sent {
        let sent = self.sent.get_mut(id.0.get() as usize).and_then(Option::take);
        sent.expect("a device answers what it was asked, once")
    }

    /// The device has carried a request out, or never will.
    pub(crate) fn ended(&mut self, id: IoId) {
        self.for_room.answered(id.0);
        self.at_device -= 1;
    }

    /// The device had no room for a write. Answers when it is to be asked again, if that is not known yet.
    pub(crate) fn hold_for_room(&mut self, now: Time, io: Io) -> Option<Time> {
        self.for_room.hold(now, io)
    }

    /// The writes that the device is to be asked again.
    pub(crate) fn take_for_room(&mut self) -> Vec<Io> {
        self.for_room.take()
    }

    /// How many writes the device has no room for.
    pub(crate) fn waits_for_room(&self) -> usize {
        self.for_room.count()
    }

    /// How many the device has.
    pub(crate) fn at_device(&self) -> u32 {
        self.at_device
    }
}
