//! `loadline cdl bench`

use super::answer;
use super::descriptors::Descriptors;
use super::progress::BenchProgress;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::library::mechanical;
use crate::show;
use clap::{Args, value_parser};
use loadline_base::Span;
use loadline_cdl::bench::{
    Action, BS_DEFAULT, Bench, BenchError, BenchNews, BenchOptions, BenchOrder, Device, Ground,
    Modelled, Need, Presence, QDS_DEFAULT, RAMPTIME_DEFAULT, RUNTIME_DEFAULT, RealDrive, RealError,
    WorkloadPlan, manifest, step_figures,
};
use loadline_cdl::plot::answer_of;
use loadline_cdl::{BenchFolder, BenchFolderError, ReadFigures, ReadWorkload};
use loadline_device::cdl::{DescriptorPage, DriveBounds, ModePage};
use loadline_host::{in_words, why};
use loadline_sim::hdd::HddSpec;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Options of `cdl_bench.sh`, and some of our own.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The target device: a block device or a file, read in real time through fio, or a modelled drive in virtual
    /// time: sim:hdd-22tb-cdl, or sim: and the path of a drive file
    #[arg(long, value_name = "FILE")]
    dev: Option<String>,
    /// Random read I/O size
    #[arg(long, value_name = "BYTES", default_value = BS_DEFAULT)]
    bs: String,
    /// Ramp time of each run, before anything is counted
    #[arg(long, value_name = "SEC", default_value_t = RAMPTIME_DEFAULT)]
    ramptime: u64,
    /// Run time of each run
    #[arg(long, value_name = "SEC", default_value_t = RUNTIME_DEFAULT)]
    runtime: u64,
    /// Queue depths, with blanks between them
    #[arg(long, value_name = "LIST", default_value = QDS_DEFAULT)]
    qds: String,
    /// Where the results go; by default $HOME/<dev name>_cdl_bench. The folder must not exist, unless the same command
    /// was interrupted there
    #[arg(long, value_name = "DIR")]
    outdir: Option<PathBuf>,
    /// Run the baseline workload
    #[arg(long)]
    baseline: bool,
    /// Run the NCQ priority workload
    #[arg(long)]
    ncq_prio: bool,
    /// Run the CDL workload with a single limit
    #[arg(long)]
    cdl_single: bool,
    /// Run the CDL workload with multiple limits
    #[arg(long)]
    cdl_multi: bool,
    /// For --ncq-prio and --cdl-single: percentage of commands with high priority or with the limit
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    percentage: Option<i64>,
    /// For --cdl-single: index of the descriptor to use
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    dld: Option<i64>,
    /// For --cdl-multi: descriptors and percentages of I/Os, "1/10,2/20" for 10 % with CDL 1 and 20 % with CDL 2
    #[arg(long, value_name = "STR")]
    dldsplit: Option<String>,
    /// For --cdl-single and --cdl-multi: T2A descriptors (reads); by default 50, 100, 200, 300, 400 and 500 ms
    #[arg(long, value_name = "FILE")]
    t2a: Option<PathBuf>,
    /// The same for T2B (writes)
    #[arg(long, value_name = "FILE")]
    t2b: Option<PathBuf>,
    /// Seed of offsets, choices and the modelled drive
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at the same time on a modelled drive; by default one per core
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Show what each workload needs, what would be switched and each fio job, and run nothing; the drive need not be there
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What the host waits for a command, by the kernel's default: a limit beyond it is never reached.
const COMMAND_TIMEOUT: Span = Span::from_secs(30);

/// The descriptors of a run, and the files that they came from.
struct DescriptorPages {
    reads: DescriptorPage,
    writes: DescriptorPage,
}

