//! A `ceph.conf`: the options that all OSDs start with.

use crate::{CbtError, CbtNote, NoteKind};

/// What a configuration says of all OSDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CephConf {
    /// Each option once, as it is in force: the section of the OSDs outranks the general one.
    pub options: Vec<ConfOption>,
    /// What it says of others, or of single OSDs.
    pub notes: Vec<CbtNote>,
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfOption {
    /// The line, from 1.
    pub line: usize,
    /// As Ceph's own commands spell it, with underscores.
    pub name: String,
    /// As it stands there, without quotes.
    pub value: String,
}

/// Whose options a section holds.
enum ConfScope {
    All,
    Osds,
    One(String),
    Others(String),
}

impl CephConf {
    /// Reads one.
    ///
    /// # Errors
    /// [`CbtError`] for a line that is neither section nor option.
    pub fn parse(text: &str) -> Result<CephConf, CbtError> {
        let mut conf = CephConf::default();
        let mut of_osds = Vec::new();
        let mut scope = ConfScope::All;
        for (line, content) in lines(text) {
            if let Some(rest) = content.strip_prefix('[') {
                let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
                let name =
                    name.ok_or_else(|| CbtError::new(line, "a section is called `[NAME]`"))?;
                scope = scope_of(name);
                if let ConfScope::Others(name) = &scope {
                    let text = format!("`[{name}]`");
                    conf.notes.push(CbtNote { kind: NoteKind::Own, line, text });
                }
                continue;
            }
            let (name, value) = content.split_once('=').ok_or_else(|| {
                CbtError::new(line, "neither a section nor an option with its value")
            })?;
            let option = ConfOption { line, name: spelt(name), value: unquoted(value).to_owned() };
            match &scope {
                ConfScope::All => set(&mut conf.options, option),
                ConfScope::Osds => set(&mut of_osds, option),
                ConfScope::One(osd) => conf.notes.push(CbtNote {
                    kind: NoteKind::LeftOut,
                    line,
                    text: format!("`{}` of {osd}: all OSDs are alike", option.name),
                }),
                ConfScope::Others(_) => {}
            }
        }
        of_osds.into_iter().for_each(|option| set(&mut conf.options, option));
        Ok(conf)
    }
}

fn scope_of(name: &str) -> ConfScope {
    match name {
        "global" => ConfScope::All,
        "osd" => ConfScope::Osds,
        _ if name.starts_with("osd.") => ConfScope::One(name.to_owned()),
        _ => ConfScope::Others(name.to_owned()),
    }
}

/// The later one counts.
fn set(options: &mut Vec<ConfOption>, option: ConfOption) {
    options.retain(|other| other.name != option.name);
    options.push(option);
}

/// Lines that say something, without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let without = |line: &'_ str| -> usize { line.find(['#', ';']).unwrap_or(line.len()) };
    text.lines().enumerate().filter_map(move |(index, line)| {
        let content = line[..without(line)].trim();
        (!content.is_empty()).then_some((index + 1, content))
    })
}

/// `osd max-backfills` is `osd_max_backfills`.
fn spelt(name: &str) -> String {
    let words = name.split([' ', '\t', '-', '_']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_all_osds() {
        let text = "\
[global]
  osd max backfills = 1   # of everybody
  osd-op-queue = 'wpq'
  auth client required = none
[mon]
  mon data = /x
[osd]
  osd_max_backfills = 7
; nothing
[osd.0]
  osd_recovery_max_active = 9
[client]
  rbd cache = false
";
        let conf = CephConf::parse(text).expect("it can be read");
        let told = conf.options.iter().map(|it| format!("{}:{}={}", it.line, it.name, it.value));
        assert_eq!(
            told.collect::<Vec<_>>(),
            ["3:osd_op_queue=wpq", "4:auth_client_required=none", "8:osd_max_backfills=7"]
        );
        let told =
            conf.notes.iter().map(|note| format!("{:?} {}: {}", note.kind, note.line, note.text));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "Own 5: `[mon]`",
                "LeftOut 11: `osd_recovery_max_active` of osd.0: all OSDs are alike",
                "Own 12: `[client]`"
            ]
        );
    }

    #[test]
    fn what_is_no_configuration_is_refused_with_its_line() {
        let check = |text: &str, says: &str| {
            let error = CephConf::parse(text).expect_err("it is refused");
            assert_eq!(error.to_string(), says);
        };
        check("\nfrob\n", "line 2: neither a section nor an option with its value");
        check("[global\n", "line 1: a section is called `[NAME]`");
    }
}
