//! The second reading of the log: its transactions are carried out again.

use super::batch::only_put;
use super::{AHEAD_MAX, ReplayStage, WaitingTransaction};
use crate::paged::api::{OpError, RoomClaim};
use crate::paged::change::{Change, decode_all};
use crate::paged::contents::{self, Carried, Miss};
use crate::paged::ids::Lsn;
use crate::paged::log::{Record, RecordKind};
use crate::paged::metrics::CheckpointReason;
use crate::paged::store::PagedStore;
use crate::paged::store::op::{KeptPages, Looking};
use crate::paged::store::plan::{Plan, UpdateVerdict};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::state::RestartPhase;
use crate::paged::store::restart::stream::{Stream, StreamProgress};

impl<T: Copy> PagedStore<T> {
    /// The second reading.
    pub(super) fn apply_log(&mut self) -> bool {
        self.advance_checkpoint();
        if !self.apply_ahead() || (self.replay().queue.batch.is_closed() && !self.apply_batch()) {
            return false;
        }
        let RestartPhase::Replay(replay) = &mut self.restarting().phase else {
            unreachable!("it runs")
        };
        let (ring, end) = (replay.ring, replay.marks.end);
        let mut stream = std::mem::replace(&mut replay.stream, Stream::new(ring, 0, Lsn(0), 0));
        // The log may have been found to end before a record that is there.
        let mut is_cut = false;
        let progress = stream.pump(|_, record| {
            is_cut = record.position >= end;
            !is_cut && self.replay_record(record)
        });
        self.replay().stream = stream;
        let is_over = match progress {
            // The first reading has been further: what it has read has gone bad since, and is no torn end.
            Some(StreamProgress::End) if self.replay().stream.scan().position() < end => {
                let end = self.replay().stream.scan().position();
                return self.replay_failed(RestartFault::LogDamaged(end));
            }
            Some(StreamProgress::End) => true,
            Some(StreamProgress::Wait) => return self.replay().stream.wants_reads(),
            None => is_cut && self.fault.is_none(),
        };
        if !is_over
            || !self.apply_batch()
            || !self.replay().queue.ahead.is_empty()
            || self.checkpoint.is_running()
        {
            return false;
        }
        self.end_of_log()
    }

    /// One record's turn. False stops the stream before it.
    fn replay_record(&mut self, record: Record<'_>) -> bool {
        let after = (record.end, record.chain);
        if self.replay().queue.batch.is_closed() {
            return false;
        }
        let Some(mut progress) = self.progress_of(&record) else {
            let queue = &mut self.replay().queue;
            if !queue.batch.is_empty() {
                queue.batch.pass(after);
            } else if queue.ahead.is_empty() {
                self.restarting().replayed = after;
            }
            return true;
        };
        if self.replay().queue.ahead.is_empty() && self.is_batched(&record) {
            self.replay().queue.batch.push(record.body, after);
            let cache = self.options.cache;
            if self.replay().queue.batch.is_full(cache) {
                self.apply_batch();
            }
            return self.fault.is_none();
        }
        if !self.apply_batch() || self.replay().queue.ahead.len() >= AHEAD_MAX {
            return false;
        }
        let Some(changes) = decode_all(record.body) else {
            return self.replay_failed(RestartFault::Record(record.position));
        };
        if self.replay().queue.ahead.is_empty() && !self.checkpoint.is_running() {
            if self.carry_on(&changes, &mut progress, after) {
                return true;
            }
        } else {
            self.look_ahead(&changes);
        }
        let changes = changes.into_iter().map(Change::into_owned).collect();
        self.replay().queue.ahead.push_back(WaitingTransaction { end: after, changes, progress });
        self.fault.is_none()
    }

    /// Whether a record's transaction is one of those that are carried out by key. The first one may be carried out in part already.
    fn is_batched(&mut self, record: &Record<'_>) -> bool {
        let is_first = self.replay().first.is_some_and(|(position, _)| position == record.position);
        let page = self.superblock.layout.page;
        let is_short = |(key, value): (&[u8], &[u8])| contents::is_one_cell(page, key, value);
        record.kind == RecordKind::Transaction
            && !is_first
            && only_put(record.body).is_some_and(is_short)
    }

    /// Carries the batch out as far as it goes without waiting. True if nothing of it is left.
    fn apply_batch(&mut self) -> bool {
        let mut batch = std::mem::take(&mut self.replay().queue.batch);
        if batch.is_empty() {
            return true;
        }
        if !batch.is_closed() {
            self.metrics.totals.replayed += batch.close() as u64;
        }
        let before = self.restarting().replayed;
        while let Some(place) = batch.next() {
            let (change, end) = (batch.change_at(place), batch.end_at(place, before));
            if !self.carry_on(&[change], &mut Carried::default(), end) {
                for later in batch.look_on(AHEAD_MAX) {
                    self.look_ahead(&[batch.change_at(later)]);
                }
                self.replay().queue.batch = batch;
                return false;
            }
            batch.advance();
        }
        true
    }

