//! Backups, restores, larger files and full ones, while others read and write.

use loadline_kv::{
    BackupError, Bytes, Db, DbError, DbOpenError, DbOptions, Keyspace, Span, WriteBatch, grow,
    restore, verify_backup,
};
use loadline_store::paged::{Fault, RestartFault};
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

fn put_pair(db: &Db, keyspace: &Keyspace, number: u32, value: u32) {
    let mut batch = WriteBatch::new();
    for side in ["left", "right"] {
        let key = format!("{side}{number:05}");
        batch.put(keyspace, key.as_bytes(), &value.to_le_bytes().repeat(20));
    }
    db.write(batch).expect("it commits");
}

/// Each pair is equal, and there are so many.
fn assert_pairs(db: &Db, keyspace: &Keyspace, count: usize) {
    let snapshot = db.snapshot().expect("a snapshot");
    let side = |prefix: &[u8]| {
        let pairs = snapshot.scan(keyspace).prefix(prefix).iter();
        pairs.map(|pair| pair.expect("it reads").1).collect::<Vec<_>>()
    };
    let (left, right) = (side(b"left"), side(b"right"));
    assert_eq!((left.len(), left == right), (count, true));
}

#[test]
fn a_backup_is_one_state_while_load_runs_and_comes_back() {
    const PAIRS: u32 = 1500;
    let folder = folder();
    let options = DbOptions { checkpoint_interval: Span::from_millis(30), ..DbOptions::small() };
    let db = Db::open(folder.path().join("db"), options).expect("it opens");
    let keyspace = db.keyspace("pairs").expect("a name");
    (0..PAIRS).for_each(|number| put_pair(&db, &keyspace, number, 0));
    db.put_for(&keyspace, b"short", b"x", Span::from_secs(3600)).expect("it commits");
    let over = AtomicBool::new(false);
    let file = folder.path().join("backup");
    std::thread::scope(|scope| {
        for thread in 0..2u32 {
            let (db, keyspace, over) = (&db, &keyspace, &over);
            scope.spawn(move || {
                let mut number = thread;
                while !over.load(Ordering::Relaxed) {
                    put_pair(db, keyspace, number % PAIRS, number);
                    number += 1237;
                }
            });
        }
        for _ in 0..3 {
            let keys = db.backup_to(&file).expect("it is written");
            assert_eq!(keys, u64::from(2 * PAIRS + 1));
            let read = verify_backup(File::open(&file).expect("it is there"));
            assert_eq!(read.expect("it is whole"), keys);
            let report = db.verify().expect("it can be read");
            assert!(report.is_clean(), "{report:?}");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_pairs(&db, &keyspace, PAIRS as usize);

    let restored = folder.path().join("restored");
    let open = |path| restore(File::open(&file).expect("it is there"), path, options);
    let copy = open(&restored).expect("it is restored");
    assert_pairs(&copy, &keyspace, PAIRS as usize);
    assert_eq!(copy.get(&keyspace, b"short"), Ok(Some(b"x".to_vec())));
    assert!(copy.verify().expect("it can be read").is_clean());
    drop(copy);
    let refused = open(&restored);
    assert!(matches!(refused, Err(BackupError::Open(DbOpenError::Exists { .. }))));

    // A stream that was cut leaves nothing that could be taken for a database.
    let bytes = std::fs::read(&file).expect("it is there");
    let cut = folder.path().join("cut");
    let refused = restore(&bytes[..bytes.len() - 3], &cut, options);
    assert!(matches!(refused, Err(BackupError::Stream(_))));
    assert!(!cut.exists(), "nothing is left of it");
}

/// Root's backup to /dev/null left a file in the place of the device; a link became a file, and a pipe's reader got nothing.
#[test]
fn a_backup_goes_into_what_is_no_file_and_leaves_it_what_it_is() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let db = Db::open(place("db"), DbOptions::small()).expect("it opens");
    let keyspace = db.keyspace("pairs").expect("a name");
    put_pair(&db, &keyspace, 1, 1);

    std::fs::write(place("target"), [&b"LOADLKVB"[..], &[7u8; 1 << 20][..]].concat())
        .expect("written");
    std::os::unix::fs::symlink("target", place("link")).expect("a link");
    assert_eq!(db.backup_to(place("link")).expect("it is written"), 2);
    assert!(place("link").is_symlink());
    let read = verify_backup(File::open(place("target")).expect("it is there"));
    assert_eq!(read.expect("nothing of what was there is left"), 2);

    let made = std::process::Command::new("mkfifo").arg(place("pipe")).status();
    assert!(made.expect("there is mkfifo").success());
    std::thread::scope(|scope| {
        let pipe = || verify_backup(File::open(place("pipe")).expect("it is there"));
        let reader = scope.spawn(pipe);
        assert_eq!(db.backup_to(place("pipe")).expect("it is written"), 2);
        assert_eq!(reader.join().expect("it ends").expect("it is whole"), 2);
    });
    assert!(!place("pipe.part").exists());
}

/// A backup took the place of the database that it was made of, of a lock, and of a running node's disk.
#[test]
fn a_backup_replaces_a_backup_and_nothing_else() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let db = Db::open(place("db"), DbOptions::small()).expect("it opens");
    let keyspace = db.keyspace("pairs").expect("a name");
    put_pair(&db, &keyspace, 1, 1);
    std::fs::write(place("osd.1"), vec![7; 1 << 20]).expect("it can be written");
    std::fs::write(place("lock"), "").expect("it can be written");
    std::fs::write(place("b.part"), "somebody's notes").expect("it can be written");
    std::os::unix::fs::symlink("osd.1", place("link")).expect("a link");
    let kept = |name: &str| std::fs::read(place(name)).expect("it can be read");
    for name in ["db/data", "osd.1", "lock", "link", "b"] {
        let refused = db.backup_to(place(name));
        assert!(matches!(refused, Err(BackupError::NotReplaced { .. })), "{name}: {refused:?}");
    }
    assert_eq!(kept("osd.1"), vec![7; 1 << 20]);
    assert_eq!((kept("lock"), kept("b.part")), (Vec::new(), b"somebody's notes".to_vec()));
    assert!(!place("b").exists());
    for _ in 0..2 {
        assert_eq!(db.backup_to(place("own")).expect("it is written"), 2);
    }
    put_pair(&db, &keyspace, 2, 2);
    assert!(db.verify().expect("it can be read").is_clean());
}

/// Does something when a stream has come to it, and adds nothing to that.
struct Then<F>(Option<F>);

impl<F: FnOnce()> Read for Then<F> {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().into_iter().for_each(|then| then());
        Ok(0)
    }
}

