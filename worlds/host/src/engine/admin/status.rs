//! How the node is, at one look.

use super::findings::Findings;
use super::pg_states::PgStates;
use crate::admin::api::{
    AdminAnswer, BackgroundRow, ClientRates, ConnectionCounts, DeletionProgress, FareRow, GateRow,
    Health, OsdCounts, RecoveryPace, Status, TrimProgress,
};
use crate::engine::Engine;
use crate::engine::host_node::HostNode;
use loadline_base::{Span, Time};
use loadline_osd::{ClientFare, GateReport, OsdId};

impl Engine {
    pub(super) fn status(&mut self) -> AdminAnswer {
        let pgs = PgStates::of(&mut self.host.node);
        let scrubs = self.host.node.scrub_reports(self.host.now);
        let osds = self.host.shown_osds();
        let waiting = self.memory.waiting();
        let health = Findings::of(&self.host, waiting, &osds, &pgs, &scrubs).health();
        let rates = self.host.health.rates();
        let count = |is: fn(&crate::admin::api::OsdRow) -> bool| {
            osds.iter().filter(|osd| is(osd)).count() as u32
        };
        AdminAnswer::Status(Box::new(Status {
            health,
            uptime_ns: self.host.now.since(Time::ZERO).nanos(),
            map_epoch: self.host.node.cluster().map().epoch(),
            io_mode: self.host.io_mode(),
            osd_counts: OsdCounts {
                total: osds.len() as u32,
                up: count(|osd| osd.up),
                is_in: count(|osd| osd.is_in),
            },
            osds,
            pgs: pgs.counts(),
            objects: pgs.objects,
            recovery: self.recovery_pace(),
            trim: self.host.trim_progress(rates.per_second(|counts| counts.trimmed)),
            scrub: self.host.scrub_round(&scrubs),
            deletion: self.host.deletion_progress(rates.per_second(|counts| counts.deleted)),
            client: ClientRates {
                window_ns: Span::from_secs(rates.seconds).nanos(),
                reads_per_s: rates.per_second(|counts| counts.reads),
                writes_per_s: rates.per_second(|counts| counts.writes),
                read_bytes_per_s: rates.per_second(|counts| counts.read_bytes),
                written_bytes_per_s: rates.per_second(|counts| counts.written_bytes),
            },
            images: self.host.image_uses(),
            gates: self.host.shown_gates(),
            memory: self.host.memory_use(self.memory.held(), waiting),
            connections: ConnectionCounts {
                nbd: self.doors.counts().nbd,
                vhost: self.doors.counts().vhost,
                admin: self.doors.counts().admin,
                page: self.doors.counts().page,
                refused: self.doors.refused,
            },
        }))
    }
}

impl Engine {
    /// What recovery and backfill moved in the last seconds, and how long they still take.
    pub(super) fn recovery_pace(&self) -> RecoveryPace {
        let rates = self.host.health.rates();
        let left = self.host.health.recovery().time_left();
        let nanos = |seconds: f64| Span::from_secs_f64(seconds).nanos();
        RecoveryPace {
            objects_per_s: rates.per_second(|counts| counts.recovered.objects),
            bytes_per_s: rates.per_second(|counts| counts.recovered.bytes),
            ends_in_ns: left.and_then(|left| left.about_s).map(nanos),
            least_ns: left.map(|left| nanos(left.least_s)),
        }
    }

    /// What needs somebody's attention.
    pub(super) fn health(&mut self) -> Health {
        let pgs = PgStates::of(&mut self.host.node);
        let osds = self.host.shown_osds();
        let scrubs = self.host.node.scrub_reports(self.host.now);
        Findings::of(&self.host, self.memory.waiting(), &osds, &pgs, &scrubs).health()
    }
}

impl HostNode {
    /// What is still kept for removed snapshots, of which so much is given back in a second.
    pub(super) fn trim_progress(&self, objects_per_s: f64) -> TrimProgress {
        let left = self.node.trim_report();
        TrimProgress {
            snapshots_left: left.snapshots_left,
            objects_left: left.objects_left,
            objects_per_s,
            ends_in_ns: ends_in_ns(left.objects_left, objects_per_s),
        }
    }

    /// The same of copies of groups that have left.
    pub(super) fn deletion_progress(&mut self, objects_per_s: f64) -> DeletionProgress {
        let left = self.node.deletion_report();
        DeletionProgress {
            copies_left: left.copies_left,
            objects_left: left.objects_left,
            objects_per_s,
            ends_in_ns: ends_in_ns(left.objects_left, objects_per_s),
        }
    }

    pub(super) fn shown_gates(&self) -> Vec<GateRow> {
        let osds = self.node.cluster().map().osds().iter();
        osds.filter(|(_, state)| state.up).map(|(osd, _)| self.shown_gate(osd)).collect()
    }

    fn shown_gate(&self, osd: OsdId) -> GateRow {
        let capacity = self.node.capacity(osd);
        let gate = self.node.gate(self.now, osd);
        GateRow {
            osd: osd.get(),
            capacity_iops: capacity.in_force().iops,
            found_iops: capacity.found_iops(),
            latency_goal_ns: gate.goal.map(Span::nanos),
            part_bytes: gate.part,
            is_closed: gate.is_closed,
            client_window_ops: gate.client_window,
            background: shown_background(&gate),
        }
    }
}

/// When so many objects are done at this rate.
fn ends_in_ns(objects: u64, per_second: f64) -> Option<u64> {
    let is_going_on = objects > 0 && per_second > 0.0;
    is_going_on.then(|| Span::from_secs_f64(objects as f64 / per_second).nanos())
}

fn shown_background(gate: &GateReport) -> Option<BackgroundRow> {
    let pace = gate.background?;
    let fare = |of: ClientFare| FareRow { accesses_per_s: of.rate, mean_ns: of.takes };
    Some(BackgroundRow {
        may_begin_bytes_per_s: pace.rate,
        ops: gate.ops,
        bytes: gate.bytes,
        kept_out: gate.kept_out,
        client_share: pace.share,
        clients_alone: pace.alone.map(fare),
        clients_lately: pace.beside.map(fare),
    })
}
