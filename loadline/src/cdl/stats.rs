//! `loadline cdl stats`

use crate::failure::Failure;
use crate::show;
use clap::Args;
use loadline_base::Span;
use loadline_cdl::stats::{
    Collector, Decimal, FinePercentile, LogScope, LogStatistics, NO_PRIORITIES, PriorityName,
    PriorityStatistics, fine_percentiles,
};
use loadline_device::Priority;
use loadline_fio::{FioReport, FioReportError, LogError, PERCENTILES};
use loadline_host::{check_own_place, open_named};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The options of `cdl_prio_stats.sh`, and some of our own.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Latency logs of fio, written with log_prio=1, or its JSON+ reports (--output-format=json+); several count as jobs that ran
    /// side by side
    #[arg(value_name = "FILE", required = true)]
    logs: Vec<PathBuf>,
    /// One line of comma-separated figures per priority
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    terse: bool,
    /// First field of each terse line; without --terse it changes nothing, as with the script
    #[arg(long, value_name = "STR", default_value = "")]
    head: String,
    /// Save each priority's latencies, sorted, as priolat.<class>.<level>.<hint>.log beside the first log
    #[arg(long)]
    save_priolat: bool,
    /// Leave out what ended before this time of the logs
    #[arg(long, value_name = "TIME", default_value = "0s")]
    from: Span,
    /// Further percentiles to three digits, each with its 95 % interval, as 99.9,99.999; text and JSON only
    #[arg(long, value_name = "P,...", conflicts_with_all = ["csv", "terse"], value_delimiter = ',', value_parser = percent)]
    percentiles: Vec<f64>,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print a table of comma-separated values with a head instead of text
    #[arg(long)]
    csv: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "a percentile is a number from 0 to 100".to_owned())
}

pub(super) fn carry_out(args: &StatsArgs) -> Result<(), Failure> {
    let scope =
        LogScope { from_ms: args.from.nanos() / 1_000_000, fine: !args.percentiles.is_empty() };
    let statistics = collect(args, scope)?;
    if statistics.priorities.is_empty() {
        return Err(nothing(args, &statistics));
    }
    if args.save_priolat {
        save_latencies(&args.logs[0], &statistics)?;
    }
    if args.json {
        return show::json(&as_json(args, &statistics));
    }
    if args.csv {
        return show::text(&as_csv(&statistics));
    }
    let mut text = Vec::new();
    match args.terse {
        true => statistics.write_terse(&mut text, &args.head),
        false => statistics.write_text(&mut text),
    }
    .expect("memory takes what is written to it");
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text += &fine_text(args, &statistics);
    show::text(&text)
}

/// A log without priorities, in the words of the script.
fn nothing(args: &StatsArgs, statistics: &LogStatistics) -> Failure {
    if args.from > Span::ZERO && statistics.ios == 0 {
        return Failure::Input(format!("--from {}: nothing ended from then on", args.from));
    }
    let logs: Vec<String> = args.logs.iter().map(|log| log.display().to_string()).collect();
    Failure::Input(format!(
        "{}: {NO_PRIORITIES}; name one that fio has written with log_prio=1",
        logs.join(", ")
    ))
}

