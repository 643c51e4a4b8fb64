//! An op on its way through the store.

use super::super::api::{
    Ask, LostEnds, Op, OpError, OpLane, PastDamage, Ranges, RoomClaim, Stages,
};
use super::super::change::{Change, LostPage};
use super::super::contents::{Carried, DataPage, QueryFindings};
use super::super::ids::{Lsn, PageNo};
use super::super::options::LogMode;
use super::super::space::PageRun;
use super::super::wait::Wait;
use super::rereading::Rereading;
use crate::objects::Version;
use loadline_base::{SlotId, Span, Time};
use loadline_device::ClassTag;

/// What an op still has to do.
#[derive(Clone, Debug)]
pub(super) enum OpWork {
    /// As it was asked.
    Asked(Ask),
    /// Changes whose own data is written or needs no writing.
    Changes(Vec<Change<'static>>),
    /// Bytes of an object that come from the device, or a digest over them.
    Reading(Box<Reading>),
    /// Pages of the store's own making that are read again.
    Rereading(Box<Rereading>),
}

/// An object's bytes on the way from the device.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub ask: Ask,
    /// From the beginning of the first page, or of a sparse read the pages of `sparse` one after the other.
    pub bytes: Vec<u8>,
    /// What is asked, in bytes of the object, cut at its end.
    pub range: std::ops::Range<u64>,
    /// Pages of one request each, and where they belong in `bytes`.
    pub pieces: Vec<Vec<DataPage>>,
    pub left: usize,
    /// Of a sparse read: where the object differs, and the indices of the pages that it reads.
    pub sparse: Option<(Ranges, Vec<u64>)>,
    /// A page was not what it should be: it may have been written meanwhile.
    pub spoiled: Option<DataPage>,
    pub unreadable: bool,
}

impl Reading {
    /// Where a page of the object stands in the bytes, in pages.
    pub(super) fn place_of(&self, index: u64, page_bytes: u64) -> usize {
        match &self.sparse {
            Some((_, pages)) => {
                pages.binary_search(&index).expect("it is one of those that are read")
            }
            None => (index - self.range.start / page_bytes) as usize,
        }
    }
}

/// What was said with an op, of updates alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpTerms {
    /// When it may be answered.
    pub promise: LogMode,
    /// A page of data that cannot be read does not keep it from being carried out; what becomes of that page then.
    pub past: Option<PastDamage>,
    /// What becomes of it if the device is full.
    pub claim: RoomClaim,
}

impl OpTerms {
    pub(super) fn promising(promise: LogMode) -> OpTerms {
        OpTerms { promise, past: None, claim: RoomClaim::Asked }
    }
}

/// An op. It moves from queue to queue, so what only few ops have is kept apart.
#[derive(Clone, Debug)]
pub(super) struct RunningOp<T> {
    pub token: T,
    pub lane: Option<OpLane>,
    pub class: ClassTag,
    pub wait: Wait,
    pub terms: OpTerms,
    /// The throttle has let it pass.
    pub admitted: bool,
    /// How long it stood behind others of its lane.
    pub in_lane: Span,
    pub stages: Stages,
    /// Where its record ends, once a part of it is carried out.
    pub record: Lsn,
    pub work: OpWork,
    pub journey: Option<Box<Journey>>,
}

/// What an op has that did not go straight through.
#[derive(Clone, Debug, Default)]
pub(super) struct Journey {
    /// How far it is carried out, if it is in part.
    pub progress: Option<Carried>,
    /// Pages kept for it.
    pub pins: Vec<PageNo>,
    /// They are what the way to its next mark needs, and nothing that comes behind.
    pub pins_are_nearest: bool,
    /// Requests that it waits for.
    pub left: u32,
    /// One of them failed so.
    pub failed: Option<OpError>,
    /// Pages of data that it needs and cannot have.
    pub bad_pages: Vec<BadPage>,
    /// Of them those that are gone by, and of which it is not decided what becomes of them, or not done.
    pub passed: Vec<PassedPage>,
    /// Pages taken for its own data, given back if it fails.
    pub own: Vec<PageRun>,
    /// Its own data's requests, as long as it has not been seen that they are over.
    pub own_writes: Option<SlotId>,
    /// How often a page could not be read for it.
    pub retries: u32,
    /// What a query that goes in parts has found, and how much that was when it last let its pages go.
    pub found: QueryFindings,
    pub measured: u64,
    /// It needs more pages than may be kept for it.
    pub in_parts: bool,
    /// Updates wait for it.
    pub holds_updates: bool,
    /// Of an update that goes in steps: it is being looked through, or how many pages it takes at most.
    pub survey: Looking,
    /// Since when it has waited for room on the device.
    pub without_room_since: Option<Time>,
    /// How often it has read what was changed meanwhile.
    pub replans: u32,
    /// Of a read inside one page that is on its way.
    pub awaited: Option<AwaitedBytes>,
    /// Of a digest.
    pub digested: Digested,
}

