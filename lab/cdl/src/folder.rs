//! The benchmark's folder: where what lies, which steps are finished, whose folder it is, and who is at work in it
//! (cdl.md 3.4).

use crate::kept::{self, MANIFEST};
use loadline_host::{
    check_own_place, draft_of, has_name, make_folder, make_own_folder, open_own, read_own,
    write_whole,
};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// The command line, a blank line, fio's normal output. It is put in its place last, so a step that has one is finished.
pub(crate) const FIO_LOG: &str = "fio.log";
/// Total latency of each read.
pub(crate) const LAT_LOG: &str = "randread.log_lat.log";
/// Completion latency of each read.
pub(crate) const CLAT_LOG: &str = "randread.log_clat.log";
/// Submission latency of each read.
pub(crate) const SLAT_LOG: &str = "randread.log_slat.log";
/// The same run as fio's JSON+ report, which the scripts do not know.
pub(crate) const FIO_JSON: &str = "fio.json";
/// The drive's descriptors in words, beside the depths of a workload with limits.
pub(crate) const DESCRIPTORS: &str = "cdl_descriptors";
/// Whoever runs in the folder holds a lock on this file.
const LOCK: &str = "bench.lock";

/// What fio's output says of reads begins with this; the figure behind it is reads per second.
pub(crate) const READ_LINE: &str = "  read: IOPS=";

/// A benchmark's folder.
#[derive(Clone, Debug)]
pub struct BenchFolder {
    root: PathBuf,
    /// Held as long as a run is at work here.
    lock: Option<Arc<File>>,
}

/// Why a folder cannot take a run.
#[derive(Debug, thiserror::Error)]
pub enum BenchFolderError {
    /// Something else is there.
    #[error(
        "--outdir: Output directory {} exists. Move it out of the way: {why}",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        why: String,
    },
    /// Somebody else runs in it.
    #[error(
        "--outdir: another benchmark, or a fio that one has left behind, is at work in {}; wait for its end, or end it",
        path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl BenchFolder {
    /// A folder that is there already, whoever made it.
    pub fn at(root: &Path) -> BenchFolder {
        BenchFolder { root: root.to_owned(), lock: None }
    }

    /// A new folder for the run that `manifest` tells of, of which nothing stays where that cannot be written; or the one in which the same run was
    /// begun before. Until it and all children that [`hold`](Self::hold) it are gone, nobody else can begin there.
    pub fn begin(root: &Path, manifest: &str) -> Result<BenchFolder, BenchFolderError> {
        let exists = |why| BenchFolderError::Exists { path: root.to_owned(), why };
        if root.exists() && !is_a_runs(root) {
            return Err(exists("it holds no run that could be continued".to_owned()));
        }
        let made = make_folder(root).map_err(|source| unusable(root, source))?;
        let lock = take_lock(root).inspect_err(|_| made.take_away())?;
        let place = root.join(MANIFEST);
        match read_bytes(&place) {
            Ok(found) => kept::check_same(&found, manifest).map_err(exists)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write(&place, manifest).inspect_err(|_| {
                    // It is nobody else's as long as it is locked.
                    drop(fs::remove_file(root.join(LOCK)));
                    made.take_away();
                })?;
            }
            Err(error) => return Err(unusable(&place, error)),
        }
        Ok(BenchFolder { root: root.to_owned(), lock: Some(Arc::new(lock)) })
    }

    /// A standard input for a child that holds the lock as long as the child or a child of it lives, even if this program
    /// is killed. There is nothing to be read from it.
    pub(crate) fn hold(&self) -> Result<Stdio, BenchFolderError> {
        let Some(lock) = &self.lock else { return Ok(Stdio::null()) };
        let again = lock.try_clone().map_err(|source| unusable(&self.root.join(LOCK), source))?;
        Ok(again.into())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A workload's folder.
    pub fn workload(&self, workload: &str) -> PathBuf {
        self.root.join(workload)
    }

    /// A step's folder.
    pub fn step(&self, workload: &str, depth: u32) -> PathBuf {
        self.workload(workload).join(depth.to_string())
    }

    /// Where the plots go.
    pub fn plots(&self) -> PathBuf {
        self.root.join("plots")
    }

    /// Whether a step was carried out whole, and what all its figures come from is still there.
    pub fn is_finished(&self, workload: &str, depth: u32) -> bool {
        self.finished_log(workload, depth).is_some()
    }

    /// What fio said of such a step.
    pub(crate) fn finished_log(&self, workload: &str, depth: u32) -> Option<String> {
        let step = self.step(workload, depth);
        let has_latencies = fs::metadata(step.join(LAT_LOG)).is_ok_and(|found| found.len() > 0);
        let log = has_latencies.then(|| read_own(&step.join(FIO_LOG)).ok())??;
        log.contains(READ_LINE).then_some(log)
    }

    /// Makes a step's folder. It is not finished from now on: what an earlier run has left counts no more.
    pub(crate) fn begin_step(
        &self,
        workload: &str,
        depth: u32,
    ) -> Result<PathBuf, BenchFolderError> {
        let step = self.step(workload, depth);
        make(&step)?;
        let log = step.join(FIO_LOG);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&log, error)),
            _ => Ok(step),
        }
    }

    /// The depths that a workload's folder has, as the scripts see them: names that begin with 1 to 9.
    pub fn depths(&self, workload: &str) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.workload(workload)) else { return Vec::new() };
        let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let depths = entries.filter_map(name).filter(|name| !name.starts_with('0'));
        let mut depths: Vec<u32> = depths.filter_map(|name| name.parse().ok()).collect();
        depths.sort_unstable();
        depths
    }
}

