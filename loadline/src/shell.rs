//! What a shell and a reader of manuals want of the program: completions, and a page for each command.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::{show, writable};
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use serde_json::json;
use std::io;

/// Prints what a shell loads to complete the commands.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loadline", &mut script);
    show::text(&String::from_utf8_lossy(&script))
}

/// How each page of the program's names itself, in its head.
const MARK: &str = ".TH loadline";

/// Writes a manual page for the program and for each of its commands: `loadline-study-run.1`.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut all = Vec::new();
    pages(&program, &mut all).map_err(|error| Failure::unwritable(folder, &error))?;
    for (page, _) in &all {
        writable::marked(&folder.join(page), MARK)?;
    }
    writable::write_all(folder, &all, writable::replace)?;
    match args.json.json {
        true => show::json(&json!({ "folder": folder })),
        false => show::text(&format!(
            "the manual pages are in {0}: man -l {0}/loadline.1\n",
            folder.display()
        )),
    }
}

/// The pages of a command and of all below it, by their names.
fn pages(command: &Command, all: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.try_for_each(|command| pages(command, all))?;
    let command = command.clone().override_usage(synopsis(command));
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    all.push((page.get_filename(), text));
    Ok(())
}

/// A command's usage with each of its options by name and value. The generator's own names them without the value, and a page begins with what
/// cannot be typed.
fn synopsis(command: &Command) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage).trim();
    let of_groups = command.get_groups().filter(|group| group.is_required_set());
    let of_groups: Vec<_> = of_groups.flat_map(|group| group.get_args()).collect();
    let is_optional = |arg: &&Arg| {
        !(arg.is_positional()
            || arg.is_required_set()
            || arg.is_hide_set()
            || of_groups.contains(&arg.get_id()))
    };
    let options = command.get_arguments().filter(is_optional);
    let options: Vec<String> = options.map(|arg| format!("[{arg}]")).collect();
    usage.replace("[OPTIONS]", &options.join(" "))
}
