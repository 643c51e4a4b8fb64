//! What nobody may see of commits that the store carries out in another order than that of their numbers.

use super::*;
use crate::options::DbOptions;
use crate::pending::{Pending, pending};
use crate::record::DbEntry;
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Keys of the store that the transaction reads and writes, of a keyspace `n`.
const READ: &[u8] = b"\x01nx";
const WRITTEN: &[u8] = b"\x01ny";

fn owner(options: DbOptions) -> (DbOwner, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    drop(crate::Db::open(folder.path(), options).expect("it opens"));
    let disk = loadline_host::DiskOpen::existing(folder.path().join(DATA_FILE)).open();
    let device = StoreOnDisk::open(disk.expect("it is there"), &options).expect("it opens");
    (DbOwner::new(device, options.versions.get(), options.log_mode), folder)
}

/// A put of this key, which is a transaction's if it has read something.
fn put(
    key: &[u8],
    value: &[u8],
    reads: Option<CommitReads>,
    promise: LogMode,
) -> (NewCommit, Pending<u64>) {
    let (told, answer) = pending();
    let mut batch = crate::batch::WriteBatch::new();
    batch.put_raw(key.to_vec(), record::with_tail(value, None));
    let edits = batch.into_parts().edits;
    let committer = Committer::Batch(answer);
    let keys = vec![key.to_vec()];
    (NewCommit { edits, keys, reads, promise, first_look_ms: None, committer }, told)
}

/// Turns until the store has ended all that it was asked.
fn turn(owner: &mut DbOwner) {
    owner.upkeep();
    while !owner.jobs.is_empty() {
        owner.device.turn(None, &mut Vec::new());
        owner.upkeep();
    }
}

fn is_answered<T>(pending: &mut Pending<T>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(Pin::new(pending).poll(&mut context), Poll::Ready(_))
}

fn get(owner: &mut DbOwner, key: &[u8]) -> Pending<Option<Vec<u8>>> {
    let (told, answer) = pending();
    owner.get(key.to_vec(), None, usize::MAX, GetAnswer::Value(answer));
    turn(owner);
    told
}

/// Gives a commit its number, but does not hand it to the store: as if it slept there, or waited for a page. Answers the number.
fn number_alone(owner: &mut DbOwner, commit: NewCommit) -> u64 {
    let changed = commit.keys.clone();
    owner.commits.enter(commit);
    let slot = owner.commits.next_turn().expect("nobody is before it");
    let ready = owner.commits.take(slot);
    owner.commits.number(slot, changed, ready.commits)
}

/// A commit that came through before a transaction that has read its key had its own answer held, and nothing else: whoever read the key
/// was told what it had written, and could read afterwards what the transaction had not written yet. No order of the three explains that.
#[test]
fn who_sees_a_commit_sees_the_transaction_that_it_has_overtaken() {
    let modes = [LogMode::Fsync, LogMode::None];
    for (log_mode, promise) in [(modes[0], modes[0]), (modes[1], modes[1]), (modes[1], modes[0])] {
        let (mut owner, _folder) = owner(DbOptions { log_mode, ..DbOptions::small() });
        for key in [READ, WRITTEN] {
            let (before, _) = put(key, b"0", None, promise);
            owner.commit(before);
        }
        turn(&mut owner);
        let snapshot = owner.versions.begin(owner.commits.last());
        let reads = ReadSet { snapshot, keys: vec![READ.to_vec()], ranges: Vec::new() };
        let (transaction, transacted) = put(WRITTEN, b"1", Some(CommitReads::Read(reads)), promise);
        let edits = transaction.edits.clone();
        let number = number_alone(&mut owner, transaction);
        owner.versions.end(snapshot);
        let (commit, mut committed) = put(READ, b"1", None, promise);
        owner.commit(commit);
        turn(&mut owner);
        let context = format!("a log in mode {log_mode}, a promise of {promise}");
        assert!(!is_answered(&mut committed), "{context}: the commit");
        let mut seen = get(&mut owner, READ);
        assert!(!is_answered(&mut seen), "{context}: what it has written");
        let old = get(&mut owner, WRITTEN).wait();
        assert_eq!(old, Ok(Some(b"0".to_vec())), "{context}: nothing keeps that");
        owner.submit_promised(Ask::Transaction(edits), StoreJob::Commit(number), promise);
        turn(&mut owner);
        assert_eq!((transacted.wait(), committed.wait()), (Ok(number), Ok(number + 1)));
        assert_eq!(seen.wait(), Ok(Some(b"1".to_vec())), "{context}");
        assert_eq!(get(&mut owner, WRITTEN).wait(), Ok(Some(b"1".to_vec())), "{context}");
        assert!(owner.commits.is_idle(), "{context}");
    }
}

