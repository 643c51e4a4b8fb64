//! A lane as it was read back after a restart.

use super::model::{Contents, ModelObject, Values};
use loadline_store::paged::ObjectId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was read. Where reading ended with an error that a fault excuses, nothing is claimed.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovered {
    /// All keys.
    pub(super) keys: Option<Values>,
    /// All objects there are, those with `None` not readable.
    pub(super) objects: Option<BTreeMap<ObjectId, Option<ModelObject>>>,
}

impl Recovered {
    /// Whether everything could be read.
    pub(super) fn is_whole(&self) -> bool {
        let whole = |objects: &BTreeMap<ObjectId, Option<ModelObject>>| {
            objects.values().all(Option::is_some)
        };
        self.keys.is_some() && self.objects.as_ref().is_some_and(whole)
    }

    /// A key's value; the outer `None` if keys were not readable.
    pub(super) fn key(&self, key: &[u8]) -> Option<Option<&Arc<[u8]>>> {
        self.keys.as_ref().map(|keys| keys.get(key))
    }

    /// Whether one key is as in `state`, as far as it is known.
    pub(super) fn agrees_in(&self, key: &[u8], state: &Contents) -> bool {
        self.key(key).is_none_or(|value| value == state.keys.get(key))
    }

    /// Whether everything is as in `state`, as far as it is known.
    pub(super) fn agrees(&self, state: &Contents) -> bool {
        let keys = self.keys.as_ref().is_none_or(|keys| *keys == state.keys);
        keys && self.objects.as_ref().is_none_or(|objects| {
            objects.keys().eq(state.objects.keys())
                && objects
                    .iter()
                    .all(|(id, object)| object.as_ref().is_none_or(|o| *o == state.objects[id]))
        })
    }

    /// What is first found to be different from `state`, in words.
    pub(super) fn difference(&self, state: &Contents) -> String {
        let in_keys = self.keys.as_ref().and_then(|keys| different_key(keys, &state.keys));
        in_keys.or_else(|| self.different_object(state)).unwrap_or("no difference".to_owned())
    }

    fn different_object(&self, state: &Contents) -> Option<String> {
        let found = self.objects.as_ref()?;
        if let Some(id) = state.objects.keys().find(|id| !found.contains_key(id)) {
            return Some(format!("{id:?} is missing"));
        }
        found.iter().find_map(|(id, object)| {
            let Some(wanted) = state.objects.get(id) else {
                return Some(format!("{id:?} should not exist"));
            };
            let object = object.as_ref().filter(|object| *object != wanted)?;
            Some(format!("{id:?}: {}", different_part(object, wanted)))
        })
    }
}

fn different_key(found: &Values, wanted: &Values) -> Option<String> {
    let mut names = found.keys().chain(wanted.keys());
    let name = names.find(|name| found.get(*name) != wanted.get(*name))?;
    let short = |values: &Values| match values.get(name) {
        Some(value) => format!("{} bytes {:?}", value.len(), &value[..value.len().min(12)]),
        None => "nothing".to_owned(),
    };
    let name = String::from_utf8_lossy(name);
    Some(format!("{name} is {}, should be {}", short(found), short(wanted)))
}

fn different_part(found: &ModelObject, wanted: &ModelObject) -> String {
    if found.meta != wanted.meta {
        return format!("it is {:?}, should be {:?}", found.meta, wanted.meta);
    }
    if let Some(text) = different_key(&found.attributes, &wanted.attributes) {
        return format!("attribute {text}");
    }
    let (found, wanted) = (found.read(0, u64::MAX), wanted.read(0, u64::MAX));
    let mut pairs = found.iter().zip(&wanted);
    match pairs.position(|(a, b)| a != b) {
        Some(at) => format!("byte {at} is {}, should be {}", found[at], wanted[at]),
        None => format!("it has {} bytes, should have {}", found.len(), wanted.len()),
    }
}
