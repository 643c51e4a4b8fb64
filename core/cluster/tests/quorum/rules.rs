//! Quorums, what is chosen at start, and the steps of a commit.

use crate::lives::osds;
use loadline_cluster::quorum::{
    FoundDisk, Holders, MapCommit, NoQuorum, Stamp, Summary, Term, choose, choose_what_is_left,
    is_quorum,
};
use loadline_osd::{OsdId, OsdSet};

fn sets(of: u32) -> impl Iterator<Item = OsdSet> {
    (0u32..1 << of).map(move |bits| osds((0..of).filter(move |osd| bits >> osd & 1 == 1)))
}

/// Over every set of five OSDs and every two of its subsets.
#[test]
fn any_two_quorums_of_a_set_share_a_member_and_everybody_is_one() {
    for of in sets(5) {
        assert_eq!(is_quorum(of, osds(0..5)), !of.is_empty());
        let quorums: Vec<OsdSet> = sets(5).filter(|present| is_quorum(of, *present)).collect();
        for (a, b) in quorums.iter().flat_map(|a| quorums.iter().map(move |b| (a, b))) {
            assert!(of.iter().any(|osd| a.contains(osd) && b.contains(osd)), "{of:?} {a:?} {b:?}");
        }
    }
}

#[test]
fn half_is_enough_with_the_lowest_member() {
    let check = |of: &[u32], present: &[u32], expected: bool| {
        let set = |numbers: &[u32]| osds(numbers.iter().copied());
        assert_eq!(is_quorum(set(of), set(present)), expected, "{present:?} of {of:?}");
    };
    check(&[1, 2], &[1], true);
    check(&[1, 2], &[2], false);
    check(&[1, 2], &[0, 2, 3], false);
    check(&[1, 2, 3], &[1], false);
    check(&[1, 2, 3], &[2, 3], true);
    check(&[0, 1, 2, 3], &[1, 2], false);
    check(&[0, 1, 2, 3], &[0, 3], true);
}

fn found(osd: u32, promised: u64, term: u64, epoch: u32, holders: &[u32]) -> FoundDisk {
    let stamp = Stamp { term: Term(term), epoch };
    let holders = Holders::first(osds(holders.iter().copied()));
    FoundDisk { osd: OsdId::new(osd), promised: Term(promised), map: Summary { stamp, holders } }
}

#[test]
fn the_newest_map_counts_and_the_next_term_is_above_every_promise() {
    let maps = [found(0, 7, 1, 20, &[0, 1, 2]), found(1, 2, 2, 6, &[0, 1, 2])];
    let chosen = choose(&maps).expect("two of three").expect("there is a map");
    assert_eq!(chosen.map, maps[1].map);
    assert_eq!((chosen.on, chosen.term), (osds([1]), Term(8)));
    assert_eq!(choose(&[]), Ok(None));
}

#[test]
fn a_refusal_names_who_is_missing() {
    let alone = choose(&[found(1, 1, 1, 6, &[0, 1, 2])]).expect_err("one of three");
    assert_eq!(alone, NoQuorum { epoch: 6, missing: osds([0, 2]), wanted: 1 });
    assert_eq!(
        alone.to_string(),
        "too few disks with the map are here to know that epoch 6 is the last: at least 1 of osd.0, osd.2 must come back"
    );
    let stranger = choose(&[found(9, 1, 1, 6, &[0, 1, 2, 3, 4])]).expect_err("none of five");
    assert_eq!(stranger.wanted, 3);
    let undecided = choose(&[found(1, 1, 1, 6, &[0, 1])]).expect_err("half without the lowest");
    assert_eq!((undecided.missing, undecided.wanted), (osds([0]), 1));
}

