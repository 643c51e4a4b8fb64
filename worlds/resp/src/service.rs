//! What all connections share, and how commands on keys are carried out: alone, or several as one transaction.
//!
//! That they are right is the database's doing: what was read must still be so at the commit, else it is done again. Commands that read
//! before they change hold a lock of their keys meanwhile, which only spares such repetitions: of a hundred clients that count
//! in one key, each would otherwise begin again for every other's commit.

use crate::budget::{Budget, FREE_BYTES, HeldBytes};
use crate::commands::{ANSWER_BYTES_MAX, KeyCall, KeyCommand};
use crate::cursors::Cursors;
use crate::gate::{Gate, TermsError};
use crate::keys::KeyTable;
use crate::received::ReceivingBuffer;
use crate::refusal::RespRefusal;
use crate::users::Users;
use crate::watch::KeyWatch;
use loadline_base::mix64;
use loadline_kv::{
    Db, DbEntry, DbError, DbTransaction, Keyspace, LogMode, Pending, WriteBatch, now_ms,
};
use loadline_wire::resp::{RespReply, RespRequest};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use tokio::sync::{Mutex, MutexGuard};

/// Numbered databases.
pub(crate) const DATABASES: u8 = 16;
/// Keys of one transaction that are read at a time.
const READ_AT_ONCE: usize = 64;
/// Locks that keys share.
const LOCKS: u64 = 1024;

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
    locks: Vec<Mutex<()>>,
}

/// What `INFO` tells.
#[derive(Debug, Default)]
pub(crate) struct RespCounts {
    pub(crate) connections: Cell<u64>,
    pub(crate) connected: Cell<u64>,
    pub(crate) refused: Cell<u64>,
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
    KeyReading(Pending<Option<DbEntry>>),
    /// It is being committed, and this is its answer then.
    Committing(Pending<u64>, RespReply),
    /// It needs a transaction: [`Service::transact`].
    Reads,
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
            cursors: RefCell::default(),
            counts: RespCounts::default(),
            promise: Cell::new(promise),
            received: ReceivingBuffer::default(),
            keyspaces: (0..DATABASES).map(keyspace).collect(),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
        }))
    }

    /// Where a numbered database's keys are.
    pub(crate) fn keyspace(&self, database: u8) -> &Keyspace {
        &self.keyspaces[usize::from(database)]
    }

    /// Begins a command that stands alone, without waiting for anything.
    pub(crate) fn begin(
        &self,
        database: u8,
        command: &KeyCommand,
        request: &RespRequest,
    ) -> BegunCommand {
        if let Err(refusal) = command.check(request) {
            return BegunCommand::Answered(refusal.into());
        }
        let keyspace = self.keyspace(database);
        if !command.reads(request) {
            let mut keys = KeyTable::default();
            let answer = run(command, request, &mut keys);
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
        match command.keys_of(request)[..] {
            [key] if !command.writes() => {
                BegunCommand::KeyReading(self.db.entry_later(keyspace, key))
            }
            _ => BegunCommand::Reads,
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

    /// Carries commands out, all of them at one moment, unless a watched key was changed. What one of them refuses the others do all the same,
    /// as the original has it.
    pub(crate) async fn transact(
        &self,
        database: u8,
        commands: &[Queued],
        watch: &KeyWatch,
    ) -> Result<Option<Vec<RespReply>>, RespRefusal> {
        let keys = commands.iter().flat_map(|(command, request)| command.keys_of(request));
        let all: BTreeSet<&[u8]> = keys.collect();
        let _locks = match commands.iter().any(|(command, _)| command.writes()) {
            true => self.lock(database, &all).await,
            false => Vec::new(),
        };
        loop {
            let mut transaction = self.db.begin_later().await?;
            // What is watched was as it is up to the transaction's beginning, and what it reads itself is so up to its commit.
            let watched: Vec<_> = watch
                .keys()
                .map(|(of, key)| transaction.get_later(self.keyspace(*of), key))
                .collect();
            for value in watched {
                value.await?;
            }
            if !watch.holds().await? {
                return Ok(None);
            }
            let mut held = HeldBytes::new(&self.budget, 0);
            let mut keys = self.read(database, &all, &mut transaction, &mut held).await?;
            let (mut replies, mut bytes) = (Vec::new(), 0);
            for (command, request) in commands {
                let reply = told(run(command, request, &mut keys));
                bytes += reply.bytes();
                if bytes > ANSWER_BYTES_MAX {
                    return Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX));
                }
                replies.push(reply);
            }
            let mut changes = keys.changes().peekable();
            if changes.peek().is_none() {
                return Ok(Some(replies));
            }
            let keyspace = self.keyspace(database);
            for (key, stored) in changes {
                match stored {
                    Some(stored) => transaction.put_entry(keyspace, key, &stored.entry()),
                    None => transaction.remove(keyspace, key),
                }
            }
            transaction.promise(self.promise.get());
            match transaction.commit_later().await {
                Ok(_) => return Ok(Some(replies)),
                // Somebody who reads nothing came between. If it was at a watched key, the next turn ends.
                Err(DbError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn read(
        &self,
        database: u8,
        all: &BTreeSet<&[u8]>,
        transaction: &mut DbTransaction,
        held: &mut HeldBytes,
    ) -> Result<KeyTable, RespRefusal> {
        let keyspace = self.keyspace(database);
        let (mut keys, mut bytes) = (KeyTable::default(), 0);
        let mut rest = all.iter();
        loop {
            let together = rest.by_ref().take(READ_AT_ONCE);
            let entries: Vec<_> =
                together.map(|key| (*key, transaction.entry_later(keyspace, key))).collect();
            if entries.is_empty() {
                return Ok(keys);
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

    /// The locks of these keys, in an order that all keep to.
    async fn lock(&self, database: u8, keys: &BTreeSet<&[u8]>) -> Vec<MutexGuard<'_, ()>> {
        let place = |key: &&[u8]| {
            let bytes =
                key.iter().fold(u64::from(database), |sum, byte| mix64(sum ^ u64::from(*byte)));
            (bytes % LOCKS) as usize
        };
        let places: BTreeSet<usize> = keys.iter().map(place).collect();
        let mut locks = Vec::new();
        for place in places {
            locks.push(self.locks[place].lock().await);
        }
        locks
    }
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
