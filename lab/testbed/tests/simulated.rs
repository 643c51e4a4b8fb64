//! The steps of a study on the simulated testbed, one after the other: what they do, and what is seen of them.

use loadline_base::{Bytes, Span};
use loadline_cluster::images::ImageQos;
use loadline_cluster::settings::{Enforcement, Settings};
use loadline_cluster::{Config, Placement, PoolId};
use loadline_device::Medium;
use loadline_osd::{OsdId, Policy};
use loadline_qos::preset;
use loadline_sim::disk::Timing;
use loadline_sim::{Delays, Drive, OsdDrive, SimConfig, SimHost};
use loadline_stats::LatencyHistogram;
use loadline_testbed::{
    ClonedObjects, Heed, IMAGE, ServicesLeft, Simulated, SimulatedDisk, SimulatedSpec, TestImage,
    Testbed, small_stores,
};

/// What is left of services, but for how many of its groups slots would allow at once, which is known where there is nothing left, too.
fn left_of(bed: &mut Simulated, scrubbed: PoolId) -> ServicesLeft {
    let mut left = bed.services(Some(scrubbed)).unwrap();
    left.scrub.slots = None;
    left
}

/// Four OSDs on the drive of the published recovery study, three copies, and clients at depth 8.
fn testbed() -> Simulated {
    started(None, "depth = 8\nblock = '4 KiB'\nimage = '64 MiB'")
}

fn started(disks: Option<SimulatedDisk>, load: &str) -> Simulated {
    let text = include_str!("../../../drives/nvme-p3700.toml");
    let drive = Drive::parse("nvme-p3700", "drives/nvme-p3700.toml", text).expect("it is sound");
    let loadline = preset("loadline").expect("it is there");
    let settings = Settings::new(*loadline, &[Medium::Ssd; 4], Enforcement::Refuse);
    let osd = OsdId::new(0);
    let cluster = Config {
        osds: 4,
        placement: Placement::Even,
        placement_seed: 1,
        policy: Policy { plan: settings.plan(osd), seed: 1 },
        options: settings.osd_options(osd),
    };
    let delays = Delays { link: drive.link_delay, worker: drive.worker_time, ..Delays::default() };
    let service = OsdDrive::Calibrated(drive.service);
    let started = Simulated::start(SimulatedSpec {
        world: SimConfig { cluster, drive: service, delays, host: SimHost::default() },
        disks,
        pgs: 16,
        copies: 3,
        object_size: Bytes::from_mib(1),
        images: vec![TestImage {
            name: IMAGE.to_owned(),
            load: toml::from_str(load).expect("the text is a load"),
            qos: ImageQos::default(),
        }],
        seed: 1,
        traced: None,
    });
    started.expect("what is opened is sound")
}

/// Objects are missed while an OSD is away. What was never away has not been recovered, and what comes back has everything to do.
#[test]
fn recovery_is_over_when_what_was_missed_is_there() {
    let (mut bed, mut tick) = (testbed(), |_| true);
    let mut heed = Heed::until(&mut tick, 1.0);
    bed.make_images(&mut heed).unwrap();
    let pool = bed.make_pool("data", Bytes::from_mib(1)).unwrap();
    let whole = bed.progress().unwrap();
    assert_eq!((whole.left, whole.moved, whole.recovered), (0, 0, false));
    let osd = OsdId::new(3);
    bed.take_out(osd).unwrap();
    assert!(bed.progress().unwrap().left > 0, "copies of the image are missing");
    bed.pass(bed.now() + Span::from_secs(1)).unwrap();
    bed.fill(pool, 100, &mut heed).unwrap();
    bed.bring_back(osd).unwrap();
    let back = bed.progress().unwrap();
    assert!(back.left > 0 && back.moved == 0 && !back.recovered && !back.clean, "{back:?}");
    while !bed.progress().unwrap().recovered {
        assert!(bed.now().as_secs_f64() < 600.0, "{:?}", bed.progress());
        bed.pass(bed.now() + Span::from_millis(100)).unwrap();
    }
    let over = bed.progress().unwrap();
    assert_eq!((over.left, over.moved), (0, back.left));
}

#[test]
fn what_is_counted_begins_when_somebody_says_so() {
    let (mut bed, mut tick) = (testbed(), |_| true);
    let mut heed = Heed::until(&mut tick, 1.0);
    bed.make_images(&mut heed).unwrap();
    bed.pass(bed.now() + Span::from_secs(3)).unwrap();
    let begun = bed.start_load(&mut heed).unwrap();
    bed.pass(begun + Span::from_secs(1)).unwrap();
    let seen = bed.end_load(&mut heed).unwrap().remove(0);
    assert_eq!((seen.seconds.len(), seen.seconds[0].count as f64), (1, seen.iops));
    let waited = |bed: &mut Simulated| bed.waits().unwrap().iter().count();
    assert!(waited(&mut bed) > 0);
    bed.count_from_now().unwrap();
    assert_eq!(waited(&mut bed), 0);
}

