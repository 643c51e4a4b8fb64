//! The command line as it was typed: what can be made of it, and an answer where nothing can.

use crate::cli::{Cli, CliCommand};
use crate::command_line::{wants_json, words};
use crate::common_args::WANTED_ADDRESS;
use crate::failure::error_in_json;
use crate::show;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use loadline_base::{Bytes, Span, in_short};
use std::borrow::Cow;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

/// What somebody sees who typed the name alone.
const FIRST_STEPS: &str = "\
Loadline is storage quality of service: it schedules background work, simulates it, measures it and explains it.

  loadline study run recovery-nvme --quick                             what recovery does to clients under each profile
  loadline study list                                                  what else can be asked
  loadline serve --dir node --osds 4 --size 10GiB --image vol0=2GiB    a node of your own, served over NBD
  loadline status --dir node                                           how it is
  loadline doctor                                                      what this machine has and lacks
  loadline --help                                                      all commands
";

/// What was meant, or the code with which the answer to what was typed has been given.
pub(crate) fn command() -> Result<CliCommand, ExitCode> {
    if std::env::args_os().len() < 2 {
        // If even the standard error is gone, the code still tells.
        let _ = io::stderr().write_all(FIRST_STEPS.as_bytes());
        return Err(ExitCode::from(2));
    }
    let line = json_last(std::env::args_os().collect());
    Cli::try_parse_from(line).map(|cli| cli.command).map_err(refuse)
}

/// The line with a `--json` that stands before the command, or between the words of its name, behind it: there the parser takes it, and only of commands
/// that have a form for programs.
fn json_last(mut line: Vec<OsString>) -> Vec<OsString> {
    if !line.iter().any(|word| word == "--json") {
        return line;
    }
    let mut command = &Cli::command();
    let mut at = 1;
    for word in line.iter().skip(1) {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below;
        at += 1;
    }
    if line.get(at).is_some_and(|word| word == "--json") && at + 1 < line.len() {
        let json = line.remove(at);
        let end = line.iter().position(|word| word == "--").unwrap_or(line.len());
        line.insert(end, json);
    }
    line
}

fn refuse(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // What was asked for is help, or the version.
        let shown = show::taken(error.print());
        return shown.map_or_else(|failure| failure.report(wants_json()), |_| ExitCode::SUCCESS);
    }
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let own = negative(&error)
        .or_else(|| beside(&error))
        .or_else(|| left_out(&error))
        .or_else(|| not_for_programs(&error))
        .or_else(|| no_text(&error))
        .or_else(|| no_value(&error));
    cut(&mut error);
    let _ = match own {
        Some(text) => say(&text, code),
        None if wants_json() => say(&in_one_line(&error), code),
        None => error.print(),
    };
    ExitCode::from(code)
}

/// Lets the parser repeat no more of what was typed than a sentence needs. What it proposes would repeat that once more.
fn cut(error: &mut clap::Error) {
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand]
    {
        if let Some(ContextValue::String(typed)) = error.get(kind)
            && let Cow::Owned(short) = in_short(typed)
        {
            error.insert(kind, ContextValue::String(short));
            error.remove(ContextKind::Suggested);
        }
    }
}

fn say(text: &str, code: u8) -> io::Result<()> {
    match wants_json() {
        true => writeln!(io::stderr(), "{}", error_in_json(text, code)),
        false => writeln!(io::stderr(), "error: {text}"),
    }
}

/// `-5` looks like a flag to the parser, which then proposes to type it as a value. What may be any text takes it, and no number here can be negative.
fn negative(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let line: Vec<String> = words().collect();
    // The parser takes a line's letters one by one.
    let place = line.iter().position(|argument| argument.starts_with(typed.as_str()));
    let typed = place.map_or(typed, |place| &line[place]);
    let before = place.and_then(|place| line.get(place.checked_sub(1)?));
    let flag = before.filter(|flag| takes_value(&Cli::command(), flag));
    let named = flag.map_or(String::new(), |flag| format!("{flag}: "));
    is_negative(typed).then(|| {
        format!("{named}`{}` is negative, and no number, size or time here is", in_short(typed))
    })
}

/// Whether a word is a flag that a value stands behind, in this command or below it.
fn takes_value(command: &clap::Command, word: &str) -> bool {
    let Some(long) = word.strip_prefix("--") else { return false };
    let is_it = |flag: &clap::Arg| flag.get_long() == Some(long);
    command.get_arguments().any(|flag| is_it(flag) && flag.get_action().takes_values())
        || command.get_subcommands().any(|below| takes_value(below, word))
}

