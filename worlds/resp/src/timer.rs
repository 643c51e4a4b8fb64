//! Who decides whose turn it is asks for the time here, and comes back at one.

use loadline_base::Time;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// See [above](self).
pub(crate) struct TurnTimer {
    begun: Instant,
    /// When somebody will look again by itself, and who.
    alarm: Rc<Cell<Option<(Time, AbortHandle)>>>,
}

impl TurnTimer {
    /// Its time begins now.
    pub(crate) fn new() -> TurnTimer {
        TurnTimer { begun: Instant::now(), alarm: Rc::default() }
    }

    pub(crate) fn now(&self) -> Time {
        let since = self.begun.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Does something at a time, unless somebody will do so before.
    pub(crate) fn ring_at(&self, (now, time): (Time, Time), ring: impl FnOnce() + 'static) {
        let former = self.alarm.take();
        if former.as_ref().is_some_and(|(set, _)| *set <= time) {
            return self.alarm.set(former);
        }
        // It would sleep on, and be one of many that nobody waits for.
        former.into_iter().for_each(|(_, task)| task.abort());
        let wait = Duration::from_nanos(time.since(now).nanos());
        let alarm = Rc::clone(&self.alarm);
        let task = tokio::task::spawn_local(async move {
            tokio::time::sleep(wait).await;
            alarm.set(None);
            ring();
        });
        self.alarm.set(Some((time, task.abort_handle())));
    }
}
