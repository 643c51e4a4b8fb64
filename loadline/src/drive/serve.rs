//! `loadline drive serve`

use super::served::{DriveOptions, DriveServeArgs};
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::library::mechanical;
use crate::show;
use loadline_base::{Bytes, Span};
use loadline_drive::{
    CommandCounts, ContentsError, DriveContents, DriveMedium, DriveStatistics, ScsiDevice,
    ServeOrders, serve, serve_in_virtual_time,
};
use loadline_host::{ListenAt, check_free, listen_at, plain_path};
use loadline_scsi::{Capability, DiskIdentity, ScsiDisk};
use loadline_sim::hdd::{Hdd, HddSpec};
use signal_hook::consts::SIGUSR1;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The shortest and the longest time that a descriptor of a SCSI drive can hold (cdl.md 1.2).
const TIMES: (Span, Span) = (Span::from_nanos(500), Span::from_millis(32_767_500));

pub(super) fn carry_out(args: &DriveServeArgs) -> Result<(), Failure> {
    check_places(args)?;
    let spec = spec(&args.drive, args.calendar.is_some())?;
    let mut device = device(&spec, &args.drive, args.backing.as_deref())?;
    let environment = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Environment(format!("{what}: {error}"))
    };
    let path = args.vhost_scsi.display().to_string();
    let wanted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&wanted))
        .map_err(|error| environment("cannot listen for signals", &error))?;
    let mut orders = SignalOrders { end: interruptible()?, wanted, json: args.json.json };
    // Who waits for the drive looks for the socket that comes last.
    let calendars = args.calendar.as_deref().map(listen).transpose()?;
    let listener = listen(&args.vhost_scsi).inspect_err(|_| {
        if let Some(calendar) = &args.calendar {
            // Nobody will listen there.
            let _ = std::fs::remove_file(calendar);
        }
    })?;
    let served = match &calendars {
        Some(calendars) => serve_in_virtual_time(&listener, calendars, &mut device, &mut orders),
        None => serve(&listener, &mut device, &mut orders),
    };
    for path in args.calendar.iter().chain([&args.vhost_scsi]) {
        // The sockets of a drive that has ended are in nobody's way.
        let _ = std::fs::remove_file(path);
    }
    let statistics = served.map_err(|error| environment(&path, &error))?;
    show_statistics(&statistics, args.json.json)
}

/// Somebody can listen at each socket, and each flag has a path of its own.
fn check_places(args: &DriveServeArgs) -> Result<(), Failure> {
    for path in args.calendar.iter().chain([&args.vhost_scsi]) {
        check_free(&ListenAt::Unix(path.clone()), None)?;
    }
    let mut taken = vec![("--vhost-scsi", plain_path(&args.vhost_scsi))];
    for (flag, path) in [("--calendar", &args.calendar), ("--backing", &args.backing)] {
        let Some(path) = path else { continue };
        let whole = plain_path(path);
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == whole) {
            let shown = path.display();
            return Err(Failure::Input(format!(
                "{flag} {shown}: it is the path of {other}, too: each takes one of its own"
            )));
        }
        taken.push((flag, whole));
    }
    Ok(())
}

/// For this user alone, in the place of what a former drive has left there, and of nothing else.
fn listen(path: &Path) -> Result<UnixListener, Failure> {
    let (socket, _) = listen_at(&ListenAt::Unix(path.to_owned()), 0o600)?;
    Ok(socket.into())
}

/// Signals as orders: a request to end, and a wish for statistics.
struct SignalOrders {
    end: Arc<AtomicBool>,
    wanted: Arc<AtomicBool>,
    json: bool,
}

