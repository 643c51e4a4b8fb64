//! The second reading of the log: its transactions are carried out again.

use super::batch::ReplayBatch;
use super::{AHEAD_MAX, ReplayStage, WaitingTransaction};
use crate::paged::api::{OpError, RoomClaim};
use crate::paged::bounds::REPLAY_PART;
use crate::paged::change::{Change, decode_all};
use crate::paged::contents::{self, Carried, KeyChange, Miss};
use crate::paged::ids::Lsn;
use crate::paged::log::{Record, RecordKind};
use crate::paged::metrics::CheckpointReason;
use crate::paged::space::Takes;
use crate::paged::store::PagedStore;
use crate::paged::store::op::{KeptPages, Looking};
use crate::paged::store::plan::{Lack, UpdateVerdict};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::state::RestartPhase;
use crate::paged::store::restart::stream::{Stream, StreamProgress};
use crate::paged::tree::{LeafRun, MissingOnWay};

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
            } else if let Some(last) = queue.ahead.back_mut() {
                // A checkpoint behind that transaction begins behind this record too. One that stands before a repetition would have the
                // next restart take that for the transaction of which the tree notes the progress, and it may be another's.
                last.end = after;
            } else {
                self.restarting().replayed = after;
            }
            return true;
        };
        if self.replay().queue.ahead.is_empty() && self.take_by_key(&record) {
            let cache = self.options.cache;
            if self.replay().queue.batch.is_full(cache) {
                self.apply_batch();
            }
            return self.fault.is_none();
        }
        if !self.apply_batch() || !self.may_wait(record.body.len() as u64) {
            return false;
        }
        let Some(changes) = decode_all(record.body) else {
            return self.replay_failed(RestartFault::Record(record.position));
        };
        if self.replay().queue.ahead.is_empty() && !self.checkpoint.is_running() {
            if self.carry_on(&changes, &mut progress, after) {
                self.applied(1, after);
                return true;
            }
        } else {
            self.look_ahead(&changes);
        }
        let body = record.body.to_vec();
        let queue = &mut self.replay().queue;
        queue.ahead_bytes += body.len() as u64;
        queue.ahead.push_back(WaitingTransaction { end: after, body, progress });
        self.fault.is_none()
    }

    /// Whether a transaction of so many bytes may be among those that wait for pages. One may, whatever it has.
    fn may_wait(&mut self, bytes: u64) -> bool {
        let most = self.options.cache.get() / REPLAY_PART;
        let queue = &self.replay().queue;
        let fits = queue.ahead.len() < AHEAD_MAX && queue.ahead_bytes + bytes <= most;
        queue.ahead.is_empty() || fits
    }

    /// Takes a record's transaction among those that are carried out by key, if it may be. The first one may be carried out in part already.
    fn take_by_key(&mut self, record: &Record<'_>) -> bool {
        let page = self.superblock.layout.page;
        let replay = self.replay();
        let is_first = replay.first.is_some_and(|(position, _)| position == record.position);
        record.kind == RecordKind::Transaction
            && !is_first
            && replay.queue.batch.take(page, record.body, (record.end, record.chain))
    }

    /// Carries the batch out as far as it goes without waiting. True if nothing of it is left.
    fn apply_batch(&mut self) -> bool {
        if self.replay().queue.batch.is_empty() {
            return true;
        }
        let mut batch = std::mem::take(&mut self.replay().queue.batch);
        if !batch.is_closed() {
            batch.close();
        }
        while !batch.is_done() {
            match self.apply_next_of(&mut batch) {
                0 => break,
                count => batch.advance(count),
            }
        }
        let is_over = batch.is_done();
        if is_over {
            let (transactions, end) = batch.end();
            self.applied(transactions, end);
        }
        self.replay().queue.batch = batch;
        is_over
    }

    /// Carries out those of the batch's next changes that belong into one leaf. Answers how many that were; none, if something has to be waited for.
    fn apply_next_of(&mut self, batch: &mut ReplayBatch) -> usize {
        batch.touch();
        self.space.pages.next_op();
        let end = self.restarting().replayed;
        match contents::run_of(&self.space, batch.changes()) {
            Ok(run) => match self.apply_run(&run, batch) {
                Ok(()) if run.count() > 0 => run.count(),
                Err(Lack::Wait(wait)) => {
                    self.wait_in_replay(UpdateVerdict::Wait(wait), end.0);
                    0
                }
                // By itself it may want what the others do not take. If it stops halfway it is begun anew, now or with the whole batch: what is gone
                // by then goes once.
                Ok(()) | Err(Lack::Fail(_)) => {
                    let change = batch.changes().next().expect("it is not done");
                    let change = KeyChange::decode(change).as_change();
                    self.restarting().in_batch = true;
                    let is_over = self.carry_on(&[change], &mut None, end);
                    self.restarting().in_batch = false;
                    usize::from(is_over)
                }
            },
            Err(MissingOnWay { missing, .. }) => {
                self.wait_in_replay(UpdateVerdict::Load(vec![missing.into()]), end.0);
                self.look_on_in(batch);
                0
            }
        }
    }

    /// Carries a run of the batch's next changes out, if all that it takes is there.
    fn apply_run(&mut self, run: &LeafRun, batch: &ReplayBatch) -> Result<(), Lack> {
        if run.count() == 0 {
            return Ok(());
        }
        if run.fits() {
            let mut takes = Takes::default();
            run.pages().for_each(|page| takes.add(self.space.pages.touch(page)));
            self.find_for_replay(takes)?;
            self.space.tree.run_in_place(&mut self.space.pages, run, batch.changes());
        } else {
            self.space.begin_draft(0);
            self.space.tree.run_over_leaves(&mut self.space.pages, run, batch.changes());
            if let Err(lack) = self.find_for_replay(self.space.pages.draft_takes()) {
                self.space.drop_draft();
                return Err(lack);
            }
            self.space.pages.keep_draft();
        }
        self.space.reshaped();
        self.let_pages_go();
        Ok(())
    }

    /// Sees that the pages of the batch's later changes are on their way.
    fn look_on_in(&mut self, batch: &mut ReplayBatch) {
        let mut at = batch.next_to_look_at();
        // What is below a page that is not there is looked at again when it is.
        let mut first_unknown = None;
        for _ in 0..AHEAD_MAX {
            let Some(key) = batch.key(at).filter(|_| self.may_load_ahead()) else { break };
            let end = match self.space.tree.leaf_end(&self.space.pages, key) {
                Ok(end) => end,
                Err(MissingOnWay { missing, is_leaf, end }) => {
                    self.load_ahead(&[missing.into()]);
                    first_unknown = first_unknown.or((!is_leaf).then_some(at));
                    end
                }
            };
            at = batch.first_from(at, end.as_deref());
        }
        batch.looked_at(first_unknown.unwrap_or(at));
    }

    fn may_load_ahead(&mut self) -> bool {
        self.restarting().pins.len() + self.memory.loads() < self.space.pages.frames() as usize / 16
    }

    /// Sees that the pages of a later transaction are on their way.
    fn look_ahead(&mut self, changes: &[Change<'_>]) {
        if self.may_load_ahead() {
            if contents::place_for(&mut self.space, changes).is_some() {
                return;
            }
            match self.draft(changes, None, KeptPages::default()) {
                Ok(plan) => self.forget(plan),
                Err(misses) => self.load_ahead(&misses),
            }
        }
    }

    /// Sees that pages are on their way for a transaction whose turn has not come.
    fn load_ahead(&mut self, misses: &[Miss]) {
        let class = self.options.classes.restart;
        for miss in misses {
            if !self.memory.is_loading(miss.page())
                && let Some(page) = self.begin_load(*miss, class)
            {
                self.restarting().ahead.insert(page);
            }
        }
    }

    /// Sees that pages are on their way without which the replay does not go on.
    pub(super) fn load_for_replay(&mut self, misses: &[Miss]) {
        let class = self.options.classes.restart;
        for miss in misses {
            self.restarting().ahead.remove(&miss.page());
            self.begin_load(*miss, class);
        }
    }

    /// How far a record's transaction is carried out, if it is in part; `None` if there is none in it, or none that is still to be.
    fn progress_of(&mut self, record: &Record<'_>) -> Option<Option<Carried>> {
        let replay = self.replay();
        let is_first = replay.first.is_some_and(|(position, _)| position == record.position);
        match record.kind {
            RecordKind::Transaction if is_first => Some(replay.progress),
            RecordKind::Transaction => Some(None),
            RecordKind::Again if is_first => replay.progress.map(Some),
            _ => None,
        }
    }

    /// Applies waiting transactions, the oldest first. True if none waits any more.
    fn apply_ahead(&mut self) -> bool {
        while let Some(mut first) = self.replay().queue.ahead.pop_front() {
            let changes = decode_all(&first.body).expect("it was decoded when it was read");
            if !self.carry_on(&changes, &mut first.progress, first.end) {
                self.replay().queue.ahead.push_front(first);
                return false;
            }
            self.replay().queue.ahead_bytes -= first.body.len() as u64;
            self.applied(1, first.end);
        }
        true
    }

    /// Applies a transaction, step by step, as far as it goes without waiting. True if it is at its end.
    fn carry_on(
        &mut self,
        changes: &[Change<'_>],
        progress: &mut Option<Carried>,
        end: (Lsn, u32),
    ) -> bool {
        loop {
            let kept = KeptPages { count: self.restarting().pins.len(), ..KeptPages::default() };
            match self.judge(changes, (*progress, RoomClaim::Asked), kept, Looking::NotYet) {
                UpdateVerdict::Go(plan) => {
                    self.keep(changes, plan);
                    self.let_pages_go();
                    match plan.next {
                        Some(next) => *progress = Some(next),
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

    /// Transactions are carried out, and with them the log up to here.
    fn applied(&mut self, transactions: u64, end: (Lsn, u32)) {
        self.restarting().replayed = end;
        self.metrics.totals.replayed += transactions;
    }

    /// Nothing that was read for transactions need stay. At the end of the log that is what was read ahead for one that had
    /// been carried out when it came.
    pub(super) fn let_pages_go(&mut self) {
        self.restarting().losses.end_step();
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
        replay.marks.end = head;
        replay.stage = ReplayStage::Done;
        self.restarting().replayed = (head, scan.chain());
        self.resume_log(head, scan.chain(), prefix, last_commit);
        true
    }
}
