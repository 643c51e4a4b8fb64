//! Every kind of work that an OSD queues: its priority, its class and its cost in bytes, per era.
//!
//! This is the table of qos.md 1.2 and 1.3 as code. Erasure-coded pools have further kinds, which the engine
//! does not have. The engine has two additions, both background work in the best-effort class of every era: the checkpoint,
//! charged the bytes that it writes (a flush, which has none, costs what the era's rule asks of any request), and the
//! operations of a client that declares them as background work, charged as any client's are.

use crate::{CostUnit, Era, SchedulerKind, ServiceClass};

/// Network message priorities.
mod message {
    /// Unless a kind says otherwise.
    pub(super) const DEFAULT: u32 = 127;
    /// Acknowledgements; also the high cut-off.
    pub(super) const HIGH: u32 = 196;
}

/// A kind of work item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// A client's read or write.
    ClientOp,
    /// The same, of a client that wants only what others leave: an integrity check, a copy, an export.
    BackgroundOp,
    /// A primary's write arriving at a replica.
    ReplicaWrite,
    /// A replica's answer to its primary.
    ReplicaAck,
    /// A PG state machine's event.
    PeeringEvent,
    /// "Start recovering so many objects of this PG", on the primary.
    RecoveryItem,
    /// What follows when a pull is complete, on the primary.
    RecoveryContinuation,
    /// Objects arriving at their target.
    Push,
    /// A target's answer to a push.
    PushReply,
    /// A primary's request for objects that it lacks.
    Pull,
    /// A request for, or an answer with, a target's list of objects.
    BackfillScan,
    /// "So far all is copied", and the end of a backfill.
    BackfillProgress,
    /// "These objects are gone", to a backfill target.
    BackfillRemove,
    /// A step of a scheduled scrub.
    ScrubEvent,
    /// A step of a scrub that an operator asked for.
    RequestedScrubEvent,
    /// A step of a scrub that client writes wait for.
    BlockingScrubEvent,
    /// What OSDs tell each other of a scrub, on arrival: a request for a replica's map, and the map.
    ScrubMessage,
    /// The next clones of a removed snapshot.
    SnapTrim,
    /// The next objects of a removed PG.
    PgDelete,
    /// A write, flush or discard of a store's checkpoint.
    Checkpoint,
}

impl Work {
    /// Whether it is a step of a scrub.
    pub const fn is_scrub(self) -> bool {
        matches!(self, Work::ScrubEvent | Work::RequestedScrubEvent | Work::BlockingScrubEvent)
    }

    /// Every kind.
    pub const ALL: [Work; 20] = [
        Work::ClientOp,
        Work::BackgroundOp,
        Work::ReplicaWrite,
        Work::ReplicaAck,
        Work::PeeringEvent,
        Work::RecoveryItem,
        Work::RecoveryContinuation,
        Work::Push,
        Work::PushReply,
        Work::Pull,
        Work::BackfillScan,
        Work::BackfillProgress,
        Work::BackfillRemove,
        Work::ScrubEvent,
        Work::RequestedScrubEvent,
        Work::BlockingScrubEvent,
        Work::ScrubMessage,
        Work::SnapTrim,
        Work::PgDelete,
        Work::Checkpoint,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Work::ClientOp => "client op",
            Work::BackgroundOp => "background op",
            Work::ReplicaWrite => "replica write",
            Work::ReplicaAck => "replica ack",
            Work::PeeringEvent => "peering event",
            Work::RecoveryItem => "recovery item",
            Work::RecoveryContinuation => "recovery continuation",
            Work::Push => "push",
            Work::PushReply => "push reply",
            Work::Pull => "pull",
            Work::BackfillScan => "backfill scan",
            Work::BackfillProgress => "backfill progress",
            Work::BackfillRemove => "backfill remove",
            Work::ScrubEvent => "scrub event",
            Work::RequestedScrubEvent => "requested scrub event",
            Work::BlockingScrubEvent => "blocking scrub event",
            Work::ScrubMessage => "scrub message",
            Work::SnapTrim => "snapshot trim",
            Work::PgDelete => "PG delete",
            Work::Checkpoint => "checkpoint",
        }
    }
}

