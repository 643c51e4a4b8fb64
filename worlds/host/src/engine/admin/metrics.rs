//! What a node tells a monitoring system. `docs/metrics.md` names each family.

use super::pg_states::PgStates;
use crate::admin::api::{AdminAnswer, HealthLevel};
use crate::admin::{Exposition, Label, MetricKind};
use crate::engine::Engine;
use crate::engine::client_times::OpSort;
use crate::engine::host_node::HostNode;
use loadline_base::{Span, Time};
use loadline_cluster::images::{Image, ImageId};
use loadline_osd::{OsdId, Stage, WaitHistogram};
use loadline_qos::ServiceClass;

/// Bounds of histograms: powers of two from 16 µs, below which no disk answers, to 17 s, above which nobody waits.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 14..=34;

use MetricKind::{Counter, Gauge, Histogram, Info, Summary};

impl Engine {
    pub(super) fn metrics(&mut self) -> AdminAnswer {
        let mut metrics = Exposition::default();
        let version = vec![("version", env!("CARGO_PKG_VERSION").into())];
        metrics.family(Info, "loadline_build", "What runs.").value(version, 1.0);
        let health = self.health();
        let level = match health.level {
            HealthLevel::Ok => 0.0,
            HealthLevel::Warn => 1.0,
            HealthLevel::Error => 2.0,
        };
        gauge(
            &mut metrics,
            "loadline_health_status",
            "0: all is well, 1: a warning, 2: some data cannot be reached.",
            level,
        );
        gauge(
            &mut metrics,
            "loadline_health_findings",
            "What needs somebody's attention.",
            health.findings.len() as f64,
        );
        self.tell_clients(&mut metrics);
        self.host.tell_osds(&mut metrics);
        self.host.tell_classes(&mut metrics);
        self.host.tell_waits(&mut metrics);
        self.host.tell_services(&mut metrics);
        self.host.tell_groups(&mut metrics);
        let memory = self.host.memory_use(self.memory.held(), self.memory.waiting());
        gauge(
            &mut metrics,
            "loadline_memory_budget_bytes",
            "All that the node may take.",
            memory.budget_bytes as f64,
        );
        gauge(
            &mut metrics,
            "loadline_memory_resident_bytes",
            "What the process has in memory.",
            memory.resident_bytes as f64,
        );
        gauge(
            &mut metrics,
            "loadline_connections_memory_bytes",
            "What connections hold: each its own state, and what its requests bring and are answered with.",
            memory.connections_held_bytes as f64,
        );
        let connections =
            metrics.family(Gauge, "loadline_connections", "Connections, by what they speak.");
        let counts = self.doors.counts();
        for (speaks, count) in [
            ("nbd", counts.nbd),
            ("vhost", counts.vhost),
            ("admin", counts.admin),
            ("page", counts.page),
        ] {
            connections.value(vec![("speaks", speaks.into())], f64::from(count));
        }
        let refused = metrics.family(
            Counter,
            "loadline_connections_refused",
            "Connections that were not let in.",
        );
        refused.value(Vec::new(), self.doors.refused as f64);
        AdminAnswer::Metrics(metrics)
    }

    fn tell_clients(&self, metrics: &mut Exposition) {
        let uptime = self.host.now.since(Time::ZERO).as_secs_f64();
        gauge(metrics, "loadline_uptime_seconds", "Since the node's start.", uptime);
        let open = self.host.node.cluster().open_ops().len() as f64;
        gauge(metrics, "loadline_ops_in_flight", "Client ops without a reply.", open);
        let images = self.host.node.cluster().images();
        let name = |image: Option<ImageId>| match image {
            Some(image) => images.get(image).map(|image| image.name.clone()),
            None => Some("(others)".to_owned()),
        };
        let seconds = metrics.family(
            Histogram,
            "loadline_op_seconds",
            "From a client op's issue to its reply.",
        );
        let named = || {
            self.host
                .health
                .times()
                .images()
                .filter_map(|(image, totals)| Some((name(image)?, totals)))
        };
        for (image, totals) in named() {
            for sort in OpSort::ALL.into_iter().filter(|sort| totals.of(*sort).took.count() > 0) {
                let took = &totals.of(sort).took;
                let labels = vec![
                    ("class", ServiceClass::Client.name().into()),
                    ("image", image.clone().into()),
                    ("op", sort.name().into()),
                ];
                seconds.histogram(labels, &bounds(took), took.count(), took.sum().as_secs_f64());
            }
        }
        let bytes = metrics.family(
            Counter,
            "loadline_op_bytes",
            "Data that clients have read and written.",
        );
        for (image, totals) in named() {
            for sort in OpSort::ALL.into_iter().filter(|sort| totals.of(*sort).took.count() > 0) {
                let labels = vec![("image", image.clone().into()), ("op", sort.name().into())];
                bytes.value(labels, totals.of(sort).bytes as f64);
            }
        }
        let with_terms =
            || images.list().filter(|image| image.qos.reservation > 0 || image.qos.limit > 0);
        let of = |image: &Image| vec![("image", image.name.clone().into())];
        let promised = metrics.family(
            Gauge,
            "loadline_image_reservation_iops",
            "What an image is promised; 0 for nothing.",
        );
        with_terms().for_each(|image| promised.value(of(image), f64::from(image.qos.reservation)));
        let limit = metrics.family(
            Gauge,
            "loadline_image_limit_iops",
            "What an image may have; 0 for no limit.",
        );
        with_terms().for_each(|image| limit.value(of(image), f64::from(image.qos.limit)));
        let short = metrics.family(Gauge, "loadline_image_short_seconds", "Of the last five seconds, those in which it got less than it asked for and is promised.");
        for image in with_terms() {
            let seconds = self.host.health.seconds_short(image.id, image.qos.reservation);
            short.value(of(image), seconds as f64);
        }
    }
}

