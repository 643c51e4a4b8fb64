//! What cannot be used or done, as somebody meets it who tries everything: each is answered by one sentence that names the place and what
//! would be right, with the exit code of its kind, and what was there stays.

mod program;

use program::{check, command, loadline, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// A file that nobody may read, whoever it is.
const UNREADABLE: &str = "/sys/bus/platform/uevent";

/// Runs it, and looks at the one sentence that it answers with, for people and, if it has a form for programs, for them.
fn refused(folder: &Path, arguments: &str, code: i32, says: &str) {
    let sentence = |arguments: &str| {
        let output = loadline(folder, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(said.contains(says), "{arguments}: `{said}` should contain `{says}`");
        assert!(!said.contains("os error"), "{arguments}: {said}");
        assert!(said.lines().count() <= 3, "{arguments}: {said}");
        said
    };
    sentence(arguments);
    let (command, behind) = arguments.split_once(" -- ").unwrap_or((arguments, ""));
    let has_json =
        !["drive boot", "serve", "kv serve", "ceph try"].iter().any(|it| command.starts_with(it));
    if has_json && behind.is_empty() {
        let said = sentence(&format!("{command} --json"));
        let object: Value = serde_json::from_str(&said).expect("one JSON object");
        assert_eq!(object["exit_code"], code, "{said}");
    }
}

/// The command of a study that ends at once, with these setups and what else is typed behind them.
fn small_study(setups: &str) -> String {
    format!("study run recovery-nvme --set scale=0.0005 --setups {setups}")
}

/// A drive's socket took the place of whatever file was named, a backup or a disk's image among them.
#[test]
fn a_served_drive_takes_no_file_s_place() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("mine"), "precious").unwrap();
    refused(folder, "drive serve --vhost-scsi mine", 2, "mine: there is a file that is no socket");
    refused(
        folder,
        "drive serve --vhost-scsi s --calendar mine",
        2,
        "there is a file that is no socket",
    );
    assert_eq!(fs::read_to_string(folder.join("mine")).unwrap(), "precious");
    let _served = UnixListener::bind(folder.join("served")).unwrap();
    refused(folder, "drive serve --vhost-scsi served", 1, "served: another process listens there");
    refused(
        folder,
        "drive serve --vhost-scsi none/s",
        2,
        "none/s: cannot listen there: there is no such",
    );
    let own = "--calendar ./s: it is the path of --vhost-scsi, too: each takes one of its own";
    refused(folder, "drive serve --vhost-scsi s --calendar ./s", 2, own);
    fs::create_dir(folder.join("x")).unwrap();
    let own = "--calendar x/../s: it is the path of --vhost-scsi, too";
    refused(folder, "drive serve --vhost-scsi s --calendar x/../s", 2, own);
    refused(folder, "drive serve --vhost-scsi served --calendar c", 1, "another process listens");
    let long = "n".repeat(108);
    let says = "a socket's path has at most 107 bytes";
    refused(folder, &format!("drive serve --vhost-scsi {long}"), 2, says);
    refused(folder, &format!("kv serve --dir db --socket {long}"), 2, says);
    // The file of its contents was made first, and stayed.
    let line = "drive serve --vhost-scsi served --backing b";
    refused(folder, line, 1, "served: another process listens there");
    // A sparse file was made where the socket was to come, and stayed.
    let own = "--backing ./s: it is the path of --vhost-scsi, too";
    refused(folder, "drive serve --vhost-scsi s --backing ./s", 2, own);
    let own = "--backing c: it is the path of --calendar, too";
    refused(folder, "drive serve --vhost-scsi s --calendar c --backing c", 2, own);
    for without_effect in ["--slow 2", "--path-time 1ms"] {
        let line = format!("drive serve --vhost-scsi s --at-once {without_effect}");
        check(folder, &line, 2, "cannot be used with");
    }
    for left in ["s", "c", "db", "b"] {
        assert!(!folder.join(left).exists(), "{left}");
    }
    refused(
        folder,
        "drive serve --vhost-scsi s --backing none/b",
        2,
        "none/b: it cannot be opened",
    );
    let no_file = "/dev/null: it is no regular file, which a drive's contents take";
    refused(folder, "drive serve --vhost-scsi s --backing /dev/null", 2, no_file);
    refused(folder, "drive serve --vhost-scsi s --backing mine", 2, "mine: it has 8 B, and");
}

#[test]
fn a_drive_with_no_sense_is_refused_before_it_is_served() {
    let place = tempfile::tempdir().unwrap();
    let drive = |flags: &str, says: &str| {
        refused(place.path(), &format!("drive serve --vhost-scsi s {flags}"), 2, says);
        refused(place.path(), &format!("drive boot --root none {flags} -- true"), 2, says);
    };
    for slow in ["0", "nan", "inf", "1e300"] {
        drive(&format!("--slow={slow}"), "it takes a number from 0.001 to 1000");
    }
    drive("--slow-blocks 5+5:0", "1 to 1000000 turns");
    drive("--fading 60s:0", "1 to 1000000 turns");
    drive("--unreadable 99999999999999+1", "the drive has 42970644480");
    drive("--silent 1+99999999999999999999", "the drive has 42970644480");
    let named = |drive: &str, says: &str| {
        refused(place.path(), &format!("drive serve {drive} --vhost-scsi s"), 2, says);
        refused(place.path(), &format!("drive boot {drive} --root none -- true"), 2, says);
        refused(place.path(), &format!("cdl bench --baseline --dev {drive}"), 2, says);
    };
    named("sim:nvme-p3700", "drive `nvme-p3700` is a calibrated one");
    named("sim:hdd-22tb", "there is no drive `hdd-22tb`");
    assert!(fs::read_dir(place.path()).unwrap().next().is_none(), "nothing was made");
}

/// What a guest takes was looked at when its root had been made: after 120 MB of packages.
#[test]
fn what_no_guest_can_have_is_refused_before_its_root_is_made() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("file"), "").unwrap();
    let boot = |flags: &str, says: &str| {
        refused(folder, &format!("drive boot --root root {flags} -- true"), 2, says);
    };
    boot("--kernel none", "--kernel none: there is no program of this name");
    boot("--kernel file", "--kernel file: there is no program of this name");
    boot("--memory 1", "--memory 1 B: a guest takes at least 64 MiB");
    boot(
        "--memory 1000TiB",
        "--memory 1000 TiB: a guest takes at least 64 MiB, and this machine has",
    );
    boot("--time-limit 0s", "--time-limit 0 ns: a guest is given at least 1 s");
    boot("--share none", "--share none: there is no such file or folder");
    boot("--vhost-blk none", "--vhost-blk none: there is no such file or folder");
    boot("--vhost-blk file", "--vhost-blk file: it is no socket");
    boot("--results file", "--results file: ");
    let nameless = ["drive", "boot", "--root", "root", "--", ""];
    let output = command(folder).args(nameless).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the command has no name"), "{said}");
    assert!(!folder.join("root").exists() && !folder.join("root.lock").exists());
}

