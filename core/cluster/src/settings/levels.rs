//! The values of all levels, and which of them is in force.

use super::change::{LevelTarget, Origin, Scope};
use super::device_options::DriveLimits;
use super::option::{ClassParam, OptionId, Role};
use super::options::OptionTable;
use super::value::Value;
use loadline_base::IdVec;
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_qos::{Capacity, Preset, Profile, SchedulerKind, overrides};
use std::collections::BTreeMap;

/// The values of one level.
pub(super) type Layer = BTreeMap<OptionId, Value>;

/// What the levels above built-in hold.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub(super) global: Layer,
    pub(super) osds: Layer,
    pub(super) each: IdVec<OsdId, OsdLevels>,
}

/// What concerns one OSD only.
#[derive(Clone, Debug)]
pub(super) struct OsdLevels {
    pub(super) medium: Medium,
    pub(super) drive_limits: DriveLimits,
    pub(super) stored: Layer,
    pub(super) run_time: Layer,
    /// What was in force for start-only options when the OSD started; `None` before its first start.
    pub(super) started: Option<BTreeMap<OptionId, (Value, Origin)>>,
    /// The built-in profile in force, or the one left behind by switching to custom, which keeps its values.
    pub(super) profile: &'static Profile,
}

impl OsdLevels {
    /// An OSD for which nothing is set and that has not been started.
    pub(super) fn new(medium: Medium, profile: &'static Profile) -> OsdLevels {
        let (stored, run_time, drive_limits) = (Layer::new(), Layer::new(), DriveLimits::default());
        OsdLevels { medium, drive_limits, stored, run_time, started: None, profile }
    }
}

impl Levels {
    /// The layer that `target` edits.
    pub(super) fn layer_mut(&mut self, target: LevelTarget) -> &mut Layer {
        match target {
            LevelTarget::Stored(Scope::Global) => &mut self.global,
            LevelTarget::Stored(Scope::Osds) => &mut self.osds,
            LevelTarget::Stored(Scope::Osd(osd)) => &mut self.each[osd].stored,
            LevelTarget::RunTime(osd) => &mut self.each[osd].run_time,
        }
    }

    /// The layer of values that are stored for `scope`.
    pub(super) fn layer(&self, scope: Scope) -> &Layer {
        match scope {
            Scope::Global => &self.global,
            Scope::Osds => &self.osds,
            Scope::Osd(osd) => &self.each[osd].stored,
        }
    }

    /// The layers above the profile for one OSD, the strongest first.
    pub(super) fn set_layers(&self, osd: OsdId) -> [(Origin, &Layer); 4] {
        let own = &self.each[osd];
        [
            (Origin::RunTime, &own.run_time),
            (Origin::Stored(Scope::Osd(osd)), &own.stored),
            (Origin::Stored(Scope::Osds), &self.osds),
            (Origin::Stored(Scope::Global), &self.global),
        ]
    }
}

/// Levels together with what is needed to read them.
#[derive(Clone, Copy)]
pub(super) struct LevelsView<'a> {
    pub(super) preset: &'a Preset,
    pub(super) table: &'a OptionTable,
    pub(super) levels: &'a Levels,
}

