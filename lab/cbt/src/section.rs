//! One map of a test: its values as numbers and words, and a note for each of its keys of which nothing is read.

use crate::CbtError;
use crate::tree::{YamlMap, YamlNode, YamlValue};

/// A value with the line that says it; `None` where nobody does, and CBT's default stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated<T> {
    /// The value.
    pub value: T,
    /// The line, from 1.
    pub line: Option<usize>,
}

impl<T> Stated<T> {
    /// CBT's default.
    pub(crate) fn default_of(value: T) -> Stated<T> {
        Stated { value, line: None }
    }

    /// What follows from it.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Stated<U> {
        Stated { value: change(self.value), line: self.line }
    }
}

/// Something in a test that did not become part of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbtNote {
    /// Why not.
    pub kind: NoteKind,
    /// The line, from 1.
    pub line: usize,
    /// It in one sentence.
    pub text: String,
}

/// Why something was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// CBT has no such key, or a newer CBT than this reader knows.
    Unknown,
    /// It has no counterpart.
    LeftOut,
    /// It concerns CBT's own machinery: hosts, paths, logs.
    Own,
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    Read,
    /// See [`NoteKind::Own`].
    Own,
    /// Nothing, for this reason.
    Left(&'static str),
}

/// A map of a test, with its way from the top: `cluster.pool_profiles.rbd`.
#[derive(Clone, Debug)]
pub(crate) struct CbtSection<'a> {
    pub(crate) path: String,
    pub(crate) line: usize,
    map: &'a YamlMap,
}

impl<'a> CbtSection<'a> {
    pub(crate) fn top(map: &'a YamlMap) -> CbtSection<'a> {
        CbtSection { path: String::new(), line: 1, map }
    }

    /// A note for every key of which nothing is read.
    pub(crate) fn survey(
        &self,
        use_of: impl Fn(&str) -> Option<KeyUse>,
        known: &[&str],
        notes: &mut Vec<CbtNote>,
    ) {
        for (key, _) in self.map {
            let name = self.name_of(&key.name);
            let (kind, text) = match use_of(&key.name) {
                Some(KeyUse::Read) => continue,
                Some(KeyUse::Own) => (NoteKind::Own, format!("`{name}`")),
                Some(KeyUse::Left(why)) => (NoteKind::LeftOut, format!("`{name}`: {why}")),
                None => (NoteKind::Unknown, format!("`{name}`{}", hint(&key.name, known))),
            };
            notes.push(CbtNote { kind, line: key.line, text });
        }
    }

    /// Every key that has a map, with it.
    pub(crate) fn sections(&self) -> Result<Vec<(&'a str, CbtSection<'a>)>, CbtError> {
        let names = self.map.iter().map(|(key, _)| key.name.as_str());
        let found = names.map(|name| Ok((name, self.section(name)?)));
        let found: Result<Vec<_>, CbtError> = found.collect();
        Ok(found?.into_iter().filter_map(|(name, section)| Some((name, section?))).collect())
    }

    /// The map under a key; `None` if nothing is there.
    pub(crate) fn section(&self, key: &str) -> Result<Option<CbtSection<'a>>, CbtError> {
        match self.get(key) {
            None => Ok(None),
            Some(YamlNode { line, value: YamlValue::Map(map) }) => {
                // A map's first key may stand in a later line than its name.
                let line = self.line_of(key).unwrap_or(*line);
                Ok(Some(CbtSection { path: self.name_of(key), line, map }))
            }
            Some(node) => Err(self.refuse(key, node, "a map")),
        }
    }

    /// A whole number.
    pub(crate) fn whole(&self, key: &str) -> Result<Option<Stated<u64>>, CbtError> {
        let Some(node) = self.first(key) else { return Ok(None) };
        let plain = node.text().map(|text| text.replace('_', ""));
        match plain.and_then(|text| text.parse().ok()) {
            Some(value) => Ok(Some(Stated { value, line: Some(node.line) })),
            None => Err(self.refuse(key, node, "a whole number")),
        }
    }

    /// A whole number of at least 1.
    pub(crate) fn count(&self, key: &str, default: u64) -> Result<Stated<u64>, CbtError> {
        match self.whole(key)? {
            None => Ok(Stated::default_of(default)),
            Some(Stated { value: 0, line }) => Err(CbtError::new(
                line.unwrap_or(self.line),
                format!("`{}` must be at least 1", self.name_of(key)),
            )),
            Some(found) => Ok(found),
        }
    }

    /// A word.
    pub(crate) fn word(&self, key: &str) -> Result<Option<Stated<&'a str>>, CbtError> {
        let Some(node) = self.first(key) else { return Ok(None) };
        match node.text() {
            Some(value) => Ok(Some(Stated { value, line: Some(node.line) })),
            None => Err(self.refuse(key, node, "a word")),
        }
    }

    /// Whether something is so, as Python's reader understands it.
    pub(crate) fn is_set(&self, key: &str) -> Result<bool, CbtError> {
        match self.word(key)?.map(|found| found.value.to_lowercase()).as_deref() {
            None | Some("false" | "no" | "off" | "0") => Ok(false),
            Some("true" | "yes" | "on" | "1") => Ok(true),
            Some(_) => {
                let node = self.first(key).expect("it was read");
                Err(self.refuse(key, node, "true or false"))
            }
        }
    }

    /// How many hosts are named: by one word, in a list, or as the keys of a map.
    pub(crate) fn hosts(&self, key: &str) -> Result<Option<Stated<u64>>, CbtError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let value = match &node.value {
            YamlValue::Nothing => 0,
            YamlValue::Text(names) => names.split(',').count(),
            YamlValue::List(names) => names.len(),
            YamlValue::Map(map) => map.len(),
        };
        Ok(Some(Stated { value: value as u64, line: Some(node.line) }))
    }

    /// Values that stand in a list under a key, beside the first: CBT runs each of them.
    pub(crate) fn others(&self, key: &str) -> usize {
        match self.get(key).map(|node| &node.value) {
            Some(YamlValue::List(items)) => items.len().saturating_sub(1),
            _ => 0,
        }
    }

    /// The line of a key.
    pub(crate) fn line_of(&self, key: &str) -> Option<usize> {
        self.map.iter().find(|(found, _)| found.name == key).map(|(found, _)| found.line)
    }

    /// A key with its way from the top.
    pub(crate) fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn get(&self, key: &str) -> Option<&'a YamlNode> {
        let (_, node) = self.map.iter().find(|(found, _)| found.name == key)?;
        (node.value != YamlValue::Nothing).then_some(node)
    }

    /// The value under a key, or the first of a list of them.
    fn first(&self, key: &str) -> Option<&'a YamlNode> {
        match self.get(key)? {
            YamlNode { value: YamlValue::List(items), .. } => items.first(),
            node => Some(node),
        }
    }

    fn refuse(&self, key: &str, node: &YamlNode, wanted: &str) -> CbtError {
        CbtError::new(node.line, format!("`{}` must be {wanted}", self.name_of(key)))
    }
}

/// The known key that was probably meant.
fn hint(typed: &str, known: &[&str]) -> String {
    let mistakes = |name: &&&str| strsim::damerau_levenshtein(typed, name);
    let near = known.iter().filter(|name| mistakes(name) <= (name.len() / 4).max(1));
    near.min_by_key(mistakes).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
