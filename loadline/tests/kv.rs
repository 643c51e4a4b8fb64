//! `loadline kv` as people and scripts meet it.

#[path = "program/interrupt.rs"]
mod interrupt;
mod program;

use interrupt::interrupt;
use program::{check, command, loadline, text};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

/// A key `-5` was refused: "no number here can be negative".
#[test]
fn keys_and_values_may_be_negative_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "kv put -5 -7.5 --dir db --size 32MiB", 0, "");
    check(folder, "kv put 1 one --dir db", 0, "");
    check(folder, "kv get -5 --dir db", 0, "-7.5\n");
    let scan = |flags: &str| text(&loadline(folder, &format!("kv scan --dir db {flags}")).stdout);
    assert_eq!(scan("--prefix -5"), "-5\t-7.5\n");
    assert_eq!(scan("--from -4 --until -6"), "-5\t-7.5\n");
    check(folder, "kv remove -5 --dir db", 0, "");
    check(folder, "kv get -5 --dir db", 1, "no key -5");
    // What is no number is typed behind `--`, as any other key that begins so.
    check(folder, "kv get -5a --dir db", 2, "as a value, use '-- -5");
    check(folder, "kv get --dir db -- -5a", 1, "no key -5a");
}

#[test]
fn a_database_is_made_read_backed_up_restored_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "kv get ada --dir db", 2, "db/data: there is no database");
    check(folder, "kv put ada 1815 --dir db --size 32MiB", 0, "");
    check(folder, "kv put alan 1912 --dir db", 0, "");
    check(folder, "kv put other 1 --dir db --keyspace more --ttl 1h", 0, "");
    check(folder, "kv get ada --dir db", 0, "1815\n");
    check(folder, "kv get eve --dir db", 1, "keyspace default has no key eve");
    let scan = |flags: &str| text(&loadline(folder, &format!("kv scan --dir db {flags}")).stdout);
    assert_eq!(scan(""), "ada\t1815\nalan\t1912\n");
    assert_eq!(scan("--backward --most 1"), "alan\t1912\n");
    assert_eq!(scan("--from al"), "alan\t1912\n");
    assert_eq!(scan("--until al"), "ada\t1815\n");
    assert_eq!(scan("--keyspace more --prefix o"), "other\t1\n");
    let json: Value = serde_json::from_str(&scan("--json")).expect("one JSON object");
    assert_eq!(
        (&json["pairs"][0]["key"], &json["pairs"][0]["value"]),
        (&"ada".into(), &"1815".into())
    );
    check(folder, "kv show --dir db", 0, "keyspaces more, default");
    check(folder, "kv verify --dir db", 0, "free pages");
    check(folder, "inspect db/data check", 0, "free pages");

    check(folder, "kv backup --to b --dir db", 0, "b: 3 keys");
    check(folder, "kv restore --from b", 0, "b: whole, 3 keys");
    check(folder, "kv restore --from b --dir copy --size 16MiB", 0, "copy: restored");
    check(folder, "kv restore --from b --dir copy", 2, "there is a database already");
    check(folder, "kv get alan --dir copy", 0, "1912\n");
    check(folder, "kv remove alan --dir copy", 0, "");
    check(folder, "kv get alan --dir copy", 1, "no key alan");
    check(folder, "kv grow --size 16MiB --dir copy", 2, "which is not less than 16 MiB");
    check(folder, "kv grow --size 24MiB --dir copy", 0, "file 24 MiB");
    check(folder, "kv get ada --dir copy", 0, "1815\n");

    // The standard output by a name, as /dev/stdout is one, holds the backup and nothing else.
    std::os::unix::fs::symlink("/proc/self/fd/1", folder.join("out")).expect("a link");
    let output = loadline(folder, "kv backup --to out --dir db");
    assert_eq!(text(&output.stderr), "out: 3 keys\n");
    fs::write(folder.join("piped"), &output.stdout).expect("it can be written");
    check(folder, "kv restore --from piped", 0, "piped: whole, 3 keys");

    let whole = fs::read(folder.join("b")).expect("it is there");
    fs::write(folder.join("cut"), &whole[..whole.len() - 1]).expect("it can be written");
    check(folder, "kv restore --from cut", 1, "the backup is not whole: it ends in frame 1");
    check(folder, "kv restore --from none", 2, "cannot read none");
    let long = "n".repeat(33);
    check(folder, &format!("kv get a --dir db --keyspace {long}"), 2, "1 to 32 bytes");
}

