//! Settings: every level is shown, the stored and the run-time level are changed.

use super::desk::CommandOutcome;
use super::desk::Executed;
use crate::admin::api::{
    AdminAnswer, AdminRefusal, AlteredValue, ConfigChanged, ConfigRow, ConfigRows, Explained,
    ExplainedLevel, RefusalKind, ValueLevel, Who,
};
use crate::engine::host_node::HostNode;
use loadline_cluster::settings::{
    Explanation, LevelRow, LevelTarget, OptionId, Origin, Refused, Scope, SettingsChange, Value,
};
use loadline_osd::OsdId;

/// Where the levels that concern every OSD are read: they are the same on each.
const ANY: OsdId = OsdId::new(0);

impl HostNode {
    pub(super) fn config_show(&self, who: Option<Who>) -> Result<AdminAnswer, AdminRefusal> {
        let rows = match who {
            Some(Who::Osd(osd)) => self.in_force(self.known_osd(osd)?),
            Some(who) => self.section(Some(who)),
            None => self.section(None),
        };
        Ok(AdminAnswer::Config(ConfigRows { rows }))
    }

    /// What somebody set, for everybody or for one section, with what of it cannot stand.
    fn section(&self, who: Option<Who>) -> Vec<ConfigRow> {
        let mut rows = match who {
            Some(who) => self.set_rows(|origin| section_of(origin, ANY) == Some(who)),
            None => self.set_rows(|_| true),
        };
        let left_out = self.settings.left_out.iter().map(|left_out| ConfigRow {
            who: left_out.scope.to_string(),
            option: left_out.option.clone(),
            value: left_out.value.clone(),
            origin: format!("{}, left out", Origin::Stored(left_out.scope)),
            after_restart: None,
        });
        rows.extend(left_out.filter(|row| who.is_none_or(|who| row.who == who.to_string())));
        rows
    }

    /// Every option of one OSD.
    fn in_force(&self, osd: OsdId) -> Vec<ConfigRow> {
        let levels = &self.settings.levels;
        let row = |option: OptionId| {
            let found = levels.explain(osd, option);
            ConfigRow {
                who: osd.to_string(),
                option: levels.table().at(option).name.to_owned(),
                value: found.effective.to_string(),
                origin: found.origin.to_string(),
                after_restart: found.after_restart.map(|value| value.to_string()),
            }
        };
        levels.table().iter().map(|(option, _)| row(option)).collect()
    }

    /// The values that somebody set at the levels that are wanted.
    fn set_rows(&self, wanted: impl Fn(Origin) -> bool) -> Vec<ConfigRow> {
        let levels = &self.settings.levels;
        let mut rows: Vec<ConfigRow> = Vec::new();
        for (option, spec) in levels.table().iter() {
            let of_osd = |osd| levels.explain(osd, option).rows.into_iter().map(move |r| (osd, r));
            for (osd, LevelRow { level, value }) in levels.osds().flat_map(of_osd) {
                let (Some(who), Some(value)) = (section_of(level, osd), value) else { continue };
                // What holds for every OSD is met on each.
                if wanted(level) && (osd == ANY || matches!(who, Who::Osd(_))) {
                    rows.push(ConfigRow {
                        who: who.to_string(),
                        option: spec.name.to_owned(),
                        value: value.to_string(),
                        origin: level.to_string(),
                        after_restart: None,
                    });
                }
            }
        }
        rows
    }

    pub(super) fn config_get(&self, who: Who, name: &str) -> Result<AdminAnswer, AdminRefusal> {
        let option = self.settings.levels.option(name)?;
        let osd = match who {
            Who::Osd(osd) => self.known_osd(osd)?,
            Who::Global | Who::Osds => ANY,
        };
        let found = self.settings.levels.explain(osd, option);
        let explained = match who {
            Who::Osd(_) => found,
            _ => as_section(found, who),
        };
        let level = |row: &LevelRow| ExplainedLevel {
            level: row.level.to_string(),
            value: row.value.map(|value| value.to_string()),
        };
        Ok(AdminAnswer::Explained(Explained {
            who: who.to_string(),
            option: name.to_owned(),
            levels: explained.rows.iter().map(level).collect(),
            value: explained.effective.to_string(),
            origin: explained.origin.to_string(),
            after_restart: explained.after_restart.map(|value: Value| value.to_string()),
        }))
    }

