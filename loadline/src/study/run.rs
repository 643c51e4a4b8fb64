//! `loadline study run`

use super::progress::StudyProgress;
use super::{dry, list};
use crate::cli::RunArgs;
use crate::command_line;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::library::library;
use crate::show;
use crate::timestamp::rfc3339;
use loadline_ceph::{CephError, CephPlace};
use loadline_report::{
    answer_for_programs, answer_text, reservation_text, terminal_table, write_report,
};
use loadline_study::{
    CephFound, CephTestPlace, Host, HostPlace, InputError, Library, Order, Override, Place,
    RealPlace, RunFacts, RunFolder, Session, SessionError, Shelf, Statement, StudyKind,
    StudyResult, build_id, summary_json, twin_of,
};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

/// What was meant.
struct Intent {
    order: Order,
    folder: PathBuf,
    workers: u32,
    json: bool,
}

pub(super) fn carry_out(args: &RunArgs) -> Result<(), Failure> {
    let intent = Intent::of(args)?;
    if args.dry_run {
        return dry::say(&intent.order, intent.workers, &intent.folder, intent.json);
    }
    let interrupted = interruptible()?;
    let folder = RunFolder::at(&intent.folder);
    let mut session = Session::open(folder, intent.order, facts(intent.workers))?;
    make_runs(&mut session, intent.workers, &interrupted, &intent.folder)?;
    let result = session.conclude()?;
    write_report(&intent.folder, &result, session.facts())?;
    if intent.json {
        show::json(&in_json(&result, session.facts()))?;
    } else {
        show::text(&in_words(&result, session.facts(), &intent.folder, args.trace))?;
    }
    match result.expected.iter().any(|statement| statement.holds == Some(false)) {
        true => Err(Failure::Said),
        false => Ok(()),
    }
}

impl Intent {
    fn of(args: &RunArgs) -> Result<Intent, Failure> {
        if let Some(folder) = &args.twin {
            return Intent::of_twin(args, folder);
        }
        let Some(study) = args.study.as_deref() else {
            return Err(match command_line::wants_json() {
                true => Failure::Input(
                    "name a study: `loadline study list --json` tells them".to_owned(),
                ),
                false => list::which(&library()),
            });
        };
        refuse_twice(&args.set)?;
        let mut overrides = Vec::new();
        overrides
            .extend(args.drive.clone().map(|value| Override { key: "drive".to_owned(), value }));
        overrides.extend(args.set.iter().cloned());
        let mut inputs = library().inputs(study, overrides)?;
        inputs.load = args.load.as_deref().map(Library::job_file).transpose()?;
        if let Some(described) = &args.described {
            if inputs.kind()? != StudyKind::Recovery {
                let place = format!("--described {}", described.display());
                let reason = "a study of recovery alone has a cluster that can be described";
                return Err(InputError::new(place, reason).into());
            }
            inputs.described = Some(Library::description(described)?);
        }
        inputs.place = place(args, inputs.kind()?)?;
        if args.quick {
            // First, so that what was typed counts.
            inputs.overrides.insert(0, inputs.quick()?);
        }
        Intent::of_order(
            args,
            Order {
                inputs,
                setups: args.setups.clone().unwrap_or_else(|| "default".to_owned()),
                seed: args.seed,
                repeats: args.repeat,
                trace: args.trace.then_some(args.trace_op),
                engine: engine(),
            },
        )
    }

    /// The order of real runs in simulation, and what was typed beside it.
    fn of_twin(args: &RunArgs, folder: &Path) -> Result<Intent, Failure> {
        refuse_twice(&args.set)?;
        let mut order = twin_of(folder, engine())?;
        let own = &order.inputs.study.name;
        if let Some(study) = args.study.as_ref().filter(|study| *study != own) {
            let reason = format!("it holds {own} and not {study}: leave the study's name out");
            return Err(InputError::new(format!("--twin {}", folder.display()), reason).into());
        }
        if let Some(drive) = &args.drive {
            order.inputs.drive = library().find(Shelf::Drives, drive)?;
            order.inputs.overrides.push(Override { key: "drive".to_owned(), value: drive.clone() });
        }
        order.inputs.overrides.extend(args.set.iter().cloned());
        if let Some(setups) = &args.setups {
            order.setups.clone_from(setups);
        }
        order.trace = args.trace.then_some(args.trace_op);
        Intent::of_order(args, order)
    }

