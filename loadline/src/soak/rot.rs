//! `loadline soak --rot` and `--rot-self`: damaged copies of stores, each opened and read as a whole.

use super::{LINE_EVERY, keep_in, named};
use crate::cli::{RotArgs, SoakArgs};
use crate::failure::Failure;
use crate::inspect::open;
use crate::interrupt::interruptible;
use crate::show;
use loadline_base::Bytes;
use loadline_sim::Disks;
use loadline_sim::disk::{DiskSpec, Image, SimDisk, Timing};
use loadline_sim::rot::{Case, Kind, Outcome, OwnStore, Region, Sound, Verdict};
use loadline_store::paged::inspect::Inspector;
use loadline_store::paged::{Options, Protection};
use loadline_study::Stopwatch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Cases of one store of the tool's own.
const CASES_OF_OWN: u64 = 300;
/// Cases of a given store that a thread takes at once.
const CASES_AT_ONCE: usize = 16;
/// Defects that are shown.
const SHOWN: usize = 20;
/// Memory of a copy's store: a copy is opened thousands of times, and nothing of it is read twice.
const CACHE: Bytes = Bytes::from_mib(16);
/// Sectors of a file: the smallest there are.
const SECTOR: u64 = 512;

/// A file that is only read.
struct FileImage(File, PathBuf);

impl Image for FileImage {
    fn read(&self, offset: u64, into: &mut [u8]) {
        if let Err(error) = self.0.read_exact_at(into, offset) {
            show::note(&format!("error: {}: cannot be read: {error}", self.1.display()));
            std::process::exit(1);
        }
    }
}

/// Cases of one store, to be run by one thread.
enum Batch {
    Own(OwnStore, Vec<Case>),
    Given(Arc<Given>, Vec<Case>),
}

/// A given store as it is, and after it has lived on.
struct Given {
    path: PathBuf,
    sound: Sound,
    further: Option<Sound>,
}

/// What came of all cases.
#[derive(Default)]
struct Tally {
    cases: u64,
    stores: u64,
    counts: BTreeMap<(Kind, Option<Region>), BTreeMap<&'static str, u64>>,
    reasons: BTreeMap<String, u64>,
    /// By batch, so that the first one is the same however many threads there are.
    defects: Vec<(usize, Named)>,
    errors: Vec<(usize, String)>,
    last_line: Duration,
}

/// A case's outcome, and the command that meets it again.
struct Named {
    command: String,
    outcome: Outcome,
}

