//! Walks over all keys of a numbered database.

use crate::budget::{FREE_BYTES, HeldBytes};
use crate::commands::integer;
use crate::glob;
use crate::keys::ANSWER_BYTES_MAX;
use crate::refusal::RespRefusal;
use crate::service::Service;
use crate::value::Stored;
use loadline_kv::{DbEntry, DbScan, WriteBatch};
use loadline_wire::resp::{RespReply, RespRequest};

/// Keys that one turn looks at, at most.
const COUNT_MAX: i64 = 10_000;
/// Keys that go at once when a database is emptied.
const REMOVED_AT_ONCE: usize = 256;

/// `SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]`: keys in order, each that is there all the while exactly once.
pub(crate) async fn scan(
    service: &Service,
    database: u8,
    request: &RespRequest,
) -> Result<RespReply, RespRefusal> {
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
    let from = service.cursors.borrow().place(cursor, database)?;
    let mut walk = walk(service, database, pattern).await?.from(&from).iter();
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let next = loop {
        if looked_at == most.min(COUNT_MAX) {
            // The place behind the last one: whatever comes there later is seen.
            break found_next(&mut walk).await?;
        }
        let Some(pair) = walk.next_later().await else { break None };
        let (key, value) = pair?;
        looked_at += 1;
        let is_kind = match &kind {
            None => true,
            Some(kind) => {
                let entry = DbEntry { value, expires_ms: None };
                Stored::read(entry).is_ok_and(|stored| stored.kind().as_bytes() == &kind[..])
            }
        };
        if is_kind && glob::matches(pattern, &key) {
            found.push(RespReply::Bulk(key));
        }
    };
    let cursor = next.map_or(0, |next| service.cursors.borrow_mut().keep(database, next));
    Ok(RespReply::Array(vec![RespReply::bulk(cursor.to_string()), RespReply::Array(found)]))
}

async fn found_next(walk: &mut loadline_kv::DbIterator) -> Result<Option<Vec<u8>>, RespRefusal> {
    Ok(walk.next_later().await.transpose()?.map(|(key, _)| key))
}

/// `KEYS pattern`.
pub(crate) async fn keys(
    service: &Service,
    database: u8,
    pattern: &[u8],
) -> Result<RespReply, RespRefusal> {
    let mut walk = walk(service, database, pattern).await?.iter();
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut held = HeldBytes::new(&service.budget, 0);
    while let Some(pair) = walk.next_later().await {
        let (key, _) = pair?;
        if glob::matches(pattern, &key) {
            let reply = RespReply::Bulk(key);
            bytes += reply.bytes();
            if bytes > ANSWER_BYTES_MAX {
                return Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX));
            }
            if bytes > FREE_BYTES && service.budget.is_full() {
                return Err(RespRefusal::Memory);
            }
            held.set(bytes);
            found.push(reply);
        }
    }
    Ok(RespReply::Array(found))
}

/// `DBSIZE`: counted, so it takes as long as reading all keys.
pub(crate) async fn size(service: &Service, database: u8) -> Result<RespReply, RespRefusal> {
    let mut walk = walk(service, database, b"*").await?.iter();
    let mut keys = 0;
    while let Some(pair) = walk.next_later().await {
        pair?;
        keys += 1;
    }
    Ok(RespReply::Integer(keys))
}

/// `FLUSHDB`: all keys of a database, some at a time, as far as its last key of now: behind that others may go on for ever.
///
/// No snapshot lives while keys are removed: everything that is removed would be read and kept for it, until it and all older ones end for want of memory.
pub(crate) async fn empty(service: &Service, database: u8) -> Result<(), RespRefusal> {
    let keyspace = service.keyspace(database);
    let mut from_behind = walk(service, database, b"*").await?.backward().iter();
    let last = from_behind.next_later().await.transpose()?;
    drop(from_behind);
    let Some((last, _)) = last else { return Ok(()) };
    let until = behind(last);
    let mut from = Vec::new();
    loop {
        let mut keys = some_keys(service, database, &from, &until).await?;
        let mut batch = WriteBatch::new();
        for key in &keys {
            batch.remove(keyspace, key);
        }
        let goes_on = keys.len() == REMOVED_AT_ONCE;
        if !goes_on {
            batch.promise(service.promise.get());
        }
        service.db.write_later(batch).await?;
        match keys.pop().filter(|_| goes_on) {
            Some(last) => from = behind(last),
            None => return Ok(()),
        }
    }
}

/// As many keys of a range as are removed at once, if there are so many. What they were read by is gone by then.
async fn some_keys(
    service: &Service,
    database: u8,
    from: &[u8],
    until: &[u8],
) -> Result<Vec<Vec<u8>>, RespRefusal> {
    let mut walk = walk(service, database, b"*").await?.from(from).until(until).iter();
    let mut keys = Vec::new();
    while keys.len() < REMOVED_AT_ONCE
        && let Some(pair) = walk.next_later().await
    {
        keys.push(pair?.0);
    }
    Ok(keys)
}

/// The least key behind this one.
fn behind(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// Those that may be of a pattern.
async fn walk(service: &Service, database: u8, pattern: &[u8]) -> Result<DbScan, RespRefusal> {
    let snapshot = service.db.snapshot_later().await?;
    Ok(snapshot.scan(service.keyspace(database)).prefix(&glob::prefix(pattern)))
}
