//! What passes between the owner of the map and an OSD. They know each other by this alone: both ways it is a list in order, and
//! what stands in one may have been overtaken by what is on its way in the other.
//!
//! So peering is a conversation. A [`Directive::Query`] ends a placement group's interval on an OSD, whose copy stands still from
//! then on, and is answered by all that the next interval is decided from ([`Notice::Copy`]). Who takes part in that gets a
//! [`Directive::Activate`] and says so ([`Notice::Joined`]); the primary gets it last, so that nothing reaches a member that does not
//! know the interval yet.

use crate::disk::Identity;
use crate::ids::{IntervalId, OsdId, OsdSet, PgId};
use crate::message::{Activation, Data};
use crate::pg::CopyReport;
use crate::policy::{OsdOptions, Policy};
use crate::scrub::ScrubRequest;
use crate::snapshots::Views;
use crate::tenants::TenantTable;
use loadline_base::Bytes;
use loadline_store::ObjectNo;
use loadline_store::paged::ids::{PageNo, StoreId};
use loadline_store::paged::{Exceeded, Fault, LogMode};
use std::sync::Arc;

/// What the owner of the map tells an OSD to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Stop as a crash does: what is queued or in flight is gone, what was written stays. Begins the OSD's next life.
    Crash,
    /// Open the disk, which has this size. [`Notice::Opened`] or [`Notice::Stopped`] says how it ended.
    Open(Bytes),
    /// Take part: hear others' messages.
    Join,
    /// Go by new settings from now on.
    Configure(Box<(Policy, OsdOptions)>),
    /// The same before taking part in anything, with those that are read at the start.
    Renew(Box<(Policy, OsdOptions)>),
    /// Show ops the images like this.
    ShowImages(Arc<Views>),
    /// Let the images share what clients get by these terms.
    ShareImages(Arc<TenantTable>),
    /// Whether to refuse backfills, for want of room.
    SetBackfillFull(bool),
    /// Keep who this disk is.
    Identify(Identity),
    /// Keep this map, of this epoch.
    SaveMap(u32, Data),
    /// Make everything durable that was answered, and say so under this number.
    Sync(u32),
    /// End a placement group's interval, and tell the copy. The number comes back with the answer.
    Query(PgId, u32),
    /// Begin a placement group's new interval.
    Activate(PgId, Box<Activation>),
    /// This interval of a placement group that the OSD leads counts: what changes objects may begin. Clients' ops come from now on.
    Serve(PgId, u32),
    /// End a placement group's interval, which was the last. The copy stays as it is.
    Deactivate(PgId),
    /// A placement group has left this OSD: delete its objects, if there are some, as background work.
    Retire(PgId),
    /// Compare all copies of a placement group that this OSD leads.
    Scrub(PgId, ScrubRequest),
    /// An operator gives up the objects of a placement group that nobody can give: each becomes the newest that is left of it.
    GiveUpUnfound(PgId),
    /// Others that would have made a copy whole are given up: what is here counts as everything from this interval on.
    TakeAsWhole(PgId, IntervalId),
    /// What a copy lacks of these objects will never come: they count as they are here.
    TakeAsHere(PgId, Vec<ObjectNo>),
}

/// What an OSD tells the owner of the map.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The disk is open and read.
    Opened(Box<Opened>),
    /// The disk is of no use any more. Which store it holds is told where that could be read.
    Stopped(DiskFault, Option<StoreId>),
    /// How much room the disk has now.
    Room(DiskRoom),
    /// The copy of a placement group, if there is one, as it stands still since this question, and durable.
    Copy(PgId, u32, Option<Box<CopyReport>>),
    /// The copy takes part in this interval.
    Joined(PgId, u32),
    /// Its part in this interval is on its disk, and durable.
    Activated(PgId, u32),
    /// This OSD leads the placement group in this interval, and these objects, in their order, can be read nowhere.
    Unfound(PgId, u32, Vec<ObjectNo>),
    /// This OSD leads the placement group in this interval, and these OSDs lack objects of it or pages of them, as far as was found out since the
    /// interval began.
    Lacking(PgId, u32, OsdSet),
    /// This OSD leads the placement group in this interval, and of these OSDs' copies its scrubs have found something bad, and not found it good since.
    FoundBad(PgId, u32, OsdSet),
    /// Every copy of this placement group is complete and nothing is in flight, as of this interval, which is to end now.
    Recovered(PgId, u32),
    /// Who this disk is is on it, with this term, and durable.
    Identified(u64),
    /// The map of this epoch is on this OSD's disk, and durable.
    MapSaved(u32),
    /// A scrub has found that this page of the store's own making is bad on the disk, and it is nowhere else there.
    Rotten(PageNo),
    /// Everything that was answered before is durable on this OSD.
    Synced(u32),
}

