//! The OSDs of a setup as the engine takes them: preset, scheduler, profile and settings looked up, stored and judged, the same way
//! for every kind of study.

use crate::input::{InputError, Source, hint, unknown};
use crate::job::Job;
use crate::overrides::Override;
use crate::place::Place;
use crate::result::{Configuration, NamedValue, SettingRow};
use loadline_cluster::settings::{
    DriveLimits, Enforcement, LevelTarget, OptionTable, Origin, Refused, Scope, SettingEdit,
    Settings, SettingsChange, Value,
};
use loadline_cluster::{Config, Placement};
use loadline_device::Medium;
use loadline_osd::{OsdId, OsdOptions, Policy};
use loadline_qos::{
    PRESETS, PROFILE_TABLES, Preset, SchedulerKind, ServiceClass, ShardPlan, preset, profile_table,
};
use loadline_sim::{Delays, Drive, OsdDrive, SimConfig, SimHost};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// The scheduler, as people call it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SchedulerName {
    #[default]
    Mclock,
    Wpq,
    Fifo,
}

/// What a switch of a setup is where its file says nothing.
pub(crate) fn yes() -> bool {
    true
}

impl SchedulerName {
    /// As studies and results spell it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            SchedulerName::Mclock => "mclock",
            SchedulerName::Wpq => "wpq",
            SchedulerName::Fifo => "fifo",
        }
    }

    /// As `osd_op_queue` spells it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            SchedulerName::Mclock => "mclock_scheduler",
            other => other.word(),
        }
    }
}

/// A setting's value, typed in whichever way comes naturally.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number, `true`, `false` or a text such as `\"4 KiB\"`")]
pub(crate) enum SettingValue {
    Whole(u64),
    Number(f64),
    Flag(bool),
    Text(String),
}

impl SettingValue {
    pub(crate) fn text(&self) -> String {
        match self {
            SettingValue::Whole(number) => number.to_string(),
            SettingValue::Number(number) => number.to_string(),
            SettingValue::Flag(flag) => flag.to_string(),
            SettingValue::Text(text) => text.clone(),
        }
    }
}

/// Options as a file sets them.
pub(crate) type TypedOptions = BTreeMap<Spanned<String>, SettingValue>;

/// What a setup's section says of its OSDs.
pub(crate) struct TypedSetup<'a> {
    pub(crate) name: &'a Spanned<String>,
    pub(crate) about: &'a str,
    pub(crate) preset: &'a Spanned<String>,
    /// Profiles of another build in the place of the preset's.
    pub(crate) profiles: Option<&'a Spanned<String>>,
    pub(crate) scheduler: SchedulerName,
    pub(crate) profile: Option<&'a Spanned<String>>,
    /// Those of every setup, then its own.
    pub(crate) options: &'a [&'a TypedOptions],
}

/// What the setups of a study have in common.
pub(crate) struct SetupGround<'a> {
    pub(crate) source: &'a Source,
    /// Of each OSD's disk.
    pub(crate) media: Vec<Medium>,
    /// Of the first OSD's drive.
    pub(crate) limits: DriveLimits,
    /// What an operator would have measured and stored for the drives; what a preset does not know is left out.
    pub(crate) measured: Vec<(String, String)>,
    pub(crate) overrides: &'a [Override],
}

/// The OSDs of a setup.
#[derive(Clone, Debug)]
pub(crate) struct OsdSetup {
    /// The setup in words.
    pub(crate) configuration: Configuration,
    /// Everything that is stored, for a node that computes its settings itself.
    pub(crate) stored: SettingsChange,
    /// The behaviour, with the profiles that were typed.
    pub(crate) preset: Preset,
    /// The engine, without seeds.
    engine: Config,
}

/// All OSDs are alike.
const FIRST: OsdId = OsdId::new(0);

