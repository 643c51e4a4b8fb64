//! What was stored, after a start: with the rules of the moment when it was stored, and without what the drive cannot do.

use super::*;
use crate::settings::DriveLimits;
use loadline_device::cdl::{Descriptor, Limit, Limits, Unit};

/// A drive with one descriptor for reads.
fn with_limit(settings: &mut Settings, milliseconds: u16) {
    let mut reads = Limits::default();
    let guideline = Limit { time: milliseconds / 10, ..Limit::default() };
    reads.descriptors[0] =
        Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.set_drive_limits(osd, DriveLimits { reads, ..DriveLimits::default() });
    }
}

/// Settings of a fresh start that has taken these stored values, and what was left out.
fn restored(
    prepare: impl Fn(&mut Settings),
    stored: &[(Scope, &str, &str)],
) -> (Settings, Vec<String>) {
    let mut settings = settings("loadline", &[Medium::Ssd; 2], Enforcement::Refuse);
    prepare(&mut settings);
    let left_out = settings.restore(stored.iter().copied());
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.start(osd);
    }
    let told = |out: &LeftOut| format!("{} {} {}: {}", out.scope, out.option, out.value, out.why);
    (settings, left_out.iter().map(told).collect())
}

/// A parameter was set under the custom profile, and then the profile was switched, which leaves it in force. The next start
/// asked the rule again that concerns new values only, and the node did not start.
#[test]
fn a_value_that_outlived_a_switch_outlives_a_start() {
    let stored =
        [(Scope::Osds, CLIENT_RES, "0.3"), (Scope::Osds, "osd_mclock_profile", "balanced")];
    let (settings, left_out) = restored(|_| {}, &stored);
    assert_eq!(left_out, [""; 0]);
    assert_eq!(effective(&settings, OSD, CLIENT_RES).number(), Some(0.3));
}

/// The pause was allowed because WPQ ran. The next start judged it by the scheduler of nobody's choice.
#[test]
fn a_pause_comes_back_with_its_scheduler() {
    let sleep = "osd_recovery_sleep_hdd";
    let stored = [(Scope::Osds, "osd_op_queue", "wpq"), (Scope::Global, sleep, "100 ms")];
    let (settings, left_out) = restored(|_| {}, &stored);
    assert_eq!(left_out, [""; 0]);
    assert_eq!(effective(&settings, OSD, sleep).number(), Some(0.1));
    let (settings, left_out) = restored(|_| {}, &stored[1..]);
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].contains("mClock paces work on osd.0 without pauses"), "{left_out:?}");
    assert_eq!(effective(&settings, OSD, sleep).number(), Some(0.0));
}

/// The drive was changed for one with other descriptors, or the page of descriptors was not named any more: the node did
/// not start, and so nobody could remove the limit either.
#[test]
fn a_limit_that_the_drive_has_no_descriptor_for_is_left_out() {
    let limit = "osd_device_client_limit";
    let stored = [(Scope::Osd(OSD), limit, "80 ms"), (Scope::Osds, limit, "20 ms")];
    let (settings, left_out) = restored(|settings| with_limit(settings, 50), &stored);
    let says = "osd osd_device_client_limit 20 ms: the drive of osd.0 holds no duration limit within 20 ms: \
                set osd_device_client_limit to at least 50 ms, its shortest";
    assert_eq!(left_out, [says]);
    assert_eq!(effective(&settings, OSD, limit).to_string(), "80 ms");
    let (settings, left_out) = restored(|_| {}, &stored);
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out[0].contains("not known to hold duration limits"), "{left_out:?}");
    assert_eq!(effective(&settings, OSD, limit).number(), Some(0.0));
}

#[test]
fn what_the_present_preset_does_not_know_is_left_out() {
    let stored = [
        (Scope::Global, "osd_x", "1"),
        (Scope::Osds, "osd_mclock_profile", "fast"),
        (Scope::Osd(OsdId::new(7)), "osd_max_backfills", "1"),
        (Scope::Osds, "osd_recovery_max_single_start", "3"),
    ];
    let (settings, left_out) = restored(|_| {}, &stored);
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    assert_eq!(effective(&settings, OSD, "osd_recovery_max_single_start"), Value::Count(3));
}
