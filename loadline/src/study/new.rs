//! `loadline study new`: a study file to begin with.

use crate::cli::NewArgs;
use crate::failure::Failure;
use crate::show;
use loadline_study::{InputError, Library, Shelf};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(super) fn carry_out(args: &NewArgs) -> Result<(), Failure> {
    let name = args.name.strip_suffix(".toml").unwrap_or(&args.name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with(['-', '.']) || !name.chars().all(is_plain) {
        let reason =
            "a study's name is made of letters, digits, `-`, `_` and `.`; its file is written here";
        return Err(InputError::new(args.name.clone(), reason).into());
    }
    if Library::built_in().names(Shelf::Studies).iter().any(|own| own == name) {
        let reason = format!(
            "a study of this name is there already: see `loadline study show {name}`, or take another name"
        );
        return Err(InputError::new(name, reason).into());
    }
    let file = format!("{name}.toml");
    let path = Path::new(&file);
    let text = args.kind.kind().new_file(name);
    write_new(path, text.as_bytes())?;
    if args.json.json {
        return show::json(&json!({ "file": file }));
    }
    show::text(&format!(
        "{file} is written: a study as it stands, with a comment on every field (docs/study-file.md tells all of them).\n\n  \
         loadline study run {file} --quick\n"
    ))
}

/// Writes a study file that is not there yet.
pub(super) fn write_new(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut made| made.write_all(text));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => InputError::new(
            path.display().to_string(),
            "is there already, and is left as it is: take another name",
        )
        .into(),
        _ => Failure::unwritable(path, &error),
    })
}