impl OsdSetup {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.configuration.name
    }

    /// The simulated cluster of a run on this drive, without disks that have contents.
    pub(crate) fn simulated(&self, drive: &Drive, placement: Placement, job: &Job) -> SimConfig {
        let engine = self.engine(job.seed, job.placement_seed);
        SimConfig {
            cluster: Config { placement, ..engine },
            drive: OsdDrive::Calibrated(drive.service),
            delays: Delays {
                link: drive.link_delay,
                link_mib: drive.link_mib,
                worker: drive.worker_time,
                ..Delays::default()
            },
            host: SimHost::default(),
        }
    }

    /// The engine with its seeds.
    pub(crate) fn engine(&self, seed: u64, placement_seed: u64) -> Config {
        let policy = Policy { seed, ..self.engine.policy.clone() };
        Config { policy, placement_seed, ..self.engine.clone() }
    }

    /// What the shards of every OSD are built from.
    pub(crate) fn plan(&self) -> &ShardPlan {
        &self.engine.policy.plan
    }

    /// The part of every disk that is reserved for clients, if any is.
    pub(crate) fn reserved_for_clients(&self) -> Option<f64> {
        let plan = self.plan();
        let figures = plan.figures().expect("parameters are checked where they are set");
        let of_clients = figures.into_iter().find(|of| of.class == ServiceClass::Client)?;
        let reservation =
            of_clients.reservation.filter(|_| plan.scheduler == SchedulerKind::Mclock)?;
        Some(reservation.part)
    }

    /// The capacity of an OSD in IOPS by which mClock divides it, where it was typed for the setup or measured for its drive.
    pub(crate) fn stored_capacity_iops(&self) -> Option<f64> {
        let in_force = self.plan().capacity.iops;
        let is_it = |edit: &SettingEdit| {
            let value = edit.value.as_ref().and_then(|value| value.parse().ok());
            edit.option.starts_with("osd_mclock_max_capacity_iops") && value == Some(in_force)
        };
        self.stored.edits.iter().any(is_it).then_some(in_force)
    }

    /// What is stored, as Ceph's own commands take it: without units, and in an order in which each may be set.
    pub(crate) fn for_ceph(&self) -> Vec<(String, String)> {
        let table = OptionTable::new(&self.preset);
        let text = |edit: &SettingEdit| {
            let kind = &table.at(table.find(&edit.option)?).kind;
            let value = edit.value.as_ref()?;
            let read = kind.parse(value).and_then(Value::number);
            Some((edit.option.clone(), read.map_or_else(|| value.clone(), |it| it.to_string())))
        };
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in self.stored.edits.iter().filter_map(text) {
            // Of an option that stands twice, for all setups and for this one, the last counts.
            all.retain(|(known, _)| *known != name);
            all.push((name, value));
        }
        let first = ["osd_op_queue", "osd_mclock_profile", "osd_mclock_override_recovery_settings"];
        all.sort_by_key(|(name, _)| first.iter().position(|it| it == name).unwrap_or(first.len()));
        all
    }

    /// How an OSD's queues and workers are laid out, and what its store lets in.
    pub(crate) fn options(&self) -> &OsdOptions {
        &self.engine.options
    }
}

