//! vhost-user as a device's side speaks it: a machine's memory ([`MachineMemory`]), the rings that lie in it ([`MachineRing`]), and the
//! talk about both over a socket ([`DeviceTalk`], [`ControlSocket`]). The modelled drive and the node stand on it, each with a device of its own.
//!
//! **Whose word counts.** What stands in the memory is a guest's: it may make no sense, and may change while it is read. Every address and index is
//! checked where it is used, and what a decision is made by is copied once. The process that runs the guest hands its memory over as files, and
//! is trusted as far as its user is who may open the socket: one that makes such a file shorter ends whoever has it mapped.
//!
//! This crate may not know what a request in a ring means, nor who waits for what, and it never waits itself unless it is told to.

mod inflight;
mod memory;
mod ring;
mod socket;
mod talk;

pub use inflight::InflightError;
pub use memory::{MachineMemory, MemoryError, OutsideMemory, Segments};
pub use ring::{BrokenRing, MachineRing, RingRequest};
pub use socket::{ControlSocket, ReceivedMessage, SocketError};
pub use talk::{DeviceOffer, DeviceTalk, OwedReply, ServedRings, TalkError};
