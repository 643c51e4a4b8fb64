//! `loadline soak --rot` and `--rot-self`: damaged copies of stores, each opened and read as a whole.

mod cases;
mod given;

use super::search::{LINE_EVERY, jobs, keep_in, named};
use crate::cli::SoakArgs;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::show;
use cases::Cases;
use given::{Given, files};
use loadline_sim::rot::{Case, CaseOutcome, CaseVerdict, DamageKind, OwnStore, Region, Sound};
use loadline_study::Stopwatch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Cases of one store of the tool's own.
const CASES_OF_OWN: u64 = 300;
/// Cases of a given store that a thread takes at once.
const CASES_AT_ONCE: u64 = 16;
/// Defects that are shown.
const SHOWN: usize = 20;

/// Everything that is to be done, in batches of a thread each.
enum CaseBatches {
    /// So many stores of every log mode and protection, from this seed on, share the cases.
    Own { first: u64, stores: u64, cases: Cases },
    /// One store of the tool's own, and one case.
    Again(OwnStore, Case),
    /// Every store has all cases.
    Given { stores: Vec<Given>, cases: Cases },
}

/// A part of the work.
enum Batch<'a> {
    Own(OwnStore, Vec<Case>),
    Given(&'a Given, Vec<Case>),
}

/// What came of all cases.
#[derive(Default)]
struct CaseTally {
    cases: u64,
    counts: BTreeMap<(DamageKind, Option<Region>), BTreeMap<&'static str, u64>>,
    reasons: BTreeMap<String, u64>,
    /// By batch, so that the first one is the same however many threads there are.
    defects: Vec<(u64, NamedOutcome)>,
    errors: Vec<(u64, String)>,
    last_line: Duration,
}

/// A case's outcome, and the command that meets it again.
struct NamedOutcome {
    case: Case,
    command: String,
    outcome: CaseOutcome,
}

pub(super) fn carry_out(args: &SoakArgs) -> Result<(), Failure> {
    let work = match &args.rot.rot {
        Some(path) => given_work(path, args)?,
        None => own_work(args)?,
    };
    let stop = interruptible()?;
    let tally = run_all(&work, args, &stop);
    let CaseTally { mut defects, mut errors, .. } = report(tally, work.count(), args)?;
    errors.sort();
    if let Some((_, error)) = errors.into_iter().next() {
        return Err(Failure::Damaged(error));
    }
    defects.sort_by_key(|(batch, _)| *batch);
    let first = defects.first().map(|(batch, first)| (*batch, first.case));
    keep(&work, first, args)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted".to_owned()));
    }
    let count = defects.len();
    match defects.into_iter().next() {
        None => Ok(()),
        Some((_, first)) => Err(Failure::Damaged(format!(
            "{count} damaged copies were not healed, named or refused; the first: {}\nIt is met again with: {}",
            in_words(&first.outcome),
            first.command
        ))),
    }
}

/// Stores of the tool's own: of every mode and protection so many that each has few cases.
fn own_work(args: &SoakArgs) -> Result<CaseBatches, Failure> {
    if let Some(text) = &args.rot.case {
        let wrong = |error| Failure::Input(format!("--case: {error}"));
        let Some((store, case)) = text.rsplit_once('/') else {
            let case: Case = text.parse().map_err(wrong)?;
            return Err(Failure::Input(format!(
                "--case {case}: of the tool's own stores it names one, too, as in fsync/log/3/{case}"
            )));
        };
        let store = store.parse().map_err(wrong)?;
        return Ok(CaseBatches::Again(store, case.parse().map_err(wrong)?));
    }
    let cases = Cases::of(args)?;
    let stores = cases.count().div_ceil(CASES_OF_OWN).max(1);
    Ok(CaseBatches::Own { first: args.seed, stores, cases })
}

fn given_work(path: &Path, args: &SoakArgs) -> Result<CaseBatches, Failure> {
    let cases = Cases::of(args)?;
    let log = args.rot.log_device.as_deref();
    let read = |path: std::path::PathBuf| Given::read(&path, log, cases.lose_writes());
    let stores = files(path)?.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(CaseBatches::Given { stores, cases })
}

impl CaseBatches {
    /// How many copies it means, those of which nothing is known that could be lost among them.
    fn count(&self) -> u64 {
        match self {
            CaseBatches::Own { cases, .. } => cases.count() * OwnStore::kinds().count() as u64,
            CaseBatches::Again(..) => 1,
            CaseBatches::Given { stores, cases } => cases.count() * stores.len() as u64,
        }
    }