pub(super) fn carry_out(args: &SoakArgs) -> Result<(), Failure> {
    let batches = match &args.rot.rot {
        Some(path) => given_batches(path, args)?,
        None => own_batches(args)?,
    };
    let stop = interruptible()?;
    let tally = run_all(&batches, args, &stop);
    let Tally { mut defects, mut errors, .. } = report(tally, args)?;
    errors.sort();
    if let Some((_, error)) = errors.into_iter().next() {
        return Err(Failure::Damaged(error));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted".to_owned()));
    }
    defects.sort_by_key(|(batch, _)| *batch);
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

/// How many cases of a kind were asked for.
fn asked(args: &RotArgs, kind: Kind) -> u64 {
    match kind {
        Kind::Flip => args.flips,
        Kind::Drop => args.drops,
        Kind::Stray => args.strays,
        Kind::Swap => args.swaps,
        Kind::Truncation => args.truncations,
    }
}

/// The cases that were asked for, or the one.
fn cases(args: &SoakArgs) -> Result<Vec<Case>, Failure> {
    if let Some(case) = &args.rot.case {
        return Ok(vec![case.parse().map_err(|error| Failure::Input(format!("--case: {error}")))?]);
    }
    let of_kind = |kind| {
        let first = args.seed;
        (first..first + asked(&args.rot, kind)).map(move |number| Case { kind, number })
    };
    Ok(Kind::ALL.into_iter().flat_map(of_kind).collect())
}

/// Stores of the tool's own: of every mode and protection so many that each has few cases.
fn own_batches(args: &SoakArgs) -> Result<Vec<Batch>, Failure> {
    if let Some(text) = &args.rot.case {
        let wrong = |error| Failure::Input(format!("--case: {error}"));
        let (store, case) = text.rsplit_once('/').unwrap_or(("", text));
        let store = store.parse().map_err(wrong)?;
        return Ok(vec![Batch::Own(store, vec![case.parse().map_err(wrong)?])]);
    }
    let all = cases(args)?;
    let stores = (all.len() as u64).div_ceil(CASES_OF_OWN).max(1);
    let mut batches = Vec::new();
    for seed in 0..stores {
        for (log_mode, protection) in OwnStore::kinds() {
            let own = OwnStore { log_mode, protection, seed: args.seed + seed };
            let mine = all.iter().copied().filter(|case| case.number % stores == seed);
            batches.push(Batch::Own(own, mine.collect()));
        }
    }
    Ok(batches)
}

fn given_batches(path: &Path, args: &SoakArgs) -> Result<Vec<Batch>, Failure> {
    let all = cases(args)?;
    let drops = all.iter().any(|case| matches!(case.kind, Kind::Drop | Kind::Stray));
    let mut batches = Vec::new();
    for path in files(path)? {
        let given = Arc::new(Given::read(&path, args.rot.log_device.as_deref(), drops)?);
        let some = all.chunks(CASES_AT_ONCE);
        batches.extend(some.map(|cases| Batch::Given(given.clone(), cases.to_vec())));
    }
    Ok(batches)
}

/// The file, or the stores of a node's folder.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = |error| Failure::Input(format!("{}: cannot be read: {error}", path.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("osd.").and_then(|number| number.parse::<u32>().ok());
        found.extend(number.map(|number| (number, path)));
    }
    found.sort();
    match found.is_empty() {
        true => Err(Failure::Input(format!("{}: holds no osd.0, osd.1 ...", path.display()))),
        false => Ok(found.into_iter().map(|(_, path)| path).collect()),
    }
}

impl Given {
    fn read(path: &Path, log: Option<&Path>, drops: bool) -> Result<Given, Failure> {
        let disks = Disks { data: disk(path)?, log: log.map(disk).transpose()? };
        let protection = protection(&disks, path)?;
        let options = Options { cache: CACHE, protection, ..Options::default() };
        let unsound =
            |why| Failure::Damaged(format!("{}: not sound as it is: {why}", path.display()));
        let sound = Sound::new(disks, options, Vec::new()).map_err(unsound)?;
        let (keys, objects) = sound.count();
        show::note(&format!("{}: {keys} keys, {objects} objects", path.display()));
        let further = drops.then(|| sound.live_on()).transpose().map_err(unsound)?;
        Ok(Given { path: path.to_owned(), sound, further })
    }

    /// The copy's origin: what was written is known only of the store that has lived on.
    fn of(&self, kind: Kind) -> Option<&Sound> {
        match kind {
            Kind::Drop | Kind::Stray => self.further.as_ref().filter(|further| further.may_drop()),
            _ => Some(&self.sound),
        }
    }
}

fn disk(path: &Path) -> Result<SimDisk, Failure> {
    let (file, size) = open(path)?;
    let spec = DiskSpec {
        size: Bytes::new(size / SECTOR * SECTOR),
        sector: SECTOR as u32,
        write_cache: false,
        timing: Timing::FREE,
    };
    Ok(SimDisk::over(spec, Arc::new(FileImage(file, path.to_owned())), 1))
}

fn protection(disks: &Disks, path: &Path) -> Result<Protection, Failure> {
    let inspector = Inspector::open(disks)
        .map_err(|trouble| Failure::Input(format!("{}: {trouble}", path.display())))?;
    Ok(inspector.newest().protection)
}

fn run_all(batches: &[Batch], args: &SoakArgs, stop: &Arc<AtomicBool>) -> Tally {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let watch = Stopwatch::start();
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(at) else { return };
            let done = run_batch(at, batch, args);
            let mut tally = tally.lock().expect("no thread panics and goes on");
            tally.add(done);
            let elapsed = watch.elapsed();
            if elapsed >= tally.last_line + LINE_EVERY {
                tally.last_line = elapsed;
                let Tally { cases, defects, .. } = &*tally;
                show::note(&format!(
                    "{:4} s: {cases} damaged copies, {} of them defects",
                    elapsed.as_secs(),
                    defects.len()
                ));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..args.jobs.unwrap_or(1)).for_each(|_| {
            scope.spawn(work);
        });
    });
    tally.into_inner().expect("no thread panics and goes on")
}

