//! Carrying the log's transactions out again (checkpoint.md 8.5), on pages that are sound.
//!
//! The log is read twice. The first time finds its end, which is the first thing that is no record, or the first record whose
//! own data, written beside the log and never made durable, did not reach the device. The second time applies.
//!
//! What was read behind the last position that is known to be durable may be in a volatile cache only, or be the remains of
//! a flush that failed; the next power cut may still take it away. So it is written once more, records and data, before
//! the store opens.

use super::stream::{Progress, Stream};
use super::{Phase, Request, RestartFault, RestartProgress};
use crate::paged::api::{IoDone, Target};
use crate::paged::change::{Change, Run, decode_all};
use crate::paged::contents::{self, Miss};
use crate::paged::ids::Lsn;
use crate::paged::log::{Kind as RecordKind, Record, Ring, Scan};
use crate::paged::metrics::Reason;
use crate::paged::space::PageRun;
use crate::paged::store::run::Verdict;
use crate::paged::store::{PagedStore, Purpose};
use loadline_device::{Kind, Outcome};
use std::collections::VecDeque;

/// Transactions that wait for pages, so that their pages are read at the same time.
const AHEAD_MAX: usize = 256;
/// Requests in flight while data is checked and written again.
const IN_FLIGHT_MAX: u32 = 8;
/// Bytes of one request when the log's tail is written again.
const PIECE: u64 = 1 << 20;

enum Stage {
    Scan,
    Verify { next: usize },
    Apply,
    Rewrite { next: Lsn },
    Done,
}

/// A transaction that waits for pages.
struct Ahead {
    end: (Lsn, u32),
    changes: Vec<Change<'static>>,
}

/// The logical part of a restart.
pub(super) struct Replay {
    stage: Stage,
    ring: Ring,
    stream: Stream,
    start: Lsn,
    /// The last position of which the log says that it is durable.
    durable: Lsn,
    /// Where the log ends, once the first reading is over.
    end: Lsn,
    /// Runs that transactions placed, by the record's position.
    placed: Vec<(Lsn, Run)>,
    ahead: VecDeque<Ahead>,
    /// The last record handed on, or the head of the log when all are.
    scan: Scan,
    in_flight: u32,
    /// Data read back, to be written again.
    write_back: Vec<(Target, u64, Vec<u8>)>,
    applied: u64,
}

impl Replay {
    fn new(ring: Ring, start: Lsn, chain: u32) -> Replay {
        Replay {
            stage: Stage::Scan,
            ring,
            stream: Stream::new(ring, 1, start, chain),
            start,
            durable: start,
            end: start,
            placed: Vec::new(),
            ahead: VecDeque::new(),
            scan: Scan::new(ring, start, chain),
            in_flight: 0,
            write_back: Vec::new(),
            applied: 0,
        }
    }

    pub(super) fn progress(&self) -> RestartProgress {
        let (phase, at) = match self.stage {
            Stage::Scan => ("finding the end of the log", self.stream.scan().position()),
            Stage::Verify { .. } => ("checking data beside the log", self.end),
            Stage::Apply => ("replaying the log", self.scan.position()),
            Stage::Rewrite { next } => ("writing the log's tail again", next),
            Stage::Done => ("replaying the log", self.end),
        };
        let total = self.end.0.max(at.0) - self.start.0;
        RestartProgress { phase, done: at.0.saturating_sub(self.start.0), total }
    }

    pub(super) fn answered(&mut self, request: Request, done: IoDone) -> Result<(), RestartFault> {
        let good = done.outcome == Outcome::Done;
        match request {
            Request::Stream(number, position) => {
                if !self.stream.answered(number, position, done) {
                    return Err(RestartFault::Unreadable(Target::Log));
                }
            }
            Request::Own(at) => {
                self.in_flight -= 1;
                if !good {
                    return Err(RestartFault::Unreadable(Target::Data));
                }
                self.own_data_read(at, done.data);
            }
            Request::Tail(target, offset) => {
                self.in_flight -= 1;
                if !good {
                    return Err(RestartFault::Unreadable(target));
                }
                self.write_back.push((target, offset, done.data));
            }
            _ => {
                self.in_flight -= 1;
                if !good {
                    return Err(RestartFault::Unwritable);
                }
            }
        }
        Ok(())
    }

