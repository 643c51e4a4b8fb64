//! What an op of the store waits for. Every wait has a name, so that whoever asks why an op took so long gets an answer.

use loadline_base::{Span, Time};

/// What an op waits for. Every op that is not running waits for one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// It runs.
    Nothing,
    /// An earlier op of its lane.
    Lane,
    /// The restart.
    Restart,
    /// Its own data on the way to the device.
    OwnData,
    /// Pages on the way from the device.
    Pages,
    /// Frames: too many pages are kept for other ops, or dirty.
    Frames,
    /// A slot for an old version.
    OldVersions,
    /// Room in the log.
    LogRoom,
    /// Free pages, which the next checkpoint brings.
    FreePages,
    /// Free pages, which no checkpoint brings now: the device is full, and others must give some back.
    Room,
    /// Earlier updates that wait for any of these, one that is carried out in part, or a query that goes in parts.
    Turn,
    /// Its owner's word, whether others have what cannot be read here now.
    Word,
    /// The throttle.
    Throttle,
    /// The log.
    Log,
    /// The end of a checkpoint.
    Checkpoint,
}

impl Wait {
    /// Whether it ends when the device answers, and not when there is room or a turn.
    pub const fn is_device(self) -> bool {
        matches!(self, Wait::OwnData | Wait::Pages | Wait::Log)
    }

    /// What is waited for, as a part of a sentence.
    pub const fn phrase(self) -> &'static str {
        match self {
            Wait::Nothing => "its turn on the processor",
            Wait::Lane => "an earlier op of its placement group in the store",
            Wait::Restart => "the store's restart",
            Wait::OwnData => "its data on the way to the device",
            Wait::Pages => "reads from the device",
            Wait::Frames => "room in the page cache",
            Wait::OldVersions => "old versions of pages that a checkpoint still writes",
            Wait::LogRoom => "room in the log, which a checkpoint makes",
            Wait::FreePages => "free pages, which a checkpoint brings",
            Wait::Room => "room on the disk, which is full",
            Wait::Turn => "earlier updates of the store",
            Wait::Word => "the other copies, because a page cannot be read here",
            Wait::Throttle => "checkpoint throttle",
            Wait::Log => "log write and flush",
            Wait::Checkpoint => "the end of a checkpoint",
        }
    }
}

/// The longest time for which an op waited for one thing. Turns in vain, after which it waits for the same again, do not divide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongestWait {
    /// What it waited for.
    pub wait: Wait,
    /// How long.
    pub span: Span,
    /// What it waited for until its last turn, and since when.
    last: (Wait, Time),
    /// When it had its last turn.
    turn: Time,
}

impl LongestWait {
    /// Of an op that comes now.
    pub(super) fn from(now: Time) -> LongestWait {
        LongestWait { wait: Wait::Nothing, span: Span::ZERO, last: (Wait::Nothing, now), turn: now }
    }

    /// The op has its turn, and has waited for this.
    pub(super) fn over(&mut self, now: Time, wait: Wait) {
        if wait != self.last.0 {
            self.last = (wait, self.turn);
        }
        self.turn = now;
        let span = now.since(self.last.1);
        if span > self.span {
            (self.wait, self.span) = (wait, span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_in_vain_do_not_divide_a_wait() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut longest = LongestWait::from(at(0));
        for (millis, wait) in
            [(3, Wait::Lane), (5, Wait::LogRoom), (9, Wait::LogRoom), (12, Wait::Pages)]
        {
            longest.over(at(millis), wait);
        }
        assert_eq!((longest.wait, longest.span), (Wait::LogRoom, Span::from_millis(6)));
    }
}
