//! Every history of two lives on three disks: which disks were there, which had the promise, which the first map of the
//! owner, which the one after it.

use crate::lives::{ALL, Diverged, Owner, Rules, World, osds};
use loadline_osd::OsdSet;
use std::collections::BTreeSet;

const DISKS: u32 = 3;

/// How far a disk came in one life: 0 absent; else bit 0 of the rest is the promise, bit 1 the first map, bit 2 the next.
fn fates() -> impl Iterator<Item = [u8; 3]> {
    (0..9u16.pow(3)).map(|n| [n % 9, n / 9 % 9, n / 81].map(|fate| fate as u8))
}

fn with(fates: [u8; 3], bit: u8) -> OsdSet {
    osds((0..DISKS).filter(|osd| match fates[*osd as usize].checked_sub(1) {
        None => false,
        Some(rest) => bit == u8::MAX || rest >> bit & 1 == 1,
    }))
}

fn save(world: &mut World, owner: &mut Owner, on: OsdSet) -> Result<(), Diverged> {
    world.begin(owner, None);
    on.iter().for_each(|osd| world.save(owner, osd));
    on.iter().try_for_each(|osd| world.hear(owner, osd))
}

fn live(mut world: World, fates: [u8; 3], rules: Rules) -> Result<World, Diverged> {
    let Some(mut owner) = world.start(with(fates, u8::MAX), rules)? else { return Ok(world) };
    if rules.promise {
        with(fates, 0).iter().for_each(|osd| world.promise(&mut owner, osd));
    }
    if owner.commit.may_begin() {
        save(&mut world, &mut owner, with(fates, 1))?;
    }
    if owner.commit.committed().is_some() {
        save(&mut world, &mut owner, with(fates, 2))?;
    }
    Ok(world)
}

/// A cluster with the first map and one change on all its disks, and one more change on osd.0 only, of which nobody
/// was told.
fn begun() -> World {
    let mut world = World::new(DISKS as usize);
    let mut owner = world.create(osds(0..DISKS));
    for on in [osds(0..DISKS), osds(0..DISKS), osds([0])] {
        save(&mut world, &mut owner, on).expect("nothing has failed yet");
    }
    world
}

/// Plays every history of so many lives, and a start after it with every subset of the disks. Worlds that are alike are
/// played on once.
fn explore(lives: usize, rules: Rules) -> Result<usize, Diverged> {
    let mut states = BTreeSet::from([begun()]);
    for _ in 0..lives {
        let mut next = BTreeSet::new();
        for (world, fates) in states.iter().flat_map(|world| fates().map(move |f| (world, f))) {
            next.insert(live(world.clone(), fates, rules)?);
        }
        states = next;
    }
    for world in &states {
        for present in 1u32..1 << DISKS {
            let present = osds((0..DISKS).filter(|osd| present >> osd & 1 == 1));
            world.clone().start(present, rules)?;
        }
    }
    Ok(states.len())
}

#[test]
fn every_history_of_two_lives_keeps_what_was_committed() {
    let states = explore(2, ALL).expect("nothing committed is lost");
    assert!(states > 2_000, "{states} states");
    assert_eq!(explore(2, Rules { promise: false, ..ALL }), Err(Diverged));
    assert_eq!(explore(2, Rules { terms: false, ..ALL }), Err(Diverged));
}

/// The story that the promise is for. Owner A finds the change of which nobody was told on osd.0, and writes it there
/// again in its term. B starts without osd.0 and commits another change. C finds both.
#[test]
fn two_owners_of_one_term_would_lose_a_committed_map() {
    assert_eq!(story(Rules { promise: false, ..ALL }), Err(Diverged));
    assert_eq!(story(ALL), Ok(()));
}

fn story(rules: Rules) -> Result<(), Diverged> {
    let mut world = begun();
    let absent = 0;
    let fate = |promise: u8, first: u8, next: u8| 1 + promise + 2 * first + 4 * next;
    world = live(world, [fate(1, 1, 0), absent, fate(1, 0, 0)], rules)?;
    world = live(world, [absent, fate(1, 1, 1), fate(1, 1, 1)], rules)?;
    live(world, [fate(1, 1, 1), fate(1, 1, 1), absent], rules).map(drop)
}
