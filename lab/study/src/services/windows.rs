//! What clients see alone, before the services begin, and beside each service until it is over: one run shows both, on the same disks.

use super::course::ServicesCourse;
use crate::figure::Figures;
use loadline_base::{Span, Time};
use loadline_stats::LatencyHistogram;

/// Latencies of parts of the clients' time.
#[derive(Debug, Default)]
pub(super) struct ClientWindows {
    /// When the services began, with all that clients had seen by then.
    alone: Option<(Time, LatencyHistogram)>,
    /// Of each service that is over, or was not when the clients' time was.
    beside: Vec<SeenBeside>,
}

#[derive(Debug)]
struct SeenBeside {
    service: &'static str,
    /// From the beginning of the services on.
    lasted: Span,
    seen: LatencyHistogram,
}

impl ClientWindows {
    /// The services begin now, beside clients who were alone until then.
    pub(super) fn services_begin(&mut self, now: Time, seen: Option<LatencyHistogram>) {
        self.alone = seen.map(|seen| (now, seen));
    }

    /// Ends the window of each service that is over, and at the clients' end of all.
    pub(super) fn look(
        &mut self,
        now: Time,
        course: &ServicesCourse,
        is_end: bool,
        seen: impl FnOnce() -> Option<LatencyHistogram>,
    ) {
        let Some((began, alone)) = &self.alone else { return };
        let is_open = |name: &&str| self.beside.iter().all(|window| window.service != *name);
        let ends = course.of.iter().filter(|of| is_end || of.is_over()).map(|of| of.name);
        let ends: Vec<&'static str> = ends.filter(is_open).collect();
        let Some(seen) = (!ends.is_empty()).then(seen).flatten() else { return };
        let (lasted, seen) = (now.since(*began), seen.since(alone));
        let window = |service| SeenBeside { service, lasted, seen: seen.clone() };
        self.beside.extend(ends.into_iter().map(window));
    }

    /// Beside several services clients have the longest of what they have beside each.
    pub(super) fn put(&self, counted: &mut Figures, begun: Time) {
        let p99_ms = |seen: &LatencyHistogram| seen.percentile_ns(99.0) as f64 / 1e6;
        let (Some((began, alone)), Some(lasted)) =
            (&self.alone, self.beside.iter().map(|window| window.lasted).max())
        else {
            return;
        };
        counted.put("alone/clat_ms/p99", p99_ms(alone));
        counted.put("alone/client_ops", alone.count() as f64);
        counted.put("alone/seconds", began.since(begun).as_secs_f64());
        counted.put("beside/seconds", lasted.as_secs_f64());
        let worst = self.beside.iter().map(|window| p99_ms(&window.seen)).fold(0.0, f64::max);
        counted.put("beside/clat_ms/p99", worst);
        for SeenBeside { service, seen, .. } in &self.beside {
            counted.put(&format!("{service}/clat_ms/p99"), p99_ms(seen));
            counted.put(&format!("{service}/client_ops"), seen.count() as f64);
        }
    }
}