    fn of_order(args: &RunArgs, order: Order) -> Result<Intent, Failure> {
        let is_real = order.inputs.place != Place::Sim;
        if is_real && args.jobs.is_some_and(|jobs| jobs != 1) {
            let reason = "real runs go one after the other: leave --jobs out";
            return Err(InputError::new("--jobs", reason).into());
        }
        let cores = if is_real { 1 } else { Host::here().cores };
        let workers = args.jobs.unwrap_or(cores);
        let folder = match &args.out {
            Some(folder) => folder.clone(),
            None => default_folder(&order)?,
        };
        let mut order = order;
        if let Place::Ceph(place) = &mut order.inputs.place {
            place.folder.clone_from(&folder);
        }
        Ok(Intent { order, folder, workers, json: args.json.json })
    }
}

/// Of two values of one key the first would have no effect.
fn refuse_twice(set: &[Override]) -> Result<(), InputError> {
    let is_set_again = |at: &usize| set[..*at].iter().any(|before| before.key == set[*at].key);
    match (1..set.len()).find(is_set_again) {
        Some(at) => {
            let reason = format!("`{}` is set twice: leave one of them out", set[at].key);
            Err(InputError::new(set[at].to_string(), reason))
        }
        None => Ok(()),
    }
}

/// The build that computes.
fn engine() -> String {
    build_id(env!("CARGO_PKG_VERSION"))
}

/// Where the study runs, as it was asked for.
fn place(args: &RunArgs, kind: StudyKind) -> Result<Place, InputError> {
    let refuse = |place: &RealPlace, reason: &str| InputError::new(format!("--on {place}"), reason);
    let disks = match &args.on {
        None => return Ok(Place::Sim),
        Some(on @ RealPlace::Ceph(cluster)) => {
            kind.runs_on_ceph().map_err(|reason| refuse(on, reason))?;
            return place_on_ceph(args, cluster).map_err(|reason| refuse(on, &reason));
        }
        Some(on @ RealPlace::Disks(disks)) => {
            kind.runs_on_disks().map_err(|reason| refuse(on, reason))?;
            disks
        }
    };
    Ok(Place::Host(HostPlace {
        disks: disks.clone(),
        client: args.client.into(),
        keep_files: args.keep_files,
        overwrite: args.overwrite,
    }))
}

/// A cluster, which is asked at once: what it can run depends on its release.
fn place_on_ceph(args: &RunArgs, cluster: &CephPlace) -> Result<Place, String> {
    let told = |error: CephError| error.to_string();
    let connection = cluster.connect().map_err(told)?;
    Ok(Place::Ceph(CephTestPlace {
        cluster: cluster.clone(),
        restart: args.restart_osd.clone(),
        found: CephFound::ask(&*connection).map_err(told)?,
        allowed: args.yes_i_may_hurt_this_cluster.clone(),
        folder: PathBuf::new(),
    }))
}

