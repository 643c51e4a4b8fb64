//! A testbed: what a study may ask of a system under test. A script of steps is written once and runs on any of them.
//!
//! A testbed is made with everything that a setup sets in it (settings, profile, queue) and is gone, with all that it made, when it
//! is dropped. It may know loads and worlds. It may not know studies: what a step is for, how many objects it takes, when
//! recovery has lasted too long. A cluster of another system fits behind the same trait: what takes it several commands, such as
//! stopping an OSD and marking it out, is one step here, and what it answers late or in samples, it answers late.

mod ceph;
mod fio_child;
mod host;
mod place;
mod sim;

pub use loadline_node::{PoolScrub, ScrubSlotsLeft};

pub use ceph::{
    CephCluster, CephFound, CephSpec, CephTestPlace, check as check_ceph, plan as plan_on_ceph,
    release_numbers,
};
pub use host::{EmbeddedSpec, EmbeddedStore, Hosted, HostedSpec, check, engine_of, fio_jobs};
pub use loadline_ceph::guard::OsdHook;
pub use loadline_ceph::{DescribedCluster, DescribedGroup, DescribedOsd, DescribedPool};
pub use place::{ClientKind, HostPlace, NoPlace, RealDisks, RealPlace};
pub use sim::{Simulated, SimulatedDisk, SimulatedSpec, small_stores};

use loadline_base::{Bytes, Span, Time};
use loadline_cluster::PoolId;
use loadline_cluster::images::ImageQos;
use loadline_load::LoadSpec;
use loadline_osd::{OsdId, OsdService, TraceSpan, Waits};
use loadline_stats::{LatencyHistogram, LatencySecond};
use serde::{Deserialize, Serialize};

/// An image with its clients.
#[derive(Clone, Debug)]
pub struct TestImage {
    /// Its name.
    pub name: String,
    /// What its clients do; it is made of whole objects.
    pub load: LoadSpec,
    /// What it is promised and allowed beside the others.
    pub qos: ImageQos,
}

/// The name of the image whose clients a study is about.
pub const IMAGE: &str = "clients";

/// Whether images are told apart: where there is one alone, of which nothing is said, objects of a pool are enough.
fn has_images(images: &[TestImage]) -> bool {
    images.len() > 1 || images.iter().any(|image| image.qos != ImageQos::default())
}

/// A system under test.
pub trait Testbed {
    /// Its own time.
    fn now(&self) -> Time;

    /// How often it is worth looking at.
    fn pace(&self) -> Pace;

    /// Lets time pass until then; the load goes on.
    fn pass(&mut self, until: Time) -> Result<(), Stop>;

