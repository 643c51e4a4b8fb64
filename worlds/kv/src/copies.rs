//! Databases made of others: from a backup, or with more room.

use crate::backup::{BackupError, BackupReader};
use crate::batch::WriteBatch;
use crate::db::{Db, read_store};
use crate::error::{DbError, DbOpenError};
use crate::naming::rename_durably;
use crate::options::DbOptions;
use crate::owner::DATA_FILE;
use crate::pending::Pending;
use loadline_base::Bytes;
use loadline_host::make_folder;
use loadline_store::paged::LogMode;
use loadline_store::paged::check::check;
use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Commits that are on their way into a copy at a time.
const UNDER_WAY_MAX: usize = 32;

/// Makes a database in this folder of a backup, and opens it. It is there when it is whole, and not before.
///
/// # Errors
/// [`BackupError`]; there is no database then.
pub fn restore(
    from: impl Read,
    path: impl AsRef<Path>,
    options: DbOptions,
) -> Result<Db, BackupError> {
    let mut reader = BackupReader::new(from)?;
    let file = path.as_ref().join(DATA_FILE);
    if file.exists() {
        return Err(DbOpenError::Exists { path: file }.into());
    }
    let folder = |error| DbOpenError::Folder { path: path.as_ref().to_owned(), error };
    make_folder(path.as_ref()).map_err(folder)?;
    let mut copy = Copying::new(&file, options)?;
    while let Some(pairs) = reader.next()? {
        pairs.into_iter().try_for_each(|(key, value)| copy.put(key, value))?;
    }
    copy.finish(&file)?;
    Ok(Db::open_file(&file, options)?)
}

/// Gives the database in this folder, which nobody has open, a file of this size: every key goes into a new one, which takes the old one's place when it is whole, durable and checked.
/// Meanwhile the disk holds both.
///
/// # Errors
/// [`BackupError`]; the database is as it was then.
pub fn grow(path: impl AsRef<Path>, size: Bytes, options: DbOptions) -> Result<(), BackupError> {
    let file = path.as_ref().join(DATA_FILE);
    let missing = |error| DbOpenError::Folder { path: file.clone(), error };
    let is = Bytes::new(fs::metadata(&file).map_err(missing)?.len());
    if size <= is {
        return Err(DbOpenError::NotLarger { path: file, is, wanted: size }.into());
    }
    let old = Db::open_file(&file, options)?;
    let mut copy = Copying::new(&file, DbOptions { size, ..options })?;
    let snapshot = old.snapshot()?;
    old.each_stored(&snapshot, |key, value| copy.put(key.to_vec(), value.to_vec()))?;
    copy.finish(&file)
}

/// A database that is being filled, in a file that is no database's name.
struct Copying {
    part: PathBuf,
    db: Option<Db>,
    batch: WriteBatch,
    bytes: usize,
    bytes_max: usize,
    under_way: VecDeque<Pending<u64>>,
}

impl Copying {
    fn new(file: &Path, options: DbOptions) -> Result<Copying, BackupError> {
        let part = file.with_added_extension("part");
        if part.exists() {
            // An earlier attempt has died.
            fs::remove_file(&part)?;
        }
        let db = Db::open_file(&part, DbOptions { create: true, ..options })?;
        // What a transaction takes at most is a bound of the store's: far below it two of them are under way at a time.
        let bytes_max = db.limits().transaction_bytes / 8;
        let (batch, under_way) = (WriteBatch::new(), VecDeque::new());
        Ok(Copying { part, db: Some(db), batch, bytes: 0, bytes_max, under_way })
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

    /// All of it is durable, checked, and gets its name.
    fn finish(mut self, file: &Path) -> Result<(), BackupError> {
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
            true => Ok(rename_durably(&self.part, file)?),
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
