//! `loadline drive measure`

use super::args::MeasureArgs;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::show;
use crate::timestamp::rfc3339;
use crate::{command_line, writable};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadline_base::{Bytes, Span};
use loadline_host::{folder_of, plain_path};
use loadline_measure::{
    MeasureError, MeasureProgress, MeasureTarget, Measured, NoDriveFile, PointResult, Provenance,
    drive_file, measure,
};
use loadline_study::Host;
use serde_json::json;
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Steps of the bar.
const STEPS: u64 = 1000;

pub(super) fn carry_out(args: &MeasureArgs) -> Result<(), Failure> {
    check_out(args)?;
    let order = args.order();
    let target = MeasureTarget::open(&order).map_err(failure)?;
    if args.out.is_some() && !target.is_written() {
        return Err(Failure::Input(NoDriveFile::NoWrites.to_string()));
    }
    let interrupted = interruptible()?;
    let mut shown = ShownRounds::new();
    let measured = measure(target, &order, &mut |progress| {
        shown.show(&progress);
        !interrupted.load(Ordering::Relaxed)
    });
    shown.end();
    let measured = measured.map_err(failure)?;
    let file = args.out.as_deref().map(|out| write_file(&measured, out, args)).transpose()?;
    if args.json.json {
        let value = serde_json::to_value(&measured).expect("plain figures");
        return show::json(&json!({ "measured": value, "drive_file": file.map(|_| &args.out) }));
    }
    show::text(&in_words(&measured, args.out.as_deref()))
}

/// Refuses before anything is measured what could not be written afterwards.
fn check_out(args: &MeasureArgs) -> Result<(), Failure> {
    let Some(out) = &args.out else { return Ok(()) };
    let place = out.display();
    if out.extension().is_none_or(|ending| ending != "toml") {
        return Err(Failure::Input(format!("--out {place}: a drive file's name ends in .toml")));
    }
    if plain_path(out) == plain_path(&args.path) {
        let text = format!("--out {place}: it is what is measured; name another file");
        return Err(Failure::Input(text));
    }
    if fs::symlink_metadata(out).is_ok() && !args.yes {
        let text =
            format!("--out {place}: it is there already; name another, or say --yes to replace it");
        return Err(Failure::Input(text));
    }
    writable::own(out)?;
    // Its folder is made.
    out.parent().map_or(Ok(()), writable::folder)
}

fn failure(error: MeasureError) -> Failure {
    match error {
        MeasureError::Refused(_) => Failure::Input(error.to_string()),
        MeasureError::Open(error) => error.into(),
        MeasureError::Interrupted => Failure::Interrupted(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    }
}

fn write_file(measured: &Measured, out: &Path, args: &MeasureArgs) -> Result<(), Failure> {
    #[expect(clippy::disallowed_methods, reason = "the drive file says when it was measured")]
    let when = rfc3339(SystemTime::now());
    let host = Host::here();
    let from = Provenance {
        name: out.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into()),
        when,
        command: command_line::words().collect::<Vec<_>>().join(" "),
        host: format!("{} ({} cores), {}", host.cpu, host.cores, host.kernel),
        medium: args.medium.map(Into::into),
    };
    let text = drive_file(measured, &from).map_err(|error| Failure::Input(error.to_string()))?;
    let unwritable = |error: std::io::Error| Failure::unwritable(out, &error);
    fs::create_dir_all(folder_of(out)).map_err(unwritable)?;
    match args.yes {
        true => writable::replace(out, text.as_bytes()),
        false => writable::write(out, text),
    }
}

fn in_words(measured: &Measured, out: Option<&Path>) -> String {
    let drive = &measured.drive;
    let region = Bytes::new(drive.region_bytes);
    let parts = [drive.device.as_deref(), drive.model.as_deref(), drive.file_system.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let mut text = format!(
        "{}: {region} on {}; {}, {}; {} times {} s at each point\n\n",
        drive.path.display(),
        parts.join(", "),
        drive.mode,
        drive.event_loop,
        measured.repeats,
        measured.seconds
    );
    let rows: Vec<[String; 10]> = measured.points.iter().map(row).collect();
    let head = ["", "depth", "IOPS", "±", "MiB/s", "mean", "p50", "p99", "p99.9", "CPU us each"];
    text += &show::table(head, &[], &rows);
    for warning in &measured.warnings {
        text += &format!("note: {warning}\n");
    }
    if let Some(out) = out {
        let out = out.display();
        text += &format!(
            "\ndrive file: {out}\nloadline drive show {out}\nloadline study run recovery-nvme --drive {out} --quick\n"
        );
    }
    text
}

fn row(point: &PointResult) -> [String; 10] {
    let time = |nanos: u64| format!("{:.1}", Span::from_nanos(nanos));
    let latency = &point.latency_ns;
    let share = point.iops.half_width / point.iops.mean.max(f64::MIN_POSITIVE);
    [
        point.point().to_string(),
        point.depth.to_string(),
        format!("{:.0}", point.iops.mean),
        format!("{:.1} %", share * 100.0),
        format!("{:.1}", Bytes::new(point.bytes_per_s as u64).as_mib_f64()),
        time(latency.mean as u64),
        time(latency.p50),
        time(latency.p99),
        time(latency.p99_9),
        format!("{:.1}", point.cpu_us),
    ]
}

/// How far it is, on the standard error: a bar in a terminal, a line for each round elsewhere.
struct ShownRounds {
    bar: Option<ProgressBar>,
    told: u64,
}

impl ShownRounds {
    fn new() -> ShownRounds {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}");
            bar.set_style(style.expect("the template is a constant that the bar accepts"));
            bar
        });
        ShownRounds { bar, told: 0 }
    }

    fn show(&mut self, progress: &MeasureProgress<'_>) {
        let (share, words) = match progress {
            MeasureProgress::Filling(share) => (*share, "writing it whole".to_owned()),
            MeasureProgress::Measuring { made, of, point } => {
                let words = format!("{made} of {of}: {point}, depth {}", point.depth);
                (*made as f64 / *of as f64, words)
            }
        };
        match &self.bar {
            Some(bar) => {
                bar.set_position((share * STEPS as f64) as u64);
                bar.set_message(words);
            }
            // Without a bar a line for every tenth is enough.
            None if (share * 10.0) as u64 != self.told => {
                self.told = (share * 10.0) as u64;
                show::note(&format!("{:3.0} %  {words}", share * 100.0));
            }
            None => {}
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