/// A batch that waited for a page in the store was overtaken by one that had read nothing either, and the later one was answered at once. A snapshot of between the two saw the first and not the second; who
/// had seen the second read the former value of the first at the same time. No order of the four explains that.
#[test]
fn who_sees_a_commit_sees_the_batch_that_it_has_overtaken() {
    let modes = [LogMode::Fsync, LogMode::Background, LogMode::None];
    for promise in modes {
        let (mut owner, _folder) = owner(DbOptions { log_mode: promise, ..DbOptions::small() });
        for key in [READ, WRITTEN] {
            let (before, _) = put(key, b"0", None, promise);
            owner.commit(before);
        }
        turn(&mut owner);
        let (first, mut first_told) = put(READ, b"1", None, promise);
        let edits = first.edits.clone();
        let number = number_alone(&mut owner, first);
        let (told, answer) = pending();
        owner.begin(answer);
        let (second, mut second_told) = put(WRITTEN, b"1", None, promise);
        owner.commit(second);
        turn(&mut owner);
        assert!(!is_answered(&mut second_told), "{promise}: the commit");
        let mut seen = get(&mut owner, WRITTEN);
        assert!(!is_answered(&mut seen), "{promise}: what it has written");
        assert_eq!(get(&mut owner, READ).wait(), Ok(Some(b"0".to_vec())), "{promise}");
        assert!(!is_answered(&mut first_told), "{promise}: the first one");
        owner.submit_promised(Ask::Transaction(edits), StoreJob::Commit(number), promise);
        turn(&mut owner);
        let snapshot = told.wait().expect("a snapshot");
        assert_eq!(snapshot.id().sees(), number, "{promise}");
        assert_eq!((first_told.wait(), second_told.wait()), (Ok(number), Ok(number + 1)));
        assert_eq!(seen.wait(), Ok(Some(b"1".to_vec())), "{promise}");
        assert_eq!(get(&mut owner, READ).wait(), Ok(Some(b"1".to_vec())), "{promise}");
        assert!(owner.commits.is_idle(), "{promise}");
    }
}

/// An update of these keys that answers what stands under the first, and puts a value under it or not.
fn update(
    keys: &[&[u8]],
    value: Option<&'static [u8]>,
    promise: LogMode,
) -> (NewCommit, Pending<Option<Vec<u8>>>) {
    let (told, answer) = pending();
    let space = crate::Keyspace::new("n").expect("a name");
    let key = space.strip(keys[0]).to_vec();
    let work = move |update: &mut crate::DbUpdate<'_>| {
        let found = update.get(&space, &key).map(|entry| entry.value);
        value.into_iter().for_each(|value| update.put(&space, &key, value));
        found
    };
    let work = Box::new(crate::update::KeyUpdate::new(work, answer));
    let committer = Committer::Update { work, goes_alone: false };
    let keys = keys.iter().map(|key| key.to_vec()).collect();
    let (edits, reads, first_look_ms) = Default::default();
    (NewCommit { edits, keys, reads, promise, first_look_ms, committer }, told)
}

