//! What readers of TOML and JSON say, in the words of who wrote the file: theirs are those of the program's own types.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// What a reader wanted, by its name in the program and in words.
const WANTED: [(&str, &str); 15] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number of at least 0"),
    ("usize", "a whole number of at least 0"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "`true` or `false`"),
    ("a string", "text"),
    ("a borrowed string", "text"),
    ("path string", "a path"),
    ("a sequence", "a list"),
    ("a map", "a table"),
];

/// What it found, in the same way; mostly the value stands behind it.
const FOUND: [(&str, &str); 6] = [
    ("integer ", "the number "),
    ("floating point ", "the number "),
    ("string ", "the text "),
    ("boolean ", ""),
    ("sequence", "a list"),
    ("map", "a table"),
];

/// A reader's sentence without the names of types, and with the line, where it has one, in front.
pub fn in_plain_words(said: &str) -> String {
    match in_line(said) {
        Some((line, said)) => format!("line {line}: {}", without_types(said)),
        None => without_types(said),
    }
}

/// A sentence of the JSON reader, and the line that it ends with.
fn in_line(said: &str) -> Option<(u64, &str)> {
    let (said, place) = said.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    column.parse::<u64>().ok()?;
    Some((line.parse().ok()?, said))
}

fn without_types(said: &str) -> String {
    if said.starts_with("EOF while parsing") {
        return "it ends before it is whole".to_owned();
    }
    let mut kinds = ["invalid type: ", "invalid value: "].into_iter();
    let unfit = kinds.find_map(|kind| said.strip_prefix(kind)?.rsplit_once(", expected "));
    if let Some((found, wanted)) = unfit {
        return format!(
            "{} stands where {} is needed",
            found_in_words(found),
            wanted_in_words(wanted)
        );
    }
    let of_length =
        said.strip_prefix("invalid length ").and_then(|of| of.split_once(", expected "));
    match of_length {
        Some((length, wanted)) => {
            format!("a list of {length} stands where {} is needed", wanted_in_words(wanted))
        }
        None => said.to_owned(),
    }
}

fn wanted_in_words(wanted: &str) -> String {
    if wanted.starts_with("struct ") {
        return "a table".to_owned();
    }
    if let Some(values) = wanted.strip_prefix("a tuple of size ") {
        return format!("a list of {values}");
    }
    WANTED.iter().find(|(name, _)| *name == wanted).map_or(wanted, |(_, words)| words).to_owned()
}

fn found_in_words(found: &str) -> String {
    // A number that no type of the program holds is told with one that would hold it.
    let found = found.strip_suffix(" as i128").or(found.strip_suffix(" as u128")).unwrap_or(found);
    let named = FOUND.iter().find_map(|(name, words)| Some((found.strip_prefix(name)?, words)));
    named.map_or_else(|| found.to_owned(), |(value, words)| format!("{words}{value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_type_of_the_program_is_named() {
        for (said, words) in [
            (
                "invalid type: string \"four\", expected u32",
                "the text \"four\" stands where a whole number from 0 to 4294967295 is needed",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "the number `-1` stands where a whole number from 0 to 4294967295 is needed",
            ),
            (
                "invalid type: integer `99999999999999999999` as i128, expected u64",
                "the number `99999999999999999999` stands where a whole number of at least 0 is needed",
            ),
            (
                "invalid type: string \"a\", expected a sequence",
                "the text \"a\" stands where a list is needed",
            ),
            (
                "invalid type: boolean `true`, expected path string",
                "`true` stands where a path is needed",
            ),
            ("invalid type: map, expected a string", "a table stands where text is needed"),
            (
                "invalid length 3, expected a tuple of size 2",
                "a list of 3 stands where a list of 2 is needed",
            ),
            (
                "invalid length 0, expected struct Form with 1 element at line 1 column 2",
                "line 1: a list of 0 stands where a table is needed",
            ),
            (
                "EOF while parsing an object at line 30 column 11",
                "line 30: it ends before it is whole",
            ),
            (
                "invalid type: string \"x, expected y at line 3 column 4\", expected f64",
                "the text \"x, expected y at line 3 column 4\" stands where a number is needed",
            ),
            ("missing field `title`", "missing field `title`"),
        ] {
            assert_eq!(in_plain_words(said), words);
        }
    }
}
