//! Drive files: a calibrated drive as data, with where each figure comes from.

use crate::drive::{ReadService, ReadTime, ServiceTime, Slices};
use crate::hdd::HddSpec;
use loadline_base::{Bytes, Span, TextFault};
use loadline_device::Medium;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::RangeInclusive;

/// A calibrated drive as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// The file's name without folder and ending.
    pub name: String,
    /// What it stands for.
    pub model: String,
    /// Selects defaults.
    pub medium: Medium,
    /// The published baseline that one OSD's capacity is configured with (IOPS).
    pub capacity_iops: f64,
    /// Sequential bandwidth that byte costs are configured with (bytes per second).
    pub bandwidth: Bytes,
    /// How long requests take.
    pub service: ServiceTime,
    /// What each MiB takes that is written where nothing was before, if it was measured.
    pub first_write_per_mib: Option<Span>,
    /// How many small requests it serves at once, each in so many times its own; a calibrated drive is one line.
    pub channels: u32,
    /// What the store lets in at a time.
    pub window: Bytes,
    /// Processor time per item.
    pub worker_time: Span,
    /// One-way delay of messages.
    pub link_delay: Span,
    /// What each MiB of a recovered object takes on its link.
    pub link_mib: Span,
    /// What the drive was calibrated from.
    pub calibration: Calibration,
}

/// A file of `drives/`: what it describes stands in its field `kind`.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyDrive {
    /// One server, calibrated from rates of whole OSDs; the file has no `kind`.
    Calibrated(Drive),
    /// Arm, spindle and queue: `kind = "mechanical"`.
    Mechanical(HddSpec),
}

impl AnyDrive {
    /// Reads a drive file's text. `name` is what the drive is called, `file` is what errors name.
    ///
    /// # Errors
    /// [`DriveError`] with file, line and field for anything that cannot be used.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<AnyDrive, DriveError> {
        match is_mechanical(file, text)? {
            true => HddSpec::parse(name, file, text).map(AnyDrive::Mechanical),
            false => Drive::calibrated(name, file, text).map(AnyDrive::Calibrated),
        }
    }
}

/// What tells files from each other.
#[derive(Default, Deserialize)]
struct DriveFileHead {
    kind: Option<toml::Value>,
    setup: Option<toml::Value>,
}

/// Whether a file names a kind of drive; only mechanical ones do. A file that is no TOML at all names none. A study's file has a `kind` too; what
/// it has and no drive has are setups.
fn is_mechanical(file: &str, text: &str) -> Result<bool, DriveError> {
    let head: DriveFileHead = toml::from_str(text).unwrap_or_default();
    match head.setup.is_some() {
        false => Ok(head.kind.is_some()),
        true => Err(DriveError {
            file: file.to_owned(),
            line: None,
            reason: "this is a study file, and a drive's is needed, such as `nvme-p3700`"
                .to_owned(),
        }),
    }
}

/// The published rates behind a drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Random 4 KiB writes per second at depth 64 through four OSDs and three copies.
    pub baseline_iops: f64,
    /// Where they are published.
    pub source: String,
    /// How the peak bandwidth is known.
    pub peak: String,
    /// What the figures of its reads were fitted to, if they were.
    pub reads: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    model: String,
    medium: MediumName,
    capacity_iops: f64,
    bandwidth: WithUnit<Bytes>,
    window: WithUnit<Bytes>,
    worker_time: WithUnit<Span>,
    link_delay: WithUnit<Span>,
    link_mib: WithUnit<Span>,
    service: ServiceFile,
    calibration: Calibration,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum MediumName {
    Hdd,
    Hybrid,
    Ssd,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceFile {
    per_request: WithUnit<Span>,
    per_part: Option<WithUnit<Span>>,
    per_mib: WithUnit<Span>,
    first_write_per_mib: Option<WithUnit<Span>>,
    slices: Option<SlicesFile>,
    channels: Option<u32>,
    reads: ReadsName,
    read: Option<ReadFile>,
}

/// What a read takes that shares the drive with writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    latency: WithUnit<Span>,
    line: WithUnit<Span>,
    per_mib: WithUnit<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlicesFile {
    large_from: WithUnit<Bytes>,
    slice: WithUnit<Span>,
}

#[derive(Deserialize)]
enum ReadsName {
    #[serde(rename = "in line")]
    InLine,
    #[serde(rename = "beside")]
    Beside,
    #[serde(rename = "shared")]
    Shared,
}

/// A quantity that is written as text with its unit.
pub(crate) struct WithUnit<T>(pub(crate) T);

impl<'de, T> Deserialize<'de> for WithUnit<T>
where
    T: std::str::FromStr,
    T::Err: fmt::Display,
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(WithUnit).map_err(|error| {
            serde::de::Error::custom(format!("`{text}` is not understood: {error}"))
        })
    }
}

