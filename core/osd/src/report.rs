//! What an OSD tells of itself to whoever looks: the recovery of a placement group, the way of an op, what came to it.

use crate::aside::AsideFor;
use crate::commit::Commit;
use crate::counters::{DamageCounts, Received, ScrubCounts, TrimCounts};
use crate::delay::{Delay, DelayCause};
use crate::disk::StoreBackend;
use crate::ids::{OpId, OsdId, OsdSet, PgId, ShardId};
use crate::in_flight::Stamps;
use crate::item::Item;
use crate::message::{ClientOp, Message, RecoveryKind, WriteTag};
use crate::osd::Osd;
use crate::pg::{Pause, PgProgress, Primary, Reservation};
use crate::waits::Stage;
use loadline_base::Time;
use loadline_forecast::GroupLeft;
use loadline_store::ObjectNo;

/// What a primary does about copies that are not as they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// It has begun, with all slots that it takes.
    Running(RecoveryKind),
    /// It waits for a slot, here or on another OSD.
    Waiting(RecoveryKind),
    /// It waits for room on a disk.
    TooFull(RecoveryKind),
    /// It waits for a copy that can be read of what is left.
    Unfound(RecoveryKind),
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
    /// Its number here, by which the other copies know it.
    pub tag: WriteTag,
    /// Who has not answered yet.
    pub pending: OsdSet,
}

impl Osd {
    /// What is being done about a placement group that this OSD leads; `None` if nothing needs to be.
    pub fn recovery_of(&self, pg: PgId) -> Option<RecoveryState> {
        let primary = self.primary(pg)?;
        let needed = primary.recovery_needed();
        match primary.reservation {
            Reservation::Held(kind) => Some(RecoveryState::Running(kind)),
            Reservation::Local(kind) | Reservation::Remote(kind, _) => {
                Some(RecoveryState::Waiting(kind))
            }
            Reservation::None | Reservation::Retry(Pause::Revoked, _) => {
                needed.map(RecoveryState::Waiting)
            }
            Reservation::Retry(Pause::TooFull, _) => needed.map(RecoveryState::TooFull),
            // What copies have lost pages of is tried again though nothing else is missing.
            Reservation::Retry(Pause::Unfound, _) => {
                Some(RecoveryState::Unfound(needed.unwrap_or(RecoveryKind::Log)))
            }
        }
    }

    /// The counters of the placement groups that this OSD leads.
    pub fn progress(&mut self) -> PgProgress {
        let mut sum = PgProgress::default();
        for (id, copy) in self.groups.iter() {
            let Some(primary) = &copy.primary else { continue };
            sum += primary.progress((self.store.objects(id).len() + copy.kept.bare()) as u64);
        }
        sum
    }

    /// The counters of a placement group that this OSD leads.
    pub fn progress_of(&mut self, pg: PgId) -> PgProgress {
        let objects = self.count(pg);
        self.primary(pg)
            .map_or_else(PgProgress::default, |primary: &Primary| primary.progress(objects))
    }

