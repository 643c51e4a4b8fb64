//! `loadline dump` and `loadline tell`: what waits and why, where ops spent their time, what a disk can do.

use super::args::{DumpArgs, DumpSubcommand, TellArgs, TellSubcommand};
use super::{bandwidth, milliseconds, size};
use crate::failure::Failure;
use crate::show;
use loadline_base::Span;
use loadline_host::admin::api::{
    BenchAsked, BenchResult, Command, KeptOutRow, OpDump, OpRow, OpWaitRow, QueueDump, QueueTags,
    QueuedItem,
};

pub(crate) fn carry_out(args: DumpArgs) -> Result<(), Failure> {
    let node = &args.node;
    match args.command {
        DumpSubcommand::Queues(one) => node.show(&Command::OsdQueues { osd: one.osd.0 }, queues),
        DumpSubcommand::Ops => node.show(&Command::Ops, ops),
        DumpSubcommand::History => node.show(&Command::OpHistory, ops),
    }
}

/// `loadline tell osd.N bench`
pub(crate) fn tell(args: TellArgs) -> Result<(), Failure> {
    let TellSubcommand::Bench { total, block, store } = args.command;
    let shape = BenchAsked {
        total_bytes: total.map(|size| size.get()),
        block_bytes: block.map(|size| size.get()),
        store,
    };
    args.node.show(&Command::OsdBench { osd: args.osd.0, shape }, bench)
}

fn queues(dump: &QueueDump) -> String {
    let waiting: usize = dump.shards.iter().map(|shard| shard.waiting.len()).sum();
    let head = format!(
        "osd.{}, {}: {waiting} waiting in {} shards\n",
        dump.osd,
        dump.scheduler,
        dump.shards.len()
    );
    let rows: Vec<[String; 8]> = dump
        .shards
        .iter()
        .flat_map(|shard| shard.waiting.iter().map(|item| item_row(shard.shard, item)))
        .collect();
    let kept_out = kept_out(dump);
    if rows.is_empty() {
        return head + &kept_out;
    }
    let columns = ["shard", "class", "client", "place", "age", "cost", "tags", "why"];
    format!("{head}\n{}{kept_out}", show::table(columns, &[1, 6, 7], &rows))
}

/// What of recovery and backfill waits before the queues.
fn kept_out(dump: &QueueDump) -> String {
    if dump.kept_out.is_empty() {
        return String::new();
    }
    let row = |row: &KeptOutRow| {
        let (work, class) = (row.work.clone(), row.class.clone());
        let why = match row.reason.at_least_ns {
            Some(nanos) => format!("{}, for {}", row.reason.text, milliseconds(nanos)),
            None => row.reason.text.clone(),
        };
        [row.shard.to_string(), class, work, milliseconds(row.age_ns), why]
    };
    let rows: Vec<[String; 5]> = dump.kept_out.iter().map(row).collect();
    let table = show::table(["shard", "class", "work", "age", "why"], &[1, 2, 4], &rows);
    format!("\nkept out of the queues until it may begin: {}\n\n{table}", rows.len())
}

fn item_row(shard: u32, item: &QueuedItem) -> [String; 8] {
    [
        shard.to_string(),
        item.class.clone(),
        item.client.to_string(),
        item.place.to_string(),
        milliseconds(item.age_ns),
        item.cost.to_string(),
        item.tags.map_or(String::new(), |tags| in_words(&tags)),
        item.reason.text.clone(),
    ]
}

/// `r +3.200 ms, w 17.5`: the reservation is due in 3.2 ms, the weighted tag is 17.5.
fn in_words(tags: &QueueTags) -> String {
    let due = |name: &str, nanos: Option<i64>| {
        nanos.map(|nanos| format!("{name} {:+.3} ms", nanos as f64 / 1e6))
    };
    let parts = [
        due("r", tags.reservation_in_ns),
        tags.proportion.map(|tag| format!("w {tag}")),
        due("l", tags.limit_in_ns),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn ops(dump: &OpDump) -> String {
    if dump.ops.is_empty() {
        return "none\n".to_owned();
    }
    let rows: Vec<[String; 8]> = dump.ops.iter().map(op_row).collect();
    let columns = [
        "op",
        "kind",
        "image",
        "range",
        "PG, primary",
        "age",
        "stages, ms after issue",
        "longest or present wait",
    ];
    show::table(columns, &[1, 2, 4, 6, 7], &rows)
}

fn op_row(op: &OpRow) -> [String; 8] {
    let stage = |after_ns| format!("{:.3}", Span::from_nanos(after_ns).as_millis_f64());
    let stages: Vec<String> =
        op.stages.iter().map(|at| format!("{} {}", at.stage, stage(at.after_ns))).collect();
    let primary = op.osd.map_or_else(|| "nobody".to_owned(), |osd| format!("osd.{osd}"));
    [
        op.op.to_string(),
        op.kind.clone(),
        op.image.clone(),
        format!("{} + {}", op.offset_bytes, size(op.length_bytes)),
        format!("{}, {primary}", op.pg),
        milliseconds(op.age_ns),
        stages.join(", "),
        op.wait.as_ref().map_or_else(String::new, waited),
    ]
}

/// `store window of osd.2: full for 93 % of it, behind 4 recovery pushes, 12.300 ms`
fn waited(wait: &OpWaitRow) -> String {
    format!("{}, {}", wait.reason, milliseconds(wait.span_ns))
}

fn bench(result: &BenchResult) -> String {
    format!(
        "osd.{}: {:.0} IOPS, {} ({} in writes of {} took {:.3} s)\n{}\n",
        result.osd,
        result.iops,
        bandwidth(result.bytes_per_s),
        size(result.total_bytes),
        size(result.block_bytes),
        Span::from_nanos(result.elapsed_ns).as_secs_f64(),
        result.verdict
    )
}