/// What a disk told when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Which store it holds.
    pub store: Option<StoreId>,
    /// Behind the last record of its log, in bytes since the store was made: of two copies of one store the newer is further.
    pub logged: u64,
    /// When it answers what it is asked to write.
    pub log_mode: LogMode,
    /// Who it is; `None` if nobody has said so yet.
    pub identity: Option<Identity>,
    /// The map that it keeps.
    pub map: Option<Vec<u8>>,
    /// The copies that it has.
    pub copies: Vec<(PgId, CopyReport)>,
}

/// The room on a disk, as far as others go by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskRoom {
    /// Pages that are free, in whole percent; `None` while the disk is closed, or has no bound.
    pub free_percent: Option<u32>,
    /// All pages.
    pub bytes: Bytes,
    /// Writes that the device has no room for. They are asked for again until it has.
    pub waiting: usize,
}

impl DiskRoom {
    /// Whether less than this share of the pages is free, in percent, or there is no room even for what the disk has.
    pub fn is_below(&self, share: u32) -> bool {
        self.is_below_with(share, Bytes::default())
    }

    /// The same when so many bytes more have been written.
    pub fn is_below_with(&self, share: u32, more: Bytes) -> bool {
        let taken = more.get().saturating_mul(100).div_ceil(self.bytes.get().max(1));
        let least = u64::from(share).saturating_add(taken);
        self.waiting > 0 || self.free_percent.is_some_and(|free| u64::from(free) < least)
    }
}

/// Why an OSD is left out although its disk could be reached, until somebody opens it again. What keeps a disk from being
/// reached at all is its world's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The store has stopped.
    Store(Fault),
    /// What stands under an OSD's keys is not what an OSD writes.
    Contents,
    /// The disk holds nothing: an operator must say that it is to be filled.
    Empty,
    /// What the OSD keeps is of a later format than this program knows. It is sound, and left as it is.
    NewerFormat(u32),
    /// The disk is another cluster's.
    OtherCluster,
    /// The disk is another OSD's of this cluster.
    OtherOsd(OsdId),
    /// The disk is this OSD's as it was once: the OSD has served since from a disk that knew more.
    Stale(OsdId),
    /// The disk is this OSD's, which an operator gave up as lost; the others have gone on without it, and what it says has no place in
    /// their history.
    GivenUp(OsdId),
    /// The disk is a copy of this OSD's, to the last byte of the log, and the OSD has the other one.
    Copy(OsdId),
    /// The disk says that it is this OSD's, and so does another one, and nothing tells which of them it last served from.
    Twice(OsdId),
    /// The device could not write.
    Unwritable,
    /// The device could not read what other copies need.
    Unreadable,
    /// It could not read what stands around an update whose interval has ended since, so nobody says what becomes of it. The disk has
    /// nothing of it, and is as good as it was.
    InDoubt,
    /// A page of the store's own making is bad on the disk.
    Rotten(PageNo),
    /// What the OSD owes found no room on the disk for a while. What it has is as good as it was.
    Full,
    /// What the OSD must write down is larger than its store takes.
    Exceeds(Exceeded),
}

impl std::fmt::Display for DiskFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiskFault::Store(fault) => fault.fmt(f),
            DiskFault::Contents => {
                f.write_str("the disk holds no state of an OSD that can be read")
            }
            DiskFault::NewerFormat(format) => write!(
                f,
                "what the OSD keeps is of format {format}, which a newer program wrote: start the node with that one"
            ),
            DiskFault::Empty => f.write_str("the disk is empty; `loadline osd replace` fills it"),
            DiskFault::OtherCluster => f.write_str("the disk belongs to another cluster"),
            DiskFault::OtherOsd(osd) => {
                write!(f, "the disk is {osd}'s: swap them, or correct their paths")
            }
            DiskFault::Stale(osd) => write!(
                f,
                "the disk is an old copy of {osd}'s: bring back the one that {osd} served from last, or fill one with `loadline osd replace`"
            ),
            DiskFault::GivenUp(osd) => write!(
                f,
                "{osd}'s disk was given up as lost, and what it held is not believed any more: `loadline osd replace` lets the others fill an empty disk"
            ),
            DiskFault::Copy(osd) => write!(
                f,
                "the disk is a copy of {osd}'s, which serves from another one: bring back the one that was here, or fill one with `loadline osd replace`"
            ),
            DiskFault::Twice(osd) => write!(
                f,
                "two disks say that they are {osd}'s, and neither is known to be the older: take the wrong one away"
            ),
            DiskFault::Unwritable => f.write_str("the device could not write"),
            DiskFault::Unreadable => f.write_str("an object that other copies need cannot be read"),
            DiskFault::InDoubt => f.write_str(
                "an update that could not be read around had no end when its interval had",
            ),
            DiskFault::Rotten(page) => {
                write!(f, "a scrub has found {page} of its store bad on the disk")
            }
            DiskFault::Full => f.write_str("what the OSD owes has found no room on the disk"),
            DiskFault::Exceeds(exceeded) => exceeded.fmt(f),
        }
    }
}
