//! What is done after every event, whatever it was: ops go on, the checkpoint goes on, the log is written, commits are
//! answered. It ends when nothing more can be done without another event.

use super::PagedStore;
use super::op::RunningOp;
use loadline_base::Time;

impl<T: Copy> PagedStore<T> {
    /// Gives those a turn that may go on.
    pub(super) fn give_turns(&mut self) {
        while let Some(mut running) = self.ops.next() {
            running.goes_on(self.now);
            self.run(running);
        }
    }

    pub(super) fn upkeep(&mut self) {
        if self.restart.is_some() {
            self.advance_restart();
            if self.restart.is_some() {
                return self.ops.hold_back();
            }
        }
        if self.space.pages.allocator.has_ended() {
            self.free_some();
        }
        loop {
            self.wake_sleepers();
            self.unpark();
            self.give_turns();
            let progressed = self.advance_checkpoint();
            self.log.advance(self.now, &mut self.requests, &mut self.metrics.totals);
            self.log.answer(&mut self.ops);
            if !progressed && !self.ops.may_go_on() {
                return;
            }
        }
    }

    fn wake_sleepers(&mut self) {
        while let Some(running) = self.ops.next_rested(self.now) {
            self.wake(running);
        }
    }

    /// A sleep is over, at its time or before.
    pub(super) fn wake(&mut self, mut running: RunningOp<T>) {
        let slept = self.now.since(running.stages.planned);
        running.stages.throttled = slept;
        self.metrics.throttled(slept, self.checkpoint.report());
        self.ops.wake(running);
    }

    /// Ends every sleep: the pressure is over.
    pub(super) fn wake_all(&mut self) {
        self.ops.take_sleepers().into_iter().for_each(|running| self.wake(running));
    }

    /// Lets parked ops try again, the oldest first. The first that still cannot go stops those behind it.
    fn unpark(&mut self) {
        if !self.ops.take_change() {
            return;
        }
        for mut running in self.ops.take_without_room() {
            running.goes_on(self.now);
            self.retry(running);
        }
        for _ in 0..self.ops.parked() {
            let Some(mut running) = self.ops.next_parked() else { return };
            running.goes_on(self.now);
            let before = self.ops.parked();
            self.retry(running);
            if self.ops.parked() > before {
                return;
            }
        }
    }

    /// When [`PagedStore::tick`] is to be called, if nothing else happens before.
    pub fn next_tick(&self) -> Option<Time> {
        if self.fault.is_some() || self.restart.is_some() {
            return None;
        }
        if self.space.pages.allocator.has_ended() {
            return Some(self.now);
        }
        let due = [self.ops.next_waking(), self.log.deadline(), self.next_checkpoint()];
        due.into_iter().flatten().min()
    }
}