pub(super) fn carry_out(args: &BenchArgs) -> Result<(), Failure> {
    let asked = args.asked();
    let order = BenchOrder::new(&asked).and_then(|order| asked.check_used().map(|()| order));
    let order = order.map_err(|error| Failure::Input(error.to_string()))?;
    if matches!(order.device, Device::Real(_)) && args.jobs.is_some_and(|jobs| jobs != 1) {
        let why = "--jobs: runs on a real drive go one after the other: leave --jobs out";
        return Err(Failure::Input(why.to_owned()));
    }
    let pages = DescriptorPages::of(args)?;
    if args.dry_run {
        let plans = args.plans(&order, &pages)?;
        return match args.json {
            true => show::json(&in_advance_in_json(&order, &plans)),
            false => show::text(&in_advance(&order, &plans)),
        };
    }
    let ground = args.ground(&order, &pages)?;
    let root = args.outdir(&order)?;
    let folder = BenchFolder::begin(&root, &manifest(&order, &ground))?;
    let bench = Bench { order: &order, folder: &folder, ground };
    let mut progress = BenchProgress::new(order.steps().len(), args.json);
    progress.lines(&in_words(&head(&bench, &root)))?;
    run(&bench, args, &mut progress)?;
    if args.json {
        return show::json(&summary(&bench)?);
    }
    let answer = answer::text(&answer_of(&folder));
    show::text(&format!(
        "\n{answer}\nDone: `loadline cdl plot {}` draws the results\n",
        root.display()
    ))
}

/// Runs it under the eyes of somebody who may press Ctrl-C, or end it in another way.
fn run(bench: &Bench<'_>, args: &BenchArgs, progress: &mut BenchProgress) -> Result<(), Failure> {
    let interrupted = interruptible()?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let mut unheard = None;
    let outcome = bench.run(args.jobs.map_or_else(cores, usize::from), &mut |news| {
        let heard = match news {
            BenchNews::Workload(workload) => progress.lines(workload.announcement()),
            BenchNews::Depth { depth, kept: false } => progress.depth(&format!("  QD={depth}...")),
            BenchNews::Depth { depth, kept: true } => {
                progress.depth(&format!("  QD={depth}... kept from an earlier run"))
            }
            BenchNews::Note(note) => progress.lines(note),
            BenchNews::Done(share) => {
                progress.done(share);
                Ok(())
            }
        };
        unheard = heard.err();
        unheard.is_none() && !interrupted.load(Ordering::Relaxed)
    });
    progress.end();
    unheard.map_or(Ok(()), Err)?;
    Ok(outcome?)
}

impl BenchArgs {
    fn asked(&self) -> BenchOptions {
        BenchOptions {
            dev: self.dev.as_deref().map(absolute),
            bs: self.bs.clone(),
            ramptime: self.ramptime,
            runtime: self.runtime,
            qds: self.qds.clone(),
            baseline: self.baseline,
            ncq_prio: self.ncq_prio,
            cdl_single: self.cdl_single,
            cdl_multi: self.cdl_multi,
            percentage: self.percentage,
            dld: self.dld,
            dldsplit: self.dldsplit.clone(),
        }
    }

    /// The drive, if it can do what is asked.
    fn ground(&self, order: &BenchOrder, pages: &DescriptorPages) -> Result<Ground, Failure> {
        let (reads, writes) = (pages.reads, pages.writes);
        match &order.device {
            Device::Modelled(name) => {
                let spec = self.modelled(name, order, pages)?;
                if order.has_limits() && spec.limits.is_none() {
                    return Err(Failure::Input(format!(
                        "--dev {}: the drive does not support CDL",
                        order.device
                    )));
                }
                Ok(Ground::Modelled(Modelled { spec, reads, writes, seed: self.seed }))
            }
            Device::Real(path) => {
                let mut drive = RealDrive::open(path, order)?;
                if order.has_limits() {
                    let file = |file: &Option<PathBuf>, name: &str| {
                        file.clone().unwrap_or_else(|| PathBuf::from(name))
                    };
                    let (t2a, t2b) = (file(&self.t2a, "T2A.cdl"), file(&self.t2b, "T2B.cdl"));
                    drive.check_descriptors([(&t2a, reads), (&t2b, writes)])?;
                }
                Ok(Ground::Real(drive))
            }
        }
    }

    /// A modelled drive that has room for a block, and whose limits, if it has any, take the descriptors.
    fn modelled(
        &self,
        name: &str,
        order: &BenchOrder,
        pages: &DescriptorPages,
    ) -> Result<HddSpec, Failure> {
        let spec = mechanical(name)?;
        if spec.capacity().get() < order.block_bytes {
            let text = format!("--bs {}: a block is larger than the drive", self.bs);
            return Err(Failure::Input(text));
        }
        if order.has_limits() {
            check_descriptors(&spec, pages)?;
        }
        Ok(spec)
    }

