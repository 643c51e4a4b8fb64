//! Settings: in force at once, refused where the original takes them back, kept over a restart.

use super::node::Node;
use loadline_device::cdl::{Descriptor, DescriptorPage, Limit, Limits, ModePage, Unit};
use serde_json::json;

const BACKFILLS: &str = "osd_max_backfills";
const PROFILE: &str = "osd_mclock_profile";
const OPEN_GATE: [&str; 5] =
    ["config", "set", "osd", "osd_mclock_override_recovery_settings", "true"];

#[test]
fn a_setting_is_in_force_at_once_and_kept() {
    let mut node = Node::with_osds(2);
    node.refuses(&["config", "set", "osd", BACKFILLS, "4"], 2, "mClock sets osd_max_backfills");
    node.says(&OPEN_GATE);
    let changed = node.json(&["config", "set", "osd", BACKFILLS, "4"]);
    let altered = |osd| json!({ "osd": osd, "option": BACKFILLS, "before": "1", "after": "4" });
    assert_eq!(changed, json!({ "level": "stored", "altered": [altered(0), altered(1)] }));
    node.says(&["config", "set", "osd.1", BACKFILLS, "7", "--runtime"]);
    let found = node.json(&["config", "get", "osd.1", BACKFILLS]);
    assert_eq!((&found["value"], &found["origin"]), (&json!("7"), &json!("run-time")));
    let section = node.json(&["config", "get", "osd", BACKFILLS]);
    assert_eq!((&section["value"], &section["origin"]), (&json!("4"), &json!("stored for osd")));
    let row = |who, value, origin| json!({ "who": who, "option": BACKFILLS, "value": value, "origin": origin });
    let all = node.json(&["config", "show"])["rows"].as_array().unwrap().clone();
    let of_option: Vec<_> = all.iter().filter(|row| row["option"] == BACKFILLS).collect();
    assert_eq!(
        of_option,
        [&row("osd", "4", "stored for osd"), &row("osd.1", "7", "run-time")],
        "each value once, the least specific first"
    );
    node.stop();
    node.start(&[]);
    let found = node.json(&["config", "get", "osd.1", BACKFILLS]);
    assert_eq!(found["value"], json!("4"), "what was set at run-time is gone");
    node.says(&["config", "rm", "osd", BACKFILLS]);
    assert_eq!(node.json(&["config", "get", "osd.1", BACKFILLS])["value"], json!("1"));
}

#[test]
fn a_profile_is_switched_and_owns_its_parameters() {
    let node = Node::with_osds(2);
    let switched = node.json(&["profile", "switch", "high_recovery_ops"]);
    let altered = switched["altered"].as_array().unwrap();
    assert!(altered.iter().any(|row| row["option"] == PROFILE && row["osd"] == 1), "{switched}");
    assert!(altered.len() > 2, "its parameters follow: {switched}");
    let weight = "osd_mclock_scheduler_client_wgt";
    let says = "profile high_recovery_ops sets osd_mclock_scheduler_client_wgt on osd.0";
    node.refuses(&["config", "set", "osd.0", weight, "9"], 2, says);
    node.says(&["profile", "switch", "custom", "--for", "osd.0"]);
    node.says(&["config", "set", "osd.0", weight, "9"]);
    assert_eq!(node.json(&["config", "get", "osd.0", weight])["value"], json!("9"));
}

/// A start-only option waits for its OSD's restart, which `osd down` and `osd up` are; other counts of queues, too.
#[test]
fn options_read_at_start_wait_for_a_restart() {
    let mut node = Node::with_osds(2);
    let queue = "osd_op_queue";
    let says = "osd_op_queue is read only when an OSD starts: store it and restart the OSD";
    node.refuses(&["config", "set", "osd.1", queue, "wpq", "--runtime"], 2, says);
    node.says(&["config", "set", "osd.1", queue, "wpq"]);
    node.says(&["config", "set", "osd.1", "osd_op_num_shards", "3"]);
    let found = node.json(&["config", "get", "osd.1", queue]);
    assert_eq!(
        (&found["value"], &found["after_restart"]),
        (&json!("mclock_scheduler"), &json!("wpq"))
    );
    node.says(&["osd", "down", "1"]);
    node.says(&["osd", "up", "1"]);
    let queues = |node: &Node| {
        let dump = node.json(&["dump", "queues", "1"]);
        (dump["scheduler"].as_str().unwrap().to_owned(), dump["shards"].as_array().unwrap().len())
    };
    assert_eq!(queues(&node), ("wpq".to_owned(), 3));
    node.await_clean();
    node.stop();
    node.start(&[]);
    assert_eq!(queues(&node), ("wpq".to_owned(), 3));
    node.await_clean();
}

