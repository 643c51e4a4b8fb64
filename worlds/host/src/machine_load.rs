//! How busy this machine is, as the kernel averages it.

use loadline_osd::MachineLoad;
use std::fs;

/// The averages of the last minute and of the last quarter of an hour for each processor of the machine, whichever of them this process
/// may use; `None` where the kernel does not tell.
pub(crate) fn machine_load() -> Option<MachineLoad> {
    let averages = fs::read_to_string("/proc/loadavg").ok()?;
    let processors = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    load_of(&averages, count_of(&processors)?)
}

/// `0.20 0.18 0.12 1/80 11206`: over one, five and fifteen minutes.
fn load_of(averages: &str, processors: u32) -> Option<MachineLoad> {
    let mut averages = averages.split_ascii_whitespace().map(str::parse::<f64>);
    let mut milli = || {
        let average = averages.next()?.ok().filter(|it| it.is_finite() && *it >= 0.0)?;
        Some((average / f64::from(processors) * 1_000.0).round() as u32)
    };
    let (minute_milli, _, quarter_hour_milli) = (milli()?, milli()?, milli()?);
    Some(MachineLoad { minute_milli, quarter_hour_milli })
}

/// How many numbers `0-3,6` names.
fn count_of(ranges: &str) -> Option<u32> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some(last.checked_sub(first)?.saturating_add(1))
    };
    ranges.trim().split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_averages_are_read_for_each_processor() {
        let load = |text, processors| {
            load_of(text, processors).map(|it| (it.minute_milli, it.quarter_hour_milli))
        };
        assert_eq!(load("0.20 0.18 0.12 1/80 11206\n", 1), Some((200, 120)));
        assert_eq!(load("33.10 9.00 4.00 1/80 11206\n", 40), Some((828, 100)));
        for text in ["", "0.20 0.18", "much 0.18 0.12", "0.20 0.18 NaN", "-1 0 0"] {
            assert_eq!(load(text, 1), None, "{text}");
        }
        let counts = ["0\n", "0-3", "0-3,6", "0-1,4-5,7\n"].map(count_of);
        assert_eq!(counts, [Some(1), Some(4), Some(5), Some(5)]);
        assert_eq!(["", "3-1", "a"].map(count_of), [None; 3]);
    }

    #[test]
    fn this_machine_tells() {
        assert!(machine_load().is_some());
    }
}
