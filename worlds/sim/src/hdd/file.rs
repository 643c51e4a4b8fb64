//! The file of a mechanical drive.

use super::spec::{HddSpec, LimitRange, Ordering, SECTOR, Seek};
use crate::drive_file::{DriveError, WithUnit, read_toml, refuse};
use loadline_base::{Bytes, Span};
use serde::Deserialize;

/// The files of the drives that the program carries, in the order of their names in [`HddSpec::BUILT_IN`].
const FILES: [&str; 3] = [
    include_str!("../../../../drives/hdd-22tb-cdl.toml"),
    include_str!("../../../../drives/hdd-7200-4tb.toml"),
    include_str!("../../../../drives/hdd-7200-6tb.toml"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HddFile {
    #[serde(rename = "kind")]
    _kind: KindName,
    model: String,
    sectors: u64,
    rpm: u32,
    heads: u32,
    zones: u32,
    outer_rate: WithUnit<Bytes>,
    inner_rate: WithUnit<Bytes>,
    head_switch: WithUnit<Span>,
    write_settle: WithUnit<Span>,
    overhead: WithUnit<Span>,
    turnaround: WithUnit<Span>,
    link_rate: WithUnit<Bytes>,
    tags: u32,
    cached_writes: u32,
    recovery: WithUnit<Span>,
    seek: SeekFile,
    limits: Option<DriveLimitsFile>,
    ordering: OrderingFile,
}

#[derive(Deserialize)]
enum KindName {
    #[serde(rename = "mechanical")]
    Mechanical,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeekFile {
    settle: WithUnit<Span>,
    root: WithUnit<Span>,
    linear: WithUnit<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveLimitsFile {
    shortest: WithUnit<Span>,
    longest: WithUnit<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderingFile {
    patience: f64,
    notice: WithUnit<Span>,
    urgency: WithUnit<Span>,
    falloff: WithUnit<Span>,
    lateness: f64,
}

impl HddSpec {
    /// The drives that the program carries.
    pub const BUILT_IN: [&'static str; FILES.len()] =
        ["hdd-22tb-cdl", "hdd-7200-4tb", "hdd-7200-6tb"];

    /// Reads a drive file's text. `name` is what the drive is called, `file` is what errors name.
    ///
    /// # Errors
    /// [`DriveError`] with file, line and field for anything that cannot be used.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<HddSpec, DriveError> {
        let spec = read_toml::<HddFile>(file, text)?.into_spec(name);
        match spec.fault() {
            Some((field, right)) => Err(refuse(file, text, field, right)),
            None => Ok(spec),
        }
    }

    /// A drive that the program carries; `None` if there is none of this name.
    pub fn built_in(name: &str) -> Option<HddSpec> {
        let (name, text) = Self::BUILT_IN.iter().zip(FILES).find(|(own, _)| **own == name)?;
        Some(HddSpec::parse(name, name, text).expect("a built-in drive file is sound"))
    }

    /// The first field that makes no sense, and what would.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let checks = [
            (self.sectors > 0, "sectors", "at least 1"),
            (self.sectors <= SECTORS_MAX, "sectors", "at most 2^48"),
            ((1..=100_000).contains(&self.rpm), "rpm", "1 to 100000"),
            (self.heads > 0, "heads", "at least 1"),
            ((1..=1000).contains(&self.zones), "zones", "1 to 1000"),
            (self.inner_rate > Bytes::ZERO, "inner_rate", "more than 0 bytes per second"),
            (self.outer_rate >= self.inner_rate, "outer_rate", "at least the inner rate"),
            (self.link_rate > Bytes::ZERO, "link_rate", "more than 0 bytes per second"),
            (self.tags > 0, "tags", "at least 1"),
            (self.ordering.patience > 0.0, "patience", "more than 0"),
            (self.ordering.falloff > Span::ZERO, "falloff", "longer than 0"),
            (self.ordering.lateness >= 0.0, "lateness", "0 or more"),
        ];
        let bad =
            checks.into_iter().find(|(good, ..)| !good).map(|(_, field, right)| (field, right));
        bad.or_else(|| {
            let right = "so few that they fill fewer than 2^31 cylinders";
            (self.cylinders_at_most() >= 1 << 31).then_some(("sectors", right))
        })
    }

    /// As many as there would be if all tracks were as short as the innermost.
    fn cylinders_at_most(&self) -> u64 {
        let track = (self.inner_rate.get() as f64 * self.turn().as_secs_f64()) as u64 / SECTOR;
        self.sectors / track.max(1) / u64::from(self.heads)
    }
}

/// Sectors of the largest drive: their bytes fit 64 bits.
const SECTORS_MAX: u64 = 1 << 48;

impl HddFile {
    fn into_spec(self, name: &str) -> HddSpec {
        let seek = self.seek;
        HddSpec {
            name: name.to_owned(),
            model: self.model,
            sectors: self.sectors,
            rpm: self.rpm,
            heads: self.heads,
            zones: self.zones,
            outer_rate: self.outer_rate.0,
            inner_rate: self.inner_rate.0,
            head_switch: self.head_switch.0,
            seek: Seek { settle: seek.settle.0, root: seek.root.0, linear: seek.linear.0 },
            write_settle: self.write_settle.0,
            overhead: self.overhead.0,
            turnaround: self.turnaround.0,
            link_rate: self.link_rate.0,
            tags: self.tags,
            cached_writes: self.cached_writes,
            recovery: self.recovery.0,
            limits: self
                .limits
                .map(|range| LimitRange { shortest: range.shortest.0, longest: range.longest.0 }),
            ordering: self.ordering.into_ordering(),
        }
    }
}

impl OrderingFile {
    fn into_ordering(self) -> Ordering {
        Ordering {
            patience: self.patience,
            notice: self.notice.0,
            urgency: self.urgency.0,
            falloff: self.falloff.0,
            lateness: self.lateness,
        }
    }
}