/// Work of minutes or hours ended with the news that nothing could be written.
#[test]
fn what_cannot_be_written_is_known_before_the_work() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("file"), "").unwrap();
    refused(
        folder,
        "drive measure m --out file/x.toml",
        2,
        "cannot write file: a part of the path is a file",
    );
    assert!(!folder.join("m").exists(), "nothing was measured");
    refused(
        folder,
        "soak --keep file --seconds 1",
        2,
        "cannot write file: a part of the path is a file",
    );
    refused(
        folder,
        "soak --rot-self --keep file/x",
        2,
        "cannot write file/x: a part of the path is a file",
    );
    // The map of 4000 TiB's pages was made in memory, for as long as there was some.
    refused(
        folder,
        "store format s --size 4000TiB",
        1,
        "the map of its pages takes 125 GiB of memory",
    );
    assert!(!folder.join("s").exists());
    refused(folder, "soak --seconds 0", 2, "it takes a whole number of at least 1");
    // Who may everything was let in there.
    refused(folder, "soak --seconds 1 --keep /proc/x", 2, "cannot write /proc/x: ");
}

/// What somebody has typed that cannot be used ended some commands with the code of a machine that does not let them.
#[test]
fn what_stands_there_already_was_typed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("file"), "mine").unwrap();
    refused(folder, "man file", 2, "cannot write file: a part of the path is a file");
    refused(folder, &small_study("baseline --out file"), 2, "file");
    refused(folder, "drive measure .", 2, "this is a folder");
    refused(folder, "drive measure /dev/null", 2, "a disk is a regular file or a block device");
    fs::write(folder.join("log"), "5, 7000000, 0, 4096, 0x4008\n").unwrap();
    refused(folder, "cdl stats log --from 1h", 2, "nothing ended from then on");
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "mine");
}

/// A file without an end took all of the machine's memory.
#[test]
fn what_has_no_end_is_no_file_of_any_kind() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let endless = "/dev/zero: it holds more than 16 MiB";
    for line in [
        "study run recovery-nvme --dry-run --load /dev/zero",
        "study run recovery-nvme --dry-run --described /dev/zero",
        "study run recovery-nvme --dry-run --drive /dev/zero",
        "study show /dev/zero",
        "study import /dev/zero",
        "drive show /dev/zero",
        "serve --config /dev/zero",
    ] {
        refused(folder, line, 2, "cannot be read: it holds more than 16 MiB");
    }
    refused(folder, "kv serve --dir db --socket s --users /dev/zero", 2, endless);
    let no_pem =
        "kv serve --dir db --tcp 127.0.0.1:0 --tls-certificate /dev/zero --tls-key /dev/zero";
    refused(folder, no_pem, 2, "--tls-certificate: /dev/zero: there is no certificate in it");
    let zeros = fs::File::open("/dev/zero").unwrap();
    let put = ["kv", "put", "k", "-", "--dir", "db"];
    let output = command(folder).args(put).stdin(zeros).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has more than 16 MiB"), "{}", text(&output.stderr));
    assert!(!folder.join("db").exists(), "no database was made for it");
}

/// What was typed was repeated whole, thousands of lines of it.
#[test]
fn a_sentence_repeats_no_more_than_it_needs() {
    let place = tempfile::tempdir().unwrap();
    let long = "n".repeat(50_000);
    for line in [
        "LONG",
        "status --LONG",
        "study show LONG",
        "profile show balanced --preset LONG",
        "serve --osds LONG",
        "serve --osds 1 --image vol=LONG",
        "serve --osds 1 --log LONG",
        "serve --osds 1 --log-mode LONG",
        "serve --osds 1 --read-only *LONG",
        "serve --osds 1 --vhost LONG=v.sock",
        "serve --osds 1 --image vol=8MiB --vhost vol=LONG",
    ] {
        let output = loadline(place.path(), &line.replace("LONG", &long));
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("nnn"), "{line}: {said:.2000}");
        assert!(said.len() < 2000, "{line}: {} bytes: {said:.2000}", said.len());
    }
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let place = tempfile::tempdir().unwrap();
    let run = |arguments: &[&[u8]]| {
        let arguments = arguments.iter().map(|argument| OsStr::from_bytes(argument));
        command(place.path()).args(arguments).output().unwrap()
    };
    let output = run(&[b"study", b"show", b"\xffx"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: `\u{fffd}x`: this is no UTF-8, and text is needed here\n"
    );
    let output = run(&[b"image", b"info", b"\xff", b"--json"]);
    let object: Value = serde_json::from_slice(&output.stderr).expect("one JSON object");
    assert_eq!(object["exit_code"], 2);
}

#[test]
fn a_form_for_programs_is_not_proposed_as_a_value() {
    let place = tempfile::tempdir().unwrap();
    let json = |line: &str, says: &str| {
        check(place.path(), line, 2, says);
        let object: Value =
            serde_json::from_slice(&loadline(place.path(), line).stderr).expect("one JSON object");
        assert!(!object["error"].as_str().unwrap().contains("as a value"), "{object}");
    };
    json("completions bash --json", "`loadline completions` has no output for programs");
    json("--json completions bash", "`loadline completions` has no output for programs");
    json("drive boot --json", "`loadline drive boot` has no output for programs");
    json("study --json", "`loadline study` takes one of its commands beside --json: list, show");
    json("--json", "`loadline` takes one of its commands beside --json: serve, status");
}

/// It was told that it has no output for programs, which stood for all of them.
#[test]
fn a_form_for_programs_may_be_asked_for_before_the_command() {
    let place = tempfile::tempdir().unwrap();
    let output = loadline(place.path(), "--json study list");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let _: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
}

/// Where only the `ceph` program was asked for, librados was missed too; one that may not be run was said to be missing; a folder was no file; and what
/// answers nothing was a cluster without a fault.
#[cfg(feature = "ceph")]
#[test]
fn why_there_is_no_way_to_a_ceph_cluster() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("ceph.conf"), "").unwrap();
    let check = |line: &str, code: i32, says: &str| {
        let output = command(folder).args(line.split(' ')).env("PATH", folder).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains(says) && !said.contains("librados"), "{line}: {said}");
    };
    // What leads to no cluster was typed, and was there all the same where it was said to be missing.
    for (conf, says) in [
        (".", "cannot read .: it is a folder"),
        ("none", "cannot read none: there is no such file"),
        ("ceph.conf/x", "cannot read ceph.conf/x: a part of the path is a file"),
        ("/dev/null", "cannot read /dev/null: it is no regular file; name the cluster's ceph.conf"),
        (UNREADABLE, "permission denied"),
    ] {
        check(&format!("ceph check --on ceph:{conf} --by program"), 2, says);
    }
    let status = "ceph status --on ceph:ceph.conf --by program";
    check(status, 1, "the `ceph` program is not installed");
    check(&format!("{status} --name admin"), 2, "with its kind, such as `client.admin`");
    fs::write(folder.join("rnd"), "noise").unwrap();
    if Path::new("/lib/x86_64-linux-gnu/librados.so.2").exists() {
        for line in [
            "ceph status --on ceph:rnd",
            "ceph facts --on ceph:rnd --out x",
            "ceph check --on ceph:rnd",
        ] {
            check(line, 2, "cannot read rnd: it is no configuration of Ceph");
        }
        let output = command(folder).args(["ceph", "status", "--on", "ceph:ceph.conf"]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("cannot read ceph.conf: it names no monitors"), "{said}");
    }
    let program = folder.join("ceph");
    fs::write(&program, "#!/bin/sh\necho '{}'\n").unwrap();
    let may = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&program, mode).unwrap();
    };
    may(0o644);
    check(status, 1, "the `ceph` program is there and cannot be run: permission denied");
    may(0o755);
    let asked = "ceph check --on ceph:ceph.conf --by program --seconds 1 --json";
    check(asked, 1, "mon answered `status` with something unexpected: it names no fsid");
}

