//! The largest cluster of one host fits a bound that is stated.

use loadline_base::Bytes;
use loadline_cluster::codec::{MapRecord, OsdRecord, OwnStores, PgRecord, PoolRecord};
use loadline_cluster::images::{Images, OBJECT_BYTES_DEFAULT};
use loadline_cluster::quorum::{Holders, Term};
use loadline_cluster::{LastServed, PoolId, PoolSpec};
use loadline_osd::{OsdId, OsdSet, PgId};

const PGS: u32 = 4096;
const IMAGES: u32 = 1000;
const SNAPSHOTS: u32 = 10;

/// A name of 64 bytes.
fn name(kind: &str, number: u32) -> String {
    format!("{kind}{number:0>width$}", width = 64 - kind.len())
}

/// Every second image is a clone.
fn images() -> Images {
    let mut images = Images::default();
    for image in 0..IMAGES {
        let this = name("image", image);
        match image % 2 {
            0 => images.create(&this, PoolId::new(0), 1 << 40, OBJECT_BYTES_DEFAULT),
            _ => {
                let from = format!("{}@{}", name("image", image - 1), name("snapshot", 0));
                images.clone_image(&from, &this)
            }
        }
        .expect("the name is new");
        for snapshot in 0..SNAPSHOTS {
            images.snapshot_create(&this, &name("snapshot", snapshot)).expect("the name is new");
        }
    }
    images
}

#[test]
fn the_largest_host_fits_one_mib() {
    let osds = || (0..OsdSet::OSDS_MAX).map(OsdId::new);
    let osd = OsdRecord {
        up: true,
        is_in: true,
        taken_out: false,
        lost: false,
        size: Bytes::new(1 << 44),
        promised: Term(9),
        measured_on: 9,
        stores: OwnStores::default(),
    };
    let members = |pg: u32| (0..3).map(|copy| OsdId::new((pg + copy) % 64)).collect();
    let pg = |pg| {
        let acting: Vec<OsdId> = members(pg);
        let served = LastServed { by: acting.iter().copied().collect(), ..LastServed::default() };
        PgRecord { acting, served, ..PgRecord::default() }
    };
    let pgs = (0..PGS).map(pg);
    let spec = PoolSpec {
        name: name("pool", 0),
        pgs: PGS,
        copies: 3,
        object_bytes: OBJECT_BYTES_DEFAULT,
        recovery_priority: 0,
    };
    let pool = PoolRecord { spec, first_pg: PgId::new(0), pgs: pgs.collect() };
    let record = MapRecord {
        cluster_id: 1,
        term: Term(1),
        epoch: 1,
        holders: Holders::first(osds().collect()),
        placement_seed: 1,
        osds: osds().map(|id| (id, osd)).collect(),
        pools: [(PoolId::new(0), pool)].into(),
        settings: Default::default(),
        images: images(),
        next_pool: PoolId::new(1),
        next_pg: PgId::new(PGS),
    };
    let bytes = record.encode();
    // 10,000 snapshots of 85 bytes, 1000 images of 95 and every second one's parent of 16, 500 families of 12, 4096
    // placement groups of 21, 64 OSDs of 45, the pool of 90, and 76 + 6 lists + next family and job + checksum.
    let expected = 850_000 + 95_000 + 8_000 + 6_000 + 4096 * 21 + 2880 + 90 + 76 + 24 + 10 + 4;
    assert_eq!(bytes.len(), expected);
    assert!(bytes.len() <= 1 << 20, "{} bytes", bytes.len());
    assert_eq!(MapRecord::decode(&bytes), Ok(record));
}
