//! Damaged copies of small stores, each opened and read as a whole: a fixed share of what `loadline soak --rot-self` does.

use loadline_base::Time;
use loadline_device::ClassTag;
use loadline_sim::StoreHost;
use loadline_sim::rot::{Case, Kind, OwnStore, Region, Sound, Verdict};
use loadline_store::paged::{Ask, Edit, LogMode, Op, Options, Protection};
use std::collections::BTreeMap;

/// Flipped bits of each store.
const FLIPS: u64 = 60;

/// Pages and superblocks as of a checkpoint. What stands in the log, or beside it, is judged apart.
const AT_A_CHECKPOINT: [Region; 7] = [
    Region::Superblocks,
    Region::LogHeader,
    Region::Images,
    Region::FreeMap,
    Region::InnerNodes,
    Region::Leaves,
    Region::FreePages,
];

fn make(own: OwnStore) -> Sound {
    own.make().unwrap_or_else(|why| panic!("{own}: {why}"))
}

#[test]
fn a_flipped_bit_is_healed_named_or_refused() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (log_mode, protection) in OwnStore::kinds() {
        // One that rests between two checkpoints and one that died inside of one; of each, one has a log device.
        for seed in [0, 3] {
            let own = OwnStore { log_mode, protection, seed };
            let sound = make(own);
            for number in 0..FLIPS {
                let case = Case { kind: Kind::Flip, number };
                let outcome = sound.run(case);
                if outcome.region.is_some_and(|region| AT_A_CHECKPOINT.contains(&region)) {
                    let again = format!("loadline soak --rot-self --case {own}/{case}");
                    assert!(!outcome.verdict.is_defect(), "{outcome:?}: {again}");
                    *counts.entry(outcome.verdict.name()).or_default() += 1;
                }
            }
        }
    }
    for verdict in ["healed", "named", "refused"] {
        assert!(counts[verdict] > 20, "flips that reach nothing prove nothing: {counts:?}");
    }
}

#[test]
fn a_store_that_ends_early_is_refused() {
    for (log_mode, protection) in OwnStore::kinds() {
        let sound = make(OwnStore { log_mode, protection, seed: 1 });
        for number in 0..4 {
            let outcome = sound.run(Case { kind: Kind::Truncation, number });
            assert!(matches!(outcome.verdict, Verdict::Refused(_)), "{outcome:?}");
        }
    }
}

#[test]
fn equal_cases_have_equal_outcomes() {
    let own = OwnStore { log_mode: LogMode::Fsync, protection: Protection::Checkpoint, seed: 2 };
    let (one, other) = (make(own), make(own));
    for kind in Kind::ALL {
        for number in 0..5 {
            assert_eq!(one.run(Case { kind, number }), other.run(Case { kind, number }));
        }
    }
}

/// The canary: a copy that is sound in itself and holds something else is found out.
#[test]
fn another_value_in_a_sound_copy_is_found_out() {
    let own = OwnStore { log_mode: LogMode::Fsync, protection: Protection::Checkpoint, seed: 1 };
    let verdict = make(own).spoiled(|disks| {
        let mut host = StoreHost::open(Time::ZERO, Options::default(), disks.clone());
        let edit = Edit::Put { key: b"00k0001".to_vec(), value: b"another".to_vec() };
        let ask = Ask::Transaction(vec![edit]);
        host.submit(Op { ask, lane: None, class: ClassTag(9), token: 1 });
        assert!(host.run_until(|host| !host.completions.is_empty()), "the write is answered");
        *disks = host.into_disks();
    });
    assert!(matches!(verdict, Verdict::Wrong(_)), "{verdict:?}");
}