/// A restore looked once, before it began, whether there was something: a database that was made in its folder meanwhile was replaced by it. Two at a time shared one unfinished
/// file, and the first to end gave what the other had in it the database's name.
#[test]
fn a_restore_replaces_nothing_that_came_meanwhile_and_has_its_folder_alone() {
    let folder = folder();
    let db = Db::open(folder.path().join("db"), DbOptions::small()).expect("it opens");
    let keyspace = db.keyspace("pairs").expect("a name");
    put_pair(&db, &keyspace, 1, 1);
    let mut bytes = Vec::new();
    db.backup(&mut bytes).expect("it is written");
    let (head, rest) = bytes.split_at(16);
    let target = folder.path().join("restored");
    let meanwhile = || {
        let locked = File::open(&target).expect("the folder is there").try_lock();
        assert!(matches!(locked, Err(TryLockError::WouldBlock)), "{locked:?}");
        std::fs::write(target.join("data"), b"somebody's own").expect("a file");
    };
    let stream = head.chain(Then(Some(meanwhile))).chain(rest);
    let refused = restore(stream, &target, DbOptions::small());
    assert!(matches!(refused, Err(BackupError::Open(DbOpenError::Exists { .. }))));
    let kept = std::fs::read(target.join("data")).expect("it is there");
    assert_eq!(kept, b"somebody's own");
    assert_eq!(std::fs::read_dir(&target).expect("the folder is there").count(), 1);
}

#[test]
fn a_full_database_refuses_writes_reads_go_on_and_it_grows() {
    let folder = folder();
    let options = DbOptions { size: Bytes::from_mib(16), ..DbOptions::small() };
    let db = Db::open(folder.path(), options).expect("it opens");
    let keyspace = db.keyspace("keys").expect("a name");
    let key = |number: u32| format!("{number:06}").into_bytes();
    let mut count = 0;
    let full = loop {
        match db.put(&keyspace, &key(count), &[count as u8; 20_000]) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full, DbError::Full);
    let assert_there = |db: &Db| {
        for number in (0..count).step_by(7) {
            assert_eq!(db.get(&keyspace, &key(number)), Ok(Some(vec![number as u8; 20_000])));
        }
        assert!(db.verify().expect("it can be read").is_clean());
    };
    assert_there(&db);
    drop(db);
    let db = Db::open(folder.path(), options).expect("a full one opens");
    assert_there(&db);
    drop(db);

    let goes_on = AtomicBool::new(false);
    let refused = grow(folder.path(), Bytes::from_mib(16), options, &goes_on);
    assert!(matches!(refused, Err(BackupError::Open(DbOpenError::NotLarger { .. }))));
    grow(folder.path(), Bytes::from_mib(32), options, &goes_on).expect("there is room");
    let db = Db::open(folder.path(), options).expect("it opens");
    assert_eq!(db.statistics().expect("it counts").file_bytes, 32 << 20);
    assert_there(&db);
    db.put(&keyspace, &key(count), &[1; 20_000]).expect("there is room now");

    // What is removed makes room as well.
    (0..count).for_each(|number| {
        db.remove(&keyspace, &key(number)).expect("removals need no room");
    });
    db.checkpoint().expect("a checkpoint");
    assert_eq!(db.snapshot().expect("a snapshot").scan(&keyspace).iter().count(), 1);
}

