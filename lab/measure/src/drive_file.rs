//! The drive file that follows from a measurement, for the simulator's drive model. What the model has and a measurement
//! cannot give is taken from elsewhere, and the file says so. `docs/drive-models.md` tells how each figure is found.

use crate::measured::Measured;
use crate::plan::{Does, OBJECT, SMALL};
use loadline_base::Span;
use loadline_device::Medium;
use loadline_sim::Drive;
use std::fmt::Write;

/// The rate at this depth counts: an OSD's store has no more small writes in flight (qos.md 13.1: 256 KiB in 4 KiB).
const STORE_DEPTH: u32 = 64;

/// Why there is no drive file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDriveFile {
    /// Only reads were measured.
    #[error(
        "writes are not measured, and the drive model is about them; name a file that is not there yet, or say --write"
    )]
    NoWrites,
}

/// What the file tells of its origin.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// What the drive is called, without folder and ending.
    pub name: String,
    /// When it was measured, as text.
    pub when: String,
    /// By which command.
    pub command: String,
    /// On which machine.
    pub host: String,
    /// The medium, if somebody knows better than the figures.
    pub medium: Option<Medium>,
}

/// The model's figures.
struct ModelFigures {
    medium: Medium,
    writes: ServerTimes,
    reads: Option<ReadTimes>,
    first_write_per_mib: Option<Span>,
    channels: u32,
}

/// One server with two unknowns meets two measured rates: that of small random transfers at the store's depth, and that of whole
/// objects one after the other. `per_request + per_mib × size` is the reciprocal of each.
struct ServerTimes {
    iops: f64,
    bytes_per_s: f64,
    per_request: Span,
    per_mib: Span,
}

/// The same of reads, and how long a small one takes that is alone, without its transfer.
struct ReadTimes {
    server: ServerTimes,
    latency: Span,
}

impl ServerTimes {
    /// `None` if not measured.
    fn of(measured: &Measured, does: Does) -> Option<ServerTimes> {
        let small = measured.best(does, SMALL, STORE_DEPTH)?;
        let large = measured.best(does, OBJECT, STORE_DEPTH)?;
        let [short, long] = [1.0 / small.iops.mean, 1.0 / large.iops.mean];
        let (small_mib, large_mib) = (SMALL.as_mib_f64(), OBJECT.as_mib_f64());
        let per_mib = ((long - short) / (large_mib - small_mib)).max(0.0);
        let per_request = (short - per_mib * small_mib).max(1e-9);
        Some(ServerTimes {
            iops: small.iops.mean,
            bytes_per_s: large.bytes_per_s,
            per_request: Span::from_secs_f64(per_request),
            per_mib: Span::from_secs_f64(per_mib),
        })
    }
}

impl ReadTimes {
    fn of(measured: &Measured) -> Option<ReadTimes> {
        let server = ServerTimes::of(measured, Does::Read)?;
        let alone = measured.best(Does::Read, SMALL, 1)?.latency_ns.p50 as f64 / 1e9;
        let transfer = server.per_mib.as_secs_f64() * SMALL.as_mib_f64();
        let latency = Span::from_secs_f64((alone - transfer).max(0.0));
        Some(ReadTimes { server, latency })
    }
}

impl ModelFigures {
    fn of(measured: &Measured, medium: Option<Medium>) -> Result<ModelFigures, NoDriveFile> {
        let writes = ServerTimes::of(measured, Does::Write).ok_or(NoDriveFile::NoWrites)?;
        let rotating = if measured.is_rotating() { Medium::Hdd } else { Medium::Ssd };
        let first = measured.first_write_bytes_per_s;
        Ok(ModelFigures {
            medium: medium.unwrap_or(rotating),
            channels: channels(measured, writes.iops),
            reads: ReadTimes::of(measured),
            first_write_per_mib: first.map(|rate| Span::from_secs_f64(f64::from(1 << 20) / rate)),
            writes,
        })
    }

    /// What the file's `[service]` says of first writes and of reads.
    fn others(&self) -> String {
        let mut text = String::new();
        let mut line = |words: String| writeln!(text, "{words}").expect("a text grows");
        if let Some(first) = self.first_write_per_mib {
            line(format!(
                "first_write_per_mib = \"{} ns\"  # measured: the first writing of the file, before anything was in it",
                first.nanos()
            ));
        }
        match &self.reads {
            None => line("reads = \"beside\"            # not measured: they pass the writes, each in the time of one request".to_owned()),
            Some(ReadTimes { server, latency }) => {
                line("reads = \"shared\"            # at their own cost".to_owned());
                line("\n[service.read]".to_owned());
                line(format!("latency = \"{} ns\"        # measured: the median of one alone, without its transfer", latency.nanos()));
                line(format!("line = \"{} ns\"           # from both rates of reads", server.per_request.nanos()));
                line(format!("per_mib = \"{} ns\"", server.per_mib.nanos()));
            }
        }
        text
    }
}