/// Flags that cannot stand beside another one: of those that exclude each other as a group, the parser names all.
fn beside(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::Strings(others)) = error.get(ContextKind::PriorArg) else { return None };
    let typed: Vec<String> =
        others.iter().filter(|other| was_typed(other)).map(|other| format!("'{other}'")).collect();
    (!typed.is_empty())
        .then(|| format!("the argument '{flag}' cannot be used with {}", typed.join(", ")))
}

/// Whether a flag, as the parser shows it with its value, is a word of the line.
fn was_typed(shown: &str) -> bool {
    let flag = shown.split([' ', '[', '=']).next().unwrap_or(shown);
    let value = format!("{flag}=");
    flag.starts_with("--") && words().any(|word| word == flag || word.starts_with(&value))
}

/// Whether what stands behind the `-` is a number, a size or a time.
fn is_negative(typed: &str) -> bool {
    let quantity = |text: &str| text.parse::<Bytes>().is_ok() || text.parse::<Span>().is_ok();
    typed.strip_prefix('-').is_some_and(quantity)
}

/// `--json` where a command has no form for programs, or where none is named. The parser proposes to type it as a value.
fn not_for_programs(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || typed != "--json" {
        return None;
    }
    let (name, below) = meant_by(words().skip(1));
    Some(match below.is_empty() {
        true => format!("`{name}` has no output for programs: leave --json out"),
        false => format!("`{name}` takes one of its commands beside --json: {}", below.join(", ")),
    })
}

/// The command that a line names, as far as it does, and what stands below it.
fn meant_by(words: impl Iterator<Item = String>) -> (String, Vec<String>) {
    let mut command = &Cli::command();
    let mut name = command.get_name().to_owned();
    for word in words {
        if let Some(below) = command.find_subcommand(&word) {
            command = below;
            name = format!("{name} {word}");
        }
    }
    let below = command.get_subcommands().map(|below| below.get_name().to_owned());
    (name, below.collect())
}

/// Bytes where text is needed: the parser does not say which of the words they are in.
fn no_text(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return None;
    }
    let unlike = std::env::args_os().filter(|word| word.to_str().is_none());
    let unlike: Vec<String> =
        unlike.map(|word| format!("`{}`", in_short(&word.to_string_lossy()))).collect();
    Some(format!("{}: this is no UTF-8, and text is needed here", unlike.join(", ")))
}

