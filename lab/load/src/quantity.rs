//! Quantities that a file writes as text with their unit: `"4 KiB"`, `"300 s"`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Reads a quantity from its text; for `#[serde(deserialize_with = "...")]`.
///
/// # Errors
/// If the text is not such a quantity; the message says what would be right.
pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: fmt::Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| D::Error::custom(format!("`{text}` is not understood: {error}")))
}

/// The same where a file may leave it out.
///
/// # Errors
/// As [`deserialize`].
pub fn some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: fmt::Display,
{
    deserialize(deserializer).map(Some)
}