/// The record that was damaged was said to be on line 1, whichever it was; and `study report` was told to take another --out, which it has not.
#[test]
fn a_damaged_record_is_named_by_its_line() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    check(folder, &small_study("baseline,balanced --out s"), 0, "s/report.html");
    let records = folder.join("s/runs.jsonl");
    let whole = fs::read_to_string(&records).unwrap();
    fs::write(&records, whole.replacen('\n', "\ngarbage\n", 2)).unwrap();
    refused(
        folder,
        "study report s",
        2,
        "s/runs.jsonl is not as a study wrote it: line 2: what stands there is no value; take the line out, and `loadline study run`",
    );
    // Each was a record all the same, and its figures stood in the report.
    let line = 1 + whole[..whole.find("\"balanced\"").unwrap()].matches('\n').count();
    let says = format!("s/runs.jsonl is not as a study wrote it: line {line}: it was changed");
    let (before, rest) = whole.split_at(whole.find("\"balanced\"").unwrap());
    for (written, damaged) in [
        ("\"client/iops\":", "\"client/iops\":-"),
        ("/p50\"", "/p59\""),
        ("\"balanced\"", "\"balancet\""),
        ("\"counted\":{", "\"counted\":{},\"other\":{"),
        ("\"columns\":{", "\"columns\":{},\"other\":{"),
    ] {
        let damaged = rest.replacen(written, damaged, 1);
        assert!(damaged != rest, "{written}");
        fs::write(&records, format!("{before}{damaged}")).unwrap();
        for command in ["study report s", "study export s --parquet"] {
            refused(folder, command, 2, &says);
        }
    }
    // What it says helps, and what was written before there were checksums is read.
    let others: Vec<&str> = whole.lines().filter(|line| !line.contains("\"balanced\"")).collect();
    let without_sum = |line: &&str| format!("{}}}\n", &line[..line.rfind(",\"crc32c\"").unwrap()]);
    fs::write(&records, others.iter().map(without_sum).collect::<String>()).unwrap();
    check(folder, &small_study("baseline,balanced --out s"), 0, "s/report.html");
    fs::write(&records, &whole).unwrap();
    check(folder, "study report s", 0, "s/report.html");
    // The same where an op is to be traced that no run comes to.
    let late = small_study("baseline --out t --trace --trace-op 99999999");
    check(folder, &late, 0, "No op was traced: every run ended before its op 99999999");
}

/// A page that somebody had made by hand was written over by a study with that --out.
#[test]
fn a_study_writes_over_nothing_of_anybody_else_s() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for (file, mine) in [
        ("report.html", "report.html"),
        ("results.json", "results.json"),
        ("csv/results.csv", "csv"),
        ("plots/clat-mean.svg", "plots"),
    ] {
        let out = mine.replace('.', "-");
        let file = folder.join(&out).join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        let run = small_study(&format!("baseline --out {out}"));
        refused(folder, &run, 2, &format!("{out} holds {mine}, which no study there has written"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}

/// Reports, plots and manual pages went over somebody's files, and through links into somebody's folder.
#[test]
fn what_is_made_again_replaces_only_its_own() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let at = |name: &str| folder.join(name);
    fs::create_dir(at("theirs")).unwrap();
    fs::write(at("theirs/results.csv"), "mine").unwrap();
    fs::write(at("mine"), "mine").unwrap();
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    let in_place_of = |own: &str, theirs: &str, says: &str, line: &str| {
        let own = at(own);
        let kept = own.with_added_extension("kept");
        fs::rename(&own, &kept).unwrap();
        symlink(at(theirs), &own).unwrap();
        refused(folder, line, 2, says);
        fs::remove_file(&own).unwrap();
        fs::rename(&kept, &own).unwrap();
    };
    let link = "a link, a pipe or a device is in its place; take it away";
    for (own, theirs) in [("s/report.html", "mine"), ("s/csv", "theirs")] {
        in_place_of(own, theirs, &format!("cannot write {own}: {link}"), "study report s");
    }
    let bench =
        "cdl bench --dev sim:hdd-22tb-cdl --baseline --runtime 1 --ramptime 0 --qds 2 --outdir b";
    check(folder, bench, 0, "cdl plot b");
    fs::write(at("b/report.html"), "mine").unwrap();
    let says = "cannot write b/report.html: it is there already, and is none of this program's";
    refused(folder, "cdl plot b", 2, says);
    assert_eq!(fs::read_to_string(at("b/report.html")).unwrap(), "mine");
    fs::remove_file(at("b/report.html")).unwrap();
    check(folder, "cdl plot b", 0, "b/report.html");
    check(folder, "cdl plot b", 0, "b/report.html");
    let says = format!("cannot write b/report.html: {link}");
    in_place_of("b/report.html", "mine", &says, "cdl plot b");
    fs::create_dir(at("pages")).unwrap();
    fs::write(at("pages/loadline.1"), "mine").unwrap();
    let says = "cannot write pages/loadline.1: it is there already, and is none of this program's";
    refused(folder, "man pages", 2, says);
    assert_eq!(fs::read_dir(at("pages")).unwrap().count(), 1);
    fs::remove_file(at("pages/loadline.1")).unwrap();
    check(folder, "man pages", 0, "pages/loadline.1");
    check(folder, "man pages", 0, "pages/loadline.1");
    for kept in ["mine", "theirs/results.csv"] {
        assert_eq!(fs::read_to_string(at(kept)).unwrap(), "mine");
    }
    assert_eq!(fs::read_dir(at("theirs")).unwrap().count(), 1);
}

/// Tables and drawings of setups that were left out stayed beside those of the new report.
#[test]
fn a_report_has_no_figures_of_a_former_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    let names = |of: &str| {
        let entries = fs::read_dir(folder.join("s").join(of)).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    let (tables, drawings) = (names("csv"), names("plots"));
    let drawing = drawings.first().expect("one at least");
    fs::copy(folder.join("s/plots").join(drawing), folder.join("s/plots/old.svg")).unwrap();
    let table = tables.first().expect("one at least");
    fs::copy(folder.join("s/csv").join(table), folder.join("s/csv/07-old.csv")).unwrap();
    fs::write(folder.join("s/csv/notes.csv"), "mine").unwrap();
    fs::write(folder.join("s/plots/mine.svg"), "<svg/>").unwrap();
    check(folder, "study report s", 0, "s/report.html");
    let with = |names: BTreeSet<OsString>, mine: &str| {
        names.into_iter().chain([OsString::from(mine)]).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("csv"), with(tables, "notes.csv"));
    assert_eq!(names("plots"), with(drawings, "mine.svg"));
}

/// Tables took the place of somebody else's.
#[cfg(feature = "parquet")]
#[test]
fn tables_take_no_place_of_anybody_else_s() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    fs::create_dir(folder.join("pq")).unwrap();
    fs::write(folder.join("pq/seconds.parquet"), "mine").unwrap();
    let says = "pq/seconds.parquet: it is there already, and is left as it is";
    refused(folder, "study export s --parquet --out pq", 2, says);
    assert_eq!(fs::read_to_string(folder.join("pq/seconds.parquet")).unwrap(), "mine");
    assert!(!folder.join("pq/results.parquet").exists(), "all come or none");
    let says = "cannot write /etc/passwd: a part of the path is a file";
    refused(folder, "study export s --parquet --out /etc/passwd", 2, says);
    let program = env!("CARGO_BIN_EXE_loadline");
    let line = format!("ulimit -f 0; exec {program} study export s --parquet");
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder).output().unwrap();
    assert!(!output.status.success() && !folder.join("s/parquet").exists(), "{output:?}");
    // Those in its own folder are its own.
    check(folder, "study export s --parquet", 0, "s/parquet/results.parquet");
    check(folder, "study export s --parquet", 0, "s/parquet/results.parquet");
}

