//! What the drive has counted: commands by the descriptor that they name, and how they ended.

use loadline_base::Span;
use loadline_device::cdl::Limits;
use loadline_scsi::{MediumCommand, MediumKind};
use loadline_sim::hdd::{DescriptorCounts, Ending, Statistics};
use serde::Serialize;

/// Descriptors 1 to 7, and none, which counts as 0.
const INDICES: usize = 8;

/// Reads or writes that name one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandCounts {
    /// How many have arrived.
    pub commands: u64,
    /// Bytes that they ask for.
    pub bytes: u64,
    /// Done within their guideline; of none without one.
    pub met: u64,
    /// Done after it.
    pub missed: u64,
    /// Ended by a policy.
    pub ended: u64,
    /// That could not be read or written.
    pub failed: u64,
    /// Taken back by the host.
    pub aborted: u64,
    /// From the arrival to the answer, all together, of those that were done.
    pub done_ns: u64,
    /// The longest of them.
    pub done_ns_max: u64,
}

/// The counts of a drive since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriveCounts {
    /// Reads, by descriptor; those without one come first.
    pub reads: [CommandCounts; INDICES],
    /// Writes, likewise.
    pub writes: [CommandCounts; INDICES],
    /// Flushes.
    pub flushes: u64,
    /// Commands for anything but the medium.
    pub others: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Task management functions.
    pub task_functions: u64,
    /// Machines that have connected.
    pub sessions: u64,
}

/// How a command left the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// With this ending.
    Ended(Ending),
    /// What backs the drive failed.
    Failed,
    /// The host took it back, or has gone.
    Aborted,
}

impl DriveCounts {
    pub(crate) fn arrived(&mut self, command: &MediumCommand) {
        match self.of(command) {
            Some(counts) => {
                counts.commands += 1;
                counts.bytes += command.blocks * loadline_scsi::BLOCK_BYTES;
            }
            None => self.flushes += 1,
        }
    }

    /// `guideline` is that of its descriptor when it arrived.
    pub(crate) fn left(
        &mut self,
        command: &MediumCommand,
        left: Left,
        took: Span,
        guideline: Option<Span>,
    ) {
        let Some(counts) = self.of(command) else { return };
        match left {
            Left::Aborted => counts.aborted += 1,
            Left::Failed | Left::Ended(Ending::MediaError) => counts.failed += 1,
            Left::Ended(Ending::Good) => {
                counts.done_ns += took.nanos();
                counts.done_ns_max = counts.done_ns_max.max(took.nanos());
                match guideline {
                    Some(guideline) if took < guideline => counts.met += 1,
                    Some(_) => counts.missed += 1,
                    None => {}
                }
            }
            Left::Ended(_) => counts.ended += 1,
        }
    }

    /// `None` for a flush.
    fn of(&mut self, command: &MediumCommand) -> Option<&mut CommandCounts> {
        let set = match command.kind {
            MediumKind::Read => &mut self.reads,
            MediumKind::Write => &mut self.writes,
            MediumKind::Flush => return None,
        };
        Some(&mut set[usize::from(command.descriptor)])
    }
}

/// The guideline of a command under these limits.
pub(crate) fn guideline(limits: &(Limits, Limits), command: &MediumCommand) -> Option<Span> {
    let set = if command.kind == MediumKind::Write { &limits.1 } else { &limits.0 };
    let descriptor = set.of(command.descriptor)?;
    descriptor.span(descriptor.guideline)
}

/// Everything that a drive can say of its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriveStatistics {
    /// How long it runs.
    pub seconds: u64,
    /// What arrived, and how it left.
    pub counts: DriveCounts,
    /// What the model counted of limits and of the medium; `None` for a medium that takes no time.
    pub model: Option<ModelStatistics>,
}

/// The model's own counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelStatistics {
    /// Limits of reads that were not kept, by descriptor from 1.
    pub reads: Vec<LimitCounts>,
    /// Of writes.
    pub writes: Vec<LimitCounts>,
    /// Commands carried out on the medium.
    pub medium_commands: u64,
    /// Commands answered from the write cache.
    pub from_cache: u64,
    /// Commands that needed more than one turn for their sectors.
    pub recovered: u64,
    /// Reads that failed.
    pub unreadable: u64,
    /// How long the arm was busy.
    pub busy_ns: u64,
}

/// Limits of one descriptor that were not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LimitCounts {
    /// Inactive times that ran out.
    pub inactive_missed: u64,
    /// Active times that ran out.
    pub active_missed: u64,
    /// Guidelines that ran out.
    pub guideline_missed: u64,
}

impl From<&Statistics> for ModelStatistics {
    fn from(counted: &Statistics) -> ModelStatistics {
        let limits = |set: &[DescriptorCounts]| {
            let one = |counts: &DescriptorCounts| LimitCounts {
                inactive_missed: counts.inactive_missed,
                active_missed: counts.active_missed,
                guideline_missed: counts.guideline_missed,
            };
            set.iter().map(one).collect()
        };
        ModelStatistics {
            reads: limits(&counted.reads),
            writes: limits(&counted.writes),
            medium_commands: counted.medium.commands,
            from_cache: counted.medium.from_cache,
            recovered: counted.medium.recovered,
            unreadable: counted.medium.unreadable,
            busy_ns: counted.medium.busy_nanos,
        }
    }
}
