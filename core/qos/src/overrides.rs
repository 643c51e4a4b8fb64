//! The options that mClock overrides besides its own parameters (qos.md 5.5).

use crate::Era;

/// An option and the value that mClock gives it; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Override {
    /// The option's name.
    pub option: &'static str,
    /// Its value under mClock.
    pub value: f64,
}

const fn set(option: &'static str, value: f64) -> Override {
    Override { option, value }
}

/// Sleeps of recovery; tags pace the work instead.
const RECOVERY_SLEEPS: [Override; 4] = [
    set("osd_recovery_sleep", 0.0),
    set("osd_recovery_sleep_hdd", 0.0),
    set("osd_recovery_sleep_ssd", 0.0),
    set("osd_recovery_sleep_hybrid", 0.0),
];

/// Sleeps of other background work.
const BACKGROUND_SLEEPS: [Override; 9] = [
    set("osd_scrub_sleep", 0.0),
    set("osd_snap_trim_sleep", 0.0),
    set("osd_snap_trim_sleep_hdd", 0.0),
    set("osd_snap_trim_sleep_ssd", 0.0),
    set("osd_snap_trim_sleep_hybrid", 0.0),
    set("osd_delete_sleep", 0.0),
    set("osd_delete_sleep_hdd", 0.0),
    set("osd_delete_sleep_ssd", 0.0),
    set("osd_delete_sleep_hybrid", 0.0),
];

/// The study's build also raised `osd_recovery_max_active`, but only where it was not 0; here a stored value
/// of that option stands for itself.
const E1A: &[Override] = &[
    set("osd_max_backfills", 1_000.0),
    set("osd_recovery_max_active_hdd", 1_000.0),
    set("osd_recovery_max_active_ssd", 1_000.0),
    set("osd_async_recovery_min_cost", 1.0),
];
const E1B: &[Override] = &[
    set("osd_max_backfills", 1_000.0),
    set("osd_recovery_max_active", 1_000.0),
    set("osd_recovery_max_active_hdd", 1_000.0),
    set("osd_recovery_max_active_ssd", 1_000.0),
];
const E1C: &[Override] = &[
    set("osd_max_backfills", 10.0),
    set("osd_recovery_max_active", 0.0),
    set("osd_recovery_max_active_hdd", 10.0),
    set("osd_recovery_max_active_ssd", 20.0),
];
const E2: &[Override] = &[
    set("osd_max_backfills", 1.0),
    set("osd_recovery_max_active", 0.0),
    set("osd_recovery_max_active_hdd", 3.0),
    set("osd_recovery_max_active_ssd", 10.0),
];

/// What mClock sets in this era, in the order of qos.md 5.5.
pub fn overrides(era: Era) -> impl Iterator<Item = Override> {
    let (limits, background): (&[Override], &[Override]) = match era {
        Era::E1a => (E1A, &[]),
        Era::E1b => (E1B, &BACKGROUND_SLEEPS),
        Era::E1c => (E1C, &BACKGROUND_SLEEPS),
        Era::E2 | Era::E2Plus => (E2, &BACKGROUND_SLEEPS),
    };
    limits.iter().chain(&RECOVERY_SLEEPS).chain(background).copied()
}