/// A folder stayed of each, with a manifest or with records that were none.
#[test]
fn a_study_that_never_began_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    // Its one run fails: what is to be recovered takes longer than it may.
    let study = include_str!("../../studies/recovery-nvme.toml");
    let study = study.replacen("baseline = \"300 s\"", "baseline = \"1 s\"", 1);
    fs::write(folder.join("s.toml"), study.replacen("limit = \"3 h\"", "limit = \"1 s\"", 1))
        .unwrap();
    let too_long = "study run s.toml --set scale=0.05 --setups balanced --jobs 1";
    refused(folder, too_long, 2, "were not whole again after 1 s without the OSD; raise `limit`");
    refused(folder, &format!("{too_long} --out a/b"), 2, "raise `limit`");
    fs::remove_file(folder.join("s.toml")).unwrap();
    let line =
        format!("ulimit -f 0; exec {} {}", env!("CARGO_BIN_EXE_loadline"), small_study("baseline"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder).output().unwrap();
    assert!(text(&output.stderr).contains("manifest.json"), "{output:?}");
    assert!(fs::read_dir(folder).unwrap().next().is_none(), "nothing was left");
}

/// What would be refused was told as what would be run.
#[test]
fn a_dry_run_looks_at_its_folder() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    let dry = |more: &str| small_study(&format!("baseline --dry-run {more}"));
    check(folder, &dry("--out s"), 0, "folder    s");
    refused(folder, &dry("--out s --seed 2"), 2, "s holds runs of other inputs");
    refused(folder, &dry("--out s/report.html"), 2, "cannot write s/report.html: a part of");
    fs::create_dir_all(folder.join("theirs/csv")).unwrap();
    refused(folder, &dry("--out theirs"), 2, "theirs holds csv, which no study there has written");
    fs::write(folder.join("s/runs.jsonl"), "garbage\n").unwrap();
    refused(folder, &dry("--out s"), 2, "s/runs.jsonl is not as a study wrote it: line 1");
    assert!(!folder.join("runs").exists());
}

#[test]
fn a_new_study_s_file_is_refused_as_what_was_typed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("mine.toml"), "mine").unwrap();
    fs::create_dir(folder.join("folder.toml")).unwrap();
    let long = "n".repeat(300);
    refused(folder, &format!("study new {long}"), 2, "a name in the path is too long");
    refused(folder, "study new folder", 2, "cannot write folder.toml: it is a folder");
    refused(folder, "study new mine", 2, "mine.toml: it is there already, and is left as it is");
    assert_eq!(fs::read_to_string(folder.join("mine.toml")).unwrap(), "mine");
}

/// It was waited for.
#[test]
fn a_pipe_in_a_folder_is_no_file_of_a_study() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for line in ["study show ./pipe", "study run ./pipe --dry-run", "drive show ./pipe"] {
        refused(folder, line, 2, "./pipe: cannot be read: it is a pipe, and a file is needed");
    }
}

/// Each was waited for, or read without end and without hearing a signal.
#[test]
fn what_has_the_place_of_a_file_is_not_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let at = |name: &str| folder.join(name);
    let pipe = |name: &str| {
        assert!(Command::new("mkfifo").arg(at(name)).status().unwrap().success());
    };
    pipe("pipe");
    pipe("m.toml");
    fs::write(at("T2A.cdl"), "cdlp: T2A\n").unwrap();
    let a_pipe = "pipe: it is a pipe, and a file is needed";
    refused(folder, "study new m", 2, "m.toml: it is a pipe, and a file is needed");
    for line in [
        "cdl show pipe",
        "cdl stats pipe",
        "cdl encode pipe --as t2",
        "cdl bench --dev sim:hdd-22tb-cdl --cdl-single --percentage 9 --dld 1 --t2a pipe --outdir b",
    ] {
        let json = if line.contains("encode") { "--output x" } else { "--json" };
        check(folder, &format!("{line} {json}"), 2, a_pipe);
    }
    refused(folder, "soak --rot pipe", 2, "pipe: cannot be read: this is a pipe");
    refused(folder, "soak --keep pipe --replay 1", 2, "pipe");
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    let other = "it is a pipe or a device, and a file is needed";
    for name in ["s/manifest.json", "s/results.json", "s/runs.jsonl"] {
        let kept = fs::read(at(name)).unwrap();
        for is_pipe in [true, false] {
            fs::remove_file(at(name)).unwrap();
            match is_pipe {
                true => pipe(name),
                false => symlink("/dev/zero", at(name)).unwrap(),
            }
            let line =
                if name.contains("results") { "study compare s s" } else { "study report s" };
            refused(folder, line, 2, &format!("cannot read {name}: {other}"));
        }
        fs::remove_file(at(name)).unwrap();
        fs::write(at(name), kept).unwrap();
    }
    let bench =
        "cdl bench --dev sim:hdd-22tb-cdl --baseline --runtime 1 --ramptime 0 --qds 2 --outdir b";
    check(folder, bench, 0, "cdl plot b");
    for name in ["b/baseline/2/fio.log", "b/baseline/2/randread.log_lat.log"] {
        fs::remove_file(at(name)).unwrap();
        pipe(name);
        refused(folder, "cdl plot b", 2, "b: no");
    }
    // What a shell gives has a writer.
    let line = format!("{} cdl show <(cat T2A.cdl)", env!("CARGO_BIN_EXE_loadline"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder).output().unwrap();
    assert!(!text(&output.stderr).contains("it is a pipe"), "{output:?}");
}

