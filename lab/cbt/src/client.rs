//! The clients of a test: fio on volumes, as three of CBT's benchmarks run it.

use crate::CbtError;
use crate::keys;
use crate::section::{CbtNote, CbtSection, NoteKind, Stated};

/// What all clients of a test do together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbtClient {
    /// Ops under way, of all jobs on all volumes.
    pub depth: Stated<u64>,
    /// Ops per second at most, of all jobs; `None` for as many as come back.
    pub rate: Option<Stated<u64>>,
    /// Bytes of an op.
    pub block: Stated<u64>,
    /// Ops of a hundred that read.
    pub reads_percent: Stated<u64>,
    /// Whether addresses are drawn.
    pub is_random: Stated<bool>,
    /// All volumes together.
    pub image_mib: Stated<u64>,
    /// Bytes of an object of a volume.
    pub object_size: Stated<u64>,
    /// Seconds that clients run; `None` for as long as they are let.
    pub seconds: Option<Stated<u64>>,
}

/// A benchmark of CBT that runs fio, with the keys that it counts its jobs by.
pub(crate) struct FioBenchmark {
    pub(crate) name: &'static str,
    /// How many volumes a client has.
    volumes: Option<&'static str>,
    /// How many processes a volume has.
    processes: &'static str,
    /// How large a volume is, in MiB: the first that is there, and the default.
    sizes: (&'static [&'static str], u64),
}

/// The default of each figure is CBT's.
pub(crate) const FIO_BENCHMARKS: [FioBenchmark; 3] = [
    FioBenchmark {
        name: "librbdfio",
        volumes: Some("volumes_per_client"),
        processes: "procs_per_volume",
        sizes: (&["vol_size"], 65_536),
    },
    FioBenchmark {
        name: "fio",
        volumes: None,
        processes: "procs_per_endpoint",
        sizes: (&["size", "vol_size"], 4096),
    },
    FioBenchmark {
        name: "rbdfio",
        volumes: None,
        processes: "concurrent_procs",
        sizes: (&["vol_size"], 65_536),
    },
];

/// Benchmarks whose clients are others.
pub(crate) const OTHER_BENCHMARKS: [&str; 13] = [
    "cephtestrados",
    "cosbench",
    "elbencho",
    "getput",
    "hsbench",
    "kvmrbdfio",
    "nullbench",
    "radosbench",
    "rawfio",
    "smallfile",
    "stdfiobench",
    "vdbench",
    "warp",
];

/// How each `mode` of fio reads, in ops of a hundred, and whether it draws its addresses; `None` where `rwmixread` says how it reads.
const MODES: [(&str, Option<u64>, bool); 7] = [
    ("read", Some(100), false),
    ("write", Some(0), false),
    ("randread", Some(100), true),
    ("randwrite", Some(0), true),
    ("rw", None, false),
    ("readwrite", None, false),
    ("randrw", None, true),
];

/// Every count of jobs: what a benchmark does not read says nothing.
const COUNTS: [&str; 4] =
    ["volumes_per_client", "procs_per_volume", "procs_per_endpoint", "concurrent_procs"];

/// What can be run as well as what is read of a list.
const SETTABLE: [(&str, &str); 7] = [
    ("mode", "reads"),
    ("op_size", "block"),
    ("bs", "block"),
    ("iodepth", "depth"),
    ("total_iodepth", "depth"),
    ("vol_size", "image"),
    ("rate_iops", "rate"),
];

/// The clients of a benchmark on so many hosts, each of which has so many endpoints.
pub(crate) fn read(
    benchmark: &FioBenchmark,
    section: &CbtSection<'_>,
    (hosts, endpoints): (u64, u64),
    notes: &mut Vec<CbtNote>,
) -> Result<CbtClient, CbtError> {
    section.survey(keys::use_of(keys::BENCHMARK), &keys::names(keys::BENCHMARK), notes);
    note_lists(section, notes);
    note_unread(benchmark, section, notes);
    let volumes = match benchmark.volumes {
        Some(key) => section.count(key, 1)?.value,
        None => endpoints,
    };
    let all_volumes = hosts.saturating_mul(volumes);
    let of_volume = section.count(benchmark.processes, 1)?.value;
    let per_volume = of_volume.saturating_mul(section.count("numjobs", 1)?.value);
    let depth = depth(section, volumes)?;
    let [key, other] = [benchmark.sizes.0[0], benchmark.sizes.0[benchmark.sizes.0.len() - 1]];
    let key = if section.line_of(key).is_some() { key } else { other };
    let volume = section.count(key, benchmark.sizes.1)?;
    if all_volumes > 1 {
        let line = volume.line.unwrap_or(section.line);
        let text = format!("{all_volumes} volumes of {} MiB are one image here", volume.value);
        notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
    }
    let (reads_percent, is_random) = mode(section)?;
    let jobs = all_volumes.saturating_mul(per_volume);
    Ok(CbtClient {
        depth: depth.map(|depth| depth.saturating_mul(hosts.saturating_mul(per_volume))),
        rate: section.whole("rate_iops")?.map(|rate| rate.map(|rate| rate.saturating_mul(jobs))),
        block: block(section)?,
        reads_percent,
        is_random,
        image_mib: volume.map(|volume| volume.saturating_mul(all_volumes)),
        object_size: object_size(section)?,
        seconds: section.whole("time")?.filter(|seconds| seconds.value > 0),
    })
}