    pub(super) fn config_set(
        &mut self,
        who: Who,
        option: &str,
        value: &str,
        level: ValueLevel,
    ) -> Executed {
        self.check_section(who)?;
        let mut change = SettingsChange::default();
        for target in self.targets(who, level) {
            change = change.and_set(target, option, value);
        }
        self.config_change(who, option, Some(value), level, &change)
    }

    pub(super) fn config_remove(&mut self, who: Who, option: &str, level: ValueLevel) -> Executed {
        self.check_section(who)?;
        if level == ValueLevel::Stored && self.is_left_out(who, option) {
            return self.forget_left_out(who, option);
        }
        let id = self.settings.levels.option(option)?;
        let targets = self.targets(who, level);
        if !targets.iter().any(|target| self.is_set(*target, id)) {
            let level = match level {
                ValueLevel::Stored => "stored",
                ValueLevel::Runtime => "run-time",
            };
            return Err(AdminRefusal::not_found(format!(
                "{option} has no {level} value for {who}"
            )));
        }
        let mut change = SettingsChange::default();
        for target in targets {
            change = change.and_remove(target, option);
        }
        self.config_change(who, option, None, level, &change)
    }

    fn is_left_out(&self, who: Who, option: &str) -> bool {
        self.settings.left_out.iter().any(|left_out| left_out.is_at(scope_of(who), option))
    }

    /// Takes a value away that was stored and not in force.
    fn forget_left_out(&mut self, who: Who, option: &str) -> Executed {
        self.take_changes()?;
        let scope = scope_of(who);
        self.settings.stored(scope, option);
        self.node.change(self.now, |cluster, fx| cluster.store_setting(scope, option, None, fx));
        let changed = ConfigChanged { level: ValueLevel::Stored, altered: Vec::new() };
        Ok(CommandOutcome::WhenKept(AdminAnswer::Changed(changed)))
    }

    fn check_section(&self, who: Who) -> Result<(), AdminRefusal> {
        match who {
            Who::Osd(osd) => self.known_osd(osd).map(drop),
            Who::Global | Who::Osds => Ok(()),
        }
    }

    /// The OSDs that values are in force on: not one that was removed, whatever its number is kept for.
    fn osds_with_settings(&self) -> impl Iterator<Item = OsdId> {
        let map = self.node.cluster().map();
        self.settings.levels.osds().filter(|osd| !map.is_removed(*osd))
    }

    /// What a change is made at. The run-time level is each OSD's own.
    fn targets(&self, who: Who, level: ValueLevel) -> Vec<LevelTarget> {
        match (level, who) {
            (ValueLevel::Stored, who) => vec![LevelTarget::Stored(scope_of(who))],
            (ValueLevel::Runtime, Who::Osd(osd)) => vec![LevelTarget::RunTime(osd)],
            (ValueLevel::Runtime, _) => {
                self.osds_with_settings().map(LevelTarget::RunTime).collect()
            }
        }
    }

    fn is_set(&self, target: LevelTarget, option: OptionId) -> bool {
        let (osd, wanted) = match target {
            LevelTarget::Stored(Scope::Osd(osd)) => (osd, Origin::Stored(Scope::Osd(osd))),
            LevelTarget::Stored(scope) => (ANY, Origin::Stored(scope)),
            LevelTarget::RunTime(osd) => (osd, Origin::RunTime),
        };
        let rows = self.settings.levels.explain(osd, option).rows;
        rows.iter().any(|row| row.level == wanted && row.value.is_some())
    }