/// A drive file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveError {
    /// The file.
    pub file: String,
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl std::error::Error for DriveError {}

impl Drive {
    /// The small operations per second that an OSD can be told that its disk does.
    pub const IOPS: RangeInclusive<f64> = 1.0..=1e9;
    /// The bytes per second that it can be told so.
    pub const BANDWIDTH: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::from_mib(1000 << 10);

    /// Reads a drive file's text. `name` is what the drive is called, `file` is what errors name.
    ///
    /// # Errors
    /// [`DriveError`] with file, line and field for anything that cannot be used.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Drive, DriveError> {
        if is_mechanical(file, text)? {
            let reason = "a mechanical drive, on which studies of duration limits and `loadline cdl bench` run; here a calibrated one such as `nvme-p3700` is needed";
            let line = line_of(text, "kind");
            return Err(DriveError { file: file.to_owned(), line, reason: reason.to_owned() });
        }
        Drive::calibrated(name, file, text)
    }

    /// Reads a file that is no mechanical drive's.
    fn calibrated(name: &str, file: &str, text: &str) -> Result<Drive, DriveError> {
        let read = read_toml::<DriveFile>(file, text)?;
        if matches!(read.service.reads, ReadsName::Shared) != read.service.read.is_some() {
            let right =
                "`shared` where a section `[service.read]` says what a read takes, and there alone";
            return Err(refuse(file, text, "reads", right));
        }
        let drive = read.into_drive(name);
        match drive.fault() {
            Some((field, right)) => Err(refuse(file, text, field, right)),
            None => Ok(drive),
        }
    }

    /// The same under OSDs of one process: messages between them are on no way, and what they take of a processor is not the drive's to say.
    pub fn on_one_host(self) -> Drive {
        Drive { worker_time: Span::ZERO, link_delay: Span::ZERO, link_mib: Span::ZERO, ..self }
    }

    /// The first field that makes no sense, and what would.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let is_rate = |iops: f64| Drive::IOPS.contains(&iops);
        let is_bandwidth = Drive::BANDWIDTH.contains(&self.bandwidth);
        let checks = [
            (is_rate(self.capacity_iops), "capacity_iops", "from 1 to 1000000000 IOPS"),
            (is_bandwidth, "bandwidth", "from 1 B to 1000 GiB per second"),
            (self.window > Bytes::ZERO, "window", "at least one byte"),
            ((1..=1024).contains(&self.channels), "channels", "from 1 to 1024"),
            (self.service.per_request > Span::ZERO, "per_request", "longer than 0"),
            (is_rate(self.calibration.baseline_iops), "baseline_iops", "from 1 to 1000000000 IOPS"),
        ];
        checks.into_iter().find(|(good, ..)| !good).map(|(_, field, right)| (field, right))
    }
}

/// A drive file's fields.
pub(crate) fn read_toml<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, DriveError> {
    toml::from_str(text).map_err(|problem| {
        let at = problem.span().map(|span| span.start);
        let fault = TextFault::of_toml(text, at, problem.message());
        DriveError { file: file.to_owned(), line: fault.line, reason: fault.sentence() }
    })
}

