//! What all connections share, and how commands on keys are carried out: alone, or several as one transaction.
//!
//! That they are right is the database's doing. What only reads does so from a snapshot; what reads and changes is an update
//! of the database, which finds what the last commit has left and is answered when both are durable: of a hundred clients that count in one key nobody
//! waits for another's flush.

use crate::budget::{Budget, HeldBytes};
use crate::commands::{KeyCall, KeyCommand, answer_fits};
use crate::cursors::Cursors;
use crate::gate::{Gate, TermsError};
use crate::keys::KeyTable;
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
const READ_AT_ONCE: u64 = 64;

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
    /// Bytes of a value at most.
    pub(crate) value_bytes: u64,
    /// As long as values mostly are.
    pub(crate) usual: UsualLength,
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

/// Where a command is carried out, and on which terms.
#[derive(Clone, Copy)]
pub(crate) struct CommandTerms {
    pub(crate) database: u8,
    /// Whether it is to find what commands of changes before it have left, which are on their way.
    pub(crate) in_line: bool,
    /// Bytes of values that may be read for it and answered,
    pub(crate) room: u64,
    /// each of them so many at most,
    pub(crate) each: usize,
    /// and so many that may be read beside that, and not answered.
    pub(crate) lane: u64,
}

/// A command that has come to its end.
pub(crate) struct EndedCommand {
    pub(crate) answer: Result<RespReply, RespRefusal>,
    /// What it was, where it may be carried out again: it has only read.
    pub(crate) request: Option<RespRequest>,
}

impl CommandTerms {
    /// What is left to answer with when so many bytes were read, if those may be.
    fn left(self, room: u64, read: u64) -> Result<u64, RespRefusal> {
        let counted = read.saturating_sub(self.lane);
        answer_fits(counted, room)?;
        Ok(room - counted)
    }
}

/// An answer of no value, which is always made: a number, an error.
const SHORT_ANSWER: u64 = 256;