/// Each was taken, and changed nothing.
#[test]
fn what_would_change_nothing_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("file"), [7; 1 << 20]).unwrap();
    for (line, says) in [
        (
            "cdl bench --dev file --baseline --dldsplit zzz",
            "--dldsplit changes nothing without --cdl-multi",
        ),
        ("cdl bench --dev file --baseline --dld 1", "--dld changes nothing without --cdl-single"),
        (
            "cdl bench --dev file --baseline --percentage 9",
            "--percentage changes nothing without --ncq-prio",
        ),
        ("cdl bench --dev file --baseline --jobs 5", "leave --jobs out"),
        ("cdl plot file --width 900", "add --save, or leave them out"),
        ("soak --rot-self --case flip:17", "as in fsync/log/3/flip:17"),
        (&small_study("baseline,baseline"), "--setups: `baseline` stands there twice"),
        (&small_study("baseline --set scale=0.1"), "--set scale=0.1: `scale` is set twice"),
        (
            &small_study("baseline --seed 18446744073709551615 --repeat 2"),
            "--seed: 18446744073709551615 leaves no seeds for --repeat 2",
        ),
    ] {
        refused(folder, line, 2, says);
    }
    for line in
        ["cdl stats file --percentiles 99 --terse", "soak --rot file --case flip:1 --flips 5"]
    {
        check(folder, line, 2, "cannot be used with");
    }
    check(folder, "cdl encode file --as t2 --minimum 5s --maximum 1s", 2, "--minimum 5 s is above");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

/// Each was told what was not so, or what was refused as well.
#[test]
fn what_is_there_is_told_as_what_it_is() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("rnd"), "noise").unwrap();
    let bench = "cdl bench --dev sim:hdd-22tb-cdl --baseline --outdir rnd/x";
    refused(folder, bench, 2, "cannot write rnd/x: a part of the path is a file, not a folder");
    refused(folder, "study show rnd", 2, "; a file of that name is here: give ./rnd");
    refused(folder, "drive show rnd", 2, "; a file of that name is here: give ./rnd");
    refused(
        folder,
        "study report nosuch",
        2,
        "cannot read nosuch: there is no such file or folder",
    );
    refused(folder, "study report rnd", 2, "rnd holds no study");
    let line = small_study("baseline --on files:");
    let said = text(&loadline(folder, &line).stderr);
    assert_eq!(said.matches("--on").count(), 1, "{said}");
    let negative = "--seconds: `-5` is negative, and no number, size or time here is";
    refused(folder, "soak --seconds -5", 2, negative);
}

/// Tables of a result that belongs to somebody else could not be had, wherever they were to go.
#[test]
fn what_is_read_alone_is_not_written() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    check(folder, &small_study("baseline --out s"), 0, "s/report.html");
    let result = folder.join("s/results.json");
    let before = fs::metadata(&result).unwrap().modified().unwrap();
    check(folder, "study export s --parquet --out tables", 0, "tables/results.parquet");
    check(folder, "study compare s s", 0, "equal");
    assert_eq!(fs::metadata(&result).unwrap().modified().unwrap(), before, "it is as it was");
    let ours = fs::read_to_string(&result).unwrap();
    // A result without setups was like any other, and what was cut was to be put back by whoever had no other.
    let no_setups = |text: &str| {
        let mut object: Value = serde_json::from_str(text).unwrap();
        object["setups"] = Value::Array(Vec::new());
        object.to_string()
    };
    for (damaged, says) in [
        (no_setups(&ours), "it was changed after it was written"),
        (ours[..ours.len() / 2].to_owned(), "the rest is missing"),
        ("{}".to_owned(), "missing field `version`, at line 1"),
    ] {
        fs::write(&result, damaged).unwrap();
        for command in ["study compare s s", "study export s --parquet --out more"] {
            refused(folder, command, 2, says);
            refused(folder, command, 2, "; `loadline study report s` makes it again");
        }
    }
    check(folder, "study report s", 0, "s/report.html");
    assert_eq!(fs::read_to_string(&result).unwrap(), ours);
    // What another version wrote was taken as if it were ours.
    fs::write(&result, ours.replacen("\"version\": 3", "\"version\": 99", 1)).unwrap();
    for command in ["study compare s s", "study export s --parquet --out more"] {
        let output = loadline(folder, command);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("another version"), "{command}: {said}");
    }
}

#[test]
fn names_of_studies_setups_and_drives_are_told_from_what_is_none() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let run = "study run recovery-nvme --dry-run --setups";
    refused(folder, &format!("{run} all,baseline"), 2, "the set `all` stands alone");
    refused(folder, &format!("{run} baseline,"), 2, "one of them is empty");
    fs::create_dir_all(folder.join("studies/folder.toml")).unwrap();
    fs::create_dir_all(folder.join("drives")).unwrap();
    let output = loadline(folder, "study show folder");
    assert!(!text(&output.stderr).contains("did you mean `folder`"), "{}", text(&output.stderr));
    let p4510 = include_str!("../../drives/nvme-p4510.toml");
    for wrong in ["inf", "1e300", "0", "-1", "nan"] {
        let line = p4510.lines().find(|line| line.starts_with("capacity_iops")).unwrap();
        fs::write(folder.join("d.toml"), p4510.replace(line, &format!("capacity_iops = {wrong}")))
            .unwrap();
        let says = "`capacity_iops` must be from 1 to 1000000000 IOPS";
        refused(folder, "study run recovery-nvme --dry-run --drive d.toml", 2, says);
    }
    let background = "study run cdl-classes --dry-run --set background_depth=0";
    refused(folder, background, 2, "--set background_depth=0: `depth` must be from 1 to 100000");
    let endless = "study run recovery-nvme --dry-run --set depth=4294967295";
    refused(folder, endless, 2, "--set depth=4294967295: `depth` must be from 1 to 100000");
    refused(
        folder,
        "profile show balanced --iops nan",
        2,
        "--iops: takes a number from 1 to 1000000000",
    );
    refused(
        folder,
        "profile show balanced --bandwidth 0",
        2,
        "--bandwidth: takes a size from 1 B to 1000 GiB",
    );
}

