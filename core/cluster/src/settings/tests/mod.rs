//! Levels, refusals and the published walk.

mod readers;
mod refusals;
mod restored;
mod walk;

use super::*;
use loadline_qos::preset;

pub(super) const OSD: OsdId = OsdId::new(0);
pub(super) const STORED: LevelTarget = LevelTarget::Stored(Scope::Osds);
pub(super) const CLIENT_RES: &str = "osd_mclock_scheduler_client_res";

pub(super) fn settings(name: &str, media: &[Medium], enforcement: Enforcement) -> Settings {
    let mut settings = Settings::new(*preset(name).expect("a preset"), media, enforcement);
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.start(osd);
    }
    settings
}

pub(super) fn effective(settings: &Settings, osd: OsdId, name: &str) -> Value {
    settings.effective(osd, settings.option(name).unwrap()).0
}

#[test]
fn the_more_specific_level_wins() {
    let mut settings = settings("reef", &[Medium::Ssd; 2], Enforcement::Refuse);
    let (name, second) = ("osd_recovery_max_single_start", OsdId::new(1));
    let mut check = |change: SettingsChange, values: [u64; 2], origin: Origin| {
        settings.apply(&change).unwrap();
        assert_eq!(
            [OSD, second].map(|osd| effective(&settings, osd, name)),
            values.map(Value::Count)
        );
        assert_eq!(settings.effective(OSD, settings.option(name).unwrap()).1, origin);
    };
    let set = |target, value| SettingsChange::set(target, name, value);
    let own = LevelTarget::Stored(Scope::Osd(OSD));
    check(set(LevelTarget::RunTime(OSD), "9"), [9, 1], Origin::RunTime);
    check(set(own, "4"), [9, 1], Origin::RunTime);
    check(set(STORED, "3"), [9, 3], Origin::RunTime);
    check(set(LevelTarget::Stored(Scope::Global), "2"), [9, 3], Origin::RunTime);
    let drop = |target| SettingsChange::remove(target, name);
    check(drop(LevelTarget::RunTime(OSD)), [4, 3], Origin::Stored(Scope::Osd(OSD)));
    check(drop(own), [3, 3], Origin::Stored(Scope::Osds));
    check(drop(STORED), [2, 2], Origin::Stored(Scope::Global));
    check(drop(LevelTarget::Stored(Scope::Global)), [1, 1], Origin::BuiltIn);
}

#[test]
fn a_damaged_store_is_filled_again_unless_that_is_switched_off() {
    let mut settings = settings("loadline", &[Medium::Ssd; 2], Enforcement::Refuse);
    assert!(settings.heals_damaged_store(OSD));
    let own = LevelTarget::Stored(Scope::Osd(OSD));
    settings.apply(&SettingsChange::set(own, "osd_heal_damaged_store", "false")).unwrap();
    assert!(!settings.heals_damaged_store(OSD));
    assert!(settings.heals_damaged_store(OsdId::new(1)));
}

#[test]
fn every_level_of_an_option_can_be_shown() {
    let mut settings = settings("quincy", &[Medium::Ssd], Enforcement::Refuse);
    let change = SettingsChange::set(STORED, "osd_mclock_override_recovery_settings", "true")
        .and_set(LevelTarget::RunTime(OSD), "osd_max_backfills", "7");
    settings.apply(&change).unwrap();
    let backfills = settings.option("osd_max_backfills").unwrap();
    let explanation = settings.explain(OSD, backfills);
    let rows: Vec<(String, Option<Value>)> =
        explanation.rows.iter().map(|row| (row.level.to_string(), row.value)).collect();
    let row = |level: &str, value: Option<u64>| (level.to_owned(), value.map(Value::Count));
    assert_eq!(
        rows,
        [
            row("built-in", Some(1)),
            row("profile high_client_ops", Some(1_000)),
            row("stored for global", None),
            row("stored for osd", None),
            row("stored for osd.0", None),
            row("run-time", Some(7)),
        ]
    );
    assert_eq!((explanation.effective, explanation.origin), (Value::Count(7), Origin::RunTime));
}

/// All nine parameters of all OSDs change in one step, so that no shard ever mixes two profiles.
#[test]
fn a_profile_switch_is_one_change() {
    let mut settings = settings("reef", &[Medium::Ssd, Medium::Hdd], Enforcement::Refuse);
    let change = SettingsChange::set(STORED, "osd_mclock_profile", "high_recovery_ops");
    let altered = settings.apply(&change).unwrap();
    // Balanced to high_recovery_ops: the profile's name, client 0.5 to 0.3, recovery 0.5 to 0.7 with weight 1 to 2,
    // best effort limit 0.9 to none; the rest is equal in both.
    for osd in settings.osds() {
        let of_osd: Vec<_> = altered.iter().filter(|altered| altered.osd == osd).collect();
        assert_eq!(of_osd.len(), 5, "{of_osd:?}");
        let values = settings.plan(osd).values;
        assert_eq!((values.client.reservation, values.recovery.reservation), (0.3, 0.7));
        assert_eq!((values.recovery.weight, values.best_effort.limit), (2.0, 0.0));
    }
}

