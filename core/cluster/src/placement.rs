//! Placement: each OSD draws a number for each placement group, the highest draws hold it, and then the groups are
//! evened out so that no OSD holds more than its share.

use loadline_base::mix64;
use loadline_osd::OsdId;

/// The members of each of `pgs` placement groups, primary first.
///
/// With a candidate more or less, only as many groups move as must: a draw depends on the group and the OSD alone
/// (highest random weight, as Ceph's straw buckets with equal weights). Balancing mirrors Ceph's `upmap` balancer.
pub(crate) fn place(seed: u64, pgs: u32, copies: usize, candidates: &[OsdId]) -> Vec<Vec<OsdId>> {
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

    #[test]
    fn with_fewer_osds_than_copies_every_osd_holds_every_group() {
        assert!(place(1, 8, 3, &osds(2)).iter().all(|members| members.len() == 2));
        assert!(place(1, 8, 3, &[]).iter().all(Vec::is_empty));
    }
}