    /// What would be done, workload by workload. The drive need not be there.
    fn plans(
        &self,
        order: &BenchOrder,
        pages: &DescriptorPages,
    ) -> Result<Vec<WorkloadPlan>, Failure> {
        let workloads = order.workloads.iter();
        Ok(match &order.device {
            Device::Modelled(name) => {
                let spec = self.modelled(name, order, pages)?;
                workloads.map(|workload| WorkloadPlan::on_model(&spec, workload)).collect()
            }
            Device::Real(path) => {
                workloads.map(|workload| WorkloadPlan::on(path, workload)).collect()
            }
        })
    }

    fn outdir(&self, order: &BenchOrder) -> Result<PathBuf, Failure> {
        if let Some(outdir) = &self.outdir {
            return Ok(outdir.clone());
        }
        let name = match &order.device {
            Device::Modelled(name) => Path::new(name).file_stem().unwrap_or_default().to_owned(),
            Device::Real(path) => {
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                real.file_name().unwrap_or_default().to_owned()
            }
        };
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or_else(|| {
            Failure::Input("--outdir: name a folder, since HOME is not set".to_owned())
        })?;
        Ok(Path::new(&home).join(format!("{}_cdl_bench", name.to_string_lossy())))
    }
}

/// fio runs in the folder of its results, so a path must not depend on where the command was typed.
fn absolute(dev: &str) -> String {
    if dev.is_empty() || dev.starts_with("sim:") {
        return dev.to_owned();
    }
    std::path::absolute(dev).map_or_else(|_| dev.to_owned(), |path| path.display().to_string())
}

impl DescriptorPages {
    fn of(args: &BenchArgs) -> Result<DescriptorPages, Failure> {
        Ok(DescriptorPages {
            reads: page(
                "--t2a",
                args.t2a.as_deref(),
                ModePage::T2A,
                DescriptorPage::BENCHMARK_T2A,
            )?,
            writes: page(
                "--t2b",
                args.t2b.as_deref(),
                ModePage::T2B,
                DescriptorPage::BENCHMARK_T2B,
            )?,
        })
    }
}

/// The page of a file, or the benchmark's own.
fn page(
    option: &str,
    file: Option<&Path>,
    kind: ModePage,
    default: DescriptorPage,
) -> Result<DescriptorPage, Failure> {
    let Some(file) = file else { return Ok(default) };
    let wrong = |why: String| Failure::Input(format!("{option} {}: {why}", file.display()));
    match Descriptors::open(file)? {
        Descriptors::Text(page) | Descriptors::ModePage(page) => match page.kind() {
            found if found == kind => Ok(page),
            found => Err(wrong(format!("it holds page {found}, and {kind} is needed"))),
        },
        Descriptors::Ata(_) => {
            Err(wrong(format!("an ATA log page; a file of page {kind} is needed")))
        }
    }
}

/// Whether a modelled drive with limits takes the descriptors of a run that uses them.
fn check_descriptors(spec: &HddSpec, pages: &DescriptorPages) -> Result<(), Failure> {
    let Some(range) = spec.limits else { return Ok(()) };
    let (minimum, maximum) = (range.shortest, range.longest);
    let bounds = DriveBounds { minimum, maximum, command_timeout: COMMAND_TIMEOUT };
    for (option, page) in [("--t2a", &pages.reads), ("--t2b", &pages.writes)] {
        if let Some(finding) = page.findings(&bounds).iter().find(|found| found.kind.is_error()) {
            return Err(Failure::Input(format!("{option}: {finding}")));
        }
    }
    Ok(())
}

/// What is said before the first workload.
fn head(bench: &Bench<'_>, root: &Path) -> String {
    let order = bench.order;
    let mut text = format!(
        "Run on {}, ramp time: {}s, run time: {}s\n  Output directory: {}\n\n",
        order.device,
        order.ramp_seconds,
        order.run_seconds,
        root.display()
    );
    match &bench.ground {
        Ground::Modelled(drive) => {
            let spec = &drive.spec;
            let limits = if spec.limits.is_some() { "supported" } else { "not supported" };
            let terabytes = spec.capacity().get() as f64 / 1e12;
            let (device, model, sectors) = (&order.device, &spec.model, spec.sectors);
            write!(
                text,
                "Device: {device}, in virtual time\n    Product: {model}\n    {sectors} 512-byte sectors \
                 ({terabytes:.2} TB)\n    Command duration limits: {limits}\n"
            )
            .expect("writing to a string");
            if order.has_limits() {
                text += "Uploading T2A CDL page\nUploading T2B CDL page\n";
            }
        }
        Ground::Real(drive) => text += &drive.info(),
    }
    text
}

