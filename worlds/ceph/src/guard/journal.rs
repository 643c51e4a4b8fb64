//! The journal of a run: a line for each change, on the disk before the cluster hears of it.

use crate::guard::change::ClusterChange;
use loadline_base::json_in_words;
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
    #[error("{}, line {line}: {}", path.display(), json_in_words(&error.to_string()))]
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
    /// Bytes of whole lines: what a write that failed has left behind them goes again.
    whole: u64,
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
        Ok(RunJournal { file, path: path.to_owned(), whole: 0, lines: Vec::new() })
    }

    /// One that is there. A line that was torn, by a loss of power at the end or by a full disk before another one, was never acted upon.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot be read.
    pub fn open(path: &Path) -> Result<RunJournal, JournalError> {
        let failed = |error| JournalError::File { path: path.to_owned(), error };
        let text = std::fs::read(path).map_err(failed)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut lines: Vec<JournalLine> = Vec::new();
        for (number, line) in text[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = read_line(line).map_err(|error| JournalError::Line {
                path: path.to_owned(),
                line: number + 1,
                error,
            })?;
            match lines.iter_mut().find(|known| known.seq == line.seq) {
                Some(known) => *known = line,
                None => lines.push(line),
            }
        }
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        Ok(RunJournal { file, path: path.to_owned(), whole: whole as u64, lines })
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
        let mut line = self.lines[place].clone();
        change(&mut line);
        self.append(&line)?;
        self.lines[place] = line;
        Ok(())
    }

    fn append(&mut self, line: &JournalLine) -> Result<(), JournalError> {
        let text = serde_json::to_string(line).expect("a line prints") + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_all());
        if let Err(error) = written {
            // Where that fails, too, the next line stands behind a torn one, which a reader knows.
            let _ = self.file.set_len(self.whole);
            return Err(JournalError::File { path: self.path.clone(), error });
        }
        self.whole += text.len() as u64;
        Ok(())
    }
}

/// How each line begins.
const BEGINNING: &[u8] = b"{\"seq\":";

/// A line, before which there may be pieces of others as a full disk leaves them: each the beginning of a line. Within a line's texts the
/// quotes are escaped, so that it begins nowhere but at its beginning.
fn read_line(text: &[u8]) -> Result<JournalLine, serde_json::Error> {
    let damaged = match serde_json::from_slice(text) {
        Ok(line) => return Ok(line),
        Err(error) => error,
    };
    let beginnings = text.windows(BEGINNING.len()).enumerate();
    let last = beginnings.filter(|(_, here)| *here == BEGINNING).map(|(at, _)| at).next_back();
    let Some(last) = last.filter(|last| *last > 0) else { return Err(damaged) };
    if !is_torn(&text[..last]) {
        return Err(damaged);
    }
    serde_json::from_slice(&text[last..])
}

/// Whether a text is made of beginnings of lines alone.
fn is_torn(mut text: &[u8]) -> bool {
    while !text.is_empty() {
        let common = text.iter().zip(BEGINNING).take_while(|(here, of)| here == of).count();
        if common == 0 {
            return false;
        }
        let rest = &text[common..];
        let next = (0..rest.len()).find(|at| rest[*at..].starts_with(BEGINNING));
        let piece = &text[..next.map_or(text.len(), |at| common + at)];
        // A piece that was cut within its beginning is followed by another one at once.
        let piece = if common < BEGINNING.len() { &text[..common] } else { piece };
        let read = serde_json::from_slice::<JournalLine>(piece);
        if read.is_err_and(|error| !error.is_eof()) {
            return false;
        }
        text = &text[piece.len()..];
    }
    true
}
