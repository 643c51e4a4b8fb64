//! vhost-user as the device's side speaks it (docs/virtual-drive.md has the tables): the messages by which a machine hands its
//! memory and its queues over, and the layouts of virtio-scsi and virtio-blk that then stand in those queues. Descriptors that travel beside
//! a message are its transport's; here only their number is known.

mod blk;
mod message;
mod scsi;

pub use blk::{
    BLK_HEADER_BYTES, BLK_RANGE_BYTES, BLK_ZERO_BYTES_MAX, BlkCommand, BlkConfig, BlkDisk,
    BlkHeader, BlkRange, BlkShape, BlkStatus,
};
pub use message::{
    HEADER_BYTES, InflightArea, MemoryRegion, MessageEffect, MessageHead, PAYLOAD_BYTES_MAX,
    RingAddresses, VhostError, VhostRequest, config_changed, config_reply, reply, ring_call,
};
pub use scsi::{
    CONTROL_BYTES, ControlRequest, DeviceResponse, REQUEST_BYTES, RESPONSE_BYTES, ScsiConfig,
    ScsiRequest, ScsiResponse, TaskFunction,
};
