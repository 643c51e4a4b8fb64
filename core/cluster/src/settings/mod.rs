//! Settings in four levels: built-in < profile < stored (global < osd < osd.N) < run-time.
//!
//! Each level keeps its own value of an option and can be shown beside the others; the highest one present is in
//! force. What the original would accept and silently take back is refused with a sentence that says what to do
//! instead ([`Refused`]). A change is atomic: its caller applies the outcome to every shard of each OSD that it
//! names. `docs/settings.md` tells the rules in words.

mod absent;
mod change;
mod derived;
mod device;
mod device_options;
mod levels;
mod option;
mod options;
mod published;
mod refused;
mod restore;
mod rules;
mod value;

pub use absent::Absent;
pub use change::{Altered, LevelTarget, Origin, Scope, SettingEdit, SettingsChange};
pub use device_options::DriveLimits;
pub use option::{ClassParam, OptionId, OptionSpec, Role};
pub use options::OptionTable;
pub use published::{PublishedSource, PublishedView};
pub use refused::Refused;
pub use restore::LeftOut;
pub use value::{Value, ValueKind};

use levels::{Layer, Levels, LevelsView, OsdLevels};
use loadline_base::Span;
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_qos::Preset;
use rules::ParsedEdit;

/// What happens to a value that may not stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// The change is refused as a whole.
    #[default]
    Refuse,
    /// The change is made and the value is taken back at once, as Ceph does it (qos.md 7.2): for comparison only.
    RevertAsPublished,
}

/// The settings of the OSDs of one host.
#[derive(Clone, Debug)]
pub struct Settings {
    preset: Preset,
    table: OptionTable,
    levels: Levels,
    enforcement: Enforcement,
}

/// What one level says of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRow {
    /// The level.
    pub level: Origin,
    /// Its value, if it has one.
    pub value: Option<Value>,
}

/// Everything that is known of an option on one OSD.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Each level, from built-in up.
    pub rows: Vec<LevelRow>,
    /// What is in force.
    pub effective: Value,
    /// Why.
    pub origin: Origin,
    /// What the next start would bring into force, where that differs.
    pub after_restart: Option<Value>,
}

impl Settings {
    /// Settings for one OSD per medium, with nothing set.
    pub fn new(preset: Preset, media: &[Medium], enforcement: Enforcement) -> Settings {
        Settings::with(OptionTable::new(&preset), preset, media, enforcement)
    }

    /// The same for OSDs whose work one loop carries out: they have no options for workers.
    pub fn on_a_loop(preset: Preset, media: &[Medium]) -> Settings {
        Settings::with(OptionTable::on_a_loop(&preset), preset, media, Enforcement::Refuse)
    }

    fn with(
        table: OptionTable,
        preset: Preset,
        media: &[Medium],
        enforcement: Enforcement,
    ) -> Settings {
        let profiles = preset.profiles;
        let profile = profiles
            .profile(profiles.default_profile)
            .unwrap_or_else(|| panic!("table {} has its default profile", profiles.name));
        let each = media.iter().map(|medium| OsdLevels::new(*medium, profile)).collect();
        let levels = Levels { global: Layer::new(), osds: Layer::new(), each };
        Settings { preset, table, levels, enforcement }
    }

    /// One more OSD, for which nothing is set, and which has to be [started](Settings::start).
    pub fn add_osd(&mut self, medium: Medium) -> OsdId {
        let profiles = self.preset.profiles;
        let profile = profiles.profile(profiles.default_profile).expect("it was there before");
        self.levels.each.push(OsdLevels::new(medium, profile))
    }

    /// An OSD is none any more: what was set for it is gone. Whoever has its number next has to be [started](Settings::start).
    pub fn forget_osd(&mut self, osd: OsdId) {
        let profiles = self.preset.profiles;
        let profile = profiles.profile(profiles.default_profile).expect("it was there before");
        let OsdLevels { medium, drive_limits, .. } = self.levels.each[osd];
        let nothing = OsdLevels::new(medium, profile);
        self.levels.each[osd] = OsdLevels { drive_limits, ..nothing };
    }

    /// The last OSD is none any more; what was set for it is gone.
    pub fn remove_last_osd(&mut self) {
        self.levels.each.pop();
    }

    /// The preset.
    pub fn preset(&self) -> &Preset {
        &self.preset
    }

    /// The options that exist.
    pub fn table(&self) -> &OptionTable {
        &self.table
    }

    /// The OSDs.
    pub fn osds(&self) -> impl Iterator<Item = OsdId> {
        self.levels.each.ids()
    }

    /// The option of this name.
    ///
    /// # Errors
    /// [`Refused::UnknownOption`], [`Refused::WithoutEffect`].
    pub fn option(&self, name: &str) -> Result<OptionId, Refused> {
        self.table.find(name).ok_or_else(|| match self.table.absent(name) {
            Some(absent) => Refused::WithoutEffect(absent),
            None => Refused::UnknownOption(name.to_owned()),
        })
    }

    /// How long an OSD may be down before it is taken out (`mon_osd_down_out_interval`); `None` for any time.
    pub fn down_out_interval(&self, osd: OsdId) -> Option<Span> {
        let seconds = self.view().number(osd, "mon_osd_down_out_interval");
        (seconds > 0.0).then(|| Span::from_secs_f64(seconds))
    }

    /// Whether an OSD whose store is damaged is filled again by itself (`osd_heal_damaged_store`).
    pub fn heals_damaged_store(&self, osd: OsdId) -> bool {
        let view = self.view();
        view.effective(osd, view.named("osd_heal_damaged_store")).0 == Value::Flag(true)
    }

