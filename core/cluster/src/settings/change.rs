//! What an operator asks for, and what comes of it.

use super::option::OptionId;
use super::value::Value;
use loadline_osd::OsdId;
use std::fmt;

/// For which OSDs a stored value holds; the more specific wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Everything.
    Global,
    /// Every OSD.
    Osds,
    /// One OSD.
    Osd(OsdId),
}

/// A level that can be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelTarget {
    /// Persistent.
    Stored(Scope),
    /// In force on one OSD until it restarts.
    RunTime(OsdId),
}

/// One edit of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingEdit {
    /// At which level.
    pub target: LevelTarget,
    /// The option's name.
    pub option: String,
    /// The new value as text, or `None` to remove it.
    pub value: Option<String>,
}

/// Edits that take effect together or not at all. Rules are checked against the outcome, so a change may switch to
/// the custom profile and set its parameters at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// The edits, in order.
    pub edits: Vec<SettingEdit>,
}

impl SettingsChange {
    /// A change that sets one option.
    pub fn set(target: LevelTarget, option: &str, value: &str) -> SettingsChange {
        SettingsChange::default().and_set(target, option, value)
    }

    /// A change that removes one option from a level.
    pub fn remove(target: LevelTarget, option: &str) -> SettingsChange {
        SettingsChange::default().and_remove(target, option)
    }

    /// The change, and one option set.
    pub fn and_set(mut self, target: LevelTarget, option: &str, value: &str) -> SettingsChange {
        let (option, value) = (option.to_owned(), Some(value.to_owned()));
        self.edits.push(SettingEdit { target, option, value });
        self
    }

    /// The change, and one option removed.
    pub fn and_remove(mut self, target: LevelTarget, option: &str) -> SettingsChange {
        self.edits.push(SettingEdit { target, option: option.to_owned(), value: None });
        self
    }
}

/// Where an effective value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Compiled in.
    BuiltIn,
    /// This profile; what it sets beside its nine parameters included.
    Profile(&'static str),
    /// The store.
    Stored(Scope),
    /// The running OSD.
    RunTime,
}

/// An effective value that a change altered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Altered {
    /// On which OSD.
    pub osd: OsdId,
    /// Which option.
    pub option: OptionId,
    /// What was in force.
    pub before: Value,
    /// What is in force now.
    pub after: Value,
    /// Where it comes from now.
    pub origin: Origin,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Global => f.write_str("global"),
            Scope::Osds => f.write_str("osd"),
            Scope::Osd(osd) => osd.fmt(f),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built-in"),
            Origin::Profile(name) => write!(f, "profile {name}"),
            Origin::Stored(scope) => write!(f, "stored for {scope}"),
            Origin::RunTime => f.write_str("run-time"),
        }
    }
}