/// As many small writes as are under way in the drive at its best rate, each for as long as half of those take that are alone (Little's
/// law). Their mean would count the waits of whoever measures for a processor.
fn channels(measured: &Measured, iops: f64) -> u32 {
    let alone = measured.best(Does::Write, SMALL, 1);
    let under_way = alone.map_or(1.0, |alone| iops * alone.latency_ns.p50 as f64 / 1e9);
    (under_way.round() as u32).clamp(1, STORE_DEPTH)
}

/// The text of a drive file.
///
/// # Errors
/// [`NoDriveFile`] if the measurement does not have what the model needs.
///
/// # Panics
/// If the simulator refuses the text: that is a bug of this crate.
pub fn drive_file(measured: &Measured, from: &Provenance) -> Result<String, NoDriveFile> {
    let figures = ModelFigures::of(measured, from.medium)?;
    let text = head(measured, from) + &body(measured, &figures, from);
    if let Err(refused) = Drive::parse(&from.name, &from.name, &text) {
        panic!("a drive file that the simulator does not take: {refused}\n{text}");
    }
    Ok(text)
}

/// Where it comes from, as comments.
fn head(measured: &Measured, from: &Provenance) -> String {
    let drive = &measured.drive;
    let mut text = String::new();
    let mut line = |words: String| {
        // A comment is one line whatever stands in a path.
        let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        writeln!(text, "# {words}").expect("a text grows");
    };
    line(format!("Measured at {} by `{}`", from.when, from.command));
    line(format!("on {}.", from.host));
    line(format!(
        "{} of {} ({}), {}, {}; {} times {} s each point.",
        loadline_base::Bytes::new(measured.drive.region_bytes),
        drive.path.display(),
        drive.file_system.as_deref().unwrap_or("a device"),
        drive.mode,
        drive.event_loop,
        measured.repeats,
        measured.seconds
    ));
    for warning in &measured.warnings {
        line(format!("Note: {warning}"));
    }
    line(
        "docs/drive-models.md tells how each figure was found, and what the model leaves out."
            .to_owned(),
    );
    text
}

