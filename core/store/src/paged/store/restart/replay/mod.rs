//! Carrying the log's transactions out again (checkpoint.md 8.5), on pages that are sound.
//!
//! The log is read twice. The first time finds its end, which is the first thing that is no record, or the first record whose
//! own data, written beside the log and never made durable, did not reach the device. The second time applies.
//!
//! What was read behind the last position that is known to be durable may be in a volatile cache only, or be the remains of
//! a flush that failed; the next power cut may still take it away. So it is written once more, records and data, before
//! the store opens.

mod apply;
mod tail;

use super::stream::{Progress, Stream};
use super::{Phase, Request, RestartFault, RestartProgress};
use crate::paged::api::{IoDone, Target};
use crate::paged::change::{Change, Run, decode_each};
use crate::paged::contents::{self, Carried};
use crate::paged::ids::Lsn;
use crate::paged::log::{Kind as RecordKind, ProofSearch, Record, Ring, Scan};
use crate::paged::store::PagedStore;
use crate::paged::store::requests::Purpose;
use loadline_device::Outcome;
use std::collections::VecDeque;

/// Transactions that wait for pages, so that their pages are read at the same time.
const AHEAD_MAX: usize = 256;
/// Requests in flight while data is checked and written again.
const IN_FLIGHT_MAX: u32 = 8;
/// Bytes of one request when the log's tail is written again.
const PIECE: u64 = 1 << 20;

enum Stage {
    Scan,
    Carried,
    Verify { next: usize },
    Apply,
    Rewrite { next: Lsn },
    Done,
}

/// A transaction that waits for pages.
struct Ahead {
    end: (Lsn, u32),
    changes: Vec<Change<'static>>,
    /// How far it is carried out.
    progress: Carried,
}

/// A run that a transaction placed.
struct Placed {
    /// The record's position.
    record: Lsn,
    /// How far the transaction is before it is placed.
    at: Carried,
    run: Run,
}

/// The logical part of a restart.
pub(super) struct Replay {
    stage: Stage,
    ring: Ring,
    stream: Stream,
    start: Lsn,
    /// The last position of which the log's witness says that it is durable.
    witnessed: Lsn,
    /// The last position of which that or the log says so.
    durable: Lsn,
    /// Where the log ends, once the first reading is over.
    end: Lsn,
    /// Behind the last record that says anything but how far the log is durable.
    last_commit: Lsn,
    /// What ends it is being looked at: rot or a torn write.
    search: Option<ProofSearch>,
    /// Runs that transactions placed, in the order of their records.
    placed: Vec<Placed>,
    /// The first transaction, and whether it is the repetition of one that an instant found carried out in part.
    first: Option<(Lsn, bool)>,
    /// How far the pages hold the first transaction.
    progress: Option<Carried>,
    ahead: VecDeque<Ahead>,
    /// The last record handed on, or the head of the log when all are.
    scan: Scan,
    in_flight: u32,
    /// Data read back, to be written again.
    write_back: Vec<(Target, u64, Vec<u8>)>,
}

impl Replay {
    fn new(ring: Ring, start: Lsn, chain: u32, witnessed: Lsn) -> Replay {
        Replay {
            stage: Stage::Scan,
            ring,
            stream: Stream::new(ring, 1, start, chain),
            start,
            witnessed,
            durable: start.max(witnessed),
            end: start,
            last_commit: start,
            search: None,
            placed: Vec::new(),
            first: None,
            progress: None,
            ahead: VecDeque::new(),
            scan: Scan::new(ring, start, chain),
            in_flight: 0,
            write_back: Vec::new(),
        }
    }

