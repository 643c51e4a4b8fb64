//! The checksum at the end of what a study writes to read it again: a figure that was changed there is a figure all the same, and no
//! reader would notice.

use crc32c::crc32c;

/// The last field of the object.
const FIELD: &str = "\"crc32c\"";

/// The text of an object with its checksum as the last field: the CRC-32C of all that stands before that field's comma.
pub(crate) fn sealed(object: &str) -> String {
    let fields = object.strip_suffix('}').expect("an object ends so");
    let covered = fields.trim_end();
    let sum = sum_of(covered);
    match covered.len() == fields.len() {
        true => format!("{covered},{FIELD}:\"{sum}\"}}"),
        false => format!("{covered},\n  {FIELD}: \"{sum}\"\n}}"),
    }
}

/// Whether an object is as it was written. One without a checksum is of a program that wrote none, and is believed.
pub(crate) fn is_as_written(object: &str) -> bool {
    let Some(at) = object.rfind(FIELD) else { return true };
    let sum = object[at + FIELD.len()..].trim_matches(|c: char| ": \"}\n".contains(c));
    let covered = object[..at].trim_end().strip_suffix(',');
    covered.is_some_and(|covered| sum == sum_of(covered))
}

fn sum_of(covered: &str) -> String {
    format!("{:08x}", crc32c(covered.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn no_byte_before_the_checksum_changes_unnoticed() {
        let object = json!({ "setup": "balanced", "counted": { "p50": 1.5, "crc": "\"crc32c\"" } });
        for text in [object.to_string(), serde_json::to_string_pretty(&object).unwrap()] {
            let text = sealed(&text);
            assert!(is_as_written(&text), "{text}");
            let mut read: Value = serde_json::from_str(&text).unwrap();
            assert!(read.as_object_mut().unwrap().remove("crc32c").is_some());
            assert_eq!(read, object);
            let end = text.rfind(FIELD).unwrap();
            for at in 0..end {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                // Space is not told from space before the field.
                let is_space = text[at..end].trim_matches([',', ' ', '\n']).is_empty();
                assert!(is_space || !is_as_written(&changed), "{changed}");
            }
        }
    }

    /// As others write an object again that they have changed.
    #[test]
    fn what_others_wrote_again_is_not_as_it_was_written() {
        let text = sealed(r#"{"version":3,"setups":[1,2]}"#);
        let mut read: Value = serde_json::from_str(&text).unwrap();
        read["setups"] = json!([]);
        assert!(!is_as_written(&read.to_string()));
        assert!(!is_as_written(&serde_json::to_string_pretty(&read).unwrap()));
    }

    #[test]
    fn what_has_no_checksum_is_believed() {
        assert!(is_as_written(r#"{"version":3}"#) && is_as_written("{}"));
    }
}
