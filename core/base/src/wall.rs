//! Time of day, where something must be known beyond the life of the world that counts its own time.

use crate::{Span, Time};

/// A point in time by the calendar: nanoseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(u64);

impl WallTime {
    /// So many nanoseconds after the beginning of 1970.
    pub const fn from_unix_nanos(nanos: u64) -> WallTime {
        WallTime(nanos)
    }

    /// Nanoseconds since the beginning of 1970.
    pub const fn unix_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero if `earlier` is the later one.
    pub const fn since(self, earlier: WallTime) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// So much earlier, and not before 1970.
    pub const fn before(self, span: Span) -> WallTime {
        WallTime(self.0.saturating_sub(span.nanos()))
    }

    /// So much later.
    pub const fn after(self, span: Span) -> WallTime {
        WallTime(self.0.saturating_add(span.nanos()))
    }
}

/// What the calendar said when a world began to count its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallClock {
    /// At [`Time::ZERO`].
    pub at_start: WallTime,
}

impl WallClock {
    /// What the calendar says at a point of the world's own time.
    pub const fn at(self, now: Time) -> WallTime {
        self.at_start.after(now.since(Time::ZERO))
    }
}