fn run_batch(at: usize, batch: &Batch, args: &SoakArgs) -> Tally {
    let mut tally = Tally { stores: 1, ..Tally::default() };
    let mut run = |sound: &Sound, case: Case, command: String| {
        let outcome = named(command.clone(), || sound.run(case));
        if args.rot.case.is_some() {
            show::note(&in_words(&outcome));
            if let Some(folder) = &args.keep {
                let kept = keep_in(folder, &sound.damaged(case));
                tally.errors.extend(kept.err().map(|error| (at, format!("{error:?}"))));
            }
        }
        tally.note(at, case, Named { command, outcome });
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

impl Tally {
    fn note(&mut self, at: usize, case: Case, named: Named) {
        let Outcome { region, verdict, .. } = &named.outcome;
        self.cases += 1;
        *self.counts.entry((case.kind, *region)).or_default().entry(verdict.name()).or_default() +=
            1;
        if let Verdict::Refused(reason) = verdict {
            *self.reasons.entry(without_numbers(reason)).or_default() += 1;
        }
        if verdict.is_defect() {
            self.defects.push((at, named));
        }
    }

    fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.stores += other.stores;
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

fn in_words(Outcome { region, story, verdict }: &Outcome) -> String {
    let region = region.map_or(String::new(), |region| format!(" ({region})"));
    let detail = verdict.detail();
    let colon = if detail.is_empty() { "" } else { ": " };
    format!("{story}{region}: {}{colon}{detail}", verdict.name())
}

fn report(tally: Tally, args: &SoakArgs) -> Result<Tally, Failure> {
    if args.json.json {
        show::json(&in_json(&tally, args.seed))?;
        return Ok(tally);
    }
    let row = |((kind, region), verdicts): (&(Kind, Option<Region>), &BTreeMap<_, u64>)| {
        let region = region.map_or("", Region::name);
        let cells = Verdict::NAMES.map(|name| match verdicts.get(name) {
            Some(count) => count.to_string(),
            None => "-".to_owned(),
        });
        let mut row: Vec<String> = vec![kind.name().to_owned(), region.to_owned()];
        row.extend(cells);
        <[String; 11]>::try_from(row).expect("two names and nine counts")
    };
    let rows: Vec<[String; 11]> = tally.counts.iter().map(row).collect();
    let [a, b, c, d, e, f, g, h, i] = Verdict::NAMES;
    show::text(&show::table(["damage", "in", a, b, c, d, e, f, g, h, i], &[1], &rows))?;
    show::text(&format!("\n{} damaged copies\n", tally.cases))?;
    let mut shown: Vec<_> = tally.defects.iter().collect();
    shown.sort_by_key(|(at, _)| *at);
    for (_, Named { command, outcome }) in shown.into_iter().take(SHOWN) {
        let case = command.rsplit(' ').next().unwrap_or_default();
        show::text(&format!("{case}: {}\n", in_words(outcome)))?;
    }
    Ok(tally)
}

fn in_json(tally: &Tally, seed: u64) -> Value {
    let counts: Vec<Value> = tally
        .counts
        .iter()
        .map(|((kind, region), verdicts)| {
            json!({ "damage": kind.name(), "in": region.map(Region::name), "verdicts": verdicts })
        })
        .collect();
    let defect = |(_, Named { command, outcome }): &(usize, Named)| {
        json!({
            "again": command, "story": outcome.story, "in": outcome.region.map(Region::name),
            "verdict": outcome.verdict.name(), "detail": outcome.verdict.detail(),
        })
    };
    let mut defects: Vec<_> = tally.defects.iter().collect();
    defects.sort_by_key(|(at, _)| *at);
    json!({
        "seed": seed, "cases": tally.cases, "counts": counts, "refused": tally.reasons,
        "defects": defects.into_iter().map(defect).collect::<Vec<_>>(),
    })
}
