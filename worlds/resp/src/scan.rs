//! Walks over all keys of a numbered database, some at a time: each part has a turn of its own, so that others have theirs in between.

use crate::budget::{ConnectionMemory, HeldBytes};
use crate::commands::{answer_fits, integer};
use crate::gate::Passed;
use crate::glob::Glob;
use crate::refusal::RespRefusal;
use crate::service::Service;
use crate::value::Stored;
use loadline_kv::{DbEntry, DbIterator, DbScan, NoteWalk, SCAN_PART_BYTES, WriteBatch};
use loadline_qos::FlowId;
use loadline_wire::resp::{RespReply, RespRequest};
use std::rc::Rc;

/// Keys that one turn looks at, at most.
const COUNT_MAX: i64 = 10_000;
/// More than any key takes in an answer.
const LONGEST_KEY: u64 = 4 << 10;
/// Keys that go at once when a database is emptied.
const REMOVED_AT_ONCE: usize = 256;
/// Keys that are read in one turn,
const READ_AT_ONCE: u32 = 256;
/// and how many of them count as one command: they are read together, and a command that names its key costs several times as much as one of them.
const READ_AS_ONE: u32 = 16;

/// Whose walk it is, and over what.
#[derive(Clone, Copy)]
pub(crate) struct KeyWalker<'s> {
    pub(crate) service: &'s Service,
    pub(crate) memory: &'s Rc<ConnectionMemory>,
    pub(crate) flow: FlowId,
    pub(crate) database: u8,
}

/// Keys with their values, as they are read in turns.
struct KeyWalk<'s> {
    walker: KeyWalker<'s>,
    keys: DbIterator,
    /// How many more are read in this turn.
    left: u32,
    passed: Option<Passed>,
    /// Of the part that is read.
    _held: HeldBytes,
}

impl<'s> KeyWalker<'s> {
    /// Waits for the first turn, and begins a walk over the keys that begin so, or those of them that `of` says.
    async fn walk(
        self,
        prefix: &[u8],
        of: impl FnOnce(DbScan) -> DbScan,
    ) -> Result<KeyWalk<'s>, RespRefusal> {
        let part = SCAN_PART_BYTES as u64 + self.service.value_bytes;
        let mut held = self.memory.note(0);
        let passed = loop {
            let passed = self.service.gate.pass(self.flow, 1).await;
            if held.try_set(part) {
                break Some(passed);
            }
            // Nobody waits for room with a turn, which others wait for.
            drop(passed);
            held = self.memory.take(part).await?;
        };
        let snapshot = self.service.db.snapshot_later().await?;
        let scan = snapshot.scan(self.service.keyspace(self.database));
        let keys = of(scan.prefix(prefix)).iter();
        Ok(KeyWalk { walker: self, keys, left: READ_AT_ONCE, passed, _held: held })
    }
}

