//! Maps of any kind: by a seed, and the same bytes for equal ones.

use crate::feed;
use loadline_base::{Bytes, Rng, Span};
use loadline_cluster::codec::{MapRecord, OsdRecord, OwnStores, PgRecord, PoolRecord};
use loadline_cluster::images::{ImageQos, Images, OBJECT_BYTES_MIN};
use loadline_cluster::quorum::{Holders, Term};
use loadline_cluster::settings::Scope;
use loadline_cluster::{LastServed, PoolId, PoolSpec};
use loadline_osd::{IntervalId, OsdId, PgId};
use loadline_store::paged::ids::StoreId;
use proptest::prelude::*;

/// A map with something of everything.
pub(crate) fn map(seed: u64) -> MapRecord {
    let mut rng = Rng::new(seed);
    let osds = 1 + rng.below(9) as u32;
    let pools = 1 + rng.below(3) as u32;
    let mut record = MapRecord {
        cluster_id: u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()),
        term: Term(rng.below(100)),
        epoch: rng.next_u64() as u32,
        holders: Holders::first((0..osds).map(OsdId::new).collect()),
        placement_seed: rng.next_u64(),
        osds: (0..osds).map(|osd| (OsdId::new(osd), some_osd(&mut rng))).collect(),
        pools: Default::default(),
        settings: Default::default(),
        images: images(&mut rng, pools),
        next_pool: PoolId::new(pools),
        next_pg: PgId::new(0),
    };
    for pool in 0..pools {
        let pgs = rng.below(9) as u32;
        let added = some_pool(&mut rng, pool, pgs, record.next_pg, osds);
        record.pools.insert(PoolId::new(pool), added);
        record.next_pg = PgId::new(record.next_pg.get() + pgs);
    }
    for scope in [Scope::Global, Scope::Osds, Scope::Osd(OsdId::new(0))] {
        for option in 0..rng.below(3) {
            record.settings.insert((scope, format!("option_{option}")), "0.5 µs".into());
        }
    }
    record
}

fn some_osd(rng: &mut Rng) -> OsdRecord {
    let [up, is_in, taken_out, lost] = [0, 1, 2, 3].map(|_| rng.below(2) == 0);
    let size = Bytes::new(rng.next_u64());
    let (promised, measured_on) = (Term(rng.next_u64()), rng.next_u64());
    let stores = OwnStores {
        now: StoreId::new(rng.next_u64()),
        next: StoreId::new(rng.next_u64() * rng.below(2)),
    };
    OsdRecord { up, is_in, taken_out, lost, size, promised, measured_on, stores }
}

fn some_pool(rng: &mut Rng, pool: u32, pgs: u32, first_pg: PgId, osds: u32) -> PoolRecord {
    let spec = PoolSpec {
        name: format!("pool {pool}"),
        pgs,
        copies: 3,
        object_bytes: rng.next_u64(),
        recovery_priority: rng.next_u64() as i8,
    };
    PoolRecord { spec, first_pg, pgs: (0..pgs).map(|_| some_pg(rng, osds)).collect() }
}

fn some_pg(rng: &mut Rng, osds: u32) -> PgRecord {
    let mut members: Vec<OsdId> = (0..osds).map(OsdId::new).collect();
    members.rotate_left(rng.below(osds.into()) as usize);
    let backfill = members.split_off(rng.below(u64::from(osds) + 1) as usize);
    let served_in = IntervalId { term: rng.next_u64(), epoch: rng.below(1 << 20) as u32 };
    let interval = served_in.epoch + rng.below(9) as u32;
    let by = match rng.below(2) {
        0 => members.iter().copied().collect(),
        _ => backfill.iter().copied().collect(),
    };
    let served = LastServed { interval: served_in, by };
    PgRecord { acting: members, backfill, interval, served }
}

/// A table that some ops have led to; those that are refused are part of it.
fn images(rng: &mut Rng, pools: u32) -> Images {
    let mut images = Images::default();
    for _ in 0..rng.below(40) {
        let pool = PoolId::new(rng.below(pools.into()) as u32);
        let [a, b] = [0, 1].map(|_| format!("image {}", rng.below(5)));
        let s = format!("s{}", rng.below(3));
        let size = 1 + rng.below(9 * OBJECT_BYTES_MIN);
        match rng.below(9) {
            0 | 1 => drop(images.create(&a, pool, size, OBJECT_BYTES_MIN << rng.below(10))),
            2 => drop(images.resize(&a, size)),
            3 => drop(images.snapshot_create(&a, &s)),
            4 => drop(images.snapshot_remove(&a, &s)),
            5 => drop(images.clone_image(&format!("{a}@{s}"), &b)),
            6 => drop(images.remove(&a)),
            7 => drop(images.set_qos(&a, qos(rng))),
            _ => {
                let due: Vec<_> = (0..pools)
                    .flat_map(|pool| images.due(PoolId::new(pool)))
                    .map(|job| job.id)
                    .collect();
                for job in due {
                    images.advance(job, 1 + rng.below(4));
                }
            }
        }
    }
    images
}

fn qos(rng: &mut Rng) -> ImageQos {
    let reservation = rng.below(1_000) as u32;
    let limit = reservation + rng.below(1_000) as u32;
    ImageQos { reservation, limit, burst: Span::from_millis(rng.below(3)), weight_percent: 50 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_map_reads_back_and_equal_maps_have_equal_bytes(seed: u64) {
        let record = map(seed);
        let bytes = record.encode();
        prop_assert_eq!(MapRecord::decode(&bytes), Ok(record));
        prop_assert_eq!(map(seed).encode(), bytes);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        feed::map(&bytes);
    }

    /// Behind a checksum that fits, a changed byte is either refused or another map.
    #[test]
    fn a_changed_body_is_refused_or_another_map(seed: u64, at: prop::sample::Index, byte: u8) {
        let record = map(seed);
        let bytes = record.encode();
        let mut body = bytes[16..bytes.len() - 4].to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        feed::map(&body);
        if let Ok(other) = MapRecord::decode(&feed::framed(4, &body)) {
            prop_assert_eq!(other == record, bytes[16 + at] == byte);
        }
    }
}
