//! From an appended record to an answer: writing the log, flushing it, and telling those who waited.

use super::op::Running;
use super::{Fault, PagedStore, Purpose};
use crate::paged::api::{Answer, IoDone, Stages, Target};
use crate::paged::ids::Lsn;
use crate::paged::log::{Kind, LogWrite, witness};
use crate::paged::options::LogMode;
use loadline_device::Outcome;

/// An op that is carried out and waits for the log.
#[derive(Clone, Debug)]
pub(super) struct Committing<T> {
    pub position: Lsn,
    pub token: T,
    pub stages: Stages,
}

impl<T: Copy> PagedStore<T> {
    /// An update is appended up to `position`.
    pub(super) fn commit(&mut self, token: T, stages: Stages, position: Lsn) {
        self.group.committed(self.now, position);
        if matches!(self.options.log_mode, LogMode::Background | LogMode::None) {
            self.complete(token, stages, Ok(Answer::Done));
        } else {
            self.committing.push_back(Committing { position, token, stages });
        }
    }

    /// Somebody waits until the log is durable up to its head; without a log, until a checkpoint has everything.
    pub(super) fn sync(&mut self, running: Running<T>) {
        if self.options.log_mode == LogMode::None {
            return self.await_checkpoint(running);
        }
        let position = self.group.demand_commits();
        self.witness.demand(position);
        self.leave_lane(running.lane);
        let Running { token, stages, .. } = running;
        self.syncing.push_back(Committing { position, token, stages });
    }

    /// Writes and flushes what is due.
    pub(super) fn advance_log(&mut self) {
        self.group.look_for_proof(self.now, &self.log);
        self.group.demand_due(self.now);
        self.metrics.totals.log_ring_bytes = self.log.taken();
        while let Some(write) = self.log.next_full_write() {
            self.write_log(write);
        }
        if self.group.wants_write(&self.log)
            && let Some(write) = self.log.next_last_write()
        {
            self.write_log(write);
        }
        if self.group.wants_flush(&self.log) {
            self.group.flush_began(self.now, &self.log);
            self.flush_log();
        }
        if let Some((durable, places)) = self.witness.next_write(self.now) {
            self.write_witness(durable, places);
        }
    }

    fn write_log(&mut self, write: LogWrite) {
        self.metrics.totals.log_writes += 1;
        self.metrics.totals.log_device_bytes += write.data.len() as u64;
        let target = self.superblock.layout.log_target;
        let class = self.options.classes.log;
        let LogWrite { position, offset, data } = write;
        self.write(Purpose::LogWrite(position), target, offset, class, data);
    }

    /// Says far from the log how far it is durable.
    fn write_witness(&mut self, durable: Lsn, places: [u64; 2]) {
        self.metrics.totals.log_witnesses += 1;
        let class = self.options.classes.log;
        let bytes = witness::encode(self.log.ring(), durable);
        for offset in places {
            self.write(Purpose::Witness, Target::Data, offset, class, bytes.clone());
        }
    }

    pub(super) fn witness_write_done(&mut self, outcome: Outcome) {
        if Self::is_good(outcome) {
            self.witness.write_done();
        } else {
            self.stop(Fault::LogWrite);
        }
    }

    /// Makes the log durable, and before anybody relies on it the data that stands beside it.
    fn flush_log(&mut self) {
        self.metrics.totals.log_flushes += 1;
        let class = self.options.classes.log;
        let target = self.superblock.layout.log_target;
        self.log_flushes = 1;
        self.flush(Purpose::LogFlush(target), target, class);
        if target == Target::Log && self.own_data_unflushed {
            self.log_flushes = 2;
            self.flush(Purpose::LogFlush(Target::Data), Target::Data, class);
        }
        self.own_data_unflushed = false;
    }

    pub(super) fn log_write_done(&mut self, position: Lsn, done: IoDone) {
        if Self::is_good(done.outcome) {
            self.log.write_done(position, done.data);
        } else {
            self.stop(Fault::LogWrite);
        }
    }

    pub(super) fn log_flush_done(&mut self, target: Target, outcome: Outcome) {
        if !Self::is_good(outcome) {
            return self.stop(Fault::Flush(target));
        }
        self.log_flushes -= 1;
        if self.log_flushes == 0 {
            self.group.flush_done(self.now);
            self.append_proof();
        }
    }

    /// Says in the log how far it is durable. Before that is on the device, rot in what was flushed last would pass for a
    /// write that a power cut has torn.
    pub(super) fn append_proof(&mut self) {
        let flushed = self.group.flushed();
        let end = self.log.append(Kind::Durable, &flushed.0.to_le_bytes());
        self.group.proof_appended(end);
        self.witness.durable(self.now, flushed);
    }

    /// The same between two records, often enough for whoever looks for one behind a damaged place.
    pub(super) fn append_sign(&mut self) {
        if self.log.wants_sign() {
            self.log.append(Kind::Durable, &self.group.flushed().0.to_le_bytes());
        }
    }

    /// Answers the commits that the log now keeps its promise for, in their order.
    pub(super) fn answer_commits(&mut self) {
        let answered = self.group.answered(&self.log);
        while self.committing.front().is_some_and(|first| first.position <= answered) {
            let first = self.committing.pop_front().expect("it was there");
            self.complete(first.token, first.stages, Ok(Answer::Done));
        }
        let proven = self.group.proven();
        let witness = self.witness;
        let is_safe = |position| position <= proven && witness.says(position);
        while self.syncing.front().is_some_and(|first| is_safe(first.position)) {
            let first = self.syncing.pop_front().expect("it was there");
            self.complete(first.token, first.stages, Ok(Answer::Done));
        }
    }
}