#[test]
fn a_benchmark_with_no_sense_is_refused_whole() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let bench = |flags: &str, says: &str| {
        refused(
            folder,
            &format!("cdl bench --dev sim:hdd-22tb-cdl --baseline --outdir out {flags}"),
            2,
            says,
        );
        assert!(!folder.join("out").exists());
    };
    bench("--runtime 99999999999999999", "a run takes at most a year together, 31536000 seconds");
    bench("--ramptime 18446744073709551615", "a run takes at most a year together");
    bench("--jobs 0", "it takes a whole number from 1 to 1024");
    // fio said so in its banner, in a folder of the benchmark's.
    let unreadable = format!("cdl bench --dev {UNREADABLE} --baseline --outdir above/out");
    refused(folder, &unreadable, 2, &format!("--dev {UNREADABLE}: permission denied"));
    // A part of the manifest, and the lock, were left.
    let line = format!(
        "ulimit -f 0; exec {} cdl bench --dev sim:hdd-22tb-cdl --baseline --outdir above/out",
        env!("CARGO_BIN_EXE_loadline")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("above/out/bench.json: it would be larger than a file may"), "{said}");
    assert!(!folder.join("above").exists());
    for (name, bytes) in [("zeros", vec![0; 232]), ("noise", vec![0xff; 36])] {
        fs::write(folder.join(name), bytes).unwrap();
        refused(
            folder,
            &format!("cdl show {name}"),
            2,
            "a mode page of descriptors begins with 4Ah",
        );
    }
    fs::write(folder.join("other"), vec![0xff; 40]).unwrap();
    refused(folder, "cdl show other", 2, "other: neither the text of a .cdl file nor a mode page");
}

#[test]
fn databases_are_refused_in_the_words_of_who_typed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for size in ["0", "1KiB", "256KiB", "5000000001"] {
        let says = "--size: a new disk of ";
        refused(folder, &format!("kv put k v --dir none/below --size {size}"), 2, says);
        assert!(!folder.join("none").exists(), "a folder was left of what was refused");
    }
    refused(
        folder,
        "kv put k v --dir none/below --size 1MiB",
        2,
        "--size 1 MiB: leaves no room for a database",
    );
    refused(folder, "kv put k v --dir none --ttl 0s", 2, "--ttl 0s: takes a time that passes");
    assert!(!folder.join("none").exists(), "nothing was made for what could not be kept");
    refused(folder, "kv grow --dir none --size 1GiB", 2, "none/data: there is no database");
    fs::write(folder.join("file"), "mine").unwrap();
    refused(folder, "kv put k v --dir file/below", 2, "a part of the path is a file");
    refused(
        folder,
        "kv put k v --dir /dev/null",
        2,
        "/dev/null/data: a part of the path is a file",
    );
    // A database of 1 GiB was made for each of them, and stayed.
    refused(
        folder,
        "kv put k v --dir none --cache 0",
        2,
        "--cache: the cache is 0 B and this store",
    );
    refused(folder, "kv put k v --dir none --cache 1000TiB", 1, "--cache: the cache is too large");
    assert!(!folder.join("none").exists(), "a database was left that could not be opened");
    check(folder, "kv put k v --dir db --size 32MiB", 0, "");
    refused(
        folder,
        "kv get k --dir db --cache 4KiB",
        2,
        "--cache: the cache is 4 KiB and this store",
    );
    check(folder, "kv put k v --dir db --size 32MiB", 0, "");
    let says = "--size 64 MiB: the database has a file of 32 MiB already";
    refused(folder, "kv put k w --dir db --size 64MiB", 2, says);
    refused(folder, "kv serve --dir db --socket s --size 64MiB", 2, says);
    check(folder, "kv get k --dir db", 0, "v\n");
    // For programs, what is not there was there with no value.
    refused(folder, "kv get zzz --dir db", 1, "keyspace default has no key zzz");
    check(folder, "kv get zzz --dir db --json", 1, "\"value\": null");
    let long = "k".repeat(600);
    refused(
        folder,
        &format!("kv put {long} v --dir db"),
        2,
        "the key, in keyspace default, has 600 bytes and may have 495",
    );
    refused(folder, &format!("kv put {long} v --dir none"), 2, "600 bytes and may have 495");
    assert!(!folder.join("none").exists(), "a database was left of what was refused");
    let long = "v".repeat(40_000);
    refused(
        folder,
        &format!("kv put k {long} --dir db"),
        2,
        "the value has 40000 bytes and may have",
    );
    // The database was made first, and stayed.
    let says = "none/s: cannot listen there: there is no such file or folder";
    refused(folder, "kv serve --dir new --socket none/s", 2, says);
    fs::write(folder.join("no-socket"), "mine").unwrap();
    let says = "no-socket: there is a file that is no socket";
    refused(folder, "kv serve --dir new --socket no-socket", 2, says);
    let _served = UnixListener::bind(folder.join("served")).unwrap();
    let says = "served: another process listens there";
    refused(folder, "kv serve --dir new --socket served", 1, says);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _listens = TcpListener::bind(tcp).unwrap();
    let says = format!("{tcp}: another process listens there");
    refused(folder, &format!("kv serve --dir new --socket s --tcp {tcp}"), 1, &says);
    // A socket may lie in the database's folder, before that is there.
    refused(folder, "kv serve --dir new --socket new/s --size 1", 2, "a new disk of 1 B is none");
    assert!(!folder.join("new").exists(), "a database was left of what was refused");
    refused(folder, "kv backup --dir db --to none/b", 2, "cannot write none/b");
    fs::write(folder.join("osd.1"), "a store").unwrap();
    let says = "osd.1: it is there already, is no backup, and is left as it is";
    refused(folder, "kv backup --dir db --to osd.1", 2, says);
    for own in ["db/data", "db/data.new", "db/../db/data"] {
        let says = "files in a database's folder are its own";
        refused(folder, &format!("kv backup --dir db --to {own}"), 2, says);
    }
    check(folder, "kv get k --dir db", 0, "v\n");
    refused(
        folder,
        "kv backup --dir db --to /dev/full",
        1,
        "cannot write /dev/full: the disk is full",
    );
    refused(folder, "kv restore --from .", 2, "cannot read .: it is a folder");
    fs::write(folder.join("no-backup"), "text").unwrap();
    refused(folder, "kv restore --from no-backup", 2, "no-backup: this is no backup of a database");
    refused(folder, "kv restore --from /dev/null", 2, "/dev/null: this is no backup of a database");
    fs::create_dir(folder.join("other")).unwrap();
    fs::write(folder.join("other/data"), [7; 1 << 20]).unwrap();
    refused(folder, "kv show --dir other", 2, "other/data: there is no store here");
    refused(folder, "kv restore --from none", 2, "cannot read none: there is no such file");
    check(folder, "kv backup --dir db --to cut", 0, "");
    let whole = fs::read(folder.join("cut")).unwrap();
    fs::write(folder.join("cut"), &whole[..whole.len() - 4]).unwrap();
    let restore = "kv restore --from cut --dir none/new";
    refused(folder, restore, 1, "cut: the backup is not whole: it ends in frame");
    assert!(!folder.join("none").exists(), "folders were left of what was refused");
}

