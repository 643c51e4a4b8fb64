//! The setups of a limits study: what its one OSD is set to, and how much of it the drive gets at once.

use super::file::{LimitsFile, LimitsSetupSection};
use crate::input::{InputError, Source};
use crate::overrides::Override;
use crate::result::NamedValue;
use crate::sets::refuse_twins;
use crate::setup::{OsdSetup, SchedulerName, SetupGround, TypedSetup, in_force};
use loadline_base::Bytes;
use loadline_cluster::Config;
use loadline_cluster::settings::{DriveLimits, Settings};
use loadline_device::Medium;
use loadline_osd::{OsdOptions, Windowed};
use loadline_qos::ServiceClass;
use loadline_store::WindowBounds;

/// One configuration under test.
#[derive(Clone, Debug)]
pub(super) struct LimitsSetup {
    pub(super) osds: OsdSetup,
    /// Requests at the drive before work waits in the OSD's queue.
    window: u32,
}

impl LimitsSetup {
    /// The engine with its seeds and its window.
    pub(super) fn engine(&self, seed: u64) -> Config {
        let window = WindowBounds { ops: self.window, bytes: Bytes::new(u64::MAX) };
        let engine = self.osds.engine(seed, seed);
        Config {
            options: OsdOptions { window, windowed: Windowed::All, pacing: None, ..engine.options },
            ..engine
        }
    }
}

/// All setups of a study, judged by the drive's descriptors.
pub(super) fn read_setups(
    file: &LimitsFile,
    source: &Source,
    limits: DriveLimits,
    overrides: &[Override],
) -> Result<Vec<LimitsSetup>, InputError> {
    let (media, measured) = (vec![Medium::Hdd], Vec::new());
    let ground = SetupGround { source, media, limits, measured, overrides };
    refuse_twins(source, file.setups.iter().map(|section| &section.get_ref().name))?;
    file.setups.iter().map(|section| read(&ground, file, section.get_ref())).collect()
}

fn read(
    ground: &SetupGround<'_>,
    file: &LimitsFile,
    section: &LimitsSetupSection,
) -> Result<LimitsSetup, InputError> {
    let window = section.window.unwrap_or(file.steps.window);
    let typed = TypedSetup {
        name: &section.name,
        about: &section.about,
        preset: &section.preset,
        profiles: None,
        scheduler: section.scheduler,
        profile: section.profile.as_ref(),
        options: &[&file.settings, &section.settings],
    };
    let osds = ground.read(&typed, |settings, _| {
        let profile = match section.scheduler {
            SchedulerName::Mclock => in_force(settings, "osd_mclock_profile").to_string(),
            SchedulerName::Wpq | SchedulerName::Fifo => String::new(),
        };
        let traits = [
            ("scheduler", section.scheduler.word().to_owned()),
            ("profile", profile),
            ("client's limit", client_limit(settings).unwrap_or_else(|| "none".to_owned())),
            ("at the drive", window.to_string()),
        ];
        traits.map(NamedValue::from).into()
    })?;
    Ok(LimitsSetup { osds, window })
}

fn client_limit(settings: &Settings) -> Option<String> {
    let [.., limit] = Settings::device_options_of(ServiceClass::Client)?;
    let limit = in_force(settings, limit);
    (limit.number() != Some(0.0)).then(|| limit.to_string())
}
