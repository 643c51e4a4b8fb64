//! One step on the modelled drive: fio's closed loop in virtual time.

use super::logs::Logs;
use super::order::WorkloadStep;
use super::reads::Reads;
use super::{BenchError, Stopped};
use crate::workload::ReadWorkload;
use loadline_base::{Bytes, Span, Time};
use loadline_device::cdl::DescriptorPage;
use loadline_device::{ClassTag, Priority, Request, RequestKind};
use loadline_fio::ReadJob;
use loadline_sim::hdd::{Ending, Feature, FinishedCommand, Hdd, HddSpec};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// What the host takes to hand one read to the drive: a direct read through libaio, a few microseconds on any machine of
/// these years. It is the submission latency in the logs.
const SUBMISSION: Span = Span::from_micros(6);

/// The highest loss that the vendor's command allows in NCQ priority mode, as the script sets it (cdl.md 3.2).
const NCQ_LOSS_PERCENT: u32 = 20;

/// A modelled drive with its descriptors.
#[derive(Clone, Debug)]
pub struct Modelled {
    /// The model.
    pub spec: HddSpec,
    /// Descriptors of reads.
    pub reads: DescriptorPage,
    /// Descriptors of writes.
    pub writes: DescriptorPage,
    /// Decides blocks, marks and the drive's own chances.
    pub seed: u64,
}

/// A read that is under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    begun: Time,
    submitted: Time,
    block: u64,
    priority: Priority,
}

/// The closed loop.
struct ClosedLoop<'a> {
    drive: Hdd,
    reads: Reads,
    block_bytes: u64,
    /// When nothing is begun any more.
    until: Time,
    /// When figures begin to count.
    ramp_end: Time,
    next_id: u64,
    under_way: BTreeMap<u64, UnderWay>,
    /// Reads that the host has yet to hand over, in the order in which it does.
    handing_over: VecDeque<u64>,
    host_free: Time,
    logs: &'a mut Logs,
}

