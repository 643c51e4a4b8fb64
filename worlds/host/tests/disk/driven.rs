//! A disk with the loop that drives it.

use loadline_base::Bytes;
use loadline_device::{ClassTag, Outcome, Priority, Request, RequestKind, contract};
use loadline_host::{BackendChoice, DiskId, Loop, LoopEvent, LoopOptions, OpenedDisk};
use std::path::PathBuf;

/// A folder on the disk that holds the build, which is a real file system.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build's folder can be written")
}

/// A folder in memory, where there is one.
pub(crate) fn memory_folder() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

/// The backends that this system has; what is missing is said.
pub(crate) fn backends() -> Vec<BackendChoice> {
    let uring = LoopOptions { backend: BackendChoice::Uring, ..LoopOptions::default() };
    match Loop::<()>::new(uring) {
        Ok(_) => vec![BackendChoice::Uring, BackendChoice::Threads],
        Err(refused) => {
            println!("tested with threads only: {refused}");
            vec![BackendChoice::Threads]
        }
    }
}

pub(crate) fn request(kind: RequestKind, offset: u64, length: u64) -> Request {
    Request {
        kind,
        offset,
        length: Bytes::new(length),
        class: ClassTag(0),
        priority: Priority::default(),
        duration_limit: None,
    }
}

pub(crate) struct Driven {
    pub(crate) turns: Loop<()>,
    pub(crate) disk: DiskId,
    answers: Vec<LoopEvent<()>>,
}

impl Driven {
    pub(crate) fn new(options: LoopOptions, disk: OpenedDisk) -> Driven {
        let mut turns = Loop::new(options).expect("a loop can be made");
        let disk = turns.add_disk(disk).expect("a disk can be added");
        Driven { turns, disk, answers: Vec::new() }
    }
}

impl contract::ContractDisk for Driven {
    fn size(&self) -> Bytes {
        self.turns.disk(self.disk).size()
    }

    fn sector(&self) -> u32 {
        self.turns.disk(self.disk).sector()
    }

    fn submit(&mut self, id: u64, request: &Request, data: Vec<u8>) {
        self.turns.submit(self.disk, id, request, data);
    }

    fn wait(&mut self) -> (u64, Outcome, Vec<u8>) {
        while self.answers.is_empty() {
            self.turns.turn(None, &mut self.answers);
        }
        match self.answers.remove(0) {
            LoopEvent::DiskDone { disk, token, outcome, data, error } => {
                assert_eq!(disk, self.disk);
                assert_eq!(error.is_some(), outcome == Outcome::Failed);
                (token, outcome, data)
            }
            other => panic!("a loop with one disk told {other:?}"),
        }
    }
}

/// A block device made from a file, until it is dropped.
pub(crate) struct LoopDevice {
    pub(crate) path: PathBuf,
}

impl LoopDevice {
    /// A device on `file`, or why there is none.
    pub(crate) fn new(file: &std::path::Path) -> Result<LoopDevice, String> {
        let made =
            std::process::Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let made = made.map_err(|error| format!("losetup cannot be started: {error}"))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        Ok(LoopDevice { path: String::from_utf8_lossy(&made.stdout).trim().into() })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
