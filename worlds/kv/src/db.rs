//! The front door: a database that many threads share.

use crate::backup::{BackupError, BackupWriter, may_replace};
use crate::batch::WriteBatch;
use crate::error::{DbError, DbOpenError};
use crate::handle::DbHandle;
use crate::keyspace::Keyspace;
use crate::naming::{hold_part, rename_durably};
use crate::notes::NoteWalk;
use crate::options::DbOptions;
use crate::owner::{
    DATA_FILE, DbAsk, DbStatistics, GetAnswer, ScanAsk, ScanOrder, ScanPart, start,
};
use crate::pending::Pending;
use crate::record::{self, DbEntry};
use crate::snapshot::DbSnapshot;
use crate::transaction::DbTransaction;
use crate::update::{DbUpdate, UpdateKeys};
use crate::watch::DbWatch;
use loadline_base::Span;
use loadline_host::{StoreFiles, in_folder};
use loadline_store::paged::bounds::StoreLimits;
use loadline_store::paged::check::{CheckReport, check_pages};
use loadline_store::paged::ids::CheckpointId;
use loadline_store::paged::metrics::CheckpointReport;
use std::fs::{self, File};
use std::io::{BufWriter, IntoInnerError, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open database. Copies are cheap and lead to the same one; dropping the last of them and of what was made of it (snapshots, transactions, iterators) closes it,
/// which waits until everything that was asked is carried out and synced; [`close`](Db::close) does the same and tells whether it is. If the last one goes with the function of an
/// [`update`](Db::update), on the database's own thread, it is closed without anybody who waits.
#[derive(Clone)]
pub struct Db {
    handle: Arc<DbHandle>,
}

impl Db {
    /// Opens the database in this folder, or makes one where there is none. Nobody else can have it open meanwhile.
    ///
    /// # Errors
    /// [`DbOpenError`] with one sentence: the folder, the file or the store in it cannot be used.
    pub fn open(path: impl AsRef<Path>, options: DbOptions) -> Result<Db, DbOpenError> {
        Db::open_unless(path, options, Arc::default())
    }

    /// The same; a database that is not whole yet when `stop` is set is not made.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`DbOpenError::Interrupted`]: nothing is left then.
    pub fn open_unless(
        path: impl AsRef<Path>,
        options: DbOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Db, DbOpenError> {
        let path = path.as_ref();
        let (file, create) = (path.join(DATA_FILE), options.create);
        let open = || Db::open_file_unless(&file, options, stop);
        let cannot = |error| DbOpenError::Folder { path: path.to_owned(), error };
        if create { in_folder(path, cannot, open) } else { open() }
    }

    /// Opens, or makes, the database in this file; or the one on a block device on which an empty store was written.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_file(file: &Path, options: DbOptions) -> Result<Db, DbOpenError> {
        Db::open_file_unless(file, options, Arc::default())
    }

    fn open_file_unless(
        file: &Path,
        options: DbOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Db, DbOpenError> {
        let started = start(file.to_owned(), options, stop)?;
        Ok(Db { handle: DbHandle::new(started, options.log_mode, file.to_owned()) })
    }

    /// A keyspace of this name: see [`Keyspace::new`].
    ///
    /// # Errors
    /// [`DbError::KeyspaceName`].
    pub fn keyspace(&self, name: impl AsRef<[u8]>) -> Result<Keyspace, DbError> {
        Keyspace::new(name)
    }

    /// The keyspaces that have keys, in the order of their names' lengths, then of their names.
    ///
    /// # Errors
    /// What the disk does not let.
    pub fn keyspaces(&self) -> Result<Vec<Keyspace>, DbError> {
        let snapshot = self.snapshot()?;
        let mut rest = record::all_keys();
        let mut found: Vec<Keyspace> = Vec::new();
        loop {
            let part = self.part(&snapshot, rest.clone(), 1).wait()?;
            if let Some((key, _)) = part.pairs.first() {
                let (name, _) = record::split(key).unwrap_or_default();
                let keyspace = Keyspace::new(name)?;
                rest.start = keyspace.behind();
                found.push(keyspace);
            } else if let Some(left) = part.rest {
                rest = left;
            } else {
                return Ok(found);
            }
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// What the disk does not let.
    pub fn get(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        self.get_later(keyspace, key).wait()
    }

    /// The same, to be awaited.
    pub fn get_later(&self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<Vec<u8>>> {
        let key = keyspace.key(key);
        self.handle.get(key, None, usize::MAX, GetAnswer::Value)
    }

    /// The value of a key with when it expires, to be awaited.
    pub fn entry_later(&self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<DbEntry>> {
        let key = keyspace.key(key);
        self.handle.get(key, None, usize::MAX, GetAnswer::Entry)
    }

    /// The same, if the value has no more bytes than so many: otherwise [`DbError::Longer`] says how many it has, and it is not in memory for whoever has no room for it.
    pub fn entry_within_later(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        most: usize,
    ) -> Pending<Option<DbEntry>> {
        self.handle.get(keyspace.key(key), None, most, GetAnswer::Entry)
    }

    /// Sets a key. Answers the commit's number.
    ///
    /// # Errors
    /// [`DbError::Full`], and what exceeds [`limits`](Self::limits).
    pub fn put(&self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<u64, DbError> {
        let mut batch = WriteBatch::new();
        batch.put(keyspace, key, value);
        self.write(batch)
    }

    /// Sets a key that is gone when so much time has passed, whether or not the database is open meanwhile.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_for(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        value: &[u8],
        lives: Span,
    ) -> Result<u64, DbError> {
        let mut batch = WriteBatch::new();
        batch.put_for(keyspace, key, value, lives);
        self.write(batch)
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// What the disk does not let.
    pub fn remove(&self, keyspace: &Keyspace, key: &[u8]) -> Result<u64, DbError> {
        let mut batch = WriteBatch::new();
        batch.remove(keyspace, key);
        self.write(batch)
    }

    /// Carries all changes of a batch out, or none. Answers the commit's number.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn write(&self, batch: WriteBatch) -> Result<u64, DbError> {
        self.write_later(batch).wait()
    }

    /// The same, to be awaited. It is carried out also if nobody awaits it.
    pub fn write_later(&self, batch: WriteBatch) -> Pending<u64> {
        self.handle.commit(batch.into_parts(), None)
    }

    /// Carries a function of what these keys hold out, on what they hold then, and commits what it changes of them. It runs on the database's own thread, so
    /// it should be short; several that are asked for one key at a time go together, and none waits for another one's flush. It may be carried
    /// out again where that was in vain, and what it answers last is the answer, which comes when the commit and all that it has found is as durable
    /// as was promised. It cannot wait for this database ([`DbError::WaitsForItself`]): what it needs of it are the keys that it was asked for with.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use loadline_kv::{Db, DbOptions, UpdateKeys};
    /// # let folder = tempfile::tempdir()?;
    /// # let db = Db::open(folder.path(), DbOptions::small())?;
    /// let hits = db.keyspace("hits")?;
    /// let counted = hits.clone();
    /// let count = db.update(UpdateKeys::of(&hits, [b"page"]), move |update| {
    ///     let before = update.get(&counted, b"page").map_or(0, |entry| entry.value[0]);
    ///     update.put(&counted, b"page", &[before + 1]);
    ///     before + 1
    /// })?;
    /// assert_eq!(count, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put); [`DbError::Panicked`] and [`DbError::UpdateBytes`].
    pub fn update<T: Send + 'static>(
        &self,
        keys: UpdateKeys,
        work: impl FnMut(&mut DbUpdate<'_>) -> T + Send + 'static,
    ) -> Result<T, DbError> {
        self.update_later(keys, work).wait()
    }

    /// The same, to be awaited. It is carried out also if nobody awaits it.
    pub fn update_later<T: Send + 'static>(
        &self,
        keys: UpdateKeys,
        work: impl FnMut(&mut DbUpdate<'_>) -> T + Send + 'static,
    ) -> Pending<T> {
        self.handle.update(keys, None, work)
    }

    /// A state of the database that stays as it is while others write.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub fn snapshot(&self) -> Result<DbSnapshot, DbError> {
        let lease = self.handle.ask(DbAsk::Begin).wait()?;
        Ok(DbSnapshot::new(self.handle.clone(), lease))
    }

    /// The same, to be awaited.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub async fn snapshot_later(&self) -> Result<DbSnapshot, DbError> {
        let lease = self.handle.ask(DbAsk::Begin).await?;
        Ok(DbSnapshot::new(self.handle.clone(), lease))
    }

    /// Begins to watch keys: see [`DbWatch`].
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub async fn watch_later(&self) -> Result<DbWatch, DbError> {
        let lease = self.handle.ask(DbAsk::BeginWatch).await?;
        Ok(DbWatch::new(self.handle.clone(), lease))
    }

    /// A read-write transaction.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub fn begin(&self) -> Result<DbTransaction, DbError> {
        let lease = self.handle.ask(DbAsk::Begin).wait()?;
        Ok(DbTransaction::new(self.handle.clone(), lease))
    }

    /// The same, to be awaited.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub async fn begin_later(&self) -> Result<DbTransaction, DbError> {
        let lease = self.handle.ask(DbAsk::Begin).await?;
        Ok(DbTransaction::new(self.handle.clone(), lease))
    }

    /// Carries a transaction out, again and again until it meets no conflict: with each one another transaction has come through. Answers what `work`
    /// answered the last time.
    ///
    /// # Errors
    /// Everything but [`DbError::Conflict`]; an error of `work` ends it without a commit.
    pub fn transact<T>(
        &self,
        mut work: impl FnMut(&mut DbTransaction) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        loop {
            let mut transaction = self.begin()?;
            let answer = work(&mut transaction)?;
            match transaction.commit() {
                Ok(_) => return Ok(answer),
                Err(DbError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes some of the notes of when to look at keys that are gone by now, or have another time: who has removed keys that were to expire
    /// by a [batch](WriteBatch::remove) has their room at once, and not only when that time has come. The answer is the walk that goes on, until it has come to its end. It reads
    /// the notes of all keyspaces, some at a time, and the keys of its own.
    pub fn drop_notes_later(&self, walk: NoteWalk) -> Pending<Option<NoteWalk>> {
        self.handle.ask(|answer| DbAsk::DropNotes(walk, answer))
    }

    /// Makes everything that was answered before survive a power cut, whatever the log mode.
    ///
    /// # Errors
    /// [`DbError::Stopped`].
    pub fn sync(&self) -> Result<(), DbError> {
        self.sync_later().wait()
    }

    /// The same, to be awaited.
    pub fn sync_later(&self) -> Pending<()> {
        self.handle.ask(DbAsk::Sync)
    }

    /// Drops this handle, and tells whether everything that was answered survives a power cut: for the last handle by the sync with which the database is closed, which does not
    /// wait for room on a full file system; otherwise as [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`DbError::Stopped`]: what was answered since the last sync may be lost.
    pub fn close(self) -> Result<(), DbError> {
        match Arc::try_unwrap(self.handle) {
            Ok(mut last) => last.close(),
            Err(handle) => handle.ask(DbAsk::Sync).wait(),
        }
    }

    /// Makes a checkpoint and waits for its end: what a restart reads of the log becomes short.
    ///
    /// # Errors
    /// [`DbError::Stopped`].
    pub fn checkpoint(&self) -> Result<(), DbError> {
        self.handle.ask(DbAsk::Checkpoint).wait()
    }

    /// What was counted, and what there is.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub fn statistics(&self) -> Result<DbStatistics, DbError> {
        self.statistics_later().wait()
    }

    /// The same, to be awaited.
    pub fn statistics_later(&self) -> Pending<DbStatistics> {
        self.handle.ask(DbAsk::Statistics)
    }

    /// The checkpoints that have ended after `since`, the oldest first: of those since it was opened the last 4096.
    ///
    /// # Errors
    /// [`DbError::Closed`].
    pub fn checkpoints(&self, since: CheckpointId) -> Result<Vec<CheckpointReport>, DbError> {
        self.handle.ask(|answer| DbAsk::Checkpoints(since, answer)).wait()
    }

    /// The largest things that it takes, in bytes of the store: a key with its keyspace's name has `key_bytes` less 1 (10 if it expires), a value `value_bytes` less 1
    /// (9).
    pub fn limits(&self) -> StoreLimits {
        self.handle.limits()
    }

    /// Makes a checkpoint and reads everything that it has left on the disk: superblocks, every page of the tree and every key in it, the free map. Others read and write
    /// meanwhile, and no checkpoint begins: commits wait if they use up the memory for changed pages before it is over. The log is not looked at,
    /// since it is being written; opening proves it, as `loadline inspect FILE check` does of a database at rest.
    ///
    /// # Errors
    /// [`DbError::DeviceFailed`] if the file cannot be opened once more. Damage is in the report.
    pub fn verify(&self) -> Result<CheckReport, DbError> {
        self.checkpoint()?;
        self.handle.ask(DbAsk::Hold).wait()?;
        let report = read_store(self.handle.file()).map(|files| check_pages(&files));
        self.handle.tell(DbAsk::Release);
        report.map_err(|_| DbError::DeviceFailed)
    }

    /// Writes a backup: every key as of now, while others read and write. Answers how many keys it has. [`restore`](crate::restore) makes a database of it.
    ///
    /// # Errors
    /// [`BackupError`]; what was written by then is no backup, and its reader sees that.
    pub fn backup(&self, to: impl Write) -> Result<u64, BackupError> {
        let snapshot = self.snapshot()?;
        let mut writer = BackupWriter::new(to)?;
        self.each_stored(&snapshot, |key, value| {
            writer.push(key, value).map_err(BackupError::from)
        })?;
        Ok(writer.finish()?)
    }

    /// The same into a file, which is there when it is whole and durable and not before. It takes the place of an earlier backup, and of nothing else. What is there and no
    /// file, as a device or a pipe, is written as it is, and so is what a link leads to, which stays one.
    ///
    /// # Errors
    /// As [`backup`](Self::backup), and [`BackupError::NotReplaced`].
    pub fn backup_to(&self, file: impl AsRef<Path>) -> Result<u64, BackupError> {
        let file = file.as_ref();
        may_replace(file)?;
        if fs::symlink_metadata(file).is_ok_and(|found| !found.is_file()) {
            return self.backup_into(File::create(file)?);
        }
        let part = file.with_added_extension("part");
        // Whoever makes another one of this name waits.
        let held = hold_part(&part)?;
        // One that died before it wrote anything has left it empty.
        if held.metadata()?.len() > 0 {
            may_replace(&part)?;
            held.set_len(0)?;
        }
        let made = self.backup_into(held.try_clone()?).and_then(|pairs| {
            // Something may have come there meanwhile.
            may_replace(file)?;
            rename_durably(&part, file)?;
            Ok(pairs)
        });
        made.inspect_err(|_| {
            // What is left of it is of no use, and the error says why there is nothing.
            drop(fs::remove_file(&part));
        })
    }

    /// Writes a backup into what is there, or into a new file, and has it durable where something is kept.
    fn backup_into(&self, place: File) -> Result<u64, BackupError> {
        let mut buffered = BufWriter::with_capacity(1 << 20, place);
        let pairs = self.backup(&mut buffered)?;
        let written = buffered.into_inner().map_err(IntoInnerError::into_error)?;
        let kind = written.metadata()?.file_type();
        // Pipes and other devices have nothing to sync, and say that this is an error.
        if kind.is_file() || kind.is_block_device() {
            written.sync_all()?;
        }
        Ok(pairs)
    }

    /// Shows every key of the store that a snapshot sees, with its value and tail.
    pub(crate) fn each_stored<E: From<DbError>>(
        &self,
        snapshot: &DbSnapshot,
        mut show: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        /// Two parts of this are under way at a time.
        const PART: usize = 256;
        let mut next = Some(self.part(snapshot, record::all_keys(), PART));
        while let Some(part) = next.take() {
            let ScanPart { pairs, rest } = part.wait()?;
            if let Some(rest) = rest {
                // What is in front of it was read, and need not be kept for this snapshot any more.
                self.handle.tell(DbAsk::Advance(snapshot.held().id(), rest.start.clone()));
                next = Some(self.part(snapshot, rest, PART));
            }
            pairs.iter().try_for_each(|(key, value)| show(key, value))?;
        }
        Ok(())
    }

    fn part(
        &self,
        snapshot: &DbSnapshot,
        range: std::ops::Range<Vec<u8>>,
        most: usize,
    ) -> Pending<ScanPart> {
        let snapshot = snapshot.held().id();
        let scan = ScanAsk { snapshot, now_ms: None, range, order: ScanOrder::Ascending, most };
        self.handle.ask(|answer| DbAsk::Scan { scan, answer })
    }
}

/// The file of a database, to read.
pub(crate) fn read_store(file: &Path) -> std::io::Result<StoreFiles> {
    let mut opened = File::open(file)?;
    let size = opened.seek(SeekFrom::End(0))?;
    Ok(StoreFiles::new((opened, size), None))
}
