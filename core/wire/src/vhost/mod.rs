//! vhost-user as the device's side speaks it (docs/virtual-drive.md has the tables): the messages by which a machine hands its
//! memory and its queues over, and the layouts of virtio-scsi that then stand in those queues. Descriptors that travel beside
//! a message are its transport's; here only their number is known.

mod message;
mod scsi;

pub use message::{
    DeviceConfig, HEADER_BYTES, MemoryRegion, MessageHead, PAYLOAD_BYTES_MAX, RingAddresses,
    VhostError, VhostRequest, reply, ring_call,
};
pub use scsi::{
    CONTROL_BYTES, ControlRequest, DeviceResponse, REQUEST_BYTES, RESPONSE_BYTES, ScsiRequest,
    ScsiResponse, TaskFunction,
};
