//! The published walk (qos.md 7.3), row by row: osd.0 in the era of fractions, balanced at start.

use super::*;
use PublishedSource::{Default, Mon, Override};

const PROFILE: &str = "osd_mclock_profile";
const BACKFILLS: &str = "osd_max_backfills";
const GATE: &str = "osd_mclock_override_recovery_settings";
const NAMED_OSD: LevelTarget = LevelTarget::Stored(Scope::Osd(OSD));

/// The walk in one of the two enforcements. `row` numbers only say where a failure is.
struct Walk {
    settings: Settings,
}

impl Walk {
    fn new(enforcement: Enforcement) -> Walk {
        Walk { settings: settings("reef", &[Medium::Ssd], enforcement) }
    }

    fn make(&mut self, change: &SettingsChange) {
        self.settings.apply(change).expect("this row is a change that stands");
    }

    fn view(&self, name: &str) -> PublishedView {
        self.settings.as_published(OSD, self.settings.option(name).unwrap())
    }

    /// The table's columns: default level, mon level, override level, `config get`, `config show` with its source.
    /// The effective value is what `config show` says.
    fn check<V: Copy>(
        &self,
        row: u32,
        (name, value): (&str, fn(V) -> Value),
        (default, mon, override_level): (V, Option<V>, Option<V>),
        config_get: V,
        config_show: (V, PublishedSource),
    ) {
        let expected = PublishedView {
            default: value(default),
            mon: mon.map(value),
            override_level: override_level.map(value),
            config_get: value(config_get),
            config_show: (value(config_show.0), config_show.1),
        };
        assert_eq!(self.view(name), expected, "row {row}, {name}");
        assert_eq!(effective(&self.settings, OSD, name), value(config_show.0), "row {row}, {name}");
    }
}

/// Rows 0 to 8. Row 5 is where the two differ: `as_published` takes the value back, Loadline refuses it.
fn rows_0_to_8(enforcement: Enforcement) {
    let mut walk = Walk::new(enforcement);
    let res = (CLIENT_RES, Value::Float as fn(f64) -> Value);
    let profile = (PROFILE, Value::Choice as fn(&'static str) -> Value);
    walk.check(0, res, (0.5, None, None), 0.0, (0.5, Default));

    walk.make(&SettingsChange::set(STORED, PROFILE, "custom"));
    walk.check(1, res, (0.5, None, None), 0.0, (0.5, Default));

    walk.make(&SettingsChange::set(STORED, CLIENT_RES, "0.3"));
    walk.check(2, res, (0.5, Some(0.3), None), 0.3, (0.3, Mon));

    walk.make(&SettingsChange::set(STORED, PROFILE, "high_client_ops"));
    walk.check(3, res, (0.6, Some(0.3), None), 0.3, (0.3, Mon));
    let others = walk.settings.plan(OSD).values;
    assert_eq!((others.client.weight, others.recovery.reservation), (2.0, 0.4));
    assert_eq!(others.best_effort.limit, 0.7);

    walk.make(&SettingsChange::remove(STORED, CLIENT_RES));
    walk.check(4, res, (0.6, None, None), 0.0, (0.6, Default));

    let attempt = SettingsChange::set(NAMED_OSD, CLIENT_RES, "0.9");
    match enforcement {
        Enforcement::RevertAsPublished => assert_eq!(walk.settings.apply(&attempt), Ok(Vec::new())),
        Enforcement::Refuse => assert_eq!(
            walk.settings.apply(&attempt),
            Err(Refused::ProfileOwns { option: CLIENT_RES, profile: "high_client_ops", osd: OSD })
        ),
    }
    walk.check(5, res, (0.6, None, None), 0.0, (0.6, Default));

    walk.make(&SettingsChange::set(LevelTarget::RunTime(OSD), PROFILE, "high_recovery_ops"));
    walk.check(6, res, (0.3, None, None), 0.0, (0.3, Default));
    let (stored, running) = ("high_client_ops", "high_recovery_ops");
    walk.check(6, profile, ("balanced", Some(stored), Some(running)), stored, (running, Override));

    walk.make(&SettingsChange::set(STORED, PROFILE, "balanced"));
    walk.check(7, res, (0.3, None, None), 0.0, (0.3, Default));
    let stored = "balanced";
    walk.check(7, profile, ("balanced", Some(stored), Some(running)), stored, (running, Override));

    walk.settings.start(OSD);
    walk.check(8, res, (0.5, None, None), 0.0, (0.5, Default));
    walk.check(8, profile, ("balanced", Some(stored), None), stored, (stored, Mon));
}

/// Rows 9 to 11. Row 9 is the other difference.
fn rows_9_to_11(enforcement: Enforcement) {
    let mut walk = Walk::new(enforcement);
    let backfills = (BACKFILLS, Value::Count as fn(u64) -> Value);
    let five = SettingsChange::set(STORED, BACKFILLS, "5");
    match enforcement {
        Enforcement::RevertAsPublished => assert_eq!(walk.settings.apply(&five), Ok(Vec::new())),
        Enforcement::Refuse => assert_eq!(
            walk.settings.apply(&five),
            Err(Refused::GateClosed { option: BACKFILLS, osd: OSD })
        ),
    }
    walk.check(9, backfills, (1, None, None), 1, (1, Default));

    walk.make(&SettingsChange::set(STORED, GATE, "true"));
    walk.make(&five);
    walk.check(10, backfills, (1, Some(5), None), 5, (5, Mon));
    assert_eq!(walk.settings.osd_options(OSD).backfills_max, 5);

    walk.make(&SettingsChange::set(STORED, GATE, "false"));
    walk.check(11, backfills, (1, Some(5), None), 5, (5, Mon));
    walk.settings.start(OSD);
    walk.check(11, backfills, (1, Some(5), None), 5, (5, Mon));
}

#[test]
fn the_walk_as_published() {
    rows_0_to_8(Enforcement::RevertAsPublished);
    rows_9_to_11(Enforcement::RevertAsPublished);
}

#[test]
fn the_walk_with_refusals() {
    rows_0_to_8(Enforcement::Refuse);
    rows_9_to_11(Enforcement::Refuse);
}

/// The walk in numbers of the first eras: high_client_ops at start, 1344 units per NVMe shard.
#[test]
fn the_first_rows_in_units_per_shard() {
    let mut walk = Walk { settings: settings("quincy", &[Medium::Ssd], Enforcement::Refuse) };
    let res = (CLIENT_RES, Value::Count as fn(u64) -> Value);
    walk.check(0, res, (1_344, None, None), 1, (1_344, Default));
    walk.make(&SettingsChange::set(STORED, PROFILE, "custom"));
    walk.check(1, res, (1_344, None, None), 1, (1_344, Default));
    walk.make(&SettingsChange::set(STORED, CLIENT_RES, "800"));
    walk.check(2, res, (1_344, Some(800), None), 800, (800, Mon));
    walk.make(&SettingsChange::set(STORED, PROFILE, "balanced"));
    walk.check(3, res, (1_075, Some(800), None), 800, (800, Mon));
    walk.make(&SettingsChange::remove(STORED, CLIENT_RES));
    walk.check(4, res, (1_075, None, None), 1, (1_075, Default));
}