    /// One of its batches, if there are so many.
    fn batch(&self, at: u64) -> Option<Batch<'_>> {
        match self {
            CaseBatches::Own { first, stores, cases } => {
                let kinds = OwnStore::kinds().count() as u64;
                let (log_mode, protection) = OwnStore::kinds().nth((at % kinds) as usize)?;
                let number = Some(at / kinds).filter(|number| number < stores)?;
                let own = OwnStore { log_mode, protection, seed: first + number };
                Some(Batch::Own(own, cases.share(number, *stores)))
            }
            CaseBatches::Again(own, case) => (at == 0).then(|| Batch::Own(*own, vec![*case])),
            CaseBatches::Given { stores, cases } => {
                let of_each = cases.count().div_ceil(CASES_AT_ONCE);
                let given = stores.get(at.checked_div(of_each)? as usize)?;
                Some(Batch::Given(given, cases.part(at % of_each * CASES_AT_ONCE, CASES_AT_ONCE)))
            }
        }
    }
}

/// Keeps the devices of the first defect, or of the only case.
fn keep(work: &CaseBatches, first: Option<(u64, Case)>, args: &SoakArgs) -> Result<(), Failure> {
    let Some(folder) = &args.keep else { return Ok(()) };
    let batch = first.map_or(0, |(batch, _)| batch);
    let of = first.map(|(_, case)| case);
    match work.batch(batch) {
        Some(Batch::Own(own, cases)) => match of.or_else(|| only(&cases, args)) {
            None => Ok(()),
            Some(case) => keep_in(folder, &own.make().map_err(Failure::Damaged)?.damaged(case)),
        },
        Some(Batch::Given(given, cases)) => {
            let case = of.or_else(|| only(&cases, args));
            let kept = case.and_then(|case| Some((given.of(case.kind)?, case)));
            kept.map_or(Ok(()), |(sound, case)| keep_in(folder, &sound.damaged(case)))
        }
        None => Ok(()),
    }
}

fn only(cases: &[Case], args: &SoakArgs) -> Option<Case> {
    args.rot.case.as_ref().and_then(|_| cases.first().copied())
}

fn run_all(work: &CaseBatches, args: &SoakArgs, stop: &Arc<AtomicBool>) -> CaseTally {
    let (next, tally) = (AtomicU64::new(0), Mutex::new(CaseTally::default()));
    let watch = Stopwatch::start();
    let is_over = || args.seconds.is_some_and(|seconds| watch.elapsed().as_secs() >= seconds);
    let thread = || {
        while !stop.load(Ordering::Relaxed) && !is_over() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = work.batch(at) else { return };
            let done = run_batch(at, &batch, args);
            let mut tally = tally.lock().expect("no thread panics and goes on");
            tally.add(done);
            let elapsed = watch.elapsed();
            if elapsed >= tally.last_line + LINE_EVERY {
                tally.last_line = elapsed;
                let CaseTally { cases, defects, .. } = &*tally;
                show::note(&format!(
                    "{:4} s: {cases} damaged copies, {} of them defects",
                    elapsed.as_secs(),
                    defects.len()
                ));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..jobs(args)).for_each(|_| {
            scope.spawn(thread);
        });
    });
    tally.into_inner().expect("no thread panics and goes on")
}

fn run_batch(at: u64, batch: &Batch<'_>, args: &SoakArgs) -> CaseTally {
    let mut tally = CaseTally::default();
    let mut run = |sound: &Sound, case: Case, command: String| {
        let outcome = named(command.clone(), || sound.run(case));
        if args.rot.case.is_some() {
            show::note(&in_words(&outcome));
        }
        tally.note(at, NamedOutcome { case, command, outcome });
    };
    match batch {
        Batch::Own(own, cases) => {
            let command = |case| format!("loadline soak --rot-self --case {own}/{case}");
            match named(format!("loadline soak --rot-self --seed {}", own.seed), || own.make()) {
                Ok(sound) => cases.iter().for_each(|case| run(&sound, *case, command(case))),
                Err(why) => tally.errors.push((at, format!("{own} is not sound: {why}"))),
            }
        }
        Batch::Given(given, cases) => {
            let path = given.path.display();
            let log = args.rot.log_device.as_ref();
            let log = log.map_or(String::new(), |log| format!(" --log-device {}", log.display()));
            for case in cases {
                if let Some(sound) = given.of(case.kind) {
                    run(sound, *case, format!("loadline soak --rot {path}{log} --case {case}"));
                }
            }
        }
    }
    tally
}

