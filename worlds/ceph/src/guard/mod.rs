//! What a run may change on somebody's cluster, and how all of it is put back.
//!
//! Nothing is changed here but by [`ClusterGuard`]: each change is in the journal, flushed to disk with its undo, before the cluster
//! hears of it. So whatever ends the process, [`undo`] finds in the journal what may have been done, and asks the cluster, not the
//! journal, what is still different. What somebody else has changed meanwhile is left alone and told.
//!
//! Order of an undo: options first, then OSDs up and in, since data is safer with a fast recovery than with a quiet one; then pools,
//! the queues of OSDs that were begun anew, flags, the balancer, and the lock in the cluster last.

mod change;
mod error;
mod held;
mod hook;
mod journal;
mod plan;
mod undo;

pub use change::ClusterChange;
pub use error::GuardError;
pub use held::{APPLICATION, LOCK_KEY};
pub(crate) use held::{flags_of, holder, is_same, may_become, stored};
pub use hook::{HookError, NoHook, OsdHook, UNKNOWN_QUEUE, queue_of};
pub use journal::{JournalError, JournalLine, RunJournal};
pub use plan::{ClusterPlan, WantedRoom, plan, stored_beside};
pub use undo::{UndoReport, undo};

use crate::answers::{ClusterStatus, ConfigVersion, OsdMapDump};
use crate::connection::{CephConnection, CephError, CommandTarget, ask, tell};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A cluster that is being changed, with the way back.
pub struct ClusterGuard {
    on: Arc<dyn CephConnection>,
    journal: RunJournal,
    fsid: String,
    run: String,
}

impl ClusterGuard {
    /// Takes the lock in the cluster; the first line of the journal is about it.
    ///
    /// # Errors
    /// [`GuardError::Held`] if somebody has it.
    pub fn begin(
        on: Arc<dyn CephConnection>,
        journal: &Path,
        run: &str,
    ) -> Result<ClusterGuard, GuardError> {
        let status: ClusterStatus =
            ask(&*on, &CommandTarget::Monitor, &json!({"prefix": "status"}))?;
        if let Some(holder) = holder(&*on)? {
            return Err(GuardError::Held(holder));
        }
        let log: Vec<ConfigVersion> =
            ask(&*on, &CommandTarget::Monitor, &json!({"prefix": "config log", "num": 1}))?;
        let version = log.first().map_or(0, |newest| newest.version);
        let journal = RunJournal::create(journal)?;
        let mut guard = ClusterGuard { on, journal, fsid: status.fsid, run: run.to_owned() };
        guard.make(ClusterChange::Lock { run: run.to_owned(), version }, None)?;
        // Setting a key compares with nothing: whoever wrote last has it, so it is read again when everybody has written.
        guard.on.pause(Duration::from_secs(1));
        match holder(&*guard.on)? {
            Some(found) if found == run => Ok(guard),
            other => {
                guard.journal.abandon()?;
                Err(GuardError::Held(other.unwrap_or_else(|| "another run".to_owned())))
            }
        }
    }

    /// Journals, flushes, and only then does it.
    fn make(&mut self, change: ClusterChange, before: Option<String>) -> Result<u64, GuardError> {
        let line = JournalLine::intent(&self.fsid, self.on.time_of_day_s(), change, before);
        let seq = self.journal.intend(line)?;
        let change = self.journal.change(seq).clone();
        for (target, command) in change.commands() {
            tell(&*self.on, &target, &command)?;
        }
        let became = match &change {
            // What the cluster does not tell now an undo recognises by what was typed.
            ClusterChange::Setting { who, name, .. } => {
                stored(&*self.on, who, name).unwrap_or(None)
            }
            _ => None,
        };
        self.journal.done(seq, became)?;
        Ok(seq)
    }