/// All that a read asks for, where one page has it. What the device gives of the page is what the read has seen of the store, if its
/// checksum says so, and nothing has to be looked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct AwaitedBytes {
    pub page: DataPage,
    /// The first of them in the page, and how many.
    pub from: usize,
    pub length: usize,
}

impl AwaitedBytes {
    /// What is asked for of the page's bytes.
    pub(super) fn of(self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.drain(..self.from);
        bytes.truncate(self.length);
        bytes
    }
}

/// A page that an update goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedPage {
    pub page: LostPage,
    /// What of the update would be in it.
    pub ends: LostEnds,
    /// The object's version after the update.
    pub version: Version,
    /// It is lost, and has no place yet. Otherwise its owner is asked about it before the update is carried out.
    pub is_lost: bool,
}

/// A page of data that could not be had.
#[derive(Clone, Copy, Debug)]
pub(super) struct BadPage {
    pub page: DataPage,
    /// It is there, and is not what it should be. Otherwise the device does not give it now.
    pub is_damaged: bool,
}

/// What is kept in memory for an op.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptPages {
    pub count: usize,
    /// No pages are asked for ahead.
    pub are_nearest: bool,
}

impl Journey {
    /// What is kept for it.
    pub(super) fn kept(&self) -> KeptPages {
        KeptPages { count: self.pins.len(), are_nearest: self.pins_are_nearest }
    }
}

/// Whether an update that goes in steps was looked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Looking {
    /// It may be one step.
    #[default]
    NotYet,
    /// It goes on when pages are there.
    UnderWay,
    /// Everything that it looks at can be read, and it takes at most so many pages of the device.
    Over(u64),
}

/// How far a digest is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digested {
    /// The next byte of the object.
    pub next: u64,
    /// The digest up to there.
    pub sum: u32,
    /// All bytes are in it.
    pub is_whole: bool,
}

impl<T> RunningOp<T> {
    /// An op that has just come.
    pub(super) fn new(now: Time, op: Op<T>, terms: OpTerms) -> RunningOp<T> {
        let stages = Stages::at(now);
        RunningOp {
            token: op.token,
            lane: op.lane,
            class: op.class,
            wait: Wait::Nothing,
            terms,
            admitted: false,
            in_lane: Span::ZERO,
            stages,
            record: Lsn(0),
            work: OpWork::Asked(op.ask),
            journey: None,
        }
    }

    /// It has its turn: what it waited for is over.
    pub(super) fn goes_on(&mut self, now: Time) {
        let wait = std::mem::replace(&mut self.wait, Wait::Nothing);
        if wait == Wait::Lane {
            self.in_lane = now.since(self.stages.submitted);
        }
        self.stages.longest.over(now, wait);
    }

    /// What is known of an update's steps.
    pub(super) fn survey(&self) -> Looking {
        self.journey.as_ref().map_or(Looking::NotYet, |journey| journey.survey)
    }

    /// Whether updates wait for it.
    pub(super) fn holds_updates(&self) -> bool {
        self.journey.as_ref().is_some_and(|journey| journey.holds_updates)
    }

    /// Whether its owner is to be asked about pages that it goes by.
    pub(super) fn is_in_doubt(&self) -> bool {
        let mut passed = self.journey.iter().flat_map(|journey| &journey.passed);
        passed.any(|passed| !passed.is_lost)
    }

    /// Whether a part of it is carried out.
    pub(super) fn is_begun(&self) -> bool {
        self.journey.as_ref().is_some_and(|journey| journey.progress.is_some())
    }

    /// Since when it has waited for room on the device.
    pub(super) fn without_room_since(&self) -> Option<Time> {
        self.journey.as_ref().and_then(|journey| journey.without_room_since)
    }

    /// What it has found, if it is a query that goes in parts.
    pub(super) fn take_found(&mut self) -> QueryFindings {
        let journey = self.journey.as_mut();
        journey.map_or_else(QueryFindings::default, |journey| std::mem::take(&mut journey.found))
    }

    /// What it has had to wait for.
    pub(super) fn journey(&mut self) -> &mut Journey {
        self.journey.get_or_insert_default()
    }
}