#[test]
fn a_server_s_certificates_are_blamed_one_by_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let key = rcgen::KeyPair::generate().unwrap();
    let names = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (names.self_signed(&key).unwrap().pem(), key.serialize_pem());
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(path, mode).unwrap();
    };
    write("c.pem", &certificate);
    write("k.pem", &key);
    write("cut-c.pem", &certificate[..100]);
    write("cut-k.pem", &key[..100]);
    let serve = |certificate: &str, key: &str, more: &str, says: &str| {
        let line = format!(
            "kv serve --dir db --tcp 127.0.0.1:0 --tls-certificate {certificate} --tls-key {key} {more}"
        );
        refused(folder, &line, 2, says);
    };
    serve(
        "cut-c.pem",
        "k.pem",
        "",
        "--tls-certificate: cut-c.pem: cannot be used: it ends within a part of it: it was cut",
    );
    serve(
        "c.pem",
        "cut-k.pem",
        "",
        "--tls-key: cut-k.pem: cannot be used: it ends within a part of it: it was cut",
    );
    serve("c.pem", "none", "", "--tls-key: none: cannot be read: there is no such file");
    serve(
        "c.pem",
        "k.pem",
        "--tls-client-ca k.pem",
        "--tls-client-ca: k.pem: there is no certificate in it",
    );
}

#[test]
fn a_node_is_refused_before_its_disks_are_made() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let serve = |flags: &str, says: &str| {
        refused(folder, &format!("serve --osds 1 --size 64MiB --dir node {flags}"), 2, says);
        assert!(!folder.join("node").exists(), "{flags}");
    };
    serve(
        "--page localhost:7480",
        "it takes an address in digits with a port, such as `127.0.0.1:7480`",
    );
    serve("--log inof", "--log inof: takes levels");
    serve(
        "--read-only *a*",
        "expected an image's name such as `vol0`, or a beginning such as `vm-*`",
    );
    serve(
        "--image vol=8MiB --vhost vol=node/osd.0",
        "node/osd.0 is a path of `osds`, too: each takes one of its own",
    );
    serve(
        "--page 127.0.0.1:7480 --nbd-tcp 127.0.0.1:7480",
        "--page: 127.0.0.1:7480 is where NBD is served, too",
    );
    serve(
        "--image vol=8MiB --vhost vol=none/v.sock",
        "none/v.sock: cannot listen there: there is no such file or folder",
    );
    serve("--vhost nope=v.sock", "--vhost: a new node has no image `nope`");
    serve("--nbd-insecure", "--nbd-insecure: it is for `tcp` (--nbd-tcp), and there is none");
    serve("--memory 900TiB", "--memory: 900 TiB are asked for, and this machine has ");
    serve("--memory 100MiB", "--memory: 100 MiB of memory are too little");
    serve("--cache 900TiB", "--cache: ");
    let long = "n".repeat(110);
    refused(
        folder,
        &format!("serve --osds 1 --size 64MiB --dir {long}"),
        2,
        "cannot listen there: a socket's path has at most 107 bytes",
    );
    assert!(!folder.join(long).exists());
    refused(
        folder,
        "serve --osds 1 --size 5000000001 --dir node",
        2,
        "--size: 5000000001 bytes are not whole pages; give a multiple of 4096",
    );
    // Each of the file's other flags was named, nineteen of them.
    for (beside, named) in [("--dir x", "'--dir <DIR>'"), ("--nbd-tcp 127.0.0.1:0", "'--nbd-tcp <")]
    {
        let output = loadline(folder, &format!("serve --config node.toml {beside}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(named) && said.matches("'--").count() == 2, "{said}");
    }
    let file = |text: &str, says: &str| {
        fs::write(folder.join("node.toml"), text).unwrap();
        refused(folder, "serve --config node.toml", 2, says);
        assert!(!folder.join("loadline").exists(), "{text}");
    };
    let osds = "osds = [{ path = \"a\", size = \"64 MiB\" }]\n";
    file(
        &format!("{osds}admin = \"a\"\n"),
        "node.toml:2: admin: loadline/a is a path of `osds`, too",
    );
    file(
        &format!("{osds}admin = \"x/../a\"\n"),
        "node.toml:2: admin: loadline/x/../a is a path of `osds`, too",
    );
    file(
        &format!("{osds}admin = \"x/../b\"\n"),
        "node.toml:2: admin: loadline/x/../b: cannot listen there: there is no such",
    );
    file(
        &format!("{osds}admin = \"nbd.sock\"\n"),
        "node.toml:2: admin: loadline/nbd.sock is a path of `unix`, too",
    );
    // Each was found when the disks were made, formatted and measured.
    for unix in ["", ".", "..", "../loadline"] {
        file(&format!("{osds}[nbd]\nunix = \"{unix}\"\n"), "node.toml:3: unix: loadline/");
    }
    file(
        &format!("{osds}admin = \"/nonexist/a.sock\"\n"),
        "node.toml:2: admin: /nonexist/a.sock: cannot listen there: there is no such",
    );
    for own in ["disks.json", "x/../page.json", "disks.part"] {
        let says = format!("node.toml:2: admin: loadline/{own} is a file of the node's own");
        file(&format!("{osds}admin = \"{own}\"\n"), &says);
        // The disk was formatted, and then replaced by what the node writes there.
        let says = format!("node.toml:2: osds: loadline/{own} is a file of the node's own");
        let disk = format!("{{ path = \"{own}\", size = \"64 MiB\" }}");
        file(&format!("osds = [\n{disk}]\n"), &says);
    }
    file("dir = \"\"\nosds = []\n", "node.toml:1: dir: it takes a folder's path, such as `.`");
    let bounds = "[nbd]\nconnections = 10\nconnections_per_peer = 20\n";
    let says = "node.toml:4: connections_per_peer: 20 are more than all, of which there are 10";
    file(&format!("{osds}{bounds}"), says);
    file(
        &format!("{osds}scheduler = \"wpq\"\n[settings.global]\nosd_op_queue = \"fifo\"\n"),
        "node.toml:2: scheduler: `wpq` contradicts `osd_op_queue = fifo` of the settings",
    );
    // The disks were made first, and it was no fault of what was typed.
    let says =
        "node.toml:2: cache: 100 KiB hold too few pages: an OSD of 64 MiB takes at least 504 KiB";
    file(&format!("{osds}cache = \"100 KiB\"\n"), says);
    refused(folder, "serve --osds 1 --cache 0", 2, "--cache: 0 B hold too few pages: an OSD of");
    let twice = "serve --osds 1 --set osd_max_backfills=1 --set osd_max_backfills=2";
    refused(folder, twice, 2, "--set: `osd_max_backfills` stands there twice");
    let own = folder.join("node.toml");
    file(
        &format!("{osds}admin = \"{}\"\n", own.display()),
        "node.toml: there is a file that is no socket",
    );
    file(
        "osds = [\n{ path = \"osd.0\", size = \"64 MiB\" },\n{ path = \"nonexist/d\" }]\n",
        "node.toml:3: osds: nonexist/d is not there and has no size",
    );
    file(
        &format!("{osds}page = \"x\"\n"),
        "node.toml:2: page: it takes an address in digits with a port",
    );
    file(
        &format!("{osds}[settings.osd]\nosd_max_backfills = [1]\n"),
        "node.toml:3: osd_max_backfills: an option takes a number, text, `true` or `false`",
    );
}

/// Whoever named a pipe waited for somebody to come to its other end, who never does; a socket was told to be no device, and nobody to listen there.
#[test]
fn what_is_neither_file_nor_disk_is_told_at_once() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(folder.join("socket")).unwrap();
    refused(
        folder,
        "store format a --size 64MiB --log-device pipe --log 16MiB",
        2,
        "this is a pipe",
    );
    assert!(!folder.join("a").exists());
    assert!(loadline(folder, "store format a --size 64MiB").status.success());
    for is in ["pipe", "socket"] {
        let disk = |line: &str| {
            let says = format!("this is a {is}; a disk is a regular file or a block device");
            refused(folder, &line.replace('@', is), 2, &says);
        };
        disk("store format @");
        disk("store format @ --size 64MiB --force");
        disk("inspect @");
        disk("inspect a check --log-device @");
        disk("drive measure @");
        let text = |line: &str| {
            let says = format!("it is a {is}, and a file is needed");
            refused(folder, &line.replace('@', is), 2, &says);
        };
        text("why image --trace @");
        text("serve --config @");
        text("kv serve --dir db --socket s --users @");
        fs::write(folder.join("c"), "").unwrap();
        text("kv serve --dir db --tcp 127.0.0.1:0 --tls-key c --tls-certificate @");
        text("serve --osds 1 --nbd-tcp 127.0.0.1:0 --tls-key c --tls-certificate @");
    }
    refused(folder, "store format /dev/full", 2, "/dev/full: this is a character device; a disk");
    assert!(!folder.join("db").exists() && !folder.join("loadline").exists());
}