impl SetupGround<'_> {
    /// The OSDs of a setup. `traits` tells what distinguishes it, from the settings in force.
    pub(crate) fn read(
        &self,
        typed: &TypedSetup<'_>,
        traits: impl FnOnce(&Settings, &[SettingRow]) -> Vec<NamedValue>,
    ) -> Result<OsdSetup, InputError> {
        let preset = self.with_profiles(typed)?;
        let mut settings = Settings::new(preset, &self.media, Enforcement::Refuse);
        settings.set_drive_limits(FIRST, self.limits);
        let stored = self.configure(typed, &mut settings)?;
        let is_mclock = typed.scheduler == SchedulerName::Mclock;
        let settings_rows = setting_rows(&settings);
        Ok(OsdSetup {
            configuration: Configuration {
                name: typed.name.get_ref().clone(),
                about: typed.about.to_owned(),
                preset: preset.name.to_owned(),
                profile: is_mclock.then(|| in_force(&settings, "osd_mclock_profile").to_string()),
                traits: traits(&settings, &settings_rows),
                settings: settings_rows,
            },
            stored,
            preset,
            engine: Config {
                osds: self.media.len() as u32,
                placement: Placement::Even,
                placement_seed: 0,
                policy: Policy { plan: settings.plan(FIRST), seed: 0 },
                options: settings.osd_options(FIRST),
            },
        })
    }

    /// The same with the traits that tell setups apart which differ in nothing but their settings.
    pub(crate) fn read_with_traits(&self, typed: &TypedSetup<'_>) -> Result<OsdSetup, InputError> {
        self.read(typed, |settings, rows| {
            let profile = match typed.scheduler {
                SchedulerName::Mclock => in_force(settings, "osd_mclock_profile").to_string(),
                SchedulerName::Wpq | SchedulerName::Fifo => "–".to_owned(),
            };
            let traits = [
                ("preset", settings.preset().name.to_owned()),
                ("scheduler", typed.scheduler.word().to_owned()),
                ("profile", profile),
                ("set for it", set_for_it(rows)),
            ];
            traits.map(NamedValue::from).into()
        })
    }

    /// The preset that is typed, with the profiles that are.
    fn with_profiles(&self, typed: &TypedSetup<'_>) -> Result<Preset, InputError> {
        let preset = *self.preset(typed.preset)?;
        let Some(named) = typed.profiles else { return Ok(preset) };
        let profiles = profile_table(named.get_ref()).ok_or_else(|| {
            let known = PROFILE_TABLES.iter().map(|table| table.name);
            let reason = unknown("table of profiles", named.get_ref(), known);
            self.source.error_at(named.span().start, reason)
        })?;
        Ok(Preset { profiles, ..preset })
    }

    /// The preset of this name.
    pub(crate) fn preset(&self, name: &Spanned<String>) -> Result<&'static Preset, InputError> {
        preset(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            self.source.error_at(name.span().start, unknown("preset", name.get_ref(), known))
        })
    }

    /// Stores what the setup says, then starts the OSDs: the scheduler first, since it decides which other
    /// values may stand. Returns everything that was stored.
    fn configure(
        &self,
        typed: &TypedSetup<'_>,
        settings: &mut Settings,
    ) -> Result<SettingsChange, InputError> {
        let at_name = typed.name.span().start;
        let mut stored = SettingsChange::default();
        let mut store = |settings: &mut Settings, (option, value): (&str, &str), at: usize| {
            let change = SettingsChange::set(LevelTarget::Stored(Scope::Osds), option, value);
            let refused = |refused: Refused| self.source.error_at(at, refused.to_string());
            settings.apply(&change).map_err(refused)?;
            stored.edits.extend(change.edits);
            Ok::<(), InputError>(())
        };
        store(settings, ("osd_op_queue", typed.scheduler.option()), at_name)?;
        if let Some(profile) = typed.profile {
            let at = profile.span().start;
            if typed.scheduler != SchedulerName::Mclock {
                let reason = "`profile` is mClock's: leave it out, or take scheduler `mclock`";
                return Err(self.source.error_at(at, reason));
            }
            let names: Vec<&str> = settings.preset().profiles.names().chain(["custom"]).collect();
            if !names.contains(&profile.get_ref().as_str()) {
                return Err(self.source.error_at(at, unknown("profile", profile.get_ref(), names)));
            }
            store(settings, ("osd_mclock_profile", profile.get_ref()), at)?;
        }
        for (option, value) in &self.measured {
            // Where a latency goal holds back the dequeue, a throttle fitted to another system's store has no place.
            let is_replaced =
                settings.preset().holds_dequeue && option == "bluestore_throttle_bytes";
            if settings.option(option).is_ok() && !is_replaced {
                store(settings, (option, value), at_name)?;
            }
        }
        stored.edits.extend(self.store_all(typed, settings)?.edits);
        for osd in settings.osds().collect::<Vec<_>>() {
            settings.start(osd);
        }
        Ok(stored)
    }

    /// The file's options and the command line's, as one change: they are judged together.
    fn store_all(
        &self,
        typed: &TypedSetup<'_>,
        settings: &mut Settings,
    ) -> Result<SettingsChange, InputError> {
        let options: Vec<(&str, String, TypedAt)> = self.options(typed).collect();
        let mut change = SettingsChange::default();
        for (option, value, place) in &options {
            if settings.option(option).is_err() {
                let hint = hint(option, settings.table().names());
                let preset = settings.preset().name;
                let reason = format!("preset {preset} has no option `{option}`{hint}");
                return Err(self.error(place, reason));
            }
            change = change.and_set(LevelTarget::Stored(Scope::Osds), option, value);
        }
        let applied = settings.apply(&change).map(drop).map_err(|refused| {
            let says = refused.to_string();
            let named = options.iter().filter(|(option, ..)| says.contains(option));
            // What the file says together is sound: it is the line's part of it that is not.
            let cause = named.max_by_key(|(option, _, place)| {
                (matches!(place, TypedAt::CommandLine(_)), option.len())
            });
            let at = cause.map_or(TypedAt::Byte(typed.name.span().start), |(.., at)| at.clone());
            self.error(&at, says)
        });
        applied.map(|()| change)
    }

    fn options<'a>(
        &'a self,
        typed: &'a TypedSetup<'_>,
    ) -> impl Iterator<Item = (&'a str, String, TypedAt)> {
        let own = typed.options.iter().flat_map(|options| options.iter());
        let own = own.map(|(option, value)| {
            (option.get_ref().as_str(), value.text(), TypedAt::Byte(option.span().start))
        });
        let line = self.overrides.iter().filter(|change| change.is_option());
        own.chain(line.map(|change| {
            (change.key.as_str(), change.value.clone(), TypedAt::CommandLine(change.to_string()))
        }))
    }

    fn error(&self, place: &TypedAt, reason: String) -> InputError {
        match place {
            TypedAt::Byte(at) => self.source.error_at(*at, reason),
            TypedAt::CommandLine(typed) => InputError::new(typed.clone(), reason),
        }
    }
}

