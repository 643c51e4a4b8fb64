//! Words that stand for values of the engine, in files and in flags alike.

use loadline_base::in_short;
use loadline_device::Medium;
use loadline_host::{BackendChoice, Direct, Discards};
use loadline_qos::{PRESETS, Preset, preset};
use loadline_store::paged::{LogMode, Protection};
use loadline_study::unknown;
use serde::{Deserialize, Deserializer, de};
use std::fmt::Display;
use std::str::FromStr;

/// A value that is typed as text: with the engine's own reader, or one of a list of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<T>(pub(crate) T);

/// A type whose every value has a word.
pub(crate) trait Word: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl Word for Medium {
    const WORDS: &'static [(&'static str, Medium)] =
        &[("ssd", Medium::Ssd), ("hdd", Medium::Hdd), ("hybrid", Medium::Hybrid)];
}

impl Word for Direct {
    const WORDS: &'static [(&'static str, Direct)] =
        &[("auto", Direct::Auto), ("yes", Direct::Yes), ("no", Direct::No)];
}

impl Word for Discards {
    const WORDS: &'static [(&'static str, Discards)] =
        &[("keep", Discards::Keep), ("give-back", Discards::GiveBack)];
}

impl Word for BackendChoice {
    const WORDS: &'static [(&'static str, BackendChoice)] = &[
        ("auto", BackendChoice::Auto),
        ("io_uring", BackendChoice::Uring),
        ("threads", BackendChoice::Threads),
    ];
}

impl Word for Protection {
    const WORDS: &'static [(&'static str, Protection)] =
        &[("checkpoint", Protection::Checkpoint), ("log", Protection::Log)];
}

impl Word for LogMode {
    const WORDS: &'static [(&'static str, LogMode)] = &[
        ("fsync", LogMode::Fsync),
        ("log-only", LogMode::LogOnly),
        ("background", LogMode::Background),
        ("none", LogMode::None),
    ];
}

impl<T: Word> FromStr for Typed<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Typed<T>, String> {
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| Typed(*value)).ok_or_else(|| {
            let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
            format!("expected one of {}", words.join(", "))
        })
    }
}

/// Rights to a socket, as `chmod` takes them in octal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketMode(pub(crate) u32);

impl FromStr for SocketMode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SocketMode, &'static str> {
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        // Without its owner's rights the node's own commands could not use it.
        mode.filter(|mode| plain && mode & 0o600 == 0o600).map(SocketMode).ok_or(
            "expected rights in octal digits with those of the owner, such as `0600` or `0660`",
        )
    }
}

/// A preset's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PresetName(pub(crate) &'static Preset);

impl FromStr for PresetName {
    type Err = String;

    fn from_str(text: &str) -> Result<PresetName, String> {
        let known = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>();
        preset(text).map(PresetName).ok_or_else(|| unknown("preset", text, known()))
    }
}

/// Reads a field of a file as a flag is read: both refuse with the same words.
pub(crate) fn from_text<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(input)?;
    let value = text.parse().map_err(|error: T::Err| {
        de::Error::custom(format!("`{}` is not understood: {error}", in_short(&text)))
    })?;
    Ok(Some(value))
}
