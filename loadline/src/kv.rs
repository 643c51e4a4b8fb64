//! `loadline kv`: the database that programs embed, from a shell.

mod args;
mod serve;
mod size;

pub(crate) use args::KvCommand;

use crate::failure::Failure;
use crate::inspect::show_findings;
use crate::interrupt::interruptible;
use crate::show;
use args::{ChangeArgs, DbArgs, KeyspaceArgs, ScanArgs};
use loadline_base::{Bytes, Span, in_short};
use loadline_host::{DiskOpenError, DiskProblem, NewStoreError, folder_of, open_named};
use loadline_kv::{
    BackupError, Db, DbError, DbOpenError, DbOptions, Keyspace, StoreLimits, StreamFault,
    WriteBatch, grow, restore, verify_backup,
};
use loadline_store::paged::superblock::SuperblockFault;
use loadline_store::paged::{Fault, RestartFault};
use serde_json::{Value, json};
use size::{check_size, size_if_new};
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Far more than a value may have.
const STDIN_BYTES_MAX: u64 = 16 << 20;

pub(crate) fn carry_out(command: KvCommand) -> Result<(), Failure> {
    match command {
        KvCommand::Get { key, of } => get(&key, &of),
        KvCommand::Put { key, value, ttl, size, of } => put(&key, &value, ttl, size, &of),
        KvCommand::Remove { key, of } => remove(&key, &of),
        KvCommand::Scan(args) => scan(args),
        KvCommand::Show(args) => tell(&args),
        KvCommand::Verify(args) => verify(&args),
        KvCommand::Backup { to, db } => backup(&to, &db),
        KvCommand::Restore { from, dir, size, json } => {
            bring_back(&from, dir.as_deref(), size, json)
        }
        KvCommand::Serve(args) => serve::serve(args),
        KvCommand::Grow { size, db } => give_room(size, &db),
    }
}

/// A database that is there.
fn open(args: &DbArgs) -> Result<Db, Failure> {
    Ok(Db::open(&args.dir, existing(args))?)
}

fn existing(args: &DbArgs) -> DbOptions {
    DbOptions { create: false, cache: args.cache, ..DbOptions::default() }
}

/// The database, which is made if there is none.
fn open_or_make(
    size: Option<Bytes>,
    ChangeArgs { log_mode, of }: &ChangeArgs,
) -> Result<Db, Failure> {
    let there = DbOptions { log_mode: *log_mode, ..existing(&of.db) };
    let db = match Db::open(&of.db.dir, there) {
        // To make one takes long enough that somebody may press Ctrl-C meanwhile.
        Err(DbOpenError::Missing { .. }) => {
            let new = DbOptions { create: true, size: size_if_new(size), ..there };
            Db::open_unless(&of.db.dir, new, interruptible()?)
        }
        opened => opened,
    }?;
    check_size(&db, size)?;
    Ok(db)
}

fn get(key: &str, of: &KeyspaceArgs) -> Result<(), Failure> {
    let keyspace = Keyspace::new(&of.keyspace)?;
    let db = open(&of.db)?;
    let value = db.get(&keyspace, key.as_bytes())?;
    if of.db.json {
        let value = value.as_deref().map(shown);
        show::json(&json!({ "key": key, "value": value }))?;
    }
    match value {
        Some(_) if of.db.json => Ok(()),
        Some(value) => show::is_read(&[&value[..], b"\n"].concat()).map(drop),
        None => {
            let (keyspace, key) = (&of.keyspace, in_short(key));
            Err(Failure::Environment(format!("keyspace {keyspace} has no key {key}")))
        }
    }
}

