//! What an OSD tells of itself to whoever looks: the recovery of a placement group, the way of an op, what came to it.

use crate::client_io::Stamps;
use crate::ids::{OpId, PgId};
use crate::message::RecoveryKind;
use crate::osd::Osd;
use crate::pg::{Primary, Progress, Reservation};
use loadline_base::Time;

/// What a primary does about copies that are not as they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// It has begun, with all slots that it takes.
    Running(RecoveryKind),
    /// It waits for a slot, here or on another OSD.
    Waiting(RecoveryKind),
}

/// How far a primary is with an op that a worker has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpProgress {
    /// When the op was admitted to the queue.
    pub admitted: Time,
    /// When a worker took it.
    pub dequeued: Time,
    /// When it was handed to the store.
    pub executed: Time,
    /// When it was durable here; `None` if it is not.
    pub committed: Option<Time>,
}

/// Objects that recovery and backfill brought to an OSD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for Received {
    fn add_assign(&mut self, other: Received) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

impl Osd {
    /// What is being done about a placement group that this OSD leads; `None` if nothing needs to be.
    pub fn recovery_of(&self, pg: PgId) -> Option<RecoveryState> {
        let primary = self.primary(pg)?;
        match primary.reservation {
            Reservation::Held(kind) => Some(RecoveryState::Running(kind)),
            Reservation::Local(kind) | Reservation::Remote(kind, _) => {
                Some(RecoveryState::Waiting(kind))
            }
            Reservation::None | Reservation::Retry => {
                primary.recovery_needed().map(RecoveryState::Waiting)
            }
        }
    }

    /// The counters of a placement group that this OSD leads.
    pub fn progress_of(&mut self, pg: PgId) -> Progress {
        let objects = self.count(pg);
        self.primary(pg)
            .map_or_else(Progress::default, |primary: &Primary| primary.progress(objects))
    }

    /// How far an op is that this OSD carries out as a primary; `None` while no worker has taken it.
    pub fn progress_of_op(&self, op: OpId) -> Option<OpProgress> {
        let (_, in_flight) =
            self.in_flight.iter().find(|(_, in_flight)| in_flight.op().id == op)?;
        let Stamps { admitted, dequeued, executed, committed } = in_flight.stamps();
        let committed = (!in_flight.waits_for(self.id)).then_some(committed);
        Some(OpProgress { admitted, dequeued, executed, committed })
    }

    /// What recovery and backfill have brought to this OSD since it was made.
    pub fn received(&self) -> Received {
        self.received
    }
}
