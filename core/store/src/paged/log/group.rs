//! Group commit: when the log's tail is written and when it is flushed.
//!
//! A commit that finds nothing under way goes at once. While a flush is under way others gather behind it, and share the
//! next. If the last group had several commits, its clients will come again together: the next one waits for as many,
//! but never longer than an eighth of a flush.

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
pub struct Group {
    settings: GroupSettings,
    /// Everything before is durable.
    flushed: Lsn,
    /// Somebody waits for this position, whatever the mode.
    demanded: Lsn,
    /// What the flush under way will have made durable, and since when it is.
    flushing: Option<(Lsn, Time)>,
    flush_time: Span,
    /// Commits since the last write of the tail, and in the group before.
    commits: u32,
    commits_before: u32,
    gather_until: Option<Time>,
    /// When the oldest unflushed record was appended.
    unflushed_since: Option<Time>,
}

impl Group {
    /// A log that is durable up to `flushed`.
    pub fn new(settings: GroupSettings, flushed: Lsn) -> Group {
        Group {
            settings,
            flushed,
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

    /// Everything before may be answered.
    pub fn answered(&self, log: &Log) -> Lsn {
        match self.settings.mode {
            LogMode::Fsync => self.flushed,
            LogMode::LogOnly => log.written(),
            LogMode::Background | LogMode::None => log.head(),
        }
    }

    /// A commit was appended.
    pub fn committed(&mut self, now: Time) {
        if self.settings.mode == LogMode::Fsync && self.commits == 0 && self.commits_before > 1 {
            let gather =
                Span::from_nanos(self.flush_time.nanos() / 8).min(self.settings.gather_max);
            self.gather_until = Some(now + gather);
        }
        self.commits += 1;
        self.unflushed_since.get_or_insert(now);
    }

    /// Somebody needs the log to be durable up to `position`.
    pub fn demand(&mut self, position: Lsn) {
        self.demanded = self.demanded.max(position);
    }

    /// Whether the tail is to be written now.
    pub fn wants_write(&self, now: Time, log: &Log) -> bool {
        if log.is_writing() || !log.has_unwritten() {
            return false;
        }
        let demanded = self.demanded > log.written();
        demanded
            || match self.settings.mode {
                LogMode::Fsync => {
                    self.flushing.is_none()
                        && (self.has_gathered() || self.gather_until.is_none_or(|t| now >= t))
                }
                LogMode::LogOnly => true,
                LogMode::Background => {
                    self.is_flush_due(now) || log.unwritten() > log.ring().segment / 4
                }
                LogMode::None => false,
            }
    }

    fn has_gathered(&self) -> bool {
        self.commits >= self.commits_before
    }

    fn is_flush_due(&self, now: Time) -> bool {
        self.flush_deadline().is_some_and(|deadline| now >= deadline)
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

    /// The tail is being written.
    pub fn write_began(&mut self) {
        self.commits_before = self.commits;
        self.commits = 0;
        self.gather_until = None;
    }

    /// Whether a flush is to begin now.
    pub fn wants_flush(&self, now: Time, log: &Log) -> bool {
        if self.flushing.is_some() || log.written() <= self.flushed {
            return false;
        }
        // A flush covers what is written when it begins. In mode `fsync` it waits for the write under way, which holds the
        // commits that it is for; under a saturated load in the others there always is one.
        let demanded = self.demanded > self.flushed && log.written() >= self.demanded;
        demanded
            || match self.settings.mode {
                LogMode::Fsync => !log.is_writing(),
                _ => self.is_flush_due(now),
            }
    }

    /// A flush begins.
    pub fn flush_began(&mut self, now: Time, log: &Log) {
        self.flushing = Some((log.written(), now));
        self.unflushed_since = log.has_unwritten().then_some(now);
    }

    /// The flush is done.
    pub fn flush_done(&mut self, now: Time) {
        let (position, since) = self.flushing.take().expect("a flush is under way");
        self.flushed = position;
        let time = now.since(since).nanos();
        self.flush_time = Span::from_nanos((self.flush_time.nanos() * 7 + time) / 8);
    }

    /// Whether a flush is under way.
    pub fn is_flushing(&self) -> bool {
        self.flushing.is_some()
    }

    /// When it is to be asked again, if nothing else happens before. While the log is being written or flushed only the
    /// device's answer leads on, whatever the time is.
    pub fn deadline(&self, log: &Log) -> Option<Time> {
        if log.is_writing() || self.flushing.is_some() {
            return None;
        }
        let gather = self.gather_until.filter(|_| log.has_unwritten());
        let flush = self.flush_deadline();
        gather.into_iter().chain(flush).min()
    }
}
