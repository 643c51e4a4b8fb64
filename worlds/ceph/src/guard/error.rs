//! Why a cluster was not changed.

use super::hook::HookError;
use super::journal::JournalError;
use crate::connection::CephError;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The cluster did not do it.
    #[error(transparent)]
    Cluster(#[from] CephError),
    /// The journal could not be written: nothing was sent.
    #[error(transparent)]
    RunJournal(#[from] JournalError),
    /// Another run is there.
    #[error("a run holds this cluster: {0}; `loadline ceph undo` ends one that died")]
    Held(String),
    /// There is a pool of this name.
    #[error("there is a pool {0} already, which nobody of this run has made")]
    PoolExists(String),
    /// A pool that the run was to delete is not its own any more.
    #[error("the pool {name} was not deleted: {why}")]
    PoolKept {
        /// Which.
        name: String,
        /// Why.
        why: String,
    },
    /// A word that the map has no flag of: whoever looks for it afterwards does not find it.
    #[error(
        "`{word}` is not set: the map shows it as {}; set those by their own names",
        if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
    )]
    FlagNames {
        /// What was to be set.
        word: String,
        /// The flags that stand in the map for it.
        shown: Vec<String>,
    },
    /// An OSD whose queue could not be put back, since nobody knows it.
    #[error(
        "osd.{0} does not tell which queue it runs with (`perf dump`, `dump_op_pq_state`), so it was not begun anew"
    )]
    QueueUntold(u32),
    /// The operator's hook did not do what it is for.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The cluster took a setting and does not follow it.
    #[error("{name} was set to {wanted} and is {found} on osd.{osd}; the cluster's log tells why")]
    NotInForce {
        /// The option.
        name: String,
        /// What was set.
        wanted: String,
        /// What is in force.
        found: String,
        /// Where.
        osd: u32,
    },
}
