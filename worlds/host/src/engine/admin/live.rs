//! The live view: who asks for it, and who is told each second.

use super::findings::Findings;
use super::pg_states::PgStates;
use crate::ConnId;
use crate::admin::api::{
    AdminAnswer, LiveNow, LiveOsd, LiveScrub, LiveStep, LiveView, OsdRow, QueuedClass, ScrubRound,
};
use crate::engine::Engine;
use crate::engine::host_node::HostNode;
use crate::engine::live::{CLASSES, ClassSoFar, SecondEnd};
use loadline_base::Time;
use loadline_cluster::IssuedOp;
use loadline_node::ScrubReports;
use loadline_osd::OsdId;
use loadline_qos::ServiceClass;
use std::collections::BTreeSet;

/// The oldest ops in flight that are shown with what they wait for.
const OLDEST: usize = 8;

impl Engine {
    pub(super) fn live(&mut self) -> AdminAnswer {
        let seconds = self.host.health.live().seconds().cloned().collect();
        AdminAnswer::Live(Box::new(LiveView { seconds, now: self.live_now() }))
    }

    fn live_now(&mut self) -> LiveNow {
        let pgs = PgStates::of(&mut self.host.node);
        let scrubs = self.host.node.scrub_reports(self.host.now);
        let rows = self.host.shown_osds();
        let waiting = self.memory.waiting();
        let health = Findings::of(&self.host, waiting, &rows, &pgs, &scrubs).health();
        let rates = self.host.health.rates();
        let trimmed = rates.per_second(|counts| counts.trimmed);
        let deleted = rates.per_second(|counts| counts.deleted);
        let open: Vec<IssuedOp> =
            self.host.node.cluster().open_ops().into_iter().cloned().collect();
        let profiles: BTreeSet<String> =
            rows.iter().map(|row| self.host.settings.levels.profile(OsdId::new(row.osd))).collect();
        LiveNow {
            health,
            uptime_ns: self.host.now.since(Time::ZERO).nanos(),
            profile: profiles.into_iter().collect::<Vec<_>>().join(", "),
            profiles: self.host.profile_names(),
            in_flight: open.len() as u64,
            oldest: open.iter().take(OLDEST).map(|op| self.host.op_in_flight(op)).collect(),
            objects: pgs.objects,
            recovery: self.recovery_pace(),
            trim: self.host.trim_progress(trimmed),
            deletion: self.host.deletion_progress(deleted),
            scrub: self.host.live_scrub(&pgs, &scrubs),
            osds: rows.iter().map(|row| self.host.live_osd(row)).collect(),
        }
    }

    /// Tells who follows the live view of the second that has passed. Who has not taken the one before goes without.
    pub(in crate::engine) fn tell_second(&mut self) {
        let following: Vec<ConnId> = self.admin.following();
        if following.is_empty() {
            return;
        }
        let Some(second) = self.host.health.live().last().cloned() else { return };
        let step = LiveStep { second, now: self.live_now() };
        let step = serde_json::to_string(&step).expect("a step is plain data");
        for conn in following {
            self.admin_event(conn, &step);
        }
    }
}

impl HostNode {
    /// What is known at the end of a second, but for what was counted in it.
    pub(in crate::engine) fn second_end(&self) -> SecondEnd {
        let scrubbed = self.node.each_osd().map(|(_, osd)| osd.scrub_counts().objects).sum();
        SecondEnd { classes: self.classes_so_far(), scrubbed, ..SecondEnd::default() }
    }

    fn classes_so_far(&self) -> [ClassSoFar; CLASSES] {
        let mut classes = [ClassSoFar::default(); CLASSES];
        for (osd, it) in self.node.each_osd() {
            let is_up = self.node.cluster().map().osds()[osd].up;
            let service = it.service(self.now);
            for (so_far, class) in classes.iter_mut().zip(ServiceClass::SHARED) {
                let class = class as usize;
                let given = service.shards.iter().map(|shard| shard[class]);
                let (items, cost) =
                    given.fold((0, 0), |(items, cost), it| (items + it.items, cost + it.cost));
                so_far.items += items;
                so_far.small_ops += self.small_ops(osd, cost as f64);
                so_far.waiting += service.waiting[class];
                if is_up {
                    let promised = service.reservations[class] * service.shards.len() as f64;
                    so_far.promised += self.small_ops(osd, promised);
                }
            }
        }
        classes
    }

    /// Items of each class that wait on an OSD.
    fn queued_by_class(&self, osd: OsdId) -> [(ServiceClass, u64); ServiceClass::ALL.len()] {
        let found = self.node.each_osd().find(|(it, _)| *it == osd);
        let waiting = found.map(|(_, it)| it.service(self.now).waiting).unwrap_or_default();
        ServiceClass::ALL.map(|class| (class, waiting[class as usize]))
    }

    fn live_scrub(&self, pgs: &PgStates, reports: &ScrubReports) -> LiveScrub {
        let ScrubRound { pgs_left, ends_in_ns, .. } = self.scrub_round(reports);
        let mut scrub = LiveScrub { pgs: pgs.all, pgs_left, ends_in_ns, ..LiveScrub::default() };
        for report in reports.values() {
            scrub.running += u32::from(report.runs);
            scrub.errors += report.record.findings.counts.all();
        }
        let is_paused = |osd: OsdId| {
            let schedule = self.settings.options(osd).scrub.schedule;
            schedule.is_paused()
        };
        scrub.paused = self.disks.of.ids().all(is_paused);
        scrub
    }

    fn live_osd(&self, row: &OsdRow) -> LiveOsd {
        let osd = OsdId::new(row.osd);
        let capacity = self.node.capacity(osd);
        let gate = self.node.gate(self.now, osd);
        let queued = self.queued_by_class(osd);
        LiveOsd {
            osd: row.osd,
            up: row.up,
            is_in: row.is_in,
            size_bytes: row.size_bytes,
            used_bytes: row.used_bytes,
            capacity_iops: row.up.then(|| capacity.in_force().iops),
            capacity_is_found: capacity.found_iops().is_some(),
            gate_closed: row.up && gate.is_closed,
            queued: queued
                .into_iter()
                .map(|(class, items)| QueuedClass { class: class.name().to_owned(), items })
                .collect(),
            kept_out: gate.kept_out,
        }
    }
}