    /// Makes a change, or refuses it whole. Returns every effective value that it altered, in order of OSD and option.
    ///
    /// # Errors
    /// [`Refused`] with the first reason found; nothing has changed then.
    pub fn apply(&mut self, change: &SettingsChange) -> Result<Vec<Altered>, Refused> {
        let edits =
            change.edits.iter().map(|edit| self.parse(edit)).collect::<Result<Vec<_>, _>>()?;
        let mut next = self.levels.clone();
        for (target, option, value) in &edits {
            let layer = next.layer_mut(*target);
            match value {
                Some(value) => layer.insert(*option, *value),
                None => layer.remove(option),
            };
        }
        self.follow_profiles(&mut next);
        for violation in rules::violations(self.view_of(&next), &edits) {
            match self.enforcement {
                Enforcement::Refuse => return Err(violation.refused),
                Enforcement::RevertAsPublished => {
                    next.osds.remove(&violation.option);
                    next.each[violation.osd].stored.remove(&violation.option);
                    next.each[violation.osd].run_time.remove(&violation.option);
                }
            }
        }
        Ok(self.replace(next))
    }

    /// Starts an OSD, or starts it again: its run-time values are gone, and start-only options are read.
    pub fn start(&mut self, osd: OsdId) -> Vec<Altered> {
        let mut next = self.levels.clone();
        next.each[osd].run_time.clear();
        next.each[osd].started = None;
        let view = self.view_of(&next);
        let at_start = self.table.iter().filter(|(_, spec)| spec.role == Role::AtStart);
        let frozen = at_start.map(|(option, _)| (option, view.pending(osd, option))).collect();
        next.each[osd].started = Some(frozen);
        self.follow_profiles(&mut next);
        self.replace(next)
    }

    /// The value in force, and where it comes from.
    pub fn effective(&self, osd: OsdId, option: OptionId) -> (Value, Origin) {
        self.view().effective(osd, option)
    }

    /// Each level's value, the one in force, and what a restart would change.
    pub fn explain(&self, osd: OsdId, option: OptionId) -> Explanation {
        let view = self.view();
        let own = &self.levels.each[osd];
        let profile = LevelRow {
            level: Origin::Profile(own.profile.name),
            value: view.profile_value(osd, option),
        };
        let built_in =
            LevelRow { level: Origin::BuiltIn, value: Some(self.table.at(option).default) };
        let set = self.levels.set_layers(osd).into_iter().rev();
        let set = set.map(|(level, layer)| LevelRow { level, value: layer.get(&option).copied() });
        let (effective, origin) = view.effective(osd, option);
        let (pending, _) = view.pending(osd, option);
        Explanation {
            rows: [built_in, profile].into_iter().chain(set).collect(),
            effective,
            origin,
            after_restart: (pending != effective).then_some(pending),
        }
    }

    /// An option that the table always has.
    fn named(&self, name: &str) -> OptionId {
        self.table.find(name).unwrap_or_else(|| panic!("{name} is in every table"))
    }

    fn parse(&self, edit: &SettingEdit) -> Result<ParsedEdit, Refused> {
        let option = self.option(&edit.option)?;
        let spec = self.table.at(option);
        if let LevelTarget::Stored(Scope::Osd(osd)) | LevelTarget::RunTime(osd) = edit.target
            && self.levels.each.get(osd).is_none()
        {
            return Err(Refused::UnknownOsd(osd));
        }
        let Some(text) = &edit.value else { return Ok((edit.target, option, None)) };
        if spec.role == Role::AtStart && matches!(edit.target, LevelTarget::RunTime(_)) {
            return Err(Refused::AtStartOnly { option: spec.name });
        }
        let value = spec.kind.parse(text);
        // What is more than the kind can hold is more than the option takes.
        let is_beyond = |most: f64| text.trim().parse().is_ok_and(|number: f64| number > most);
        match (value, &spec.range) {
            (value, Some(range))
                if value.map_or(is_beyond(*range.end()), |value| !spec.admits(value)) =>
            {
                Err(Refused::OutOfRange {
                    option: spec.name,
                    text: text.clone(),
                    least: spec.kind.of_number(*range.start()).to_string(),
                    most: spec.kind.of_number(*range.end()).to_string(),
                })
            }
            (Some(value), _) => Ok((edit.target, option, Some(value))),
            (None, _) => Err(Refused::NotAValue {
                option: spec.name,
                text: text.clone(),
                wanted: spec.kind.wanted(),
            }),
        }
    }

    /// Notes the built-in profile in force on each OSD; under custom the one left behind stays noted.
    fn follow_profiles(&self, next: &mut Levels) {
        for osd in self.levels.each.ids() {
            if let Some(profile) = self.view_of(next).profile_in_force(osd) {
                next.each[osd].profile = profile;
            }
        }
    }

    fn replace(&mut self, next: Levels) -> Vec<Altered> {
        let mut altered = Vec::new();
        for osd in next.each.ids() {
            for (option, _) in self.table.iter() {
                let (before, _) = self.view().effective(osd, option);
                let (after, origin) = self.view_of(&next).effective(osd, option);
                if before != after {
                    altered.push(Altered { osd, option, before, after, origin });
                }
            }
        }
        self.levels = next;
        altered
    }

    fn view(&self) -> LevelsView<'_> {
        self.view_of(&self.levels)
    }

    fn view_of<'a>(&'a self, levels: &'a Levels) -> LevelsView<'a> {
        LevelsView { preset: &self.preset, table: &self.table, levels }
    }
}

#[cfg(test)]
mod tests;
