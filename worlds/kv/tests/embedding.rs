//! What a program that embeds a database relies on.

use loadline_kv::{
    Bytes, CheckpointId, CheckpointReason, Db, DbError, DbOpenError, DbOptions, Keyspace, LogMode,
    Pending, Protection, Span, UpdateKeys, WriteBatch,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

fn keys(scan: loadline_kv::DbScan) -> Vec<String> {
    let keys = scan.iter().map(|pair| pair.map(|(key, _)| String::from_utf8_lossy(&key).into()));
    keys.collect::<Result<_, DbError>>().expect("it reads")
}

fn filled(db: &Db, name: &str, count: u32) -> Keyspace {
    let keyspace = db.keyspace(name).expect("a name");
    let numbers: Vec<u32> = (0..count).collect();
    for some in numbers.chunks(500) {
        let mut batch = WriteBatch::new();
        for number in some {
            batch.put(&keyspace, format!("k{number:04}").as_bytes(), &[*number as u8; 40]);
        }
        db.write(batch).expect("it commits");
    }
    keyspace
}

#[test]
fn what_was_written_is_there_after_it_was_closed() {
    let folder = folder();
    for mode in LogMode::ALL {
        let path = folder.path().join(mode.to_string());
        let options = DbOptions { log_mode: mode, ..DbOptions::small() };
        let db = Db::open(&path, options).expect("it opens");
        let (one, two) = (filled(&db, "one", 700), db.keyspace([255, 0]).expect("a name"));
        db.put(&two, b"", b"an empty key").expect("it commits");
        db.put(&two, b"large", &[7; 20_000]).expect("it commits");
        db.remove(&one, b"k0001").expect("it commits");
        assert!(matches!(Db::open(&path, options), Err(DbOpenError::Disk(_))), "it is in use");
        drop(db);
        let db = Db::open(&path, options).expect("it opens again");
        assert_eq!(db.get(&one, b"k0000"), Ok(Some(vec![0; 40])));
        assert_eq!(db.get(&one, b"k0001"), Ok(None));
        assert_eq!(db.get(&two, b""), Ok(Some(b"an empty key".to_vec())));
        assert_eq!(db.get(&two, b"large"), Ok(Some(vec![7; 20_000])));
        let names = db.keyspaces().expect("it reads");
        assert_eq!(names, [two, one.clone()], "in the order of their names' lengths");
        assert_eq!(db.snapshot().expect("a snapshot").scan(&one).iter().count(), 699);
    }
}

/// A file whose superblocks were lost was taken for one in which nothing had been made yet, and was made anew, even by who only read.
#[test]
fn what_is_left_of_a_database_is_never_made_anew() {
    let folder = folder();
    let data = folder.path().join("data");
    let db = Db::open(folder.path(), DbOptions::small()).expect("it is made");
    drop((filled(&db, "one", 500), db));
    let mut bytes = std::fs::read(&data).expect("it can be read");
    let size = bytes.len();
    let all_but = |between: std::ops::Range<usize>| [0..between.start, between.end..size];
    for between in [1 << 20..size - (1 << 20), size..size] {
        all_but(between).into_iter().for_each(|lost| bytes[lost].fill(0));
        std::fs::write(&data, &bytes).expect("it can be written");
        for create in [true, false] {
            let options = DbOptions { create, ..DbOptions::small() };
            let opened = Db::open(folder.path(), options).map(drop);
            assert!(matches!(opened, Err(DbOpenError::Lost { .. })), "{opened:?}");
            assert!(std::fs::read(&data).expect("it can be read") == bytes, "it is as it was");
        }
    }
}

#[test]
fn one_of_many_makes_a_database_and_what_an_earlier_one_left_is_no_hindrance() {
    let folder = folder();
    let new = folder.path().join("data.new");
    std::fs::write(&new, b"of one that has died").expect("it can be written");
    let all = std::sync::Barrier::new(8);
    let open = || {
        all.wait();
        let opened = Db::open(folder.path(), DbOptions::small());
        // Nobody closes it before everybody has tried.
        all.wait();
        opened.map(drop)
    };
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1, "{opened:?}");
    let in_use = |opened: &&Result<(), _>| matches!(opened, Err(DbOpenError::Disk(_)));
    assert_eq!(opened.iter().filter(in_use).count(), 7, "{opened:?}");
    assert!(!new.exists());
}

