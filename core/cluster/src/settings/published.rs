//! Our levels as Ceph's commands would show them (qos.md 7.1).

use super::change::Origin;
use super::{OptionId, Settings, Value};
use loadline_osd::OsdId;

/// Ceph's levels, as far as an OSD uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedSource {
    /// Compiled in, or written over by the profile.
    Default,
    /// The monitors' store.
    Mon,
    /// Set on the running OSD.
    Override,
}

/// One option of one OSD in Ceph's terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedView {
    /// Level *default*: the profile's value where it has one, else the compiled-in one.
    pub default: Value,
    /// Level *mon*: what the store resolves to for this OSD.
    pub mon: Option<Value>,
    /// Level *override*.
    pub override_level: Option<Value>,
    /// The answer of `config get`, which knows the store and the compiled-in value only.
    pub config_get: Value,
    /// The answer of `config show`: the running value.
    pub config_show: (Value, PublishedSource),
}

impl Settings {
    /// An option as Ceph's commands would show it.
    pub fn as_published(&self, osd: OsdId, option: OptionId) -> PublishedView {
        let view = self.view();
        let compiled = self.table().at(option).default;
        let layers = self.levels.set_layers(osd);
        let [run_time, stored @ ..] = &layers;
        let mon = stored.iter().find_map(|(_, layer)| layer.get(&option).copied());
        let (effective, origin) = view.effective(osd, option);
        let source = match origin {
            Origin::BuiltIn | Origin::Profile(_) => PublishedSource::Default,
            Origin::Stored(_) => PublishedSource::Mon,
            Origin::RunTime => PublishedSource::Override,
        };
        PublishedView {
            default: view.profile_value(osd, option).unwrap_or(compiled),
            mon,
            override_level: run_time.1.get(&option).copied(),
            config_get: mon.unwrap_or(compiled),
            config_show: (effective, source),
        }
    }
}