    /// Stores an option.
    ///
    /// # Errors
    /// [`GuardError`]; what the cluster may have heard of is in the journal.
    pub fn set_option(&mut self, who: &str, name: &str, value: &str) -> Result<(), GuardError> {
        let before = stored(&*self.on, who, name)?;
        let (who, name, value) = (who.to_owned(), name.to_owned(), value.to_owned());
        self.make(ClusterChange::Setting { who, name, value }, before).map(drop)
    }

    /// Waits until an option is in force on these OSDs, for two seconds, and looks once more a second later: a success of
    /// `config set` proves nothing, and a value that is refused may be read back before it is undone.
    ///
    /// # Errors
    /// [`GuardError::NotInForce`] if it does not come into force.
    pub fn in_force(&self, osds: &[u32], name: &str, wanted: &str) -> Result<(), GuardError> {
        const TRIES: u32 = 20;
        let is_it = |found: &str| match self.journal.became(name) {
            Some(became) => is_same(found, became),
            None => may_become(wanted, found),
        };
        for osd in osds {
            let mut tries = 0..TRIES;
            while !is_it(&self.value(*osd, name)) && tries.next().is_some() {
                self.on.pause(Duration::from_millis(100));
            }
        }
        self.on.pause(Duration::from_secs(1));
        for osd in osds {
            let found = self.value(*osd, name);
            if !is_it(&found) {
                let (name, wanted) = (name.to_owned(), wanted.to_owned());
                return Err(GuardError::NotInForce { name, wanted, found, osd: *osd });
            }
        }
        Ok(())
    }

    /// The cluster that is guarded.
    pub fn cluster(&self) -> &Arc<dyn CephConnection> {
        &self.on
    }

    /// An option as it is in an OSD's process; empty if that does not answer.
    fn value(&self, osd: u32, name: &str) -> String {
        let command = json!({"prefix": "config get", "var": name});
        let answer: Result<Value, CephError> = ask(&*self.on, &CommandTarget::Osd(osd), &command);
        answer.ok().and_then(|values| Some(values[name].as_str()?.to_owned())).unwrap_or_default()
    }

    /// Sets a flag of the whole cluster; one that is set already is somebody else's, and stays theirs.
    ///
    /// # Errors
    /// [`GuardError::FlagNames`] if the map shows it under another name: nothing is set then. [`GuardError`]; what the cluster
    /// may have heard of is in the journal.
    pub fn set_flag(&mut self, flag: &str) -> Result<(), GuardError> {
        let named = |shown: Vec<String>| GuardError::FlagNames { word: flag.to_owned(), shown };
        let known = flags_of(flag);
        if !known.is_empty() {
            return Err(named(known.iter().map(|&name| name.to_owned()).collect()));
        }
        let before = self.flags()?;
        if before.iter().any(|set| set == flag) {
            return Ok(());
        }
        let seq = self.make(ClusterChange::Flag { flag: flag.to_owned() }, None)?;
        let shown = self.flags()?;
        if shown.iter().any(|set| set == flag) {
            return Ok(());
        }
        tell(&*self.on, &CommandTarget::Monitor, &json!({"prefix": "osd unset", "key": flag}))?;
        self.journal.undone(seq)?;
        Err(named(shown.into_iter().filter(|set| !before.contains(set)).collect()))
    }

