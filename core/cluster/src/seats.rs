//! Which disk is whose. A disk says itself which OSD it is and what it has seen, wherever it is found: disks that were
//! swapped are told apart from copies, and of copies the older ones are known.
//!
//! Every life of a node promises its term to each disk that takes part ([`crate::quorum`]), durably, and the maps after that tell
//! who has it. So a disk that lacks a term which the map says its OSD has was put back from the past: it is as good as lost,
//! has no vote, and leads nobody. What cannot be seen is a step back inside one life, or one of so many disks that
//! nobody is left who knows better.

use crate::quorum::Stamp;
use loadline_osd::{DiskFault, Identity, OsdId};
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
}

impl SeatClaim {
    /// What the disk has seen; of two disks of one OSD the one that has seen less is the older.
    fn seen(&self) -> (u64, Stamp) {
        (self.identity.term, self.map)
    }
}

/// For each seat, whose disk stands there, or why it may be nobody's. All disks are of one cluster.
pub(crate) fn owners(claims: &[SeatClaim]) -> BTreeMap<OsdId, Result<OsdId, DiskFault>> {
    let owner = |claim: &SeatClaim| {
        let osd = claim.identity.osd;
        let rivals = claims.iter().filter(|it| it.identity.osd == osd && it.seat != claim.seat);
        match rivals.map(SeatClaim::seen).max() {
            Some(seen) if seen > claim.seen() => Err(DiskFault::Stale(osd)),
            Some(seen) if seen == claim.seen() => Err(DiskFault::Twice(osd)),
            _ => Ok(osd),
        }
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

    /// Disks as (seat, OSD, term, epoch of the map), and what becomes of each seat.
    fn check(disks: &[(u32, u32, u64, u32)], expected: &[Result<u32, DiskFault>]) {
        let claim = |(seat, of, term, epoch): &(u32, u32, u64, u32)| SeatClaim {
            seat: osd(*seat),
            identity: Identity { cluster: 1, osd: osd(*of), term: *term },
            map: Stamp { term: Term(*term), epoch: *epoch },
        };
        let claims: Vec<SeatClaim> = disks.iter().map(claim).collect();
        let found: Vec<_> = owners(&claims).into_values().collect();
        let expected: Vec<_> = expected.iter().map(|owner| owner.map(osd)).collect();
        assert_eq!(found, expected, "{disks:?}");
    }

    #[test]
    fn a_disk_is_whose_it_says_unless_another_says_the_same() {
        let (twice, stale) = (Err(DiskFault::Twice(osd(1))), Err(DiskFault::Stale(osd(1))));
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 2, 3, 7)], &[Ok(0), Ok(1), Ok(2)]);
        check(&[(0, 0, 4, 9), (1, 2, 4, 9), (2, 1, 4, 9)], &[Ok(0), Ok(2), Ok(1)]);
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 1, 4, 9)], &[Ok(0), twice, twice]);
        check(&[(0, 0, 4, 9), (1, 1, 3, 9), (2, 1, 4, 9)], &[Ok(0), stale, Ok(1)]);
        check(&[(0, 0, 4, 9), (1, 1, 4, 9), (2, 1, 4, 8)], &[Ok(0), Ok(1), stale]);
        check(&[(0, 1, 4, 9), (1, 1, 4, 9), (2, 1, 2, 9)], &[twice, twice, stale]);
    }
}