/// Where a setting was typed.
#[derive(Clone, Debug)]
enum TypedAt {
    Byte(usize),
    CommandLine(String),
}

/// The value of an option on the first OSD.
pub(crate) fn in_force(settings: &Settings, option: &str) -> Value {
    let option = settings.option(option).expect("the option is in every table");
    settings.effective(FIRST, option).0
}

/// Every option that is not merely compiled in, and the ones that decide the queues.
fn setting_rows(settings: &Settings) -> Vec<SettingRow> {
    let always = ["osd_op_queue", "osd_op_queue_cut_off"];
    let shown = |name: &str, origin: Origin| {
        origin != Origin::BuiltIn
            || always.contains(&name)
            || name.starts_with("osd_recovery_")
            || name.starts_with("osd_op_num_")
    };
    let rows = settings.table().iter().filter_map(|(option, spec)| {
        let (value, origin) = settings.effective(FIRST, option);
        shown(spec.name, origin).then(|| SettingRow {
            key: spec.name.to_owned(),
            value: value.to_string(),
            origin: origin.to_string(),
        })
    });
    rows.collect()
}

/// What an operator would have measured and stored for this drive. A real node measures its disks itself.
pub(crate) fn measured(drive: &Drive, place: &Place) -> Vec<(String, String)> {
    let medium = match drive.medium {
        Medium::Ssd => "ssd",
        Medium::Hdd | Medium::Hybrid => "hdd",
    };
    let window = ("bluestore_throttle_bytes".to_owned(), drive.window.get().to_string());
    match place {
        Place::Sim => {}
        Place::Host(_) => return vec![window],
        // Its operators have stored what is to be.
        Place::Ceph(_) => return Vec::new(),
    }
    let bandwidth = drive.bandwidth.get().to_string();
    vec![
        (format!("osd_mclock_max_capacity_iops_{medium}"), drive.capacity_iops.to_string()),
        (format!("osd_mclock_max_sequential_bandwidth_{medium}"), bandwidth),
        window,
    ]
}

/// What a setup stores beside its scheduler, its profile and what was measured of its drive.
fn set_for_it(rows: &[SettingRow]) -> String {
    let told = ["osd_mclock_max_", "bluestore_throttle", "osd_op_queue", "osd_mclock_profile"];
    let own = rows.iter().filter(|row| {
        row.origin.starts_with("stored") && !told.iter().any(|prefix| row.key.starts_with(prefix))
    });
    own.map(|row| format!("{}={}", row.key, row.value)).collect::<Vec<_>>().join(" ")
}