    /// Makes the images that loads go to, each written once in full, with what they are promised and allowed.
    fn make_images(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop>;

    /// Makes a pool of objects of this size.
    fn make_pool(&mut self, name: &str, object_size: Bytes) -> Result<PoolId, Stop>;

    /// Writes so many whole objects into a pool.
    fn fill(&mut self, pool: PoolId, objects: u64, heed: &mut Heed<'_>) -> Result<(), Stop>;

    /// Writes an image of so many whole objects into a pool, takes a snapshot of it, and changes the first `changed` of them: of each
    /// the snapshot keeps a clone.
    fn fill_with_clones(
        &mut self,
        pool: PoolId,
        of: ClonedObjects,
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop>;

    /// Removes the snapshot for which clones are kept in a pool.
    fn remove_snapshot(&mut self, pool: PoolId) -> Result<(), Stop>;

    /// Removes a pool with what is in it.
    fn remove_pool(&mut self, pool: PoolId) -> Result<(), Stop>;

    /// Has every placement group of a pool scrubbed deeply.
    fn deep_scrub(&mut self, pool: PoolId) -> Result<(), Stop>;

    /// How far the services are, and the deep scrubs of this pool if one is named.
    fn services(&mut self, scrubbed: Option<PoolId>) -> Result<ServicesLeft, Stop>;

    /// An OSD goes down and out.
    fn take_out(&mut self, osd: OsdId) -> Result<(), Stop>;

    /// The OSD is up and in again when this returns.
    fn bring_back(&mut self, osd: OsdId) -> Result<(), Stop>;

    /// Waits until nothing of earlier steps goes on at the disks, but not for ever.
    fn settle(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop>;

    /// Waits and recovered objects count from now on.
    fn count_from_now(&mut self) -> Result<(), Stop>;

    /// Lets the clients begin; the answer is when what they see begins to count.
    fn start_load(&mut self, heed: &mut Heed<'_>) -> Result<Time, Stop>;

    /// The latencies that the clients of the first image have seen until now, while the loads go on; `None` where clients tell nothing before
    /// their end.
    fn latency(&mut self) -> Option<LatencyHistogram>;

    /// The same of parts of the clients' time whose loads are over, where clients tell it only then.
    fn latency_in(
        &mut self,
        _parts: &[(Time, Time)],
    ) -> Result<Option<Vec<LatencyHistogram>>, Stop> {
        Ok(None)
    }

    /// What the clients of each image have seen until now. The loads are over.
    fn end_load(&mut self, heed: &mut Heed<'_>) -> Result<Vec<Seen>, Stop>;

    /// How far recovery is.
    fn progress(&mut self) -> Result<RecoveryProgress, Stop>;

    /// What the schedulers have given until then.
    fn service(&mut self) -> Result<(Time, Vec<OsdService>), Stop>;

    /// Where work has spent its time.
    fn waits(&mut self) -> Result<Box<Waits>, Stop>;

    /// Device requests carried out since the testbed was made.
    fn device_requests(&mut self) -> Result<u64, Stop>;

    /// How long the drive under an OSD has had something to do since the testbed was made, or the machine was started; `None` where no
    /// drive is known. OSDs that share a drive share this.
    fn drive_busy(&mut self, osd: OsdId) -> Result<Option<Span>, Stop>;

    /// Stages of the ops that were to be traced.
    fn take_trace(&mut self) -> Result<Vec<TraceSpan>, Stop>;

    /// What this testbed alone can tell of a run whose loads are over, by the keys of figures.
    fn own_figures(&mut self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Puts everything back that does not vanish with the testbed; after it only facts are asked for.
    fn put_back(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// What it stands on, where that is known only now.
    fn facts(&mut self) -> Option<MachineFacts> {
        None
    }
}

/// Until a returned OSD that misses something says so, where nothing but its peering stands before that.
pub(crate) const FIRST_SIGN: Span = Span::from_secs(5);

/// How often a testbed is worth looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// While copies move without an OSD.
    pub clean: Span,
    /// While a load runs: how closely the end of a recovery is timed.
    pub recovery: Span,
    /// A returned OSD that misses something says so within this time.
    pub first_sign: Span,
}

/// What is left for the services to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServicesLeft {
    /// Of a pool's deep scrubs.
    pub scrub: PoolScrub,
    /// Clones that are kept for removed snapshots, copies of one counted once.
    pub trim: u64,
    /// Objects of removed pools, every copy counted.
    pub removal: u64,
    /// What is known more closely than by looks, where those come late.
    pub closely: KnownLater,
}

/// What a testbed that hears of everything late knows of it then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownLater {
    /// When the last group had been compared.
    pub scrub_ended: Option<Time>,
    /// How long each group that has been compared had its slots, summed.
    pub groups_scrubbed: Option<Span>,
    /// When the last group was through with its trim.
    pub trim_ended: Option<Time>,
}

/// Objects of an image with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClonedObjects {
    /// All of them.
    pub objects: u64,
    /// Those that were changed after the snapshot.
    pub changed: u64,
}

/// How far recovery is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Objects brought to their places since everything counts.
    pub moved: u64,
    /// Objects not in their places.
    pub left: u64,
    /// Whether every copy that the map wants is whole.
    pub clean: bool,
    /// Whether what an OSD's return began has ended.
    pub recovered: bool,
    /// When the first and the last object came, where the testbed hears of an end only later.
    pub copied: Option<(Time, Time)>,
}

/// What clients saw, whoever sent their ops.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Completed operations per second.
    pub iops: f64,
    /// Their completion latency.
    pub latency: Latency,
    /// For how long the clients themselves counted: those of another process begin somewhat after it was begun.
    pub lasted: Span,
    /// The whole seconds of that time.
    pub seconds: Vec<LatencySecond>,
    /// Their time that no OSD knows of.
    pub outside: Outside,
}

/// Statistics of a latency, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// Sum over count.
    pub mean_ms: f64,
    /// In the order of [`PERCENTILES`].
    pub percentiles_ms: [f64; PERCENTILES.len()],
    /// The slowest operation.
    pub max_ms: f64,
}

/// The percentiles that latencies are told by.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.5", 99.5), ("p99.9", 99.9)];

impl Latency {
    /// Whether nothing has ended: whatever ends takes time.
    pub fn is_of_nothing(&self) -> bool {
        self.max_ms == 0.0
    }

