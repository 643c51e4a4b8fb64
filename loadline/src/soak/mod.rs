//! `loadline soak`: random stores, loads, crashes and faults on all cores, until the time is over or something is lost.

mod rot;
mod search;

use crate::cli::SoakArgs;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::show;
use loadline_sim::soak::{
    FaultKind, SeedOutcome, SeedReplay, SoakCounts, SoakRow, run, shrink, tell,
};
use loadline_store::paged::LogMode;
use loadline_study::Stopwatch;
use search::{LINE_EVERY, jobs, keep_in, may_keep_in, name_the_command_of_a_bug, named};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long random lives are searched unless somebody says.
const SECONDS: u64 = 60;

/// What all threads share.
struct Soak {
    next: AtomicU64,
    stop: Arc<AtomicBool>,
    watch: Stopwatch,
    seconds: u64,
    log_mode: Option<LogMode>,
    state: Mutex<SoakState>,
}

#[derive(Default)]
struct SoakState {
    counts: SoakCounts,
    /// The first seed that failed, with the lives and faults of its plan.
    failed: Option<(SeedReplay, usize, usize)>,
    last_line: Duration,
}

pub(crate) fn carry_out(args: &SoakArgs) -> Result<(), Failure> {
    args.keep.as_deref().map_or(Ok(()), may_keep_in)?;
    name_the_command_of_a_bug();
    if args.rot.rot.is_some() || args.rot.rot_self {
        return rot::carry_out(args);
    }
    if let Some(replay) = args.replay {
        return replayed(&replay, args);
    }
    let soak = Soak {
        next: AtomicU64::new(args.seed),
        stop: interruptible()?,
        watch: Stopwatch::start(),
        seconds: args.seconds.unwrap_or(SECONDS),
        log_mode: args.log_mode,
        state: Mutex::new(SoakState::default()),
    };
    std::thread::scope(|scope| {
        (0..jobs(args)).for_each(|_| {
            scope.spawn(|| soak.work());
        });
    });
    let state = soak.state.into_inner().expect("no thread of a soak panics and goes on");
    let told = report(&state.counts, args);
    match state.failed {
        Some((replay, lives, faults)) => Err(failed(&replay, lives, faults, args)?),
        None if soak.stop.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted("interrupted".to_owned()))
        }
        None => told,
    }
}

fn run_named(replay: &SeedReplay) -> SeedOutcome {
    named(command(replay), || run(replay))
}