impl ServeOrders for SignalOrders {
    fn ends(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    fn wants_statistics(&mut self) -> bool {
        self.wanted.swap(false, Ordering::Relaxed)
    }

    fn statistics(&mut self, statistics: &DriveStatistics) {
        // Nobody who reads them is no reason to stop serving.
        let _ = show_statistics(statistics, self.json);
    }

    fn session_over(&mut self, why: &str) {
        show::note(why);
    }
}

/// The model that is meant, with what was asked to be different about it.
pub(super) fn spec(options: &DriveOptions, keeps_time: bool) -> Result<HddSpec, Failure> {
    let name = options.drive.strip_prefix("sim:").ok_or_else(|| {
        let typed = &options.drive;
        Failure::Input(format!(
            "drive `{typed}`: only modelled drives can be served; say sim:NAME, e.g. sim:hdd-22tb-cdl"
        ))
    })?;
    let mut spec = mechanical(name)?;
    if options.slow != 1.0 {
        let times = |span: Span| Span::from_secs_f64(span.as_secs_f64() * options.slow);
        let seek = &mut spec.seek;
        for part in [&mut seek.settle, &mut seek.root, &mut seek.linear, &mut spec.overhead] {
            *part = times(*part);
        }
    }
    // In virtual time the way to the drive takes none.
    if !keeps_time {
        let path_time = options.path_time.nanos().min(spec.turnaround.nanos());
        spec.turnaround = Span::from_nanos(spec.turnaround.nanos() - path_time);
    }
    Ok(spec)
}

/// The drive of that model.
pub(super) fn device(
    spec: &HddSpec,
    options: &DriveOptions,
    backing: Option<&Path>,
) -> Result<ScsiDevice, Failure> {
    let capability = match spec.limits {
        Some(_) => options.claims.capability(),
        None => Capability::None,
    };
    let times = spec.limits.map_or(TIMES.0..=TIMES.1, |range| range.shortest..=range.longest);
    let disk = ScsiDisk::new(identity(spec, options.seed), capability, times);
    let mut medium = if options.at_once {
        DriveMedium::instant()
    } else {
        DriveMedium::mechanical(Hdd::new(spec.clone(), options.seed))
    };
    for fault in options.faults(spec.sectors).map_err(Failure::Input)? {
        medium.damage(fault);
    }
    let contents = match backing {
        None => DriveContents::Zeros,
        Some(path) => {
            DriveContents::open(path, spec.capacity()).map_err(|error| of_contents(path, error))?
        }
    };
    Ok(ScsiDevice::new(disk, medium, contents))
}

/// Why a file holds no drive.
fn of_contents(path: &Path, error: ContentsError) -> Failure {
    let text = format!("{}: {error}", path.display());
    match error {
        ContentsError::Open(error) | ContentsError::Large { error, .. } => {
            Failure::refused(error.kind(), text)
        }
        ContentsError::NoFile | ContentsError::OtherDrive { .. } => Failure::Input(text),
    }
}

fn identity(spec: &HddSpec, seed: u64) -> DiskIdentity {
    DiskIdentity {
        vendor: "LOADLINE".to_owned(),
        product: spec.name.clone(),
        revision: "0001".to_owned(),
        serial: format!("LL{seed:010}"),
        world_wide: seed,
        blocks: spec.sectors,
        rpm: u16::try_from(spec.rpm).unwrap_or(u16::MAX),
        write_cache: spec.cached_writes > 0,
    }
}

fn show_statistics(statistics: &DriveStatistics, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return show::json(&serde_json::to_value(statistics).expect("plain figures"));
    }
    let sets = [("read", &statistics.counts.reads), ("write", &statistics.counts.writes)];
    let rows: Vec<[String; 10]> = sets
        .iter()
        .flat_map(|(kind, set)| {
            let used = set.iter().enumerate().filter(|(_, counts)| counts.commands > 0);
            used.map(|(descriptor, counts)| row(kind, descriptor, counts))
        })
        .collect();
    let head = [
        "",
        "descriptor",
        "commands",
        "data",
        "met",
        "missed",
        "ended",
        "failed",
        "aborted",
        "mean",
    ];
    let counts = &statistics.counts;
    show::text(&format!(
        "{}{} flushes, {} other commands, {} refused, {} task management functions, {} machines in {} s\n",
        show::table(head, &[], &rows),
        counts.flushes,
        counts.others,
        counts.refused,
        counts.task_functions,
        counts.sessions,
        statistics.seconds
    ))
}

fn row(kind: &str, descriptor: usize, counts: &CommandCounts) -> [String; 10] {
    let done = counts.commands - counts.ended - counts.failed - counts.aborted;
    [
        kind.to_owned(),
        if descriptor == 0 { "none".to_owned() } else { descriptor.to_string() },
        counts.commands.to_string(),
        Bytes::new(counts.bytes).to_string(),
        counts.met.to_string(),
        counts.missed.to_string(),
        counts.ended.to_string(),
        counts.failed.to_string(),
        counts.aborted.to_string(),
        format!("{:.1}", Span::from_nanos(counts.done_ns / done.max(1))),
    ]
}