/// A pool is scrubbed, another one's snapshot goes, and a third one goes: each has so much left as it was given, and ends.
#[test]
fn services_have_left_what_they_were_given_and_end() {
    let (mut bed, mut tick) = (testbed(), |_| true);
    let mut heed = Heed::until(&mut tick, 1.0);
    bed.make_images(&mut heed).unwrap();
    let size = Bytes::from_kib(64);
    let [scrubbed, trimmed, removed] =
        ["scrub", "trim", "removal"].map(|name| bed.make_pool(name, size).unwrap());
    bed.fill(scrubbed, 1000, &mut heed).unwrap();
    let cloned = ClonedObjects { objects: 50, changed: 40 };
    bed.fill_with_clones(trimmed, cloned, &mut heed).unwrap();
    bed.fill(removed, 100, &mut heed).unwrap();
    assert_eq!(left_of(&mut bed, scrubbed), ServicesLeft::default(), "none has begun");
    bed.deep_scrub(scrubbed).unwrap();
    bed.remove_snapshot(trimmed).unwrap();
    bed.remove_pool(removed).unwrap();
    let left = bed.services(Some(scrubbed)).unwrap();
    assert_eq!((left.scrub.objects_left, left.scrub.groups_left), (1000, 16));
    assert_eq!((left.trim, left.removal), (40, 300));
    while left_of(&mut bed, scrubbed) != ServicesLeft::default() {
        assert!(bed.now().as_secs_f64() < 600.0, "{:?}", bed.services(Some(scrubbed)));
        bed.pass(bed.now() + Span::from_millis(100)).unwrap();
    }
}

/// On disks of bytes a scrub, a trim and a removal began what they had as fast as the disk took it, and were over in 0.9 s:
/// clients that asked for little had a p99 of 5.3 ms beside them, and 3.1 alone. Now it is 3.4 for 4.5 s.
#[test]
fn on_disks_of_bytes_services_leave_clients_their_tail() {
    let timing = Timing {
        per_request: Span::from_micros(40),
        bytes_per_second: 200 << 20,
        flush: Span::from_micros(40),
        channels: 1,
    };
    let disk =
        SimulatedDisk { size: Bytes::from_mib(512), timing, others: None, stores: small_stores() };
    let load = "rate = 2000.0\nblock = '4 KiB'\nimage = '16 MiB'";
    let (mut bed, mut tick) = (started(Some(disk), load), |_| true);
    let mut heed = Heed::until(&mut tick, 1.0);
    bed.make_images(&mut heed).unwrap();
    let sizes = [("scrub", 32), ("trim", 64), ("removal", 4)];
    let [scrubbed, trimmed, removed] =
        sizes.map(|(name, size)| bed.make_pool(name, Bytes::from_kib(size)).unwrap());
    bed.fill(scrubbed, 3000, &mut heed).unwrap();
    let cloned = ClonedObjects { objects: 600, changed: 600 };
    bed.fill_with_clones(trimmed, cloned, &mut heed).unwrap();
    bed.fill(removed, 6000, &mut heed).unwrap();
    bed.settle(&mut heed).unwrap();
    let begun = bed.start_load(&mut heed).unwrap();
    bed.pass(begun + Span::from_secs(5)).unwrap();
    let alone = bed.latency().expect("it is known");
    bed.deep_scrub(scrubbed).unwrap();
    bed.remove_snapshot(trimmed).unwrap();
    bed.remove_pool(removed).unwrap();
    let began = bed.now();
    while left_of(&mut bed, scrubbed) != ServicesLeft::default() {
        assert!(bed.now().since(began) < Span::from_secs(60), "{:?}", bed.services(Some(scrubbed)));
        bed.pass(bed.now() + Span::from_millis(100)).unwrap();
    }
    let beside = bed.latency().expect("it is known").since(&alone);
    let p99 = |of: &LatencyHistogram| Span::from_nanos(of.percentile_ns(99.0));
    let (alone, beside, took) = (p99(&alone), p99(&beside), bed.now().since(began));
    let bar = alone + Span::from_millis(1);
    assert!(beside <= bar, "{beside} beside in {took}, {alone} alone");
}