/// What cannot be a number or an address, in words of ours: those of the standard library do not say what would be one.
fn no_value(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let (argument, typed) =
        (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    let reason = wanted_instead(error.source()?)?;
    Some(format!("invalid value '{}' for '{argument}': {reason}", in_short(typed)))
}

/// What the standard library, or a range of numbers, has refused.
fn wanted_instead(refusal: &(dyn Error + 'static)) -> Option<String> {
    if let Some(number) = refusal.downcast_ref::<ParseIntError>() {
        return Some(match number.kind() {
            IntErrorKind::PosOverflow => "this number is too large".to_owned(),
            IntErrorKind::NegOverflow => "this number is too small".to_owned(),
            _ => "it takes a whole number, such as `4`".to_owned(),
        });
    }
    if refusal.is::<ParseFloatError>() {
        return Some("it takes a number, such as `0.5`".to_owned());
    }
    if refusal.is::<AddrParseError>() {
        return Some(WANTED_ADDRESS.to_owned());
    }
    let text = refusal.to_string();
    let (least, most) = text.split_once(" is not in ")?.1.split_once("..")?;
    Some(match most.strip_prefix('=') {
        Some(most) => format!("it takes a whole number from {least} to {most}"),
        None => format!("it takes a whole number of at least {least}"),
    })
}

/// A command that this build is without.
fn left_out(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let before = words().skip(1).take_while(|argument| argument != typed);
    let above = before.filter(|argument| !argument.starts_with('-')).last().unwrap_or_default();
    let feature = feature_of(&above, typed).filter(|feature| !is_built(feature))?;
    Some(format!(
        "`{typed}` is left out of this build, which is without the feature `{feature}`: build with `cargo build --release --package loadline`"
    ))
}

/// The feature that a command comes with, by the command that it stands below: elsewhere it is a verb in no build.
fn feature_of(above: &str, typed: &str) -> Option<&'static str> {
    match (above, typed) {
        ("", "ceph") => Some("ceph"),
        ("", "kv") => Some("kv"),
        ("", "top") => Some("top"),
        ("drive", "serve" | "boot") => Some("guest"),
        ("study", "export") => Some("parquet"),
        _ => None,
    }
}

fn is_built(feature: &str) -> bool {
    env!("LOADLINE_FEATURES").split(' ').any(|built| built == feature)
}

/// The parser's own sentences without the help below them.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let sentences = text.split("\n\nUsage:").next().unwrap_or(&text);
    let sentences = sentences.split("\n\nFor more information").next().unwrap_or(sentences);
    let words = sentences.strip_prefix("error: ").unwrap_or(sentences).split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first commands that anybody copies are those of the README, and of the tour that goes on from there.
    #[cfg(all(feature = "kv", feature = "top"))]
    #[test]
    fn what_the_readme_says_can_be_typed() {
        let texts = [include_str!("../../README.md"), include_str!("../../docs/README.md")];
        let lines = texts.iter().flat_map(|text| text.lines());
        let lines: Vec<&str> = lines.filter(|line| line.starts_with("loadline ")).collect();
        assert!(lines.len() > 20, "{lines:?}");
        for line in lines {
            let typed = line.split(" #").next().unwrap_or(line);
            let understood = Cli::try_parse_from(typed.split_whitespace());
            if let Err(why) = understood {
                panic!("{typed}: {why}");
            }
        }
    }

    /// The key `-5a` was called negative.
    #[test]
    fn negative_is_what_would_be_a_quantity() {
        for typed in ["-5", "-0.5", "-5GiB", "-5 GiB", "-20ms"] {
            assert!(is_negative(typed), "{typed}");
        }
        for typed in ["5", "-5a", "-5-6", "-j", "--5", "-"] {
            assert!(!is_negative(typed), "{typed}");
        }
    }

    /// Numbers and addresses were refused in the words of the standard library, "invalid digit found in string".
    #[test]
    fn what_cannot_be_a_value_is_told_with_what_can() {
        let check = |line: &[&str], says: &str| {
            let error = Cli::try_parse_from([&["loadline"], line].concat()).unwrap_err();
            let told = no_value(&error).unwrap_or_default();
            assert!(told.ends_with(says) && told.contains(line[line.len() - 1]), "{told}");
        };
        check(&["serve", "--osds", "x"], "it takes a whole number, such as `4`");
        check(&["serve", "--osds", "4294967296"], "it takes a whole number from 0 to 4294967295");
        check(&["soak", "--seconds", "0"], "it takes a whole number of at least 1");
        check(&["study", "run", "--seed", "99999999999999999999"], "this number is too large");
        check(&["inspect", "f", "page", "0x10"], "it takes a whole number, such as `4`");
        check(&["drive", "measure", "m", "--seconds", "ten"], "it takes a number, such as `0.5`");
        check(&["serve", "--page", "localhost:7480"], WANTED_ADDRESS);
    }

    /// `loadline --json status` was told that it has no output for programs, which it has.
    #[test]
    fn json_may_stand_before_the_command() {
        let line = |typed: &str| typed.split(' ').map(OsString::from).collect::<Vec<_>>();
        let check = |typed: &str, taken: &str| assert_eq!(json_last(line(typed)), line(taken));
        check("loadline --json status", "loadline status --json");
        check("loadline study --json list", "loadline study list --json");
        check("loadline --json drive boot -- ls", "loadline drive boot --json -- ls");
        check("loadline --json", "loadline --json");
        check("loadline status --json", "loadline status --json");
    }

    #[test]
    fn the_command_that_a_line_names_is_found() {
        let meant = |line: &[&str]| meant_by(line.iter().map(|word| (*word).to_owned()));
        assert_eq!(
            meant(&["completions", "bash", "--json"]),
            ("loadline completions".to_owned(), vec![])
        );
        let (name, below) = meant(&["cdl", "--json"]);
        assert!(name == "loadline cdl" && below.contains(&"stats".to_owned()), "{below:?}");
    }

    /// Who typed `osd top` in a build without `top` was told to build with it, and met the same question there.
    #[test]
    fn a_verb_is_left_out_only_where_another_build_has_it() {
        assert_eq!(feature_of("", "top"), Some("top"));
        assert_eq!(feature_of("osd", "top"), None);
        assert_eq!(feature_of("drive", "boot"), Some("guest"));
        assert_eq!(feature_of("", "boot"), None);
    }
}