#[test]
fn custom_keeps_the_values_of_the_profile_left_behind_even_over_a_restart() {
    let mut settings = settings("reef", &[Medium::Ssd], Enforcement::Refuse);
    let profile = |name| SettingsChange::set(STORED, "osd_mclock_profile", name);
    settings.apply(&profile("high_client_ops")).unwrap();
    let before = settings.plan(OSD).values;
    settings.apply(&profile("custom")).unwrap();
    assert_eq!(settings.plan(OSD).values, before);
    settings.start(OSD);
    assert_eq!(settings.plan(OSD).values, before);
    settings.apply(&SettingsChange::set(LevelTarget::RunTime(OSD), CLIENT_RES, "0.2")).unwrap();
    assert_eq!(settings.plan(OSD).values.client.reservation, 0.2);
    assert_eq!(settings.plan(OSD).values.recovery, before.recovery);
}

#[test]
fn options_that_are_read_at_start_wait_for_it() {
    let mut settings = settings("reef", &[Medium::Hdd], Enforcement::Refuse);
    settings.apply(&SettingsChange::set(STORED, "osd_op_num_shards", "2")).unwrap();
    let shards = settings.option("osd_op_num_shards").unwrap();
    let explanation = settings.explain(OSD, shards);
    assert_eq!(explanation.effective, Value::Count(0));
    assert_eq!(explanation.after_restart, Some(Value::Count(2)));
    assert_eq!(settings.plan(OSD).capacity.shards, 5);
    let altered = settings.start(OSD);
    assert_eq!((altered.len(), altered[0].option, altered[0].after), (1, shards, Value::Count(2)));
    assert_eq!(settings.plan(OSD).capacity.shards, 2);
}

/// The media's own defaults, the pauses of WPQ, and what mClock overrides (qos.md 5.5).
#[test]
fn an_osd_is_given_what_its_medium_and_scheduler_need() {
    let check = |name, medium, scheduler, backfills, active, sleeps_ms: [u64; 2], throttle_kib| {
        let mut settings = Settings::new(*preset(name).unwrap(), &[medium], Enforcement::Refuse);
        settings.apply(&SettingsChange::set(STORED, "osd_op_queue", scheduler)).unwrap();
        settings.start(OSD);
        let options = settings.osd_options(OSD);
        assert_eq!((options.backfills_max, options.recovery_active_max), (backfills, active));
        let sleeps = [options.recovery_sleep, options.delete_sleep];
        assert_eq!(sleeps, sleeps_ms.map(loadline_base::Span::from_millis));
        assert_eq!(options.window.bytes, loadline_base::Bytes::from_kib(throttle_kib));
    };
    check("quincy", Medium::Ssd, "mclock_scheduler", 1_000, 1_000, [0, 0], 256);
    check("quincy", Medium::Hybrid, "mclock_scheduler", 1_000, 1_000, [0, 0], 40 << 10);
    check("quincy", Medium::Ssd, "wpq", 1, 10, [0, 1_000], 256);
    check("quincy", Medium::Hdd, "wpq", 1, 3, [100, 5_000], 40 << 10);
    check("quincy", Medium::Hybrid, "wpq", 1, 3, [25, 1_000], 40 << 10);
    check("reef", Medium::Hdd, "mclock_scheduler", 1, 3, [0, 0], 40 << 10);
    check("loadline", Medium::Ssd, "mclock_scheduler", 1, 10, [0, 0], 8 << 10);
}

/// qos.md 7.3: under the first eras the numbers are integers per shard.
#[test]
fn the_first_eras_parameters_are_units_per_shard() {
    let mut settings = settings("quincy", &[Medium::Ssd], Enforcement::Refuse);
    assert_eq!(effective(&settings, OSD, CLIENT_RES), Value::Count(1_344));
    let iops = SettingsChange::set(STORED, "osd_mclock_max_capacity_iops_ssd", "10000");
    settings.apply(&iops).unwrap();
    assert_eq!(effective(&settings, OSD, CLIENT_RES), Value::Count(625));
}

#[test]
fn names_are_listed_once() {
    for preset in loadline_qos::PRESETS {
        let table = OptionTable::new(preset);
        let mut names: Vec<_> = table.names().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", preset.name);
        // An override of an option that does not exist would be lost without a word.
        for change in loadline_qos::overrides(preset.era) {
            assert!(table.find(change.option).is_some(), "{}", change.option);
        }
    }
}
