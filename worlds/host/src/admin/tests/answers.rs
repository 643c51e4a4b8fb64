//! Answers as JSON: what programs rely on.

use crate::admin::api::{
    AdminAnswer, AdminRefusal, BackgroundRow, ClientRates, ConnectionCounts, DeletionProgress,
    FareRow, GateRow, Health, HealthLevel, ImageUse, MemoryUse, ObjectCounts, OsdCounts, OsdRow,
    PgCount, QosRow, RecoveryPace, ScrubRound, Status, TrimProgress,
};

fn status() -> Status {
    let osd = OsdRow {
        osd: 0,
        up: true,
        is_in: true,
        path: "/srv/loadline/osd.0".into(),
        size_bytes: 10 << 30,
        used_bytes: 1 << 30,
        pgs: 64,
        log_mode: "fsync".into(),
        disk_mode: "direct".into(),
        capacity_iops: Some(18_250.0),
        uptime_ns: Some(90_000_000_000),
        failure: None,
    };
    let failed = OsdRow {
        osd: 1,
        up: false,
        path: "/srv/loadline/osd.1".into(),
        uptime_ns: None,
        failure: Some("a write failed: EIO".into()),
        ..osd.clone()
    };
    Status {
        health: Health { level: HealthLevel::Warn, findings: vec!["osd.1 is down".into()] },
        uptime_ns: 90_000_000_000,
        map_epoch: 7,
        io_mode: "io_uring".into(),
        osd_counts: OsdCounts { total: 2, up: 1, is_in: 2 },
        osds: vec![osd, failed],
        pgs: vec![PgCount { state: "active+undersized+degraded".into(), pgs: 64 }],
        objects: ObjectCounts { copies: 512, misplaced: 0, degraded: 256, recovering: 0 },
        recovery: RecoveryPace::default(),
        scrub: ScrubRound::default(),
        deletion: DeletionProgress::default(),
        trim: TrimProgress {
            snapshots_left: 2,
            objects_left: 500,
            objects_per_s: 250.0,
            ends_in_ns: Some(2_000_000_000),
        },
        client: ClientRates {
            window_ns: 5_000_000_000,
            reads_per_s: 12.5,
            writes_per_s: 1000.0,
            read_bytes_per_s: 51_200.0,
            written_bytes_per_s: 4_096_000.0,
        },
        images: vec![ImageUse {
            name: "vol0".into(),
            qos: QosRow {
                reservation_iops: 2_000,
                limit_iops: 5_000,
                burst_ns: 2_000_000_000,
                weight: 1.5,
            },
            ops_per_s: 1_900.5,
            mean_ns: 800_000,
            longest_ns: 9_000_000,
            seconds: 5,
            seconds_short: 1,
        }],
        gates: vec![GateRow {
            osd: 0,
            capacity_iops: 18_250.0,
            found_iops: None,
            latency_goal_ns: Some(1_000_000),
            part_bytes: Some(512 << 10),
            is_closed: false,
            client_window_ops: Some(9),
            background: Some(BackgroundRow {
                may_begin_bytes_per_s: Some(33_554_432.5),
                ops: 2,
                bytes: 1 << 20,
                kept_out: 31,
                client_share: 0.5,
                clients_alone: Some(FareRow { accesses_per_s: 5_100.5, mean_ns: 1_200_000.5 }),
                clients_lately: None,
            }),
        }],
        memory: MemoryUse {
            budget_bytes: 6 << 30,
            resident_bytes: 1 << 30,
            caches_bytes: 512 << 20,
            old_versions_bytes: 512 << 20,
            osd_work_bytes: 96 << 20,
            node_bytes: 96 << 20,
            connections_bytes: (6 << 30) - (1216 << 20),
            connections_held_bytes: 64 << 10,
            connections_peak_bytes: 1 << 20,
            connections_waiting: 0,
        },
        connections: ConnectionCounts { nbd: 2, vhost: 1, admin: 1, page: 0, refused: 0 },
    }
}

#[test]
fn a_status_reads_as_documented() {
    let text = serde_json::to_string_pretty(&AdminAnswer::Status(Box::new(status()))).unwrap();
    assert_eq!(text + "\n", include_str!("golden/status.json"));
}

#[test]
fn a_status_comes_back() {
    let text = include_str!("golden/status.json");
    assert_eq!(serde_json::from_str::<Status>(text).unwrap(), status());
}

#[test]
fn a_refusal_is_one_object() {
    let check = |refusal: AdminRefusal, text: &str| {
        assert_eq!(String::from_utf8(refusal.to_json()).unwrap(), text);
        assert_eq!(AdminRefusal::from_json(refusal.kind.code(), text.as_bytes()), Some(refusal));
    };
    check(AdminRefusal::not_found("there is no image `x`"), r#"{"error":"there is no image `x`"}"#);
    let wants = AdminRefusal::bad("`x` is no size").wants("a size such as `4 KiB`");
    check(wants, r#"{"error":"`x` is no size","wanted":"a size such as `4 KiB`"}"#);
}
