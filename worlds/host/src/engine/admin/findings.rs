//! What needs somebody's attention, one sentence each.

use super::pg_states::PgStates;
use crate::admin::api::{Health, HealthLevel, OpWaitRow, OsdRow};
use crate::engine::host_node::HostNode;
use loadline_base::{Span, WallTime};
use loadline_cluster::IssuedOp;
use loadline_cluster::settings::LeftOut;
use loadline_node::{ScrubReports, TrimReport};
use loadline_osd::{DamageCounts, OsdId};
use std::collections::BTreeMap;

/// An op that takes longer is slow. Ceph warns after 30 s of spinning disks; a client of flash has given up hope by then.
const SLOW: Span = Span::from_secs(5);
/// An OSD with more used is nearly full, in percent (`mon_osd_nearfull_ratio` 0.85).
const NEARLY_FULL: u64 = 85;
/// A scrub is late when its longest interval and so many percent of it have passed (`mon_warn_pg_not_scrubbed_ratio` 0.5), and a deep one so many
/// of its own (`mon_warn_pg_not_deep_scrubbed_ratio` 0.75).
const LATE_PERCENT: u64 = 50;
pub(super) const LATE_DEEP_PERCENT: u64 = 75;
/// A group in which more removed snapshots wait is behind with its trim (`mon_osd_snap_trim_queue_warn_on`).
const TRIM_QUEUE: u64 = 32_768;
/// From so many percent of its epochs on a cluster is to be replaced in time.
const MANY_EPOCHS: u32 = 75;

/// What was found, with how bad it is.
pub(super) struct Findings {
    found: Vec<(HealthLevel, String)>,
}

