//! What is refused, and in which words.

use super::*;
use loadline_device::cdl::{Descriptor, Limit, Unit};
use loadline_osd::ChosenLimit;
use loadline_qos::ServiceClass;

fn check(name: &str, prepare: &[SettingsChange], change: &SettingsChange, sentence: &str) {
    let mut settings = settings(name, &[Medium::Ssd; 2], Enforcement::Refuse);
    for change in prepare {
        settings.apply(change).unwrap();
    }
    let before: Vec<_> = all_effective(&settings);
    assert_eq!(settings.apply(change).unwrap_err().to_string(), sentence);
    assert_eq!(all_effective(&settings), before, "a refused change changes nothing");
}

fn all_effective(settings: &Settings) -> Vec<(Value, Origin)> {
    let options = || settings.table().iter().map(|(option, _)| option);
    settings
        .osds()
        .flat_map(|osd| options().map(move |option| settings.effective(osd, option)))
        .collect()
}

#[test]
fn what_would_be_taken_back_is_refused() {
    check(
        "reef",
        &[],
        &SettingsChange::set(STORED, CLIENT_RES, "0.3"),
        "profile balanced sets osd_mclock_scheduler_client_res on osd.0: switch osd_mclock_profile to custom first",
    );
    let custom_on_first =
        SettingsChange::set(LevelTarget::Stored(Scope::Osd(OSD)), "osd_mclock_profile", "custom");
    check(
        "reef",
        &[custom_on_first],
        &SettingsChange::set(STORED, CLIENT_RES, "0.3"),
        "profile balanced sets osd_mclock_scheduler_client_res on osd.1: switch osd_mclock_profile to custom first",
    );
    check(
        "quincy",
        &[],
        &SettingsChange::set(LevelTarget::RunTime(OSD), "osd_max_backfills", "5"),
        "mClock sets osd_max_backfills on osd.0: set osd_mclock_override_recovery_settings true first",
    );
    check(
        "reef",
        &[],
        &SettingsChange::set(STORED, "osd_recovery_sleep_hdd", "100 ms"),
        "mClock paces work on osd.0 without pauses: remove osd_recovery_sleep_hdd, or switch osd_op_queue to wpq",
    );
    check(
        "reef",
        &[],
        &SettingsChange::set(LevelTarget::RunTime(OSD), "osd_op_queue", "wpq"),
        "osd_op_queue is read only when an OSD starts: store it and restart the OSD",
    );
}

/// A drive of two guidelines, and one of which nothing is known.
#[test]
fn a_limit_that_a_drive_has_no_descriptor_for_is_refused() {
    let mut limits = DriveLimits::default();
    for (descriptor, time) in limits.reads.descriptors.iter_mut().zip([5, 10]) {
        let guideline = Limit { time, ..Limit::default() };
        *descriptor =
            Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    }
    let mut settings = settings("loadline", &[Medium::Hdd; 2], Enforcement::Refuse);
    settings.set_drive_limits(OSD, limits);
    let (second, option) = (OsdId::new(1), "osd_device_client_limit");
    let mut set = |target, value| settings.apply(&SettingsChange::set(target, option, value));
    let own = |osd| LevelTarget::Stored(Scope::Osd(osd));
    let refused = |answer: Result<_, Refused>| answer.unwrap_err().to_string();
    assert_eq!(
        refused(set(own(OSD), "20 ms")),
        "the drive of osd.0 holds no duration limit within 20 ms: set osd_device_client_limit to at least 50 ms, \
         its shortest"
    );
    assert_eq!(
        refused(set(STORED, "50 ms")),
        "the drive of osd.1 is not known to hold duration limits, which osd_device_client_limit needs: upload \
         descriptors to it and name their file as `limits`"
    );
    assert!(set(own(OSD), "70 ms").is_ok());
    assert!(set(own(second), "0").is_ok());
    let reads = |osd| settings.osd_options(osd).device.of(ServiceClass::Client).reads;
    let limit = Span::from_millis(70);
    assert_eq!(reads(OSD), Some(ChosenLimit { limit, descriptor: 1 }));
    assert_eq!(reads(second), None);
}

