//! What other threads send to a loop.

use super::admin::DiskReady;
use super::direct_client::DirectAsk;
use super::rack_disks::RackDisks;
use crate::{DiskOpenError, Loop, OpenedDisk};
use loadline_device::Outcome;
use loadline_node::{LifeNotice, RackEvent};
use loadline_osd::{Effect, OsdId};
use std::fmt;

/// Mail from other threads.
#[derive(Debug)]
pub enum Mail {
    /// End as SIGTERM does.
    Stop,
    /// The client in this process asks for something.
    Direct(DirectAsk),
    /// A disk that was asked for is open.
    Disk(Box<DiskReady>),
    /// What is at an OSD's path is open.
    Opened(Box<DiskOpened>),
    /// A damaged disk is empty now.
    Emptied(Box<DiskEmptied>),
    /// From another loop of the node.
    Rack(RackMail),
}

/// What has come of opening what is at an OSD's path.
#[derive(Debug)]
pub struct DiskOpened {
    pub(super) osd: OsdId,
    /// Which of the openings it was.
    pub(super) number: u64,
    pub(super) disk: Result<OpenedDisk, DiskOpenError>,
}

/// What has become of a disk that was to be made empty.
#[derive(Debug)]
pub struct DiskEmptied {
    pub(super) osd: OsdId,
    pub(super) disk: Result<OpenedDisk, String>,
}

/// What the loops of a node send each other.
pub enum RackMail {
    /// Events for OSDs of the rack.
    Events(Vec<RackEvent>),
    /// What a rack has for the owner's loop after a turn.
    From(Box<FromRack>),
    /// Something to be done on the loop of a rack, about its disks.
    Do(DiskWork),
    /// The node ends.
    End,
}

/// Work on a loop's disks.
pub(super) type DiskWork = Box<dyn FnOnce(&mut Loop<Mail>, &mut RackDisks) + Send>;

/// What a rack has for the owner's loop after a turn.
#[derive(Debug, Default)]
pub struct FromRack {
    /// What its OSDs have told the owner of the map.
    pub(super) told: Vec<LifeNotice>,
    /// Replies, and whatever else is for who serves clients.
    pub(super) effects: Vec<Effect>,
    /// Requests that failed, with the system's error, or found no room.
    pub(super) troubles: Vec<(OsdId, Outcome, Option<i32>)>,
    /// OSDs that have closed their disks, of which nothing is in flight any more.
    pub(super) rested: Vec<OsdId>,
}

impl FromRack {
    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        let FromRack { told, effects, troubles, rested } = self;
        told.is_empty() && effects.is_empty() && troubles.is_empty() && rested.is_empty()
    }
}

impl fmt::Debug for RackMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RackMail::Events(_) => "events",
            RackMail::From(_) => "what a rack has told",
            RackMail::Do(_) => "work on disks",
            RackMail::End => "the end",
        })
    }
}