impl HostNode {
    fn tell_osds(&mut self, metrics: &mut Exposition) {
        let rows = self.shown_osds();
        let mut each = |name, help, value: &dyn Fn(&crate::admin::api::OsdRow) -> f64| {
            let family = metrics.family(Gauge, name, help);
            for row in &rows {
                family.value(of_osd(OsdId::new(row.osd)), value(row));
            }
        };
        each("loadline_osd_up", "It runs and answers.", &|row| f64::from(u8::from(row.up)));
        each("loadline_osd_in", "Placement uses it.", &|row| f64::from(u8::from(row.is_in)));
        each("loadline_osd_size_bytes", "What it holds at most.", &|row| row.size_bytes as f64);
        each("loadline_osd_used_bytes", "What it holds.", &|row| row.used_bytes as f64);
        each("loadline_osd_pgs", "Placement groups that it has a copy of.", &|row| {
            f64::from(row.pgs)
        });
        let gates = self.shown_gates();
        let capacity = metrics.family(
            Gauge,
            "loadline_osd_capacity_iops",
            "4 KiB writes per second by which its promises go.",
        );
        for gate in &gates {
            capacity.value(of_osd(OsdId::new(gate.osd)), gate.capacity_iops);
        }
        let closed = metrics.family(
            Gauge,
            "loadline_osd_gate_closed",
            "Nothing more leaves its queues until the disk has answered some of what it has.",
        );
        for gate in &gates {
            closed.value(of_osd(OsdId::new(gate.osd)), f64::from(u8::from(gate.is_closed)));
        }
        let kept = metrics.family(
            Gauge,
            "loadline_osd_background_kept_out",
            "Items of background work that wait outside of the queues.",
        );
        for (gate, background) in gates.iter().filter_map(|gate| Some((gate, gate.background?))) {
            kept.value(of_osd(OsdId::new(gate.osd)), background.kept_out as f64);
        }
    }

    fn tell_classes(&self, metrics: &mut Exposition) {
        let services: Vec<_> =
            self.node.each_osd().map(|(osd, it)| (osd, it.service(self.now))).collect();
        let labels = |osd: OsdId, class: ServiceClass| {
            vec![("osd", osd.get().to_string().into()), ("class", class.name().into())]
        };
        let mut each =
            |kind,
             name,
             help,
             value: &dyn Fn(OsdId, &loadline_osd::OsdService, ServiceClass) -> f64| {
                let family = metrics.family(kind, name, help);
                for (osd, service) in &services {
                    for class in ServiceClass::ALL {
                        family.value(labels(*osd, class), value(*osd, service, class));
                    }
                }
            };
        let sum = |service: &loadline_osd::OsdService,
                   of: fn(&loadline_osd::ServedClass) -> f64,
                   class: ServiceClass| {
            service.shards.iter().map(|shard| of(&shard[class as usize])).sum::<f64>()
        };
        each(
            Counter,
            "loadline_class_items",
            "Items that workers have taken from the queues.",
            &|_, service, class| sum(service, |it| it.items as f64, class),
        );
        each(
            Counter,
            "loadline_class_small_ops",
            "Their cost, in writes of 4 KiB.",
            &|osd, service, class| self.small_ops(osd, sum(service, |it| it.cost as f64, class)),
        );
        each(
            Counter,
            "loadline_class_waiting_seconds",
            "How long at least one item waited, of each shard.",
            &|_, service, class| sum(service, |it| it.waited.as_secs_f64(), class),
        );
        each(Gauge, "loadline_class_queued", "Items that wait.", &|_, service, class| {
            service.waiting[class as usize] as f64
        });
        each(
            Gauge,
            "loadline_class_reservation_iops",
            "What the class is promised, in writes of 4 KiB per second.",
            &|osd, service, class| {
                self.small_ops(
                    osd,
                    service.reservations[class as usize] * service.shards.len() as f64,
                )
            },
        );
    }

