//! Ops that are handed over together do what they do one by one, whatever stands among them.

use crate::sample::{Disks, Sample};
use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_store::paged::{Answer, Ask, Edit, LogMode, Op, Options, Protection};
use std::collections::BTreeMap;

/// Keys of several lengths, so that leaves hold few and many of them.
fn key(rng: &mut Rng) -> Vec<u8> {
    let number = rng.below(3000);
    let mut key = format!("{number:05}").into_bytes();
    key.resize(5 + (number % 7) as usize * 8, b'.');
    key
}

/// Values that stand in their cell, that are longer than it was, and that stand in pieces.
fn value(rng: &mut Rng) -> Vec<u8> {
    let length = [10, 100, 100, 101, 700, 3000][rng.below(6) as usize];
    vec![rng.below(256) as u8; length]
}

fn ask(rng: &mut Rng) -> Ask {
    match rng.below(10) {
        0..=3 => Ask::Get(key(rng)),
        4..=7 => Ask::Transaction(vec![Edit::Put { key: key(rng), value: value(rng) }]),
        8 => Ask::Transaction(vec![Edit::Delete { key: key(rng) }]),
        _ => Ask::Transaction(vec![
            Edit::Delete { key: key(rng) },
            Edit::Put { key: key(rng), value: value(rng) },
        ]),
    }
}

/// Hands ops over in groups of every size; those that only read come in rows too. Each answer is that of a map.
fn check(cache: Bytes, seed: u64) {
    let mut rng = Rng::new(seed);
    let options = Options { cache, ..Sample::options(Protection::Checkpoint) };
    let mut sample = Sample::begin_with(Disks::formatted(Protection::Checkpoint, false), options);
    sample = sample.opened();
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for round in 0..300 {
        let count = 1 + rng.below(40);
        let reads = rng.below(3) == 0;
        let asks: Vec<Ask> = (0..count)
            .map(|_| if reads { Ask::Get(key(&mut rng)) } else { ask(&mut rng) })
            .collect();
        let mut wanted = Vec::new();
        for ask in &asks {
            match ask {
                Ask::Get(key) => wanted.push(Answer::Value(model.get(key).cloned())),
                Ask::Transaction(edits) => {
                    for edit in edits {
                        match edit {
                            Edit::Put { key, value } => model.insert(key.clone(), value.clone()),
                            Edit::Delete { key } => model.remove(key),
                            _ => unreachable!("only keys are changed"),
                        };
                    }
                    wanted.push(Answer::Done);
                }
                _ => unreachable!("nothing else is asked"),
            }
        }
        let mut ops: Vec<_> = (0..)
            .zip(asks)
            .map(|(token, ask)| {
                (Op { ask, lane: None, class: ClassTag(1), token }, LogMode::LogOnly)
            })
            .collect();
        sample.store.submit_all(Time::ZERO, &mut ops, &mut sample.out);
        assert!(ops.is_empty());
        while sample.out.completions.len() < wanted.len() {
            sample.step();
        }
        for done in sample.out.completions.drain(..) {
            let wanted = &wanted[done.token as usize];
            assert_eq!(done.result.as_ref(), Ok(wanted), "seed {seed}, round {round}");
        }
        if round % 37 == 0 {
            sample.ask(Ask::Checkpoint);
        }
    }
    for (key, value) in model {
        assert_eq!(sample.answer(Ask::Get(key)), Ok(Answer::Value(Some(value))));
    }
}

#[test]
fn ops_together_answer_as_one_by_one() {
    for seed in 0..6 {
        check(Bytes::from_mib(16), seed);
    }
}