fn body(measured: &Measured, figures: &ModelFigures, from: &Provenance) -> String {
    let drive = &measured.drive;
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let names = [drive.model.as_deref(), drive.device.as_deref()];
    let name = names.into_iter().flatten().next().unwrap_or("a drive without a name");
    let model = quoted(&format!("{name}, measured through {}", drive.path.display()));
    let source = quoted(&format!(
        "none is published: four thirds of the drive's own {:.0} IOPS, which is what four of them with three copies could do at most; measured at {}",
        figures.writes.iops, from.when
    ));
    let peak =
        quoted(&format!("{:.0} MB/s, measured in whole objects", figures.writes.bytes_per_s / 1e6));
    let window = match figures.medium {
        Medium::Ssd => "256 KiB",
        Medium::Hdd | Medium::Hybrid => "40 MiB",
    };
    format!(
        r#"model = {model}
medium = "{medium}"
capacity_iops = {iops:.0}        # measured: 4 KiB random writes; an OSD on it does fewer, see its start benchmark
bandwidth = "{bandwidth:.2} MiB"  # measured: 4 MiB sequential writes, per second
window = "{window}"         # not measured: bluestore_throttle_bytes of the study (qos.md 13.1)
worker_time = "15 us"       # not measured: qos.md 13.3b
link_delay = "0"            # not measured: the OSDs of one host hand messages over at once
link_mib = "0"

[service]
per_request = "{per_request} ns"  # from both rates of writes
per_mib = "{per_mib} ns"
channels = {channels}                # measured: the rate of small writes times the median of one alone; a disk with contents serves so many at once
{others}
[calibration]
baseline_iops = {baseline:.0}
source = {source}
peak = {peak}
"#,
        medium = figures.medium,
        iops = figures.writes.iops.max(1.0),
        bandwidth = (figures.writes.bytes_per_s / f64::from(1 << 20)).max(0.01),
        per_request = figures.writes.per_request.nanos().max(1),
        per_mib = figures.writes.per_mib.nanos(),
        channels = figures.channels,
        baseline = (figures.writes.iops * 4.0 / 3.0).max(1.0),
        others = figures.others(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::MeasuredDrive;
    use crate::plan::TransferPattern;
    use crate::point::{Estimate, Latencies, PointResult};
    use loadline_base::Bytes;
    use loadline_sim::ReadService;

    fn point(block: Bytes, pattern: TransferPattern, iops: f64) -> PointResult {
        let latency_ns = Latencies { mean: 1e6, p50: 1, p95: 1, p99: 1, p99_9: 1, max: 1 };
        PointResult {
            does: Does::Write,
            pattern,
            block_bytes: block.get(),
            depth: 4,
            iops: Estimate { mean: iops, half_width: 0.0 },
            bytes_per_s: iops * block.get() as f64,
            latency_ns,
            cpu_us: 1.0,
            repeats: vec![iops, iops],
            unsteady: 0,
        }
    }

    fn measured(small: f64, large: f64) -> Measured {
        let points = vec![
            point(SMALL, TransferPattern::Random, small),
            point(OBJECT, TransferPattern::Sequential, large),
        ];
        let drive = MeasuredDrive {
            path: "disk".into(),
            region_bytes: 64 << 20,
            device: None,
            model: None,
            rotational: None,
            scheduler: None,
            file_system: None,
            mode: "direct".into(),
            event_loop: "io_uring".into(),
        };
        Measured {
            drive,
            seconds: 1.0,
            repeats: 2,
            first_write_bytes_per_s: None,
            points,
            warnings: Vec::new(),
        }
    }

    /// Both times are rounded to nanoseconds, so the small transfer is off by at most half of one and 1/512, the
    /// large one by half of one and two.
    #[test]
    fn one_server_meets_both_rates() {
        let figures = ModelFigures::of(&measured(20_000.0, 250.0), None).unwrap();
        let of = |mib: f64| {
            figures.writes.per_request.nanos() as f64 + figures.writes.per_mib.nanos() as f64 * mib
        };
        assert!((of(1.0 / 256.0) - 50_000.0).abs() < 0.6, "{}", of(1.0 / 256.0));
        assert!((of(4.0) - 4_000_000.0).abs() < 2.6, "{}", of(4.0));
    }

    /// Small transfers that cost less per byte than large ones leave nothing for the request itself: 100 ms for 4 MiB are
    /// 97.7 us for 4 KiB, and 10 us were measured.
    #[test]
    fn a_cluster_of_four_with_three_copies_does_four_thirds_of_a_drive() {
        let (name, when) = ("mine".to_owned(), "2026-01-01T00:00:00Z".to_owned());
        let (command, host) = ("loadline drive measure".to_owned(), "a machine".to_owned());
        let from = Provenance { name, when, command, host, medium: None };
        let text = drive_file(&measured(30_000.0, 250.0), &from).unwrap();
        let has = |line: &str| text.lines().any(|found| found.starts_with(line));
        assert!(has("capacity_iops = 30000 ") && has("baseline_iops = 40000"), "{text}");
    }

    #[test]
    fn no_time_is_negative() {
        let figures = ModelFigures::of(&measured(100_000.0, 10.0), None).unwrap();
        assert_eq!(figures.writes.per_request, Span::from_nanos(1));
        let even = ModelFigures::of(&measured(100.0, 1_000.0), None).unwrap();
        let even = even.writes;
        assert_eq!((even.per_mib, even.per_request), (Span::ZERO, Span::from_millis(10)));
    }

    /// 250 reads of 4 MiB a second are 1 ms for each MiB, and the small one takes 1 ns at once; what a new file took at 512 MiB a second was
    /// 1.95 ms for each.
    #[test]
    fn reads_and_first_writes_have_times_of_their_own() {
        let mut measured = measured(30_000.0, 1000.0);
        let (name, when) = ("mine".to_owned(), "2026-01-01T00:00:00Z".to_owned());
        let (command, host) = ("loadline drive measure".to_owned(), "a machine".to_owned());
        let from = Provenance { name, when, command, host, medium: None };
        let read = |measured: &Measured| {
            let text = drive_file(measured, &from).unwrap();
            Drive::parse("mine", "mine", &text).expect("it can be read")
        };
        let drive = read(&measured);
        assert_eq!((drive.service.reads, drive.first_write_per_mib), (ReadService::Beside, None));
        let read_of = |block, pattern, iops| PointResult {
            does: Does::Read,
            depth: 1,
            ..point(block, pattern, iops)
        };
        measured.points.push(read_of(SMALL, TransferPattern::Random, 20_000.0));
        measured.points.push(read_of(OBJECT, TransferPattern::Sequential, 250.0));
        measured.first_write_bytes_per_s = Some(512.0 * f64::from(1 << 20));
        let drive = read(&measured);
        let ReadService::Shared(read) = drive.service.reads else { panic!("they share it") };
        assert_eq!(read.latency, Span::ZERO);
        assert!((read.per_mib.as_secs_f64() - 988e-6).abs() < 1e-6, "{}", read.per_mib);
        assert!((read.line.as_secs_f64() - 46e-6).abs() < 1e-6, "{}", read.line);
        assert_eq!(drive.first_write_per_mib, Some(Span::from_nanos(1_953_125)));
    }
}