    pub(super) fn progress(&self) -> RestartProgress {
        let (phase, at) = match self.stage {
            Stage::Scan => ("finding the end of the log", self.stream.scan().position()),
            Stage::Carried | Stage::Verify { .. } => ("checking data beside the log", self.end),
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
        let Placed { record, run, .. } = &self.placed[at];
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
        if !matches!(record.kind, RecordKind::Durable | RecordKind::Segment) {
            self.last_commit = record.end;
        }
        match record.kind {
            RecordKind::Durable => {
                let through = record.body.try_into().map_err(|_| fault)?;
                self.durable = self.durable.max(Lsn(u64::from_le_bytes(through)));
            }
            RecordKind::Transaction | RecordKind::Again => {
                let is_again = record.kind == RecordKind::Again;
                let is_first = self.first.is_none();
                self.first.get_or_insert((record.position, is_again));
                if is_again && !is_first {
                    return Ok(());
                }
                for (change, number) in decode_each(record.body).zip(0..) {
                    if let Change::Place { runs, .. } = change.ok_or(fault)? {
                        if !runs.iter().all(&is_run) {
                            return Err(fault);
                        }
                        let placed = |(run, inside)| {
                            let at = Carried { change: number, inside };
                            Placed { record: record.position, at, run }
                        };
                        self.placed.extend(runs.into_iter().zip(0..).map(placed));
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
        let ring = Ring::new(&self.superblock);
        let restart = self.restarting();
        restart.replayed = (completed.position, completed.chain);
        let witnessed = restart.witnessed;
        let replay = Replay::new(ring, completed.position, completed.chain, witnessed);
        restart.phase = Phase::Replay(Box::new(replay));
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
                Stage::Carried => self.find_carried(),
                Stage::Verify { next } => self.verify(next),
                Stage::Apply => self.apply_log(),
                Stage::Rewrite { next } => self.rewrite_tail(next),
                Stage::Done => {
                    self.let_pages_go();
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
            self.requests.read(Purpose::Restart(request), target, (offset, length), class);
        }
    }

    /// The first reading.
    fn find_end(&mut self) -> bool {
        let layout = self.superblock.layout;
        let is_run = |run: &Run| layout.is_run(run.first, run.sums.len() as u64);
        let Phase::Replay(replay) = &mut self.restarting().phase else { unreachable!("it runs") };
        if replay.search.is_some() {
            return self.look_behind_the_end();
        }
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
        if !matches!(progress, Some(Progress::End)) {
            return self.replay().stream.wants_reads();
        }
        let replay = self.replay();
        let end = replay.stream.scan().position();
        if replay.witnessed > ring.next_record(end) {
            return self.replay_failed(RestartFault::LogDamaged(end));
        }
        replay.search = Some(ProofSearch::new(&ring, end));
        self.look_behind_the_end()
    }

    /// The end of the log is rot if something behind it says that the log was durable beyond, as it is if the witness says so.
    fn look_behind_the_end(&mut self) -> bool {
        let replay = self.replay();
        let end = replay.stream.scan().position();
        let search = replay.search.as_mut().expect("the log has been read to its end");
        match replay.stream.is_damaged(search) {
            Some(true) => self.replay_failed(RestartFault::LogDamaged(end)),
            Some(false) => {
                replay.end = end;
                replay.stage = Stage::Carried;
                true
            }
            None => replay.stream.wants_reads(),
        }
    }

    /// Whether the pages hold a part of the first transaction: the checkpoint that wrote them began while it was carried out. What
    /// that part has placed is neither compared nor claimed: it is the pages'.
    fn find_carried(&mut self) -> bool {
        self.space.pages.next_op();
        let progress = match contents::progress(&self.space) {
            Ok(progress) => progress,
            Err(missing) => {
                self.load_for_replay(&[missing.into()]);
                return false;
            }
        };
        let replay = self.replay();
        let first = replay.first;
        if progress.is_some() && first.is_none_or(|(position, _)| position >= replay.end) {
            let end = replay.end;
            return self.replay_failed(RestartFault::LogEnds(end));
        }
        replay.progress = progress;
        let is_done = |placed: &Placed| {
            first.is_some_and(|(position, is_again)| {
                let is_past = progress.map_or(is_again, |progress| placed.at < progress);
                placed.record == position && is_past
            })
        };
        replay.placed.retain(|placed| !is_done(placed));
        replay.stage = Stage::Verify { next: 0 };
        true
    }
}