fn files(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("it can be read").file_name()).collect()
}

/// A database of 1 GiB stayed where its cache was refused, or the memory for it; so did the larger file of one, or the empty one, that somebody had stopped.
#[test]
fn of_what_cannot_be_opened_or_is_stopped_nothing_is_made() {
    let folder = folder();
    let path = folder.path().join("above/db");
    for cache in [Bytes::ZERO, Bytes::new(1 << 60)] {
        let refused = Db::open(&path, DbOptions { cache, ..DbOptions::small() });
        assert!(matches!(refused, Err(DbOpenError::Store { .. })), "{cache}");
        assert_eq!(files(folder.path()), [""; 0], "{cache}");
    }
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = Db::open_unless(&path, DbOptions::small(), stop.clone());
    assert!(matches!(stopped, Err(DbOpenError::Interrupted)));
    assert_eq!(files(folder.path()), [""; 0]);

    let db = Db::open(&path, DbOptions::small()).expect("it is made");
    db.put(&db.keyspace("keys").expect("a name"), b"key", b"value").expect("it commits");
    drop(db);
    let (larger, small) = (Bytes::from_mib(128), DbOptions::small());
    let stopped = grow(&path, larger, small, &stop);
    assert!(matches!(stopped, Err(BackupError::Open(DbOpenError::Interrupted))));
    assert_eq!(files(&path), ["data"]);
    let refused = Db::open(&path, DbOptions { cache: Bytes::ZERO, ..small });
    let Err(DbOpenError::Store { fault: Fault::Restart(of_cache), .. }) = refused else {
        panic!("a cache of nothing was taken");
    };
    let RestartFault::CacheTooSmall { least, .. } = of_cache else { panic!("{of_cache}") };
    // It does for the old one, and not for one with a larger map of what is free.
    let options = DbOptions { cache: least, ..small };
    let refused = grow(&path, Bytes::from_mib(512), options, &AtomicBool::new(false));
    assert!(matches!(refused, Err(BackupError::Open(DbOpenError::Store { .. }))));
    assert_eq!(files(&path), ["data"]);
}

#[test]
fn a_file_system_without_room_says_so() {
    let folder = folder();
    let options = DbOptions { size: Bytes::new(1 << 50), ..DbOptions::small() };
    let refused = Db::open(folder.path().join("db"), options).err().expect("nothing holds that");
    assert!(matches!(refused, DbOpenError::Disk(_)), "{refused}");
    let file = folder.path().join("other");
    std::fs::create_dir(&file).expect("a folder");
    std::fs::write(file.join("data"), vec![7; 4 << 20]).expect("a file");
    let refused = Db::open(&file, DbOptions::small()).err().expect("it holds something else");
    assert!(matches!(refused, DbOpenError::Store { .. }), "{refused}");
}

/// Backups of one name that were made at a time wrote into one file, and what had that name in the end was neither of them, whole though it was called.
#[test]
fn backups_of_one_name_wait_for_each_other() {
    const ROUNDS: usize = 8;
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path().join("db"), DbOptions::small()).expect("it opens");
    let keys = db.keyspace("n").expect("a name");
    for some in 0..20u32 {
        let mut batch = WriteBatch::new();
        for key in 0..20u32 {
            batch.put(&keys, &(some * 20 + key).to_be_bytes(), &[7; 4000]);
        }
        db.write(batch).expect("it is kept");
    }
    let file = folder.path().join("backup");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    assert_eq!(db.backup_to(&file).expect("it is made"), 400);
                    let made = std::fs::File::open(&file).expect("it is there");
                    assert_eq!(verify_backup(made).expect("it is whole"), 400);
                }
            });
        }
    });
    let left = std::fs::read_dir(folder.path()).expect("it can be read").count();
    assert_eq!(left, 2, "the database and the backup");
}
