//! `loadline study import`: a study file of a test of the Ceph Benchmarking Tool.

use crate::cli::ImportArgs;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_study::{CbtImport, ImportNote, ImportedStudy, InputError, Library, NoteKind};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) fn carry_out(args: &ImportArgs, library: &Library) -> Result<(), Failure> {
    let test = Library::foreign(&args.test)?;
    let confs = args.conf.iter().map(|path| Library::foreign(path));
    let confs = confs.collect::<Result<Vec<_>, InputError>>()?;
    let import = CbtImport {
        test: &test,
        confs: &confs,
        preset: args.preset.as_deref(),
        drive: &args.drive,
    };
    let made = import.study(library)?;
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", test.name)));
    writable::write(&path, &made.text)?;
    let file = path.display().to_string();
    match args.json.json {
        true => show::json(&in_json(&file, &made)),
        false => show::text(&in_words(&file, &made)),
    }
}

fn in_json(file: &str, made: &ImportedStudy) -> Value {
    let of = |kind: NoteKind| {
        let notes = made.notes.iter().filter(move |note| note.kind == kind);
        let note =
            |note: &ImportNote| json!({ "file": note.file, "line": note.line, "text": note.text });
        notes.map(note).collect::<Vec<_>>()
    };
    json!({
        "file": file,
        "left_out": of(NoteKind::LeftOut),
        "unknown": of(NoteKind::Unknown),
        "of_cbt_alone": of(NoteKind::Own),
    })
}

fn in_words(file: &str, made: &ImportedStudy) -> String {
    let of = |kind: NoteKind, head: &str| {
        let notes = made.notes.iter().filter(|note| note.kind == kind);
        let lines: String = notes.map(|note| format!("  {note}\n")).collect();
        if lines.is_empty() { lines } else { format!("\n{head}\n{lines}") }
    };
    let own = made.notes.iter().filter(|note| note.kind == NoteKind::Own).count();
    let own = match own {
        0 => String::new(),
        _ => format!("\n{own} keys are of CBT's own hosts, paths and logs; the file names them\n"),
    };
    format!(
        "{file} is written; a comment behind each figure tells where it comes from\n{}{}{own}\n  loadline study show {file}\n  \
         loadline study run {file} --quick\n",
        of(NoteKind::LeftOut, "has no counterpart here, or another one:"),
        of(NoteKind::Unknown, "is not known, and was not read:"),
    )
}