    /// Data that stands beside the log: it is all there, or the log ends before the record that speaks of it.
    fn own_data_read(&mut self, at: usize, data: Vec<u8>) {
        let (record, run) = &self.placed[at];
        let page = data.len() / run.sums.len();
        let is_whole = data
            .chunks_exact(page)
            .zip(&run.sums)
            .all(|(bytes, sum)| crc32c::crc32c(bytes) == *sum);
        if is_whole {
            self.write_back.push((Target::Data, run.first.0 * page as u64, data));
        } else {
            self.end = self.end.min(*record);
        }
    }

    /// The first reading of a record.
    fn note(
        &mut self,
        record: Record<'_>,
        is_run: impl Fn(&Run) -> bool,
    ) -> Result<(), RestartFault> {
        let fault = RestartFault::Record(record.position);
        match record.kind {
            RecordKind::Durable => {
                let through = record.body.try_into().map_err(|_| fault)?;
                self.durable = self.durable.max(Lsn(u64::from_le_bytes(through)));
            }
            RecordKind::Transaction => {
                for change in decode_all(record.body).ok_or(fault)? {
                    if let Change::Place { runs, .. } = change {
                        if !runs.iter().all(&is_run) {
                            return Err(fault);
                        }
                        self.placed.extend(runs.into_iter().map(|run| (record.position, run)));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl<T: Copy> PagedStore<T> {
    pub(super) fn begin_replay(&mut self) {
        let completed = self.superblock.completed;
        let ring = Ring::new(&self.superblock.layout, self.superblock.store_id);
        let restart = self.restarting();
        restart.replayed = (completed.position, completed.chain);
        restart.phase =
            Phase::Replay(Box::new(Replay::new(ring, completed.position, completed.chain)));
    }

    fn replay(&mut self) -> &mut Replay {
        match &mut self.restarting().phase {
            Phase::Replay(replay) => replay,
            _ => unreachable!("the replay runs"),
        }
    }

    fn replay_failed(&mut self, fault: RestartFault) -> bool {
        self.give_up(fault);
        false
    }

    /// Goes on with the replay. Answers whether the next phase has begun.
    pub(super) fn advance_replay(&mut self) -> bool {
        loop {
            self.read_log_ahead();
            self.write_back();
            let went_on = match self.replay().stage {
                Stage::Scan => self.find_end(),
                Stage::Verify { next } => self.verify(next),
                Stage::Apply => self.apply_log(),
                Stage::Rewrite { next } => self.rewrite_tail(next),
                Stage::Done => {
                    self.flush_restart();
                    return true;
                }
            };
            if !went_on || self.fault.is_some() {
                return false;
            }
        }
    }

    fn read_log_ahead(&mut self) {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        while matches!(self.replay().stage, Stage::Scan | Stage::Apply) {
            let Some((request, offset, length)) = self.replay().stream.next_read() else { return };
            self.request(
                Purpose::Restart(request),
                target,
                Kind::Read,
                (offset, length),
                class,
                Vec::new(),
            );
        }
    }

    /// Writes again what was read back.
    fn write_back(&mut self) {
        let class = self.options.classes.restart;
        for (target, offset, data) in std::mem::take(&mut self.replay().write_back) {
            self.replay().in_flight += 1;
            self.write(Purpose::Restart(Request::Home), target, offset, class, data);
        }
    }

    /// The first reading.
    fn find_end(&mut self) -> bool {
        let layout = self.superblock.layout;
        let is_run = |run: &Run| layout.is_run(run.first, run.sums.len() as u64);
        let Phase::Replay(replay) = &mut self.restarting().phase else { unreachable!("it runs") };
        let ring = replay.ring;
        let mut stream = std::mem::replace(&mut replay.stream, Stream::new(ring, 0, Lsn(0), 0));
        let mut result = Ok(());
        let progress = stream.pump(|_, record| {
            result = replay.note(record, is_run);
            result.is_ok()
        });
        replay.stream = stream;
        if let Err(fault) = result {
            return self.replay_failed(fault);
        }
        match progress {
            Some(Progress::End) => {
                let replay = self.replay();
                replay.end = replay.stream.scan().position();
                replay.stage = Stage::Verify { next: 0 };
                true
            }
            _ => self.replay().stream.wants_reads(),
        }
    }

    /// Reads back the data of records that are not known to be durable.
    fn verify(&mut self, mut next: usize) -> bool {
        let class = self.options.classes.restart;
        let page = self.superblock.layout.page;
        while self.replay().in_flight < IN_FLIGHT_MAX {
            let replay = self.replay();
            let Some((record, run)) = replay.placed.get(next) else { break };
            let at = next;
            next += 1;
            if *record >= replay.durable {
                let place = (page.offset(run.first), (run.sums.len() * page.bytes()) as u64);
                replay.in_flight += 1;
                let purpose = Purpose::Restart(Request::Own(at));
                self.request(purpose, Target::Data, Kind::Read, place, class, Vec::new());
            }
        }
        let replay = self.replay();
        replay.stage = Stage::Verify { next };
        if replay.in_flight > 0 || next < replay.placed.len() || !replay.write_back.is_empty() {
            return false;
        }
        self.claim_placed()
    }

    /// Takes the pages that the log speaks of, so that the replay gives them to nobody else, and begins to apply.
    fn claim_placed(&mut self) -> bool {
        let end = self.replay().end;
        for (record, run) in std::mem::take(&mut self.replay().placed) {
            let pages = PageRun { first: run.first, count: run.sums.len() as u64 };
            if record < end && !self.space.pages.allocator.claim(pages) {
                return self.replay_failed(RestartFault::Record(record));
            }
        }
        let completed = self.superblock.completed;
        let replay = self.replay();
        replay.stream = Stream::new(replay.ring, 2, completed.position, completed.chain);
        replay.stage = Stage::Apply;
        true
    }

    /// The second reading.
    fn apply_log(&mut self) -> bool {
        self.advance_checkpoint();
        if !self.apply_ahead() {
            return false;
        }
        let Phase::Replay(replay) = &mut self.restarting().phase else { unreachable!("it runs") };
        let (ring, end) = (replay.ring, replay.end);
        let mut stream = std::mem::replace(&mut replay.stream, Stream::new(ring, 0, Lsn(0), 0));
        let progress = stream
            .pump(|before, record| record.position < end && self.replay_record(before, record));
        let replay = self.replay();
        replay.stream = stream;
        let is_over = match progress {
            Some(Progress::End) => true,
            Some(Progress::Wait) => return self.replay().stream.wants_reads(),
            None => {
                replay.ahead.len() < AHEAD_MAX && self.fault.is_none() && self.next_is_beyond_end()
            }
        };
        if !is_over || !self.replay().ahead.is_empty() || self.job.is_some() {
            return false;
        }
        self.end_of_log()
    }

    /// Whether the record at which the stream stopped is one that was cut off.
    fn next_is_beyond_end(&mut self) -> bool {
        let replay = self.replay();
        let ring = replay.ring;
        let at = replay.stream.scan().position();
        at >= replay.end || ring.next_record(at) >= replay.end
    }

    /// One record's turn. False stops the stream before it.
    fn replay_record(&mut self, before: Scan, record: Record<'_>) -> bool {
        let after = (record.end, record.chain);
        if record.kind != RecordKind::Transaction {
            if self.replay().ahead.is_empty() {
                self.restarting().replayed = after;
            }
            return true;
        }
        let _ = before;
        if self.replay().ahead.len() >= AHEAD_MAX {
            return false;
        }
        let Some(changes) = decode_all(record.body) else {
            return self.replay_failed(RestartFault::Record(record.position));
        };
        if self.replay().ahead.is_empty() && self.job.is_none() {
            match self.judge(&changes) {
                Verdict::Go(_) => {
                    self.apply_replayed(&changes, after);
                    return true;
                }
                verdict => self.wait_in_replay(verdict),
            }
        } else {
            self.look_ahead(&changes);
        }
        let changes = changes.into_iter().map(Change::into_owned).collect();
        self.replay().ahead.push_back(Ahead { end: after, changes });
        self.fault.is_none()
    }

    /// Sees that the pages of a later transaction are on their way.
    fn look_ahead(&mut self, changes: &[Change<'_>]) {
        if self.restarting().pins.len() + self.loads.len() < self.space.pages.frames() as usize / 16
        {
            let misses = self.plan(changes);
            self.load_for_replay(&misses);
        }
    }

    fn load_for_replay(&mut self, misses: &[Miss]) {
        let class = self.options.classes.restart;
        for miss in misses {
            self.begin_load(*miss, class);
        }
    }

    /// Applies waiting transactions, the oldest first. True if none waits any more.
    fn apply_ahead(&mut self) -> bool {
        while let Some(Ahead { end, changes }) = self.replay().ahead.pop_front() {
            match self.judge(&changes) {
                Verdict::Go(_) => self.apply_replayed(&changes, end),
                verdict => {
                    self.replay().ahead.push_front(Ahead { end, changes });
                    self.wait_in_replay(verdict);
                    return false;
                }
            }
        }
        true
    }

    /// A transaction cannot be applied yet: its pages are read, or a checkpoint makes room.
    fn wait_in_replay(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Load(misses) => {
                self.load_for_replay(&misses);
                if self.loads.is_empty() {
                    self.want_checkpoint(Reason::Restart);
                }
            }
            Verdict::Wait(_) => self.want_checkpoint(Reason::Restart),
            Verdict::Fail(_) => self.give_up(RestartFault::NoRoom),
            Verdict::Go(_) => unreachable!("it could go"),
        }
        self.advance_checkpoint();
    }

    fn apply_replayed(&mut self, changes: &[Change<'_>], end: (Lsn, u32)) {
        contents::apply(&mut self.space, changes);
        self.restarting().replayed = end;
        self.replay().applied += 1;
        self.metrics.totals.replayed += 1;
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
        let next = Lsn(replay.durable.0 / replay.ring.block * replay.ring.block);
        replay.end = head;
        replay.stage = Stage::Rewrite { next };
        self.restarting().replayed = (head, scan.chain());
        self.resume_log(head, scan.chain(), prefix);
        true
    }

    /// Reads the log's tail and writes it again as it is.
    fn rewrite_tail(&mut self, mut next: Lsn) -> bool {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        let ring = self.replay().ring;
        let end = self.replay().end.0.next_multiple_of(ring.block);
        while next.0 < end && self.replay().in_flight < IN_FLIGHT_MAX {
            let offset = ring.place(next);
            let length = PIECE.min(end - next.0).min(ring.offset + ring.bytes - offset);
            next = Lsn(next.0 + length);
            self.replay().in_flight += 1;
            let purpose = Purpose::Restart(Request::Tail(target, offset));
            self.request(purpose, target, Kind::Read, (offset, length), class, Vec::new());
        }
        let replay = self.replay();
        replay.stage = Stage::Rewrite { next };
        if next.0 < end || replay.in_flight > 0 || !replay.write_back.is_empty() {
            return false;
        }
        replay.stage = Stage::Done;
        true
    }
}