/// What would be done.
fn in_advance(order: &BenchOrder, plans: &[WorkloadPlan]) -> String {
    let mut text = String::new();
    for (workload, plan) in order.workloads.iter().zip(plans) {
        text += workload.announcement();
        text.push('\n');
        for need in &plan.needs {
            writeln!(text, "  {}", in_words(&need.to_string())).expect("writing to a string");
        }
        for action in &plan.switches {
            writeln!(text, "  {action}").expect("writing to a string");
        }
        for step in order.steps().iter().filter(|step| step.workload == workload) {
            writeln!(text, "  {}", step.fio_command()).expect("writing to a string");
        }
    }
    text
}

/// The same for a program.
fn in_advance_in_json(order: &BenchOrder, plans: &[WorkloadPlan]) -> Value {
    let workload = |(workload, plan): (&ReadWorkload, &WorkloadPlan)| {
        let switches: Vec<String> = plan.switches.iter().map(Action::to_string).collect();
        let steps = order.steps();
        let steps = steps.iter().filter(|step| step.workload == workload);
        let steps = steps.map(|step| json!({ "qd": step.depth, "command": step.fio_command() }));
        json!({
            "workload": workload.folder(),
            "needs": plan.needs.iter().map(need_in_json).collect::<Value>(),
            "switches": switches,
            "steps": steps.collect::<Value>(),
        })
    };
    let workloads: Value = order.workloads.iter().zip(plans).map(workload).collect();
    json!({ "dev": order.device.to_string(), "workloads": workloads })
}

/// `found` is null where a dry run does not look.
fn need_in_json(need: &Need) -> Value {
    let (found, why) = match &need.found {
        Presence::Yes => (Some(true), None),
        Presence::No(why) => (Some(false), Some(in_words(why))),
        Presence::NotLooked => (None, None),
    };
    json!({ "what": need.what, "found": found, "why": why })
}

/// Every figure, for a program.
fn summary(bench: &Bench<'_>) -> Result<Value, Failure> {
    let class = |figures: &ReadFigures| {
        json!({
            "priority": format!("{:#06x}", figures.priority.word()),
            "reads": figures.reads,
            "iops": figures.iops,
            "mb_per_s": figures.mb_per_s,
            "mean_ms": figures.mean_ms,
            "min_ms": figures.min_ms,
            "p50_ms": figures.percentile(0.5),
            "p99_ms": figures.percentile(0.99),
            "p99_9_ms": figures.percentile(0.999),
            "max_ms": figures.max_ms,
        })
    };
    let steps = step_figures(bench.folder, &bench.order.steps())?;
    let steps = steps.iter().map(|step| {
        let classes: Value = step.classes.iter().map(class).collect();
        json!({ "workload": step.workload, "qd": step.depth, "classes": classes })
    });
    let outdir = bench.folder.root().display().to_string();
    let measured = json!({
        "dev": bench.order.device.to_string(),
        "outdir": outdir,
        "steps": steps.collect::<Value>(),
    });
    Ok(answer::json(&answer_of(bench.folder), measured))
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Failure {
        match error {
            BenchError::Stopped(_) => Failure::Interrupted(error.to_string()),
            BenchError::ReadEnded { .. } => Failure::Input(error.to_string()),
            BenchError::Folder(error) => error.into(),
            BenchError::Real(error) => error.into(),
            BenchError::Log { .. } => Failure::Environment(error.to_string()),
        }
    }
}

impl From<BenchFolderError> for Failure {
    fn from(error: BenchFolderError) -> Failure {
        match error {
            BenchFolderError::Exists { .. } => Failure::Input(error.to_string()),
            BenchFolderError::Busy { .. } => Failure::Environment(error.to_string()),
            BenchFolderError::Unusable { path, source } => Failure::unwritable(&path, &source),
        }
    }
}

impl From<RealError> for Failure {
    fn from(error: RealError) -> Failure {
        match error {
            RealError::Device { path, error } => {
                Failure::refused(error.kind(), format!("--dev {path}: {}", why(&error)))
            }
            RealError::Unsupported { .. } | RealError::OtherDescriptors { .. } => {
                Failure::Input(error.to_string())
            }
            _ => Failure::Environment(error.to_string()),
        }
    }
}
