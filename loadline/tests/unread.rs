//! Commands whose output nobody reads, as before `head`: what they found out, and what they could not do, decides their exit code.

mod program;

use program::{command, loadline, text};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Output, Stdio};

/// Runs the program with a standard output whose reader has gone before it begins.
fn unread(folder: &Path, arguments: &str) -> Output {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut unread = command(folder);
    unread.args(arguments.split_whitespace()).stdout(writer).stderr(Stdio::piped());
    unread.output().expect("the program starts")
}

fn check(folder: &Path, arguments: &str, code: i32, says: &str) {
    let output = unread(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    assert!(said.contains(says), "{arguments}: `{said}` should contain `{says}`");
}

/// `loadline kv backup --to - > >(gzip > b.gz)` with a gzip that had ended said by its exit code that the backup is there.
#[test]
fn a_backup_that_nobody_takes_is_not_made() {
    if !cfg!(feature = "kv") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    program::check(folder, "kv put ada 1815 --dir db --size 32MiB", 0, "");
    check(
        folder,
        "kv backup --to - --dir db",
        1,
        "error: cannot write the output: the other side has gone",
    );
    check(folder, "kv scan --dir db", 0, "");
    check(folder, "kv get ada --dir db", 0, "");
    check(folder, "kv get eve --dir db", 1, "has no key eve");
}

/// The benchmark ended at the first line that nobody read, without its steps, and said by its exit code that they are there.
#[test]
fn a_benchmark_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let asked = "cdl bench --dev sim:hdd-22tb-cdl --baseline --outdir out --ramptime 1 --runtime 2";
    check(folder, asked, 0, "");
    let depths = fs::read_dir(folder.join("out/baseline")).expect("the workload's folder");
    let depths = depths.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir()));
    assert_eq!(depths.count(), 7);
}

/// The checker's exit code was that of a sound store.
#[test]
fn a_verdict_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    program::check(folder, "store format data --size 8MiB", 0, "");
    check(folder, "inspect data check", 0, "");
    // Every page from the first quarter on holds something else, but the superblocks at the end.
    let mut bytes = fs::read(folder.join("data")).expect("it was made");
    let (quarter, end) = (bytes.len() / 4, bytes.len() - (64 << 10));
    bytes[quarter..end].fill(0xa5);
    fs::write(folder.join("data"), bytes).expect("it is written");
    let heard = loadline(folder, "inspect data check");
    assert_eq!(heard.status.code(), Some(1), "{}", text(&heard.stdout));
    check(folder, "inspect data check", 1, "wrong with the store");
}
