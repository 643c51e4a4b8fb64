//! What all connections share, and how commands on keys are carried out: alone, or several as one transaction.
//!
//! That they are right is the database's doing. What only reads does so from a snapshot; what reads and changes is an update
//! of the database, which finds what the last commit has left and is answered when both are durable: of a hundred clients that count in one key nobody
//! waits for another's flush.

use crate::budget::{Budget, FREE_BYTES, HeldBytes};
use crate::commands::{KeyCall, KeyCommand};
use crate::cursors::Cursors;
use crate::gate::{Gate, TermsError};
use crate::keys::{ANSWER_BYTES_MAX, KeyTable};
use crate::received::ReceivingBuffer;
use crate::refusal::RespRefusal;
use crate::users::Users;
use crate::watch::{KeyWatch, WatchedReads};
use loadline_kv::{
    Db, DbEntry, DbError, DbUpdate, Keyspace, LogMode, Pending, StoreLimits, UpdateKeys,
    WriteBatch, now_ms,
};
use loadline_wire::resp::{RespReply, RespRequest};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Numbered databases.
pub(crate) const DATABASES: u8 = 16;
/// Keys of one transaction that are read at a time.
const READ_AT_ONCE: usize = 64;

/// See [above](self).
pub(crate) struct Service {
    pub(crate) db: Db,
    pub(crate) gate: Rc<Gate>,
    pub(crate) budget: Rc<Budget>,
    pub(crate) users: Users,
    pub(crate) cursors: RefCell<Cursors>,
    pub(crate) counts: RespCounts,
    /// When a commit is answered.
    pub(crate) promise: Cell<LogMode>,
    pub(crate) received: ReceivingBuffer,
    keyspaces: Vec<Keyspace>,
}

/// What `INFO` tells.
#[derive(Debug, Default)]
pub(crate) struct RespCounts {
    pub(crate) connections: Cell<u64>,
    pub(crate) connected: Cell<u64>,
    pub(crate) refused: Cell<u64>,
    /// Those with which TLS came to nothing.
    pub(crate) unsealed: Cell<u64>,
    pub(crate) commands: Cell<u64>,
    pub(crate) errors: Cell<u64>,
    pub(crate) found: Cell<u64>,
    pub(crate) missed: Cell<u64>,
}