/// A command of a transaction.
pub(crate) type Queued = (&'static KeyCommand, RespRequest);

/// How long most values are that were read lately, up to a power of two. A value is read within that first, and one that is longer once more.
#[derive(Debug)]
pub(crate) struct UsualLength {
    bytes: Cell<usize>,
    /// Of this round so many were longer, were longer than half of that, and are left.
    longer: Cell<u32>,
    over_half: Cell<u32>,
    left: Cell<u32>,
}

/// What is usual at first, and at least.
const USUAL_LEAST: usize = 4 << 10;
/// Values of a round, behind which it is seen what is usual: of longer ones there are no more than an eighth.
const USUAL_ROUND: u32 = 512;

impl Default for UsualLength {
    fn default() -> UsualLength {
        let (longer, over_half) = Default::default();
        UsualLength {
            bytes: Cell::new(USUAL_LEAST),
            longer,
            over_half,
            left: Cell::new(USUAL_ROUND),
        }
    }
}

impl UsualLength {
    pub(crate) fn get(&self) -> usize {
        self.bytes.get()
    }

    /// One was so long.
    fn note(&self, bytes: usize) {
        let usual = self.bytes.get();
        self.longer.set(self.longer.get() + u32::from(bytes > usual));
        self.over_half.set(self.over_half.get() + u32::from(bytes > usual / 2));
        self.left.set(self.left.get() - 1);
        if self.left.get() > 0 {
            return;
        }
        self.left.set(USUAL_ROUND);
        let (longer, over_half) = (self.longer.take(), self.over_half.take());
        if longer > USUAL_ROUND / 8 {
            self.bytes.set(usual * 2);
        } else if over_half <= USUAL_ROUND / 8 {
            self.bytes.set((usual / 2).max(USUAL_LEAST));
        }
    }
}

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
        let limits = db.limits();
        Ok(Rc::new(Service {
            gate: Gate::new(users.terms())?,
            budget,
            db,
            users,
            cursors: RefCell::new(Cursors::new(now_ms())),
            counts: RespCounts::default(),
            promise: Cell::new(promise),
            received: ReceivingBuffer::default(),
            value_bytes: limits.value_bytes as u64,
            usual: UsualLength::default(),
            keyspaces: (0..DATABASES).map(keyspace).collect(),
        }))
    }

    /// Where a numbered database's keys are.
    pub(crate) fn keyspace(&self, database: u8) -> &Keyspace {
        &self.keyspaces[usize::from(database)]
    }

    /// Begins a command that stands alone, without waiting for anything.
    pub(crate) fn begin(
        &self,
        terms: CommandTerms,
        command: &'static KeyCommand,
        request: RespRequest,
    ) -> BegunCommand {
        let CommandTerms { database, in_line, room, each, .. } = terms;
        if let Err(refusal) = command.check(&request) {
            return BegunCommand::Answered(refusal.into());
        }
        let keyspace = self.keyspace(database);
        if !command.reads(&request) {
            let mut keys = KeyTable::default();
            let answer = run(command, &request, &mut keys, SHORT_ANSWER);
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
            let work = move |update: &mut DbUpdate<'_>| {
                on_update((&commands, room), &keyspace, &limits, update)
            };
            return BegunCommand::Updating(self.db.update_later(keys, work));
        }
        match command.keys_of(&request)[..] {
            [key] => {
                let entry = self.db.entry_within_later(keyspace, key, each);
                BegunCommand::KeyReading(entry, request)
            }
            _ => BegunCommand::Looks(request),
        }
    }

    /// Waits for the end of a command that has begun on these terms. `held` is what it has of the memory, of which what it reads may take more, if that is there. Where there is no
    /// room for its answer it has done nothing ([`RespRefusal::Room`]).
    pub(crate) async fn end(
        &self,
        (terms, held): (CommandTerms, &mut HeldBytes),
        command: &'static KeyCommand,
        begun: BegunCommand,
    ) -> EndedCommand {
        let (answer, request) = match begun {
            BegunCommand::Answered(reply) => (Ok(reply), None),
            BegunCommand::KeyReading(entry, request) => {
                let answer = self.read_key((terms, held), command, (&request, entry)).await;
                (answer, Some(request))
            }
            BegunCommand::Committing(commit, reply) => {
                (commit.await.map(|_| reply).map_err(RespRefusal::from), None)
            }
            BegunCommand::Updating(update) => {
                (update.await.map_err(RespRefusal::from).flatten().map(only), None)
            }
            BegunCommand::Looks(request) => {
                let queued = [(command, request)];
                let looked = self.look_within((terms, held), &queued).await;
                let [(_, request)] = queued;
                (looked.map(only), Some(request))
            }
        };
        EndedCommand { answer, request }
    }

    /// Reads the only key of a command, once more if its value is longer than was thought.
    async fn read_key(
        &self,
        (terms, held): (CommandTerms, &mut HeldBytes),
        command: &'static KeyCommand,
        (request, entry): (&RespRequest, Pending<Option<DbEntry>>),
    ) -> Result<RespReply, RespRefusal> {
        let mut entry = entry.await;
        while let Err(DbError::Longer { bytes }) = entry {
            // It is read, and answered.
            if !held.try_set(held.bytes() + 2 * bytes as u64) {
                return Err(RespRefusal::Room);
            }
            let (keyspace, key) = (self.keyspace(terms.database), command.keys_of(request)[0]);
            entry = self.db.entry_within_later(keyspace, key, bytes).await;
        }
        let entry = entry?;
        let bytes = entry.as_ref().map_or(0, |entry| entry.value.len());
        self.usual.note(bytes);
        // Nobody else takes of it before the answer is made.
        let room = terms.left(held.room(), bytes as u64)?;
        self.end_read(command, request, entry, room)
    }

    /// Reads the keys of commands, once more if a value is longer than was thought.
    async fn look_within(
        &self,
        (mut terms, held): (CommandTerms, &mut HeldBytes),
        commands: &[Queued],
    ) -> Result<Vec<RespReply>, RespRefusal> {
        loop {
            match self.look(terms, commands).await {
                Err(RespRefusal::Db(DbError::Longer { bytes })) => {
                    self.usual.note(bytes);
                    let longest = commands
                        .iter()
                        .map(|(command, request)| command.longest(request, false, bytes as u64));
                    let room = longest.sum();
                    if !held.try_set(held.bytes() - terms.room.min(held.bytes()) + room) {
                        return Err(RespRefusal::Room);
                    }
                    (terms.room, terms.each) = (room, bytes);
                }
                looked => return looked,
            }
        }
    }

    /// Ends a command whose key was read, with so many bytes of an answer.
    fn end_read(
        &self,
        command: &KeyCommand,
        request: &RespRequest,
        entry: Option<DbEntry>,
        room: u64,
    ) -> Result<RespReply, RespRefusal> {
        count(if entry.is_some() { &self.counts.found } else { &self.counts.missed });
        let mut keys = KeyTable::default();
        let key = command.keys_of(request)[0];
        let noted = keys.note(key, entry);
        let room = room + SHORT_ANSWER;
        told_if_there_is_room(noted.and_then(|()| run(command, request, &mut keys, room)))
    }

    /// Carries commands that only read out, all of them at one moment. What one of them refuses the others do all the same, as the original has it.
    pub(crate) async fn look(
        &self,
        terms: CommandTerms,
        commands: &[Queued],
    ) -> Result<Vec<RespReply>, RespRefusal> {
        let keyspace = self.keyspace(terms.database);
        let all: BTreeSet<&[u8]> =
            commands.iter().flat_map(|(command, request)| command.keys_of(request)).collect();
        let snapshot = self.db.snapshot_later().await?;
        let (mut keys, mut bytes) = (KeyTable::default(), 0);
        let mut rest = all.iter();
        loop {
            let room = terms.left(terms.room, bytes)?;
            // As many as there is room for whatever they hold.
            let fitting = room / (terms.each as u64).clamp(1, self.value_bytes.max(1));
            let together = rest.by_ref().take(fitting.clamp(1, READ_AT_ONCE) as usize);
            let entries: Vec<_> = together
                .map(|key| (*key, snapshot.entry_within_later(keyspace, key, terms.each)))
                .collect();
            if entries.is_empty() {
                return run_all(commands, &mut keys, &self.db.limits(), room);
            }
            for (key, entry) in entries {
                let entry = entry.await?;
                let length = entry.as_ref().map_or(0, |entry| entry.value.len());
                self.usual.note(length);
                bytes += length as u64;
                terms.left(terms.room, bytes)?;
                keys.note(key, entry)?;
            }
        }
    }

    /// The same of commands that change what their keys hold, unless a watched key was changed: then nothing is done.
    pub(crate) async fn change(
        &self,
        terms: CommandTerms,
        commands: Vec<Queued>,
        watch: KeyWatch,
    ) -> Result<Option<Vec<RespReply>>, RespRefusal> {
        let keys = commands.iter().flat_map(|(command, request)| command.keys_of(request));
        let CommandTerms { database, room, .. } = terms;
        let keys = self.update_keys(database, keys);
        let (keyspace, limits) = (self.keyspace(database).clone(), self.db.limits());
        let work = move |update: &mut DbUpdate<'_>| {
            on_update((&commands, room), &keyspace, &limits, update)
        };
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
    (commands, room): (&[Queued], u64),
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
    let replies = run_all(commands, &mut keys, limits, room)?;
    for (key, stored) in keys.changes() {
        match stored {
            Some(stored) => update.put_entry(keyspace, key, &stored.entry()),
            None => update.remove(keyspace, key),
        }
    }
    Ok(replies)
}

