//! `loadline ceph status`

use super::args::{CephLookArgs, WATCHED_S};
use crate::failure::Failure;
use crate::show;
use loadline_ceph::{Backlog, BacklogKind, ClusterLook, OsdLook, backlogs, look_until_told};
use serde_json::{Value, json};

/// A recovery that moves a copy a second is seen for so long, in seconds; who waits for an answer may not wait much longer.
const LONGEST_S: u64 = 30;

pub(super) fn carry_out(args: &CephLookArgs) -> Result<(), Failure> {
    let connection = args.place.connect()?;
    let seconds = args.seconds.map_or(WATCHED_S..=LONGEST_S, |seconds| seconds..=seconds);
    let found = look_until_told(&*connection, seconds)?;
    let backlogs = backlogs(&found);
    match args.json {
        true => show::json(&in_json(&found, &backlogs)),
        false => show::text(&in_words(&found, &backlogs)),
    }
}

/// What an OSD did in the window, per second.
struct OsdPace {
    ops: f64,
    pushes: f64,
    push_bytes: f64,
    commit_ms: Option<f64>,
    queue_ms: Option<f64>,
}

fn pace(osd: &OsdLook, window_s: f64) -> Option<OsdPace> {
    let (first, last) = osd.ends()?;
    let of = |after: f64, before: f64| (after - before) / window_s;
    let queued = &last.osd.op_before_dequeue_op_lat;
    Some(OsdPace {
        ops: of(last.osd.op, first.osd.op),
        pushes: of(last.osd.push, first.osd.push),
        push_bytes: of(last.osd.push_out_bytes, first.osd.push_out_bytes),
        commit_ms: last
            .bluestore
            .txc_commit_lat
            .mean_since(&first.bluestore.txc_commit_lat)
            .map(|seconds| seconds * 1e3),
        queue_ms: queued
            .mean_since(&first.osd.op_before_dequeue_op_lat)
            .map(|seconds| seconds * 1e3),
    })
}

const CLASSES: [(&str, &str, &str); 3] = [
    ("client", "client", "client"),
    ("recovery", "background_recovery", "recovery"),
    ("best effort", "background_best_effort", "best_effort"),
];

/// Reservation, weight and limit of a class in force: `0.5 / 1 / -`.
fn in_force(osd: &OsdLook, key: &str) -> String {
    let of = |end: &str| osd.number(&format!("osd_mclock_scheduler_{key}_{end}"));
    let told = |value: Option<f64>| match value {
        None => "?".to_owned(),
        Some(0.0) => "–".to_owned(),
        Some(value) => value.to_string(),
    };
    format!("{} / {} / {}", told(of("res")), told(of("wgt")), told(of("lim")))
}

fn in_words(found: &ClusterLook, backlogs: &[Backlog]) -> String {
    let told = &found.status;
    let mut text = format!(
        "cluster   {}, release {}\nhealth    {}\n",
        told.fsid,
        found.releases.of_osds().join(", "),
        told.health.status
    );
    for (code, reason) in told.reasons() {
        text += &format!("          {code}: {}\n", reason.summary.message);
    }
    text += &format!(
        "osds      {}, {} up, {} in; {} placement groups, {} objects\n",
        told.osdmap.num_osds,
        told.osdmap.num_up_osds,
        told.osdmap.num_in_osds,
        told.pgmap.num_pgs,
        told.pgmap.num_objects
    );
    let paces: Vec<OsdPace> =
        found.osds.iter().filter_map(|osd| pace(osd, found.window_s)).collect();
    let sum = |of: fn(&OsdPace) -> f64| paces.iter().map(of).sum::<f64>();
    text += &format!(
        "now       {:.0} client ops/s; recovery {:.1} copies/s, {:.1} MiB/s (over {:.0} s)\n\n",
        sum(|pace| pace.ops),
        sum(|pace| pace.pushes),
        sum(|pace| pace.push_bytes) / f64::from(1 << 20),
        found.window_s
    );
    text += &osds(found);
    text += &slowest(found);
    for backlog in backlogs {
        text += &format!("\n{}\n", one_backlog(backlog));
        for why in &backlog.why {
            text += &format!("    {why}\n");
        }
    }
    if backlogs.is_empty() {
        text += "\nno recovery, no overdue scrub and no trimming is left\n";
    }
    for missing in &found.missing {
        text += &format!("note: {missing}\n");
    }
    text
}

