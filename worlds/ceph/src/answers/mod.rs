//! What a cluster answers, as small structs of the fields that count. Every field has a value where the cluster leaves it out,
//! since it leaves out what is zero, and releases differ.

mod config;
mod map;
mod ops;
mod perf;
mod pgs;
mod queues;
mod status;

pub use config::{ChangedOption, ClusterLogLine, ConfigVersion, StoredOption, shown_options};
pub use map::{OsdEntry, OsdMapDump, OsdMetadata, OsdUsage, OsdUsages, PoolEntry, Releases};
pub use ops::{HistoricOp, OpHistory};
pub use perf::{LatencyCounter, OsdCounters, PerfDump, StoreCounters};
pub use pgs::{PgStat, PgSums, read_pgs};
pub use queues::{ReservationSide, Reservations, ScheduledScrub};
pub use status::{ClusterStatus, HealthCheck, HealthReport, HealthSummary, OsdTally, PgTally};

/// Reads bytes as every kind of answer, for tests that must not make a reader fall.
pub fn read_anything(answer: &[u8]) {
    fn read<T: serde::de::DeserializeOwned>(answer: &[u8]) {
        drop(serde_json::from_slice::<T>(answer));
    }
    read::<ClusterStatus>(answer);
    read::<OsdMapDump>(answer);
    read::<Vec<OsdMetadata>>(answer);
    read::<OsdUsages>(answer);
    read::<Releases>(answer);
    read::<Vec<StoredOption>>(answer);
    read::<Vec<ConfigVersion>>(answer);
    read::<Vec<ClusterLogLine>>(answer);
    read::<PerfDump>(answer);
    read::<Reservations>(answer);
    read::<Vec<ScheduledScrub>>(answer);
    if let Ok(history) = serde_json::from_slice::<OpHistory>(answer) {
        history.ops.iter().map(HistoricOp::in_words).for_each(drop);
    }
    // What is no dump tells some groups, or none.
    let _ = read_pgs(answer, |group| {
        let _ = crate::seconds_of(&group.last_deep_scrub_stamp);
    });
    drop(shown_options(answer, |_| true));
}
