//! The journal of a run: a line for each change, on the disk before the cluster hears of it.

use crate::guard::change::ClusterChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One line of `ceph-journal.jsonl`. A later line of the same number tells how it went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Which change of the run, from 1.
    pub seq: u64,
    /// The time of day, in seconds since 1970.
    pub time_s: f64,
    /// The cluster.
    pub fsid: String,
    /// What is changed.
    pub change: ClusterChange,
    /// What the cluster is told, for whoever reads the journal by eye.
    #[serde(rename = "do")]
    pub told: Vec<Value>,
    /// What was there before; absent if nothing was.
    pub before: Option<String>,
    /// What an option became, in the cluster's own spelling; absent as long as the cluster was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub became: Option<String>,
    /// How far it is.
    pub state: ChangeState,
}

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// It may have been done.
    Intent,
    /// The cluster has said that it is.
    Done,
    /// It is no more.
    Undone,
}

impl JournalLine {
    /// A change that is about to be made.
    pub(crate) fn intent(
        fsid: &str,
        time_s: f64,
        change: ClusterChange,
        before: Option<String>,
    ) -> JournalLine {
        let told = change.commands().into_iter().map(|(_, command)| command).collect();
        JournalLine {
            seq: 0,
            time_s,
            fsid: fsid.to_owned(),
            change,
            told,
            before,
            became: None,
            state: ChangeState::Intent,
        }
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Its file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line of it.
    #[error("{}, line {line}: {error}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        error: serde_json::Error,
    },
}

/// The journal of a run.
#[derive(Debug)]
pub struct RunJournal {
    file: File,
    path: PathBuf,
    lines: Vec<JournalLine>,
}

impl RunJournal {
    /// A new one; where one is already, it goes on.
    ///
    /// # Errors
    /// [`JournalError`] if the file cannot be used.
    pub(crate) fn create(path: &Path) -> Result<RunJournal, JournalError> {
        if path.exists() {
            return RunJournal::open(path);
        }
        let failed = |error| JournalError::File { path: path.to_owned(), error };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        // The name must be there after a loss of power, too.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        Ok(RunJournal { file, path: path.to_owned(), lines: Vec::new() })
    }

    /// One that is there. A last line that was torn by a loss of power was never acted upon.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be read.
    pub fn open(path: &Path) -> Result<RunJournal, JournalError> {
        let failed = |error| JournalError::File { path: path.to_owned(), error };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines: Vec<JournalLine> = Vec::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let line: JournalLine = serde_json::from_str(line).map_err(|error| {
                JournalError::Line { path: path.to_owned(), line: number + 1, error }
            })?;
            match lines.iter_mut().find(|known| known.seq == line.seq) {
                Some(known) => *known = line,
                None => lines.push(line),
            }
        }
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        Ok(RunJournal { file, path: path.to_owned(), lines })
    }

    /// What it is about, as far as each change is.
    pub fn lines(&self) -> &[JournalLine] {
        &self.lines
    }

    /// Whether anything of it may still be there.
    pub fn is_open(&self) -> bool {
        self.lines.iter().any(|line| line.state != ChangeState::Undone)
    }

    /// Notes what is about to be done; it is on the disk when this returns.
    pub(crate) fn intend(&mut self, line: JournalLine) -> Result<u64, JournalError> {
        let seq = self.lines.iter().map(|line| line.seq).max().unwrap_or(0) + 1;
        let line = JournalLine { seq, ..line };
        self.append(&line)?;
        self.lines.push(line);
        Ok(seq)
    }

    pub(crate) fn change(&self, seq: u64) -> &ClusterChange {
        &self.lines.iter().find(|line| line.seq == seq).expect("it was noted").change
    }

    /// The cluster has said that it is done, and what it became.
    pub(crate) fn done(&mut self, seq: u64, became: Option<String>) -> Result<(), JournalError> {
        self.change_line(seq, |line| {
            line.state = ChangeState::Done;
            line.became = became;
        })
    }

    pub(crate) fn undone(&mut self, seq: u64) -> Result<(), JournalError> {
        self.change_line(seq, |line| line.state = ChangeState::Undone)
    }

    /// What the option became that a run set last under this name, if the cluster told.
    pub(crate) fn became(&self, option: &str) -> Option<&str> {
        let is_it = |line: &&JournalLine| {
            let name = match &line.change {
                ClusterChange::Setting { name, .. } => Some(name),
                _ => None,
            };
            line.state == ChangeState::Done && name.is_some_and(|name| name == option)
        };
        self.lines.iter().rfind(is_it)?.became.as_deref()
    }

    /// The same for every open change that `is` names.
    pub(crate) fn undone_where(
        &mut self,
        is: impl Fn(&ClusterChange) -> bool,
    ) -> Result<(), JournalError> {
        let open = self.lines.iter().filter(|line| line.state != ChangeState::Undone);
        let found: Vec<u64> = open.filter(|line| is(&line.change)).map(|line| line.seq).collect();
        found.into_iter().try_for_each(|seq| self.undone(seq))
    }

    /// Nothing of it is ours to undo.
    pub(crate) fn abandon(&mut self) -> Result<(), JournalError> {
        self.undone_where(|_| true)
    }

    fn change_line(
        &mut self,
        seq: u64,
        change: impl FnOnce(&mut JournalLine),
    ) -> Result<(), JournalError> {
        let place = self.lines.iter().position(|line| line.seq == seq).expect("it was noted");
        change(&mut self.lines[place]);
        let line = self.lines[place].clone();
        self.append(&line)
    }

    fn append(&mut self, line: &JournalLine) -> Result<(), JournalError> {
        let text = serde_json::to_string(line).expect("a line prints") + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(|error| JournalError::File { path: self.path.clone(), error })
    }
}
