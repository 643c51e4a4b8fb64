//! The setups of a limits study: which settings each one has, judged by the drive's descriptors.

use super::file::{LimitsFile, SetupSection};
use crate::input::{InputError, Source, nearest, unknown};
use crate::overrides::Override;
use crate::recovery::file::{Scheduler, SettingValue};
use crate::recovery::setup::setting_rows;
use crate::result::{Configuration, NamedValue};
use loadline_cluster::Config;
use loadline_cluster::settings::{
    Change, DriveLimits, Enforcement, Refused, Scope, Settings, Target, Value,
};
use loadline_device::Medium;
use loadline_osd::{Options, OsdId, Policy, Windowed};
use loadline_qos::{PRESETS, ServiceClass, ShardPlan, preset};
use loadline_store::WindowBounds;
use std::collections::BTreeMap;
use toml::Spanned;

/// The study has one OSD.
const OSD: OsdId = OsdId::new(0);

/// One configuration under test.
#[derive(Clone, Debug)]
pub(super) struct LimitsSetup {
    pub(super) configuration: Configuration,
    /// Requests at the drive before work waits in the OSD's queue.
    window: u32,
    engine: Config,
}

impl LimitsSetup {
    /// The engine with its seeds and its window.
    pub(super) fn engine(&self, seed: u64) -> Config {
        let window = WindowBounds { ops: self.window, bytes: loadline_base::Bytes::new(u64::MAX) };
        let options = Options { window, windowed: Windowed::All, ..self.engine.options };
        let policy = Policy { seed, ..self.engine.policy.clone() };
        Config { policy, options, placement_seed: seed, ..self.engine.clone() }
    }

    /// What the shards are built from.
    pub(super) fn plan(&self) -> &ShardPlan {
        &self.engine.policy.plan
    }
}

/// All setups of a study.
pub(super) fn read_setups(
    file: &LimitsFile,
    source: &Source,
    limits: DriveLimits,
    overrides: &[Override],
) -> Result<Vec<LimitsSetup>, InputError> {
    let mut setups: Vec<LimitsSetup> = Vec::new();
    for section in &file.setups {
        let section = section.get_ref();
        let (name, at) = (section.name.get_ref(), section.name.span().start);
        if setups.iter().any(|setup| setup.configuration.name == *name) {
            return Err(source.error_at(at, format!("the setup `{name}` stands here twice")));
        }
        setups.push(Reader { file, section, source, limits, overrides }.read()?);
    }
    Ok(setups)
}

struct Reader<'a> {
    file: &'a LimitsFile,
    section: &'a SetupSection,
    source: &'a Source,
    limits: DriveLimits,
    overrides: &'a [Override],
}

impl Reader<'_> {
    fn read(&self) -> Result<LimitsSetup, InputError> {
        let SetupSection { name, scheduler, preset: typed, .. } = self.section;
        let preset = preset(typed.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            self.source.error_at(typed.span().start, unknown("preset", typed.get_ref(), known))
        })?;
        let mut settings = Settings::new(*preset, &[Medium::Hdd], Enforcement::Refuse);
        settings.set_drive_limits(OSD, self.limits);
        self.configure(&mut settings)?;
        settings.start(OSD);
        let profile = (*scheduler == Scheduler::Mclock)
            .then(|| in_force(&settings, "osd_mclock_profile").to_string());
        let window = self.section.window.unwrap_or(self.file.steps.window);
        let traits = [
            ("scheduler", scheduler.word().to_owned()),
            ("profile", profile.clone().unwrap_or_default()),
            ("client's limit", client_limit(&settings).unwrap_or_else(|| "none".to_owned())),
            ("at the drive", window.to_string()),
        ];
        Ok(LimitsSetup {
            configuration: Configuration {
                name: name.get_ref().clone(),
                preset: preset.name.to_owned(),
                profile,
                traits: traits.map(NamedValue::from).into(),
                settings: setting_rows(&settings),
            },
            window,
            engine: Config {
                osds: 1,
                placement_seed: 0,
                policy: Policy { plan: settings.plan(OSD), seed: 0 },
                options: settings.osd_options(OSD),
            },
        })
    }

    /// Stores the scheduler first, since it decides which other values may stand.
    fn configure(&self, settings: &mut Settings) -> Result<(), InputError> {
        let at_name = self.section.name.span().start;
        let refuse = |at: usize, reason: String| self.source.error_at(at, reason);
        let osds = Target::Stored(Scope::Osds);
        let scheduler = self.section.scheduler;
        let change = Change::set(osds, "osd_op_queue", scheduler.option());
        settings.apply(&change).map_err(|refused| refuse(at_name, refused.to_string()))?;
        if let Some(profile) = &self.section.profile {
            let at = profile.span().start;
            if scheduler != Scheduler::Mclock {
                let reason = "`profile` is mClock's: leave it out, or take scheduler `mclock`";
                return Err(refuse(at, reason.to_owned()));
            }
            let change = Change::set(osds, "osd_mclock_profile", profile.get_ref());
            settings.apply(&change).map_err(|refused| refuse(at, refused.to_string()))?;
        }
        for options in [&self.file.settings, &self.section.settings] {
            self.store(settings, options)?;
        }
        for typed in self.overrides.iter().filter(|change| change.is_option()) {
            let change = Change::set(osds, &typed.key, &typed.value);
            let refused =
                |refused: Refused| InputError::new(typed.to_string(), refused.to_string());
            settings.apply(&change).map_err(refused)?;
        }
        Ok(())
    }

    /// Options of one section, as one change: they are judged together.
    fn store(
        &self,
        settings: &mut Settings,
        options: &BTreeMap<Spanned<String>, SettingValue>,
    ) -> Result<(), InputError> {
        let mut change = Change::default();
        for (option, value) in options {
            if settings.option(option.get_ref()).is_err() {
                let hint = nearest(option.get_ref(), settings.table().names())
                    .map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                let preset = settings.preset().name;
                let reason = format!("preset {preset} has no option `{}`{hint}", option.get_ref());
                return Err(self.source.error_at(option.span().start, reason));
            }
            change = change.and_set(Target::Stored(Scope::Osds), option.get_ref(), &value.text());
        }
        settings.apply(&change).map(drop).map_err(|refused| {
            let says = refused.to_string();
            let named = options.keys().filter(|option| says.contains(option.get_ref().as_str()));
            let cause = named.max_by_key(|option| option.get_ref().len());
            let at = cause.map_or(self.section.name.span().start, |option| option.span().start);
            self.source.error_at(at, says)
        })
    }
}

fn in_force(settings: &Settings, option: &str) -> Value {
    let option = settings.option(option).expect("the option is in every table");
    settings.effective(OSD, option).0
}

fn client_limit(settings: &Settings) -> Option<String> {
    let [.., limit] = Settings::device_options_of(ServiceClass::Client)?;
    let limit = in_force(settings, limit);
    (limit.number() != Some(0.0)).then(|| limit.to_string())
}
