//! The benchmark's folder: where what lies, which steps are finished, and whose folder it is (cdl.md 3.4).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
/// Everything that was asked for, so that only the same run goes on in a folder.
const MANIFEST: &str = "bench.json";

/// What fio's output says of reads begins with this; the figure behind it is reads per second.
pub(crate) const READ_LINE: &str = "  read: IOPS=";

/// A benchmark's folder.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// Why a folder cannot take a run.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Something else is there.
    #[error(
        "--outdir: Output directory {} exists. Move it out of the way: {why}",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        why: &'static str,
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

impl Folder {
    /// A folder that is there already, whoever made it.
    pub fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned() }
    }

    /// A new folder for the run that `manifest` tells of, or the one in which the same run was begun before.
    pub fn begin(root: &Path, manifest: &str) -> Result<Folder, FolderError> {
        let folder = Folder::at(root);
        let kept = root.join(MANIFEST);
        if root.exists() {
            let exists = |why| FolderError::Exists { path: root.to_owned(), why };
            let found = fs::read_to_string(&kept);
            let found = found.map_err(|_| exists("it holds no run that could be continued"))?;
            return match found == manifest {
                true => Ok(folder),
                false => Err(exists("it holds a run with other options")),
            };
        }
        make(root)?;
        write(&kept, manifest)?;
        Ok(folder)
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

    /// Whether a step was carried out whole.
    pub fn is_finished(&self, workload: &str, depth: u32) -> bool {
        let log = fs::read_to_string(self.step(workload, depth).join(FIO_LOG));
        log.is_ok_and(|text| text.contains(READ_LINE))
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

/// Makes a folder with all above it.
pub(crate) fn make(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|source| unusable(path, source))
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), FolderError> {
    fs::write(path, text).map_err(|source| unusable(path, source))
}

/// What happened to a path.
pub(crate) fn unusable(path: &Path, source: io::Error) -> FolderError {
    FolderError::Unusable { path: path.to_owned(), source }
}