impl KeyWalk<'_> {
    async fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>, RespRefusal> {
        if self.left == 0 {
            let KeyWalker { service, flow, .. } = self.walker;
            // What was read is paid for before more is; it is not known before how much there is.
            self.passed = None;
            self.passed = Some(service.gate.pass(flow, READ_AT_ONCE / READ_AS_ONE).await);
            self.left = READ_AT_ONCE;
        }
        self.left -= 1;
        Ok(self.keys.next_later().await.transpose()?)
    }
}

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]`: keys in order, each that is there all the while exactly once.
pub(crate) async fn scan(
    walker: KeyWalker<'_>,
    request: &RespRequest,
) -> Result<RespReply, RespRefusal> {
    let KeyWalker { service, database, .. } = walker;
    let text = request.get(1).unwrap_or_default();
    let cursor = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.ok_or(RespRefusal::Cursor)?;
    let (mut pattern, mut most, mut kind) = (&b"*"[..], 10, None);
    let mut options = request.iter().skip(2);
    while let Some(option) = options.next() {
        let value = options.next().ok_or(RespRefusal::Syntax)?;
        match &option.to_ascii_uppercase()[..] {
            b"MATCH" => pattern = value,
            b"COUNT" => most = integer(value).ok_or(RespRefusal::NoInteger)?,
            b"TYPE" => kind = Some(value.to_ascii_lowercase()),
            _ => return Err(RespRefusal::Syntax),
        }
    }
    if most < 1 {
        return Err(RespRefusal::Syntax);
    }
    let pattern = Glob::new(pattern)?;
    let from = service.cursors.borrow().place(cursor, database)?;
    let mut walk = walker.walk(pattern.prefix(), |keys| keys.from(&from)).await?;
    let (mut found, mut looked_at, mut bytes) = (Vec::new(), 0, 0);
    let mut held = walker.memory.note(0);
    let next = loop {
        // A turn with nothing to tell is one as well: the walk goes on where it was.
        let is_full = looked_at > 0 && bytes + LONGEST_KEY > held.room();
        if looked_at == most.min(COUNT_MAX) || is_full {
            // The place behind the last one: whatever comes there later is seen.
            break walk.next().await?.map(|(key, _)| key);
        }
        let Some((key, value)) = walk.next().await? else { break None };
        looked_at += 1;
        let is_kind = match &kind {
            None => true,
            Some(kind) => {
                let entry = DbEntry { value, expires_ms: None };
                Stored::read(entry).is_ok_and(|stored| stored.kind().as_bytes() == &kind[..])
            }
        };
        if is_kind && pattern.matches(&key) {
            let reply = RespReply::Bulk(key);
            bytes += reply.bytes() as u64;
            held.set(bytes);
            found.push(reply);
        }
    };
    let cursor = next.map_or(0, |next| service.cursors.borrow_mut().keep(database, next));
    Ok(RespReply::Array(vec![RespReply::bulk(cursor.to_string()), RespReply::Array(found)]))
}

/// `KEYS pattern`.
pub(crate) async fn keys(walker: KeyWalker<'_>, pattern: &[u8]) -> Result<RespReply, RespRefusal> {
    let pattern = Glob::new(pattern)?;
    let mut walk = walker.walk(pattern.prefix(), |keys| keys).await?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut held = walker.memory.note(0);
    while let Some((key, _)) = walk.next().await? {
        if pattern.matches(&key) {
            let reply = RespReply::Bulk(key);
            bytes += reply.bytes() as u64;
            answer_fits(bytes, held.room())?;
            held.set(bytes);
            found.push(reply);
        }
    }
    Ok(RespReply::Array(found))
}

/// `DBSIZE`: counted, so it takes as long as reading all keys.
pub(crate) async fn size(walker: KeyWalker<'_>) -> Result<RespReply, RespRefusal> {
    let mut walk = walker.walk(b"", |keys| keys).await?;
    let mut keys = 0;
    while walk.next().await?.is_some() {
        keys += 1;
    }
    Ok(RespReply::Integer(keys))
}

/// `FLUSHDB`: all keys of a database, some at a time, as far as its last key of now: behind that others may go on for ever.
///
/// No snapshot lives while keys are removed: everything that is removed would be read and kept for it, until it and all older ones end for want of memory.
pub(crate) async fn empty(walker: KeyWalker<'_>) -> Result<(), RespRefusal> {
    let KeyWalker { service, flow, database, .. } = walker;
    let keyspace = service.keyspace(database);
    let mut from_behind = walker.walk(b"", DbScan::backward).await?;
    let last = from_behind.next().await?;
    drop(from_behind);
    let Some((last, _)) = last else { return Ok(()) };
    let until = behind(last);
    let mut from = Vec::new();
    loop {
        let (mut keys, goes_on) = some_keys(walker, &from, &until).await?;
        let mut batch = WriteBatch::new();
        for key in &keys {
            batch.remove(keyspace, key);
        }
        if !goes_on {
            batch.promise(service.promise.get());
        }
        let passed = service.gate.pass(flow, keys.len().max(1) as u32).await;
        service.db.write_later(batch).await?;
        drop(passed);
        match keys.pop().filter(|_| goes_on) {
            Some(last) => from = behind(last),
            None => return Ok(()),
        }
    }
}

/// Removes the notes of when keys of these databases were to expire, which are gone by now, as far as the last note of now.
pub(crate) async fn forget_times(
    walker: KeyWalker<'_>,
    databases: impl Iterator<Item = u8>,
) -> Result<(), RespRefusal> {
    let KeyWalker { service, flow, .. } = walker;
    let keyspaces = databases.map(|database| service.keyspace(database).clone());
    let mut walk = Some(NoteWalk::of(keyspaces));
    while let Some(part) = walk {
        let passed = service.gate.pass(flow, READ_AT_ONCE / READ_AS_ONE).await;
        walk = service.db.drop_notes_later(part).await?;
        drop(passed);
    }
    Ok(())
}

/// As many keys of a range as are removed at once, if there are so many, and whether there may be more. What they were read by is gone by then.
async fn some_keys(
    walker: KeyWalker<'_>,
    from: &[u8],
    until: &[u8],
) -> Result<(Vec<Vec<u8>>, bool), RespRefusal> {
    // A small database takes no transaction of so many long keys.
    let bytes_max = walker.service.db.limits().transaction_bytes / 8;
    let mut walk = walker.walk(b"", |keys| keys.from(from).until(until)).await?;
    let (mut keys, mut bytes) = (Vec::new(), 0);
    while keys.len() < REMOVED_AT_ONCE && bytes < bytes_max {
        let Some((key, _)) = walk.next().await? else { return Ok((keys, false)) };
        bytes += key.len();
        keys.push(key);
    }
    Ok((keys, true))
}

/// The least key behind this one.
fn behind(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}
