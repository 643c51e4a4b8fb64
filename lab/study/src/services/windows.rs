//! What clients see alone, before the services begin, and beside each service until it is over: one run shows both, on the same disks.

use super::course::ServicesCourse;
use crate::figure::Figures;
use loadline_base::Time;
use loadline_stats::LatencyHistogram;

/// Latencies of parts of the clients' time.
#[derive(Debug, Default)]
pub(super) struct ClientWindows {
    /// Until the services began.
    alone: Option<ClientPart>,
    /// From then on, beside each service that is over, or was not when the clients' time was.
    beside: Vec<(&'static str, ClientPart)>,
}

/// A part of the clients' time.
#[derive(Debug)]
struct ClientPart {
    from: Time,
    to: Time,
    /// What they saw in it, as soon as they tell.
    seen: Option<LatencyHistogram>,
}

impl ClientPart {
    fn seconds(&self) -> f64 {
        self.to.since(self.from).as_secs_f64()
    }

    fn put(&self, counted: &mut Figures, of: &str) -> Option<f64> {
        let seen = self.seen.as_ref()?;
        let p99_ms = seen.percentile_ns(99.0) as f64 / 1e6;
        counted.put(&format!("{of}/clat_ms/p99"), p99_ms);
        counted.put(&format!("{of}/client_ops"), seen.count() as f64);
        Some(p99_ms)
    }
}

impl ClientWindows {
    /// The services begin, beside clients who were alone in this part of their time.
    pub(super) fn services_begin(
        &mut self,
        (from, to): (Time, Time),
        seen: Option<LatencyHistogram>,
    ) {
        self.alone = Some(ClientPart { from, to, seen });
    }

    /// Ends the window of each service that is over, and at the clients' end of all.
    pub(super) fn look(
        &mut self,
        now: Time,
        course: &ServicesCourse,
        is_end: bool,
        seen: impl FnOnce() -> Option<LatencyHistogram>,
    ) {
        let Some(ClientPart { to: from, seen: alone, .. }) = &self.alone else { return };
        let is_open = |name: &str| self.beside.iter().all(|(service, _)| *service != name);
        let ends = course.of.iter().filter(|of| is_end || of.is_over());
        let ends = ends.map(|of| (of.name, of.ended().unwrap_or(now)));
        let ends: Vec<(&'static str, Time)> = ends.filter(|(name, _)| is_open(name)).collect();
        if ends.is_empty() {
            return;
        }
        let seen = seen().zip(alone.as_ref()).map(|(all, alone)| all.since(alone));
        let part = |to| ClientPart { from: *from, to, seen: seen.clone() };
        self.beside.extend(ends.into_iter().map(|(name, to)| (name, part(to))).collect::<Vec<_>>());
    }

    fn parts(&mut self) -> impl Iterator<Item = &mut ClientPart> {
        self.alone.iter_mut().chain(self.beside.iter_mut().map(|(_, part)| part))
    }

    /// The parts of which clients have told nothing while they went on.
    pub(super) fn untold(&mut self) -> Option<Vec<(Time, Time)>> {
        let untold = self.parts().filter(|part| part.seen.is_none());
        Some(untold.map(|part| (part.from, part.to)).collect())
            .filter(|all: &Vec<_>| !all.is_empty())
    }

    /// What they tell of those afterwards, if they do.
    pub(super) fn told(&mut self, seen: Option<Vec<LatencyHistogram>>) {
        let untold = self.parts().filter(|part| part.seen.is_none());
        for (part, seen) in untold.zip(seen.into_iter().flatten()) {
            part.seen = Some(seen);
        }
    }

    /// Beside several services clients have the longest of what they have beside each.
    pub(super) fn put(&self, counted: &mut Figures) {
        let Some(alone) = self.alone.as_ref().filter(|_| !self.beside.is_empty()) else { return };
        if alone.put(counted, "alone").is_none() {
            return;
        }
        counted.put("alone/seconds", alone.seconds());
        let seconds = self.beside.iter().map(|(_, part)| part.seconds());
        counted.put("beside/seconds", seconds.fold(0.0, f64::max));
        let p99s = self.beside.iter().filter_map(|(service, part)| part.put(counted, service));
        let worst = p99s.fold(0.0, f64::max);
        counted.put("beside/clat_ms/p99", worst);
    }
}
