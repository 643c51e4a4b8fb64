//! What can happen in the simulated world.

use loadline_base::{SlotId, Time};
use loadline_osd::{Envelope, OsdId, Reply, WorkerRun};
use loadline_store::RequestId;
use loadline_store::paged::Io;

/// An event of virtual time. Many wait at a time, so what is large in one stays where it was made.
#[derive(Debug)]
pub enum SimEvent {
    /// A message reaches its OSD.
    Arrive(Box<Envelope>),
    /// A worker has computed.
    Computed(OsdId, WorkerRun),
    /// A processor has worked at a piece for a slice.
    SliceOver(SlotId),
    /// A message is ready, and leaves.
    Leave(Box<Envelope>),
    /// A drive answers the request in service.
    DriveDone(OsdId, RequestId),
    /// A drive answers a read that it served beside the line.
    ReadDone(OsdId, RequestId),
    /// Something happens inside a mechanical drive.
    DriveStep(OsdId, Time),
    /// A request of a life of a store that no disk ever sees is answered as if it had been carried out.
    Lost(OsdId, u32, Box<Io>),
    /// A write of a life of a store that found no room is asked for again.
    NoRoom(OsdId, u32, Box<Io>),
    /// A reply reaches its client.
    Replied(Box<Reply>),
    /// The load wanted to be woken.
    LoadWake(Time),
}