/// The answer of an update waited for the commit with the greatest number of those that it had found. Numbers are given when commits go to the store, and one that waits
/// for a page there may have its record in the log behind that of a later one: then a power cut took back what the update had told of it.
#[test]
fn who_is_told_what_several_commits_have_written_waits_for_all_of_them() {
    let modes = [LogMode::Fsync, LogMode::None];
    for (log_mode, value) in modes.iter().flat_map(|mode| [(*mode, None), (*mode, Some(b"2"))]) {
        let (mut owner, _folder) = owner(DbOptions { log_mode, ..DbOptions::small() });
        let [first, second] = [READ, WRITTEN].map(|key| {
            let (commit, _) = put(key, b"1", None, LogMode::Fsync);
            let number = number_alone(&mut owner, commit);
            owner.commits.applied(number);
            number
        });
        let value = value.map(|value| &value[..]);
        let (update, mut told) = update(&[READ, WRITTEN], value, LogMode::Background);
        owner.commit(update);
        turn(&mut owner);
        owner.answer_commit(second, Ok(second));
        let context = format!("a log in mode {log_mode}, puts {value:?}");
        assert!(!is_answered(&mut told), "{context}: the first one may still be taken back");
        owner.answer_commit(first, Ok(first));
        assert!(is_answered(&mut told), "{context}");
        assert!(owner.commits.is_idle(), "{context}");
    }
}

/// Updates of one key that were refused together go one after the other; the first of them did not read its key again, and had a panic for its end, which ended the whole
/// program where that aborts.
#[test]
fn updates_that_are_refused_together_read_their_key_again() {
    /// More than a value may have.
    static LONG: [u8; 64 << 10] = [b'v'; 64 << 10];
    let (mut owner, _folder) = owner(DbOptions::small());
    let [first, second] = [b"1", &LONG[..]].map(|value| {
        let (update, told) = update(&[READ], Some(value), LogMode::Background);
        owner.commit(update);
        told
    });
    turn(&mut owner);
    assert_eq!(first.wait(), Ok(None));
    let second = second.wait();
    assert!(matches!(second, Err(DbError::Exceeds(_))), "{second:?}");
    assert_eq!(get(&mut owner, READ).wait(), Ok(Some(b"1".to_vec())));
    assert!(owner.commits.is_idle());
}

/// The end of a database whose last sync had failed was like any other: a server that was stopped on a full file system said nothing of what was lost, and exited with 0.
#[test]
fn who_closes_a_database_is_told_whether_all_is_durable() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = crate::Db::open(folder.path(), DbOptions::small()).expect("it opens");
    let other = db.clone();
    assert_eq!((other.close(), db.close()), (Ok(()), Ok(())));

    let log_mode = LogMode::Background;
    let (mut owner, _folder) = owner(DbOptions { log_mode, ..DbOptions::small() });
    let [(first, _), (second, told)] = [b"1", b"2"].map(|value| put(READ, value, None, log_mode));
    // Its page is in memory then, so that the next one writes alone.
    owner.commit(first);
    turn(&mut owner);
    while !owner.device.is_idle() {
        owner.device.turn(None, &mut Vec::new());
    }
    owner.commit(second);
    let (_synced, answer) = pending();
    owner.asked(DbAsk::Sync(answer));
    owner.device.give_up_on_room();
    device::tests::hand_over_without_room(&mut owner.device);
    owner.upkeep();
    assert_eq!(told.wait(), Ok(2), "it is answered before it is durable");
    drop(owner.device.mailbox().post(DbAsk::Close));
    let closed = owner.run();
    assert!(matches!(closed, Err(DbError::Stopped(_))), "{closed:?}");
}

/// Every new time of a key left the note of the former one behind, until that had come.
#[test]
fn an_update_that_changes_when_a_key_expires_removes_the_note_of_its_former_time() {
    /// A time with another note.
    const LATER: Option<u64> = Some(1025);
    let of_update = |before: Option<u64>, expires_ms: Option<u64>| {
        let (mut commit, _told) = update(&[READ], None, LogMode::Background);
        let (_, answer) = pending();
        let space = crate::Keyspace::new("n").expect("a name");
        let entry = DbEntry { value: b"v".to_vec(), expires_ms };
        let work = move |update: &mut crate::DbUpdate<'_>| update.put_entry(&space, b"x", &entry);
        let work = Box::new(crate::update::KeyUpdate::new(work, answer));
        commit.committer = Committer::Update { work, goes_alone: false };
        let former = [(READ.to_vec(), Some(record::with_tail(b"v", before)))].into();
        let ready = commits::ReadyCommit { commits: vec![commit], former, failed: None };
        let edits = ready.changes(&[READ.to_vec()]).edits;
        let deleted = edits.into_iter().filter_map(|edit| match edit {
            Edit::Delete { key } => Some(key),
            _ => None,
        });
        deleted.collect::<Vec<_>>()
    };
    let noted = vec![record::expiry_entry(1024, READ)];
    assert_eq!(of_update(Some(7), LATER), noted);
    assert_eq!(of_update(Some(7), None), noted);
    assert_eq!((of_update(Some(7), Some(7)), of_update(None, LATER)), (Vec::new(), Vec::new()));
}