/// What a piece of work needs recovery for; from E2 on it decides the class (qos.md 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// The copies are enough, but not where placement wants them.
    #[default]
    Misplaced,
    /// Some copies are missing or old.
    Degraded,
    /// The acting set is smaller than the pool's size.
    Undersized,
    /// An operator forced it.
    Forced,
    /// A client operation waits for the object.
    ClientWaits,
}

impl Urgency {
    /// The priority number of the PG's recovery messages under mClock from E2 on.
    pub const fn message_priority(self) -> u32 {
        match self {
            Urgency::Misplaced => 5,
            Urgency::Degraded => 10,
            Urgency::Undersized => 15,
            Urgency::Forced => 20,
            Urgency::ClientWaits => message::HIGH,
        }
    }

    /// The class of such a message.
    pub const fn class(self) -> ServiceClass {
        match self.message_priority() {
            message::HIGH.. => ServiceClass::Immediate,
            10.. => ServiceClass::Recovery,
            _ => ServiceClass::BestEffort,
        }
    }
}

/// How big a piece of work is. A kind uses the fields that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkSize {
    /// Bytes that the item carries (data and omap). A read carries none.
    pub payload: u64,
    /// Bytes that a client's read asks for; the published eras do not charge them.
    pub read: u64,
    /// Objects that a push, a push reply or a pull names, pushes promised to a recovery item, objects of a scrub's chunk, those that a trim
    /// item trims, or those that went with the deletion item before; 0 for the steps of a scrub that name none.
    pub objects: u32,
    /// Average size of the PG's objects, bytes; of a scrub's chunk only where it is deep.
    pub object_size_average: u64,
    /// Bytes that a pull has still to fetch, or that a continuation is about to push.
    pub remaining: u64,
    /// Why the objects are recovered.
    pub urgency: Urgency,
}

/// The options that priorities and costs depend on, named as the settings are, without `osd_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkOptions {
    /// 1 to 63
    pub client_op_priority: u32,
    /// strict under any cut-off
    pub peering_op_priority: u32,
    /// of recovery items
    pub recovery_priority: u32,
    /// of recovery messages; a pool may replace it
    pub recovery_op_priority: u32,
    /// of scheduled scrubs; a pool may replace it
    pub scrub_priority: u32,
    /// of an operator's scrubs
    pub requested_scrub_priority: u32,
    /// of trim items
    pub snap_trim_priority: u32,
    /// of deletion items
    pub pg_delete_priority: u32,
    /// bytes
    pub recovery_cost: u64,
    /// bytes
    pub push_per_object_cost: u64,
    /// bytes
    pub recovery_max_chunk: u64,
    /// bytes
    pub scrub_cost: u64,
    /// bytes, from E2 on; in E2+ of the steps that name no chunk
    pub scrub_event_cost: u64,
    /// objects, from E2 on
    pub shallow_scrub_chunk_max: u32,
    /// bytes
    pub snap_trim_cost: u64,
    /// objects per trim item
    pub pg_max_concurrent_snap_trims: u32,
    /// bytes
    pub pg_delete_cost: u64,
}

impl Default for WorkOptions {
    /// The compiled-in values (qos.md 1.2, 10.2 and 11).
    fn default() -> WorkOptions {
        WorkOptions {
            client_op_priority: 63,
            peering_op_priority: 255,
            recovery_priority: 5,
            recovery_op_priority: 3,
            scrub_priority: 5,
            requested_scrub_priority: 120,
            snap_trim_priority: 5,
            pg_delete_priority: 5,
            recovery_cost: 20 << 20,
            push_per_object_cost: 1_000,
            recovery_max_chunk: 8 << 20,
            scrub_cost: 50 << 20,
            scrub_event_cost: 4 << 10,
            shallow_scrub_chunk_max: 100,
            snap_trim_cost: 1 << 20,
            pg_max_concurrent_snap_trims: 2,
            pg_delete_cost: 1 << 20,
        }
    }
}

