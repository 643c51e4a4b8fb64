//! `--set key=value`: a study's own figures, or an option of every OSD, changed for one run.

use crate::input::{InputError, hint};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One `--set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// What is set.
    pub key: String,
    /// To what.
    pub value: String,
}

/// A figure of a study that `--set` can change.
pub struct StudyKey<F> {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    set: fn(&mut F, &str) -> Result<(), String>,
}

pub(crate) const fn key<F>(
    name: &'static str,
    doc: &'static str,
    set: fn(&mut F, &str) -> Result<(), String>,
) -> StudyKey<F> {
    StudyKey { name, doc, set }
}

pub(crate) fn put<T: FromStr<Err: fmt::Display>>(into: &mut T, text: &str) -> Result<(), String> {
    *into = parse(text)?;
    Ok(())
}

/// The same of what a file may leave out.
pub(crate) fn put_some<T: FromStr<Err: fmt::Display>>(
    into: &mut Option<T>,
    text: &str,
) -> Result<(), String> {
    *into = Some(parse(text)?);
    Ok(())
}

/// The name of another file; its place in the text is nowhere.
pub(crate) fn put_name(into: &mut toml::Spanned<String>, text: &str) -> Result<(), String> {
    *into = toml::Spanned::new(0..0, text.to_owned());
    Ok(())
}

pub(crate) fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| in_words(text, &error.to_string()))
}

/// What the reader of a number says, in a sentence for who typed it; what others say stays.
fn in_words(typed: &str, problem: &str) -> String {
    match problem {
        "invalid digit found in string" => format!("`{typed}` is no whole number such as `10`"),
        "invalid float literal" => format!("`{typed}` is no number such as `0.5`"),
        _ if problem.starts_with("number too large") => {
            format!("`{typed}` is too large")
        }
        _ => problem.to_owned(),
    }
}

impl Override {
    /// Whether this sets an option of the OSDs, by the prefix that all of them have.
    pub(crate) fn is_option(&self) -> bool {
        self.key.starts_with("osd_") || self.key.starts_with("bluestore_")
    }
}

/// Reads `key=value`.
impl FromStr for Override {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Override, InputError> {
        let wanted =
            "takes key=value, for example --set scale=0.1 or --set osd_op_num_shards_ssd=4";
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok(Override { key: key.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(InputError::new(format!("--set {text}"), wanted)),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--set {}={}", self.key, self.value)
    }
}

/// Puts the study's own figures into the file.
pub(crate) fn apply_overrides<'a, F>(
    file: &mut F,
    keys: &[StudyKey<F>],
    has: (&str, &str),
    overrides: impl IntoIterator<Item = &'a Override>,
) -> Result<(), InputError> {
    for change in overrides {
        let Some(key) = keys.iter().find(|key| key.name == change.key) else {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            let hint = hint(&change.key, names.iter().copied());
            let (study_has, further) = has;
            let names = names.join(", ");
            let reason = format!("there is no such figure; {study_has} {names}{further}{hint}");
            return Err(InputError::new(change.to_string(), reason));
        };
        (key.set)(file, &change.value)
            .map_err(|problem| InputError::new(change.to_string(), problem))?;
    }
    Ok(())
}

/// Less than this of the published work is not one object of any study.
const SCALE_MIN: f64 = 1e-6;

/// The scale that the overrides ask for; the last one counts.
///
/// # Errors
/// [`InputError`] if it is not a number.
pub(crate) fn scale_of(overrides: &[Override]) -> Result<Option<f64>, InputError> {
    let Some(change) = overrides.iter().rfind(|change| change.key == "scale") else {
        return Ok(None);
    };
    let wanted = "`scale` must be a number from 0.000001 to 10";
    let scale: f64 =
        change.value.parse().map_err(|_| InputError::new(change.to_string(), wanted))?;
    let sensible = (SCALE_MIN..=10.0).contains(&scale);
    if sensible { Ok(Some(scale)) } else { Err(InputError::new(change.to_string(), wanted)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_scale_counts_and_is_from_a_millionth_to_10() {
        let scale = |typed: &[&str]| {
            let overrides: Vec<Override> = typed.iter().map(|text| text.parse().unwrap()).collect();
            scale_of(&overrides).map_err(|error| error.to_string())
        };
        assert_eq!(scale(&["osds=5"]), Ok(None));
        assert_eq!(scale(&["scale=0.5", "osds=5", "scale=10"]), Ok(Some(10.0)));
        for wrong in ["scale=0", "scale=1e-300", "scale=10.5", "scale=nan", "scale=much"] {
            let error = scale(&[wrong]).expect_err(wrong);
            assert!(error.contains("from 0.000001 to 10"), "{error}");
        }
    }

    /// "invalid digit found in string" is the language's word, and names nothing that was typed.
    #[test]
    fn what_is_no_number_is_told_as_it_was_typed() {
        let told = |text: &str| parse::<u32>(text).unwrap_err();
        assert_eq!(told("1.5"), "`1.5` is no whole number such as `10`");
        assert!(told("99999999999").starts_with("`99999999999` is too large"));
        assert_eq!(parse::<f64>("much").unwrap_err(), "`much` is no number such as `0.5`");
        assert_eq!(parse::<u32>("7"), Ok(7));
    }
}