/// Carries the step out and writes its files into `place`. `watch` hears the share that is done and says whether to go on.
pub(super) fn run(
    step: &WorkloadStep<'_>,
    drive: &Modelled,
    place: &Path,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<(), BenchError> {
    let job = ReadJob {
        name: step.job_name(),
        program: concat!("loadline-", env!("CARGO_PKG_VERSION")).to_owned(),
        engine: "modelled drive, virtual time".to_owned(),
        options: options(step),
        block_bytes: step.order.block_bytes,
        depth: step.depth,
        ..ReadJob::default()
    };
    let mut logs = Logs::begin(place, job)?;
    let mut at = ClosedLoop::new(step, drive, &mut logs);
    at.run(step, watch)?;
    logs.finish(&step.fio_command())
}

/// The command line as options of a job file.
fn options(step: &WorkloadStep<'_>) -> Vec<(String, String)> {
    let pair = |argument: String| {
        let (name, value) = argument.trim_start_matches("--").split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    step.fio_arguments().into_iter().filter_map(pair).collect()
}

fn feature(workload: &ReadWorkload) -> Feature {
    match workload {
        ReadWorkload::Baseline => Feature::None,
        ReadWorkload::NcqPrio { .. } => Feature::NcqPriority { loss_percent: NCQ_LOSS_PERCENT },
        ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. } => Feature::DurationLimits,
    }
}

impl Modelled {
    /// The descriptors as `cdladm show` prints those of a drive.
    pub fn descriptors(&self) -> String {
        self.reads.with_head() + &self.writes.with_head()
    }
}

/// How a read ended that did not bring its data, and what helps.
fn said_of(ending: Ending) -> String {
    let end = match ending {
        Ending::Good | Ending::MediaError => unreachable!("its data came; the drive has no faults"),
        Ending::DataUnavailable => "its time ran out, and its data counts as unavailable",
        Ending::AbortedBefore => "its time ran out before it was begun",
        Ending::AbortedDuring => "its time ran out while it was carried out",
        Ending::AbortedInRecovery => "its time ran out while the drive mended an error",
    };
    format!(
        "{end}. The benchmark needs descriptors without abort or complete-unavailable policies, as those of its own T2A \
         page"
    )
}

impl<'a> ClosedLoop<'a> {
    fn new(step: &WorkloadStep<'_>, modelled: &Modelled, logs: &'a mut Logs) -> ClosedLoop<'a> {
        let order = step.order;
        let blocks = modelled.spec.capacity().get() / order.block_bytes;
        let mut drive = Hdd::new(modelled.spec.clone(), modelled.seed);
        drive.set_feature(feature(step.workload));
        drive.set_limits(*modelled.reads.limits(), *modelled.writes.limits());
        let ramp_end = Time::from_secs(order.ramp_seconds);
        ClosedLoop {
            drive,
            reads: Reads::new(blocks, step.workload.marks(), modelled.seed),
            block_bytes: order.block_bytes,
            until: ramp_end + Span::from_secs(order.run_seconds),
            ramp_end,
            next_id: 0,
            under_way: BTreeMap::new(),
            handing_over: VecDeque::new(),
            host_free: Time::from_nanos(0),
            logs,
        }
    }

    /// Reads until the time is over, and then until nothing is under way.
    fn run(
        &mut self,
        step: &WorkloadStep<'_>,
        watch: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), BenchError> {
        let mut now = Time::from_nanos(0);
        for _ in 0..step.depth {
            self.begin(now);
        }
        let mut done = Vec::new();
        let (mut told, whole) = (0, self.until.nanos());
        while let Some(next) = self.next_event() {
            now = next;
            self.drive.advance(now, &mut done);
            for finished in done.drain(..) {
                self.finish(step, &finished)?;
                self.begin(finished.at);
            }
            self.hand_over(now);
            // A thousand looks per step keep a bar moving and cost nothing.
            if now.nanos() >= told {
                told = now.nanos() + whole / 1000;
                let share = (now.nanos() as f64 / whole as f64).min(1.0);
                if !watch(share) {
                    return Err(BenchError::Stopped(Stopped));
                }
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let handed = self.handing_over.front().map(|id| self.under_way[id].submitted);
        [handed, self.drive.next_event()].into_iter().flatten().min()
    }

    /// Begins a read, unless the time is over or every block was read.
    fn begin(&mut self, now: Time) {
        if now >= self.until {
            return;
        }
        let Some((block, priority)) = self.reads.draw() else { return };
        self.host_free = self.host_free.max(now) + SUBMISSION;
        let read = UnderWay { begun: now, submitted: self.host_free, block, priority };
        self.under_way.insert(self.next_id, read);
        self.handing_over.push_back(self.next_id);
        self.next_id += 1;
    }

    /// Gives the drive what is due.
    fn hand_over(&mut self, now: Time) {
        while let Some(id) = self.handing_over.front().copied() {
            let read = self.under_way[&id];
            if read.submitted > now {
                return;
            }
            self.handing_over.pop_front();
            let request = Request {
                kind: RequestKind::Read,
                offset: read.block * self.block_bytes,
                length: Bytes::new(self.block_bytes),
                class: ClassTag(0),
                priority: read.priority,
                duration_limit: None,
            };
            self.drive.submit(now, id, &request);
        }
    }

    fn finish(
        &mut self,
        step: &WorkloadStep<'_>,
        finished: &FinishedCommand,
    ) -> Result<(), BenchError> {
        let read = self.under_way.remove(&finished.id).expect("the drive ends what it was given");
        if finished.outcome != Ending::Good {
            return Err(BenchError::ReadEnded {
                workload: step.workload.folder(),
                depth: step.depth,
                at: finished.at,
                why: said_of(finished.outcome),
            });
        }
        if finished.at < self.ramp_end {
            return Ok(());
        }
        let slat = read.submitted.since(read.begun);
        let clat = finished.at.since(read.submitted);
        self.logs.read(finished.at.since(self.ramp_end), slat, clat, read.priority)
    }
}