    /// Makes a change on all shards of all OSDs that it concerns at once, and keeps it if it is to be stored.
    fn config_change(
        &mut self,
        who: Who,
        option: &str,
        value: Option<&str>,
        level: ValueLevel,
        change: &SettingsChange,
    ) -> Executed {
        if level == ValueLevel::Stored {
            self.take_changes()?;
        }
        let altered = self.settings.levels.apply(change)?;
        self.configure_osds();
        let (levels, map) = (&self.settings.levels, self.node.cluster().map());
        let altered = altered.iter().filter(|altered| !map.is_removed(altered.osd));
        let altered = altered.map(|altered| AlteredValue {
            osd: altered.osd.get(),
            option: levels.table().at(altered.option).name.to_owned(),
            before: altered.before.to_string(),
            after: altered.after.to_string(),
        });
        let answer = AdminAnswer::Changed(ConfigChanged { level, altered: altered.collect() });
        if level == ValueLevel::Runtime {
            return Ok(CommandOutcome::Now(Ok(answer)));
        }
        let (scope, value) = (scope_of(who), value.map(str::to_owned));
        self.settings.stored(scope, option);
        self.node.change(self.now, |cluster, fx| cluster.store_setting(scope, option, value, fx));
        if let Scope::Osd(osd) = scope
            && option == self.settings.levels.capacity_options(osd).0
        {
            // Whoever sets it knows which drive it is for, and the node does not.
            self.node.change(self.now, |cluster, fx| cluster.note_measured_on(osd, 0, fx));
        }
        Ok(CommandOutcome::WhenKept(answer))
    }
}

fn scope_of(who: Who) -> Scope {
    match who {
        Who::Global => Scope::Global,
        Who::Osds => Scope::Osds,
        Who::Osd(osd) => Scope::Osd(osd),
    }
}

/// The section of a level that somebody can set, as `osd` meets it.
fn section_of(level: Origin, osd: OsdId) -> Option<Who> {
    match level {
        Origin::BuiltIn | Origin::Profile(_) => None,
        Origin::Stored(Scope::Global) => Some(Who::Global),
        Origin::Stored(Scope::Osds) => Some(Who::Osds),
        Origin::Stored(Scope::Osd(_)) | Origin::RunTime => Some(Who::Osd(osd)),
    }
}

/// What holds for a section, without what one OSD has for itself.
fn as_section(found: Explanation, who: Who) -> Explanation {
    let in_section = |level: Origin| match level {
        Origin::BuiltIn | Origin::Stored(Scope::Global) => true,
        Origin::Stored(Scope::Osds) => who == Who::Osds,
        Origin::Profile(_) | Origin::Stored(Scope::Osd(_)) | Origin::RunTime => false,
    };
    let rows: Vec<LevelRow> = found.rows.into_iter().filter(|row| in_section(row.level)).collect();
    let strongest = rows.iter().rev().find_map(|row| Some((row.value?, row.level)));
    let (effective, origin) = strongest.expect("every option has a built-in value");
    Explanation { rows, effective, origin, after_restart: None }
}

impl From<Refused> for AdminRefusal {
    fn from(refused: Refused) -> AdminRefusal {
        let kind = match &refused {
            Refused::UnknownOption(_) | Refused::WithoutEffect(_) | Refused::UnknownOsd(_) => {
                RefusalKind::NotFound
            }
            Refused::NotAValue { .. } | Refused::OutOfRange { .. } => RefusalKind::Bad,
            Refused::AtStartOnly { .. }
            | Refused::ProfileOwns { .. }
            | Refused::GateClosed { .. }
            | Refused::SleepUnderMclock { .. }
            | Refused::LimitTooShort { .. }
            | Refused::NoDriveLimits { .. } => RefusalKind::Conflict,
        };
        AdminRefusal { kind, error: refused.to_string(), wanted: None }
    }
}