/// Of two disks the one that decides was lost, and the data on the other was out of reach for ever. It had gone on alone for a thousand
/// starts; when it is found again its map is not the newest.
#[test]
fn what_is_left_wins_for_ever() {
    let (lost, left) = (found(0, 1_005, 1_005, 99, &[0]), found(1, 5, 5, 7, &[0, 1]));
    choose(&[left]).expect_err("half without the lowest");
    let chosen = choose_what_is_left(&[left]).expect("there is a map");
    assert_eq!((chosen.map.stamp, chosen.on), (left.map.stamp, osds([1])));
    assert!(chosen.term > lost.promised, "{:?}", chosen.term);
    let mut commit = MapCommit::start(&chosen);
    assert!(commit.promised(OsdId::new(1)), "the others are asked no more");
    let next = commit.begin(8, osds([1]));
    assert!(commit.saved(OsdId::new(1), 8));
    let left = FoundDisk { promised: chosen.term, map: next, ..left };
    let again = choose(&[lost, left]).expect("its holder is here").expect("there is a map");
    assert_eq!((again.map, again.on), (next, osds([1])));
    assert_eq!(choose_what_is_left(&[]), None);
}

/// A cluster of osd.0 to osd.2 with its first map everywhere.
fn created() -> MapCommit {
    let mut commit = MapCommit::create(osds(0..3));
    commit.begin(1, osds(0..3));
    assert!(!commit.saved(OsdId::new(0), 1));
    assert_eq!(commit.committed(), None);
    assert!(commit.saved(OsdId::new(1), 1));
    assert!(!commit.saved(OsdId::new(2), 1), "it was committed before");
    assert!(commit.is_settled());
    commit
}

#[test]
fn a_change_of_holders_asks_both_sets_and_the_map_after_it_only_the_new_one() {
    let mut commit = created();
    let change = commit.begin(2, osds([0, 3]));
    assert_eq!(change.holders, Holders { now: osds([0, 3]), before: osds(0..3) });
    assert!(!commit.saved(OsdId::new(0), 2), "enough of the new ones, too few of the old");
    assert!(commit.saved(OsdId::new(2), 2));
    assert!(commit.is_committed() && !commit.is_settled());
    let after = commit.begin(3, osds([0, 3]));
    assert_eq!(after.holders, Holders::first(osds([0, 3])));
    assert!(commit.saved(OsdId::new(0), 3) && commit.is_settled());
}

#[test]
fn a_newer_map_supersedes_one_that_is_not_committed() {
    let mut commit = created();
    commit.begin(2, osds([3]));
    assert!(!commit.saved(OsdId::new(3), 2));
    let newer = commit.begin(3, osds([1, 2]));
    assert_eq!(newer.holders.before, osds(0..3), "those of epoch 2 never counted");
    assert!(!commit.saved(OsdId::new(1), 2), "too late");
    assert!(!commit.saved(OsdId::new(2), 3) && commit.saved(OsdId::new(1), 3));
    assert_eq!(commit.committed(), Some(newer));
}

#[test]
fn an_owner_commits_what_it_found_before_it_serves() {
    let maps = [found(0, 1, 1, 6, &[0, 1, 2]), found(1, 1, 1, 5, &[0, 1, 2])];
    let chosen = choose(&maps).expect("two of three").expect("there is a map");
    let mut commit = MapCommit::start(&chosen);
    assert!(!commit.promised(OsdId::new(1)) && commit.promised(OsdId::new(0)));
    let again = commit.begin(7, osds(0..3));
    assert_eq!(again.stamp, Stamp { term: Term(2), epoch: 7 });
    assert_eq!((commit.committed(), commit.is_committed()), (None, false));
    assert!(!commit.saved(OsdId::new(0), 7) && commit.saved(OsdId::new(1), 7));
    assert_eq!(commit.committed(), Some(again));
}

#[test]
#[should_panic(expected = "not promised to a quorum")]
fn nothing_is_begun_before_the_promise() {
    let map = found(0, 1, 1, 6, &[0]);
    let chosen = choose(&[map]).expect("the only one").expect("there is a map");
    MapCommit::start(&chosen).begin(7, osds([0]));
}
