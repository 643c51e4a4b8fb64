//! A real kernel with the modelled drive: what must hold from an application's hint to the drive and back
//! (docs/virtual-drive.md). `make test-drive` runs these; each boots Linux in user mode, for seconds.

mod disk;
mod ends;
mod engine;
mod faults;
mod limits;
mod pages;
mod virtual_time;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// One boot, with the folder of its results.
pub(crate) struct Boot {
    folder: tempfile::TempDir,
    flags: Vec<String>,
}

/// What came of a boot.
pub(crate) struct Booted {
    folder: tempfile::TempDir,
    output: Output,
}

impl Boot {
    /// `None`, with a line that says why, where no guest can be had.
    pub(crate) fn new() -> Option<Boot> {
        static LACKING: OnceLock<Option<String>> = OnceLock::new();
        let lacking = LACKING.get_or_init(|| {
            let booted = Boot::unchecked().run(&["true"]);
            (!booted.output.status.success()).then(|| booted.error())
        });
        match lacking {
            None => Some(Boot::unchecked()),
            Some(why) => {
                assert!(
                    why.contains("no root for a guest") || why.contains("Debian's packages"),
                    "{why}"
                );
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    fn unchecked() -> Boot {
        let folder = tempfile::tempdir().expect("a folder for results");
        Boot { folder, flags: Vec::new() }
    }

    pub(crate) fn with(mut self, flag: &str) -> Boot {
        self.flags.push(flag.to_owned());
        self
    }

    /// With another drive than the usual one.
    pub(crate) fn on(mut self, drive: &str) -> Boot {
        self.flags.insert(0, drive.to_owned());
        self
    }

    /// Boots and runs a command.
    pub(crate) fn run(self, command: &[&str]) -> Booted {
        let mut boot = self.command();
        let output = boot.arg("--").args(command).output().expect("loadline runs");
        Booted { folder: self.folder, output }
    }

    /// Boots and runs a script, whose lines `name value` are its findings.
    pub(crate) fn script(self, script: &str) -> Booted {
        self.run(&["bash", "-c", script])
    }

    pub(crate) fn command(&self) -> Command {
        let mut boot = Command::new(env!("CARGO_BIN_EXE_loadline"));
        boot.args(["drive", "boot", "--results"]).arg(self.folder.path()).args(&self.flags);
        if !self.flags.iter().any(|flag| flag.starts_with("--time-limit")) {
            boot.arg("--time-limit=2min");
        }
        boot
    }

    pub(crate) fn results(&self) -> &Path {
        self.folder.path()
    }
}

impl Booted {
    pub(crate) fn succeeded(self) -> Booted {
        assert!(self.output.status.success(), "{}\n{}", self.error(), self.text());
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn error(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// What a line `name value` says.
    pub(crate) fn finding(&self, name: &str) -> String {
        let text = self.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no `{name}` in\n{text}")).to_owned()
    }

    /// A file that the command has left.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the drive has counted.
    pub(crate) fn drive(&self) -> Value {
        self.json("drive.json")
    }

    /// A result as JSON; what fio says before it is passed over.
    pub(crate) fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.folder.path().join(name)).expect("the result is there");
        let start = text.find('{').expect("a JSON object");
        serde_json::from_str(&text[start..]).expect("JSON")
    }
}
