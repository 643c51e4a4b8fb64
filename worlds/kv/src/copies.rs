//! Databases made of others: from a backup, or with more room.

use crate::backup::{BackupError, BackupReader};
use crate::batch::WriteBatch;
use crate::db::{Db, read_store};
use crate::error::{DbError, DbOpenError};
use crate::naming::{hold_folder, name_durably, rename_durably};
use crate::options::DbOptions;
use crate::owner::{DATA_FILE, make_part};
use crate::pending::Pending;
use loadline_base::Bytes;
use loadline_host::in_folder;
use loadline_store::paged::LogMode;
use loadline_store::paged::check::check;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Commits that are on their way into a copy at a time.
const UNDER_WAY_MAX: usize = 32;

/// Makes a database in this folder of a backup, and opens it. It is there when it is whole, and not before; whoever makes another one in the same folder waits for that. It takes
/// the place of nothing that came there meanwhile.
///
/// # Errors
/// [`BackupError`]; there is no database then.
pub fn restore(
    from: impl Read,
    path: impl AsRef<Path>,
    options: DbOptions,
) -> Result<Db, BackupError> {
    let reader = BackupReader::new(from)?;
    let path = path.as_ref();
    let cannot = |error| DbOpenError::Folder { path: path.to_owned(), error }.into();
    in_folder(path, cannot, || restore_there(reader, path, options))
}

/// The same in a folder that is there.
fn restore_there(
    mut reader: BackupReader<impl Read>,
    path: &Path,
    options: DbOptions,
) -> Result<Db, BackupError> {
    let file = path.join(DATA_FILE);
    let exists = || BackupError::from(DbOpenError::Exists { path: file.clone() });
    let cannot = |error| DbOpenError::Folder { path: path.to_owned(), error };
    let never = AtomicBool::new(false);
    let folder = hold_folder(&file, &never).map_err(cannot)?.ok_or(DbOpenError::Interrupted)?;
    if file.exists() {
        return Err(exists());
    }
    let mut copy = Copying::new(folder, &file, options)?;
    while let Some(pairs) = reader.next()? {
        pairs.into_iter().try_for_each(|(key, value)| copy.put(key, value))?;
    }
    copy.finish()?;
    name_durably(&copy.part, &file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => error.into(),
    })?;
    Ok(Db::open_file(&file, options)?)
}

/// Gives the database in this folder, which nobody has open, a file of this size: every key goes into a new one, which takes the old one's place when it is whole, durable and checked.
/// Meanwhile the disk holds both. Where `stop` is set before that, the old one stays.
///
/// # Errors
/// [`BackupError`]; the database is as it was then.
pub fn grow(
    path: impl AsRef<Path>,
    size: Bytes,
    options: DbOptions,
    stop: &AtomicBool,
) -> Result<(), BackupError> {
    let file = path.as_ref().join(DATA_FILE);
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            DbOpenError::Missing { path: file.clone() }
        }
        _ => DbOpenError::Folder { path: file.clone(), error },
    };
    let is = Bytes::new(fs::metadata(&file).map_err(cannot)?.len());
    if size <= is {
        return Err(DbOpenError::NotLarger { path: file, is, wanted: size }.into());
    }
    let goes_on = || match stop.load(Ordering::Relaxed) {
        true => Err(BackupError::from(DbOpenError::Interrupted)),
        false => Ok(()),
    };
    let old = Db::open_file(&file, options)?;
    let folder = hold_folder(&file, stop)?.ok_or(DbOpenError::Interrupted)?;
    let mut copy = Copying::new(folder, &file, DbOptions { size, ..options })?;
    let snapshot = old.snapshot()?;
    old.each_stored(&snapshot, |key, value| {
        goes_on()?;
        copy.put(key.to_vec(), value.to_vec())
    })?;
    copy.finish()?;
    goes_on()?;
    Ok(rename_durably(&copy.part, &file)?)
}

/// A database that is being filled, in a file that is no database's name, and nobody else's as long as the folder is held.
struct Copying {
    _folder: File,
    part: PathBuf,
    db: Option<Db>,
    batch: WriteBatch,
    bytes: usize,
    bytes_max: usize,
    under_way: VecDeque<Pending<u64>>,
}

impl Copying {
    fn new(folder: File, file: &Path, options: DbOptions) -> Result<Copying, BackupError> {
        let part = file.with_added_extension("part");
        if part.exists() {
            // An earlier attempt has died.
            fs::remove_file(&part)?;
        }
        let (batch, under_way) = (WriteBatch::new(), VecDeque::new());
        let (db, bytes, bytes_max) = (None, 0, 0);
        let mut copy = Copying { _folder: folder, part, db, batch, bytes, bytes_max, under_way };
        // Of what cannot be opened nothing stays: from here on it goes with the copy.
        drop(make_part(&copy.part, &options)?);
        let db = Db::open_file(&copy.part, options)?;
        // What a transaction takes at most is a bound of the store's: far below it two of them are under way at a time.
        copy.bytes_max = db.limits().transaction_bytes / 8;
        copy.db = Some(db);
        Ok(copy)
    }

    fn put(&mut self, key: Vec<u8>, stored: Vec<u8>) -> Result<(), BackupError> {
        self.bytes += 2 * key.len() + stored.len() + 64;
        self.batch.put_raw(key, stored);
        if self.bytes >= self.bytes_max { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), BackupError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.promise(LogMode::Background);
        self.bytes = 0;
        self.under_way.extend(self.db.as_ref().map(|db| db.write_later(batch)));
        while self.under_way.len() > UNDER_WAY_MAX {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<(), DbError> {
        self.under_way.pop_front().map_or(Ok(()), |first| first.wait().map(|_| ()))
    }

    /// All of it is durable, and checked: it may get its name.
    fn finish(&mut self) -> Result<(), BackupError> {
        if !self.batch.is_empty() {
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.wait_for_one()?;
        }
        if let Some(db) = &self.db {
            db.checkpoint()?;
        }
        // Closing gives the file's lock back.
        self.db = None;
        match check(&read_store(&self.part)?).is_clean() {
            true => Ok(()),
            false => Err(BackupError::CopyDamaged),
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // A copy that came to its end has another name by now; of one that did not, nothing is of use.
        self.db = None;
        drop(fs::remove_file(&self.part));
    }
}
