//! A study's folder: manifest, records, result. A killed study continues from it.

use crate::facts::RunFacts;
use crate::inputs::Inputs;
use crate::record::RunRecord;
use crate::result::{StudyResult, VERSION};
use crate::seal::{is_as_written, sealed};
use loadline_base::json_in_words;
use loadline_host::{
    MadeFolders, check_own_place, folder_of, has_name, make_folder, read_own, why, write_whole,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a folder was made for, and how its runs went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of everything in the folder.
    pub version: u32,
    /// Names the inputs.
    pub inputs_hash: String,
    /// The texts that the study was computed from; they suffice to read the records again.
    pub inputs: Inputs,
    /// The setups asked for, as typed.
    pub setups: String,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Runs of each setup.
    pub repeats: u32,
    /// The first traced op, if any.
    pub trace: Option<u64>,
    /// The build that computed.
    pub engine: String,
    /// Circumstances.
    pub facts: RunFacts,
    /// Processor time that all runs took together.
    pub busy_seconds: f64,
}

/// A folder of a study could not be read or written, or belongs to something else.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file could not be read.
    #[error("cannot read {}: {}", path.display(), why(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write {}: {}", path.display(), why(source))]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// The folder was made by a version of this program whose runs this one does not read.
    #[error(
        "{} holds runs in the form of another version of loadline, which this one does not read; run the study again \
         with another --out, or remove the folder",
        path.display()
    )]
    OtherForm {
        /// The folder.
        path: PathBuf,
    },
    /// Somebody else makes runs in it.
    #[error("another `loadline study run` is at work in {}; wait for its end, or take another --out", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A file is not what a study wrote.
    #[error("{} is not as a study wrote it: {reason}; {}", path.display(), remedy(path))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and in which line.
        reason: String,
    },
}

const MANIFEST: &str = "manifest.json";
pub(crate) const RECORDS: &str = "runs.jsonl";
pub(crate) const RESULT: &str = "results.json";

/// What makes a file again that is not as a study wrote it.
fn remedy(path: &Path) -> String {
    let folder = folder_of(path).display();
    match path.file_name().and_then(OsStr::to_str) {
        Some(RESULT) => format!("`loadline study report {folder}` makes it again"),
        Some(RECORDS) => format!(
            "take the line out, and `loadline study run` with the same arguments and --out {folder} makes its run again"
        ),
        _ => "put back what was there, or take another folder".to_owned(),
    }
}

const CHANGED: &str = "it was changed after it was written, as its checksum tells";

/// A folder that holds a study's runs.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder at `path`, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> RunFolder {
        RunFolder { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The manifest; `None` if the folder has none yet.
    ///
    /// # Errors
    /// [`FolderError::OtherForm`] if another version of the program made the folder in a form that is no longer read.
    pub fn manifest(&self) -> Result<Option<Manifest>, FolderError> {
        self.read_of_version(MANIFEST)
    }

    /// Writes the manifest, whole or not at all.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        self.write_json(MANIFEST, manifest)
    }

    /// The result; `None` if the study has not ended.
    ///
    /// # Errors
    /// [`FolderError::OtherForm`] if another version of the program wrote it in a form that is no longer read.
    pub fn result(&self) -> Result<Option<StudyResult>, FolderError> {
        self.read_of_version(RESULT)
    }

    /// Writes the result, whole or not at all.
    pub fn write_result(&self, result: &StudyResult) -> Result<(), FolderError> {
        self.write_json(RESULT, result)
    }

    /// Takes the result away, if there is one.
    pub(crate) fn remove_result(&self) -> Result<(), FolderError> {
        match fs::remove_file(self.path.join(RESULT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.unwritable(RESULT, error))
            }
            _ => Ok(()),
        }
    }

    /// Writes the stages of traced ops in the form that trace viewers open.
    pub fn write_trace(&self, trace: &serde_json::Value) -> Result<(), FolderError> {
        self.write_whole("trace.json", &trace.to_string())
    }

    /// Every whole record. A line without its end is not there yet: somebody is writing it, or a kill has cut it short.
    pub fn records(&self) -> Result<Vec<RunRecord>, FolderError> {
        let path = self.path.join(RECORDS);
        let text = read_if_there(&path)?.unwrap_or_default();
        read_records(&path, &text[..whole_lines(&text)])
    }

    /// Takes the records, which it answers as they are then, for a writer of their own, in a folder that is made if it is missing. What a kill cut short
    /// is taken out of them, so that the next one begins on a line of its own: of a line whose writer is at work that would leave nothing.
    ///
    /// # Errors
    /// [`FolderError::Busy`] while somebody else has them.
    pub(crate) fn claim(&self) -> Result<(RecordsClaim, Vec<RunRecord>), FolderError> {
        let path = self.path.join(RECORDS);
        let unwritable = |source| self.unwritable(RECORDS, source);
        let is_new = !self.path.join(MANIFEST).exists();
        let made = make_folder(&self.path).map_err(|source| self.unwritable("", source))?;
        check_own_place(&path).inspect_err(|_| made.take_away()).map_err(unwritable)?;
        let file = loop {
            let options = OpenOptions::new().create(true).read(true).append(true).open(&path);
            let file = options.inspect_err(|_| made.take_away()).map_err(unwritable)?;
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => FolderError::Busy { path: self.path.clone() },
                TryLockError::Error(source) => unwritable(source),
            })?;
            if has_name(&file, &path) {
                break file;
            }
        };
        let claim = RecordsClaim { file, folder: self.path.clone(), made: is_new.then_some(made) };
        let text = read_if_there(&path)?.unwrap_or_default();
        let whole = whole_lines(&text);
        if whole < text.len() {
            claim.file.set_len(whole as u64).map_err(unwritable)?;
        }
        Ok((claim, read_records(&path, &text[..whole])?))
    }

    /// Adds a record; when this returns, it is on disk. Of one that does not fit there no part stays.
    pub fn append(&self, record: &RunRecord) -> Result<(), FolderError> {
        let object = serde_json::to_string(record).expect("a record is plain data");
        let line = sealed(&object) + "\n";
        let path = self.path.join(RECORDS);
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            let before = file.metadata()?.len();
            let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_all());
            // What cannot be written is told; that a part of it cannot be taken away adds nothing.
            written.inspect_err(|_| drop(file.set_len(before)))
        };
        write().map_err(|source| self.unwritable(RECORDS, source))
    }

    /// Reads a file that says of which form it is. One that does not is no other version's: it lacks a field.
    fn read_of_version<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let path = self.path.join(name);
        let Some(text) = read_if_there(&path)? else { return Ok(None) };
        let foreign = |reason: String| FolderError::Foreign { path: path.clone(), reason };
        let unread = |error: serde_json::Error| foreign(json_in_words(&error.to_string()));
        let head: Head = serde_json::from_str(&text).map_err(unread)?;
        if head.version != VERSION {
            return Err(FolderError::OtherForm { path: self.path.clone() });
        }
        if !is_as_written(&text) {
            return Err(foreign(CHANGED.to_owned()));
        }
        serde_json::from_str(&text).map(Some).map_err(unread)
    }

    fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), FolderError> {
        let object = serde_json::to_string_pretty(value).expect("a result is plain data");
        self.write_whole(name, &(sealed(&object) + "\n"))
    }

    fn write_whole(&self, name: &str, text: &str) -> Result<(), FolderError> {
        write_whole(&self.path.join(name), text).map_err(|source| self.unwritable(name, source))
    }

    fn unwritable(&self, name: &str, source: io::Error) -> FolderError {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        FolderError::Unwritable { path, source }
    }
}