impl Findings {
    pub(super) fn of(
        host: &HostNode,
        waiting_for_memory: u32,
        osds: &[OsdRow],
        pgs: &PgStates,
        scrubs: &ScrubReports,
    ) -> Findings {
        let mut findings = Findings { found: Vec::new() };
        findings.availability(host, pgs);
        findings.osds(host, osds);
        findings.loss(host);
        findings.healing(host);
        findings.room(host, osds);
        findings.damage(host, osds);
        findings.scrubs(host, scrubs);
        findings.late_scrubs(host, scrubs);
        findings.trims(host);
        findings.memory(waiting_for_memory);
        findings.slow_ops(host);
        findings.terms(host);
        findings.settings(host);
        for osd in osds.iter().filter(|osd| osd.up) {
            host.capacity_misfit(OsdId::new(osd.osd)).into_iter().for_each(|it| findings.warn(it));
        }
        findings.promises(host);
        findings.broken_promises(host);
        findings.epochs(host);
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

    fn availability(&mut self, host: &HostNode, pgs: &PgStates) {
        if let Some(refusal) = host.without_quorum() {
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
        if pgs.too_full > 0 {
            let what = are(pgs.too_full, "PG", "waits", "wait");
            self.warn(format!("{what} with recovery until an OSD has room"));
        }
        if pgs.unfound > 0 {
            let what = are(pgs.unfound, "object", "is", "are");
            let which = host.all_unfound_in_words();
            self.error(format!("{what} unfound, no copy can be read whole: {which}"));
        }
        if pgs.objects.degraded > 0 {
            let what = are(pgs.objects.degraded, "copy", "is", "are");
            let wanted = pgs.objects.copies;
            self.warn(format!("{what} missing, of {wanted} that objects should have together"));
        }
    }

    fn osds(&mut self, host: &HostNode, osds: &[OsdRow]) {
        for osd in osds.iter().filter(|osd| !osd.up) {
            let name = OsdId::new(osd.osd);
            match &osd.failure {
                Some(failure) => self.warn(format!("{name} is down: {failure}")),
                None => self.warn(format!("{name} is down")),
            }
        }
        // One that was taken out by itself is used again in a moment, and so is one that is new.
        let is_left_out = |osd: &OsdId| {
            let map = host.node.cluster().map();
            !map.is_taken_out(*osd) && !host.node.cluster().is_held_open(*osd)
        };
        let out = osds.iter().filter(|osd| osd.up && !osd.is_in).map(|osd| OsdId::new(osd.osd));
        for osd in out.filter(is_left_out) {
            self.warn(format!(
                "{osd} is up and out: placement does not use it until `loadline osd in {}`",
                osd.get()
            ));
        }
        let buffered = osds.iter().filter(|osd| osd.up && osd.disk_mode == super::osds::BUFFERED);
        let names: Vec<String> = buffered.map(|osd| OsdId::new(osd.osd).to_string()).collect();
        self.found.extend(without_direct_io(&names).map(|it| (HealthLevel::Warn, it)));
    }

    fn promises(&mut self, host: &HostNode) {
        let (promised, reserved) = (host.promised_to_images(|_| true), host.reserved_for_clients());
        if promised > reserved {
            self.warn(format!(
                "images are promised {promised:.0} writes per second with all copies, and OSDs reserve {reserved:.0} for clients: promises may be broken until \
                 some are smaller (`image qos`) or the profile reserves more"
            ));
        }
    }

    /// One second may be a pause of the machine's.
    fn broken_promises(&mut self, host: &HostNode) {
        for image in host.image_uses().iter().filter(|image| image.seconds_short > 1) {
            self.warn(format!(
                "image {} got less than it is promised and asked for in {} of the last {} seconds: {:.0} ops/s of {}",
                image.name,
                image.seconds_short,
                image.seconds,
                image.ops_per_s,
                image.qos.reservation_iops
            ));
        }
    }

    fn loss(&mut self, host: &HostNode) {
        for sentence in host.node.cluster().loss_in_words() {
            self.error(sentence);
        }
    }

    fn healing(&mut self, host: &HostNode) {
        for osd in host.node.cluster().healing().iter() {
            self.warn(format!("{osd} was damaged and is filled again from the other copies"));
        }
        for (osd, page) in host.node.cluster().rotten() {
            let why = host.why_not_filled_again(osd);
            self.error(format!("a scrub has found {page} of {osd}'s store bad on its disk: {why}"));
        }
    }

    fn room(&mut self, host: &HostNode, osds: &[OsdRow]) {
        let full = host.node.cluster().full_osds();
        for osd in full.iter() {
            match host.node.cluster().waits_for_room(osd) {
                0 => self.error(format!("{osd} is full: writes to its PGs wait for room")),
                writes => self.error(without_room(osd, &host.place_of(osd), writes as u64)),
            }
        }
        for (osd, lacks) in host.lacking_blocks() {
            let place = host.place_of(osd);
            self.warn(format!("{osd}'s file lacks {lacks} of its blocks, and {place} has no room for them: writes may have to wait for room"));
        }
        for osd in
            host.node.cluster().backfill_full_osds().iter().filter(|osd| !full.contains(*osd))
        {
            self.warn(format!("{osd} takes no backfills: less than 10 % of it is free"));
        }
        for osd in osds.iter().filter(|osd| !full.contains(OsdId::new(osd.osd))) {
            if osd.used_bytes * 100 > osd.size_bytes * NEARLY_FULL {
                let used = osd.used_bytes * 100 / osd.size_bytes;
                self.warn(format!("{} is nearly full: {used} % used", OsdId::new(osd.osd)));
            }
        }
    }

    fn memory(&mut self, waiting: u32) {
        if waiting > 0 {
            let what = are(waiting, "connection", "waits", "wait");
            self.warn(format!("{what} for memory: requests of all connections take what `--memory` leaves for them"));
        }
    }

    fn damage(&mut self, host: &HostNode, osds: &[OsdRow]) {
        for osd in osds.iter().map(|osd| OsdId::new(osd.osd)) {
            let DamageCounts { found, repaired, failed_ops } = host.node.damage(osd);
            if found > 0 {
                let what = are(found, "request", "has", "have");
                let back = are(repaired, "object", "was", "were");
                self.warn(format!(
                    "{what} found something unreadable on {osd} since the start; {back} replaced from other copies"
                ));
            }
            if failed_ops > 0 {
                let what = are(failed_ops, "op", "has", "have");
                self.error(format!("{what} failed on {osd}: no copy of the object can be read"));
            }
        }
    }

    /// What scrubs have found and nobody has repaired.
    fn scrubs(&mut self, host: &HostNode, reports: &ScrubReports) {
        let cluster = host.node.cluster();
        let (mut errors, mut damaged, mut failed) = (0, Vec::new(), Vec::new());
        for (&pg, report) in reports {
            let record = &report.record;
            errors += record.findings.counts.all();
            if record.findings.counts.all() > 0 {
                damaged.push(cluster.pg_name(pg));
            }
            if record.has_failed_repair {
                failed.push(cluster.pg_name(pg));
            }
        }
        if errors > 0 {
            let what = are(errors, "error", "was", "were");
            let pgs = damaged.join(", ");
            self.error(format!(
                "OSD_SCRUB_ERRORS: {what} found by scrubs, PG_DAMAGED: {pgs}; `loadline inconsistent list PG` names them, `loadline repair PG` replaces bad copies from a good one"
            ));
        }
        if !failed.is_empty() {
            let pgs = failed.join(", ");
            self.error(format!("repair has failed for want of a good copy: {pgs}"));
        }
    }

    /// Groups whose scrub is late: no OSD had a slot for long, or a flag or the hours stand against it.
    fn late_scrubs(&mut self, host: &HostNode, reports: &ScrubReports) {
        let (today, cluster) = (host.config.clock.at(host.now), host.node.cluster());
        let (mut late, mut late_deep) = (0u64, 0u64);
        let mut schedules = BTreeMap::new();
        for (pg, state) in cluster.map().pgs() {
            let Some(primary) = state.serving() else { continue };
            let schedule = *schedules
                .entry(primary)
                .or_insert_with(|| host.settings.options(primary).scrub.schedule);
            let record = &reports[&pg].record;
            let is_late = |last: Option<WallTime>, interval: Span, percent: u64| {
                let most = interval + interval / 100 * percent;
                interval > Span::ZERO && last.is_some_and(|last| today.since(last) > most)
            };
            late += u64::from(is_late(record.last_by(today), schedule.most, LATE_PERCENT));
            late_deep +=
                u64::from(is_late(record.last_deep_by(today), schedule.deep, LATE_DEEP_PERCENT));
        }
        if late > 0 {
            let what = are(late, "PG", "was", "were");
            self.warn(format!("PG_NOT_SCRUBBED: {what} not scrubbed in time; `loadline scrub status` tells since when"));
        }
        if late_deep > 0 {
            let what = are(late_deep, "PG", "was", "were");
            self.warn(format!("PG_NOT_DEEP_SCRUBBED: {what} not scrubbed deeply in time"));
        }
        if let Some(wants) = host.scrub_round(reports).wants {
            self.warn(format!("deep scrubs do not keep up: {wants}"));
        }
    }

    /// What is kept for removed snapshots grows if they come faster than they are trimmed.
    fn trims(&mut self, host: &HostNode) {
        let TrimReport { snapshots_most, objects_left, .. } = host.node.trim_report();
        if snapshots_most >= TRIM_QUEUE {
            self.warn(format!(
                "PG_SLOW_SNAP_TRIMMING: {snapshots_most} removed snapshots wait in one PG, with {objects_left} objects in all; more of osd_max_trimming_pgs or \
                 osd_pg_max_concurrent_snap_trims, or a profile that leaves background work more, trims faster, and nosnaptrim must not be set"
            ));
        }
    }

    fn slow_ops(&mut self, host: &HostNode) {
        let open = host.node.cluster().open_ops();
        let is_slow = |op: &&IssuedOp| host.now.since(op.issued) > SLOW;
        let slow: Vec<&IssuedOp> = open.into_iter().take_while(is_slow).collect();
        if let Some(oldest) = slow.first() {
            let what = are(slow.len() as u64, "op", "waits", "wait");
            let seconds = host.now.since(oldest.issued).as_secs_f64();
            let OpWaitRow { reason, .. } = host.present_wait(oldest);
            self.warn(format!(
                "SLOW_OPS: {what} for more than 5 s, the oldest for {seconds:.0} s: {reason}; `loadline dump ops` shows each"
            ));
        }
    }

    /// What of priorities and duration limits is not carried out.
    fn terms(&mut self, host: &HostNode) {
        for sentence in host.terms_left_out() {
            self.warn(sentence.to_owned());
        }
        let ended = host.health.rates().per_second(|counts| counts.over_limit);
        if ended > 0.0 {
            self.warn(format!(
                "the disks end {ended:.1} requests per second for their duration limit; each goes again without one"
            ));
        }
    }

    fn settings(&mut self, host: &HostNode) {
        for LeftOut { scope, option, value, why } in &host.settings.left_out {
            self.warn(format!("{option} = {value}, stored for {scope}, is left out: {why}"));
        }
    }

    fn epochs(&mut self, host: &HostNode) {
        let used = host.node.cluster().epochs_used_percent();
        if used >= MANY_EPOCHS {
            self.warn(format!(
                "{used} % of the map's epochs are used, and with the last ones the cluster ends: move its images to a new one"
            ));
        }
    }
}

/// Which OSDs' disks go through the page cache; `None` if none of them does.
fn without_direct_io(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() {
        format!("{last}'s disk goes through the page cache: its file system has no direct I/O")
    } else {
        let others = others.join(", ");
        format!(
            "the disks of {others} and {last} go through the page cache: their file systems have no direct I/O"
        )
    })
}

/// What is said of an OSD that so many writes wait for.
fn without_room(osd: OsdId, place: &str, writes: u64) -> String {
    let what = are(writes, "write", "waits", "wait");
    let goes_on = if writes == 1 { "goes on by itself" } else { "go on by themselves" };
    format!("{osd} is full: {place} has no room, {what} for it and {goes_on}")
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

#[cfg(test)]
mod tests {
    use super::{Findings, without_direct_io, without_room};
    use loadline_osd::OsdId;

    /// A guest that waits by vhost-user was told of as an NBD connection.
    #[test]
    fn whoever_waits_for_memory_is_a_connection() {
        let said = |waiting| {
            let mut findings = Findings { found: Vec::new() };
            findings.memory(waiting);
            findings.found.pop().map(|(_, sentence)| sentence).unwrap_or_default()
        };
        assert_eq!(said(0), "");
        assert!(said(1).starts_with("1 connection waits for memory: "), "{}", said(1));
        assert!(said(2).starts_with("2 connections wait for memory: "), "{}", said(2));
    }

    /// "1 write waits for it and go on by themselves."
    #[test]
    fn one_write_goes_on_by_itself() {
        let said = |writes| without_room(OsdId::new(2), "its file system", writes);
        let place = "osd.2 is full: its file system has no room";
        assert_eq!(said(1), format!("{place}, 1 write waits for it and goes on by itself"));
        assert_eq!(said(2), format!("{place}, 2 writes wait for it and go on by themselves"));
    }

    /// A line for each OSD hid what else was found.
    #[test]
    fn disks_without_direct_io_are_one_finding() {
        let said = |osds: u32| {
            let names: Vec<String> = (0..osds).map(|osd| format!("osd.{osd}")).collect();
            without_direct_io(&names)
        };
        assert_eq!(said(0), None);
        assert_eq!(
            said(1).as_deref(),
            Some("osd.0's disk goes through the page cache: its file system has no direct I/O")
        );
        assert_eq!(
            said(3).as_deref(),
            Some(
                "the disks of osd.0, osd.1 and osd.2 go through the page cache: their file systems have no direct I/O"
            )
        );
    }
}
