//! What a shell and a reader of manuals want of the program: completions, and a page for each command.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::show;
use clap::CommandFactory;
use serde_json::json;

/// Prints what a shell loads to complete the commands.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loadline", &mut script);
    show::text(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program and for each of its commands: `loadline-study-run.1`.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let unwritable = |error| Failure::unwritable(folder, &error);
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(unwritable)?;
    match args.json.json {
        true => show::json(&json!({ "folder": folder })),
        false => show::text(&format!(
            "the manual pages are in {0}: man -l {0}/loadline.1\n",
            folder.display()
        )),
    }
}