fn put(
    key: &str,
    value: &str,
    ttl: Option<Span>,
    size: Option<Bytes>,
    change: &ChangeArgs,
) -> Result<(), Failure> {
    let of = &change.of;
    if ttl == Some(Span::ZERO) {
        let why = "--ttl 0s: takes a time that passes; `loadline kv remove` removes a key";
        return Err(Failure::Input(why.to_owned()));
    }
    let mut given = Vec::new();
    match value {
        "-" => {
            let read = io::stdin().lock().take(STDIN_BYTES_MAX + 1).read_to_end(&mut given);
            read.map_err(|error| Failure::unreadable(Path::new("-"), &error))?;
            if given.len() as u64 > STDIN_BYTES_MAX {
                let most = Bytes::new(STDIN_BYTES_MAX);
                return Err(Failure::Input(format!(
                    "the value on the standard input has more than {most}, and no database takes that"
                )));
            }
        }
        value => given.extend_from_slice(value.as_bytes()),
    }
    let keyspace = Keyspace::new(&of.keyspace)?;
    let too_large = |limits: StoreLimits| {
        let longest = keyspace.longest(limits, ttl.is_some());
        let refuse = |what: String, has: usize, most: usize| {
            (has > most)
                .then(|| Failure::Input(format!("{what} has {has} bytes and may have {most}")))
        };
        refuse(format!("the key, in keyspace {},", of.keyspace), key.len(), longest.key_bytes)
            .or_else(|| refuse("the value".to_owned(), given.len(), longest.value_bytes))
    };
    // Of a pair that no database of this size takes, none is made.
    let new = DbOptions { size: size_if_new(size), ..DbOptions::default() };
    if let Some(limits) = new.limits().filter(|_| !of.db.dir.exists()) {
        too_large(limits).map_or(Ok(()), Err)?;
    }
    let db = open_or_make(size, change)?;
    let mut batch = WriteBatch::new();
    match ttl {
        Some(lives) => batch.put_for(&keyspace, key.as_bytes(), &given, lives),
        None => batch.put(&keyspace, key.as_bytes(), &given),
    };
    commit(&db, batch, of).map_err(|failure| too_large(db.limits()).unwrap_or(failure))
}

fn remove(key: &str, ChangeArgs { log_mode, of }: &ChangeArgs) -> Result<(), Failure> {
    let keyspace = Keyspace::new(&of.keyspace)?;
    let db = Db::open(&of.db.dir, DbOptions { log_mode: *log_mode, ..existing(&of.db) })?;
    let mut batch = WriteBatch::new();
    batch.remove(&keyspace, key.as_bytes());
    commit(&db, batch, of)
}

fn commit(db: &Db, batch: WriteBatch, of: &KeyspaceArgs) -> Result<(), Failure> {
    let number = db.write(batch)?;
    db.sync()?;
    if of.db.json { show::json(&json!({ "commit": number })) } else { Ok(()) }
}

fn scan(args: ScanArgs) -> Result<(), Failure> {
    let ScanArgs { prefix, from, until, backward, most, keyspace, db: of } = args;
    let keyspace = Keyspace::new(&keyspace)?;
    if let (Some(from), Some(until)) = (&from, &until)
        && from >= until
    {
        return Err(Failure::Input(format!(
            "--from {} is not below --until {}, so no key is between them",
            in_short(from),
            in_short(until)
        )));
    }
    let db = open(&of)?;
    let mut scan = db.snapshot()?.scan(&keyspace).prefix(prefix.as_bytes());
    scan = from.into_iter().fold(scan, |scan, key| scan.from(key.as_bytes()));
    scan = until.into_iter().fold(scan, |scan, key| scan.until(key.as_bytes()));
    let scan = if backward { scan.backward() } else { scan };
    let found = scan.iter().take(most.unwrap_or(usize::MAX));
    if of.json {
        let pairs = found.map(|pair| {
            pair.map(|(key, value)| json!({ "key": shown(&key), "value": shown(&value) }))
        });
        let pairs: Vec<Value> = pairs.collect::<Result<_, DbError>>()?;
        return show::json(&json!({ "pairs": pairs }));
    }
    for pair in found {
        let (key, value) = pair?;
        if !show::is_read(&[&key[..], b"\t", &value, b"\n"].concat())? {
            break;
        }
    }
    Ok(())
}

fn tell(args: &DbArgs) -> Result<(), Failure> {
    let db = open(args)?;
    let keyspaces = db.keyspaces()?;
    let names: Vec<Value> = keyspaces.iter().map(|keyspace| shown(keyspace.name())).collect();
    let counts = db.statistics()?;
    if args.json {
        return show::json(&json!({
            "file_bytes": counts.file_bytes, "page_bytes": counts.page_bytes,
            "free_bytes": counts.free_bytes, "keyspaces": names,
            "longest_key": db.limits().key_bytes, "longest_value": db.limits().value_bytes,
        }));
    }
    let names: Vec<String> = keyspaces
        .iter()
        .map(|keyspace| String::from_utf8_lossy(keyspace.name()).into_owned())
        .collect();
    show::text(&format!(
        "file {}, pages {}, free {}\nkeyspaces {}\n",
        Bytes::new(counts.file_bytes),
        Bytes::new(counts.page_bytes),
        Bytes::new(counts.free_bytes),
        if names.is_empty() { "none".to_owned() } else { names.join(", ") },
    ))
}

