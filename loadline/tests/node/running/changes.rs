//! Every verb that changes something: what it costs is said before it is done, and each change leaves one line in the log that
//! says who, what, before and after.

use super::clients::Client;
use super::node::Node;
use serde_json::json;

/// What a verb says when nobody said that it is meant, if it asks; else it is carried out at once.
struct Verb {
    typed: &'static str,
    costs: Option<&'static str>,
    /// The request, as the log names it.
    what: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn verb(
    typed: &'static str,
    what: &'static str,
    before: &'static str,
    after: &'static str,
) -> Verb {
    Verb { typed, costs: None, what, before, after }
}

const fn costly(
    typed: &'static str,
    costs: &'static str,
    what: &'static str,
    before: &'static str,
    after: &'static str,
) -> Verb {
    Verb { typed, costs: Some(costs), what, before, after }
}

/// All of them, in an order in which each can be carried out.
const VERBS: [Verb; 24] = [
    verb("pool create cold --pgs 8", "POST /pool ", "none", "8 PGs, 3 copies"),
    verb("image create v --size 8MiB --pool data", "POST /image ", "none", "8 MiB"),
    verb("image resize v 12MiB", "PUT /image/v/size ", "8 MiB", "12 MiB"),
    verb("image rename v w", "PUT /image/v/name ", "v: 12 MiB; w: none", "v: none; w: 12 MiB"),
    verb("image snapshot create w@s", "PUT /image/w/snapshot/s", "12 MiB", "12 MiB, snapshots s"),
    verb("image clone w@s c", "POST /image/w/snapshot/s/clone ", "none", "12 MiB"),
    costly(
        "image remove c --yes",
        "image c of 12 MiB would be removed for good, with up to 0 B written to it",
        "DELETE /image/c?yes=true",
        "12 MiB",
        "none",
    ),
    costly(
        "image resize w 4MiB --yes",
        "image w would lose its last 8 MiB, with up to 1 MiB written (snapshots keep what they show: s)",
        "PUT /image/w/size?yes=true ",
        "12 MiB, snapshots s",
        "4 MiB, snapshots s",
    ),
    costly(
        "image snapshot remove w@s --yes",
        "snapshot w@s would be removed, and what only it shows would be gone",
        "DELETE /image/w/snapshot/s?yes=true",
        "4 MiB, snapshots s",
        "4 MiB",
    ),
    costly(
        "image remove w --yes",
        "image w of 4 MiB would be removed for good, with up to 4 MiB written to it",
        "DELETE /image/w?yes=true",
        "4 MiB",
        "none",
    ),
    costly(
        "pool remove cold --yes",
        "pool cold would be removed for good",
        "DELETE /pool/cold?yes=true",
        "8 PGs, 3 copies",
        "none",
    ),
    verb(
        "config set osd.0 osd_recovery_max_single_start 3 --runtime",
        "PUT /config/osd.0/osd_recovery_max_single_start ",
        "built-in: ",
        "run-time: 3",
    ),
    verb(
        "config rm osd.0 osd_recovery_max_single_start --runtime",
        "DELETE /config/osd.0/osd_recovery_max_single_start?level=runtime",
        "run-time: 3",
        "built-in: ",
    ),
    verb(
        "config set osd osd_recovery_max_single_start 2",
        "PUT /config/osd/osd_recovery_max_single_start ",
        "built-in: ",
        "stored for osd: 2",
    ),
    verb(
        "profile switch high_client_ops",
        "PUT /config/osd/osd_mclock_profile ",
        "built-in: ",
        "stored for osd: high_client_ops",
    ),
    verb("osd add node/osd.3 --size 64MiB", "POST /osd ", "3 OSDs", "4 OSDs"),
    verb("tell osd.0 bench --total 1MiB", "POST /osd/0/bench ", "IOPS", "IOPS"),
    verb("osd out 3", "PUT /osd/3/out", "up, in, ", "up, out, "),
    verb("osd down 3", "PUT /osd/3/down", "up, out, ", "down, out, "),
    verb("osd up 3", "PUT /osd/3/up", "down, out, ", "up, out, "),
    verb("osd in 3", "PUT /osd/3/in", "up, out, ", "up, in, "),
    verb("osd down 2", "PUT /osd/2/down", "up, in, ", "down, in, "),
    verb("osd replace 2 node/new --size 64MiB", "POST /osd/2/replace ", "node/osd.2", "node/new"),
    verb("stop", "POST /shutdown", "runs", "stops"),
];

/// The field of a line of the log.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{line}"));
    rest.split_once("\" ").map_or(rest.trim_end_matches('"'), |(value, _)| value)
}

fn changes(node: &Node) -> Vec<String> {
    let log = node.log().replace("\\\"", "'");
    log.lines().filter(|line| line.contains(" changed ")).map(str::to_owned).collect()
}

