//! Values as Ceph's releases write them: numbers as text, text as numbers, nothing at all. What is not understood counts as absent,
//! because a field that one release lacks must not hide what the others say.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A number, or a text that is one; anything else is 0.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => number.as_f64().unwrap_or(0.0),
        Value::String(text) => text.trim().parse().unwrap_or(0.0),
        Value::Bool(flag) => f64::from(u8::from(flag)),
        _ => 0.0,
    })
}

/// A whole number that is not negative, or a text that is one; anything else is 0.
pub(crate) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let found = number(from)?;
    // Nothing here has more than 2^53 of anything; `as` ends at the bounds.
    Ok(found as u64)
}

/// A text, or what a number or a flag looks like; anything else is empty.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => String::new(),
    })
}

/// A flag as true, 1 or "1".
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Bool(flag) => flag,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => ["1", "true", "yes"].contains(&text.as_str()),
        _ => false,
    })
}