/// A removal of a key that is not there counted as a change: who watched the key, or had read it, began again for nothing.
#[test]
fn an_update_that_removes_what_is_not_there_changes_nothing() {
    let (mut owner, _folder) = owner(DbOptions::small());
    let watch = owner.watches.begin();
    owner.watches.add(watch, READ.to_vec());
    let (mut commit, _told) = update(&[READ], None, LogMode::Background);
    let (mut told, answer) = pending();
    let space = crate::Keyspace::new("n").expect("a name");
    let work = move |update: &mut crate::DbUpdate<'_>| update.remove(&space, b"x");
    let work = Box::new(crate::update::KeyUpdate::new(work, answer));
    commit.committer = Committer::Update { work, goes_alone: false };
    owner.commit(commit);
    turn(&mut owner);
    assert!(is_answered(&mut told));
    assert_eq!((owner.watches.validate(watch), owner.commits.last()), (Ok(()), 0));
}

/// Keys are looked at when one of their notes is due, each of which may be of a time that they do not have any more, or later than that which they have.
#[test]
fn a_sweep_removes_each_key_once_that_has_no_later_time_than_its_note() {
    let key = |name: u8| [b"\x01n", &[name][..]].concat();
    let stored = |at| Some(record::with_tail(b"v", at));
    let looks = [(b'a', 7), (b'b', 1024), (b'b', 2048), (b'c', 1024), (b'd', 9), (b'e', 9)];
    let looks = looks.map(|(name, look_ms)| (key(name), look_ms)).into();
    let (put, _told) = put(READ, b"", None, LogMode::Background);
    let sweep = NewCommit { edits: Vec::new(), committer: Committer::Sweep(looks), ..put };
    let of = [(b'a', Some(7)), (b'b', Some(1000)), (b'c', Some(1025)), (b'd', None)];
    let mut former: crate::update::StoredValues =
        of.map(|(name, at)| (key(name), stored(at))).into();
    former.insert(key(b'e'), None);
    let ready = commits::ReadyCommit { commits: vec![sweep], former, failed: None };
    let changes = ready.changes(&[]);
    assert_eq!(changes.changed, [key(b'a'), key(b'b')]);
    assert_eq!(changes.edits.len(), 2);
}

/// Each part of a commit's keys was looked for from the first key on: the owner walked over a removal of tens of thousands of keys a thousand times, and did nothing else meanwhile.
#[test]
fn a_commit_of_many_keys_looks_at_each_once() {
    const COUNT: usize = 6400;
    let (mut owner, _folder) = owner(DbOptions::small());
    let keys = (0..COUNT as u64).map(|at| [b"\x01n".to_vec(), at.to_be_bytes().to_vec()].concat());
    let (batch, _told) = put(READ, b"", None, LogMode::Background);
    owner.commits.enter(NewCommit { keys: keys.collect(), ..batch });
    let slot = owner.commits.next_turn().expect("nobody is before it");
    let looks = Cell::new(0);
    let mut read = |begun, is_needed: bool| {
        let keys = owner.commits.next_reads(slot, begun, |_| {
            looks.set(looks.get() + 1);
            is_needed
        });
        let count = keys.len();
        for key in keys {
            owner.commits.was_read(slot, key, Ok(None));
        }
        count
    };
    assert_eq!(read(1, true), 64);
    assert_eq!(read(1, false), 0, "the snapshot is gone");
    let read = (0..).map(|_| read(2, true)).take_while(|count| *count > 0).sum::<usize>();
    assert_eq!(read, COUNT - 64, "another one wants to know what was passed over");
    assert!(looks.get() <= 2 * COUNT, "{} looks", looks.get());
}