/// Ops under way on all volumes of one client, by one process each.
fn depth(section: &CbtSection<'_>, volumes: u64) -> Result<Stated<u64>, CbtError> {
    // Where both are there CBT takes the total one.
    match section.line_of("total_iodepth") {
        Some(_) => section.count("total_iodepth", 16),
        None => Ok(section.count("iodepth", 16)?.map(|depth| depth.saturating_mul(volumes))),
    }
}

/// `bs` has the units of fio, `op_size` is bytes.
fn block(section: &CbtSection<'_>) -> Result<Stated<u64>, CbtError> {
    const DEFAULT: u64 = 4 << 20;
    let Some(found) = section.word("bs")?.filter(|_| section.line_of("op_size").is_none()) else {
        return section.count("op_size", DEFAULT);
    };
    let text = found.value.to_lowercase();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    let line = found.line;
    bytes.map(|value| Stated { value, line }).ok_or_else(|| {
        let reason =
            format!("`{}` must be a size as fio has it, such as 4k", section.name_of("bs"));
        CbtError::new(line.unwrap_or(section.line), reason)
    })
}

fn mode(section: &CbtSection<'_>) -> Result<(Stated<u64>, Stated<bool>), CbtError> {
    let mode = section.word("mode")?.unwrap_or(Stated::default_of("write"));
    let known = MODES.iter().find(|(name, ..)| *name == mode.value);
    let (_, reads, is_random) = known.ok_or_else(|| {
        let names = MODES.map(|(name, ..)| name).join(", ");
        let reason = format!("`{}` must be one of {names}", section.name_of("mode"));
        CbtError::new(mode.line.unwrap_or(section.line), reason)
    })?;
    let line = mode.line;
    let mixed = || match section.whole("rwmixread")?.unwrap_or(Stated::default_of(50)) {
        Stated { value: 101.., line } => {
            let reason = format!("`{}` must be at most 100", section.name_of("rwmixread"));
            Err(CbtError::new(line.unwrap_or(section.line), reason))
        }
        found => Ok(found),
    };
    let reads = reads.map_or_else(mixed, |value| Ok(Stated { value, line }))?;
    Ok((reads, Stated { value: *is_random, line }))
}

/// RBD's order: an object is two to its power.
fn object_size(section: &CbtSection<'_>) -> Result<Stated<u64>, CbtError> {
    match section.whole("vol_object_size")?.unwrap_or(Stated::default_of(22)) {
        Stated { value: order @ 12..=26, line } => Ok(Stated { value: 1 << order, line }),
        Stated { line, .. } => {
            let name = section.name_of("vol_object_size");
            let reason = format!("`{name}` must be the power of two of an object's size, 12 to 26");
            Err(CbtError::new(line.unwrap_or(section.line), reason))
        }
    }
}

/// CBT runs every value of a list, and a study has one.
fn note_lists(section: &CbtSection<'_>, notes: &mut Vec<CbtNote>) {
    for name in keys::names(keys::BENCHMARK) {
        let (others, Some(line)) = (section.others(name), section.line_of(name)) else { continue };
        if others == 0 {
            continue;
        }
        let settable = SETTABLE.iter().find(|(key, _)| *key == name);
        let another = settable.map_or(String::new(), |(_, key)| {
            format!(", and `study run --set {key}=` takes another")
        });
        let text = format!(
            "`{}`: a study has the first of {} values{another}",
            section.name_of(name),
            others + 1
        );
        notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
    }
}

/// Counts of jobs that this benchmark does not know.
fn note_unread(benchmark: &FioBenchmark, section: &CbtSection<'_>, notes: &mut Vec<CbtNote>) {
    let is_read = |key: &str| key == benchmark.processes || Some(key) == benchmark.volumes;
    for key in COUNTS.into_iter().filter(|key| !is_read(key)) {
        if let Some(line) = section.line_of(key) {
            let name = section.name_of(key);
            let text = format!("`{name}`: CBT's {} does not read it either", benchmark.name);
            notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
        }
    }
}
