//! Placement, of two kinds.
//!
//! Ours: each OSD draws a number for each placement group, the highest draws hold it, and then the groups are
//! evened out so that no OSD holds more than its share. The original's ([`crush`](crate::crush)) is as uneven as its hash is, and that
//! of a cluster which somebody has described is as it is given.

use crate::crush;
use crate::peering::StandIn;
use loadline_base::mix64;
use loadline_osd::OsdId;
use std::sync::Arc;

/// How objects find placement groups, and those find OSDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Objects spread evenly, and OSDs hold equally many groups.
    #[default]
    Even,
    /// Objects by the hash of their names, groups by CRUSH over equal OSDs of one host: for studies of that system's published figures.
    /// A map that is kept on disks does not know it.
    Crush,
    /// Objects by the hash of their names, the groups of every pool where these are, primary first. Whoever of them is out is replaced
    /// by lot. A map that is kept on disks does not know it.
    Given(Arc<[Vec<OsdId>]>),
}

impl Placement {
    /// The number inside its pool of the group that a block's object belongs to.
    pub(crate) fn group(&self, seed: u64, pool: u32, pgs: u32, block: u64) -> u32 {
        match self {
            Placement::Even => {
                let hash = u128::from(mix64(block ^ mix64(u64::from(pool) + 1)));
                ((hash * u128::from(pgs)) >> 64) as u32
            }
            Placement::Crush | Placement::Given(_) => {
                crush::group(crush::pool_number(seed, pool), pgs, block)
            }
        }
    }

    /// Who leads a group whose first member is to be filled.
    pub(crate) fn stand_in(&self) -> StandIn {
        match self {
            Placement::Even => StandIn::NextMember,
            Placement::Crush | Placement::Given(_) => StandIn::Authority,
        }
    }

    /// The members of each group of a pool, primary first, given who is in and who is a number at all.
    pub(crate) fn members(
        &self,
        (seed, pool): (u64, u32),
        (pgs, copies): (u32, usize),
        all: &[OsdId],
        is_in: impl Fn(OsdId) -> bool,
    ) -> Vec<Vec<OsdId>> {
        match self {
            Placement::Even => {
                let candidates: Vec<OsdId> =
                    all.iter().copied().filter(|osd| is_in(*osd)).collect();
                place(mix64(seed ^ mix64(u64::from(pool))), pgs, copies, &candidates)
            }
            Placement::Crush => {
                let pool = crush::pool_number(seed, pool);
                (0..pgs)
                    .map(|group| crush::members((pool, pgs), group, copies, all, &is_in))
                    .collect()
            }
            Placement::Given(groups) => {
                let candidates: Vec<OsdId> =
                    all.iter().copied().filter(|osd| is_in(*osd)).collect();
                let seed = mix64(seed ^ mix64(u64::from(pool)));
                (0..pgs)
                    .map(|index| {
                        let given = groups.get(index as usize).into_iter().flatten().copied();
                        let drawn = draw(seed, index, candidates.len(), &candidates);
                        let mut members: Vec<OsdId> = Vec::with_capacity(copies);
                        for osd in given.filter(|osd| candidates.contains(osd)).chain(drawn) {
                            if members.len() < copies && !members.contains(&osd) {
                                members.push(osd);
                            }
                        }
                        members
                    })
                    .collect()
            }
        }
    }
}

/// The members of each of `pgs` placement groups, primary first.
///
/// With a candidate more or less, only as many groups move as must: a draw depends on the group and the OSD alone
/// (highest random weight, as Ceph's straw buckets with equal weights). Balancing mirrors Ceph's `upmap` balancer.
fn place(seed: u64, pgs: u32, copies: usize, candidates: &[OsdId]) -> Vec<Vec<OsdId>> {
    let mut placed: Vec<Vec<OsdId>> =
        (0..pgs).map(|index| draw(seed, index, copies, candidates)).collect();
    balance(&mut placed, candidates);
    placed
}

fn draw(seed: u64, index: u32, copies: usize, candidates: &[OsdId]) -> Vec<OsdId> {
    let ticket = |osd: &OsdId| {
        let draw = mix64(seed ^ mix64(u64::from(index) << 32 | u64::from(osd.get())));
        (std::cmp::Reverse(draw), *osd)
    };
    let mut order = candidates.to_vec();
    order.sort_by_key(ticket);
    order.truncate(copies);
    order
}

/// Moves one group at a time from the fullest to the emptiest OSD until they differ by at most one.
fn balance(placed: &mut [Vec<OsdId>], candidates: &[OsdId]) {
    let count = |placed: &[Vec<OsdId>], osd: OsdId| {
        placed.iter().filter(|members| members.contains(&osd)).count()
    };
    loop {
        let mut loads: Vec<(usize, OsdId)> =
            candidates.iter().map(|osd| (count(placed, *osd), *osd)).collect();
        loads.sort();
        let (Some(&(least, emptiest)), Some(&(most, fullest))) = (loads.first(), loads.last())
        else {
            return;
        };
        let movable = placed
            .iter_mut()
            .find(|members| members.contains(&fullest) && !members.contains(&emptiest));
        match movable {
            Some(members) if most > least + 1 => {
                let place = members.iter().position(|osd| *osd == fullest);
                members[place.expect("the group holds the fullest OSD")] = emptiest;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn osds(n: u32) -> Vec<OsdId> {
        (0..n).map(OsdId::new).collect()
    }

    #[test]
    fn no_osd_holds_more_than_its_share_and_no_group_twice_the_same() {
        for seed in 0..200 {
            let placed = place(seed, 18, 3, &osds(4));
            for osd in osds(4) {
                let held = placed.iter().filter(|members| members.contains(&osd)).count();
                assert!(
                    (13..=14).contains(&held),
                    "18 groups of 3 on 4 OSDs are 13.5 each, not {held}"
                );
            }
            for members in placed {
                let mut unique = members.clone();
                unique.sort();
                unique.dedup();
                assert_eq!(unique.len(), 3, "{members:?}");
            }
        }
    }

    /// Groups stay where they are given; only what is out is replaced, and only while it is out.
    #[test]
    fn given_groups_are_where_they_are_given() {
        let groups: Vec<Vec<OsdId>> =
            [[2, 0, 1], [3, 1, 0], [1, 2, 3]].map(|group| group.map(OsdId::new).to_vec()).to_vec();
        let placement = Placement::Given(groups.clone().into());
        let with_out = |out: Option<u32>| {
            let is_in = |osd: OsdId| out != Some(osd.get());
            placement.members((7, 1), (3, 3), &osds(4), is_in)
        };
        assert_eq!(with_out(None), groups);
        let without = with_out(Some(2));
        assert_eq!(without[1], groups[1]);
        assert_eq!(without[0], [0, 1, 3].map(OsdId::new));
        assert_eq!(without[2], [1, 3, 0].map(OsdId::new));
        // A group that is given too few, or none at all, gets the rest by lot.
        let placement = Placement::Given(vec![vec![OsdId::new(3)]].into());
        for members in placement.members((7, 1), (2, 3), &osds(4), |_| true) {
            assert_eq!(members.len(), 3);
        }
    }

    #[test]
    fn with_fewer_osds_than_copies_every_osd_holds_every_group() {
        assert!(place(1, 8, 3, &osds(2)).iter().all(|members| members.len() == 2));
        assert!(place(1, 8, 3, &[]).iter().all(Vec::is_empty));
    }
}
