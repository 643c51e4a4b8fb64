//! The program, run and looked at from outside.

use std::path::Path;
use std::process::{Command, Output};

/// It, in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.current_dir(folder);
    command
}

/// Runs it in a folder with these arguments, which have no spaces of their own.
pub(crate) fn loadline(folder: &Path, arguments: &str) -> Output {
    command(folder).args(arguments.split_whitespace()).output().expect("the program starts")
}

/// What it printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// Runs it and looks at its exit code and at what it says, wherever.
pub(crate) fn check(folder: &Path, arguments: &str, code: i32, says: &str) {
    let output = loadline(folder, arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    assert!(said.contains(says), "{arguments}: `{said}` should contain `{says}`");
}
