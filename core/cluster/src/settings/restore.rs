//! Stored values that come back with a start. They were allowed when somebody stored them, and most rules are about that
//! moment: a value outlives a profile switch, and a restart. What the present drive or preset cannot do is left out and told,
//! since an operator can only mend it while the node runs.

use super::change::{LevelTarget, Scope, SettingEdit};
use super::levels::Levels;
use super::option::Role;
use super::refused::Refused;
use super::rules::{RuleViolation, covered, sleeps_under_mclock, unfit_limit};
use super::{OptionId, Settings};

/// A stored value that is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Where it is stored.
    pub scope: Scope,
    /// The option.
    pub option: String,
    /// Its value as text.
    pub value: String,
    /// Why it cannot stand.
    pub why: Refused,
}

impl LeftOut {
    /// Whether this is where it is stored.
    pub fn is_at(&self, scope: Scope, option: &str) -> bool {
        self.scope == scope && self.option == option
    }
}

/// A stored value and where its text came from.
struct RestoredValue {
    scope: Scope,
    option: OptionId,
    text: String,
}

impl Settings {
    /// Takes what was stored before this start. Answers what of it is left out. Every OSD is to be
    /// [started](Settings::start) then.
    pub fn restore<'a>(
        &mut self,
        stored: impl IntoIterator<Item = (Scope, &'a str, &'a str)>,
    ) -> Vec<LeftOut> {
        let mut next = self.levels.clone();
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for (scope, name, text) in stored {
            let target = LevelTarget::Stored(scope);
            let edit =
                SettingEdit { target, option: name.to_owned(), value: Some(text.to_owned()) };
            match self.parse(&edit) {
                Ok((target, option, value)) => {
                    next.layer_mut(target).extend(value.map(|value| (option, value)));
                    taken.push(RestoredValue { scope, option, text: text.to_owned() });
                }
                Err(why) => left_out.push(LeftOut {
                    scope,
                    option: name.to_owned(),
                    value: text.to_owned(),
                    why,
                }),
            }
        }
        for (_, osd) in next.each.iter_mut() {
            osd.started = None;
        }
        self.follow_profiles(&mut next);
        for restored in taken {
            if let Some(why) = self.cannot_stand(&next, &restored) {
                let RestoredValue { scope, option, text } = restored;
                next.layer_mut(LevelTarget::Stored(scope)).remove(&option);
                let option = self.table.at(option).name.to_owned();
                left_out.push(LeftOut { scope, option, value: text, why });
            }
        }
        self.replace(next);
        left_out
    }

    /// Why a stored value can do nothing on the OSDs that it is meant for, if that is so.
    fn cannot_stand(&self, levels: &Levels, restored: &RestoredValue) -> Option<Refused> {
        let view = self.view_of(levels);
        let RestoredValue { scope, option, .. } = restored;
        let mut concerned = covered(view, LevelTarget::Stored(*scope)).into_iter();
        let value = *levels.layer(*scope).get(option)?;
        match view.table.at(*option).role {
            Role::DeviceLimit => concerned.find_map(|osd| unfit_limit(view, osd, *option, value)),
            Role::Sleep => concerned
                .flat_map(|osd| sleeps_under_mclock(view, osd))
                .find(|violation| violation.option == *option)
                .map(|RuleViolation { refused, .. }| refused),
            _ => None,
        }
    }
}
