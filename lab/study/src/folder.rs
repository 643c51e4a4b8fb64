//! A study's folder: manifest, records, result. A killed study continues from it.

use crate::facts::RunFacts;
use crate::inputs::Inputs;
use crate::record::RunRecord;
use crate::result::{StudyResult, VERSION};
use loadline_host::why;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
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
    /// A file is not what a study wrote.
    #[error("{} is not a file of a study: {reason}; take another --out, or put back what was there", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

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

    /// Makes the folder.
    pub fn create(&self) -> Result<(), FolderError> {
        fs::create_dir_all(&self.path).map_err(|source| self.unwritable("", source))
    }

    /// The manifest; `None` if the folder has none yet.
    ///
    /// # Errors
    /// [`FolderError::OtherForm`] if another version of the program made the folder in a form that is no longer read.
    pub fn manifest(&self) -> Result<Option<Manifest>, FolderError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            version: u32,
        }
        match self.read_json::<Head>("manifest.json")? {
            Some(head) if head.version != VERSION => {
                Err(FolderError::OtherForm { path: self.path.clone() })
            }
            _ => self.read_json("manifest.json"),
        }
    }

    /// Writes the manifest, whole or not at all.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        self.write_json("manifest.json", manifest)
    }

    /// The result; `None` if the study has not ended.
    pub fn result(&self) -> Result<Option<StudyResult>, FolderError> {
        self.read_json("results.json")
    }

    /// Writes the result, whole or not at all.
    pub fn write_result(&self, result: &StudyResult) -> Result<(), FolderError> {
        self.write_json("results.json", result)
    }

    /// Takes the result away, if there is one.
    pub(crate) fn remove_result(&self) -> Result<(), FolderError> {
        match fs::remove_file(self.path.join("results.json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.unwritable("results.json", error))
            }
            _ => Ok(()),
        }
    }

    /// Writes the stages of traced ops in the form that trace viewers open.
    pub fn write_trace(&self, trace: &serde_json::Value) -> Result<(), FolderError> {
        self.write_whole("trace.json", &trace.to_string())
    }

    /// Every whole record. A line that a kill cut short is not there yet, and is taken out of the file, so
    /// that the next record begins on a line of its own.
    pub fn records(&self) -> Result<Vec<RunRecord>, FolderError> {
        let path = self.path.join("runs.jsonl");
        let Some(text) = read_if_there(&path)? else { return Ok(Vec::new()) };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            let file = OpenOptions::new().write(true).open(&path);
            file.and_then(|file| file.set_len(whole as u64))
                .map_err(|source| self.unwritable("runs.jsonl", source))?;
        }
        let record = |line: &str| {
            serde_json::from_str(line).map_err(|error| FolderError::Foreign {
                path: path.clone(),
                reason: error.to_string(),
            })
        };
        text[..whole].lines().map(record).collect()
    }

    /// Adds a record; when this returns, it is on disk.
    pub fn append(&self, record: &RunRecord) -> Result<(), FolderError> {
        let line = serde_json::to_string(record).expect("a record is plain data") + "\n";
        let path = self.path.join("runs.jsonl");
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|source| self.unwritable("runs.jsonl", source))
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
        let path = self.path.join(name);
        let Some(text) = read_if_there(&path)? else { return Ok(None) };
        let read = serde_json::from_str(&text);
        read.map(Some).map_err(|error| FolderError::Foreign { path, reason: error.to_string() })
    }

    fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(value).expect("a result is plain data") + "\n";
        self.write_whole(name, &text)
    }

    fn write_whole(&self, name: &str, text: &str) -> Result<(), FolderError> {
        write_whole(&self.path.join(name), text).map_err(|source| self.unwritable(name, source))
    }

    fn unwritable(&self, name: &str, source: io::Error) -> FolderError {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        FolderError::Unwritable { path, source }
    }
}

/// Writes a file, whole or not at all: a full disk leaves what was there before.
///
/// # Errors
/// The system's, if it could not be written.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let draft = path.with_added_extension("draft");
    let write = || -> io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().inspect_err(|_| {
        // What cannot be written is reported; that a part of it cannot be taken away adds nothing.
        let _ = fs::remove_file(&draft);
    })
}

fn read_if_there(path: &Path) -> Result<Option<String>, FolderError> {
    match fs::read_to_string(path) {
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

    /// A kill leaves a part of a line, and the next record must not be written behind it.
    #[test]
    fn a_record_that_was_cut_short_is_taken_out() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(place.path());
        let record = |seed| RunRecord { seed, ..RunRecord::default() };
        folder.append(&record(1)).unwrap();
        let file = place.path().join("runs.jsonl");
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        let seeds =
            || -> Vec<u64> { folder.records().unwrap().iter().map(|record| record.seed).collect() };
        assert_eq!(seeds(), [1]);
        folder.append(&record(2)).unwrap();
        assert_eq!(seeds(), [1, 2]);
    }
}