/// Records that nobody else writes as long as this lives, which is the lock.
#[derive(Debug)]
pub(crate) struct RecordsClaim {
    file: File,
    folder: PathBuf,
    /// What was made for them, where no study had been there before.
    made: Option<MadeFolders>,
}

impl Drop for RecordsClaim {
    /// Takes away what was made for runs of which none was recorded. Where anything else lies it all stays: the journal of a run on a cluster names the folder.
    fn drop(&mut self) {
        let Some(made) = &self.made else { return };
        let is_empty = self.file.metadata().is_ok_and(|found| found.len() == 0);
        let own = [MANIFEST, RECORDS].map(OsStr::new);
        let is_own = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| own.contains(&entry.file_name().as_os_str()))
        };
        if is_empty && fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.all(is_own)) {
            // What cannot be taken away adds nothing to why no run was made.
            own.iter().for_each(|name| drop(fs::remove_file(self.folder.join(name))));
            made.take_away();
        }
    }
}

fn read_records(path: &Path, lines: &str) -> Result<Vec<RunRecord>, FolderError> {
    let record = |(at, line): (usize, &str)| {
        let foreign = |reason: &str| FolderError::Foreign {
            path: path.to_owned(),
            reason: format!("line {}: {reason}", at + 1),
        };
        if !is_as_written(line) {
            return Err(foreign(CHANGED));
        }
        serde_json::from_str(line).map_err(|error| foreign(&json_in_words(&without_place(&error))))
    };
    lines.lines().enumerate().map(record).collect()
}

/// What is wrong with a text in one line, without the place that says so.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// Bytes up to the last end of a line.
fn whole_lines(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

fn read_if_there(path: &Path) -> Result<Option<String>, FolderError> {
    match read_own(path) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) =>
        {
            Ok(None)
        }
        Err(source) => Err(FolderError::Unreadable { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seed: u64) -> RunRecord {
        RunRecord { seed, ..RunRecord::default() }
    }

    fn seeds(folder: &RunFolder) -> Vec<u64> {
        folder.records().unwrap().iter().map(|record| record.seed).collect()
    }

    /// A kill leaves a part of a line, and the next record must not be written behind it.
    #[test]
    fn a_record_that_was_cut_short_is_taken_out() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(place.path());
        folder.append(&record(1)).unwrap();
        let file = place.path().join("runs.jsonl");
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        assert_eq!(seeds(&folder), [1]);
        let _claim = folder.claim().unwrap();
        folder.append(&record(2)).unwrap();
        assert_eq!(seeds(&folder), [1, 2]);
    }

    /// `study report` looked at a study that was under way, met the first half of a record, and cut the file there; by then the record
    /// could be whole.
    #[test]
    fn a_reader_leaves_the_record_that_is_being_written() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(place.path());
        folder.append(&record(1)).unwrap();
        let file = place.path().join("runs.jsonl");
        let line = fs::read_to_string(&file).unwrap();
        let (begin, rest) = line.split_at(line.len() / 2);
        let mut writer = OpenOptions::new().append(true).open(&file).unwrap();
        writer.write_all(begin.as_bytes()).unwrap();
        assert_eq!(seeds(&folder), [1]);
        writer.write_all(rest.as_bytes()).unwrap();
        assert_eq!(seeds(&folder), [1, 1]);
    }

    /// A second run in the folder cut the record that the first one was writing.
    #[test]
    fn records_have_one_writer() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(place.path());
        let (claim, _) = folder.claim().unwrap();
        let refused = folder.claim().unwrap_err();
        assert!(refused.to_string().contains("is at work in"), "{refused}");
        drop(claim);
        folder.claim().unwrap();
    }
}