impl CaseTally {
    fn note(&mut self, at: u64, named: NamedOutcome) {
        let CaseOutcome { region, verdict, .. } = &named.outcome;
        self.cases += 1;
        *self
            .counts
            .entry((named.case.kind, *region))
            .or_default()
            .entry(verdict.name())
            .or_default() += 1;
        if let CaseVerdict::Refused(reason) = verdict {
            *self.reasons.entry(without_numbers(reason)).or_default() += 1;
        }
        if verdict.is_defect() {
            self.defects.push((at, named));
        }
    }

    fn add(&mut self, other: CaseTally) {
        self.cases += other.cases;
        for (row, verdicts) in other.counts {
            let mine = self.counts.entry(row).or_default();
            verdicts.into_iter().for_each(|(name, count)| *mine.entry(name).or_default() += count);
        }
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.defects.extend(other.defects);
        self.errors.extend(other.errors);
    }
}

/// Reasons are counted by their words.
fn without_numbers(reason: &str) -> String {
    let words = reason.split(' ').map(|word| match word.parse::<u64>() {
        Ok(_) => "N",
        Err(_) => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn in_words(CaseOutcome { region, story, verdict }: &CaseOutcome) -> String {
    let region = region.map_or(String::new(), |region| format!(" ({region})"));
    let detail = verdict.detail();
    let colon = if detail.is_empty() { "" } else { ": " };
    format!("{story}{region}: {}{colon}{detail}", verdict.name())
}

fn report(tally: CaseTally, asked: u64, args: &SoakArgs) -> Result<CaseTally, Failure> {
    if args.json.json {
        show::json(&in_json(&tally, asked, args.seed))?;
        return Ok(tally);
    }
    let row = |((kind, region), verdicts): (&(DamageKind, Option<Region>), &BTreeMap<_, u64>)| {
        let region = region.map_or("", Region::name);
        let cells = CaseVerdict::NAMES.map(|name| match verdicts.get(name) {
            Some(count) => count.to_string(),
            None => "-".to_owned(),
        });
        let mut row: Vec<String> = vec![kind.name().to_owned(), region.to_owned()];
        row.extend(cells);
        <[String; 11]>::try_from(row).expect("two names and nine counts")
    };
    let rows: Vec<[String; 11]> = tally.counts.iter().map(row).collect();
    let [a, b, c, d, e, f, g, h, i] = CaseVerdict::NAMES;
    show::text(&show::table(["damage", "in", a, b, c, d, e, f, g, h, i], &[1], &rows))?;
    let of = if tally.cases < asked { format!(" of {asked}") } else { String::new() };
    show::text(&format!("\n{} damaged copies{of}\n", tally.cases))?;
    let mut shown: Vec<_> = tally.defects.iter().collect();
    shown.sort_by_key(|(at, _)| *at);
    for (_, NamedOutcome { command, outcome, .. }) in shown.into_iter().take(SHOWN) {
        let case = command.rsplit(' ').next().unwrap_or_default();
        show::text(&format!("{case}: {}\n", in_words(outcome)))?;
    }
    Ok(tally)
}

fn in_json(tally: &CaseTally, asked: u64, seed: u64) -> Value {
    let counts: Vec<Value> = tally
        .counts
        .iter()
        .map(|((kind, region), verdicts)| {
            json!({ "damage": kind.name(), "in": region.map(Region::name), "verdicts": verdicts })
        })
        .collect();
    let defect = |(_, NamedOutcome { command, outcome, .. }): &(u64, NamedOutcome)| {
        json!({
            "again": command, "story": outcome.story, "in": outcome.region.map(Region::name),
            "verdict": outcome.verdict.name(), "detail": outcome.verdict.detail(),
        })
    };
    let mut defects: Vec<_> = tally.defects.iter().collect();
    defects.sort_by_key(|(at, _)| *at);
    json!({
        "seed": seed, "asked": asked, "cases": tally.cases, "counts": counts, "refused": tally.reasons,
        "defects": defects.into_iter().map(defect).collect::<Vec<_>>(),
    })
}
