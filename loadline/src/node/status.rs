//! `loadline status` and `loadline health`

use super::args::StatusArgs;
use super::reach::NodeArgs;
use super::{SECOND, bandwidth, duration, image, osd, scrub};
use crate::failure::Failure;
use crate::show;
use loadline_base::{Bytes, Span};
use loadline_host::admin::api::{
    BackgroundRow, Command, ConnectionCounts, DeletionProgress, FareRow, GateRow, Health,
    MemoryUse, ObjectCounts, RecoveryPace, Status, TrimProgress,
};
use serde_json::{Value, json};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Between two looks with --watch.
const LOOK: Duration = Duration::from_secs(1);
/// Empties a terminal and goes to its first line.
const CLEAR: &str = "\x1b[2J\x1b[H";

pub(crate) fn status(args: &StatusArgs) -> Result<(), Failure> {
    let mut client = args.node.connect()?;
    let clears = args.watch && io::stdout().is_terminal();
    loop {
        let page = |status: &Status| {
            let clear = if clears { CLEAR } else { "" };
            format!("{clear}{}", in_words(status))
        };
        args.node.show_next(&mut client, &Command::Status, page)?;
        if !args.watch {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "a person watches in real time")]
        std::thread::sleep(LOOK);
        if !clears && !show::is_read(b"\n")? {
            return Ok(());
        }
    }
}

/// `loadline health`: the status, but only what needs attention.
pub(crate) fn health(args: &NodeArgs) -> Result<(), Failure> {
    let status: Status = args.connect()?.ask(&Command::Status)?;
    match args.json() {
        true => show::json(&health_json(&status.health)),
        false => show::text(&health_in_words(&status.health)),
    }
}

fn health_json(health: &Health) -> Value {
    json!({ "level": health.level, "findings": health.findings })
}

fn health_in_words(health: &Health) -> String {
    let findings = health.findings.iter().map(|finding| format!("  {finding}\n"));
    format!("health: {}\n{}", health.level.name(), findings.collect::<String>())
}

fn in_words(status: &Status) -> String {
    let osds = &status.osd_counts;
    let (recovery, client) = (&status.recovery, &status.client);
    let (memory, connections) = (&status.memory, &status.connections);
    let pgs: Vec<String> =
        status.pgs.iter().map(|count| format!("{} {}", count.pgs, count.state)).collect();
    let lines = [
        (
            "node",
            format!(
                "running for {} on {}, map epoch {}",
                duration(status.uptime_ns),
                status.io_mode,
                status.map_epoch
            ),
        ),
        ("OSDs", format!("{}: {} up, {} in", osds.total, osds.up, osds.is_in)),
        ("PGs", pgs.join(", ")),
        ("copies", copies(&status.objects)),
        (
            "recovery",
            format!(
                "{:.1} objects/s, {}{}",
                recovery.objects_per_s,
                bandwidth(recovery.bytes_per_s),
                recovery_ends(recovery)
            ),
        ),
        ("trim", trim(&status.trim)),
        ("scrub", scrub::round(&status.scrub)),
        ("deletion", deletion(&status.deletion)),
        (
            "clients",
            format!(
                "{:.0} reads/s, {}; {:.0} writes/s, {}",
                client.reads_per_s,
                bandwidth(client.read_bytes_per_s),
                client.writes_per_s,
                bandwidth(client.written_bytes_per_s)
            ),
        ),
        ("sockets", sockets(connections)),
        ("memory", memory_in_words(memory)),
    ];
    let lines = lines.map(|(name, text)| format!("{:<10}{text}\n", format!("{name}:"))).concat();
    let (health, osds) = (health_in_words(&status.health), osd::table(&status.osds));
    let gates = gates(&status.gates);
    format!("{health}\n{lines}\n{osds}{gates}{}", image::in_use(&status.images))
}

/// `500 objects kept for removed snapshots, 250.0 objects/s, done in about 2 s`
fn trim(trim: &TrimProgress) -> String {
    if trim.objects_left == 0 {
        return "nothing is kept for removed snapshots".to_owned();
    }
    format!(
        "{} objects kept for removed snapshots, {:.1} objects/s{}",
        trim.objects_left,
        trim.objects_per_s,
        done_in(trim.ends_in_ns)
    )
}