    /// The placement groups of which this OSD, as their primary, has something left to move, and the queue that it goes through.
    pub fn left_to_recover(&self) -> impl Iterator<Item = (PgId, GroupLeft<ShardId>)> + '_ {
        self.groups.iter().filter_map(|(pg, copy)| {
            let left = copy.primary.as_deref()?.to_move();
            let waits = matches!(self.recovery_of(pg), Some(RecoveryState::Waiting(_)));
            (left > 0)
                .then_some((pg, GroupLeft { from: copy.shard, to: None, left: left as f64, waits }))
        })
    }

    /// How far an op is that this OSD carries out as a primary; `None` while no worker has taken it.
    pub fn progress_of_op(&self, op: OpId) -> Option<OpProgress> {
        let (tag, in_flight) = self.ops.find(op)?;
        let Stamps { admitted, dequeued, executed, committed, .. } = in_flight.stamps;
        let committed = (!in_flight.waits_for(self.id)).then_some(committed);
        let pending = in_flight.pending;
        Some(OpProgress { admitted, dequeued, executed, committed, tag, pending })
    }

    /// Where an op is that this OSD was sent as its primary, and what it waits for there now; `None` if it is not here, or waits for
    /// the other copies alone.
    pub fn delay_of_op(&self, now: Time, op: &ClientOp) -> Option<Delay> {
        let is_op = |item: &Item| match item {
            Item::Message(envelope) => {
                matches!(&envelope.message, Message::Op(it) if it.id == op.id)
            }
            _ => false,
        };
        let osd = self.id;
        if let Some(progress) = self.progress_of_op(op.id) {
            let is_meant = |commit: &Commit| matches!(commit, Commit::Op(tag, ..) | Commit::Read(tag, ..) if *tag == progress.tag);
            return progress
                .pending
                .contains(osd)
                .then(|| self.delay_in_store(now, progress.executed, is_meant));
        }
        self.delay_in_queue(now, op.pg, is_op)
    }

    /// What an op waits for that this OSD was sent as its primary and put aside; `None` if it has not.
    pub fn aside_of_op(&self, op: &ClientOp) -> Option<AsideFor> {
        let primary = self.primary(op.pg)?;
        let is_blocked = self.scrub_blocks(op.pg, op.id);
        let kept = is_blocked.then_some(AsideFor::Scrub).or_else(|| primary.aside_of(op.id));
        // What comes now is not begun: the next interval has it sent again.
        kept.or(primary.ops.handing_over.then_some(AsideFor::Interval))
    }

    /// Where the copy of a write is that this primary has sent here under this number, and what it waits for.
    pub fn delay_of_copy(
        &self,
        now: Time,
        pg: PgId,
        primary: OsdId,
        tag: WriteTag,
    ) -> Option<Delay> {
        let is_write = |item: &Item| {
            let Item::Message(envelope) = item else { return false };
            let is_same = matches!(&envelope.message, Message::Write(write) if write.tag == tag);
            is_same && envelope.from == Some(primary)
        };
        if let Some(delay) = self.delay_in_queue(now, pg, is_write) {
            return Some(delay);
        }
        let is_meant = |commit: &Commit| matches!(commit, Commit::Replica(sender, it, ..) if sender.osd == primary && *it == tag);
        let StoreBackend::Paged(paged) = &self.store else { return None };
        paged.wait_of(is_meant)?;
        Some(self.delay_in_store(now, now, is_meant))
    }

    fn delay_in_queue(
        &self,
        now: Time,
        pg: PgId,
        is_meant: impl Fn(&Item) -> bool,
    ) -> Option<Delay> {
        let (since, ahead) = self.find_item(now, pg, is_meant)?;
        let (osd, span) = (self.id, now.since(since));
        Some(match ahead {
            Some(ahead) => {
                Delay { osd, stage: Stage::Queue, span, cause: DelayCause::Queued(ahead) }
            }
            None => Delay { osd, stage: Stage::Worker, span, cause: DelayCause::Worker },
        })
    }

    fn delay_in_store(&self, now: Time, since: Time, is_meant: impl Fn(&Commit) -> bool) -> Delay {
        let wait = match &self.store {
            StoreBackend::Paged(paged) => paged.wait_of(is_meant),
            StoreBackend::Direct(..) => None,
        };
        let (osd, span) = (self.id, now.since(since));
        match wait {
            Some(wait) if !wait.is_device() => {
                Delay { osd, stage: Stage::Window, span, cause: DelayCause::Store(wait) }
            }
            wait => {
                let cause = DelayCause::Device(self.device_busy(wait));
                Delay { osd, stage: Stage::Device, span, cause }
            }
        }
    }

    /// How many objects nobody could give, of a placement group that this OSD leads.
    pub fn unfound(&self, pg: PgId) -> u64 {
        self.primary(pg).map_or(0, |primary| primary.unfound.len() as u64)
    }

    /// Which ones.
    pub fn unfound_objects(&self, pg: PgId) -> Vec<ObjectNo> {
        self.primary(pg).map_or_else(Vec::new, |primary| primary.unfound.iter().collect())
    }

    /// How many requests the device has ended because their duration limit had passed. Each was carried out afterwards,
    /// without a limit.
    pub fn over_limit(&self) -> u64 {
        self.counters.over_limit
    }

    /// What was found bad here since the OSD was made.
    pub fn damage(&self) -> DamageCounts {
        self.counters.damage
    }

    /// What scrubs have done here since it was made.
    pub fn scrub_counts(&self) -> ScrubCounts {
        self.counters.scrub
    }

    /// What it has trimmed since it was made.
    pub fn trim_counts(&self) -> TrimCounts {
        self.counters.trim
    }

    /// What recovery and backfill have brought to this OSD since it was made.
    pub fn received(&self) -> Received {
        self.counters.received
    }
}