#[test]
fn ranges_are_read_in_both_directions() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    filled(&db, "before", 30);
    let middle = filled(&db, "middle", 3000);
    filled(&db, "middle2", 30);
    let snapshot = db.snapshot().expect("a snapshot");
    let all = keys(snapshot.scan(&middle));
    assert_eq!((all.len(), all.is_sorted()), (3000, true));
    let back: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(keys(snapshot.scan(&middle).backward()), back);
    assert_eq!(keys(snapshot.scan(&middle).prefix(b"k001")), all[10..20]);
    assert_eq!(keys(snapshot.scan(&middle).prefix(b"k001").backward()), back[2980..2990]);
    let range = || snapshot.scan(&middle).from(b"k0005x").until(b"k2000");
    assert_eq!(keys(range()), all[6..2000]);
    assert_eq!(keys(range().backward()), back[1000..2994]);
    assert_eq!(keys(range().prefix(b"k3")), [""; 0]);
    assert_eq!(keys(snapshot.scan(&middle).from(b"k2").until(b"k1")), [""; 0]);
}

#[test]
fn a_snapshot_stays_as_it_is_and_a_transaction_sees_its_own_changes() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = filled(&db, "keys", 10);
    let before = db.snapshot().expect("a snapshot");
    db.put(&keyspace, b"k0003", b"new").expect("it commits");
    db.remove(&keyspace, b"k0004").expect("it commits");
    db.put(&keyspace, b"k0004x", b"new").expect("it commits");
    assert_eq!(keys(before.scan(&keyspace)).len(), 10);
    assert_eq!(before.get(&keyspace, b"k0003"), Ok(Some(vec![3; 40])));
    assert_eq!(before.get(&keyspace, b"k0004"), Ok(Some(vec![4; 40])));
    assert_eq!(before.get(&keyspace, b"k0004x"), Ok(None));

    let mut transaction = db.begin().expect("it begins");
    transaction.remove(&keyspace, b"k0000");
    transaction.put(&keyspace, b"k00005", b"own");
    let found = keys(transaction.scan(&keyspace).until(b"k0002"));
    assert_eq!(found, ["k00005", "k0001"]);
    let found = keys(transaction.scan(&keyspace).until(b"k0002").backward());
    assert_eq!(found, ["k0001", "k00005"]);
    assert_eq!(transaction.get(&keyspace, b"k00005"), Ok(Some(b"own".to_vec())));
    assert_eq!(db.get(&keyspace, b"k00005"), Ok(None), "nobody else sees it");
    drop(transaction);
    assert_eq!(db.get(&keyspace, b"k0000"), Ok(Some(vec![0; 40])));
    drop(before);
    assert_eq!(db.statistics().expect("it counts").version_bytes, 0);
}

#[test]
fn a_conflict_names_the_key() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = filled(&db, "keys", 10);
    let conflict =
        |key: &[u8]| Err(DbError::Conflict { keyspace: b"keys".to_vec(), key: key.to_vec() });
    let mut read = db.begin().expect("it begins");
    read.get(&keyspace, b"k0001").expect("it reads");
    read.put(&keyspace, b"k0002", b"x");
    db.put(&keyspace, b"k0001", b"changed").expect("it commits");
    assert_eq!(read.commit(), conflict(b"k0001"));

    let mut scanned = db.begin().expect("it begins");
    keys(scanned.scan(&keyspace).prefix(b"p"));
    scanned.put(&keyspace, b"k0002", b"x");
    db.put(&keyspace, b"phantom", b"new").expect("it commits");
    assert_eq!(scanned.commit(), conflict(b"phantom"));

    let mut blind = db.begin().expect("it begins");
    blind.put(&keyspace, b"k0002", b"x");
    db.put(&keyspace, b"k0002", b"y").expect("it commits");
    blind.commit().expect("what it has not read it may overwrite");
    assert_eq!(db.get(&keyspace, b"k0002"), Ok(Some(b"x".to_vec())));
    assert_eq!(db.statistics().expect("it counts").conflicts, 2);
}

#[test]
fn the_oldest_snapshots_end_when_their_memory_is_used_up() {
    let folder = folder();
    let options = DbOptions { versions: Bytes::from_kib(8), ..DbOptions::small() };
    let db = Db::open(folder.path(), options).expect("it opens");
    let keyspace = filled(&db, "keys", 200);
    let old = db.snapshot().expect("a snapshot");
    filled(&db, "keys", 200);
    assert_eq!(old.get(&keyspace, b"k0001"), Err(DbError::SnapshotTooOld));
    assert_eq!(old.scan(&keyspace).iter().next(), Some(Err(DbError::SnapshotTooOld)));
    let young = db.snapshot().expect("a snapshot");
    assert_eq!(young.get(&keyspace, b"k0001"), Ok(Some(vec![1; 40])));
    let counts = db.statistics().expect("it counts");
    assert_eq!((counts.snapshots, counts.snapshots_ended_early), (2 - 1, 1));
}