/// Of a checkpoint's requests and of declared background operations. The published stores write beside their queue and
/// know no such clients, so no era has a number for either; this is the one of scrub, trim and deletion.
const BACKGROUND_PRIORITY: u32 = 5;

/// How a piece of work enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Its class under mClock.
    pub class: ServiceClass,
    /// Its priority: WPQ's ticket; strict at or above the cut-off.
    pub priority: u32,
    /// Its cost in bytes, before mClock scales it.
    pub bytes: u64,
}

impl Charge {
    /// The row of the table for `work`, as `era` filled it for `scheduler`.
    pub fn published(
        era: Era,
        scheduler: SchedulerKind,
        work: Work,
        size: &WorkSize,
        options: &WorkOptions,
    ) -> Charge {
        let first_eras = Charge {
            class: class_e1(work),
            priority: priority(work, options),
            bytes: bytes_e1(work, size, options),
        };
        match (scheduler, era.unit()) {
            (SchedulerKind::Mclock, CostUnit::Bytes) => Charge {
                class: class_e2(work, size.urgency),
                priority: priority_e2(work, size.urgency).unwrap_or(first_eras.priority),
                bytes: bytes_e2(era, work, size, options).unwrap_or(first_eras.bytes),
            },
            (_, CostUnit::Bytes) => Charge {
                bytes: scrub_bytes_e2_plus(era, work, size, options).unwrap_or(first_eras.bytes),
                ..first_eras
            },
            _ => first_eras,
        }
    }
}

/// E2+ without mClock: a scrub's steps that name no chunk are cheap (scrub.md 2.5).
fn scrub_bytes_e2_plus(
    era: Era,
    work: Work,
    size: &WorkSize,
    options: &WorkOptions,
) -> Option<u64> {
    let is_cheap = era == Era::E2Plus && work.is_scrub() && size.objects == 0;
    is_cheap.then_some(options.scrub_event_cost)
}

/// Column "WPQ priority", which the first eras' mClock shares.
fn priority(work: Work, options: &WorkOptions) -> u32 {
    match work {
        Work::ClientOp => options.client_op_priority,
        Work::ReplicaWrite | Work::ScrubMessage => message::DEFAULT,
        Work::ReplicaAck => message::HIGH,
        Work::PeeringEvent => options.peering_op_priority,
        Work::RecoveryItem | Work::RecoveryContinuation => options.recovery_priority,
        Work::Push
        | Work::PushReply
        | Work::Pull
        | Work::BackfillScan
        | Work::BackfillProgress
        | Work::BackfillRemove => options.recovery_op_priority,
        Work::ScrubEvent => options.scrub_priority,
        Work::RequestedScrubEvent => options.requested_scrub_priority,
        Work::BlockingScrubEvent => options.scrub_priority.max(options.client_op_priority),
        Work::SnapTrim => options.snap_trim_priority,
        Work::PgDelete => options.pg_delete_priority,
        Work::Checkpoint | Work::BackgroundOp => BACKGROUND_PRIORITY,
    }
}

/// Column "WPQ cost", which the first eras' mClock shares.
fn bytes_e1(work: Work, size: &WorkSize, options: &WorkOptions) -> u64 {
    let objects = u64::from(size.objects);
    match work {
        Work::PeeringEvent => 10,
        Work::RecoveryItem | Work::RecoveryContinuation => options.recovery_cost,
        Work::Push => objects * options.push_per_object_cost + size.payload,
        Work::PushReply | Work::Pull => {
            objects * (options.push_per_object_cost + options.recovery_max_chunk)
        }
        Work::ScrubEvent | Work::RequestedScrubEvent | Work::BlockingScrubEvent => {
            options.scrub_cost
        }
        Work::SnapTrim => options.snap_trim_cost,
        Work::PgDelete => options.pg_delete_cost,
        Work::ClientOp
        | Work::BackgroundOp
        | Work::ReplicaWrite
        | Work::ReplicaAck
        | Work::BackfillScan
        | Work::BackfillProgress
        | Work::BackfillRemove
        | Work::ScrubMessage
        | Work::Checkpoint => size.payload,
    }
}

