//! A recovery study's setups: what its OSDs are set to, whether one of them returns, and what is in the way.

use super::file::{RecoverySetupSection, StudyFile};
use crate::input::{InputError, Source};
use crate::overrides::Override;
use crate::place::Place;
use crate::result::{NamedValue, SettingRow};
use crate::sets::refuse_twins;
use crate::setup::{OsdSetup, SchedulerName, SetupGround, TypedSetup, in_force};
use loadline_base::Span;
use loadline_cluster::settings::DriveLimits;
use loadline_device::Medium;
use loadline_qos::MclockForm;
use loadline_sim::Drive;

/// One configuration under test.
#[derive(Clone, Debug)]
pub(crate) struct RecoverySetup {
    pub(crate) osds: OsdSetup,
    /// Whether an OSD returns and is filled.
    pub(crate) recovery: bool,
    /// The study era's software stage, if it is in the way and the drive's file knows one.
    pub(crate) software_stage: Option<Span>,
}

impl RecoverySetup {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.osds.name()
    }

    /// Everything that a run of this setup depends on beside the study's steps, as text.
    pub(super) fn identity(&self) -> String {
        format!("{:?} {:?} {:?}", self.osds.engine(0, 0), self.software_stage, self.recovery)
    }
}

/// All setups of a study, each checked against the options that exist under its preset.
pub(super) fn read_setups(
    file: &StudyFile,
    source: &Source,
    (drive, shape): (&Drive, ClusterShape),
    (overrides, place): (&[Override], &Place),
) -> Result<Vec<RecoverySetup>, InputError> {
    let ground = SetupGround {
        source,
        media: vec![drive.medium; shape.osds as usize],
        limits: DriveLimits::default(),
        measured: measured(drive, place),
        overrides,
    };
    refuse_twins(source, file.setups.iter().map(|section| &section.get_ref().name))?;
    let setups = file.setups.iter();
    setups.map(|section| read(&ground, section.get_ref(), drive, place)).collect()
}

fn read(
    ground: &SetupGround<'_>,
    section: &RecoverySetupSection,
    drive: &Drive,
    place: &Place,
) -> Result<RecoverySetup, InputError> {
    let preset = ground.preset(&section.preset)?;
    let published_mclock = matches!(preset.mclock, MclockForm::AsPublished { .. })
        && section.scheduler == SchedulerName::Mclock;
    if section.as_published && !(published_mclock && preset.name == "quincy") {
        let reason = "`as_published` is about the study era's mClock: it needs preset \
                      `quincy` and scheduler `mclock`";
        return Err(ground.source.error_at(section.name.span().start, reason));
    }
    let typed = TypedSetup {
        name: &section.name,
        preset: &section.preset,
        scheduler: section.scheduler,
        profile: section.profile.as_ref(),
        options: &[&section.settings],
    };
    let osds = ground.read(&typed, |settings, rows| {
        let profile = match section.scheduler {
            SchedulerName::Mclock => in_force(settings, "osd_mclock_profile").to_string(),
            SchedulerName::Wpq | SchedulerName::Fifo => "–".to_owned(),
        };
        let traits = [
            ("preset", preset.name.to_owned()),
            ("scheduler", section.scheduler.word().to_owned()),
            ("profile", profile),
            ("set for it", set_for_it(rows)),
        ];
        traits.map(NamedValue::from).into()
    })?;
    let stage = drive.fitted.software_stage;
    let in_the_way = section.as_published && stage > Span::ZERO && *place == Place::Sim;
    let software_stage = in_the_way.then_some(stage);
    Ok(RecoverySetup { osds, recovery: section.recovery, software_stage })
}

/// What an operator would have measured and stored for this drive. A real node measures its disks itself.
fn measured(drive: &Drive, place: &Place) -> Vec<(String, String)> {
    let medium = match drive.medium {
        Medium::Ssd => "ssd",
        Medium::Hdd | Medium::Hybrid => "hdd",
    };
    let window = ("bluestore_throttle_bytes".to_owned(), drive.window.get().to_string());
    if *place != Place::Sim {
        return vec![window];
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

/// How many OSDs and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterShape {
    /// OSDs, one drive each.
    pub osds: u32,
    /// Copies of each object.
    pub copies: u32,
}