/// Runs it until it hears of Ctrl-C, and presses that: it waits then for the database's folder, which somebody else has and keeps.
fn interrupted_at_the_folder(folder: &Path, arguments: &str) {
    let held = File::open(folder.join("db")).expect("it is there");
    held.lock().expect("nobody else has it");
    let mut running = command(folder);
    running.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped());
    let running = running.spawn().expect("the program starts");
    interrupt(&running);
    let output = running.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{arguments}: {said}");
    assert_eq!(said, "interrupted: nothing was made, and what was there is as it was\n");
    held.unlock().expect("it was locked");
}

/// An empty database was left of the one, and a part of a larger file of the other, which said nothing.
#[test]
fn what_is_interrupted_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::create_dir(folder.join("db")).expect("a folder");
    let files = || {
        let entries = fs::read_dir(folder.join("db")).expect("the folder is there");
        entries.map(|entry| entry.expect("it can be read").file_name()).collect::<Vec<_>>()
    };
    interrupted_at_the_folder(folder, "kv put ada 1815 --dir db --size 32MiB");
    assert_eq!(files(), [""; 0]);
    check(folder, "kv put ada 1815 --dir db --size 32MiB", 0, "");
    interrupted_at_the_folder(folder, "kv grow --dir db --size 64MiB");
    assert_eq!(files(), ["data"]);
    check(folder, "kv show --dir db", 0, "file 32 MiB");
}

/// Flags that changed nothing were taken, and a name with a line's end stood in two lines of `kv show`.
#[test]
fn what_a_database_has_no_use_for_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "kv put a 1 --dir db --size 32MiB", 0, "");
    check(folder, "kv get a --dir db --size 32MiB", 2, "unexpected argument '--size'");
    check(folder, "kv get a --dir db --log-mode fsync", 2, "unexpected argument '--log-mode'");
    check(folder, "kv remove a --dir db --size 32MiB", 2, "unexpected argument '--size'");
    check(folder, "kv backup --dir db --to - --json", 2, "--json: the backup itself goes to");
    for until in ["a", "z"] {
        let line = format!("kv scan --dir db --from z --until {until}");
        check(folder, &line, 2, "--from z is not below --until");
    }
    let output =
        command(folder).args(["kv", "get", "a", "--dir", "db", "--keyspace", "a\nb"]).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no line ends or other control"), "{output:?}");
    check(folder, "kv grow --dir db --size 16777217", 2, "16777217 B");
    let most = "--memory 100 TiB: this machine has";
    check(folder, "kv serve --dir db --socket s --memory 100TiB", 2, most);
}

/// Nobody could come in, and a user's terms were blamed without file, user and line.
#[test]
fn a_file_of_users_is_refused_by_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (users, says) in [
        ("", "users: it names no user, and nobody could come in"),
        ("[user.a]\nweight = -1\n", "users: line 2: weight: takes a number above 0"),
        ("[user.a]\nweight = 0\n", "users: line 2: weight: takes a number above 0"),
        ("[user.a]\nweight = nan\n", "users: line 2: weight: takes a number above 0"),
        ("[user.a]\n\nlimit = -5\n", "users: line 3: limit: takes commands per second, a number"),
    ] {
        fs::write(folder.join("users"), users).expect("a file");
        check(folder, "kv serve --dir db --socket s --users users", 2, says);
    }
    assert!(!folder.join("db").exists());
}

/// Where a file of data ended by chance decided whether it was damaged or another's.
#[test]
fn a_database_that_was_cut_is_damaged_wherever() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "kv put a 1 --dir db --size 32MiB", 0, "");
    let data = File::options().write(true).open(folder.join("db/data")).expect("it was made");
    for length in [20_000_001, 16 << 20, 1 << 20, 70_000, 65_536, 10_000, 8192, 4096, 4000, 1] {
        data.set_len(length).expect("it gets shorter");
        let output = loadline(folder, "kv get a --dir db");
        assert_eq!(output.status.code(), Some(1), "{length}: {output:?}");
    }
}
