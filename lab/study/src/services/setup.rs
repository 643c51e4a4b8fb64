//! The setups of a services study: what the OSDs are set to, and whether services run.

use super::file::ServicesFile;
use crate::input::{InputError, Source};
use crate::overrides::Override;
use crate::place::Place;
use crate::sets::refuse_twins;
use crate::setup::{OsdSetup, SetupGround, TypedSetup, measured};
use loadline_cluster::settings::DriveLimits;
use loadline_sim::Drive;

/// One configuration under test.
#[derive(Clone, Debug)]
pub(super) struct ServicesSetup {
    pub(super) osds: OsdSetup,
    /// Whether the services run.
    pub(super) services: bool,
}

/// All setups of a study, each checked against the options that exist under its preset.
pub(super) fn read_setups(
    file: &ServicesFile,
    source: &Source,
    drive: &Drive,
    (overrides, place): (&[Override], &Place),
) -> Result<Vec<ServicesSetup>, InputError> {
    let ground = SetupGround {
        source,
        media: vec![drive.medium; file.cluster.osds as usize],
        limits: DriveLimits::default(),
        measured: measured(drive, place),
        overrides,
    };
    refuse_twins(source, file.setups.iter().map(|section| &section.get_ref().name))?;
    let setup = |section: &toml::Spanned<super::file::ServicesSetupSection>| {
        let section = section.get_ref();
        let osds = ground.read_with_traits(&TypedSetup {
            name: &section.name,
            about: &section.about,
            preset: &section.preset,
            profiles: section.profiles.as_ref(),
            scheduler: section.scheduler,
            profile: section.profile.as_ref(),
            options: &[&file.settings, &section.settings],
        })?;
        Ok(ServicesSetup { osds, services: section.services })
    };
    file.setups.iter().map(setup).collect()
}