/// Carries commands out one after the other, with so many bytes of answers beside short ones.
fn run_all(
    commands: &[Queued],
    keys: &mut KeyTable,
    limits: &StoreLimits,
    room: u64,
) -> Result<Vec<RespReply>, RespRefusal> {
    let (mut replies, mut bytes) = (Vec::new(), 0);
    let room = room + SHORT_ANSWER * commands.len() as u64;
    for (command, request) in commands {
        let reply = told_if_there_is_room(run(command, request, keys, room - bytes))?;
        keys.check(limits)?;
        bytes += reply.bytes() as u64;
        answer_fits(bytes, room)?;
        replies.push(reply);
    }
    Ok(replies)
}

/// Carries a command out on its keys, with so many bytes of an answer. What is refused has changed none of them.
fn run(
    command: &KeyCommand,
    request: &RespRequest,
    keys: &mut KeyTable,
    room: u64,
) -> Result<RespReply, RespRefusal> {
    command.check(request)?;
    (command.run)(&mut KeyCall { request, keys, now_ms: now_ms(), room })
}

/// What the client is told.
pub(crate) fn told(answer: Result<RespReply, RespRefusal>) -> RespReply {
    answer.unwrap_or_else(RespReply::from)
}

/// The same, unless it is to be carried out again with more room.
fn told_if_there_is_room(answer: Result<RespReply, RespRefusal>) -> Result<RespReply, RespRefusal> {
    match answer {
        Err(RespRefusal::Room) => Err(RespRefusal::Room),
        other => Ok(told(other)),
    }
}

/// The answer of one command.
fn only(replies: Vec<RespReply>) -> RespReply {
    replies.into_iter().next().unwrap_or(RespReply::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_follows_most_values_and_not_the_longest() {
        let usual = UsualLength::default();
        let rounds = |count, lengths: &[usize]| {
            (0..count * USUAL_ROUND as usize)
                .for_each(|at| usual.note(lengths[at % lengths.len()]));
            usual.get()
        };
        assert_eq!(rounds(9, &[100, 100, 100, 100, 100, 100, 100, 100, 100, 1 << 20]), 4 << 10);
        assert_eq!(rounds(9, &[100, 60_000, 100]), 64 << 10);
        assert_eq!(rounds(9, &[30_000]), 32 << 10);
        assert_eq!(rounds(9, &[5]), 4 << 10);
    }
}