/// What is said of a field that makes no sense.
pub(crate) fn refuse(file: &str, text: &str, field: &str, right: &str) -> DriveError {
    let reason = format!("`{field}` must be {right}");
    DriveError { file: file.to_owned(), line: line_of(text, field), reason }
}

/// The line on which a field is set.
fn line_of(text: &str, field: &str) -> Option<usize> {
    let sets = |line: &str| {
        line.trim_start().strip_prefix(field).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().position(sets).map(|index| index + 1)
}

impl DriveFile {
    fn into_drive(self, name: &str) -> Drive {
        Drive {
            name: name.to_owned(),
            model: self.model,
            medium: match self.medium {
                MediumName::Hdd => Medium::Hdd,
                MediumName::Hybrid => Medium::Hybrid,
                MediumName::Ssd => Medium::Ssd,
            },
            capacity_iops: self.capacity_iops,
            bandwidth: self.bandwidth.0,
            service: ServiceTime {
                per_request: self.service.per_request.0,
                per_part: self.service.per_part.unwrap_or(self.service.per_request).0,
                per_mib: self.service.per_mib.0,
                slices: self.service.slices.map(|slices| Slices {
                    large_from: slices.large_from.0,
                    slice: slices.slice.0,
                }),
                reads: match self.service.reads {
                    ReadsName::InLine => ReadService::InLine,
                    ReadsName::Beside => ReadService::Beside,
                    ReadsName::Shared => {
                        let read = self.service.read.expect("it was looked for");
                        ReadService::Shared(ReadTime {
                            latency: read.latency.0,
                            line: read.line.0,
                            per_mib: read.per_mib.0,
                        })
                    }
                },
            },
            first_write_per_mib: self.service.first_write_per_mib.map(|each| each.0),
            channels: self.service.channels.unwrap_or(1),
            window: self.window.0,
            worker_time: self.worker_time.0,
            link_delay: self.link_delay.0,
            link_mib: self.link_mib.0,
            calibration: self.calibration,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"model = "a drive"
medium = "ssd"
capacity_iops = 21500
bandwidth = "1200 MiB"
window = "256 KiB"
worker_time = "15 us"
link_delay = "60 us"
link_mib = "500 us"

[service]
per_request = "54 us"
per_mib = "698 us"
reads = "beside"

[calibration]
baseline_iops = 21500
source = "a paper"
peak = "the same paper"
"#;

    #[test]
    fn a_good_file_is_read() {
        let drive = Drive::parse("d", "drives/d.toml", GOOD).expect("the file is good");
        let link = (drive.link_delay, drive.link_mib);
        assert_eq!(drive.window, Bytes::from_kib(256));
        assert_eq!(link, (Span::from_micros(60), Span::from_micros(500)));
    }

    #[test]
    fn a_bad_file_is_refused_with_its_place() {
        let check = |from: &str, to: &str, says: &str| {
            let text = GOOD.replace(from, to);
            let error = Drive::parse("d", "drives/d.toml", &text).expect_err("the file is bad");
            let shown = error.to_string();
            assert!(shown.contains(says), "{shown}");
        };
        check(
            "window = \"256 KiB\"",
            "window = \"256 KB\"",
            "drives/d.toml:5: window: `256 KB` is not understood",
        );
        check("window", "windov", "drives/d.toml:5: unknown field `windov`");
        let iops = "baseline_iops = 21500";
        let refused = "drives/d.toml:16: `baseline_iops` must be from 1 to 1000000000 IOPS";
        check(iops, "baseline_iops = 0", refused);
        let medium = "drives/d.toml:2: medium: unknown word `tape`";
        check("medium = \"ssd\"", "medium = \"tape\"", medium);
        check(
            "reads = \"beside\"",
            "reads = \"shared\"",
            "drives/d.toml:13: `reads` must be `shared` where",
        );
    }
}