/// Column "mClock E1 class": of the messages between OSDs only pushes and their replies are charged.
fn class_e1(work: Work) -> ServiceClass {
    match work {
        Work::ClientOp => ServiceClass::Client,
        Work::RecoveryItem | Work::RecoveryContinuation | Work::Push | Work::PushReply => {
            ServiceClass::Recovery
        }
        Work::BackgroundOp
        | Work::ScrubEvent
        | Work::RequestedScrubEvent
        | Work::BlockingScrubEvent
        | Work::SnapTrim
        | Work::PgDelete
        | Work::Checkpoint => ServiceClass::BestEffort,
        Work::ReplicaWrite
        | Work::ReplicaAck
        | Work::PeeringEvent
        | Work::Pull
        | Work::BackfillScan
        | Work::BackfillProgress
        | Work::BackfillRemove
        | Work::ScrubMessage => ServiceClass::Immediate,
    }
}

/// Column "mClock E2 class": all recovery work goes by its urgency.
fn class_e2(work: Work, urgency: Urgency) -> ServiceClass {
    match work {
        Work::RecoveryItem
        | Work::RecoveryContinuation
        | Work::Push
        | Work::PushReply
        | Work::Pull
        | Work::BackfillScan
        | Work::BackfillProgress
        | Work::BackfillRemove => urgency.class(),
        _ => class_e1(work),
    }
}

/// E2 under mClock: recovery messages carry the number of their PG's state.
fn priority_e2(work: Work, urgency: Urgency) -> Option<u32> {
    match work {
        Work::Push
        | Work::PushReply
        | Work::Pull
        | Work::BackfillScan
        | Work::BackfillProgress
        | Work::BackfillRemove => Some(urgency.message_priority()),
        _ => None,
    }
}

