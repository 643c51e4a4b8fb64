//! What searches of all kinds share: their threads, the command that meets again what one found, and the disks of it.

use crate::cli::SoakArgs;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_sim::StoreDisks;
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How often a line says that it goes on.
pub(super) const LINE_EVERY: Duration = Duration::from_secs(10);

thread_local! {
    /// The command that has what this thread runs happen again, for the message of a bug that ends the process.
    static RUNNING: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Threads that search.
pub(super) fn jobs(args: &SoakArgs) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    args.jobs.unwrap_or(cores as u32)
}

/// Before a bug's assertion ends the process, says how it can be had again.
pub(super) fn name_the_command_of_a_bug() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        if let Some(command) = RUNNING.take() {
            show::note(&format!("a bug; it is met again with: {command}"));
        }
    }));
}

/// Runs something that this command has happen again.
pub(super) fn named<T>(command: String, f: impl FnOnce() -> T) -> T {
    RUNNING.set(Some(command));
    let result = f();
    RUNNING.set(None);
    result
}

/// The images of kept disks.
const IMAGES: [&str; 2] = ["data.img", "log.img"];

/// Whether disks could be kept in this folder: it has none yet.
pub(super) fn may_keep_in(folder: &Path) -> Result<(), Failure> {
    writable::folder(folder)?;
    match folder.is_dir() {
        true => IMAGES.iter().try_for_each(|name| writable::file(&folder.join(name))),
        false => Ok(()),
    }
}

/// Keeps disks as images that `loadline inspect` reads.
pub(super) fn keep_in(folder: &Path, StoreDisks { data, log }: &StoreDisks) -> Result<(), Failure> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(folder).map_err(|error| Failure::unwritable(&path, &error))?;
        writable::write(&path, bytes)
    };
    write(IMAGES[0], &data.image())?;
    log.as_ref().map_or(Ok(()), |log| write(IMAGES[1], &log.image()))
}