#[test]
fn keys_expire() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = db.keyspace("sessions").expect("a name");
    let (gone, long) = (Span::ZERO, Span::from_secs(3600));
    db.put_for(&keyspace, b"gone", b"1", gone).expect("it commits");
    db.put_for(&keyspace, b"long", b"2", long).expect("it commits");
    db.put_for(&keyspace, b"kept", b"3", gone).expect("it commits");
    db.put(&keyspace, b"kept", b"4").expect("it commits");
    assert_eq!(db.get(&keyspace, b"gone"), Ok(None));
    assert_eq!(db.get(&keyspace, b"long"), Ok(Some(b"2".to_vec())));
    assert_eq!(keys(db.snapshot().expect("a snapshot").scan(&keyspace)), ["kept", "long"]);
    while db.statistics().expect("it counts").expired == 0 {
        db.get(&keyspace, b"long").expect("it reads");
    }
    assert_eq!(db.get(&keyspace, b"kept"), Ok(Some(b"4".to_vec())), "it has no time any more");
    let mut transaction = db.begin().expect("it begins");
    transaction.put_for(&keyspace, b"own", b"5", long);
    assert_eq!(transaction.get(&keyspace, b"own"), Ok(Some(b"5".to_vec())));
    transaction.commit().expect("it commits");
    assert_eq!(db.get(&keyspace, b"own"), Ok(Some(b"5".to_vec())));
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The least that can run a future.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn tasks_need_no_runtime() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = filled(&db, "keys", 500);
    block_on(async {
        let puts: Vec<_> = (0..100u8)
            .map(|number| {
                let mut batch = WriteBatch::new();
                batch.put(&keyspace, &[number], &[number]);
                batch.promise(if number % 2 == 0 { LogMode::Fsync } else { LogMode::Background });
                db.write_later(batch)
            })
            .collect();
        for put in puts {
            put.await?;
        }
        let mut transaction = db.begin_later().await?;
        let value = transaction.get_later(&keyspace, &[7]).await?;
        transaction.put(&keyspace, b"copy", &value.unwrap_or_default());
        transaction.commit_later().await?;
        db.sync_later().await?;
        let snapshot = db.snapshot_later().await?;
        let mut all = snapshot.scan(&keyspace).iter();
        let mut count = 0;
        while let Some(pair) = all.next_later().await {
            pair?;
            count += 1;
        }
        assert_eq!(count, 601);
        Ok::<(), DbError>(())
    })
    .expect("everything is answered");
    drop(block_on(db.snapshot_later()));
    // A question that nobody waits for leaves no snapshot behind.
    let mut asked = pin!(db.snapshot_later());
    let waker = Waker::noop();
    drop(asked.as_mut().poll(&mut Context::from_waker(waker)));
    assert_eq!(db.get(&keyspace, b"copy"), Ok(Some(vec![7])));
}

/// The owner waited for its own end where the last handle went with the function of an update, which it carries out itself.
#[test]
fn the_last_handle_may_go_with_the_function_of_an_update() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = filled(&db, "keys", 2);
    let (held, (go_on, goes_on)) = (db.clone(), std::sync::mpsc::channel());
    let last = db.update_later(UpdateKeys::of(&keyspace, [b"k0000"]), move |_| {
        goes_on.recv().expect("somebody says so");
        held.limits()
    });
    let other = keyspace.clone();
    let behind = db.update_later(UpdateKeys::of(&keyspace, [b"k0001"]), move |update| {
        update.put(&other, b"k0001", b"done");
    });
    drop(db);
    go_on.send(()).expect("it waits");
    assert!(last.wait().is_ok());
    assert_eq!(behind.wait(), Ok(()), "what was asked before is carried out");
    // Nobody has waited for its end.
    let db = loop {
        match Db::open(folder.path(), DbOptions::small()) {
            Err(DbOpenError::Disk(_)) => std::thread::yield_now(),
            opened => break opened.expect("it opens"),
        }
    };
    assert_eq!(db.get(&keyspace, b"k0001"), Ok(Some(b"done".to_vec())));
}

#[test]
fn what_is_too_large_is_refused() {
    let folder = folder();
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keyspace = db.keyspace("keys").expect("a name");
    let limits = db.limits();
    let value = vec![0; limits.value_bytes];
    assert!(matches!(db.put(&keyspace, b"k", &value), Err(DbError::Exceeds(_))));
    db.put(&keyspace, b"k", &value[1..]).expect("one byte less will do");
    let key = vec![b'k'; limits.key_bytes - 5];
    db.put(&keyspace, &key, b"v").expect("with the keyspace's name it is as long as it may be");
    assert!(matches!(
        db.put(&keyspace, &[&key[..], b"k"].concat(), b"v"),
        Err(DbError::Exceeds(_))
    ));
    assert_eq!(db.keyspace("").err(), Some(DbError::KeyspaceName));
    assert_eq!(db.get(&keyspace, b"k"), Ok(Some(value[1..].to_vec())));
}

