//! The command line as it was typed: what can be made of it, and an answer where nothing can.

use crate::cli::{Cli, CliCommand};
use crate::failure::error_in_json;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use loadline_base::{Bytes, Span};
use std::io::{self, Write};
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
    Cli::try_parse().map(|cli| cli.command).map_err(|error| refuse(&error))
}

/// The words of the command as they were typed, for people to read: a part that is no text is replaced, as no command hangs on it.
pub(crate) fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// Whether the answer is for a program. Asked also where the rest of the line cannot be understood.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

fn refuse(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let _ = match negative(error).or_else(|| left_out(error)) {
        _ if !error.use_stderr() => error.print(),
        Some(text) => say(&text, code),
        None if wants_json() => say(&in_one_line(error), code),
        None => error.print(),
    };
    ExitCode::from(code)
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
    // The parser takes a line's letters one by one.
    let whole = words().find(|argument| argument.starts_with(typed.as_str()));
    let typed = whole.as_ref().unwrap_or(typed);
    is_negative(typed).then(|| {
        format!("`{typed}` is negative, and no number or size here can be: give one of at least 0")
    })
}

/// Whether what stands behind the `-` is a number, a size or a time.
fn is_negative(typed: &str) -> bool {
    let quantity = |text: &str| text.parse::<Bytes>().is_ok() || text.parse::<Span>().is_ok();
    typed.strip_prefix('-').is_some_and(quantity)
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

    /// The first commands that anybody copies are those of the README.
    #[cfg(all(feature = "kv", feature = "top"))]
    #[test]
    fn what_the_readme_says_can_be_typed() {
        let readme = include_str!("../../README.md");
        let lines: Vec<&str> =
            readme.lines().filter(|line| line.starts_with("loadline ")).collect();
        assert!(lines.len() > 10, "{lines:?}");
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

    /// Who typed `osd top` in a build without `top` was told to build with it, and met the same question there.
    #[test]
    fn a_verb_is_left_out_only_where_another_build_has_it() {
        assert_eq!(feature_of("", "top"), Some("top"));
        assert_eq!(feature_of("osd", "top"), None);
        assert_eq!(feature_of("drive", "boot"), Some("guest"));
        assert_eq!(feature_of("", "boot"), None);
    }
}