/// `900 objects of 3 copies of PGs that have left, 30.0 objects/s, done in about 30 s`
fn deletion(deletion: &DeletionProgress) -> String {
    if deletion.copies_left == 0 {
        return "no copy of a PG is left over".to_owned();
    }
    format!(
        "{} objects of {} copies of PGs that have left, {:.1} objects/s{}",
        deletion.objects_left,
        deletion.copies_left,
        deletion.objects_per_s,
        done_in(deletion.ends_in_ns)
    )
}

/// `, done in about 50 s`, or the least that it takes where no more is known.
fn recovery_ends(recovery: &RecoveryPace) -> String {
    match (recovery.ends_in_ns, recovery.least_ns) {
        (None, Some(0..SECOND)) => ", how long is not known yet".to_owned(),
        (None, Some(least)) => format!(", done in at least {}", duration(least)),
        (ends, _) => done_in(ends),
    }
}

fn done_in(ends_in_ns: Option<u64>) -> String {
    ends_in_ns.map(|ends| format!(", done in about {}", duration(ends))).unwrap_or_default()
}

/// How the gate before each disk stands: what promises go by, what recovery may do, and what clients get.
fn gates(gates: &[GateRow]) -> String {
    let rows: Vec<[String; 8]> = gates.iter().map(gate_row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        "gate",
        "promises by",
        "goal",
        "client window",
        "background may begin",
        "at the disk",
        "kept out",
        "clients lately, of alone",
    ];
    format!("\n{}", show::table(columns, &[3, 4, 7], &rows))
}

fn gate_row(gate: &GateRow) -> [String; 8] {
    let none = || "–".to_owned();
    let found = if gate.found_iops.is_some() { " IOPS (found)" } else { " IOPS" };
    let window = match (gate.is_closed, gate.client_window_ops) {
        (false, None) => "open".to_owned(),
        (true, None) => "full".to_owned(),
        (_, Some(ops)) => format!("{ops} ops"),
    };
    let background = gate.background.as_ref();
    let of = |text: fn(&BackgroundRow) -> String| background.map_or_else(none, text);
    [
        format!("osd.{}", gate.osd),
        format!("{:.0}{found}", gate.capacity_iops),
        gate.latency_goal_ns.map_or_else(none, |goal| Span::from_nanos(goal).to_string()),
        window,
        of(|row| row.may_begin_bytes_per_s.map_or("what the disk can".to_owned(), bandwidth)),
        of(|row| format!("{} of {}", row.ops, Bytes::new(row.bytes))),
        of(|row| row.kept_out.to_string()),
        of(fares),
    ]
}

/// `3120/s at 1.90 ms, of 5100/s at 1.20 ms; 50 % promised`
fn fares(row: &BackgroundRow) -> String {
    let fare = |fare: Option<FareRow>| match fare {
        Some(FareRow { accesses_per_s, mean_ns }) => {
            format!("{accesses_per_s:.0}/s at {:.2} ms", mean_ns / 1e6)
        }
        None => "unknown".to_owned(),
    };
    let (lately, alone) = (fare(row.clients_lately), fare(row.clients_alone));
    format!("{lately}, of {alone}; {:.0} % promised", row.client_share * 100.0)
}

fn sockets(connections: &ConnectionCounts) -> String {
    let ConnectionCounts { nbd, vhost, admin, page, refused } = connections;
    let page = if *page > 0 { format!(", {page} HTTP") } else { String::new() };
    let guests = if *vhost > 0 { format!(", {vhost} vhost-user") } else { String::new() };
    format!("{nbd} NBD{guests}, {admin} admin{page}; {refused} refused since the start")
}

fn memory_in_words(memory: &MemoryUse) -> String {
    let bytes = |count: u64| Bytes::new(count).to_string();
    format!(
        "{} of {}: caches {}, old versions {}, OSDs' work {}, node {}, connections {} of {} (at most {} so far), {} waiting",
        bytes(memory.resident_bytes),
        bytes(memory.budget_bytes),
        bytes(memory.caches_bytes),
        bytes(memory.old_versions_bytes),
        bytes(memory.osd_work_bytes),
        bytes(memory.node_bytes),
        bytes(memory.connections_held_bytes),
        bytes(memory.connections_bytes),
        bytes(memory.connections_peak_bytes),
        memory.connections_waiting
    )
}

fn copies(objects: &ObjectCounts) -> String {
    let share = |count: u64| 100.0 * count as f64 / objects.copies.max(1) as f64;
    format!(
        "{}: {} misplaced ({:.1} %), {} degraded ({:.1} %); {} objects being recovered",
        objects.copies,
        objects.misplaced,
        share(objects.misplaced),
        objects.degraded,
        share(objects.degraded),
        objects.recovering
    )
}
