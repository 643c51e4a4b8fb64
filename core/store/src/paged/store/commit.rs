//! The log with those who wait for it: from an appended record to an answer. It is written, flushed, and its proofs are made
//! here; when that is due, [`CommitGroups`] and [`Witness`] know.

use super::fault::Fault;
use super::op::RunningOp;
use super::ops::Ops;
use super::requests::{DeviceRequests, RequestPurpose};
use crate::paged::api::{Answer, IoDone, Stages, StoreDevice};
use crate::paged::change::Change;
use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image::{Compressor, Content};
use crate::paged::log::{
    CommitGroups, GroupSettings, Log, LogRing, LogWrite, RecordKind, Witness, witness,
};
use crate::paged::metrics::Totals;
use crate::paged::options::{LogMode, Options};
use crate::paged::space::Pages;
use crate::paged::superblock::Superblock;
use crate::paged::tree::TreePages;
use loadline_base::{Span, Time};
use loadline_device::{ClassTag, Outcome};
use std::collections::VecDeque;

/// An op that is carried out and waits for the log.
#[derive(Clone, Debug)]
struct Committing<T> {
    position: Lsn,
    token: T,
    stages: Stages,
    promise: LogMode,
}

/// The log and its end of the store.
pub(super) struct CommitLog<T> {
    mode: LogMode,
    target: StoreDevice,
    class: ClassTag,
    log: Log,
    group: CommitGroups,
    witness: Witness,
    /// Flushes that the group still waits for.
    flushes: u32,
    /// Data was written beside the log since the data device was last flushed.
    own_data_unflushed: bool,
    committing: VecDeque<Committing<T>>,
    syncing: VecDeque<Committing<T>>,
    /// The record of the transaction in hand; then memory for what follows it.
    record: Vec<u8>,
    compressor: Compressor,
}

impl<T: Copy> CommitLog<T> {
    /// A log of which nothing is known yet.
    pub(super) fn closed(options: &Options, superblock: &Superblock) -> CommitLog<T> {
        CommitLog {
            mode: options.log_mode,
            target: superblock.layout.log_target,
            class: options.classes.log,
            log: Log::resume(LogRing::new(superblock), Lsn(0), Lsn(0), 0, Vec::new()),
            group: CommitGroups::new(group_settings(options), Lsn(0), Lsn(0)),
            witness: Witness::new(None, Span::ZERO),
            flushes: 0,
            own_data_unflushed: false,
            committing: VecDeque::new(),
            syncing: VecDeque::new(),
            record: Vec::new(),
            compressor: Compressor::new(options.compression),
        }
    }

    /// The log goes on behind `head`, whose last commit ends at `last_commit`. All of that is durable, which the witness is made to
    /// say; a proof is the first that is appended, where anything is.
    pub(super) fn resume(
        &mut self,
        now: Time,
        options: &Options,
        superblock: &Superblock,
        (head, chain, prefix): (Lsn, u32, Vec<u8>),
        last_commit: Lsn,
    ) {
        let start = superblock.completed.position;
        self.target = superblock.layout.log_target;
        let log = Log::resume(LogRing::new(superblock), start, head, chain, prefix);
        // The marker of that number is durable before anything is written here.
        self.log = log.of_life(superblock.sequence + 1);
        self.group = CommitGroups::new(group_settings(options), head, last_commit);
        self.witness = Witness::new(superblock.layout.witness_offsets(), witness_lag(options));
        // In mode none as well: what an earlier life has left behind `head` is never chained to what a checkpoint of this one names, because no record of
        // another life is the same.
        self.append_proof(now);
        self.witness.demand(head);
    }