    fn tell_waits(&self, metrics: &mut Exposition) {
        let family = metrics.family(
            Summary,
            "loadline_wait_seconds",
            "Where pieces of work spent their time on an OSD.",
        );
        for (osd, it) in self.node.each_osd() {
            for (work, waits) in it.waits().iter() {
                for stage in Stage::ALL.into_iter().filter(|stage| waits.stage(*stage).count() > 0)
                {
                    let labels = vec![
                        ("osd", osd.get().to_string().into()),
                        ("work", work.name().into()),
                        ("stage", stage.name().into()),
                    ];
                    let waits = waits.stage(stage);
                    family.summary(labels, waits.count(), waits.sum().as_secs_f64());
                }
            }
        }
    }

    fn tell_services(&self, metrics: &mut Exposition) {
        let mut each = |name, help, value: &dyn Fn(&loadline_osd::Osd) -> u64| {
            let family = metrics.family(Counter, name, help);
            for (osd, it) in self.node.each_osd() {
                family.value(of_osd(osd), value(&it) as f64);
            }
        };
        each(
            "loadline_recovered_objects",
            "Objects that recovery and backfill have brought.",
            &|osd| osd.received().objects,
        );
        each("loadline_recovered_bytes", "Their data.", &|osd| osd.received().bytes);
        each(
            "loadline_scrubbed_objects",
            "Objects and former states that scrubs have looked at.",
            &|osd| osd.scrub_counts().objects,
        );
        each("loadline_scrub_read_bytes", "Bytes of them that were read.", &|osd| {
            osd.scrub_counts().read_bytes
        });
        each("loadline_scrubs", "Scrubs of placement groups that it led to their end.", &|osd| {
            osd.scrub_counts().ended
        });
        each(
            "loadline_trimmed_objects",
            "States of objects that were given back after their snapshot was removed.",
            &|osd| osd.trim_counts().objects,
        );
        each(
            "loadline_deleted_objects",
            "Objects that have gone with copies of placement groups that had left.",
            &|osd| osd.deleted_states(),
        );
        each(
            "loadline_unreadable",
            "How often something could not be read that should have been.",
            &|osd| osd.damage().found,
        );
        each(
            "loadline_repaired_objects",
            "Objects that were replaced by what another copy has.",
            &|osd| osd.damage().repaired,
        );
        each(
            "loadline_failed_ops",
            "Ops that ended because no copy of the object can be read.",
            &|osd| osd.damage().failed_ops,
        );
        each(
            "loadline_requests_over_limit",
            "Requests that the drive ended for their duration limit.",
            &|osd| osd.over_limit(),
        );
    }

    fn tell_groups(&mut self, metrics: &mut Exposition) {
        let pgs = PgStates::of(&mut self.node);
        let states = metrics.family(Gauge, "loadline_pgs", "Placement groups by state.");
        for count in pgs.counts() {
            states.value(vec![("state", count.state.into())], f64::from(count.pgs));
        }
        gauge(
            metrics,
            "loadline_copies",
            "Copies that objects should have together.",
            pgs.objects.copies as f64,
        );
        gauge(
            metrics,
            "loadline_copies_degraded",
            "Copies that do not exist.",
            pgs.objects.degraded as f64,
        );
        gauge(
            metrics,
            "loadline_copies_misplaced",
            "Copies that are not where placement wants them.",
            pgs.objects.misplaced as f64,
        );
        gauge(
            metrics,
            "loadline_objects_unfound",
            "Objects that no OSD can give.",
            pgs.unfound as f64,
        );
        let trim = self.node.trim_report();
        gauge(
            metrics,
            "loadline_trim_left_objects",
            "Former states that are kept for removed snapshots.",
            trim.objects_left as f64,
        );
        let deletion = self.node.deletion_report();
        gauge(
            metrics,
            "loadline_deletion_left_objects",
            "Objects in copies that are deleted.",
            deletion.objects_left as f64,
        );
    }
}

fn gauge(metrics: &mut Exposition, name: &'static str, help: &'static str, value: f64) {
    metrics.family(Gauge, name, help).value(Vec::new(), value);
}

fn of_osd(osd: OsdId) -> Vec<Label> {
    vec![("osd", osd.get().to_string().into())]
}

/// How many durations lie below each bound, in seconds.
fn bounds(took: &WaitHistogram) -> Vec<(f64, u64)> {
    let bound = |log2: u32| (Span::from_nanos(1 << log2).as_secs_f64(), took.below(log2));
    BOUNDS_LOG2.map(bound).collect()
}
