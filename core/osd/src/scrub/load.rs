//! How busy the machine is, and whether it has time for scrubs that the clock begins (scrub.md 2.2).
//!
//! An OSD is told; it cannot look. One that was never told takes the machine for idle.

use loadline_base::{Span, Time};

const DAY: Span = Span::from_secs(86_400);
/// The mean of a day moves by less than a thousandth in most seconds.
const NANO_PER_MILLI: i128 = 1_000_000;

/// Processes that run, or could, for each processor of the machine on average: in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineLoad {
    /// Of the last minute.
    pub minute_milli: u32,
    /// Of the last quarter of an hour.
    pub quarter_hour_milli: u32,
}

/// What was told so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadSeen {
    latest: MachineLoad,
    /// The mean of the minutes, in which what was told a day ago counts for a third; in billionths.
    day_nano: u64,
    told_at: Option<Time>,
}

impl LoadSeen {
    pub(super) fn told(&mut self, now: Time, load: MachineLoad) {
        let day = i128::from(self.day_nano);
        let minute = i128::from(load.minute_milli) * NANO_PER_MILLI;
        let day = match self.told_at {
            None => minute,
            Some(before) => {
                let passed = now.since(before).min(DAY);
                day + (minute - day) * i128::from(passed.nanos()) / i128::from(DAY.nanos())
            }
        };
        *self = LoadSeen { latest: load, day_nano: day as u64, told_at: Some(now) };
    }

    /// The last minute's, in thousandths.
    pub(super) fn minute_milli(&self) -> u32 {
        self.latest.minute_milli
    }

    /// Whether the clock may begin a scrub: the load is below the threshold, or lower than usual and falling.
    pub(super) fn permits(&self, threshold_milli: u32) -> bool {
        let MachineLoad { minute_milli, quarter_hour_milli } = self.latest;
        let is_below_usual = i128::from(minute_milli) * NANO_PER_MILLI < i128::from(self.day_nano);
        minute_milli < threshold_milli || is_below_usual && minute_milli < quarter_hour_milli
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(minute_milli: u32, quarter_hour_milli: u32) -> MachineLoad {
        MachineLoad { minute_milli, quarter_hour_milli }
    }

    #[test]
    fn scrubs_begin_below_the_threshold_or_below_the_day_when_load_falls() {
        let mut seen = LoadSeen::default();
        assert!(seen.permits(500), "nobody has told of any load");
        let mut permits = |hours: u64, load| {
            seen.told(Time::ZERO + Span::from_secs(3_600 * hours), load);
            seen.permits(500)
        };
        assert!(permits(0, load(499, 9_000)));
        assert!(!permits(1, load(500, 9_000)), "the day before was quieter");
        // Two busy days: the mean is near 2.
        assert!(!permits(25, load(2_000, 2_000)) && !permits(49, load(2_000, 2_000)));
        assert!(permits(50, load(1_500, 1_600)), "less than usual, and falling");
        assert!(!permits(51, load(1_500, 1_400)), "less than usual, and rising");
        assert!(!permits(52, load(2_100, 2_200)), "falling, and more than usual");
    }
}
