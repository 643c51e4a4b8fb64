//! What is done after every event, whatever it was: ops go on, the checkpoint goes on, the log is written, commits are
//! answered. It ends when nothing more can be done without another event.

use super::PagedStore;
use super::op::{Running, Wait};
use loadline_base::Time;

impl<T: Copy> PagedStore<T> {
    pub(super) fn upkeep(&mut self) {
        if self.restart.is_some() {
            self.advance_restart();
            if self.restart.is_some() {
                self.hold_back();
                return;
            }
        }
        loop {
            self.wake_sleepers();
            self.unpark();
            while let Some(running) = self.ready.pop_front() {
                self.run(running);
            }
            let progressed = self.advance_checkpoint();
            self.advance_log();
            self.answer_commits();
            if !progressed && self.ready.is_empty() && !self.unpark {
                return;
            }
        }
    }

    /// Before the store is open, ops wait.
    fn hold_back(&mut self) {
        while let Some(mut running) = self.ready.pop_front() {
            running.wait = Wait::Restart;
            self.parked.push_back(running);
        }
        self.unpark = true;
    }

    fn wake_sleepers(&mut self) {
        while let Some(entry) = self.sleeping.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let running = entry.remove();
            self.wake(running);
        }
    }

    /// A sleep is over, at its time or before.
    fn wake(&mut self, mut running: Running<T>) {
        let slept = self.now.since(running.stages.planned);
        running.stages.throttled = slept;
        self.metrics.throttled(slept, self.job.as_mut().map(|job| &mut job.report));
        self.ready.push_back(running);
    }

    /// Ends every sleep: the pressure is over.
    pub(super) fn wake_all(&mut self) {
        let sleepers = std::mem::take(&mut self.sleeping);
        sleepers.into_values().for_each(|running| self.wake(running));
    }

    /// Lets parked ops try again, the oldest first. The first that still cannot go stops those behind it.
    fn unpark(&mut self) {
        if !std::mem::take(&mut self.unpark) {
            return;
        }
        for _ in 0..self.parked.len() {
            let Some(running) = self.parked.pop_front() else { return };
            let before = self.parked.len();
            self.retry(running);
            if self.parked.len() > before {
                return;
            }
        }
    }

    /// When [`PagedStore::tick`] is to be called, if nothing else happens before.
    pub fn next_tick(&self) -> Option<Time> {
        if self.fault.is_some() || self.restart.is_some() {
            return None;
        }
        let sleeper = self.sleeping.keys().next().map(|(time, _)| *time);
        let log = self.group.deadline(&self.log).into_iter().chain(self.witness.deadline());
        sleeper.into_iter().chain(log).chain(self.next_checkpoint()).min()
    }
}
