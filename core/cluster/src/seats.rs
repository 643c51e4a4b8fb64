//! Which disk is whose. A disk says itself which OSD it is and what it has seen, wherever it is found: disks that were
//! swapped are told apart from copies, and of copies the older ones are known.
//!
//! Every life of a node promises its term to each disk that takes part ([`crate::quorum`]), durably, and the maps after that tell
//! who has it. So a disk that lacks a term which the map says its OSD has was put back from the past: it is as good as lost,
//! has no vote, and leads nobody. What cannot be seen is a step back inside one life, or one of so many disks that
//! nobody is left who knows better.
//!
//! Copies of one store that are equally old in that are told apart by their logs. Two that are equal there too hold the same, and the
//! one in its own place is taken, or in the first.

use crate::quorum::Stamp;
use loadline_osd::{DiskFault, Identity, OsdId};
use loadline_store::paged::ids::StoreId;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What a disk says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeatClaim {
    /// Where it was found.
    pub seat: OsdId,
    /// Who it is.
    pub identity: Identity,
    /// The age of its map.
    pub map: Stamp,
    /// Which store it holds.
    pub store: Option<StoreId>,
    /// How far that store has come.
    pub logged: u64,
}

impl SeatClaim {
    /// Which of two disks of one OSD has seen more. Inside one life only copies of one store can be told apart, by how far each
    /// has come; `None` if nothing tells.
    fn age(&self, other: &SeatClaim) -> Option<Ordering> {
        let seen = |claim: &SeatClaim| (claim.identity.term, claim.map);
        match seen(self).cmp(&seen(other)) {
            Ordering::Equal if self.store != other.store => None,
            Ordering::Equal => Some(self.logged.cmp(&other.logged)),
            decided => Some(decided),
        }
    }

    /// Of disks that hold the same the one in its own place counts, or that in the first.
    fn rank(&self) -> (bool, OsdId) {
        (self.seat != self.identity.osd, self.seat)
    }

    /// Why it is not its OSD's, beside another disk that says it is.
    fn yields_to(&self, rival: &SeatClaim) -> Option<DiskFault> {
        let osd = self.identity.osd;
        match self.age(rival) {
            Some(Ordering::Less) => Some(DiskFault::Stale(osd)),
            Some(Ordering::Greater) => None,
            Some(Ordering::Equal) => (rival.rank() < self.rank()).then_some(DiskFault::Copy(osd)),
            None => Some(DiskFault::Twice(osd)),
        }
    }
}

/// For each seat, whose disk stands there, or why it may be nobody's. All disks are of one cluster.
pub(crate) fn owners(claims: &[SeatClaim]) -> BTreeMap<OsdId, Result<OsdId, DiskFault>> {
    let owner = |claim: &SeatClaim| {
        let osd = claim.identity.osd;
        let rivals = claims.iter().filter(|it| it.identity.osd == osd && it.seat != claim.seat);
        let faults: Vec<DiskFault> = rivals.filter_map(|rival| claim.yields_to(rival)).collect();
        // One that is known to be old is that first of all.
        let old = faults.iter().find(|fault| matches!(fault, DiskFault::Stale(_)));
        old.or(faults.first()).map_or(Ok(osd), |fault| Err(*fault))
    };
    claims.iter().map(|claim| (claim.seat, owner(claim))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::Term;

    fn osd(n: u32) -> OsdId {
        OsdId::new(n)
    }

    /// Disks as (seat, OSD, term, epoch of the map, store, end of the log), and what becomes of each seat.
    fn check(disks: &[(u32, u32, u64, u32, u64, u64)], expected: &[Result<u32, DiskFault>]) {
        let claim =
            |(seat, of, term, epoch, store, logged): &(u32, u32, u64, u32, u64, u64)| SeatClaim {
                seat: osd(*seat),
                identity: Identity { cluster: 1, osd: osd(*of), term: *term },
                map: Stamp { term: Term(*term), epoch: *epoch },
                store: StoreId::new(*store),
                logged: *logged,
            };
        let claims: Vec<SeatClaim> = disks.iter().map(claim).collect();
        let found: Vec<_> = owners(&claims).into_values().collect();
        let expected: Vec<_> = expected.iter().map(|owner| owner.map(osd)).collect();
        assert_eq!(found, expected, "{disks:?}");
    }

    #[test]
    fn a_disk_is_whose_it_says_unless_another_says_the_same() {
        let (twice, stale) = (Err(DiskFault::Twice(osd(1))), Err(DiskFault::Stale(osd(1))));
        let check = |disks: &[(u32, u32, u64, u32)], expected: &[Result<u32, DiskFault>]| {
            let numbered = disks.iter().zip(1..);
            let whole =
                numbered.map(|((seat, of, term, epoch), n)| (*seat, *of, *term, *epoch, n, 50));
            check(&whole.collect::<Vec<_>>(), expected);
        };
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 2, 3, 7)], &[Ok(0), Ok(1), Ok(2)]);
        check(&[(0, 0, 4, 9), (1, 2, 4, 9), (2, 1, 4, 9)], &[Ok(0), Ok(2), Ok(1)]);
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 1, 4, 9)], &[Ok(0), twice, twice]);
        check(&[(0, 0, 4, 9), (1, 1, 3, 9), (2, 1, 4, 9)], &[Ok(0), stale, Ok(1)]);
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 1, 4, 8)], &[Ok(0), Ok(1), stale]);
        check(&[(0, 1, 4, 9), (1, 1, 4, 9), (2, 1, 2, 9)], &[twice, twice, stale]);
    }

    /// A clone in another OSD's place took both out of service, and a node of three with them.
    #[test]
    fn copies_of_one_store_are_told_apart_by_their_logs_and_equal_ones_by_their_place() {
        let (of, twice) = (DiskFault::Copy(osd(0)), Err(DiskFault::Twice(osd(0))));
        let (copy, stale) = (Err(of), Err(DiskFault::Stale(osd(0))));
        check(
            &[(0, 0, 4, 9, 7, 50), (1, 0, 4, 9, 7, 50), (2, 2, 4, 9, 8, 60)],
            &[Ok(0), copy, Ok(2)],
        );
        check(&[(0, 0, 4, 9, 7, 50), (1, 0, 4, 9, 7, 51)], &[stale, Ok(0)]);
        check(&[(0, 0, 4, 9, 7, 51), (1, 0, 4, 9, 7, 50)], &[Ok(0), stale]);
        check(
            &[(0, 2, 4, 9, 8, 60), (1, 0, 4, 9, 7, 50), (2, 0, 4, 9, 7, 50)],
            &[Ok(2), Ok(0), copy],
        );
        check(
            &[(0, 0, 4, 9, 7, 50), (1, 0, 4, 9, 7, 50), (2, 0, 4, 9, 7, 50)],
            &[Ok(0), copy, copy],
        );
        check(&[(0, 0, 4, 9, 7, 50), (1, 0, 4, 9, 6, 50)], &[twice, twice]);
    }
}