/// A store was made of which the greater part had no room, and its writes would have waited for some.
#[test]
fn a_store_takes_the_room_that_it_says() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let line = "store format s --size 8TiB --page 16KiB";
    refused(folder, line, 1, "s: its file system has no room for 8 TiB");
    let line = "store format s --size 64MiB --log-device l --log 8TiB";
    refused(folder, line, 1, "l: its file system has no room for 8 TiB");
    assert!(fs::read_dir(folder).unwrap().next().is_none(), "nothing is left");
}

/// It was measured to the end first.
#[test]
fn where_no_drive_file_can_come_nothing_is_measured() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::os::unix::fs::symlink("none/x", folder.join("link.toml")).unwrap();
    fs::create_dir(folder.join("d.toml")).unwrap();
    let measure = |flags: &str, says: &str| {
        refused(folder, &format!("drive measure {flags} --size 16MiB"), 2, says);
    };
    measure("m --out link.toml", "--out link.toml: it is there already");
    measure(
        "m --yes --out link.toml",
        "cannot write link.toml: a link, a pipe or a device is in its place",
    );
    measure("m --yes --out d.toml", "d.toml");
    measure("m.toml --out ./m.toml", "--out ./m.toml: it is what is measured");
    check(folder, "drive measure m --medium ssd", 2, "--out <FILE>");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "nothing is left");
}

/// What is typed again when nobody else uses it was told to have been typed wrong.
#[test]
fn a_file_that_somebody_uses_is_refused_for_now() {
    let place = tempfile::tempdir().unwrap();
    let held = fs::File::create(place.path().join("s")).unwrap();
    held.lock().unwrap();
    refused(place.path(), "store format s --size 64MiB", 1, "s: another process uses it");
}

/// The folder of the node was left, and what it says is there already.
#[test]
fn a_new_node_that_is_refused_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let serve = |flags: &str, code: i32, says: &str| {
        refused(folder, &format!("serve --log error --dir a/node {flags}"), code, says);
        assert!(!folder.join("a").exists(), "{flags}");
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--osds 1 --size 64MiB --nbd-tcp {}", port.local_addr().unwrap());
    serve(&taken, 1, "another process listens there");
    serve("--osds 1 --size 64MiB --give-up 5", 2, "leave out --give-up");
    serve("--osds 1 --size 10000TiB", 1, "has no room for 10000 TiB");
    // An image that cannot be made is found when the disks have been.
    serve("--osds 1 --size 64MiB --image a=16000000TiB", 2, "image a: ");
    let file = |osds: &str, says: &str| {
        fs::write(folder.join("node.toml"), format!("dir = \"a\"\nosds = [{osds}]\n")).unwrap();
        refused(folder, "serve --log error --config node.toml", 2, says);
        assert!(!folder.join("a").exists(), "{osds}");
    };
    file("{ path = \"osd.0\" }", "none of the node's disks is there (a/osd.0)");
    file(
        "{ path = \"/dev/null\" }",
        "/dev/null: its disk cannot be used: this is a character device",
    );
    file("{ path = \"..\" }", "this is a folder");
}

#[test]
fn a_node_that_cannot_be_asked_is_told_from_none() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let dead = folder.join("dead");
    drop(UnixListener::bind(&dead).unwrap());
    refused(
        folder,
        "status --socket dead",
        1,
        "no node answers at dead: `loadline serve --dir DIR` starts one",
    );
    refused(
        folder,
        "status --socket .",
        2,
        ". is a folder; --socket takes a node's socket, and --dir its folder",
    );
    refused(
        folder,
        "status --dir dead",
        2,
        "dead is no folder; --dir takes a node's folder, and --socket its socket",
    );
    let long = "n".repeat(150);
    fs::write(folder.join("file"), "").unwrap();
    refused(folder, "status --socket file", 2, "file is no socket; --socket takes a node's socket");
    refused(folder, &format!("status --socket {long}"), 2, "a socket's path has at most 107 bytes");
    let output = command(folder).arg("status").env("LOADLINE_DIR", "").output().unwrap();
    assert!(
        text(&output.stderr).contains("no node answers at loadline/admin.sock"),
        "{}",
        text(&output.stderr)
    );
}

/// A limit of file sizes ended the program by a signal, with half a file left.
#[test]
fn a_limit_of_file_sizes_is_told_like_a_full_disk() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("ulimit -f 1; exec {} man pages", env!("CARGO_BIN_EXE_loadline"));
    let output =
        Command::new("bash").args(["-c", &line]).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("larger than a file may be here"),
        "{}",
        text(&output.stderr)
    );
    // The pages before the first that found no room were left.
    assert!(!place.path().join("pages").exists(), "no page is of use without the others");
}

/// `loadline --help > /dev/full` said by its exit code that the help is there.
#[test]
fn help_that_cannot_be_written_is_not_shown() {
    let place = tempfile::tempdir().unwrap();
    for asked in ["--help", "--version", "study run --help"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = command(place.path());
        let output = command.args(asked.split(' ')).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{asked}: {said}");
        assert!(said.contains("cannot write the output: the disk is full"), "{asked}: {said}");
    }
}