    fn flags(&self) -> Result<Vec<String>, CephError> {
        let map: OsdMapDump =
            ask(&*self.on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
        Ok(map.flags_set)
    }

    /// Takes data off an OSD, which goes on running.
    ///
    /// # Errors
    /// [`GuardError`]; what the cluster may have heard of is in the journal.
    pub fn take_out(&mut self, osd: u32) -> Result<(), GuardError> {
        self.make(ClusterChange::Out { osd }, Some("in".to_owned())).map(drop)
    }

    /// Lets data come to an OSD again from which this run has taken it.
    ///
    /// # Errors
    /// [`GuardError`]; where it fails the OSD's absence is still in the journal.
    pub fn take_in(&mut self, osd: u32) -> Result<(), GuardError> {
        let command = json!({"prefix": "osd in", "ids": [osd.to_string()]});
        tell(&*self.on, &CommandTarget::Monitor, &command)?;
        let is_it =
            |change: &ClusterChange| matches!(change, ClusterChange::Out { osd: of } if *of == osd);
        Ok(self.journal.undone_where(is_it)?)
    }

    /// Ends an OSD's process by the operator's hook.
    ///
    /// # Errors
    /// [`GuardError`]; an OSD that may be down is in the journal.
    pub fn stop_osd(&mut self, osd: u32, hook: &OsdHook) -> Result<(), GuardError> {
        let up_from = hook::up_from(&*self.on, osd)?;
        self.make(ClusterChange::Stopped { osd, hook: hook.clone(), up_from }, None)?;
        Ok(hook.stop(&*self.on, osd)?)
    }

    /// Begins it again.
    ///
    /// # Errors
    /// [`GuardError`]; where it fails the OSD is still in the journal.
    pub fn start_osd(&mut self, osd: u32, hook: &OsdHook) -> Result<(), GuardError> {
        hook.start(&*self.on, osd)?;
        let is_it = |change: &ClusterChange| matches!(change, ClusterChange::Stopped { osd: of, .. } if *of == osd);
        Ok(self.journal.undone_where(is_it)?)
    }

    /// Begins an OSD's process anew by the operator's hook, so that it runs with the queue that is stored for it.
    ///
    /// # Errors
    /// [`GuardError`]; an OSD that may run with another queue is in the journal.
    pub fn restart_osd(&mut self, osd: u32, hook: &OsdHook) -> Result<(), GuardError> {
        let queue = hook::queue_of(&*self.on, osd);
        if queue.is_empty() || queue == UNKNOWN_QUEUE {
            return Err(GuardError::QueueUntold(osd));
        }
        self.make(ClusterChange::Restarted { osd, hook: hook.clone(), queue }, None)?;
        Ok(hook.restart(&*self.on, osd)?)
    }

    /// Makes a pool with our label on it.
    ///
    /// # Errors
    /// [`GuardError`]; what the cluster may have heard of is in the journal.
    pub fn make_pool(
        &mut self,
        name: &str,
        groups: u32,
        copies: Option<u32>,
    ) -> Result<(), GuardError> {
        let map: OsdMapDump =
            ask(&*self.on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
        // The cluster answers the making of a pool that is there with success, and it would get our label.
        if map.pools.iter().any(|pool| pool.pool_name == name) {
            return Err(GuardError::PoolExists(name.to_owned()));
        }
        let (name, run) = (name.to_owned(), self.run.clone());
        self.make(ClusterChange::Pool { name, groups, copies, run }, None).map(drop)
    }

    /// Deletes a pool that this run has made, before its end.
    ///
    /// # Errors
    /// [`GuardError`]; where it fails the pool is still in the journal.
    pub fn remove_pool(&mut self, name: &str) -> Result<(), GuardError> {
        undo::remove_pool(&*self.on, &mut self.journal, name)
    }

    /// Lets the balancer rest.
    ///
    /// # Errors
    /// [`GuardError`]; what the cluster may have heard of is in the journal.
    pub fn pause_balancer(&mut self) -> Result<(), GuardError> {
        let status: Value =
            ask(&*self.on, &CommandTarget::Manager, &json!({"prefix": "balancer status"}))?;
        if status["active"].as_bool() != Some(true) {
            return Ok(());
        }
        let before = stored(&*self.on, "mgr", "mgr/balancer/active")?;
        self.make(ClusterChange::Balancer, before).map(drop)
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// [`GuardError`] if the journal or the cluster cannot be used; another [`undo`] goes on from there.
    pub fn end(mut self) -> Result<UndoReport, GuardError> {
        undo::put_back(&*self.on, &mut self.journal)
    }
}
