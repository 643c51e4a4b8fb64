//! The four workloads: which reads carry which priority, and what each is called.

use loadline_device::{Priority, PriorityClass};

/// Random reads, of which some carry a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadWorkload {
    /// No read carries anything.
    Baseline,
    /// Some reads are of NCQ's high priority.
    NcqPrio {
        /// How many of a hundred.
        percentage: u32,
    },
    /// Some reads name one descriptor.
    CdlSingle {
        /// How many of a hundred.
        percentage: u32,
        /// Which one, 1 to 7.
        descriptor: u8,
    },
    /// Some reads name one of several descriptors.
    CdlMulti {
        /// Descriptors and how many of a hundred reads name each.
        split: Vec<ReadPart>,
    },
}

/// A descriptor and its part of the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPart {
    /// Which one, 0 to 7; 0 limits nothing.
    pub descriptor: u8,
    /// How many of a hundred reads name it.
    pub percentage: u32,
}

/// A part of the reads and the priority word that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityMark {
    /// How many of a hundred.
    pub percentage: u32,
    /// What they carry.
    pub priority: Priority,
}

/// The folders of all workloads, in the order in which they run.
pub(crate) const FOLDERS: [&str; 4] = ["baseline", "ncqprio", "cdlsingle", "cdlmulti"];

impl ReadWorkload {
    /// Its folder below the benchmark's.
    pub fn folder(&self) -> &'static str {
        match self {
            ReadWorkload::Baseline => FOLDERS[0],
            ReadWorkload::NcqPrio { .. } => FOLDERS[1],
            ReadWorkload::CdlSingle { .. } => FOLDERS[2],
            ReadWorkload::CdlMulti { .. } => FOLDERS[3],
        }
    }

    /// What is said when it begins.
    pub fn announcement(&self) -> &'static str {
        match self {
            ReadWorkload::Baseline => "Running baseline workload",
            ReadWorkload::NcqPrio { .. } => "Running NCQ priority workload",
            ReadWorkload::CdlSingle { .. } => "Running CDL workload, single limit",
            ReadWorkload::CdlMulti { .. } => "Running CDL workload, multiple limits",
        }
    }

    /// Whether the drive must know duration limits.
    pub fn has_limits(&self) -> bool {
        matches!(self, ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. })
    }

    /// Which parts of the reads carry something; all others carry nothing.
    pub fn marks(&self) -> Vec<PriorityMark> {
        let limited =
            |descriptor| Priority::new(PriorityClass::BestEffort, 0).with_descriptor(descriptor);
        match self {
            ReadWorkload::Baseline => Vec::new(),
            ReadWorkload::NcqPrio { percentage } => {
                let priority = Priority::new(PriorityClass::RealTime, 0);
                vec![PriorityMark { percentage: *percentage, priority }]
            }
            ReadWorkload::CdlSingle { percentage, descriptor } => {
                vec![PriorityMark { percentage: *percentage, priority: limited(*descriptor) }]
            }
            ReadWorkload::CdlMulti { split } => {
                let mark = |part: &ReadPart| PriorityMark {
                    percentage: part.percentage,
                    priority: limited(part.descriptor),
                };
                split.iter().map(mark).collect()
            }
        }
    }

    /// The options that fio needs for it beside those of every workload.
    pub(crate) fn fio_options(&self, block: &str) -> Vec<String> {
        match self {
            ReadWorkload::Baseline => Vec::new(),
            ReadWorkload::NcqPrio { percentage } => {
                vec![format!("--cmdprio_percentage={percentage}"), "--cmdprio_class=1".to_owned()]
            }
            ReadWorkload::CdlSingle { percentage, descriptor } => vec![
                format!("--cmdprio_percentage={percentage}"),
                "--cmdprio_class=2".to_owned(),
                format!("--cmdprio_hint={descriptor}"),
            ],
            ReadWorkload::CdlMulti { split } => {
                let part = |part: &ReadPart| {
                    format!("{block}/{}/2/0/{}", part.percentage, part.descriptor)
                };
                let parts: Vec<String> = split.iter().map(part).collect();
                vec![format!("--cmdprio_bssplit={}", parts.join(":"))]
            }
        }
    }
}