#[test]
fn every_verb_says_what_it_costs_and_leaves_one_line() {
    let node = Node::with_osds(3);
    node.await_clean();
    for Verb { typed, costs, what, before, after } in VERBS {
        let words: Vec<&str> = typed.split(' ').collect();
        let seen = changes(&node).len();
        if let Some(costs) = costs {
            let plain: Vec<&str> = words.iter().copied().filter(|word| *word != "--yes").collect();
            node.refuses(&plain, 2, &format!("{costs}, expected --yes if that is meant"));
            assert_eq!(changes(&node).len(), seen, "{typed}: a refusal changes nothing");
        }
        node.says(&words);
        let lines = changes(&node);
        let [line] = &lines[seen..] else { panic!("{typed}: {:?}", &lines[seen..]) };
        let who = format!("uid {}, pid ", own_uid());
        assert!(field(line, "who").starts_with(&who), "{typed}: {line}");
        assert!(field(line, "what").starts_with(what), "{typed}: {line}");
        assert!(field(line, "before").contains(before), "{typed}: {line}");
        assert!(field(line, "after").contains(after), "{typed}: {line}");
        if typed.starts_with("image create") {
            write(&node, "v", 0, 4 << 20);
        } else if typed.starts_with("image resize v") {
            write(&node, "v", 8 << 20, 1 << 20);
        } else if typed.starts_with("osd") {
            node.await_clean_but_for(typed == "osd down 2");
        }
    }
}

fn own_uid() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
}

fn write(node: &Node, image: &str, at: u64, bytes: usize) {
    Client::connect(&node.file("nbd.sock"), image).write(at, &vec![9; bytes]);
}

/// What only asks leaves no line.
#[test]
fn questions_change_nothing() {
    let node = Node::with_osds(1);
    for typed in [
        "status",
        "health",
        "osd list",
        "pool list",
        "image list",
        "config show",
        "config show osd.0",
        "config get osd.0 osd_max_backfills",
        "dump ops",
        "dump history",
        "dump queues 0",
        "why none",
        "image info none",
    ] {
        node.run(&typed.split(' ').collect::<Vec<_>>());
    }
    node.run(&["osd", "ok-to-stop", "0"]);
    assert_eq!(changes(&node), [""; 0]);
}

/// One copy and no other: whoever has it cannot go without an end of service, and its disk not without a loss.
#[test]
fn what_would_end_service_is_named_and_refused() {
    let mut node = Node::without_disks();
    node.start(&["--osds", "3", "--size", "64MiB", "--pgs", "4", "--copies", "2"]);
    node.await_clean();
    let ok = node.json(&["osd", "ok-to-stop", "osd.1"]);
    assert_eq!((&ok["ok_to_stop"], &ok["osds"]), (&json!(true), &json!([1])));
    let groups = ok["ok_become_degraded"].as_array().unwrap();
    assert_eq!(
        (ok["num_ok_pgs"].as_u64(), &ok["num_not_ok_pgs"]),
        (Some(groups.len() as u64), &json!(0))
    );
    assert!(groups.iter().all(|pg| pg.as_str().unwrap().starts_with("0.")), "{ok}");
    assert!(node.says(&["osd", "ok-to-stop", "1"]).starts_with("osd.1 may stop: "));
    let ran = node.run(&["osd", "ok-to-stop", "1", "2", "--json"]);
    assert_eq!(ran.status.code(), Some(1), "{}", ran.stderr);
    let both: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&both["ok_to_stop"], &both["osds"]), (&json!(false), &json!([1, 2])));
    assert!(!both["bad_become_inactive"].as_array().unwrap().is_empty(), "{both}");
    node.refuses(&["osd", "ok-to-stop", "5"], 2, "there is no osd.5");

    node.says(&["pool", "create", "one", "--pgs", "3", "--copies", "1"]);
    node.await_clean();
    for osd in ["0", "1", "2"] {
        let alone = node.run(&["osd", "ok-to-stop", osd, "--json"]);
        let alone: serde_json::Value = serde_json::from_str(&alone.stdout).unwrap();
        let ended: Vec<&str> = alone["bad_become_inactive"]
            .as_array()
            .map(|groups| groups.iter().map(|pg| pg.as_str().unwrap()).collect())
            .unwrap_or_default();
        if ended.is_empty() {
            continue;
        }
        assert!(ended.iter().all(|pg| pg.starts_with("1.")), "{alone}");
        let says = format!("without osd.{osd} nobody would serve PG");
        node.refuses(&["osd", "down", osd], 2, &says);
        node.refuses(&["osd", "down", osd], 2, "expected --force if that is meant");
        assert_eq!(node.json(&["osd", "list"])["osds"][0]["up"], json!(true));
        node.done(&["osd", "down", osd, "--force"], &format!("osd.{osd} is down"));
        let replace = ["osd", "replace", osd, "node/new", "--size", "64MiB"];
        let says = format!("the disk that osd.{osd} has may hold the last whole copy of PG");
        node.refuses(&replace, 2, &says);
        assert!(!node.file("new").exists(), "nothing was made");
        node.done(&["osd", "up", osd], &format!("osd.{osd} is up"));
        node.await_clean();
    }
}