    /// Sees that the pages of a later transaction are on their way.
    fn look_ahead(&mut self, changes: &[Change<'_>]) {
        if self.restarting().pins.len() + self.memory.loads()
            < self.space.pages.frames() as usize / 16
        {
            if contents::place_for(&mut self.space, changes).is_some() {
                return;
            }
            match self.draft(changes, Carried::default(), KeptPages::default()) {
                Ok(plan) => self.forget(plan),
                Err(misses) => self.load_for_replay(&misses),
            }
        }
    }

    pub(super) fn load_for_replay(&mut self, misses: &[Miss]) {
        let class = self.options.classes.restart;
        for miss in misses {
            self.begin_load(*miss, class);
        }
    }

    /// How far a record's transaction is carried out; `None` if there is none in it, or none that is still to be.
    fn progress_of(&mut self, record: &Record<'_>) -> Option<Carried> {
        let replay = self.replay();
        let is_first = replay.first.is_some_and(|(position, _)| position == record.position);
        match record.kind {
            RecordKind::Transaction if is_first => Some(replay.progress.unwrap_or_default()),
            RecordKind::Transaction => Some(Carried::default()),
            RecordKind::Again if is_first => replay.progress,
            _ => None,
        }
    }

    /// Applies waiting transactions, the oldest first. True if none waits any more.
    fn apply_ahead(&mut self) -> bool {
        while let Some(mut first) = self.replay().queue.ahead.pop_front() {
            if !self.carry_on(&first.changes, &mut first.progress, first.end) {
                self.replay().queue.ahead.push_front(first);
                return false;
            }
        }
        true
    }

    /// Applies a transaction, step by step, as far as it goes without waiting. True if it is at its end.
    fn carry_on(
        &mut self,
        changes: &[Change<'_>],
        progress: &mut Carried,
        end: (Lsn, u32),
    ) -> bool {
        loop {
            let kept = KeptPages { count: self.restarting().pins.len(), ..KeptPages::default() };
            match self.judge(changes, (*progress, RoomClaim::Asked), kept, Looking::NotYet) {
                UpdateVerdict::Go(plan) => {
                    self.apply_replayed(changes, plan, end);
                    match plan.next {
                        Some(next) => *progress = next,
                        None => return true,
                    }
                }
                verdict => {
                    self.wait_in_replay(verdict, end.0);
                    return false;
                }
            }
        }
    }

    /// A transaction cannot be applied yet: its pages are read, or a checkpoint makes room.
    fn wait_in_replay(&mut self, verdict: UpdateVerdict, end: Lsn) {
        match verdict {
            UpdateVerdict::Load(misses) => {
                self.load_for_replay(&misses);
                if self.memory.loads() == 0 {
                    self.checkpoint.want(CheckpointReason::Restart);
                }
            }
            UpdateVerdict::Wait(_) => self.checkpoint.want(CheckpointReason::Restart),
            UpdateVerdict::Fail(OpError::Exceeds(exceeded)) => {
                self.give_up(RestartFault::Exceeds(end, exceeded));
            }
            UpdateVerdict::Fail(_) => self.give_up(RestartFault::NoSpace(end)),
            UpdateVerdict::Go(_) => unreachable!("it could go"),
        }
        self.advance_checkpoint();
    }

    /// Carries a step out. The last one takes the replay to the record's end.
    fn apply_replayed(&mut self, changes: &[Change<'_>], plan: Plan, end: (Lsn, u32)) {
        self.keep(changes, plan);
        if plan.next.is_none() {
            self.restarting().replayed = end;
            self.metrics.totals.replayed += 1;
        }
        self.let_pages_go();
    }

    /// Nothing that was read for transactions need stay. At the end of the log that is what was read ahead for one that had
    /// been carried out when it came.
    pub(super) fn let_pages_go(&mut self) {
        for page in std::mem::take(&mut self.restarting().pins) {
            self.space.pages.unpin(page);
        }
    }

    /// Everything is applied: the log goes on where it ended.
    fn end_of_log(&mut self) -> bool {
        let replay = self.replay();
        let scan = replay.stream.scan();
        let head = scan.position();
        let prefix = replay.stream.block_prefix(head);
        let last_commit = replay.marks.last_commit.min(head);
        let next = Lsn(replay.marks.durable.0 / replay.ring.block * replay.ring.block);
        replay.marks.end = head;
        replay.stage = ReplayStage::Rewrite { next };
        self.restarting().replayed = (head, scan.chain());
        self.resume_log(head, scan.chain(), prefix, last_commit);
        true
    }
}
