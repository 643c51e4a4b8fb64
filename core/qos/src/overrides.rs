//! The options that mClock overrides besides its own parameters (qos.md 5.5).

use crate::Era;

/// An option and the value that mClock gives it; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileOverride {
    /// The option's name.
    pub option: &'static str,
    /// Its value under mClock.
    pub value: f64,
}

const fn set(option: &'static str, value: f64) -> ProfileOverride {
    ProfileOverride { option, value }
}

/// Tags pace the work instead. The study's build is not known to have set those of deletion to 0 itself (qos.md 5.5 has no
/// entry for it), but all descriptions of mClock have them at 0 (qos.md 11, 16), so they are off in every era.
const SLEEPS: [ProfileOverride; 13] = [
    set("osd_scrub_sleep", 0.0),
    set("osd_recovery_sleep", 0.0),
    set("osd_recovery_sleep_hdd", 0.0),
    set("osd_recovery_sleep_ssd", 0.0),
    set("osd_recovery_sleep_hybrid", 0.0),
    set("osd_delete_sleep", 0.0),
    set("osd_delete_sleep_hdd", 0.0),
    set("osd_delete_sleep_ssd", 0.0),
    set("osd_delete_sleep_hybrid", 0.0),
    set("osd_snap_trim_sleep", 0.0),
    set("osd_snap_trim_sleep_hdd", 0.0),
    set("osd_snap_trim_sleep_ssd", 0.0),
    set("osd_snap_trim_sleep_hybrid", 0.0),
];

/// The study's build also raised `osd_recovery_max_active`, but only where it was not 0; here a stored value
/// of that option stands for itself.
const E1A: &[ProfileOverride] = &[
    set("osd_max_backfills", 1_000.0),
    set("osd_recovery_max_active_hdd", 1_000.0),
    set("osd_recovery_max_active_ssd", 1_000.0),
    set("osd_async_recovery_min_cost", 1.0),
];
const E1B: &[ProfileOverride] = &[
    set("osd_max_backfills", 1_000.0),
    set("osd_recovery_max_active", 1_000.0),
    set("osd_recovery_max_active_hdd", 1_000.0),
    set("osd_recovery_max_active_ssd", 1_000.0),
];
const E1C: &[ProfileOverride] = &[
    set("osd_max_backfills", 10.0),
    set("osd_recovery_max_active", 0.0),
    set("osd_recovery_max_active_hdd", 10.0),
    set("osd_recovery_max_active_ssd", 20.0),
];
const E2: &[ProfileOverride] = &[
    set("osd_max_backfills", 1.0),
    set("osd_recovery_max_active", 0.0),
    set("osd_recovery_max_active_hdd", 3.0),
    set("osd_recovery_max_active_ssd", 10.0),
];

/// What mClock sets in this era, in the order of qos.md 5.5.
pub fn overrides(era: Era) -> impl Iterator<Item = ProfileOverride> {
    let limits = match era {
        Era::E1a => E1A,
        Era::E1b => E1B,
        Era::E1c => E1C,
        Era::E2 | Era::E2Plus => E2,
    };
    limits.iter().chain(&SLEEPS).copied()
}
