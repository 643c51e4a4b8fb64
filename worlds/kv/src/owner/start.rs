//! A database's folder, and the thread that owns what is in it.

use super::DbOwner;
use super::device::StoreOnDisk;
use super::mail::DbAsk;
use crate::error::DbOpenError;
use crate::options::DbOptions;
use loadline_host::{Discards, DiskOpen, Holding, Mailbox, OpenedDisk};
use loadline_store::paged::bounds::StoreLimits;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

/// The file of a database, in its folder.
pub(crate) const DATA_FILE: &str = "data";

/// An owner that runs.
pub(crate) struct StartedOwner {
    pub(crate) mailbox: Mailbox<DbAsk>,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) limits: StoreLimits,
}

/// Opens the store in this file, which is made if it is missing or holds nothing, on a thread of its own.
pub(crate) fn start(file: PathBuf, options: DbOptions) -> Result<StartedOwner, DbOpenError> {
    let (tell, told) = channel();
    let path = file.clone();
    // The loop belongs to the thread that it was made on.
    let thread = Builder::new().name("loadline-kv".to_owned()).spawn(move || {
        let opened = open_disk(&file, &options).and_then(|disk| StoreOnDisk::open(disk, &options));
        match opened {
            Ok(device) => {
                let limits = device.store().limits();
                if tell.send(Ok((device.mailbox(), limits))).is_ok() {
                    DbOwner::new(device, options.versions.get(), options.log_mode).run();
                }
            }
            // Whoever opens waits for this.
            Err(error) => drop(tell.send(Err(error))),
        }
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

/// Opens the file, and writes an empty store onto one that holds nothing.
fn open_disk(file: &Path, options: &DbOptions) -> Result<OpenedDisk, DbOpenError> {
    let folder = |error| DbOpenError::Folder { path: file.to_owned(), error };
    if !options.create && !file.exists() {
        return Err(DbOpenError::Missing { path: file.to_owned() });
    }
    let open = DiskOpen { discards: Discards::Keep, ..DiskOpen::or_create(file, options.size) };
    let disk = open.open()?;
    if disk.lacks().get() > 0 {
        return Err(DbOpenError::NoRoom { path: file.to_owned(), lacks: disk.lacks() });
    }
    // A crash may have come between the making of the file and that of the store.
    if matches!(Holding::of(file).map_err(folder)?, Holding::Nothing | Holding::Unfinished) {
        loadline_host::write_store(file, disk.size(), options.protection)?;
    }
    Ok(disk)
}