/// `runs/STUDY-SEED`, or the same with the inputs' hash where that folder holds runs of other inputs, and with a number behind it where that one
/// does, too, or another build's.
fn default_folder(order: &Order) -> Result<PathBuf, Failure> {
    let world = match order.inputs.place {
        Place::Sim if order.inputs.twin.is_some() => "-twin",
        Place::Sim => "",
        Place::Host(_) => "-real",
        Place::Ceph(_) => "-ceph",
    };
    let name = format!("runs/{}{world}-{}", order.inputs.study.name, order.seed);
    let hashed = format!("{name}-{}", &order.inputs.hash()[..6]);
    let numbered = (2..).map(|number| format!("{hashed}-{number}"));
    for name in [name, hashed.clone()].into_iter().chain(numbered) {
        match order.may_use(&RunFolder::at(&name)) {
            Ok(_) => return Ok(name.into()),
            Err(
                SessionError::OtherInputs(_)
                | SessionError::OtherBuild(_)
                | SessionError::NotOurs { .. },
            ) => {}
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("there are more numbers than folders")
}

#[expect(clippy::disallowed_methods, reason = "the manifest says when a study began")]
fn facts(workers: u32) -> RunFacts {
    RunFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: Some(env!("LOADLINE_COMMIT").to_owned()),
        host: Host::here(),
        command: command_line::words().collect::<Vec<_>>().join(" "),
        started_at: rfc3339(SystemTime::now()),
        jobs: workers,
        ..RunFacts::default()
    }
}

fn make_runs(
    session: &mut Session,
    workers: u32,
    interrupted: &AtomicBool,
    folder: &Path,
) -> Result<(), Failure> {
    let missing = session.missing();
    if missing.is_empty() {
        show::note(&format!("every run is recorded in {}", folder.display()));
        return Ok(());
    }
    let mut progress = StudyProgress::new(session.study(), missing.len());
    let outcome = session.run(workers as usize, interrupted, |sight| progress.show(&sight));
    progress.end();
    outcome.map_err(|error| match error {
        SessionError::Interrupted if !session.has_records() => Failure::Interrupted(
            "interrupted before a run ended: nothing is kept, and the same command begins anew"
                .to_owned(),
        ),
        SessionError::Interrupted => Failure::Interrupted(format!(
            "interrupted; {} of {} runs are still to be made: the same command continues in {}",
            session.missing().len(),
            missing.len(),
            folder.display()
        )),
        other => other.into(),
    })
}

/// The answer, the result table, and below it what else fits into sentences.
pub(super) fn table(result: &StudyResult, width: usize) -> String {
    let answer = answer_text(result, width.min(ANSWER_WIDTH));
    let gap = if answer.is_empty() { "" } else { "\n" };
    answer + gap + &terminal_table(result, width) + &reservation_text(result, width)
}

/// The answer and every figure, as one object.
pub(super) fn in_json(result: &StudyResult, facts: &RunFacts) -> Value {
    let (recommended, answer) = answer_for_programs(result);
    let mut object = summary_json(result, facts);
    object["recommended"] = json!(recommended);
    object["answer"] = json!(answer);
    object
}

/// Sentences are read in lines of this many characters, however wide the terminal is.
const ANSWER_WIDTH: usize = 120;

fn not_decided(statement: &Statement) -> &'static str {
    if statement.undecided.is_empty() { "not tested" } else { "undecided" }
}

/// Why it is not decided, though there are figures.
fn reasons(statement: &Statement) -> String {
    match statement.undecided.is_empty() {
        true => String::new(),
        false => format!(" ({})", statement.undecided.join("; ")),
    }
}

fn in_words(result: &StudyResult, facts: &RunFacts, folder: &Path, traced: bool) -> String {
    let mut text = format!("{}\n\n{}", result.question, table(result, width()));
    for statement in &result.statements {
        let mark = match statement.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => not_decided(statement),
        };
        text += &format!("{mark:<14}{}{}\n", statement.text, reasons(statement));
    }
    for statement in &result.expected {
        let mark = match statement.holds {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => not_decided(statement),
        };
        let (said, detail, why) = (&statement.text, &statement.detail, reasons(statement));
        text += &format!("{mark:<14}{said} ({detail}){why}\n");
    }
    let speed = match result.is_real() {
        true if facts.simulated_requests == 0 => "a real cluster".to_owned(),
        true => format!("{} requests to real disks", facts.simulated_requests),
        false => format!(
            "{:.2} million simulated device requests per second and core",
            facts.simulated_requests_per_s_per_core / 1e6
        ),
    };
    let report = folder.join("report.html");
    text += &format!("\n{:.0} s; {speed}\nreport: {}\n", facts.wall_seconds, report.display());
    if traced {
        let trace = folder.join("trace.json");
        text += &format!("trace: {} (ui.perfetto.dev opens it)\n", trace.display());
    }
    text
}

/// Columns of the terminal; a pipe gets a line as long as the table needs.
pub(super) fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return usize::MAX;
    }
    comfy_table::Table::new().width().map_or(100, usize::from)
}