/// Of what a checkpoint costs nothing but its number and length was told: not what waits for it, nor where its bytes went.
#[test]
fn a_database_tells_what_its_checkpoints_cost() {
    let folder = folder();
    let of = |protection: Protection| {
        let path = folder.path().join(protection.to_string());
        let old_versions = Bytes::from_mib(2);
        let db = Db::open(&path, DbOptions { protection, old_versions, ..DbOptions::small() });
        let db = db.expect("it opens");
        filled(&db, "one", 2_000);
        let before = db.statistics().expect("it counts");
        assert!(before.dirty_pages > 10 && before.dirty_pages < before.cache_pages, "{before:?}");
        assert_eq!(before.old_versions_max * before.page_size, 2 << 20);
        assert_eq!((before.pages_written, before.recovery_bytes), (0, 0));
        db.checkpoint().expect("it ends");
        let after = db.statistics().expect("it counts");
        assert_eq!((after.dirty_pages, after.old_versions, after.is_in_checkpoint), (0, 0, false));
        assert!(after.pages_written >= before.dirty_pages, "{after:?}");
        assert!(after.log_device_bytes >= after.log_bytes, "{after:?}");
        assert!(after.disk_requests > before.disk_requests, "{after:?}");
        let ended = db.checkpoints(CheckpointId::FIRST).expect("it answers");
        let [report] = ended[..] else { panic!("one has ended: {ended:?}") };
        assert_eq!((report.reason, report.protection), (CheckpointReason::Request, protection));
        assert!(report.total_pages >= before.dirty_pages, "{report:?}");
        assert_eq!(db.checkpoints(report.id), Ok(Vec::new()));
        (after.log_physical_bytes > 0, after.recovery_bytes > 0)
    };
    assert_eq!(of(Protection::Log), (true, false), "its images go to the log");
    assert_eq!(of(Protection::Checkpoint), (false, true), "its images go to the recovery area");
}

/// An update's function that asked its own database for something waited for the thread that it ran on: that database answered nobody any more.
#[test]
fn an_update_that_waits_for_its_own_database_is_told_so() {
    const PATIENCE: Duration = Duration::from_secs(20);
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keys = db.keyspace("n").expect("a name");
    let (own, space) = (db.clone(), keys.clone());
    let (tell, told) = channel();
    let updated = db.update_later(UpdateKeys::of(&keys, [b"k"]), move |update| {
        update.put(&space, b"k", b"v");
        // What is not waited for is carried out.
        let mut batch = WriteBatch::new();
        batch.put(&space, b"beside", b"v");
        drop(own.write_later(batch));
        tell.send((own.get(&space, b"other"), own.snapshot().map(drop))).expect("we wait");
    });
    let Ok(waited) = told.recv_timeout(PATIENCE) else {
        // Nor would its end be waited for in vain.
        std::mem::forget(db);
        panic!("it waits for itself");
    };
    assert_eq!(waited, (Err(DbError::WaitsForItself), Err(DbError::WaitsForItself)));
    assert_eq!(updated.wait(), Ok(()));
    for key in [&b"k"[..], b"beside"] {
        assert_eq!(db.get(&keys, key), Ok(Some(b"v".to_vec())));
    }
}

#[test]
fn a_value_that_is_longer_than_was_asked_for_is_told_by_its_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let keys = db.keyspace("n").expect("a name");
    let long = vec![b'v'; 20_000];
    db.put(&keys, b"long", &long).expect("it is kept");
    let snapshot = db.snapshot().expect("a snapshot");
    // More than the store is handed at a time.
    let all = |most| -> Vec<_> {
        let asked = (0..50).map(|_| db.entry_within_later(&keys, b"long", most));
        let seen = (0..50).map(|_| snapshot.entry_within_later(&keys, b"long", most));
        asked.chain(seen).collect::<Vec<_>>().into_iter().map(Pending::wait).collect()
    };
    for found in all(long.len()) {
        assert_eq!(found.map(|entry| entry.map(|entry| entry.value)), Ok(Some(long.clone())));
    }
    for found in all(long.len() - 1) {
        assert_eq!(found, Err(DbError::Longer { bytes: long.len() }));
    }
    assert_eq!(db.entry_within_later(&keys, b"none", 0).wait(), Ok(None));
}