fn verify(args: &DbArgs) -> Result<(), Failure> {
    let report = open(args)?.verify()?;
    show_findings(&report, args.json)
}

fn backup(to: &Path, args: &DbArgs) -> Result<(), Failure> {
    if to == Path::new("-") && args.json {
        let why = "--json: the backup itself goes to the standard output: leave --json out, or name a file";
        return Err(Failure::Input(why.to_owned()));
    }
    let db = open(args)?;
    if to == Path::new("-") {
        db.backup(io::stdout().lock())
            .map_err(|error| of_backup(Path::new("the output"), error))?;
        return Ok(());
    }
    if is_in(to, &args.dir) {
        return Err(Failure::Input(format!(
            "--to {}: files in a database's folder are its own: name one outside",
            to.display()
        )));
    }
    let keys = db.backup_to(to).map_err(|error| of_backup(to, error))?;
    let line = format!("{}: {keys} keys", to.display());
    if fs::symlink_metadata(to).is_ok_and(|made| made.is_file()) {
        return told(args.json, keys, &line);
    }
    // What is no file may be the standard output, and nothing may stand behind the backup there.
    show::note(&if args.json { json!({ "keys": keys }).to_string() } else { line });
    Ok(())
}

/// Whether a file is, or would be, in this folder. What has a name there that the database gives its own drafts is removed when it makes one.
fn is_in(file: &Path, folder: &Path) -> bool {
    let real = [folder_of(file), folder].map(fs::canonicalize);
    matches!(&real, [Ok(above), Ok(folder)] if above == folder)
}

/// Why there is no backup; what writes it does not know where it goes.
fn of_backup(to: &Path, error: BackupError) -> Failure {
    match error {
        BackupError::Io(error) => Failure::unwritable(to, &error),
        other => other.into(),
    }
}

/// A backup that is read. Between two pieces of it a request to end is heard, so that what was made of it until then is taken away.
struct GivenBackup {
    from: Box<dyn Read>,
    stop: Arc<AtomicBool>,
    /// Why no more of it can be read.
    broken: Option<io::Error>,
}

impl Read for GivenBackup {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.from.read(into).map_err(|error| {
            let told = io::Error::from(error.kind());
            self.broken = Some(error);
            told
        })
    }
}

impl GivenBackup {
    /// Why nothing came of it.
    fn blame(self, from: &Path, error: BackupError) -> Failure {
        let shown = from.display();
        match (self.broken, error) {
            _ if self.stop.load(Ordering::Relaxed) => {
                Failure::Interrupted("interrupted; nothing was made of the backup".to_owned())
            }
            (Some(broken), _) => Failure::unreadable(from, &broken),
            (None, BackupError::Stream(fault)) => of_stream(fault, format!("{shown}: {fault}")),
            (None, other) => other.into(),
        }
    }
}

/// What is no backup of a database, or one of another form, was typed.
fn of_stream(fault: StreamFault, text: String) -> Failure {
    match fault {
        StreamFault::Foreign | StreamFault::Version(_) => Failure::Input(text),
        _ => Failure::Damaged(text),
    }
}

fn bring_back(from: &Path, dir: Option<&Path>, size: Bytes, in_json: bool) -> Result<(), Failure> {
    let stream: Box<dyn Read> = match from {
        from if from == Path::new("-") => Box::new(io::stdin().lock()),
        from => Box::new(open_named(from).map_err(|error| Failure::unreadable(from, &error))?),
    };
    let mut given = GivenBackup { from: stream, stop: interruptible()?, broken: None };
    let stream = BufReader::with_capacity(1 << 20, &mut given);
    let Some(dir) = dir else {
        let keys = verify_backup(stream).map_err(|error| given.blame(from, error))?;
        return told(in_json, keys, &format!("{}: whole, {keys} keys", from.display()));
    };
    let options = DbOptions { size, cache: Bytes::from_mib(64), ..DbOptions::default() };
    let db = restore(stream, dir, options).map_err(|error| given.blame(from, error))?;
    let free = db.statistics()?.free_bytes;
    match in_json {
        true => show::json(&json!({ "free_bytes": free })),
        false => show::text(&format!("{}: restored, {} free\n", dir.display(), Bytes::new(free))),
    }
}

