//! What came of a run, and why it failed.

use super::faults::FaultsByKind;
use super::history::Wrong;
use super::ledger::OpCounts;
use super::rows::RowCounts;
use crate::StoreDisks;
use loadline_store::paged::Fault;
use std::fmt;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoakFailure {
    /// An answer was wrong, or an error had no reason.
    Answer(String),
    /// After a restart a lane was in a state that it never had, or had lost what was promised.
    Restart {
        /// Which lane.
        lane: u32,
        /// What is wrong.
        wrong: Wrong,
    },
    /// The store stopped without a reason.
    Stopped(Fault),
    /// Ops wait and nothing happens.
    Stuck(String),
    /// The checker found something.
    Check(String),
}

impl fmt::Display for SoakFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SoakFailure::Answer(text) => write!(f, "wrong answer: {text}"),
            SoakFailure::Restart { lane, wrong: Wrong::Lost { found, promised } } => write!(
                f,
                "lane {lane} has lost what was promised: it is as after {found} transactions, and {promised} \
                 were durable"
            ),
            SoakFailure::Restart { lane, wrong: Wrong::NoState(text) } => {
                write!(f, "lane {lane} is in a state that it never had: {text}")
            }
            SoakFailure::Stopped(fault) => {
                write!(f, "the store stopped without a reason: {fault:?}")
            }
            SoakFailure::Stuck(text) => write!(f, "nothing happens any more: {text}"),
            SoakFailure::Check(text) => write!(f, "the checker finds {text}"),
        }
    }
}

/// What was done, and what was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoakCounts {
    /// Seeds run.
    pub seeds: u64,
    /// Requests sent and answers given.
    pub events: u64,
    /// Ops, by how they ended.
    pub ops: OpCounts,
    /// Power cuts.
    pub cuts: u64,
    /// Processes killed.
    pub kills: u64,
    /// Restarts that were judged.
    pub restarts: u64,
    /// Lives with the least cache that their store opens with.
    pub least_caches: u64,
    /// Stores with the smallest log that there is.
    pub smallest_logs: u64,
    /// Updates whose small writes went beside the log, and those of them whose data went before their turn.
    pub small_writes: (u64, u64),
    /// Faults that struck, by kind.
    pub faults: FaultsByKind,
    /// Stores that could not be opened or read because of damage.
    pub refusals: u64,
    /// Crashes by row.
    pub rows: RowCounts,
}

impl SoakCounts {
    /// Adds another count.
    pub fn add(&mut self, other: &SoakCounts) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.ops.add(&other.ops);
        self.cuts += other.cuts;
        self.kills += other.kills;
        self.restarts += other.restarts;
        self.least_caches += other.least_caches;
        self.smallest_logs += other.smallest_logs;
        self.small_writes.0 += other.small_writes.0;
        self.small_writes.1 += other.small_writes.1;
        self.faults.add(&other.faults);
        self.refusals += other.refusals;
        self.rows.add(&other.rows);
    }
}

/// What came of a seed.
pub struct SeedOutcome {
    /// What was done.
    pub counts: SoakCounts,
    /// What was wrong, if anything was.
    pub failure: Option<SoakFailure>,
    /// What happened, life by life.
    pub story: Vec<String>,
    /// The disks as they were left.
    pub disks: Option<StoreDisks>,
    /// Lives that were planned.
    pub lives: usize,
    /// Faults that were planned.
    pub faults: usize,
}
