//! A setup: one configuration under test, as the engine takes it.

use super::file::{Scheduler, SetupSection, StudyFile};
use super::study::ClusterShape;
use crate::input::{InputError, Source, nearest, unknown};
use crate::overrides::Override;
use crate::place::Place;
use crate::result::{Configuration, NamedValue, SettingRow};
use loadline_base::Span;
use loadline_cluster::Config;
use loadline_cluster::settings::{Change, Enforcement, Origin, Refused, Scope, Settings, Target};
use loadline_device::Medium;
use loadline_osd::{Options, OsdId, Policy};
use loadline_qos::{MclockForm, PRESETS, ShardPlan, preset};
use loadline_sim::Drive;

/// One configuration under test.
#[derive(Clone, Debug)]
pub(crate) struct RecoverySetup {
    pub(crate) configuration: Configuration,
    /// Whether an OSD returns and is filled.
    pub(crate) recovery: bool,
    /// The study era's software stage, if it is in the way and the drive's file knows one.
    pub(crate) software_stage: Option<Span>,
    /// The engine, without seeds.
    engine: Config,
    /// Everything that is stored, for a node that computes its settings itself.
    stored: Change,
}

impl RecoverySetup {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.configuration.name
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

    /// Everything that is stored, for a node that computes its settings itself.
    pub(crate) fn stored(&self) -> &Change {
        &self.stored
    }

    /// How an OSD's queues and workers are laid out, and what its store lets in.
    pub(crate) fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Everything that a run of this setup depends on beside the study's steps, as text.
    pub(crate) fn identity(&self) -> String {
        format!("{:?} {:?} {:?}", self.engine, self.software_stage, self.recovery)
    }
}

/// All setups of a study, each checked against the options that exist under its preset.
pub(crate) fn read_setups(
    file: &StudyFile,
    source: &Source,
    grounds: Grounds<'_>,
) -> Result<Vec<RecoverySetup>, InputError> {
    let mut setups: Vec<RecoverySetup> = Vec::new();
    for section in &file.setups {
        let section = section.get_ref();
        let (name, at) = (section.name.get_ref(), section.name.span().start);
        if setups.iter().any(|setup| setup.name() == name) {
            return Err(source.error_at(at, format!("the setup `{name}` stands here twice")));
        }
        setups.push(Reader { section, source, grounds }.read()?);
    }
    Ok(setups)
}

/// Reads one setup.
struct Reader<'a> {
    section: &'a SetupSection,
    source: &'a Source,
    grounds: Grounds<'a>,
}

/// What all setups of a study have in common.
#[derive(Clone, Copy)]
pub(crate) struct Grounds<'a> {
    pub(crate) drive: &'a Drive,
    pub(crate) shape: ClusterShape,
    pub(crate) overrides: &'a [Override],
    pub(crate) place: &'a Place,
}

