//! A process that is killed with the database open: nothing that its log mode has promised is lost, and no transaction is half there.
//!
//! The killed process is this test program once more, with one test alone, which does nothing unless somebody says a folder on its standard input.

use loadline_kv::{Bytes, Db, DbOptions, LogMode, Span};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;

const THREADS: u64 = 4;

fn options(log_mode: LogMode) -> DbOptions {
    // Checkpoints come often, so that the kill meets some of them.
    let checkpoint_interval = Span::from_millis(50);
    DbOptions { log_mode, checkpoint_interval, cache: Bytes::from_mib(4), ..DbOptions::small() }
}

fn number(value: Option<Vec<u8>>) -> u64 {
    value.map_or(0, |bytes| u64::from_le_bytes(bytes[..8].try_into().expect("it has 8 bytes")))
}

fn value(number: u64) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(100, number as u8);
    value
}

/// Counts in transactions until it is killed: each thread has two counters that are equal, and all share one that is the sum. What is
/// answered goes to the standard output, a line each.
#[test]
#[ignore = "the process that is killed by the tests below"]
fn child_counts_until_it_is_killed() {
    if !std::env::args().any(|argument| argument == "--exact") {
        // Somebody runs all tests, and nobody says a folder.
        return;
    }
    let mut told = String::new();
    std::io::stdin().read_line(&mut told).expect("the standard input can be read");
    let Some((mode, folder)) = told.trim().split_once(' ') else { return };
    let db = Db::open(folder, options(mode.parse().expect("a log mode"))).expect("it opens");
    let keyspace = db.keyspace("counts").expect("a name");
    let output = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, keyspace, output) = (&db, &keyspace, &output);
            scope.spawn(move || {
                loop {
                    let count = db.transact(|tx| {
                        let own = [format!("{thread}a"), format!("{thread}b")];
                        let count = number(tx.get(keyspace, own[0].as_bytes())?) + 1;
                        let sum = number(tx.get(keyspace, b"sum")?) + 1;
                        own.iter().for_each(|key| tx.put(keyspace, key.as_bytes(), &value(count)));
                        // A key of its own each time, so that the tree grows and is split.
                        tx.put(keyspace, format!("{thread} {count:08}").as_bytes(), &value(count));
                        tx.put(keyspace, b"sum", &value(sum));
                        Ok(count)
                    });
                    let count = count.expect("it commits");
                    let mut output = output.lock().expect("no thread has panicked");
                    writeln!(output, "ack {thread} {count}").expect("somebody reads");
                    output.flush().expect("somebody reads");
                }
            });
        }
    });
}

fn check(log_mode: LogMode, rounds: u32, acks: u32) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut least = [0; THREADS as usize];
    for round in 0..rounds {
        let program = std::env::current_exe().expect("this program has a file");
        let mut child = Command::new(program)
            .args(["--exact", "child_counts_until_it_is_killed", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut input = child.stdin.take().expect("it is piped");
        writeln!(input, "{log_mode} {}", folder.path().display()).expect("it listens");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut read = 0;
        let mut note = |line: &str| {
            // The test harness writes on the same line.
            let ack = line.find("ack ").map(|at| &line[at + 4..]);
            let numbers = ack.and_then(|ack| ack.split_once(' '));
            let (thread, count) = numbers?;
            let thread: usize = thread.parse().ok()?;
            least[thread] = count.parse::<u64>().ok()?.max(least[thread]);
            Some(())
        };
        while read < acks + 37 * round {
            let line = lines.next().expect("it counts until it is killed").expect("it is text");
            read += u32::from(note(&line).is_some());
        }
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        // What it had answered and nobody has read counts as well; the last line may be cut.
        lines.map_while(Result::ok).for_each(|line| {
            note(&line);
        });

        let db = Db::open(folder.path(), options(log_mode)).expect("it opens again");
        let keyspace = db.keyspace("counts").expect("a name");
        let of = |key: &str| number(db.get(&keyspace, key.as_bytes()).expect("it reads"));
        let mut sum = 0;
        for thread in 0..THREADS {
            let [a, b] = ["a", "b"].map(|which| of(&format!("{thread}{which}")));
            assert_eq!(a, b, "a transaction is there in part");
            let promised = matches!(log_mode, LogMode::Fsync | LogMode::LogOnly);
            let acked = least[thread as usize];
            assert!(!promised || a >= acked, "{a} of thread {thread}, and {acked} was answered");
            let own = db.snapshot().expect("a snapshot").scan(&keyspace);
            let own = own.prefix(format!("{thread} ").as_bytes()).iter();
            assert_eq!(own.count() as u64, a, "keys of thread {thread}");
            least[thread as usize] = a;
            sum += a;
        }
        assert_eq!(of("sum"), sum, "a transaction is there, and one before it is not");
        let report = db.verify().expect("it can be read");
        assert!(report.is_clean(), "{report:?}");
    }
}

#[test]
fn log_only_keeps_what_it_has_answered() {
    check(LogMode::LogOnly, 3, 300);
}

#[test]
fn fsync_keeps_what_it_has_answered() {
    check(LogMode::Fsync, 2, 40);
}

#[test]
fn background_and_none_go_back_to_a_whole_state() {
    check(LogMode::Background, 2, 300);
    check(LogMode::None, 2, 300);
}

#[test]
#[ignore = "a long search, for `make soak`"]
fn many_kills_lose_nothing() {
    check(LogMode::LogOnly, 30, 500);
    check(LogMode::Fsync, 10, 100);
    check(LogMode::Background, 10, 500);
    check(LogMode::None, 10, 500);
}