/// One more.
pub(crate) fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// A command of a transaction.
pub(crate) type Queued = (&'static KeyCommand, RespRequest);

/// What has become of a command so far.
pub(crate) enum BegunCommand {
    /// It is over.
    Answered(RespReply),
    /// Its only key is being read.
    KeyReading(Pending<Option<DbEntry>>, RespRequest),
    /// It is being committed, and this is its answer then.
    Committing(Pending<u64>, RespReply),
    /// It is being carried out on what its keys hold.
    Updating(Pending<Result<Vec<RespReply>, RespRefusal>>),
    /// It reads several keys as of one moment: [`Service::look`].
    Looks(RespRequest),
}

impl Service {
    /// For a database that is open.
    pub(crate) fn new(
        db: Db,
        users: Users,
        promise: LogMode,
        budget: Rc<Budget>,
    ) -> Result<Rc<Service>, TermsError> {
        let keyspace = |number| {
            Keyspace::new(format!("resp{number}")).expect("a short name that is not empty")
        };
        Ok(Rc::new(Service {
            gate: Gate::new(users.terms())?,
            budget,
            db,
            users,
            cursors: RefCell::new(Cursors::new(now_ms())),
            counts: RespCounts::default(),
            promise: Cell::new(promise),
            received: ReceivingBuffer::default(),
            keyspaces: (0..DATABASES).map(keyspace).collect(),
        }))
    }

    /// Where a numbered database's keys are.
    pub(crate) fn keyspace(&self, database: u8) -> &Keyspace {
        &self.keyspaces[usize::from(database)]
    }

    /// Begins a command that stands alone, without waiting for anything. `in_line` says that it is to find what commands of changes before it have left, which
    /// are on their way.
    pub(crate) fn begin(
        &self,
        database: u8,
        command: &'static KeyCommand,
        request: RespRequest,
        in_line: bool,
    ) -> BegunCommand {
        if let Err(refusal) = command.check(&request) {
            return BegunCommand::Answered(refusal.into());
        }
        let keyspace = self.keyspace(database);
        if !command.reads(&request) {
            let mut keys = KeyTable::default();
            let answer = run(command, &request, &mut keys);
            let Ok(reply) = answer else { return BegunCommand::Answered(told(answer)) };
            let mut batch = WriteBatch::new();
            for (key, stored) in keys.changes() {
                match stored {
                    Some(stored) => batch.put_entry(keyspace, key, &stored.entry()),
                    None => batch.remove(keyspace, key),
                };
            }
            batch.promise(self.promise.get());
            return BegunCommand::Committing(self.db.write_later(batch), reply);
        }
        if command.writes() || in_line {
            let keys = self.update_keys(database, command.keys_of(&request).into_iter());
            let (keyspace, commands) = (keyspace.clone(), [(command, request)]);
            let limits = self.db.limits();
            let work =
                move |update: &mut DbUpdate<'_>| on_update(&commands, &keyspace, &limits, update);
            return BegunCommand::Updating(self.db.update_later(keys, work));
        }
        match command.keys_of(&request)[..] {
            [key] => BegunCommand::KeyReading(self.db.entry_later(keyspace, key), request),
            _ => BegunCommand::Looks(request),
        }
    }

    /// Ends a command whose key was read.
    pub(crate) fn end_read(
        &self,
        command: &KeyCommand,
        request: &RespRequest,
        entry: Option<DbEntry>,
    ) -> RespReply {
        count(if entry.is_some() { &self.counts.found } else { &self.counts.missed });
        let mut keys = KeyTable::default();
        let key = command.keys_of(request)[0];
        told(keys.note(key, entry).and_then(|()| run(command, request, &mut keys)))
    }

    /// Carries commands that only read out, all of them at one moment. What one of them refuses the others do all the same, as the original has it.
    pub(crate) async fn look(
        &self,
        database: u8,
        commands: &[Queued],
    ) -> Result<Vec<RespReply>, RespRefusal> {
        let keyspace = self.keyspace(database);
        let all: BTreeSet<&[u8]> =
            commands.iter().flat_map(|(command, request)| command.keys_of(request)).collect();
        let snapshot = self.db.snapshot_later().await?;
        let mut held = HeldBytes::new(&self.budget, 0);
        let (mut keys, mut bytes) = (KeyTable::default(), 0);
        let mut rest = all.iter();
        loop {
            let together = rest.by_ref().take(READ_AT_ONCE);
            let entries: Vec<_> =
                together.map(|key| (*key, snapshot.entry_later(keyspace, key))).collect();
            if entries.is_empty() {
                return run_all(commands, &mut keys, &self.db.limits());
            }
            for (key, entry) in entries {
                let entry = entry.await?;
                bytes += entry.as_ref().map_or(0, |entry| entry.value.len());
                if bytes > ANSWER_BYTES_MAX {
                    return Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX));
                }
                if bytes > FREE_BYTES && self.budget.is_full() {
                    return Err(RespRefusal::Memory);
                }
                held.set(bytes);
                keys.note(key, entry)?;
            }
        }
    }

    /// The same of commands that change what their keys hold, unless a watched key was changed: then nothing is done.
    pub(crate) async fn change(
        &self,
        database: u8,
        commands: Vec<Queued>,
        watch: KeyWatch,
    ) -> Result<Option<Vec<RespReply>>, RespRefusal> {
        let keys = commands.iter().flat_map(|(command, request)| command.keys_of(request));
        let keys = self.update_keys(database, keys);
        let (keyspace, limits) = (self.keyspace(database).clone(), self.db.limits());
        let work =
            move |update: &mut DbUpdate<'_>| on_update(&commands, &keyspace, &limits, update);
        let done = match watch.into_reads() {
            None => self.db.update_later(keys, work).await,
            Some(WatchedReads::Expired) => return Ok(None),
            Some(WatchedReads::Kept(watch)) => watch.update_later(keys, work).await,
        };
        match done {
            Ok(replies) => replies.map(Some),
            Err(DbError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn update_keys<'k>(&self, database: u8, keys: impl Iterator<Item = &'k [u8]>) -> UpdateKeys {
        UpdateKeys::of(self.keyspace(database), keys).promise(self.promise.get())
    }
}

/// Carries commands out on what the database finds of their keys. One that cannot be carried out at all has changed nothing.
fn on_update(
    commands: &[Queued],
    keyspace: &Keyspace,
    limits: &StoreLimits,
    update: &mut DbUpdate<'_>,
) -> Result<Vec<RespReply>, RespRefusal> {
    let mut keys = KeyTable::default();
    for key in commands.iter().flat_map(|(command, request)| command.keys_of(request)) {
        if !keys.has(key) {
            keys.note(key, update.get(keyspace, key))?;
        }
    }
    let replies = run_all(commands, &mut keys, limits)?;
    for (key, stored) in keys.changes() {
        match stored {
            Some(stored) => update.put_entry(keyspace, key, &stored.entry()),
            None => update.remove(keyspace, key),
        }
    }
    Ok(replies)
}

/// Carries commands out one after the other.
fn run_all(
    commands: &[Queued],
    keys: &mut KeyTable,
    limits: &StoreLimits,
) -> Result<Vec<RespReply>, RespRefusal> {
    let (mut replies, mut bytes) = (Vec::new(), 0);
    for (command, request) in commands {
        let reply = told(run(command, request, keys));
        keys.check(limits)?;
        bytes += reply.bytes();
        if bytes > ANSWER_BYTES_MAX {
            return Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX));
        }
        replies.push(reply);
    }
    Ok(replies)
}

/// Carries a command out on its keys. What is refused has changed none of them.
fn run(
    command: &KeyCommand,
    request: &RespRequest,
    keys: &mut KeyTable,
) -> Result<RespReply, RespRefusal> {
    command.check(request)?;
    (command.run)(&mut KeyCall { request, keys, now_ms: now_ms() })
}

/// What the client is told.
pub(crate) fn told(answer: Result<RespReply, RespRefusal>) -> RespReply {
    answer.unwrap_or_else(RespReply::from)
}
