//! What a checkpoint study asks of the machine under test, whichever it is: a node of one OSD in virtual time (`simulated`), or a store that is
//! embedded in this process, on this machine's disk (`embedded`). The steps, the figures and everything above them are the same.

use loadline_base::Time;
use loadline_load::puts::PutLoad;
use loadline_store::paged::metrics::{CheckpointReport, Totals};
use loadline_testbed::MachineFacts;

/// A store with its clients.
pub(super) trait StoreMachine {
    /// Its own time.
    fn now(&self) -> Time;

    /// What the clients do and have seen.
    fn load(&self) -> &PutLoad;

    /// The same, to give them something else to do.
    fn load_mut(&mut self) -> &mut PutLoad;

    /// Lets them begin with it.
    fn start_load(&mut self);

    /// Lets time pass until then; the load goes on. The error is why the machine has stopped.
    fn pass(&mut self, until: Time) -> Result<(), String>;

    /// What the store has counted, and what it holds now.
    fn sight(&mut self) -> Result<StoreSight, String>;

    /// The checkpoints that have ended, the oldest first, in the machine's time.
    fn checkpoints(&mut self) -> Result<Vec<CheckpointReport>, String>;

    /// What puts wait for, in words, if the machine tells.
    fn waits(&mut self) -> String {
        "puts do not end".to_owned()
    }

    /// What it stands on, where that is real.
    fn facts(&self) -> Option<MachineFacts> {
        None
    }
}

/// A store as it is at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreSight {
    /// What it has counted since it was opened.
    pub(super) totals: Totals,
    /// Pages that have changed since the last checkpoint's instant.
    pub(super) dirty_pages: u64,
    /// Old versions of pages that are kept for the running checkpoint, and how many there may be.
    pub(super) old_versions: u64,
    /// See above.
    pub(super) old_versions_max: u64,
    /// Whether a checkpoint runs.
    pub(super) is_in_checkpoint: bool,
    /// Requests that its disk has carried out.
    pub(super) device_requests: u64,
}

impl StoreSight {
    /// Old versions, these or as many as said, as a share of the room for them.
    pub(super) fn buffer_share(&self, used: Option<u32>) -> f64 {
        used.map_or(self.old_versions as f64, f64::from) / self.old_versions_max.max(1) as f64
    }
}
