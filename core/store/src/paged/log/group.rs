//! Group commit: when the log's tail is written, when it is flushed, and when the proof of that stands on the device.
//!
//! A commit that finds nothing under way goes at once. While a flush is under way others gather behind it, and share the
//! next. If the last group had several commits, its clients will come again together: the next one waits for as many,
//! but never longer than an eighth of a flush.
//!
//! Whoever was promised durability is answered when the flush is done *and* a record that says so is on the device: without it,
//! a restart could not tell rot in what was promised from a write that a power cut has torn. The record needs no flush of its
//! own, and rides in the next group's write where one is due.

use super::Log;
use crate::paged::ids::Lsn;
use crate::paged::options::LogMode;
use loadline_base::{Span, Time};

/// The log mode's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// When commits are answered.
    pub mode: LogMode,
    /// Mode `background`: time between flushes.
    pub flush_interval: Span,
    /// Mode `log-only`: how long a record may stay unflushed.
    pub sync_interval: Span,
    /// Mode `fsync`: longest time of gathering.
    pub gather_max: Span,
}

/// What is known of the groups so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitGroups {
    settings: GroupSettings,
    /// Everything before is durable.
    flushed: Lsn,
    /// Everything before is durable, and a record on the device says so.
    proven: Lsn,
    /// Behind the record that will make `flushed` proven.
    proof_end: Lsn,
    /// Behind the last record that is to become durable.
    committed: Lsn,
    /// Somebody waits for this position, whatever the mode.
    demanded: Lsn,
    /// What the flush under way will have made durable, and since when it is.
    flushing: Option<(Lsn, Time)>,
    flush_time: Span,
    /// Commits since the last group was closed, and in that group.
    commits: u32,
    commits_before: u32,
    gather_until: Option<Time>,
    /// When the oldest unflushed record was appended.
    unflushed_since: Option<Time>,
}

impl CommitGroups {
    /// A log that is durable up to `flushed`, which no record says yet, and whose last commit ends at `committed`.
    pub fn new(settings: GroupSettings, flushed: Lsn, committed: Lsn) -> CommitGroups {
        CommitGroups {
            settings,
            flushed,
            proven: Lsn(0),
            proof_end: flushed,
            committed,
            demanded: flushed,
            flushing: None,
            flush_time: Span::ZERO,
            commits: 0,
            commits_before: 0,
            gather_until: None,
            unflushed_since: None,
        }
    }

    /// Everything before is durable.
    pub fn flushed(&self) -> Lsn {
        self.flushed
    }

    /// Everything before is durable, and a record on the device says so.
    pub fn proven(&self) -> Lsn {
        self.proven
    }

    /// Behind the last record that says anything but how far the log is durable.
    pub fn last_commit(&self) -> Lsn {
        self.committed
    }

    /// Everything before may be answered to whoever was promised that.
    pub fn answered(&self, promise: LogMode, log: &Log) -> Lsn {
        match promise {
            LogMode::Fsync => self.proven,
            LogMode::LogOnly => log.written(),
            LogMode::Background | LogMode::None => log.head(),
        }
    }

    /// A commit was appended up to `position`: just now, or a while ago if it is one that has gone in steps.
    pub fn committed(&mut self, now: Time, position: Lsn) {
        if self.commits == 0 {
            self.gather(now);
        }
        self.commits += 1;
        self.committed = self.committed.max(position);
        if position > self.flushed {
            self.unflushed_since.get_or_insert(now);
        }
    }

    /// Waits for as many commits as the last group had, if it had several.
    fn gather(&mut self, now: Time) {
        if self.settings.mode == LogMode::Fsync && self.commits_before > 1 {
            let gather =
                Span::from_nanos(self.flush_time.nanos() / 8).min(self.settings.gather_max);
            self.gather_until = Some(now + gather);
        }
    }

    /// Somebody needs every commit so far to be durable. Answers up to where that is.
    pub fn demand_commits(&mut self) -> Lsn {
        self.demand(self.committed);
        self.committed
    }

    /// Somebody needs the log to be durable up to `position`: the group is closed.
    pub fn demand(&mut self, position: Lsn) {
        self.committed = self.committed.max(position);
        if position > self.demanded {
            self.demanded = position;
            (self.commits_before, self.commits) = (self.commits, 0);
            self.gather_until = None;
        }
    }

    /// Demands what is due by the log mode.
    pub fn demand_due(&mut self, now: Time) {
        if self.demanded > self.flushed || self.committed <= self.flushed {
            return;
        }
        let is_due = match self.settings.mode {
            // Before the proof is on the device, those who will share the next flush have not been answered.
            LogMode::Fsync => {
                let has_gathered = self.commits >= self.commits_before;
                let is_proven = self.proven >= self.flushed;
                is_proven && (has_gathered || self.gather_until.is_none_or(|t| now >= t))
            }
            _ => self.flush_deadline().is_some_and(|deadline| now >= deadline),
        };
        if is_due {
            self.demand(self.committed);
        }
    }

    /// Whether the tail is to be written now.
    pub fn wants_write(&self, log: &Log) -> bool {
        if log.is_writing() || !log.has_unwritten() {
            return false;
        }
        let is_owed = self.demanded.max(self.proof_end) > log.written();
        is_owed
            || match self.settings.mode {
                LogMode::LogOnly => true,
                LogMode::Background => log.unwritten() > log.ring().segment / 4,
                LogMode::Fsync | LogMode::None => false,
            }
    }

    /// When the oldest unflushed record must be flushed without being asked for.
    fn flush_deadline(&self) -> Option<Time> {
        let interval = match self.settings.mode {
            LogMode::LogOnly => self.settings.sync_interval,
            LogMode::Background => self.settings.flush_interval,
            LogMode::Fsync | LogMode::None => return None,
        };
        self.unflushed_since.map(|since| since + interval)
    }

    /// Whether a flush is to begin now. It covers what is written when it begins.
    pub fn wants_flush(&self, log: &Log) -> bool {
        self.flushing.is_none() && self.demanded > self.flushed && log.written() >= self.demanded
    }

    /// A flush begins.
    pub fn flush_began(&mut self, now: Time, log: &Log) {
        self.flushing = Some((log.written(), now));
        self.unflushed_since = (self.committed > log.written()).then_some(now);
    }

    /// The flush is done.
    pub fn flush_done(&mut self, now: Time) {
        let (position, since) = self.flushing.take().expect("a flush is under way");
        self.flushed = position;
        if self.committed <= position {
            self.unflushed_since = None;
        }
        let time = now.since(since).nanos();
        self.flush_time = Span::from_nanos((self.flush_time.nanos() * 7 + time) / 8);
    }

    /// The record that says that the log is durable up to [`CommitGroups::flushed`] was appended, up to `end`.
    pub fn proof_appended(&mut self, end: Lsn) {
        self.proof_end = end;
    }

    /// Sees whether the proof of the last flush is on the device by now.
    pub fn look_for_proof(&mut self, now: Time, log: &Log) {
        if self.proven < self.flushed && log.written() >= self.proof_end {
            self.proven = self.flushed;
            // Those who are answered now may come again.
            self.gather(now);
        }
    }

    /// When it is to be asked again, if nothing else happens before. While the log is being written or flushed only the
    /// device's answer leads on, whatever the time is.
    pub fn deadline(&self, log: &Log) -> Option<Time> {
        if log.is_writing() || self.flushing.is_some() {
            return None;
        }
        let gather = self.gather_until.filter(|_| self.committed > self.flushed);
        gather.into_iter().chain(self.flush_deadline()).min()
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