/// What a batch reads for snapshots did not count before all of it was there: one of many large values had all of them in memory, whatever the bound for former values.
#[test]
fn what_a_batch_reads_for_snapshots_is_within_their_memory() {
    const MOST: usize = 1 << 20;
    let options =
        DbOptions { versions: loadline_base::Bytes::new(MOST as u64), ..DbOptions::small() };
    let (mut owner, _folder) = owner(options);
    owner.versions.begin(0);
    let keys = (0..100u64).map(|at| [b"\x01n".to_vec(), at.to_be_bytes().to_vec()].concat());
    let (batch, _told) = put(READ, b"", None, LogMode::Background);
    owner.commits.enter(NewCommit { keys: keys.collect(), ..batch });
    let slot = owner.commits.next_turn().expect("nobody is before it");
    let versions = &owner.versions;
    let mut keys = owner.commits.next_reads(slot, versions.begun(), |key| versions.needs(key));
    let last = keys.pop().expect("there are many");
    for key in keys {
        let value = Answer::Value(Some(vec![0; 30 << 10]));
        owner.read_former(slot, key, Ok(value));
        assert!(owner.commits.batch_bytes() <= MOST as u64);
    }
    assert_eq!(owner.versions.counts().2, 1, "the snapshot has ended for it");
    owner.read_former(slot, last, Ok(Answer::Value(None)));
    assert_eq!((owner.commits.batch_bytes(), owner.commits.last()), (0, 1), "it is carried out");
    turn(&mut owner);
    assert!(owner.commits.is_idle());
}

/// What a sweep and batches read of their keys counted among what updates may read: a sweep of large values had everybody's updates refused.
#[test]
fn an_update_is_not_refused_for_what_others_than_updates_read() {
    let (mut owner, _folder) = owner(DbOptions::small());
    let large = |at: u64| [b"\x01n".to_vec(), at.to_be_bytes().to_vec()].concat();
    let sweep = NewCommit {
        edits: Vec::new(),
        keys: (0..64).map(large).collect(),
        reads: None,
        promise: LogMode::Background,
        first_look_ms: None,
        committer: Committer::Sweep(Vec::new()),
    };
    let (small, _told) = update(&[READ], None, LogMode::Background);
    let [sweep, small] = [sweep, small].map(|commit| {
        owner.commits.enter(commit);
        owner.commits.next_turn().expect("nobody is before it")
    });
    for slot in [sweep, small] {
        for key in owner.commits.next_reads(slot, 0, |_| true) {
            let bytes = if slot == sweep { 600 << 10 } else { 8 };
            owner.commits.was_read(slot, key, Ok(Some(vec![0; bytes])));
        }
    }
    assert_eq!(owner.commits.take(small).failed, None);
}

/// A part of a scan had as many keys as were asked for, however long their values: what the store finds it copies again for each page that is not in memory, so a part of
/// long values took gigabytes of copying, and as much memory as its values at both ends.
#[test]
fn a_part_of_a_scan_is_no_longer_for_long_values() {
    const COUNT: u8 = 64;
    const LONG: usize = 30_000;
    let (mut owner, _folder) = owner(DbOptions::small());
    let key = |number: u8| [&b"\x01n"[..], &[number]].concat();
    for number in 0..COUNT {
        let (put, _) = put(&key(number), &[number; LONG], None, LogMode::Background);
        owner.commit(put);
        turn(&mut owner);
    }
    let lease = owner.versions.begin(owner.commits.last());
    for order in [ScanOrder::Ascending, ScanOrder::Descending] {
        let mut rest = Some(record::all_keys());
        let mut found = Vec::new();
        while let Some(range) = rest {
            let (told, answer) = pending();
            let scan = ScanAsk { snapshot: lease, now_ms: Some(0), range, order, most: 256 };
            owner.scan(scan, answer);
            turn(&mut owner);
            let part = told.wait().expect("it reads");
            let bytes: usize = part.pairs.iter().map(|(_, value)| value.len()).sum();
            assert!(bytes < (256 << 10) + LONG, "{bytes} bytes in a part");
            found.extend(part.pairs);
            rest = part.rest;
        }
        if order == ScanOrder::Descending {
            found.reverse();
        }
        let wanted = (0..COUNT).map(|number| (key(number), vec![number; LONG]));
        assert!(found.into_iter().eq(wanted), "{order:?}");
    }
}