    /// Encodes a transaction as it will stand in the log. Answers how many bytes it is.
    pub(super) fn encode(&mut self, changes: &[Change<'_>]) -> u64 {
        self.record.clear();
        changes.iter().for_each(|change| change.encode(&mut self.record));
        self.record.len() as u64
    }

    /// The transaction that was encoded last, until it is appended.
    pub(super) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Appends the transaction that was encoded last. Answers where its record ends.
    pub(super) fn append_transaction(&mut self, changes: &[Change<'_>]) -> Lsn {
        self.append_sign();
        self.own_data_unflushed |=
            changes.iter().any(|change| matches!(change, Change::Place { .. }));
        self.log.append(RecordKind::Transaction, &self.record)
    }

    /// Appends what its transaction has done to pages: images of those that were clean, edits of the others.
    pub(super) fn append_physical(&mut self, pages: &mut Pages, totals: &mut Totals) {
        let before = self.log.head();
        for at in 0..pages.journal.first_changed().len() {
            let page = pages.journal.first_changed()[at];
            // A page that was changed and given back in the same transaction is nobody's.
            if pages.is_dirty(page) {
                self.append_image(page, pages);
                totals.log_images += 1;
            }
        }
        if !pages.journal.edits().is_empty() {
            self.append_sign();
            self.log.append(RecordKind::Edits, pages.journal.edits());
        }
        pages.journal.clear();
        totals.log_physical_bytes += self.log.head().0 - before.0;
    }

    fn append_image(&mut self, page: PageNo, pages: &Pages) {
        let (bytes, raw) = pages.current(page);
        self.record.clear();
        self.record.extend_from_slice(&page.0.to_le_bytes());
        self.record.extend_from_slice(&[0, u8::from(raw)]);
        let form = self.compressor.compress(bytes, Content::of(raw), &mut self.record);
        self.record[8] = form.byte();
        self.append_sign();
        self.log.append(RecordKind::Image, &self.record);
    }

    /// Appends the instant of a checkpoint.
    pub(super) fn append_instant(&mut self, id: CheckpointId) {
        self.log.append(RecordKind::Instant, &id.0.to_le_bytes());
    }

    /// Appends the record of a transaction that is carried out in part once more. Answers where it ends.
    pub(super) fn append_again(&mut self, record: &[u8]) -> Lsn {
        self.log.append(RecordKind::Again, record)
    }

    /// Says in the log how far it is durable. Before that is on the device, rot in what was flushed last would pass for a
    /// write that a power cut has torn.
    fn append_proof(&mut self, now: Time) {
        let flushed = self.group.flushed();
        let end = self.log.append(RecordKind::Durable, &flushed.0.to_le_bytes());
        self.group.proof_appended(end);
        self.witness.durable(now, flushed);
    }

    /// The same between two records, often enough for whoever looks for one behind a damaged place.
    fn append_sign(&mut self) {
        if self.log.wants_sign() {
            self.log.append(RecordKind::Durable, &self.group.flushed().0.to_le_bytes());
        }
    }

    /// An update is appended up to `position`.
    pub(super) fn commit(
        &mut self,
        now: Time,
        (token, stages, promise): (T, Stages, LogMode),
        position: Lsn,
        ops: &mut Ops<T>,
    ) {
        self.group.committed(now, position);
        if matches!(promise, LogMode::Background | LogMode::None) {
            return ops.end(token, stages, Ok(Answer::Done));
        }
        // What is more than the mode would do by itself has to be asked for.
        if promise < self.mode {
            self.group.demand(position);
        }
        self.committing.push_back(Committing { position, token, stages, promise });
    }

    /// Somebody waits until the log is durable up to its head.
    pub(super) fn sync(&mut self, running: RunningOp<T>, ops: &mut Ops<T>) {
        let position = self.group.demand_commits();
        self.witness.demand(position);
        ops.leave_lane(running.lane);
        let RunningOp { token, stages, terms, .. } = running;
        let promise = terms.promise;
        self.syncing.push_back(Committing { position, token, stages, promise });
    }

    /// Somebody needs the log to be durable up to `position`.
    pub(super) fn demand(&mut self, position: Lsn) {
        self.group.demand(position);
    }

    /// Writes and flushes what is due.
    pub(super) fn advance(
        &mut self,
        now: Time,
        requests: &mut DeviceRequests,
        totals: &mut Totals,
    ) {
        self.group.look_for_proof(now, &self.log);
        self.group.demand_due(now);
        totals.log_ring_bytes = self.log.taken();
        while let Some(write) = self.log.next_full_write() {
            self.write(write, requests, totals);
        }
        if self.group.wants_write(&self.log)
            && let Some(write) = self.log.next_last_write()
        {
            self.write(write, requests, totals);
        }
        if self.group.wants_flush(&self.log) {
            self.group.flush_began(now, &self.log);
            totals.log_flushes += 1;
            self.flush(requests);
        }
        if let Some((durable, places)) = self.witness.next_write(now) {
            totals.log_witnesses += 1;
            let bytes = witness::encode(self.log.ring(), durable);
            for offset in places {
                requests.write(
                    RequestPurpose::Witness,
                    StoreDevice::Data,
                    offset,
                    self.class,
                    bytes.clone(),
                );
            }
        }
    }

    fn write(&mut self, write: LogWrite, requests: &mut DeviceRequests, totals: &mut Totals) {
        let LogWrite { position, offset, data } = write;
        totals.log_writes += 1;
        totals.log_device_bytes += data.len() as u64;
        requests.write(RequestPurpose::LogWrite(position), self.target, offset, self.class, data);
    }

    /// Makes the log durable, and before anybody relies on it the data that stands beside it.
    fn flush(&mut self, requests: &mut DeviceRequests) {
        self.flushes = 1;
        requests.flush(RequestPurpose::LogFlush(self.target), self.target, self.class);
        if self.target == StoreDevice::Log && self.own_data_unflushed {
            self.flushes = 2;
            requests.flush(
                RequestPurpose::LogFlush(StoreDevice::Data),
                StoreDevice::Data,
                self.class,
            );
        }
        self.own_data_unflushed = false;
    }

    pub(super) fn write_done(&mut self, position: Lsn, done: IoDone) -> Result<(), Fault> {
        if done.outcome != Outcome::Done {
            return Err(Fault::LogWrite);
        }
        self.log.write_done(position, done.data);
        Ok(())
    }

    pub(super) fn witness_done(&mut self, outcome: Outcome) -> Result<(), Fault> {
        if outcome != Outcome::Done {
            return Err(Fault::LogWrite);
        }
        self.witness.write_done();
        Ok(())
    }

    pub(super) fn flush_done(
        &mut self,
        now: Time,
        target: StoreDevice,
        outcome: Outcome,
    ) -> Result<(), Fault> {
        if outcome != Outcome::Done {
            return Err(Fault::Flush(target));
        }
        self.flushes -= 1;
        if self.flushes == 0 {
            self.group.flush_done(now);
            self.append_proof(now);
        }
        Ok(())
    }

    /// Answers the commits that the log now keeps its promise for, in their order.
    pub(super) fn answer(&mut self, ops: &mut Ops<T>) {
        let is_kept =
            |first: &Committing<T>| first.position <= self.group.answered(first.promise, &self.log);
        while self.committing.front().is_some_and(is_kept) {
            let first = self.committing.pop_front().expect("it was there");
            ops.end(first.token, first.stages, Ok(Answer::Done));
        }
        let proven = self.group.proven();
        while self
            .syncing
            .front()
            .is_some_and(|first| first.position <= proven && self.witness.says(first.position))
        {
            let first = self.syncing.pop_front().expect("it was there");
            ops.end(first.token, first.stages, Ok(Answer::Done));
        }
    }

    /// All that wait.
    pub(super) fn take_waiters(&mut self) -> Vec<(T, Stages)> {
        let all = self.committing.drain(..).chain(self.syncing.drain(..));
        all.map(|op| (op.token, op.stages)).collect()
    }

    /// Whether the op waits whose token is meant.
    pub(super) fn holds(&self, is_meant: impl Fn(&T) -> bool) -> bool {
        self.committing.iter().chain(&self.syncing).any(|op| is_meant(&op.token))
    }

    /// How many wait.
    pub(super) fn waiters(&self) -> usize {
        self.committing.len() + self.syncing.len()
    }

    /// How many updates wait.
    pub(super) fn updaters(&self) -> usize {
        self.committing.len()
    }

    /// When something is due by the clock, if nothing else happens before.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.group.deadline(&self.log).into_iter().chain(self.witness.deadline()).min()
    }

    /// Everything before is durable.
    pub(super) fn flushed(&self) -> Lsn {
        self.group.flushed()
    }

    /// Behind the last record that says anything but how far the log is durable.
    pub(super) fn last_commit(&self) -> Lsn {
        self.group.last_commit()
    }

    /// Behind the last record, and its chained checksum.
    pub(super) fn head(&self) -> (Lsn, u32) {
        (self.log.head(), self.log.chain())
    }

    /// Bytes that may be appended.
    pub(super) fn room(&self) -> u64 {
        self.log.room()
    }

    /// Bytes that a restart would read.
    pub(super) fn used(&self) -> u64 {
        self.log.used()
    }

    /// Nothing before this position is needed any more.
    pub(super) fn release(&mut self, start: Lsn) {
        self.log.release(start);
    }
}

fn group_settings(options: &Options) -> GroupSettings {
    GroupSettings {
        mode: options.log_mode,
        flush_interval: options.log_flush_interval,
        sync_interval: options.log_sync_interval,
        gather_max: options.gather_max,
    }
}

/// How long the witness may stay behind when nobody waits for it. Where flushes come one by one, as often as somebody commits, it
/// is not written with each; where they are seldom, it is.
fn witness_lag(options: &Options) -> Span {
    match options.log_mode {
        LogMode::Fsync => options.log_sync_interval,
        LogMode::LogOnly | LogMode::Background | LogMode::None => Span::ZERO,
    }
}