fn osds(found: &ClusterLook) -> String {
    let rows: Vec<Vec<String>> = found
        .osds
        .iter()
        .map(|osd| {
            let option = |name: &str| osd.options.get(name).map_or("?", String::as_str);
            let pace = pace(osd, found.window_s);
            let ms = |of: Option<f64>| of.map_or("–".to_owned(), |ms| format!("{ms:.1}"));
            let waiting = osd.counters.last().map(|last| &last.waiting);
            let state = match (osd.up, osd.is_in) {
                (true, true) => "",
                (true, false) => " (out)",
                (false, _) => " (down)",
            };
            let mut row = vec![
                format!("osd.{}{state}", osd.id),
                match osd.is_mclock() {
                    true => option("osd_mclock_profile").to_owned(),
                    false => option("osd_op_queue").to_owned(),
                },
                osd.capacity_iops().map_or("?".to_owned(), |iops| format!("{iops:.0}")),
            ];
            for (_, key, of_queue) in CLASSES {
                let length = waiting.and_then(|waiting| waiting.get(of_queue));
                let length = length.map_or(String::new(), |length| format!("  {length}"));
                row.push(if osd.is_mclock() {
                    in_force(osd, key) + &length
                } else {
                    "–".to_owned()
                });
            }
            row.extend([
                format!(
                    "{} + {}",
                    osd.slots.local_reservations.in_progress.len(),
                    osd.slots.local_reservations.waiting()
                ),
                pace.as_ref().map_or("–".to_owned(), |pace| format!("{:.0}", pace.ops)),
                ms(pace.as_ref().and_then(|pace| pace.queue_ms)),
                ms(pace.as_ref().and_then(|pace| pace.commit_ms)),
            ]);
            row
        })
        .collect();
    let head = [
        "osd",
        "profile",
        "IOPS",
        "client",
        "recovery",
        "best effort",
        "slots",
        "ops/s",
        "queue ms",
        "commit ms",
    ];
    let table = show::table(head, &[1], &rows);
    table
        + "(classes: reservation / weight / limit in force, and how many wait; slots: groups that have one + that wait)\n"
}

/// The slowest client ops of the last minutes, by OSD, and what each waited for.
fn slowest(found: &ClusterLook) -> String {
    let mut text = String::new();
    for osd in &found.osds {
        let ops = osd.history.ops.iter().filter(|op| op.is_of_client());
        if let Some(op) = ops.max_by(|a, b| a.duration.total_cmp(&b.duration)) {
            text += &format!("slowest   osd.{}: {:.2} s: {}\n", osd.id, op.duration, op.in_words());
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A least time that is nearer to the likely one than this says nothing beside it.
const FAR: f64 = 0.8;

fn one_backlog(backlog: &Backlog) -> String {
    let name = match backlog.kind {
        BacklogKind::Recovery => "recovery",
        BacklogKind::DeepScrub => "deep scrub",
        BacklogKind::Trim => "trim",
    };
    let remaining = match (backlog.remaining_s, backlog.least_s) {
        (Some(about), Some(least)) if least < FAR * about => {
            format!("about {} more, {} at the least", in_time(about), in_time(least))
        }
        (Some(about), _) => format!("about {} more", in_time(about)),
        (None, Some(least)) => format!("at least {} more", in_time(least)),
        (None, None) => "nothing moves".to_owned(),
    };
    let (left, unit) = (backlog.left, backlog.unit);
    // A round of scrubs goes in groups per day.
    match backlog.kind {
        BacklogKind::DeepScrub => format!(
            "{name}: {left:.0} {unit} at {:.1} a day, {remaining}",
            backlog.rate_per_s * 86_400.0
        ),
        _ => format!("{name}: {left:.0} {unit} at {:.1}/s, {remaining}", backlog.rate_per_s),
    }
}

fn in_time(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

fn in_json(found: &ClusterLook, backlogs: &[Backlog]) -> Value {
    let osds = found.osds.iter().map(|osd| {
        let pace = pace(osd, found.window_s);
        let slowest = osd.history.ops.iter().max_by(|a, b| a.duration.total_cmp(&b.duration));
        json!({
            "osd": osd.id, "up": osd.up, "in": osd.is_in,
            "options": osd.options,
            "waiting": osd.counters.last().map(|last| &last.waiting),
            "slots": {
                "taken": osd.slots.local_reservations.in_progress.len(),
                "waiting": osd.slots.local_reservations.waiting(),
            },
            "client_ops_per_s": pace.as_ref().map(|pace| pace.ops),
            "copies_per_s": pace.as_ref().map(|pace| pace.pushes),
            "queue_ms": pace.as_ref().and_then(|pace| pace.queue_ms),
            "commit_ms": pace.as_ref().and_then(|pace| pace.commit_ms),
            "slowest": slowest.map(|op| json!({
                "seconds": op.duration,
                "waits": op.waits().into_iter().map(|(cause, seconds)| json!({"for": cause, "seconds": seconds}))
                    .collect::<Vec<_>>(),
            })),
        })
    });
    json!({
        "fsid": found.status.fsid, "release": found.releases.of_osds(),
        "health": found.status.health.status,
        "window_s": found.window_s,
        "osds": osds.collect::<Vec<_>>(),
        "backlogs": backlogs,
        "missing": found.missing,
    })
}