fn give_room(size: Bytes, args: &DbArgs) -> Result<(), Failure> {
    let stop = interruptible()?;
    grow(&args.dir, size, existing(args), &stop)?;
    tell(args)
}

/// Says how many keys there are, with a line for people.
fn told(in_json: bool, keys: u64, line: &str) -> Result<(), Failure> {
    match in_json {
        true => show::json(&json!({ "keys": keys })),
        false => show::text(&format!("{line}\n")),
    }
}

/// Bytes for a JSON object: text, or an object with their digits where they are none.
fn shown(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        }
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Failure {
        match error {
            DbError::Damaged => Failure::Damaged(error.to_string()),
            DbError::KeyspaceName | DbError::Exceeds(_) => Failure::Input(error.to_string()),
            _ => Failure::Environment(error.to_string()),
        }
    }
}

impl From<DbOpenError> for Failure {
    fn from(error: DbOpenError) -> Failure {
        let text = error.to_string();
        match error {
            // The file that it was to be is gone again, and what was typed is a size.
            DbOpenError::Format(NewStoreError::TooSmall(_, size)) => Failure::Input(format!(
                "--size {size}: leaves no room for a database; it takes some 16 MiB at least"
            )),
            DbOpenError::Disk(DiskOpenError {
                problem: problem @ DiskProblem::NewSize { .. },
                ..
            }) => Failure::Input(format!("--size: {problem}")),
            // No database has such a file, unless it was cut.
            DbOpenError::Disk(DiskOpenError {
                problem: DiskProblem::TooSmall { .. } | DiskProblem::PartOfAPage { .. },
                ..
            }) => Failure::Damaged(text),
            DbOpenError::Disk(error) | DbOpenError::Format(NewStoreError::Disk(error)) => {
                error.into()
            }
            DbOpenError::Folder { error, .. }
            | DbOpenError::Format(NewStoreError::Write(_, error)) => {
                Failure::refused(error.kind(), text)
            }
            DbOpenError::Missing { .. }
            | DbOpenError::Exists { .. }
            | DbOpenError::NotLarger { .. } => Failure::Input(text),
            DbOpenError::Store { fault: Fault::Restart(fault), .. } => of_restart(&fault, text),
            DbOpenError::Store { .. } | DbOpenError::Lost { .. } => Failure::Damaged(text),
            DbOpenError::Interrupted => Failure::Interrupted(text),
            DbOpenError::NoRoom { .. }
            | DbOpenError::Loop(_)
            | DbOpenError::Format(NewStoreError::Random(_)) => Failure::Environment(text),
        }
    }
}

/// Why a store does not open; `text` names its file.
fn of_restart(fault: &RestartFault, text: String) -> Failure {
    match fault {
        RestartFault::CacheTooSmall { .. } => Failure::Input(format!("--cache: {fault}")),
        RestartFault::NoMemory { .. } => Failure::Environment(format!("--cache: {fault}")),
        // Another file stands in the database's place, or one of another form.
        RestartFault::Superblock(SuperblockFault::Foreign | SuperblockFault::Version(_))
        | RestartFault::LogDevice => Failure::Input(text),
        RestartFault::Unreadable(..)
        | RestartFault::UnreadablePage(_)
        | RestartFault::Unwritable => Failure::Environment(text),
        _ => Failure::Damaged(text),
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Failure {
        let text = error.to_string();
        match error {
            BackupError::Db(error) => error.into(),
            BackupError::Open(error) => error.into(),
            BackupError::Stream(fault) => of_stream(fault, text),
            BackupError::CopyDamaged => Failure::Damaged(text),
            BackupError::NotReplaced { .. } => Failure::Input(text),
            BackupError::Io(error) => Failure::refused(error.kind(), text),
        }
    }
}
