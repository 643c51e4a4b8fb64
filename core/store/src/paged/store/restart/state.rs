//! How far a restart is.

use super::fault::{RestartFault, RestartProgress};
use super::physical::Physical;
use super::replay::Replay;
use crate::paged::contents::{LoadFault, Miss, ReplayLosses, StepUnderWay};
use crate::paged::ids::{Lsn, PageNo};
use std::collections::BTreeSet;

/// What a restart is doing.
pub(super) enum RestartPhase {
    Superblocks {
        read: Vec<Vec<u8>>,
        log_header: Option<Vec<u8>>,
        left: u32,
    },
    /// The superblock that was read may stand in a volatile cache only, or be the remains of a flush that failed. It is
    /// written again in its own place and flushed before anything relies on it: were it lost after the first page
    /// that goes home, nothing would say that pages are half written; and the other slot holds what it leads back to. Meanwhile
    /// the log's witness is read.
    Confirm {
        left: u32,
        flushing: bool,
    },
    Physical(Box<Physical>),
    Map {
        next: u64,
        loaded: u64,
    },
    Replay(Box<Replay>),
    Marker {
        left: u32,
    },
    /// What was read may still be in a volatile cache: it is made durable before anybody relies on it.
    Flush {
        left: u32,
    },
    Done,
}

/// A restart.
pub(in crate::paged::store) struct Restart {
    pub(super) phase: RestartPhase,
    pub(super) data_bytes: u64,
    pub(super) log_device_bytes: Option<u64>,
    /// Up to where the log is contained in memory.
    pub(super) replayed: (Lsn, u32),
    /// Up to where the log is durable, as its witness says.
    pub(super) witnessed: Lsn,
    /// The change in hand is one of several of which no state in between is the log's: how far it is carried out is not noted.
    pub(super) in_batch: bool,
    pub(super) pins: Vec<PageNo>,
    /// Pages that are on their way for transactions whose turn has not come. Those before them may do away with what such a page holds, so one
    /// that does not come is nobody's loss until it is asked for again.
    pub(super) ahead: BTreeSet<PageNo>,
    /// Pages of data that the transaction in hand cannot have.
    pub(in crate::paged::store) losses: ReplayLosses,
    pub(super) failed_load: Option<RestartFault>,
    pub(super) loads_done: u64,
}

impl Restart {
    /// A step that carries a transaction out again.
    pub(in crate::paged::store) fn of_replay(&self, step: StepUnderWay) -> StepUnderWay {
        let step = step.past(&self.losses);
        if self.in_batch { step.without_note() } else { step }
    }

    pub(in crate::paged::store) fn replayed(&self) -> (Lsn, u32) {
        self.replayed
    }

    /// A page that the restart or a replayed transaction asked for has come, or has not. Answers whether it is to be kept:
    /// a transaction's pages stay until it is applied, or a small cache would never hold them all at once.
    pub(in crate::paged::store) fn loaded(&mut self, wanted: Miss, bad: Option<LoadFault>) -> bool {
        let page = wanted.page();
        let is_ahead = self.ahead.remove(&page);
        if let Some(bad) = bad {
            let is_damaged = bad == LoadFault::Damaged;
            let goes_on = match wanted {
                _ if is_ahead => true,
                Miss::Data(data) => self.losses.came_bad((data.number, data.sum), is_damaged),
                Miss::Structure(_) => false,
            };
            if !goes_on {
                self.failed_load.get_or_insert(match bad {
                    LoadFault::Damaged => RestartFault::Page(page),
                    LoadFault::Unreadable => RestartFault::UnreadablePage(page),
                });
            }
            return false;
        }
        self.loads_done += 1;
        let keeps = matches!(self.phase, RestartPhase::Replay(_));
        if keeps {
            self.pins.push(page);
        }
        keeps
    }

    /// Bytes that it holds beside the cache, while it reads the log.
    pub(in crate::paged::store) fn memory(&self) -> u64 {
        match &self.phase {
            RestartPhase::Replay(replay) => replay.memory(),
            _ => 0,
        }
    }

    pub(in crate::paged::store) fn progress(&self) -> RestartProgress {
        let (phase, done, total) = match &self.phase {
            RestartPhase::Superblocks { .. } => ("reading superblocks", 0, 0),
            RestartPhase::Confirm { .. } => ("confirming the superblock", 0, 0),
            RestartPhase::Physical(physical) => return physical.progress(),
            RestartPhase::Map { next, loaded } => ("reading the free map", *loaded, *next),
            RestartPhase::Replay(replay) => return replay.progress(),
            RestartPhase::Marker { .. } | RestartPhase::Flush { .. } | RestartPhase::Done => {
                ("flushing", 0, 0)
            }
        };
        RestartProgress { phase, done, total }
    }
}