impl LevelsView<'_> {
    /// The value in force on a running OSD.
    pub(super) fn effective(&self, osd: OsdId, option: OptionId) -> (Value, Origin) {
        let started = self.levels.each[osd].started.as_ref();
        match started.and_then(|started| started.get(&option)) {
            Some(frozen) => *frozen,
            None => self.pending(osd, option),
        }
    }

    /// The value that the levels give, which differs from the one in force for start-only options that were stored
    /// since the OSD started.
    pub(super) fn pending(&self, osd: OsdId, option: OptionId) -> (Value, Origin) {
        let layers = self.levels.set_layers(osd);
        let set = layers.iter().find_map(|(origin, layer)| Some((*layer.get(&option)?, *origin)));
        set.or_else(|| {
            let value = self.profile_value(osd, option)?;
            Some((value, Origin::Profile(self.levels.each[osd].profile.name)))
        })
        .unwrap_or((self.table.at(option).default, Origin::BuiltIn))
    }

    /// What the profile level says: the nine parameters, and what mClock overrides besides.
    pub(super) fn profile_value(&self, osd: OsdId, option: OptionId) -> Option<Value> {
        let spec = self.table.at(option);
        let number = match spec.role {
            Role::AtStart | Role::Profile | Role::RecoveryGate | Role::DeviceLimit => None,
            Role::Parameter(class, part) => {
                let profile = self.levels.each[osd].profile.of(class)?;
                let values = profile.values(self.preset.profiles.unit, &self.capacity(osd));
                Some(match part {
                    ClassParam::Reservation => values.reservation,
                    ClassParam::Weight => values.weight,
                    ClassParam::Limit => values.limit,
                })
            }
            Role::Plain | Role::RecoveryLimit | Role::Sleep => overrides(self.preset.era)
                .find(|change| change.option == spec.name)
                .filter(|_| self.scheduler(osd) == SchedulerKind::Mclock)
                .map(|change| change.value),
        };
        number.map(|number| spec.kind.of_number(number))
    }

    /// The scheduler that runs.
    pub(super) fn scheduler(&self, osd: OsdId) -> SchedulerKind {
        scheduler_named(self.effective(osd, self.named("osd_op_queue")).0)
    }

    /// The scheduler that the next start would give.
    pub(super) fn scheduler_pending(&self, osd: OsdId) -> SchedulerKind {
        scheduler_named(self.pending(osd, self.named("osd_op_queue")).0)
    }

    /// The profile that the levels name; custom has no table entry.
    pub(super) fn profile_in_force(&self, osd: OsdId) -> Option<&'static Profile> {
        match self.effective(osd, self.named("osd_mclock_profile")).0 {
            Value::Choice(name) => self.preset.profiles.profile(name),
            other => unreachable!("a profile is a name, not {other}"),
        }
    }

    /// The capacity of an OSD and its shards.
    pub(super) fn capacity(&self, osd: OsdId) -> Capacity {
        let shards = self.number_or_by_medium(osd, "osd_op_num_shards") as u32;
        let default = Capacity::default_for(self.levels.each[osd].medium, shards);
        Capacity {
            iops: self.number_by_medium(osd, "osd_mclock_max_capacity_iops"),
            sequential_bandwidth: self
                .find_by_medium(osd, "osd_mclock_max_sequential_bandwidth")
                .map_or(default.sequential_bandwidth, |option| self.number_of(osd, option)),
            shards,
        }
    }

    /// The number in force for an option of this name.
    pub(super) fn number(&self, osd: OsdId, name: &str) -> f64 {
        self.number_of(osd, self.named(name))
    }

    /// The number in force for the form of an option that fits the OSD's medium.
    pub(super) fn number_by_medium(&self, osd: OsdId, name: &str) -> f64 {
        let option = self.find_by_medium(osd, name);
        self.number_of(osd, option.unwrap_or_else(|| panic!("{name} has a form for each medium")))
    }

    /// The number in force for an option whose 0 means: ask the form for the medium.
    pub(super) fn number_or_by_medium(&self, osd: OsdId, name: &str) -> f64 {
        match self.number(osd, name) {
            0.0 => self.number_by_medium(osd, name),
            number => number,
        }
    }

    fn number_of(&self, osd: OsdId, option: OptionId) -> f64 {
        let (value, _) = self.effective(osd, option);
        value.number().unwrap_or_else(|| panic!("{option} is a number, not {value}"))
    }

    /// Where no form for hybrid disks exists, the one for rotating disks holds.
    pub(super) fn find_by_medium(&self, osd: OsdId, name: &str) -> Option<OptionId> {
        let medium = self.levels.each[osd].medium;
        let own = self.table.find(&format!("{name}_{medium}"));
        own.or_else(|| self.table.find(&format!("{name}_{}", Medium::Hdd)))
    }

    /// An option that the table always has.
    pub(super) fn named(&self, name: &str) -> OptionId {
        self.table.find(name).unwrap_or_else(|| panic!("{name} is in every table"))
    }
}

fn scheduler_named(value: Value) -> SchedulerKind {
    let Value::Choice(name) = value else { unreachable!("a scheduler is a name, not {value}") };
    let kind = SchedulerKind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.unwrap_or_else(|| unreachable!("the table lists the schedulers"))
}
