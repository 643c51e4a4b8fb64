//! A database's file, and the thread that owns what is in it.

use super::DbOwner;
use super::device::StoreOnDisk;
use super::mail::DbAsk;
use crate::error::{DbError, DbOpenError};
use crate::naming::{hold_folder, rename_durably};
use crate::options::DbOptions;
use loadline_host::{Discards, DiskOpen, Holding, Mailbox, OpenedDisk};
use loadline_store::paged::bounds::StoreLimits;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

/// The file of a database, in its folder.
pub(crate) const DATA_FILE: &str = "data";

/// An owner that runs.
pub(crate) struct StartedOwner {
    pub(crate) mailbox: Mailbox<DbAsk>,
    /// Answers at its end whether everything that was answered is durable.
    pub(crate) thread: JoinHandle<Result<(), DbError>>,
    pub(crate) limits: StoreLimits,
}

/// Opens the store in this file, which may be made if it is missing and nobody says meanwhile to stop, on a thread of its own.
pub(crate) fn start(
    file: PathBuf,
    options: DbOptions,
    stop: Arc<AtomicBool>,
) -> Result<StartedOwner, DbOpenError> {
    let (tell, told) = channel();
    let path = file.clone();
    // The loop belongs to the thread that it was made on.
    let thread = Builder::new().name("loadline-kv".to_owned()).spawn(move || {
        match open(&file, &options, &stop) {
            Ok(device) => {
                let limits = device.store().limits();
                if tell.send(Ok((device.mailbox(), limits))).is_ok() {
                    return DbOwner::new(device, options.versions.get(), options.log_mode).run();
                }
            }
            // Whoever opens waits for this.
            Err(error) => drop(tell.send(Err(error))),
        }
        Ok(())
    });
    let thread = thread.map_err(|error| DbOpenError::Folder { path: path.clone(), error })?;
    match told.recv() {
        Ok(Ok((mailbox, limits))) => Ok(StartedOwner { mailbox, thread, limits }),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let error = std::io::Error::other("the owner's thread has died");
            Err(DbOpenError::Folder { path, error })
        }
    }
}

/// Opens the store in the file; one that is missing is made, if that is asked for. One that is there is never made anew if it may be what is left
/// of a database.
fn open(file: &Path, options: &DbOptions, stop: &AtomicBool) -> Result<StoreOnDisk, DbOpenError> {
    let cannot = |error| DbOpenError::Folder { path: file.to_owned(), error };
    if !file.try_exists().map_err(cannot)? {
        if !options.create {
            return Err(DbOpenError::Missing { path: file.to_owned() });
        }
        if let Some(made) = make(file, options, stop)? {
            return Ok(made);
        }
    }
    let disk = opened(file, DiskOpen::existing(file))?;
    match Holding::of(file).map_err(cannot)? {
        // An earlier program died while it made one under this name.
        Holding::Unfinished if options.create => {
            loadline_host::write_store(file, disk.size(), options.protection)?;
        }
        Holding::Unfinished => return Err(DbOpenError::Missing { path: file.to_owned() }),
        Holding::Nothing => return Err(DbOpenError::Lost { path: file.to_owned() }),
        Holding::Store | Holding::Other(_) => {}
    }
    StoreOnDisk::open(disk, options)
}

fn opened(file: &Path, open: DiskOpen) -> Result<OpenedDisk, DbOpenError> {
    let disk = DiskOpen { discards: Discards::Keep, ..open }.open()?;
    if disk.lacks().get() > 0 {
        return Err(DbOpenError::NoRoom { path: file.to_owned(), lacks: disk.lacks() });
    }
    Ok(disk)
}

/// Makes an empty database under another name, and opens it there; when both are done it gets its own: a file of that name is a database, or was
/// one, and of what cannot be opened, or is not wanted any more, nothing is left. `None` if somebody else has made one by the time that the folder is
/// nobody else's.
fn make(
    file: &Path,
    options: &DbOptions,
    stop: &AtomicBool,
) -> Result<Option<StoreOnDisk>, DbOpenError> {
    let cannot = |error| DbOpenError::Folder { path: file.to_owned(), error };
    let held = hold_folder(file, stop).map_err(cannot)?;
    let _folder = held.ok_or(DbOpenError::Interrupted)?;
    if file.exists() {
        return Ok(None);
    }
    let new = file.with_added_extension("new");
    let remove = || if new.exists() { fs::remove_file(&new) } else { Ok(()) };
    // Of an attempt that has died.
    remove().map_err(cannot)?;
    let made = make_part(&new, options).and_then(|disk| {
        let device = StoreOnDisk::open(disk, options)?;
        if stop.load(Ordering::Relaxed) {
            return Err(DbOpenError::Interrupted);
        }
        rename_durably(&new, file).map_err(cannot)?;
        Ok(Some(device))
    });
    made.inspect_err(|_| {
        // What the caller is told is why.
        drop(remove());
    })
}

/// Makes an empty store in a file that is no database's name, and nobody else's as long as the folder is held.
pub(crate) fn make_part(part: &Path, options: &DbOptions) -> Result<OpenedDisk, DbOpenError> {
    let disk = opened(part, DiskOpen::or_create(part, options.size))?;
    loadline_host::write_store(part, disk.size(), options.protection)?;
    Ok(disk)
}