fn collect(args: &StatsArgs, scope: LogScope) -> Result<LogStatistics, Failure> {
    let mut collector = Collector::new(scope);
    for (at, path) in args.logs.iter().enumerate() {
        if args.logs[..at].iter().any(|before| is_same_file(before, path)) {
            let shown = path.display();
            return Err(Failure::Input(format!("{shown}: it is named twice; name each log once")));
        }
        let unreadable = |error: &io::Error| Failure::unreadable(path, error);
        let file = open_named(path).map_err(|error| unreadable(&error))?;
        let mut file = BufReader::new(file);
        match is_log(file.fill_buf().map_err(|error| unreadable(&error))?) {
            true => read_log(&mut collector, path, file)?,
            false => read_report(args, &mut collector, path, file)?,
        }
    }
    Ok(collector.finish())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// Whether a file begins with a number and a comma, as a log does; also one of which nothing has come yet.
fn is_log(head: &[u8]) -> bool {
    let digits = head.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(head.get(digits), None | Some(b',')) && (digits > 0 || head.is_empty())
}

fn read_log(collector: &mut Collector, path: &Path, log: impl Read) -> Result<(), Failure> {
    let doubts = collector.read(log).map_err(|error| match error {
        LogError::Read(error) => Failure::unreadable(path, &error),
        _ => Failure::Input(format!("{}: {error}", path.display())),
    })?;
    let shown = path.display();
    if doubts.is_cut {
        show::note(&format!("note: {shown} ends within a line, which is left out"));
    }
    if let Some(line) = doubts.goes_back_in {
        show::note(&format!(
            "note: {shown}: line {line} is of an earlier time than the line above it, and rates are by the time of the last line: of several jobs, name a log for each"
        ));
    }
    Ok(())
}

fn read_report(
    args: &StatsArgs,
    collector: &mut Collector,
    path: &Path,
    report: impl Read,
) -> Result<(), Failure> {
    let wrong = |why: &dyn Display| Failure::Input(format!("{}: {why}", path.display()));
    let report = FioReport::read(report).map_err(|error| match error {
        FioReportError::Read(error) => Failure::unreadable(path, &error),
        FioReportError::None => wrong(&"it is neither a latency log of fio nor its JSON+ report"),
        FioReportError::Json(_) => wrong(&error),
    })?;
    let of_logs = [
        ("--from", args.from > Span::ZERO),
        ("--percentiles", !args.percentiles.is_empty()),
        ("--save-priolat", args.save_priolat),
    ];
    if let Some((option, _)) = of_logs.iter().find(|(_, asked)| *asked) {
        let why = format!(
            "{option}: a report has neither times nor single latencies; name the latency log of that run"
        );
        return Err(wrong(&why));
    }
    for doubt in collector.report(&report).map_err(|error| wrong(&error))? {
        show::note(&format!("note: {}: {doubt}", path.display()));
    }
    Ok(())
}

/// Words that the script calls by one name end up in one file, the last of them, as with the script.
fn save_latencies(log: &Path, statistics: &LogStatistics) -> Result<(), Failure> {
    let folder = log.parent().unwrap_or(Path::new(""));
    for (word, of) in &statistics.priorities {
        let path = folder.join(PriorityName::of(*word).latency_file());
        write_latencies(&path, of).map_err(|error| Failure::unwritable(&path, &error))?;
    }
    Ok(())
}

fn write_latencies(path: &Path, of: &PriorityStatistics) -> io::Result<()> {
    check_own_place(path)?;
    let mut file = BufWriter::new(File::create(path)?);
    for (millis, times) in of.latencies.iter() {
        let line = format!("{millis}\n");
        for _ in 0..times {
            file.write_all(line.as_bytes())?;
        }
    }
    file.flush()
}

/// The figures that were asked for beyond the script's, after its own.
fn fine_text(args: &StatsArgs, statistics: &LogStatistics) -> String {
    let mut text = String::new();
    for (word, of) in &statistics.priorities {
        for FinePercentile { percent, latency_ns, interval_ns: (low, high) } in
            fine_percentiles(of, &args.percentiles)
        {
            let [latency, low] = [latency_ns, low].map(|ns| ns as f64 / 1e6);
            let to = match high {
                Some(high) => format!("to {:.3}", high as f64 / 1e6),
                None => "on, no upper end: too few I/Os".to_owned(),
            };
            text += &format!(
                "Priority {word:#06x}, {percent}th percentile: {latency:.3} msec, 95 % interval {low:.3} {to}\n"
            );
        }
    }
    text
}

/// The figures of one priority, the script's and what it leaves out, in the order of a table.
fn columns(statistics: &LogStatistics, word: u16, of: &PriorityStatistics) -> Vec<(String, Value)> {
    let figure = |decimal: Decimal| decimal.value().map_or(Value::Null, Value::from);
    let mut columns: Vec<(String, Value)> = [
        ("priority", json!(format!("{word:#06x}"))),
        ("class", json!(PriorityName::of(word).class)),
        ("level", json!(Priority::from_word(word).level())),
        ("hint", json!(PriorityName::of(word).hint)),
        ("ios", json!(of.ios())),
        ("share_percent", figure(statistics.share(of))),
        ("iops", figure(statistics.iops(of))),
        ("bytes", json!(of.bytes)),
        ("mb_per_s", figure(statistics.megabyte_rate(of))),
        ("min_ms", json!(of.latencies.min())),
        ("max_ms", json!(of.latencies.max())),
        ("mean_ms", json!(of.latencies.mean())),
        ("stdev_ms", json!(of.latencies.deviation())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let percentiles = PERCENTILES.iter().zip(of.percentiles_ms());
    columns.extend(percentiles.map(|(percent, millis)| (format!("p{percent}_ms"), json!(millis))));
    columns
}

fn as_csv(statistics: &LogStatistics) -> String {
    let mut text = String::new();
    for (word, of) in &statistics.priorities {
        let columns = columns(statistics, *word, of);
        if text.is_empty() {
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            text = names.join(",") + "\n";
        }
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let cells: Vec<String> = columns.iter().map(|(_, value)| cell(value)).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

fn as_json(args: &StatsArgs, statistics: &LogStatistics) -> Value {
    let priorities = statistics.priorities.iter().map(|(word, of)| {
        let mut of_priority: Map<String, Value> =
            columns(statistics, *word, of).into_iter().collect();
        let fine = fine_percentiles(of, &args.percentiles);
        if !fine.is_empty() {
            of_priority.insert("fine_percentiles".to_owned(), fine.iter().map(fine_json).collect());
        }
        of_priority
    });
    json!({
        "ios": statistics.ios,
        "runtime_ms": statistics.runtime_ms,
        "priorities": priorities.collect::<Vec<_>>(),
    })
}

fn fine_json(found: &FinePercentile) -> Value {
    let (low, high) = found.interval_ns;
    json!({ "percent": found.percent, "ns": found.latency_ns, "low_ns": low, "high_ns": high })
}