#[test]
fn what_is_not_a_value_is_refused() {
    let check = |option, value, sentence| {
        check("reef", &[], &SettingsChange::set(STORED, option, value), sentence);
    };
    check("osd_max_backfill", "1", "there is no option osd_max_backfill");
    check(
        "osd_max_backfills",
        "many",
        "osd_max_backfills cannot be `many`: it takes a whole number such as `10`",
    );
    // It was told what a number looks like.
    check(
        "osd_max_backfills",
        "99999999999999999999",
        "osd_max_backfills cannot be `99999999999999999999`: it takes values from 1 to 100000",
    );
    check(
        "osd_client_op_priority",
        "64",
        "osd_client_op_priority cannot be `64`: it takes values from 1 to 63",
    );
    check(
        "osd_recovery_max_chunk",
        "1 KiB",
        "osd_recovery_max_chunk cannot be `1 KiB`: it takes values from 4 KiB to 1 GiB",
    );
    check(
        "osd_recovery_retry_interval",
        "0",
        "osd_recovery_retry_interval cannot be `0`: it takes values from 100 ms to 86400 s",
    );
    check(
        "osd_backfill_retry_interval",
        "0",
        "osd_backfill_retry_interval cannot be `0`: it takes values from 100 ms to 86400 s",
    );
    check(
        "osd_mclock_profile",
        "fast",
        "osd_mclock_profile cannot be `fast`: it takes one of balanced, high_client_ops, high_recovery_ops, custom",
    );
}

/// What only a service to come would read, and what only simulated OSDs have.
#[test]
fn what_would_do_nothing_is_refused() {
    let node = Settings::on_a_loop(*preset("reef").unwrap(), &[Medium::Ssd]);
    let check = |name: &str, why: &str| {
        let change = SettingsChange::set(STORED, name, "1");
        let refused = node.clone().apply(&change).unwrap_err().to_string();
        assert_eq!(refused, format!("{name} would have no effect: {why}"));
    };
    check("osd_max_push_cost", "each push carries one object");
    check(
        "osd_op_num_threads_per_shard_ssd",
        "the loop of a node is the one worker of its queues; only simulated OSDs have more",
    );
    assert!(
        settings("reef", &[Medium::Ssd], Enforcement::Refuse)
            .option("osd_op_num_threads_per_shard")
            .is_ok()
    );
}

#[test]
fn an_osd_that_does_not_exist_is_refused() {
    let osd = OsdId::new(2);
    check(
        "reef",
        &[],
        &SettingsChange::set(LevelTarget::RunTime(osd), "osd_max_backfills", "1"),
        "there is no osd.2",
    );
}

/// The profile's own value may be set: nothing would be taken back.
#[test]
fn what_changes_nothing_is_not_refused() {
    let mut settings = settings("quincy", &[Medium::Ssd], Enforcement::Refuse);
    let same = SettingsChange::set(STORED, "osd_max_backfills", "1000").and_set(
        STORED,
        "osd_recovery_sleep_hdd",
        "0",
    );
    assert_eq!(settings.apply(&same), Ok(Vec::new()));
}

/// Rules look at the outcome: one change may open the gate, or leave the profile, and use that at once.
#[test]
fn a_change_may_make_room_for_itself() {
    let mut settings = settings("reef", &[Medium::Ssd], Enforcement::Refuse);
    let change = SettingsChange::set(STORED, "osd_mclock_profile", "custom")
        .and_set(STORED, CLIENT_RES, "0.3")
        .and_set(STORED, "osd_mclock_override_recovery_settings", "true")
        .and_set(STORED, "osd_max_backfills", "5");
    assert_eq!(settings.apply(&change).unwrap().len(), 4);
}

/// Under WPQ pauses and bounds are the operator's own; turning to mClock with pauses set is what is refused.
#[test]
fn wpq_owns_nothing_but_its_pauses_do_not_survive_a_turn_to_mclock() {
    let preset = *preset("quincy").unwrap();
    let mut settings = Settings::new(preset, &[Medium::Hdd], Enforcement::Refuse);
    let wpq = SettingsChange::set(STORED, "osd_op_queue", "wpq")
        .and_set(STORED, "osd_max_backfills", "1000")
        .and_set(STORED, "osd_recovery_sleep", "0.05");
    settings.apply(&wpq).unwrap();
    settings.start(OSD);
    assert_eq!(settings.osd_options(OSD).recovery_sleep, loadline_base::Span::from_millis(50));
    let turn = SettingsChange::remove(STORED, "osd_op_queue");
    assert_eq!(
        settings.apply(&turn).unwrap_err(),
        Refused::SleepUnderMclock { option: "osd_recovery_sleep", osd: OSD }
    );
    settings.apply(&turn.and_remove(STORED, "osd_recovery_sleep")).unwrap();
    settings.start(OSD);
    assert_eq!(settings.osd_options(OSD).recovery_sleep, loadline_base::Span::ZERO);
}
