//! How recovery goes on: the counters, second by second, from the OSD's return until every copy is where it should be; and
//! the same for a time without recovery.

use super::Halt;
use super::guest::{Guest, Heed};
use crate::kind::RunError;
use crate::service::ServiceLog;
use loadline_base::{Span, Time};
use loadline_host::DirectCounts;

/// How closely the end of a recovery is timed. A small recovery lasts a second or two.
pub(super) const TICK: Span = Span::from_millis(20);

/// A returned OSD that misses something says so within this time.
const FIRST_SIGN: Span = Span::from_secs(5);

/// What was counted.
#[derive(Debug)]
pub(super) struct Course {
    /// Objects brought to their places since the return.
    pub objects: u64,
    /// The same at the end of every whole second.
    pub left: Vec<u64>,
    /// From the return to the end.
    pub window: Span,
    /// What the schedulers gave.
    pub service: ServiceLog,
}

impl Course {
    fn begin(guest: &mut Guest) -> Result<Course, Halt> {
        let (at, service) = guest.service()?;
        let service = ServiceLog::begin(at, service);
        Ok(Course { objects: 0, left: Vec::new(), window: Span::ZERO, service })
    }

    /// Time has gone on to `window`; answers with how many whole seconds are over that were not before.
    fn goes_on(&mut self, window: Span, guest: &mut Guest) -> Result<u64, Halt> {
        let whole = |span: Span| span.nanos() / SECOND.nanos();
        let over = whole(window) - whole(self.window);
        self.window = window;
        if over > 0 {
            let (at, service) = guest.service()?;
            self.service.read(at, service);
        }
        Ok(over)
    }
}

const SECOND: Span = Span::from_secs(1);

/// Counts, while whatever loads the node goes on.
pub(super) struct Counter<'a> {
    pub setup: &'a str,
    pub scale: f64,
    pub limit: Span,
    /// When the OSD was back, by the guest's clock.
    pub begun: Time,
    /// Objects that recovery had brought before the return: it may be over before anybody looks again.
    pub received: u64,
}

impl Counter<'_> {
    /// Until nothing is misplaced or degraded any more.
    pub(super) fn until_recovered(
        &self,
        guest: &mut Guest,
        heed: &mut Heed<'_, '_>,
    ) -> Result<Course, Halt> {
        let mut course = Course::begin(guest)?;
        for ticks in 1.. {
            guest.pause(self.begun + TICK * ticks)?;
            let counts = guest.counts()?;
            let window = guest.now().since(self.begun);
            let left = left(&counts);
            course.objects = counts.received.saturating_sub(self.received);
            for _ in 0..course.goes_on(window, guest)? {
                course.left.push(left);
            }
            if left == 0 && counts.clean && course.objects > 0 {
                return Ok(course);
            }
            self.go_on(&course, left)?;
            heed.at(course.objects as f64 / (course.objects + left).max(1) as f64)?;
        }
        unreachable!("the counting ends by one of its conditions")
    }

    /// For a time, without recovery.
    pub(super) fn for_a_time(
        &self,
        time: Span,
        guest: &mut Guest,
        heed: &mut Heed<'_, '_>,
    ) -> Result<Course, Halt> {
        let (mut course, end) = (Course::begin(guest)?, self.begun + time);
        while guest.now() < end {
            guest.pause((guest.now() + TICK).min(end))?;
            course.goes_on(guest.now().since(self.begun), guest)?;
            heed.at(course.window.as_secs_f64() / time.as_secs_f64())?;
        }
        // A disk that has failed meanwhile ends the run.
        guest.counts()?;
        Ok(course)
    }

    fn go_on(&self, course: &Course, left: u64) -> Result<(), Halt> {
        let setup = self.setup.to_owned();
        if course.objects + left == 0 && course.window > FIRST_SIGN {
            return Err(Halt::Run(RunError::NothingToRecover { setup, scale: self.scale }));
        }
        if course.window > self.limit {
            return Err(Halt::Run(RunError::NeverEnded { setup, limit: self.limit, left }));
        }
        Ok(())
    }
}

pub(super) fn left(counts: &DirectCounts) -> u64 {
    counts.progress.misplaced + counts.progress.degraded
}
