//! Carrying the log's transactions out again (checkpoint.md 8.5), on pages that are sound.
//!
//! The log is read twice. The first time finds its end, which is the first thing that is no record, or the first record whose
//! own data, written beside the log and never made durable, did not reach the device. The second time applies. Its tail, of which nothing says that it is durable, is read
//! once or twice in between: to [compare](verify) such data, and to write it again.
//!
//! What places of the log speak of is taken as it is read, and noted in no list: a log of small writes would be as large in memory as it is on its device, whatever the
//! cache. Where the log turns out to end sooner, what is behind is read once more and given back. There it may be others' already: a life without a log leaves
//! the remains of an earlier one's where they stand.
//!
//! What was read behind the last position that is known to be durable may be in a volatile cache only, or be the remains of
//! a flush that failed; the next power cut may still take it away. So it is written once more, records and data, flushed, and vouched for by
//! the log's witness, before anything of it is applied: of what is carried out [by key](batch) a checkpoint may have a part, which is a state
//! that ever was only with the rest of it. Without the witness, rot in the tail would pass for a torn end after that checkpoint.
//! Only what the second reading finds to be the same records is written: the device may have read them wrong.

mod apply;
mod batch;
mod own_data;
mod steps;
mod tail;
mod verify;

use super::fault::{RestartFault, RestartProgress};
use super::stream::Stream;
use crate::paged::api::{IoDone, StoreDevice};
use crate::paged::bounds::TAIL_PIECE;
use crate::paged::contents::{Carried, each_run};
use crate::paged::ids::{Lsn, PageSize};
use crate::paged::log::{LogRing, ProofSearch, Record, RecordKind, Scan};
use crate::paged::store::requests::RestartRequest;
use batch::ReplayBatch;
use loadline_device::Outcome;
use own_data::{OwnData, Places};
use std::collections::VecDeque;

/// Transactions that wait for pages, so that their pages are read at the same time.
const AHEAD_MAX: usize = 256;
/// Requests in flight while data is checked and written again.
const IN_FLIGHT_MAX: u32 = 8;

enum ReplayStage {
    Carried,
    Scan,
    Compare,
    Release,
    Rewrite,
    Flush { is_begun: bool },
    Vouch { is_written: bool },
    Apply,
    Done,
}

/// A transaction that waits for pages.
struct WaitingTransaction {
    end: (Lsn, u32),
    /// It as it stands in the log, which is the shortest.
    body: Vec<u8>,
    /// How far it is carried out, if it is in part.
    progress: Option<Carried>,
}

/// What of the log waits to be carried out: transactions first that wait for pages, then those that are gathered.
#[derive(Default)]
struct ReplayQueue {
    ahead: VecDeque<WaitingTransaction>,
    /// Bytes of those.
    ahead_bytes: u64,
    batch: ReplayBatch,
}

/// Positions of the log that a restart goes by.
#[derive(Clone, Copy, Debug)]
struct LogMarks {
    /// Where the replay begins.
    start: Lsn,
    /// The last position of which the log's witness says that it is durable.
    witnessed: Lsn,
    /// The last position of which that or the log says so.
    durable: Lsn,
    /// Where the log ends, once the first reading is over.
    end: Lsn,
    /// Behind the last record that says anything but how far the log is durable.
    last_commit: Lsn,
    /// Behind the last record whose data stands beside the log.
    last_place: Lsn,
}

/// The logical part of a restart.
pub(super) struct Replay {
    stage: ReplayStage,
    ring: LogRing,
    stream: Stream,
    marks: LogMarks,
    /// What ends it is being looked at: rot or a torn write.
    search: Option<ProofSearch>,
    /// Places of the log from which on it can be read once more, a piece apart: the last one before what is not known to be durable, and those
    /// behind, each with the CRC that it is chained to.
    tail_starts: VecDeque<(Lsn, u32)>,
    own_data: OwnData,
    /// The first transaction, and whether it is the repetition of one that an instant found carried out in part.
    first: Option<(Lsn, bool)>,
    /// How far the pages hold the first transaction.
    progress: Option<Carried>,
    queue: ReplayQueue,
    in_flight: u32,
    /// Data read back, to be written again.
    write_back: Vec<(StoreDevice, u64, Vec<u8>)>,
}

