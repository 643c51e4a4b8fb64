//! What other threads send to the loop.

use super::admin::DiskReady;
use super::direct_client::DirectAsk;
use crate::OpenedDisk;
use loadline_osd::OsdId;

/// Mail from other threads.
#[derive(Debug)]
pub enum Mail {
    /// End as SIGTERM does.
    Stop,
    /// The client in this process asks for something.
    Direct(DirectAsk),
    /// A disk that was asked for is open.
    Disk(Box<DiskReady>),
    /// A damaged disk is empty now.
    Emptied(Box<DiskEmptied>),
}

/// What has become of a disk that was to be made empty.
#[derive(Debug)]
pub struct DiskEmptied {
    pub(super) osd: OsdId,
    pub(super) disk: Result<OpenedDisk, String>,
}