#[test]
fn what_cannot_be_set_is_refused() {
    let node = Node::with_osds(1);
    let set = |option, value| ["config", "set", "osd", option, value];
    node.refuses(&set("osd_x", "1"), 2, "there is no option osd_x\n");
    let says = "there is no option osd_op_queu; did you mean `osd_op_queue`?";
    node.refuses(&set("osd_op_queu", "wpq"), 2, says);
    node.refuses(&["config", "get", "osd.0", "osd_op_queu"], 2, says);
    node.refuses(&set("osd_min_recovery_priority", "much"), 2, "cannot be `much`: it takes");
    node.refuses(&set("osd_min_recovery_priority", "256"), 2, "it takes values from 0 to 255");
    node.refuses(&set("osd_min_recovery_priority", "-1"), 2, "cannot be `-1`: it takes");
    node.refuses(&["config", "set", "osd.5", BACKFILLS, "1"], 2, "there is no osd.5");
    node.refuses(&["config", "get", "osd.0", "osd_x"], 2, "there is no option osd_x");
    node.refuses(
        &["config", "rm", "osd", PROFILE],
        2,
        "osd_mclock_profile has no stored value for osd",
    );
    node.refuses(&["profile", "switch", "fast"], 2, "osd_mclock_profile cannot be `fast`");
    assert!(node.says(&["config", "show", "osd.0"]).contains("mon_osd_down_out_interval"));
}

/// The duration limits that a drive with one guideline of 50 ms holds, as `cdladm save` writes them.
fn limits_file() -> String {
    let mut limits = Limits::default();
    let guideline = Limit { time: 5, ..Limit::default() };
    limits.descriptors[0] =
        Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    DescriptorPage::new(ModePage::T2A, limits).unwrap().file()
}

/// The drive was changed, and the node did not start any more: so nobody could take the limit back.
#[test]
fn a_stored_limit_that_the_drive_cannot_hold_is_left_out() {
    let mut node = Node::without_disks();
    std::fs::write(node.folder().join("t2a.cdl"), limits_file()).unwrap();
    let plain = "dir = \"node\"\ncopies = 1\nosds = [{ path = \"osd.0\", size = \"64 MiB\" }]\n\
                 [settings.osd]\nosd_mclock_max_capacity_iops_ssd = 20000\n";
    let with_limits = format!("{plain}[limits]\nreads = \"t2a.cdl\"\n");
    let limit = "osd_device_client_limit";
    node.start_from(&with_limits);
    node.says(&["config", "set", "osd", limit, "70 ms"]);
    node.stop();
    node.start_from(plain);
    let is_left_out =
        "osd_device_client_limit = 70 ms, stored for osd, is left out: the drive of osd.0";
    assert!(node.says(&["health"]).contains(is_left_out), "{}", node.says(&["health"]));
    assert_eq!(node.json(&["config", "get", "osd.0", limit])["origin"], json!("built-in"));
    assert!(node.says(&["config", "show"]).contains("stored for osd, left out"));
    node.stop();
    node.start_from(&with_limits);
    assert!(!node.says(&["health"]).contains("left out"), "it stands again");
    assert_eq!(node.json(&["config", "get", "osd.0", limit])["value"], json!("70 ms"));
    node.stop();
    node.start_from(plain);
    node.says(&["config", "rm", "osd", limit]);
    assert!(!node.says(&["health"]).contains("left out"), "nobody wants it any more");
    node.refuses(&["config", "rm", "osd", limit], 2, "has no stored value for osd");
}

#[test]
fn threads_say_that_they_carry_no_priorities() {
    let mut node = Node::with_osds(1);
    node.stop();
    node.start(&["--backend", "threads"]);
    let mode = node.json(&["status"])["io_mode"].as_str().unwrap().to_owned();
    assert_eq!(mode, "threads (as configured), without priorities and duration limits");
    let says = "threads carry the requests to the disks and can give them no priority";
    assert!(!node.says(&["health"]).contains(says), "none is wanted");
    node.says(&["config", "set", "osd", "osd_device_client_prioclass", "be"]);
    assert!(node.says(&["health"]).contains(says));
}
