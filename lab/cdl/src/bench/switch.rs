//! What is switched on a real drive before a workload and after the last one.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Something that is switched before a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A value for a file of sysfs.
    Sysfs {
        /// The file.
        file: PathBuf,
        /// 0 or 1.
        value: u8,
    },
    /// A command with its arguments.
    Command(Vec<String>),
}

impl Action {
    /// Does it; the error is a sentence.
    pub(super) fn carry_out(&self) -> Result<(), String> {
        let failed = |why: String| format!("{self}: {why}");
        match self {
            Action::Sysfs { file, value } => {
                fs::write(file, value.to_string()).map_err(|error| failed(error.to_string()))
            }
            Action::Command(words) => {
                let ended = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
                let ended = ended.map_err(|error| failed(error.to_string()))?;
                let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
                if ended.status.success() { Ok(()) } else { Err(failed(said)) }
            }
        }
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::Sysfs { file, value } => write!(f, "echo {value} > {}", file.display()),
            Action::Command(words) => f.write_str(&words.join(" ")),
        }
    }
}
