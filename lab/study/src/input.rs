//! Texts that a study is built from, and what is said when one of them cannot be used.

use loadline_base::{TextFault, in_short};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A file's text with the name that errors give it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What the file is called in a study: its name without folder and ending.
    pub name: String,
    /// Where it was found: a path, or `built-in`'s path.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// An input that cannot be used: a file, or something typed on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, or what stands for it, such as `--set`; empty where the reason names what was typed.
    pub place: String,
    /// The line, counted from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl InputError {
    /// An error about a place without lines.
    pub fn new(place: impl Into<String>, reason: impl Into<String>) -> InputError {
        InputError { place: place.into(), line: None, reason: reason.into() }
    }

    /// An error about a name that was typed, which the reason repeats.
    pub(crate) fn of_name(reason: String) -> InputError {
        InputError::new("", reason)
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.reason),
            None if self.place.is_empty() => f.write_str(&self.reason),
            None => write!(f, "{}: {}", self.place, self.reason),
        }
    }
}

impl std::error::Error for InputError {}

impl Source {
    /// An error at a byte of the text.
    pub(crate) fn error_at(&self, byte: usize, reason: impl Into<String>) -> InputError {
        let line = self.text[..byte.min(self.text.len())].matches('\n').count() + 1;
        InputError { place: self.file.clone(), line: Some(line), reason: reason.into() }
    }

    /// An error at the line that sets `field`, if one does.
    pub(crate) fn error_in(&self, field: &str, reason: impl Into<String>) -> InputError {
        self.error_from(0, field, reason)
    }

    /// An error at the line that sets `field` in the table `[section]`, if one does.
    pub(crate) fn error_under(
        &self,
        section: &str,
        field: &str,
        reason: impl Into<String>,
    ) -> InputError {
        let begins = |line: &str| line.trim_start().starts_with(&format!("[{section}]"));
        let first = self.text.lines().position(begins).unwrap_or(0);
        self.error_from(first, field, reason)
    }

    fn error_from(&self, first: usize, field: &str, reason: impl Into<String>) -> InputError {
        let sets = |line: &str| {
            let rest = line.trim_start().strip_prefix(field);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        let line = self.text.lines().skip(first).position(sets).map(|index| first + index + 1);
        InputError { place: self.file.clone(), line, reason: reason.into() }
    }

    /// What the TOML reader says, with the nearest right name where it knows the right ones.
    pub(crate) fn toml_error(&self, error: &toml::de::Error) -> InputError {
        let at = error.span().map_or(0, |span| span.start);
        let mut fault = TextFault::of_toml(&self.text, Some(at), error.message());
        fault.reason = with_hint(&fault.reason);
        self.error_at(at, fault.sentence())
    }
}

/// The name among `known` that `typed` was probably meant to be: the one that the fewest typing mistakes lead
/// to, if they spoil at most a third of it.
fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mistakes = |name: &&str| strsim::damerau_levenshtein(typed, name);
    let few = |name: &&str| mistakes(name) <= (name.len() / 3).max(1);
    known.into_iter().filter(few).min_by_key(mistakes)
}

/// "; did you mean `x`?", for the end of a sentence that refuses what was typed; nothing where no name is near, and of a name that is known: something else is refused then.
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let meant = nearest(typed, known).filter(|name| *name != typed);
    meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// So many names are listed at most, which are some lines of a terminal.
const KNOWN_MOST: usize = 40;

/// "there is no drive `x`; the drives are a, b; did you mean a?"
pub fn unknown<'a>(
    what: &str,
    typed: &str,
    known: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> String {
    let known = known.into_iter();
    let listed: Vec<&str> = known.clone().collect();
    let hint = hint(typed, known);
    let typed = in_short(typed);
    match listed.len() {
        0 => format!("there is no {what} `{typed}`"),
        1..=KNOWN_MOST => {
            format!("there is no {what} `{typed}`: known are {}{hint}", listed.join(", "))
        }
        _ => format!("there is no {what} `{typed}`{hint}"),
    }
}

/// A reader's "unknown field `x`, expected one of `a`, `b`" with the nearest of the names at its end.
fn with_hint(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((typed, known)) if message.starts_with("unknown") => {
            format!("{message}{}", hint(typed, known.iter().copied()))
        }
        _ => message.to_owned(),
    }
}

/// A 64-bit FNV-1a hash of the parts, each with its length, as 16 hexadecimal digits: names what a run was
/// computed from. It tells inputs apart that differ by accident, not by malice.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    for part in parts {
        (part.len() as u64).to_le_bytes().into_iter().for_each(&mut add);
        part.bytes().for_each(&mut add);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        let known = ["high_client_ops", "balanced", "high_recovery_ops"];
        assert_eq!(nearest("high_clients_ops", known), Some("high_client_ops"));
        assert_eq!(nearest("balance", known), Some("balanced"));
        assert_eq!(nearest("zfs", known), None);
        assert_eq!(
            unknown("profile", "balnced", known),
            "there is no profile `balnced`: known are high_client_ops, balanced, high_recovery_ops; \
             did you mean `balanced`?"
        );
        assert_eq!(
            with_hint("unknown field `titel`, expected one of `title`, `kind`"),
            "unknown field `titel`, expected one of `title`, `kind`; did you mean `title`?"
        );
        assert_eq!(with_hint("missing field `title`"), "missing field `title`");
    }

    #[test]
    fn fingerprints_tell_parts_apart() {
        assert_eq!(fingerprint(&["ab", "c"]), fingerprint(&["ab", "c"]));
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    }
}
