//! What a shell and a reader of manuals want of the program: completions, and a page for each command.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::show;
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use loadline_host::in_folder;
use loadline_study::write_whole;
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut all = Vec::new();
    pages(&program, &mut all).map_err(unwritable)?;
    in_folder(folder, unwritable, || write(folder, &all).map_err(unwritable))?;
    match args.json.json {
        true => show::json(&json!({ "folder": folder })),
        false => show::text(&format!(
            "the manual pages are in {0}: man -l {0}/loadline.1\n",
            folder.display()
        )),
    }
}

/// Writes pages by their names, or none: of those that were not there before nothing is left where one cannot be written.
fn write(folder: &Path, pages: &[(String, Vec<u8>)]) -> io::Result<()> {
    let pages: Vec<_> = pages.iter().map(|(name, text)| (folder.join(name), text)).collect();
    let new = pages.iter().map(|(page, _)| page).filter(|page| page.symlink_metadata().is_err());
    let new: Vec<&PathBuf> = new.collect();
    let written = pages.iter().try_for_each(|(page, text)| write_whole(page, text));
    written.inspect_err(|_| {
        for page in new {
            // One that was not written need not go.
            let _ = fs::remove_file(page);
        }
    })
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