impl Reader<'_> {
    fn read(&self) -> Result<RecoverySetup, InputError> {
        let Grounds { drive, shape, place, .. } = self.grounds;
        let SetupSection { name, scheduler, recovery, as_published, .. } = self.section;
        let preset_name = &self.section.preset;
        let preset = preset(preset_name.get_ref()).ok_or_else(|| {
            let known = PRESETS.iter().map(|preset| preset.name);
            let reason = unknown("preset", preset_name.get_ref(), known.collect::<Vec<_>>());
            self.source.error_at(preset_name.span().start, reason)
        })?;
        let published_mclock = matches!(preset.mclock, MclockForm::AsPublished { .. })
            && *scheduler == Scheduler::Mclock;
        if *as_published && !(published_mclock && preset.name == "quincy") {
            let reason = "`as_published` is about the study era's mClock: it needs preset \
                          `quincy` and scheduler `mclock`";
            return Err(self.source.error_at(name.span().start, reason));
        }
        let media = vec![drive.medium; shape.osds as usize];
        let mut settings = Settings::new(*preset, &media, Enforcement::Refuse);
        let stored = self.configure(&mut settings)?;
        let first = OsdId::new(0);
        let stage = drive.fitted.software_stage;
        let profile =
            (*scheduler == Scheduler::Mclock).then(|| in_force(&settings, "osd_mclock_profile"));
        let rows = setting_rows(&settings);
        let traits = [
            ("preset", preset.name.to_owned()),
            ("scheduler", scheduler.word().to_owned()),
            ("profile", profile.clone().unwrap_or_else(|| "–".to_owned())),
            ("set for it", set_for_it(&rows)),
        ];
        Ok(RecoverySetup {
            configuration: Configuration {
                name: name.get_ref().clone(),
                preset: preset.name.to_owned(),
                profile,
                traits: traits.map(NamedValue::from).into(),
                settings: rows,
            },
            recovery: *recovery,
            software_stage: (*as_published && stage > Span::ZERO && *place == Place::Sim)
                .then_some(stage),
            engine: Config {
                osds: shape.osds,
                placement_seed: 0,
                policy: Policy { plan: settings.plan(first), seed: 0 },
                options: settings.osd_options(first),
            },
            stored,
        })
    }

    /// Stores what the setup says, then starts the OSDs: the scheduler first, since it decides which other
    /// values may stand. Returns everything that was stored.
    fn configure(&self, settings: &mut Settings) -> Result<Change, InputError> {
        let at_name = self.section.name.span().start;
        let scheduler = self.section.scheduler.option();
        let mut stored = Change::default();
        self.store(settings, &mut stored, ("osd_op_queue", scheduler), at_name)?;
        if let Some(profile) = &self.section.profile {
            if self.section.scheduler != Scheduler::Mclock {
                let reason = "`profile` is mClock's: leave it out, or take scheduler `mclock`";
                return Err(self.source.error_at(profile.span().start, reason));
            }
            let names: Vec<&str> = settings.preset().profiles.names().chain(["custom"]).collect();
            if !names.contains(&profile.get_ref().as_str()) {
                let reason = unknown("profile", profile.get_ref(), names);
                return Err(self.source.error_at(profile.span().start, reason));
            }
            let (option, at) = ("osd_mclock_profile", profile.span().start);
            self.store(settings, &mut stored, (option, profile.get_ref()), at)?;
        }
        for (option, value) in self.of_drive(settings) {
            self.store(settings, &mut stored, (&option, &value), at_name)?;
        }
        stored.edits.extend(self.store_all(settings)?.edits);
        for osd in settings.osds().collect::<Vec<_>>() {
            settings.start(osd);
        }
        Ok(stored)
    }

    /// What an operator would have measured and stored for this drive. A real node measures its disks itself.
    fn of_drive(&self, settings: &Settings) -> Vec<(String, String)> {
        let drive = self.grounds.drive;
        let medium = match drive.medium {
            Medium::Ssd => "ssd",
            Medium::Hdd | Medium::Hybrid => "hdd",
        };
        let values = [
            (format!("osd_mclock_max_capacity_iops_{medium}"), drive.capacity_iops.to_string()),
            (
                format!("osd_mclock_max_sequential_bandwidth_{medium}"),
                drive.bandwidth.get().to_string(),
            ),
            ("bluestore_throttle_bytes".to_owned(), drive.window.get().to_string()),
        ];
        let measured = |option: &str| {
            option.starts_with("osd_mclock_max_") && *self.grounds.place != Place::Sim
        };
        let known = |option: &str| settings.option(option).is_ok() && !measured(option);
        values.into_iter().filter(|(option, _)| known(option)).collect()
    }

    /// The setup's own settings and the command line's, as one change: they are judged together.
    fn store_all(&self, settings: &mut Settings) -> Result<Change, InputError> {
        let typed: Vec<(&str, String, TypedAt)> = self.typed().collect();
        let mut change = Change::default();
        for (option, value, place) in &typed {
            if settings.option(option).is_err() {
                let hint = nearest(option, settings.table().names())
                    .map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                let preset = settings.preset().name;
                let reason = format!("preset {preset} has no option `{option}`{hint}");
                return Err(self.error(place, reason));
            }
            change = change.and_set(Target::Stored(Scope::Osds), option, value);
        }
        let applied = settings.apply(&change).map(drop).map_err(|refused| {
            let named = refused.to_string();
            let cause = typed.iter().find(|(option, ..)| named.contains(option));
            let at =
                cause.map_or(TypedAt::Byte(self.section.name.span().start), |(.., at)| at.clone());
            self.error(&at, named)
        });
        applied.map(|()| change)
    }

    fn typed(&self) -> impl Iterator<Item = (&str, String, TypedAt)> {
        let own = self.section.settings.iter().map(|(option, value)| {
            (option.get_ref().as_str(), value.text(), TypedAt::Byte(option.span().start))
        });
        let line = self.grounds.overrides.iter().filter(|change| change.is_option());
        own.chain(line.map(|change| {
            (change.key.as_str(), change.value.clone(), TypedAt::CommandLine(change.to_string()))
        }))
    }

    fn store(
        &self,
        settings: &mut Settings,
        stored: &mut Change,
        (option, value): (&str, &str),
        at: usize,
    ) -> Result<(), InputError> {
        let change = Change::set(Target::Stored(Scope::Osds), option, value);
        let refused = |refused: Refused| self.source.error_at(at, refused.to_string());
        settings.apply(&change).map_err(refused)?;
        stored.edits.extend(change.edits);
        Ok(())
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

fn in_force(settings: &Settings, option: &str) -> String {
    let option = settings.option(option).expect("the option is in every table");
    settings.effective(OsdId::new(0), option).0.to_string()
}

/// What a setup stores beside its scheduler, its profile and what was measured of its drive.
fn set_for_it(rows: &[SettingRow]) -> String {
    let told = ["osd_mclock_max_", "bluestore_throttle", "osd_op_queue", "osd_mclock_profile"];
    let own = rows.iter().filter(|row| {
        row.origin.starts_with("stored") && !told.iter().any(|prefix| row.key.starts_with(prefix))
    });
    own.map(|row| format!("{}={}", row.key, row.value)).collect::<Vec<_>>().join(" ")
}

/// Every option that is not merely compiled in, and the ones that decide the queues.
pub(crate) fn setting_rows(settings: &Settings) -> Vec<SettingRow> {
    let always = ["osd_op_queue", "osd_op_queue_cut_off"];
    let shown = |name: &str, origin: Origin| {
        origin != Origin::BuiltIn
            || always.contains(&name)
            || name.starts_with("osd_recovery_")
            || name.starts_with("osd_op_num_")
    };
    let rows = settings.table().iter().filter_map(|(option, spec)| {
        let (value, origin) = settings.effective(OsdId::new(0), option);
        shown(spec.name, origin).then(|| SettingRow {
            key: spec.name.to_owned(),
            value: value.to_string(),
            origin: origin.to_string(),
        })
    });
    rows.collect()
}