/// Column "mClock E2 input cost", where it differs from the first eras'.
fn bytes_e2(era: Era, work: Work, size: &WorkSize, options: &WorkOptions) -> Option<u64> {
    Some(match work {
        Work::RecoveryItem => (size.object_size_average * u64::from(size.objects)).max(1),
        Work::RecoveryContinuation => size.remaining,
        Work::PushReply => 1,
        Work::Pull => size.remaining.clamp(1, options.recovery_max_chunk.max(1)),
        Work::ScrubEvent | Work::RequestedScrubEvent | Work::BlockingScrubEvent
            if era == Era::E2Plus =>
        {
            options.scrub_event_cost
        }
        Work::ScrubEvent | Work::RequestedScrubEvent | Work::BlockingScrubEvent => {
            options.scrub_event_cost * u64::from(options.shallow_scrub_chunk_max)
        }
        Work::PgDelete if era == Era::E2Plus => {
            options.pg_delete_cost * u64::from(size.objects.max(1))
        }
        Work::SnapTrim => {
            size.object_size_average * u64::from(options.pg_max_concurrent_snap_trims)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServiceClass::{BestEffort, Client, Immediate, Recovery};

    /// A degraded PG of 4 MiB objects; the item in hand concerns one of them and carries 4096 bytes.
    const SIZE: WorkSize = WorkSize {
        payload: 4_096,
        read: 0,
        objects: 1,
        object_size_average: 4 << 20,
        remaining: 4 << 20,
        urgency: Urgency::Degraded,
    };

    fn check(work: Work, wpq: (u32, u64), e1: ServiceClass, e2: (ServiceClass, u32, u64)) {
        let charge = |era, scheduler| {
            Charge::published(era, scheduler, work, &SIZE, &WorkOptions::default())
        };
        let (priority, bytes) = wpq;
        for era in Era::ALL {
            let charge = charge(era, SchedulerKind::Wpq);
            assert_eq!((charge.priority, charge.bytes), wpq, "{work:?} under WPQ in {era:?}");
        }
        for era in [Era::E1a, Era::E1b, Era::E1c] {
            let published = Charge { class: e1, priority, bytes };
            assert_eq!(charge(era, SchedulerKind::Mclock), published, "{work:?} in {era:?}");
        }
        let (class, priority, bytes) = e2;
        let published = Charge { class, priority, bytes };
        assert_eq!(charge(Era::E2, SchedulerKind::Mclock), published, "{work:?} in E2");
    }

    #[test]
    fn every_kind_is_charged_as_tabulated() {
        let item = 20 << 20;
        let average = 4 << 20;
        let event = 409_600;
        check(Work::ClientOp, (63, 4_096), Client, (Client, 63, 4_096));
        check(Work::BackgroundOp, (5, 4_096), BestEffort, (BestEffort, 5, 4_096));
        check(Work::ReplicaWrite, (127, 4_096), Immediate, (Immediate, 127, 4_096));
        check(Work::ReplicaAck, (196, 4_096), Immediate, (Immediate, 196, 4_096));
        check(Work::PeeringEvent, (255, 10), Immediate, (Immediate, 255, 10));
        check(Work::RecoveryItem, (5, item), Recovery, (Recovery, 5, average));
        check(Work::RecoveryContinuation, (5, item), Recovery, (Recovery, 5, average));
        check(Work::Push, (3, 5_096), Recovery, (Recovery, 10, 5_096));
        check(Work::PushReply, (3, 8_389_608), Recovery, (Recovery, 10, 1));
        check(Work::Pull, (3, 8_389_608), Immediate, (Recovery, 10, average));
        check(Work::BackfillScan, (3, 4_096), Immediate, (Recovery, 10, 4_096));
        check(Work::BackfillProgress, (3, 4_096), Immediate, (Recovery, 10, 4_096));
        check(Work::BackfillRemove, (3, 4_096), Immediate, (Recovery, 10, 4_096));
        check(Work::ScrubEvent, (5, 50 << 20), BestEffort, (BestEffort, 5, event));
        check(Work::RequestedScrubEvent, (120, 50 << 20), BestEffort, (BestEffort, 120, event));
        check(Work::BlockingScrubEvent, (63, 50 << 20), BestEffort, (BestEffort, 63, event));
        check(Work::ScrubMessage, (127, 4_096), Immediate, (Immediate, 127, 4_096));
        check(Work::SnapTrim, (5, 1 << 20), BestEffort, (BestEffort, 5, 8 << 20));
        check(Work::PgDelete, (5, 1 << 20), BestEffort, (BestEffort, 5, 1 << 20));
        check(Work::Checkpoint, (5, 4_096), BestEffort, (BestEffort, 5, 4_096));
    }

    #[test]
    fn urgency_decides_the_class() {
        let check = |urgency: Urgency, priority, class| {
            assert_eq!((urgency.message_priority(), urgency.class()), (priority, class));
        };
        check(Urgency::Misplaced, 5, BestEffort);
        check(Urgency::Degraded, 10, Recovery);
        check(Urgency::Undersized, 15, Recovery);
        check(Urgency::Forced, 20, Recovery);
        check(Urgency::ClientWaits, 196, Immediate);
    }

    #[test]
    fn a_pull_is_clamped_and_an_item_costs_at_least_one() {
        let bytes = |work, size| {
            let options = WorkOptions::default();
            Charge::published(Era::E2, SchedulerKind::Mclock, work, &size, &options).bytes
        };
        assert_eq!(bytes(Work::Pull, WorkSize { remaining: 0, ..SIZE }), 1);
        assert_eq!(bytes(Work::Pull, WorkSize { remaining: 1 << 30, ..SIZE }), 8 << 20);
        assert_eq!(bytes(Work::RecoveryItem, WorkSize { object_size_average: 0, ..SIZE }), 1);
    }
}