    /// One of the percentiles that latencies are told by.
    ///
    /// # Panics
    /// If it is none of [`PERCENTILES`].
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let at = PERCENTILES.iter().position(|(_, known)| *known == percent);
        self.percentiles_ms[at.expect("latencies are told by this percentile")]
    }
}

impl From<&LatencyHistogram> for Latency {
    fn from(of: &LatencyHistogram) -> Latency {
        Latency {
            mean_ms: of.mean_ns() / 1e6,
            percentiles_ms: PERCENTILES.map(|(_, percent)| of.percentile_ns(percent) as f64 / 1e6),
            max_ms: of.max_ns() as f64 / 1e6,
        }
    }
}

/// The time of clients' ops that no OSD knows of.
#[derive(Clone, Debug)]
pub enum Outside {
    /// The way to the node and back, whatever it is made of.
    Way(LatencyHistogram),
    /// The client does not tell.
    Unknown,
}

/// What a testbed of this machine stood on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// In reading order, each a name and a value: disks, file system, drive, event loop.
    pub facts: Vec<NamedValue>,
    /// What makes its figures doubtful; each ends in advice.
    pub notes: Vec<String>,
    /// The IOPS of each OSD that mClock was given.
    pub capacities: Vec<f64>,
    /// Tasks per core that the machine had to do just before the run began, this study's own not among them.
    pub load_before: Option<f64>,
    /// The device under each OSD, by the system's numbers; empty where it was not looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// What a node and its clients took of the processors; `None` where the clients were another process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorUse>,
}

/// What a node, whose OSDs share one thread, and its clients took of the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// How many processors the program could use.
    pub cores: u32,
    /// Of the node, while the images were filled with whole objects, for each MiB of every copy.
    pub fill_us_per_mib: f64,
    /// Of the node, while the clients' load ran, for each op of theirs, and for whatever else went on.
    pub node_us_per_op: f64,
    /// Of the clients, for each op.
    pub client_us_per_op: f64,
}

/// A fact with its unit, ready to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedValue {
    /// What it is.
    pub name: String,
    /// Its value with unit.
    pub value: String,
}

impl<T: Into<String>> From<(&str, T)> for NamedValue {
    fn from((name, value): (&str, T)) -> NamedValue {
        NamedValue { name: name.to_owned(), value: value.into() }
    }
}

impl MachineFacts {
    fn know(&mut self, name: &str, value: String) {
        self.facts.push((name, value).into());
    }

    fn doubt(&mut self, note: String) {
        self.notes.push(note);
    }
}

/// Why a step was not done.
#[derive(Debug)]
pub enum Stop {
    /// Somebody asked for it.
    Interrupted,
    /// The system, a disk or a tool failed.
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Stop {
        Stop::Failed(reason)
    }
}

/// Tells how far a run is, part by part, and hears whether it may go on.
pub struct Heed<'a> {
    tick: &'a mut dyn FnMut(f64) -> bool,
    from: f64,
    to: f64,
}

impl<'a> Heed<'a> {
    /// The first part of a run, until `to`.
    pub fn until(tick: &'a mut dyn FnMut(f64) -> bool, to: f64) -> Heed<'a> {
        Heed { tick, from: 0.0, to }
    }

    /// The next part begins where this one ends.
    pub fn next(&mut self, to: f64) {
        (self.from, self.to) = (self.to, to);
    }

    /// So much of the part is done.
    ///
    /// # Errors
    /// [`Stop::Interrupted`] if the run is to end.
    pub fn at(&mut self, share: f64) -> Result<(), Stop> {
        let share = self.from + (self.to - self.from) * share.clamp(0.0, 1.0);
        if (self.tick)(share) { Ok(()) } else { Err(Stop::Interrupted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_tells_its_part_of_the_whole_until_somebody_interrupts() {
        let mut told = Vec::new();
        let mut tick = |share| {
            told.push(share);
            share < 0.8
        };
        let mut heed = Heed::until(&mut tick, 0.5);
        assert!([0.5, 7.0].iter().all(|share| heed.at(*share).is_ok()));
        heed.next(1.0);
        assert!([0.0, 0.5].iter().all(|share| heed.at(*share).is_ok()));
        assert!(matches!(heed.at(1.0), Err(Stop::Interrupted)));
        assert_eq!(told, [0.25, 0.5, 0.5, 0.75, 1.0]);
    }
}