/// Whether a run was begun in a folder, if only just: one that was ended at once has left no more than its lock.
fn is_a_runs(root: &Path) -> bool {
    if root.join(MANIFEST).exists() {
        return true;
    }
    let Ok(entries) = fs::read_dir(root) else { return false };
    let ours = [PathBuf::from(LOCK), draft_of(Path::new(MANIFEST))];
    let mut names = entries.map(|entry| Some(PathBuf::from(entry.ok()?.file_name()))).peekable();
    names.peek().is_some() && names.all(|name| name.is_some_and(|name| ours.contains(&name)))
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_own(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn take_lock(root: &Path) -> Result<File, BenchFolderError> {
    let path = root.join(LOCK);
    loop {
        let file = File::options().create(true).read(true).append(true).open(&path);
        let file = file.map_err(|source| unusable(&path, source))?;
        match file.try_lock() {
            Ok(()) if has_name(&file, &path) => return Ok(file),
            // Whoever had it could not begin, and has taken it away.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(BenchFolderError::Busy { path: root.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(&path, source)),
        }
    }
}

/// Makes a folder with all above it.
pub(crate) fn make(path: &Path) -> Result<(), BenchFolderError> {
    make_folder(path).map(drop).map_err(|source| unusable(path, source))
}

/// Makes the folder of plots, which is nobody else's.
pub(crate) fn make_own(path: &Path) -> Result<(), BenchFolderError> {
    make_own_folder(path).map_err(|source| unusable(path, source))
}

/// Puts a file in place whole or not at all, whenever this program or the machine stops.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), BenchFolderError> {
    write_whole(path, text).map_err(|source| unusable(path, source))
}

/// Begins a file that grows line by line, over one that was there.
pub(crate) fn create(path: &Path) -> Result<File, BenchFolderError> {
    let created = check_own_place(path).and_then(|()| File::create(path));
    created.map_err(|source| unusable(path, source))
}

/// What happened to a path.
pub(crate) fn unusable(path: &Path, source: io::Error) -> BenchFolderError {
    BenchFolderError::Unusable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that is ended while it repeats a step must not leave the earlier end beside new latencies.
    #[test]
    fn a_step_that_begins_again_is_not_finished() {
        let place = tempfile::tempdir().unwrap();
        let folder = BenchFolder::begin(&place.path().join("run"), "{}").unwrap();
        let step = folder.begin_step("baseline", 4).unwrap();
        assert!(!folder.is_finished("baseline", 4));
        fs::write(step.join(LAT_LOG), "1, 1, 0, 1, 0x0000\n").unwrap();
        fs::write(step.join(FIO_LOG), format!("{READ_LINE}5\n")).unwrap();
        assert!(folder.is_finished("baseline", 4));
        folder.begin_step("baseline", 4).unwrap();
        assert!(!folder.is_finished("baseline", 4));
    }
}
