//! `loadline study new`: a study file to begin with.

use crate::cli::NewArgs;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_study::{InputError, Library, Shelf};
use serde_json::json;
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
    writable::write(path, &text)?;
    if args.json.json {
        return show::json(&json!({ "file": file }));
    }
    show::text(&format!(
        "{file} is written: a study as it stands, with a comment on every field (docs/study-file.md tells all of them).\n\n  \
         loadline study run {file} --quick\n"
    ))
}
