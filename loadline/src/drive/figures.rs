//! Mechanical drives in `loadline drive list` and `loadline drive show`.

use crate::failure::Failure;
use crate::show;
use loadline_sim::hdd::HddSpec;
use serde_json::{Value, json};

/// Its row in the list of drives.
pub(super) fn row(spec: &HddSpec) -> [String; 5] {
    let cells = [&spec.name, "mechanical", "hdd", "-", &spec.model];
    cells.map(str::to_owned)
}

/// Its figures; the file gives the reason of each.
pub(super) fn show(spec: &HddSpec) -> Result<(), Failure> {
    let row = |name: &str, value: String| [name.to_owned(), value];
    let seek = spec.seek;
    let limits = match spec.limits {
        Some(range) => format!("{} to {}", range.shortest, range.longest),
        None => "none".to_owned(),
    };
    let cache = match spec.cached_writes {
        0 => "off".to_owned(),
        writes => format!("{writes} writes"),
    };
    let rows = [
        row("capacity", format!("{} ({} sectors)", spec.capacity(), spec.sectors)),
        row("spindle", format!("{} rpm, {:.3} a turn", spec.rpm, spec.turn())),
        row("heads, zones", format!("{}, {}", spec.heads, spec.zones)),
        row(
            "rate, outermost to innermost",
            format!("{}/s to {}/s", spec.outer_rate, spec.inner_rate),
        ),
        row(
            "seek over a part d of the way",
            format!("{} + {}·√d + {}·d", seek.settle, seek.root, seek.linear),
        ),
        row(
            "seek, random and whole way",
            format!("{:.2}, {:.2}", seek.random_mean(), seek.time(1.0)),
        ),
        row(
            "head switch, settling of writes",
            format!("{}, {}", spec.head_switch, spec.write_settle),
        ),
        row("firmware per command", spec.overhead.to_string()),
        row("host turnaround", spec.turnaround.to_string()),
        row("tags", spec.tags.to_string()),
        row("write cache", cache),
        row("retries of a bad sector", spec.recovery.to_string()),
        row("duration limits", limits),
    ];
    let table = show::table(["", ""], &[1], &rows);
    show::text(&format!("{}: {}\n\n{table}", spec.name, spec.model))
}

/// Its figures as JSON.
pub(super) fn json(spec: &HddSpec) -> Value {
    let limits = spec.limits.map(|range| {
        json!({ "shortest_ns": range.shortest.nanos(), "longest_ns": range.longest.nanos() })
    });
    json!({
        "name": spec.name, "kind": "mechanical", "model": spec.model, "medium": "hdd",
        "sectors": spec.sectors, "rpm": spec.rpm, "heads": spec.heads, "zones": spec.zones,
        "outer_bytes_per_s": spec.outer_rate.get(), "inner_bytes_per_s": spec.inner_rate.get(),
        "seek_settle_ns": spec.seek.settle.nanos(), "seek_root_ns": spec.seek.root.nanos(),
        "seek_linear_ns": spec.seek.linear.nanos(),
        "seek_random_mean_ns": spec.seek.random_mean().nanos(),
        "head_switch_ns": spec.head_switch.nanos(), "write_settle_ns": spec.write_settle.nanos(),
        "overhead_ns": spec.overhead.nanos(), "turnaround_ns": spec.turnaround.nanos(),
        "tags": spec.tags, "cached_writes": spec.cached_writes,
        "recovery_ns": spec.recovery.nanos(), "limits": limits,
    })
}