/// Commits a batch of changes of these keys.
fn commit_all(owner: &mut DbOwner, changes: &[(&[u8], Option<Option<u64>>)]) {
    let (told, answer) = pending();
    let mut batch = crate::batch::WriteBatch::new();
    for (key, change) in changes {
        match change {
            Some(expires_ms) => batch.put_raw(key.to_vec(), record::with_tail(b"v", *expires_ms)),
            None => batch.remove_raw(key.to_vec()),
        }
    }
    let parts = batch.into_parts();
    let mut keys: Vec<Vec<u8>> = changes.iter().map(|(key, _)| key.to_vec()).collect();
    keys.sort_unstable();
    owner.commit(NewCommit {
        edits: parts.edits,
        keys,
        reads: None,
        promise: LogMode::Background,
        first_look_ms: parts.first_look_ms,
        committer: Committer::Batch(answer),
    });
    turn(owner);
    told.wait().expect("it is committed");
}

/// The keys of all notes that there are.
fn noted_keys(owner: &mut DbOwner) -> Vec<Vec<u8>> {
    let (from, most) = (record::first_expiry(), ScanBounds::keys(10_000));
    let (told, answer) = pending();
    let range = from.clone()..record::behind_expiries();
    let snapshot = owner.versions.begin(owner.commits.last());
    let scan =
        ScanAsk { snapshot, now_ms: None, range, order: ScanOrder::Ascending, most: most.keys };
    owner.scan(scan, answer);
    turn(owner);
    owner.versions.end(snapshot);
    let notes = told.wait().expect("they are read").pairs.into_iter();
    notes.map(|(note, _)| record::read_expiry(&note).expect("it is a note").1.to_vec()).collect()
}

/// A flush removes keys by batches, and left the notes of when they were to expire behind until that time had come: for a year, of keys that had been set for one.
#[test]
fn notes_of_what_is_gone_are_dropped_and_no_others() {
    const HOUR_MS: u64 = 3_600_000;
    let (mut owner, _folder) = owner(DbOptions::small());
    let now_ms = wall::now_ms();
    let [stays, is_set_later, is_kept, of_others] =
        [&b"\x01ns"[..], b"\x01nl", b"\x01nk", b"\x01mk"].map(<[u8]>::to_vec);
    let gone: Vec<Vec<u8>> =
        (0..200u64).map(|at| [b"\x01ng".to_vec(), at.to_be_bytes().to_vec()].concat()).collect();
    for some in gone.chunks(50) {
        let set: Vec<_> =
            some.iter().map(|key| (&key[..], Some(Some(now_ms + 9 * HOUR_MS)))).collect();
        commit_all(&mut owner, &set);
        let removed: Vec<_> = some.iter().map(|key| (&key[..], None)).collect();
        commit_all(&mut owner, &removed);
    }
    for key in [&stays, &is_set_later, &is_kept, &of_others] {
        commit_all(&mut owner, &[(key, Some(Some(now_ms + HOUR_MS)))]);
    }
    commit_all(&mut owner, &[(&is_kept, Some(None))]);
    commit_all(&mut owner, &[(&is_set_later, Some(Some(now_ms + 99 * HOUR_MS)))]);
    commit_all(&mut owner, &[(&of_others, None)]);
    assert_eq!(noted_keys(&mut owner).len(), 205);
    let keyspace = crate::Keyspace::new("n").expect("a name");
    let (mut walk, mut parts) = (Some(NoteWalk::of([keyspace])), 0);
    while let Some(part) = walk {
        let (told, answer) = pending();
        owner.asked(DbAsk::DropNotes(part, answer));
        turn(&mut owner);
        walk = told.wait().expect("it goes on");
        parts += 1;
    }
    let mut noted = noted_keys(&mut owner);
    noted.sort_unstable();
    assert_eq!(noted, [of_others, is_set_later, stays]);
    assert!(parts > 3, "each part is a small transaction");
    assert!(owner.commits.is_idle());
}

