//! Damaged copies of small stores, each opened and read as a whole: a fixed share of what `loadline soak --rot-self` does.

use loadline_base::Time;
use loadline_device::ClassTag;
use loadline_sim::SimStore;
use loadline_sim::rot::{Case, CaseVerdict, DamageKind, OwnStore, Sound};
use loadline_store::paged::{Ask, Edit, LogMode, Op, Options, Protection};
use std::collections::BTreeMap;

/// Copies of each store, by what is done to them.
const COPIES: [(DamageKind, u64); 5] = [
    (DamageKind::Flip, 30),
    (DamageKind::Drop, 6),
    (DamageKind::Stray, 4),
    (DamageKind::Swap, 4),
    (DamageKind::Truncation, 2),
];

fn make(own: OwnStore) -> Sound {
    own.make().unwrap_or_else(|why| panic!("{own}: {why}"))
}

#[test]
fn no_damage_at_rest_leads_to_a_wrong_answer() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (log_mode, protection) in OwnStore::kinds() {
        // One that rests between two checkpoints and one that died inside of one; of each, one has a log device.
        for seed in [0, 3] {
            let own = OwnStore { log_mode, protection, seed };
            let sound = make(own);
            let numbers =
                COPIES.into_iter().flat_map(|(kind, many)| (0..many).map(move |n| (kind, n)));
            for (kind, number) in numbers {
                let case = Case { kind, number };
                let outcome = sound.run(case);
                let again = format!("loadline soak --rot-self --case {own}/{case}");
                assert!(!outcome.verdict.is_defect(), "{outcome:?}: {again}");
                *counts.entry(outcome.verdict.name()).or_default() += 1;
            }
        }
    }
    for verdict in ["healed", "named", "refused"] {
        assert!(counts[verdict] > 20, "damage that reaches nothing proves nothing: {counts:?}");
    }
}

#[test]
fn equal_cases_have_equal_outcomes() {
    let own = OwnStore { log_mode: LogMode::Fsync, protection: Protection::Checkpoint, seed: 2 };
    let (one, other) = (make(own), make(own));
    for kind in DamageKind::ALL {
        for number in 0..5 {
            assert_eq!(one.run(Case { kind, number }), other.run(Case { kind, number }));
        }
    }
}

/// A store died inside of a checkpoint, and rot met a page of an object that was removed after it had begun. The restart ends that
/// checkpoint, so the checker, which had looked at its images alone, finds the page then, though nobody needs it.
#[test]
fn rot_that_only_an_ended_checkpoint_speaks_of_is_healed() {
    let cases = [
        (LogMode::Background, Protection::Log, 1, 3192),
        (LogMode::Fsync, Protection::Log, 7, 6200),
    ];
    for (log_mode, protection, seed, number) in cases {
        let outcome = make(OwnStore { log_mode, protection, seed })
            .run(Case { kind: DamageKind::Flip, number });
        assert_eq!(outcome.verdict, CaseVerdict::Healed, "{}", outcome.story);
    }
}

/// The canary: a copy that is sound in itself and holds something else is found out.
#[test]
fn another_value_in_a_sound_copy_is_found_out() {
    let own = OwnStore { log_mode: LogMode::Fsync, protection: Protection::Checkpoint, seed: 1 };
    let verdict = make(own).spoiled(|disks| {
        let mut host = SimStore::open(Time::ZERO, Options::default(), disks.clone());
        let edit = Edit::Put { key: b"00k0001".to_vec(), value: b"another".to_vec() };
        let ask = Ask::Transaction(vec![edit]);
        host.submit(Op { ask, lane: None, class: ClassTag(9), token: 1 });
        assert!(host.wait_until(|host| !host.ended().is_empty()), "the write is answered");
        *disks = host.into_disks();
    });
    assert!(matches!(verdict, CaseVerdict::Wrong(_)), "{verdict:?}");
}