impl Soak {
    fn work(&self) {
        while !self.is_over() {
            let whole = SeedReplay::whole(self.next.fetch_add(1, Ordering::Relaxed));
            let replay = SeedReplay { log_mode: self.log_mode, ..whole };
            let outcome = run_named(&replay);
            let mut state = self.state.lock().expect("no thread of a soak panics and goes on");
            state.counts.add(&outcome.counts);
            if outcome.failure.is_some() {
                state.failed.get_or_insert((replay, outcome.lives, outcome.faults));
                self.stop.store(true, Ordering::Relaxed);
            }
            let elapsed = self.watch.elapsed();
            if elapsed >= state.last_line + LINE_EVERY {
                state.last_line = elapsed;
                let SoakCounts { seeds, cuts, kills, .. } = state.counts;
                show::note(&format!(
                    "{:4} s: {seeds} seeds, {cuts} cuts, {kills} kills",
                    elapsed.as_secs()
                ));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watch.elapsed().as_secs() >= self.seconds
    }
}

fn command(replay: &SeedReplay) -> String {
    format!("loadline soak --replay {replay}")
}

/// Runs one seed, or a part of it, and tells what happened.
fn replayed(replay: &SeedReplay, args: &SoakArgs) -> Result<(), Failure> {
    let outcome = named(command(replay), || tell(replay));
    if !args.json.json {
        show::text(&(outcome.story.join("\n") + "\n"))?;
    }
    report(&outcome.counts, args)?;
    keep(&outcome, args)?;
    match outcome.failure {
        Some(failure) => Err(Failure::Damaged(format!("seed {}: {failure}", replay.seed))),
        None => Ok(()),
    }
}

/// Makes a failing run small and tells its story.
fn failed(
    replay: &SeedReplay,
    lives: usize,
    faults: usize,
    args: &SoakArgs,
) -> Result<Failure, Failure> {
    show::note(&format!(
        "seed {} fails; looking for a small part of it that fails as well",
        replay.seed
    ));
    let fails = |part: &SeedReplay| run_named(part).failure.is_some();
    let small = shrink(replay, lives as u64, faults as u64, fails);
    let outcome = tell(&small);
    show::note(&outcome.story.join("\n"));
    keep(&outcome, args)?;
    let why = outcome.failure.expect("what it was shrunk to fails");
    Ok(Failure::Damaged(format!("{why}\nIt is met again with: {}", command(&small))))
}

/// Keeps the disks as images that `loadline inspect` reads.
fn keep(outcome: &SeedOutcome, args: &SoakArgs) -> Result<(), Failure> {
    let (Some(folder), Some(disks)) = (&args.keep, &outcome.disks) else { return Ok(()) };
    keep_in(folder, disks)
}

fn report(counts: &SoakCounts, args: &SoakArgs) -> Result<(), Failure> {
    if args.json.json {
        return show::json(&in_json(counts, args.seed));
    }
    let ops = &counts.ops;
    let line = |name: &str, count: u64| [name.to_owned(), count.to_string()];
    let mut rows = vec![
        line("seeds", counts.seeds),
        line("events", counts.events),
        line("transactions", ops.transactions),
        line("questions", ops.queries),
        line("of them sparse reads", ops.sparse),
        line("syncs and checkpoints", ops.barriers),
        line("refused: no space", ops.no_space),
        line("refused: too large", ops.too_large),
        line("refused: damage", ops.damaged),
        line("power cuts", counts.cuts),
        line("kills", counts.kills),
        line("restarts judged", counts.restarts),
        line("lives on the least cache", counts.least_caches),
        line("stores with the smallest log", counts.smallest_logs),
        line("small writes beside the log", counts.small_writes.0),
        line("of them ahead of their turn", counts.small_writes.1),
        line("faults injected", counts.faults.total()),
        line("stores given up for damage", counts.refusals),
    ];
    rows.extend(FaultKind::ALL.map(|kind| line(&format!("fault: {kind}"), counts.faults.of(kind))));
    rows.extend(SoakRow::ALL.map(|row| line(&format!("row: {row}"), counts.rows.of(row))));
    show::text(&show::table(["", "count"], &[], &rows))
}

fn in_json(counts: &SoakCounts, seed: u64) -> Value {
    let ops = &counts.ops;
    let rows: serde_json::Map<String, Value> = SoakRow::ALL
        .iter()
        .map(|row| (row.name().to_owned(), counts.rows.of(*row).into()))
        .collect();
    let of = |kind: FaultKind| (kind.name().to_owned(), counts.faults.of(kind).into());
    let faults: serde_json::Map<String, Value> = FaultKind::ALL.map(of).into_iter().collect();
    json!({
        "seed": seed,
        "seeds": counts.seeds,
        "events": counts.events,
        "ops": {
            "transactions": ops.transactions,
            "questions": ops.queries,
            "sparse": ops.sparse,
            "barriers": ops.barriers,
            "no_space": ops.no_space,
            "too_large": ops.too_large,
            "damaged": ops.damaged,
            "stopped": ops.stopped,
        },
        "cuts": counts.cuts,
        "kills": counts.kills,
        "restarts": counts.restarts,
        "least_caches": counts.least_caches,
        "smallest_logs": counts.smallest_logs,
        "small_writes": counts.small_writes.0,
        "small_writes_ahead": counts.small_writes.1,
        "faults": faults,
        "refusals": counts.refusals,
        "rows": rows,
    })
}