/// Who asked a snapshot for a key and let the snapshot go before the answer was there was told that it was too old; and where an iterator of it went on, a key that was read for
/// another one could be changed meanwhile without a note of what it had been.
#[test]
fn what_a_snapshot_was_asked_it_answers_also_when_it_is_gone() {
    let (mut owner, _folder) = owner(DbOptions::small());
    let (before, _) = put(READ, b"0", None, LogMode::Background);
    owner.commit(before);
    turn(&mut owner);
    let snapshot = owner.versions.begin(owner.commits.last());
    let at = Some(SeenAt { snapshot, now_ms: 0 });
    let [(got, get_answer), (read, read_answer)] = [pending(), pending()];
    let get = |answer| DbAsk::Get {
        key: READ.to_vec(),
        at,
        most: usize::MAX,
        answer: GetAnswer::Value(answer),
    };
    owner.asked(get(get_answer));
    let (told, scan_answer) = pending();
    let (range, order) = (record::all_keys(), ScanOrder::Ascending);
    let scan = ScanAsk { snapshot, now_ms: Some(0), range, order, most: 9 };
    owner.asked(DbAsk::Scan { scan, answer: scan_answer });
    owner.asked(DbAsk::Advance(snapshot, WRITTEN.to_vec()));
    assert!(owner.versions.needs(READ), "it is being read");
    owner.asked(get(read_answer));
    owner.asked(DbAsk::End(snapshot));
    let (after, _) = put(READ, b"1", None, LogMode::Background);
    owner.commit(after);
    turn(&mut owner);
    assert_eq!((got.wait(), read.wait()), (Ok(Some(b"0".to_vec())), Ok(Some(b"0".to_vec()))));
    let pairs = told.wait().expect("it is read").pairs;
    assert_eq!(pairs, [(READ.to_vec(), b"0".to_vec())]);
    assert_eq!(owner.versions.counts(), (0, 0, 0), "nothing is kept for it any more");
}

/// A part of a scan had all that was kept for its snapshot of keys that others had removed: of a database that was emptied meanwhile as much as there is memory for former values, at
/// once and once more.
#[test]
fn a_part_of_a_scan_is_no_longer_for_what_was_removed_meanwhile() {
    const COUNT: u64 = 3000;
    let (mut owner, _folder) = owner(DbOptions::small());
    let keys: Vec<Vec<u8>> =
        (0..COUNT).map(|at| [b"\x01n".to_vec(), at.to_be_bytes().to_vec()].concat()).collect();
    for some in keys.chunks(100) {
        let put: Vec<_> = some.iter().map(|key| (&key[..], Some(None))).collect();
        commit_all(&mut owner, &put);
    }
    let snapshot = owner.versions.begin(owner.commits.last());
    for some in keys.chunks(100) {
        let removed: Vec<_> = some.iter().map(|key| (&key[..], None)).collect();
        commit_all(&mut owner, &removed);
    }
    for order in [ScanOrder::Ascending, ScanOrder::Descending] {
        let (mut rest, mut found) = (Some(record::all_keys()), Vec::new());
        while let Some(range) = rest {
            let (told, answer) = pending();
            let scan = ScanAsk { snapshot, now_ms: Some(0), range, order, most: 256 };
            owner.scan(scan, answer);
            turn(&mut owner);
            let part = told.wait().expect("it reads");
            assert!(part.pairs.len() <= 256, "{} keys in a part", part.pairs.len());
            found.extend(part.pairs.into_iter().map(|(key, _)| key));
            rest = part.rest.filter(|rest| !rest.is_empty());
        }
        if order == ScanOrder::Descending {
            found.reverse();
        }
        assert!(found == keys, "{order:?}");
    }
}