impl Replay {
    fn new(ring: LogRing, start: Lsn, chain: u32, witnessed: Lsn) -> Replay {
        Replay {
            stage: ReplayStage::Carried,
            ring,
            stream: Stream::new(ring, 1, start, chain),
            marks: LogMarks {
                start,
                witnessed,
                durable: start.max(witnessed),
                end: start,
                last_commit: start,
                last_place: start,
            },
            search: None,
            tail_starts: VecDeque::from([(start, chain)]),
            own_data: OwnData::default(),
            first: None,
            progress: None,
            queue: ReplayQueue::default(),
            in_flight: 0,
            write_back: Vec::new(),
        }
    }

    /// Bytes that it holds between two events.
    pub(super) fn memory(&self) -> u64 {
        let write_back: usize = self.write_back.iter().map(|(_, _, data)| data.capacity()).sum();
        let starts = self.tail_starts.capacity() * size_of::<(Lsn, u32)>();
        let ReplayQueue { ahead, ahead_bytes, batch } = &self.queue;
        let ahead = (ahead.capacity() * size_of::<WaitingTransaction>()) as u64 + ahead_bytes;
        let queues = ahead + batch.memory() + self.own_data.memory();
        (write_back + starts) as u64 + self.stream.memory() + queues
    }

    pub(super) fn progress(&self) -> RestartProgress {
        let (phase, at) = match self.stage {
            ReplayStage::Carried | ReplayStage::Scan => {
                ("finding the end of the log", self.stream.scan().position())
            }
            ReplayStage::Compare | ReplayStage::Release => {
                ("checking data beside the log", self.stream.scan().position())
            }
            ReplayStage::Rewrite => ("writing the log's tail again", self.stream.scan().position()),
            ReplayStage::Flush { .. } | ReplayStage::Vouch { .. } => {
                ("writing the log's tail again", self.marks.end)
            }
            ReplayStage::Apply => ("replaying the log", self.stream.scan().position()),
            ReplayStage::Done => ("replaying the log", self.marks.end),
        };
        let total = self.marks.end.0.max(at.0) - self.marks.start.0;
        RestartProgress { phase, done: at.0.saturating_sub(self.marks.start.0), total }
    }

    pub(super) fn answered(
        &mut self,
        request: RestartRequest,
        done: IoDone,
        page: PageSize,
    ) -> Result<(), RestartFault> {
        let good = done.outcome == Outcome::Done;
        match request {
            RestartRequest::Stream(number, position) => {
                self.stream.answered(number, position, done);
            }
            RestartRequest::Own(at) => {
                self.in_flight -= 1;
                if !good {
                    return Err(RestartFault::Unreadable(
                        StoreDevice::Data,
                        self.own_place(at, page),
                    ));
                }
                self.own_data_read(at, done.data);
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

    /// A record of the first reading begins here.
    fn note_start(&mut self, scan: Scan) {
        let starts = &mut self.tail_starts;
        if starts.back().is_some_and(|last| scan.position().0 >= last.0.0 + TAIL_PIECE) {
            starts.push_back((scan.position(), scan.chain()));
        }
        // Blocks are written as wholes, so the whole of the first one is read once more.
        let first = || Lsn(self.ring.block_start(self.marks.durable.0));
        while starts.get(1).is_some_and(|second| second.0 <= first()) {
            starts.pop_front();
        }
    }

    /// The first reading of a record. What it has placed is taken, unless the pages of the tree know it already, or something before was refused.
    fn note(&mut self, record: Record<'_>, places: &mut Places<'_>) -> Result<(), RestartFault> {
        let fault = RestartFault::Record(record.position);
        if !matches!(record.kind, RecordKind::Durable | RecordKind::Segment) {
            self.marks.last_commit = record.end;
        }
        match record.kind {
            RecordKind::Durable => {
                let through = record.body.try_into().map_err(|_| fault)?;
                self.marks.durable = self.marks.durable.max(Lsn(u64::from_le_bytes(through)));
            }
            RecordKind::Transaction | RecordKind::Again => {
                let is_again = record.kind == RecordKind::Again;
                self.first.get_or_insert((record.position, is_again));
                let mut all_are_runs = true;
                let mut has_placed = false;
                let mut refused = self.own_data.refused;
                let is_read = each_run(self.first, self.progress, &record, |at, run| {
                    has_placed = true;
                    all_are_runs &= places.layout.is_run(run.first, run.sums.len() as u64);
                    if all_are_runs && refused.is_none() && !places.allocator.claim(run.pages()) {
                        refused = Some((record.position, at));
                    }
                });
                self.own_data.refused = refused;
                if has_placed {
                    self.marks.last_place = record.end;
                }
                if !is_read || !all_are_runs {
                    return Err(fault);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
