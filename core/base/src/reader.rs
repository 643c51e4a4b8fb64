//! What a reader of TOML or JSON says of a text that it cannot use, in words for whoever wrote that. A reader names types of the program,
//! which tell nobody what would be right.

use crate::in_short;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    /// The line, counted from 1, where the reader knows it.
    pub line: Option<usize>,
    /// The field whose value it is about, if it is about one.
    pub field: Option<String>,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl TextFault {
    /// Of a text in TOML: what its reader says, of what begins at this byte.
    ///
    /// ```
    /// use loadline_base::TextFault;
    /// let text = "dir = \"data\"\npgs = \"many\"\n";
    /// let fault = TextFault::of_toml(text, Some(19), "invalid type: string \"many\", expected u32");
    /// assert_eq!(fault.line, Some(2));
    /// assert_eq!(fault.sentence(), "pgs: it takes a whole number from 0 to 4294967295, and not the text \"many\"");
    /// ```
    pub fn of_toml(text: &str, at: Option<usize>, said: &str) -> TextFault {
        let before = at.and_then(|at| text.get(..at));
        TextFault {
            line: before.map(|before| 1 + before.matches('\n').count()),
            field: before.and_then(field_before).map(str::to_owned),
            reason: in_words(said, "a table"),
        }
    }

    /// The reason, behind the field that it is about.
    pub fn sentence(&self) -> String {
        match &self.field {
            Some(field) => format!("{field}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// What a reader of JSON says. It tells the place at the end, which stays there.
///
/// ```
/// use loadline_base::json_in_words;
/// let said = "EOF while parsing an object at line 3 column 0";
/// assert_eq!(json_in_words(said), "it ends within an object: the rest is missing, at line 3 column 0");
/// ```
pub fn json_in_words(said: &str) -> String {
    match said.rsplit_once(" at line ") {
        Some((said, place)) => format!("{}, at line {place}", in_words(said, "an object")),
        None => in_words(said, "an object"),
    }
}

/// The field that a value belongs to which stands behind this: its own, or that of the list or table which begins on the same line.
fn field_before(text: &str) -> Option<&str> {
    let own =
        text.trim_end().strip_suffix('=').and_then(|keys| keys.rsplit(['{', ',', '\n']).next());
    let of_line = || text.rsplit('\n').next()?.split_once('=').map(|(key, _)| key);
    own.or_else(of_line).map(str::trim).filter(|key| !key.is_empty())
}

/// A reader's sentence in words, in which fields together are called as the format calls them.
fn in_words(said: &str, fields: &str) -> String {
    let wrong =
        said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    if let Some((found, wanted)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) {
        return format!(
            "it takes {}, and not {}",
            wanted_in_words(wanted, fields),
            found_in_words(found, fields)
        );
    }
    let short = said.strip_prefix("invalid length ");
    if let Some((entries, wanted)) = short.and_then(|short| short.split_once(", expected ")) {
        return format!(
            "it takes {}, and has {entries} of its parts",
            wanted_in_words(wanted, fields)
        );
    }
    if let Some(word) = said.strip_prefix("unknown variant ") {
        return format!("unknown word {word}");
    }
    if said.starts_with("data did not match any variant") {
        return "it is nothing that can stand here".to_owned();
    }
    let cut = |within: &str| format!("it ends within {within}: the rest is missing");
    match said {
        "EOF while parsing a list" => cut("a list"),
        "EOF while parsing an object" => cut("an object"),
        "EOF while parsing a string" => cut("a text"),
        "EOF while parsing a value" => "it ends where a value is needed".to_owned(),
        "expected value" | "expected ident" => "what stands there is no value".to_owned(),
        "trailing characters" => "more stands behind its end".to_owned(),
        "trailing comma" => "nothing stands behind the last comma".to_owned(),
        "key must be a string" => "a field's name stands in quotes".to_owned(),
        "recursion limit exceeded" => "it is nested too deeply".to_owned(),
        "integer number overflowed"
        | "floating-point number overflowed"
        | "number out of range" => "this number is too large".to_owned(),
        other => other.to_owned(),
    }
}

/// What a reader has found.
fn found_in_words(found: &str, fields: &str) -> String {
    // A number that fits none of the reader's own types is told with the largest of them.
    let found =
        found.strip_suffix(" as i128").or_else(|| found.strip_suffix(" as u128")).unwrap_or(found);
    match found {
        "map" => return fields.to_owned(),
        "sequence" => return "a list".to_owned(),
        "unit value" => return "nothing".to_owned(),
        _ => {}
    }
    for kind in ["integer ", "floating point ", "boolean ", "character "] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.to_owned();
        }
    }
    match found.strip_prefix("string ") {
        Some(text) => format!("the text {}", in_short(text)),
        None => found.to_owned(),
    }
}

/// What a reader needs: a type's name, or words that a type has of its own.
fn wanted_in_words(wanted: &str, fields: &str) -> String {
    let counted = |least: u8, most: u64| format!("a whole number from {least} to {most}");
    let words = match wanted {
        "u8" => return counted(0, u8::MAX.into()),
        "u16" => return counted(0, u16::MAX.into()),
        "u32" => return counted(0, u32::MAX.into()),
        "u64" | "u128" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a string" | "string" | "str" | "a borrowed string" => "a text",
        "path string" | "a borrowed path" => "a path",
        "a sequence" | "sequence" | "an array" | "array" | "set" => "a list",
        "option" | "any valid JSON value" | "any value" => "a value",
        "unit" => "nothing",
        "a map" | "map" => fields,
        _ if wanted.starts_with("a nonzero ") => "a whole number other than 0",
        _ if wanted.starts_with("tuple ") || wanted.starts_with("a tuple ") => "a list",
        _ if wanted.starts_with("struct ") || wanted.contains("ly tagged enum ") => fields,
        _ if wanted.starts_with("enum ") || wanted.starts_with("variant ") => "a word",
        "string or table" | "string or map" => "a word",
        other => other,
    };
    match wanted.split_once("an array of length ") {
        Some(("", entries)) => format!("a list of {entries}"),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever wrote a file was told of `struct OsdTyped`, of `u32` and of a `path string`.
    #[test]
    fn no_type_of_the_program_is_named() {
        let check = |said: &str, words: &str| {
            assert_eq!(TextFault::of_toml("", None, said).reason, words);
        };
        check(
            "invalid type: integer `5`, expected struct OsdTyped",
            "it takes a table, and not `5`",
        );
        check("invalid type: map, expected a sequence", "it takes a list, and not a table");
        check(
            "invalid type: boolean `true`, expected path string",
            "it takes a path, and not `true`",
        );
        let most = "it takes a whole number from 0 to 4294967295, and not";
        check("invalid value: integer `-1`, expected u32", &format!("{most} `-1`"));
        let beyond = "invalid type: integer `99999999999999999999` as i128, expected u32";
        check(beyond, &format!("{most} `99999999999999999999`"));
        check(
            "invalid length 0, expected struct Form with 1 element",
            "it takes a table, and has 0 of its parts",
        );
        check(
            "invalid length 3, expected an array of length 2",
            "it takes a list of 2, and has 3 of its parts",
        );
        check("unknown variant `x`, expected `a` or `b`", "unknown word `x`, expected `a` or `b`");
        check(
            "data did not match any variant of untagged enum Size",
            "it is nothing that can stand here",
        );
        let long = format!("invalid type: string \"{}\", expected f64", "n".repeat(5000));
        assert!(TextFault::of_toml("", None, &long).reason.len() < 200);
        for own in ["unknown field `x`, expected `y`", "`x` is not understood: expected a size", ""]
        {
            check(own, own);
        }
    }

    #[test]
    fn json_is_told_with_its_place() {
        let check = |said: &str, words: &str| assert_eq!(json_in_words(said), words);
        check(
            "expected value at line 1 column 2",
            "what stands there is no value, at line 1 column 2",
        );
        check(
            "EOF while parsing a value at line 1 column 0",
            "it ends where a value is needed, at line 1 column 0",
        );
        check(
            "invalid type: null, expected struct Head at line 1 column 4",
            "it takes an object, and not null, at line 1 column 4",
        );
        check("missing field `form`", "missing field `form`");
    }

    #[test]
    fn the_field_is_the_value_s_or_its_line_s() {
        let check = |before: &str, field: Option<&str>| {
            assert_eq!(field_before(before), field, "{before:?}");
        };
        check("a = 1\npgs = ", Some("pgs"));
        check("osds = [{ path = \"a\", size = ", Some("size"));
        check("osds = [", Some("osds"));
        check("tls = { key = \"k\", ", Some("tls"));
        check("osds = [\n    ", None);
        check("nbd.tcp=", Some("nbd.tcp"));
        check("dir = \"data\"\n", None);
        check("", None);
    }
}
