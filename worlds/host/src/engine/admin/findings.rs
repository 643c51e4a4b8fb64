//! What needs somebody's attention, one sentence each.

use super::pg_states::PgStates;
use crate::admin::api::{Health, HealthLevel, Osd};
use crate::engine::Engine;
use loadline_base::Span;
use loadline_osd::OsdId;

/// An op that takes longer is slow. Ceph warns after 30 s of spinning disks; a client of flash has given up hope by then.
const SLOW: Span = Span::from_secs(5);
/// An OSD with more used is nearly full, in percent (`mon_osd_nearfull_ratio` 0.85).
const NEARLY_FULL: u64 = 85;

/// What was found, with how bad it is.
pub(super) struct Findings {
    found: Vec<(HealthLevel, String)>,
}

impl Findings {
    pub(super) fn of(engine: &Engine, osds: &[Osd], pgs: &PgStates) -> Findings {
        let mut findings = Findings { found: Vec::new() };
        findings.availability(engine, pgs);
        findings.osds(osds);
        findings.room(engine, osds);
        findings.slow_ops(engine);
        findings
    }

    /// The worst first.
    pub(super) fn health(mut self) -> Health {
        self.found.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
        Health {
            level: self.found.first().map_or(HealthLevel::Ok, |(level, _)| *level),
            findings: self.found.into_iter().map(|(_, sentence)| sentence).collect(),
        }
    }

    fn warn(&mut self, sentence: String) {
        self.found.push((HealthLevel::Warn, sentence));
    }

    fn error(&mut self, sentence: String) {
        self.found.push((HealthLevel::Error, sentence));
    }

    fn availability(&mut self, engine: &Engine, pgs: &PgStates) {
        if let Some(refusal) = engine.without_quorum() {
            self.error(refusal.error);
        }
        if pgs.down > 0 {
            let what = are(pgs.down, "PG", "is", "are");
            self.error(format!("{what} down: no OSD that is up has all of its data"));
        }
        if pgs.inactive > 0 {
            let what = are(pgs.inactive, "PG", "is", "are");
            self.warn(format!("{what} peering: ops wait until its members agree"));
        }
        if pgs.undersized > 0 {
            let what = are(pgs.undersized, "PG", "has", "have");
            self.warn(format!("{what} fewer copies than wanted"));
        }
        if pgs.objects.degraded > 0 {
            let what = are(pgs.objects.degraded, "copy", "is", "are");
            self.warn(format!("{what} missing, of {}", pgs.objects.copies));
        }
    }

    fn osds(&mut self, osds: &[Osd]) {
        for osd in osds.iter().filter(|osd| !osd.up) {
            let name = OsdId::new(osd.osd);
            match &osd.failure {
                Some(failure) => self.warn(format!("{name} is down: {failure}")),
                None => self.warn(format!("{name} is down")),
            }
        }
        let buffered = |osd: &&Osd| osd.up && osd.disk_mode == super::osds::BUFFERED;
        for osd in osds.iter().filter(buffered) {
            self.warn(format!(
                "{}'s disk goes through the page cache: its file system has no direct I/O",
                OsdId::new(osd.osd)
            ));
        }
    }

    fn room(&mut self, engine: &Engine, osds: &[Osd]) {
        let full = engine.cluster.full_osds();
        for osd in full.iter() {
            self.error(format!("{osd} is full: writes to its PGs wait for room"));
        }
        for osd in engine.cluster.backfill_full_osds().iter().filter(|osd| !full.contains(*osd)) {
            self.warn(format!("{osd} takes no backfills: less than 10 % of it is free"));
        }
        for osd in osds.iter().filter(|osd| !full.contains(OsdId::new(osd.osd))) {
            if osd.used_bytes * 100 > osd.size_bytes * NEARLY_FULL {
                let used = osd.used_bytes * 100 / osd.size_bytes;
                self.warn(format!("{} is nearly full: {used} % used", OsdId::new(osd.osd)));
            }
        }
    }

    fn slow_ops(&mut self, engine: &Engine) {
        let ages = engine.cluster.open_ops().into_iter().map(|op| engine.now.since(op.issued));
        let slow: Vec<Span> = ages.take_while(|age| *age > SLOW).collect();
        if let Some(oldest) = slow.first() {
            let what = are(slow.len() as u64, "op", "waits", "wait");
            let seconds = oldest.as_secs_f64();
            self.warn(format!("{what} for more than 5 s, the oldest for {seconds:.0} s"));
        }
    }
}

/// `1 PG is`, `3 copies are`
fn are(count: impl Into<u64>, one: &str, single: &str, plural: &str) -> String {
    let count = count.into();
    match (count, one.strip_suffix('y')) {
        (1, _) => format!("1 {one} {single}"),
        (_, Some(stem)) => format!("{count} {stem}ies {plural}"),
        (_, None) => format!("{count} {one}s {plural}"),
    }
}
