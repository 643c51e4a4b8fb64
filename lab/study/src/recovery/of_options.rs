//! A setup of what a Ceph's OSDs are set to, as far as the engine has it: from a description of a cluster, or from a configuration file.

use super::file::RecoverySetupSection;
use crate::on_ceph;
use crate::setup::{SchedulerName, SettingValue};
use loadline_cluster::settings::{
    Enforcement, LevelTarget, Refused, Scope, Settings, SettingsChange,
};
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_qos::preset;
use std::collections::BTreeMap;
use toml::Spanned;

/// What OSDs are set to.
pub(super) struct CephOptions<'a> {
    /// What the setup is called.
    pub(super) name: &'a str,
    /// The preset that behaves as their release.
    pub(super) preset: &'static str,
    pub(super) medium: Medium,
    /// Each option that is set, `osd_op_queue` among them.
    pub(super) options: &'a BTreeMap<String, String>,
}

impl CephOptions<'_> {
    /// The setup, and the settings of its queue and its profile alone. What the engine knows and does not take is left out, each
    /// with a sentence.
    ///
    /// # Errors
    /// Why there is no such setup.
    pub(super) fn setup(
        &self,
        about: &str,
        left_out: &mut Vec<String>,
    ) -> Result<(RecoverySetupSection, Settings), String> {
        let queue = self.options.get("osd_op_queue").ok_or("its queue is not known")?;
        let scheduler =
            on_ceph::queue_of(queue).ok_or_else(|| format!("no queue is called `{queue}`"))?;
        let is_mclock = scheduler == SchedulerName::Mclock;
        let profile = self.options.get("osd_mclock_profile").filter(|_| is_mclock);
        let mut settings = Settings::new(
            *preset(self.preset).expect("the engine has Ceph's presets"),
            &[self.medium],
            Enforcement::Refuse,
        );
        let told = |refused: Refused| refused.to_string();
        settings.apply(&stored("osd_op_queue", queue)).map_err(told)?;
        if let Some(profile) = profile {
            settings.apply(&stored("osd_mclock_profile", profile)).map_err(told)?;
        }
        settings.start(OsdId::new(0));
        let kept = self.kept(settings.clone(), is_mclock, left_out);
        let section = RecoverySetupSection {
            name: Spanned::new(0..0, self.name.to_owned()),
            about: about.to_owned(),
            preset: Spanned::new(0..0, self.preset.to_owned()),
            scheduler,
            profile: profile.map(|profile| Spanned::new(0..0, profile.clone())),
            recovery: true,
            clients: None,
            neighbours: Vec::new(),
            images: BTreeMap::new(),
            settings: kept,
        };
        Ok((section, settings))
    }

    /// What is other than queue and profile make it, and the engine takes.
    fn kept(
        &self,
        mut settings: Settings,
        is_mclock: bool,
        left_out: &mut Vec<String>,
    ) -> BTreeMap<Spanned<String>, SettingValue> {
        let is_said = |option: &str| {
            ["osd_op_queue", "osd_mclock_profile", on_ceph::OVERRIDE].contains(&option)
        };
        let mut kept = BTreeMap::new();
        for (option, value) in self.options.iter().filter(|(option, _)| !is_said(option)) {
            let Ok(id) = settings.option(option) else { continue };
            let read = settings.table().at(id).kind.parse(value);
            if read.is_some_and(|read| settings.effective(OsdId::new(0), id).0 == read) {
                continue;
            }
            let mut all = vec![(option, SettingValue::Text(value.clone()))];
            let beside = on_ceph::OVERRIDE.to_owned();
            if is_mclock && on_ceph::is_held(option) {
                all.insert(0, (&beside, SettingValue::Flag(true)));
            }
            let mut changed = settings.clone();
            let mut apply = |(name, value): &(&String, SettingValue)| {
                changed.apply(&stored(name, &value.text())).map(drop)
            };
            match all.iter().try_for_each(&mut apply) {
                Ok(()) => {
                    settings = changed;
                    let owned =
                        |(key, value): (&String, _)| (Spanned::new(0..0, key.clone()), value);
                    kept.extend(all.into_iter().map(owned));
                }
                Err(refused) => left_out.push(format!(
                    "`{}` is without {option} = {value}: {}.",
                    self.name,
                    refused.to_string().trim_end_matches('.')
                )),
            }
        }
        kept
    }
}

fn stored(name: &str, value: &str) -> SettingsChange {
    SettingsChange::set(LevelTarget::Stored(Scope::Osds), name, value)
}
