//! What may be on disks alone that are away, of what was answered of a placement group since the last flush.
//!
//! Whether anything is, peering knows, and nobody else: a group that is served without an OSD has all that was answered, and one that is not waits for a disk.
//! So when an OSD goes, nothing is known of the groups that it served until each of them has found who serves it next, or that nobody can. What
//! nobody serves is *owed*: the disks that are away have it, and it comes with them.
//!
//! A disk that has lost what its device had accepted comes back with a copy that looks as good as any. Peering cannot see that what was answered is not
//! there, so where such a copy has a say, somebody else must have had all. If nobody can have it any more, it may be *lost*. So may what a disk had that is gone for
//! good, where a group is served by those that lacked something when it went.

use crate::pool::PoolId;
use loadline_osd::{OsdId, OsdSet, PgId};
use std::collections::{BTreeMap, BTreeSet};

/// What peering has made of a placement group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeeringOutcome {
    /// Whose copies it has seen.
    pub told: OsdSet,
    /// Who serves it and lacks nothing; `None` if nobody can serve it.
    pub whole: Option<OsdSet>,
    /// No copy was left that had all, and those that serve are what is left.
    pub is_rest: bool,
}

/// What was answered of a placement group, as an OSD that served it has gone.
#[derive(Clone, Copy, Debug)]
struct Debt {
    /// Who served it.
    served: OsdSet,
    /// Who of those had all of it, has lost nothing since, and has not been found to be of no use.
    whole: OsdSet,
    /// Who of those has lost something of it.
    forgetful: OsdSet,
}

/// A pool's groups of which something may be on disks alone that are away.
#[derive(Debug, Default)]
struct PoolDebts {
    /// Peering has still to say who serves them.
    open: BTreeMap<PgId, Debt>,
    /// Nobody can.
    owed: BTreeMap<PgId, Debt>,
}

/// How a pool stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Of some groups nothing is known yet.
    pub is_open: bool,
    /// Some groups wait for disks that are away.
    pub is_owed: bool,
}

/// What may be on disks alone that are away.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    /// Pools without any are not here.
    pools: BTreeMap<PoolId, PoolDebts>,
}

impl Debt {
    fn may_be_lost(&self) -> bool {
        !self.forgetful.is_empty() && self.whole.is_empty()
    }

    fn forget(&mut self, osd: OsdId) {
        if self.served.contains(osd) {
            self.whole.remove(osd);
            self.forgetful.insert(osd);
        }
    }

    /// Whether a group that is served, by these of whom these lack nothing, has all of it.
    fn is_paid_by(&self, outcome: &PeeringOutcome, whole: OsdSet) -> bool {
        let counts = match outcome.is_rest {
            true => !self.forgetful.is_empty(),
            false => meet(self.forgetful, outcome.told),
        };
        !counts || meet(self.whole, whole)
    }
}

impl Debts {
    /// An OSD goes that has served a group with these, of whom those had all.
    pub(crate) fn open(&mut self, (pool, pg): (PoolId, PgId), served: OsdSet, whole: OsdSet) {
        let debt = Debt { served, whole, forgetful: OsdSet::EMPTY };
        self.pools.entry(pool).or_default().open.entry(pg).or_insert(debt);
    }

    /// What an OSD had that has gone will not come back with its disk. The answer is the pools of which something may be lost by that.
    pub(crate) fn forget(&mut self, osd: OsdId) -> BTreeSet<PoolId> {
        let mut lost = BTreeSet::new();
        for (pool, debts) in &mut self.pools {
            debts.open.values_mut().chain(debts.owed.values_mut()).for_each(|it| it.forget(osd));
            let of_pool = debts.owed.extract_if(.., |_, debt| debt.may_be_lost());
            lost.extend(of_pool.map(|_| *pool));
        }
        self.drop_settled();
        lost
    }

    /// Peering has ended for a group. Whether something of it may be lost.
    pub(crate) fn decided(&mut self, (pool, pg): (PoolId, PgId), outcome: PeeringOutcome) -> bool {
        let Some(debts) = self.pools.get_mut(&pool) else { return false };
        let Some(mut debt) = debts.open.remove(&pg).or_else(|| debts.owed.remove(&pg)) else {
            return false;
        };
        let is_lost = match outcome.whole {
            Some(whole) => !debt.is_paid_by(&outcome, whole),
            None => {
                let away = debt.whole.iter().filter(|osd| !outcome.told.contains(*osd));
                debt.whole = away.collect();
                if !debt.may_be_lost() {
                    debts.owed.insert(pg, debt);
                }
                debt.may_be_lost()
            }
        };
        self.drop_settled();
        is_lost
    }

    /// A pool is gone.
    pub(crate) fn forget_pool(&mut self, pool: PoolId) {
        self.pools.remove(&pool);
    }

    /// How a pool stands; all of them together without one.
    pub(crate) fn standing(&self, pool: Option<PoolId>) -> Standing {
        match pool {
            Some(pool) => self.pools.get(&pool).map_or_else(Standing::default, PoolDebts::standing),
            None => self.pools.values().fold(Standing::default(), |all, of| {
                let of = of.standing();
                Standing { is_open: all.is_open | of.is_open, is_owed: all.is_owed | of.is_owed }
            }),
        }
    }

    fn drop_settled(&mut self) {
        self.pools.retain(|_, debts| debts.standing() != Standing::default());
    }
}

impl PoolDebts {
    fn standing(&self) -> Standing {
        Standing { is_open: !self.open.is_empty(), is_owed: !self.owed.is_empty() }
    }
}

fn meet(one: OsdSet, other: OsdSet) -> bool {
    one.iter().any(|osd| other.contains(osd))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: PoolId = PoolId::new(1);
    const PG: PgId = PgId::new(7);
    const OPEN: Standing = Standing { is_open: true, is_owed: false };
    const OWED: Standing = Standing { is_open: false, is_owed: true };
    const NOTHING: Standing = Standing { is_open: false, is_owed: false };

    fn osds(osds: &[u32]) -> OsdSet {
        osds.iter().copied().map(OsdId::new).collect()
    }

    /// One of OSDs 0 to 2 has gone that served, of whom these had all.
    fn opened(whole: &[u32]) -> Debts {
        let mut debts = Debts::default();
        debts.open((POOL, PG), osds(&[0, 1, 2]), osds(whole));
        assert_eq!(debts.standing(Some(POOL)), OPEN);
        debts
    }

    /// Whether something may be lost, and how the pool stands.
    fn decided(debts: &mut Debts, told: &[u32], whole: Option<&[u32]>) -> (bool, Standing) {
        let (told, whole) = (osds(told), whole.map(osds));
        let outcome = PeeringOutcome { told, whole, is_rest: false };
        (debts.decided((POOL, PG), outcome), debts.standing(Some(POOL)))
    }

    #[test]
    fn a_group_that_is_served_without_who_has_gone_owes_nothing() {
        // Who serves it was said to lack something when the other one went.
        for whole in [&[0, 1, 2][..], &[0], &[]] {
            assert_eq!(decided(&mut opened(whole), &[1, 2], Some(&[2])), (false, NOTHING));
        }
    }

    #[test]
    fn what_nobody_serves_is_owed_until_somebody_does() {
        let mut debts = opened(&[0]);
        assert_eq!(decided(&mut debts, &[1], None), (false, OWED));
        assert_eq!((debts.standing(None), debts.standing(Some(PoolId::new(2)))), (OWED, NOTHING));
        assert_eq!(decided(&mut debts, &[1, 3], None), (false, OWED));
        assert_eq!(decided(&mut debts, &[0, 1], Some(&[0])), (false, NOTHING));
        assert_eq!(
            decided(&mut debts, &[0], None),
            (false, NOTHING),
            "it is of no concern any more"
        );
    }

    /// Neither had all, and both keep what they have: together they bring it.
    #[test]
    fn several_may_owe_together() {
        let mut debts = opened(&[]);
        assert_eq!(decided(&mut debts, &[2], None), (false, OWED));
        assert_eq!(decided(&mut debts, &[0, 2], None), (false, OWED));
        assert_eq!(decided(&mut debts, &[0, 1, 2], Some(&[0])), (false, NOTHING));
    }

    #[test]
    fn what_a_disk_has_lost_is_lost_if_no_other_one_can_have_it() {
        let forgotten = |whole: &[u32], osd: u32| {
            let mut debts = opened(whole);
            assert_eq!(debts.forget(OsdId::new(osd)), BTreeSet::new(), "nothing is known yet");
            debts
        };
        assert_eq!(decided(&mut forgotten(&[0, 1], 0), &[1, 2], Some(&[1])), (false, NOTHING));
        // It lacked something when the interval began, and peering lets it lead now.
        assert_eq!(decided(&mut forgotten(&[0], 0), &[1, 2], Some(&[1])), (false, NOTHING));
        assert_eq!(decided(&mut forgotten(&[0], 0), &[1, 2], None), (true, NOTHING));
        assert_eq!(
            decided(&mut forgotten(&[0, 1], 0), &[1], None),
            (true, NOTHING),
            "it cannot lead"
        );
        // It is back before anybody has been asked.
        assert_eq!(decided(&mut forgotten(&[0], 0), &[0, 1], Some(&[0, 1])), (true, NOTHING));
        assert_eq!(decided(&mut forgotten(&[0, 1], 0), &[0, 1], Some(&[0, 1])), (false, NOTHING));
        assert_eq!(decided(&mut forgotten(&[0, 1], 0), &[0, 1], Some(&[0])), (true, NOTHING));
        // The other one that has all is away.
        let mut debts = forgotten(&[0, 1], 0);
        assert_eq!(decided(&mut debts, &[2], None), (false, OWED));
        assert_eq!(
            decided(&mut debts, &[0], Some(&[0])),
            (true, NOTHING),
            "it did not wait for it"
        );
        // It never served the group.
        assert_eq!(decided(&mut forgotten(&[], 3), &[1], None), (false, OWED));
    }

    /// The only one that had all got another disk before anybody had been asked, and those that had lacked something serve.
    #[test]
    fn what_those_lack_who_are_left_may_be_lost() {
        let is_lost = |mut debts: Debts, whole: &[u32]| {
            let (told, whole) = (osds(&[1, 2]), Some(osds(whole)));
            debts.decided((POOL, PG), PeeringOutcome { told, whole, is_rest: true })
        };
        let gone = |whole: &[u32]| {
            let mut debts = opened(whole);
            assert_eq!(debts.forget(OsdId::new(0)), BTreeSet::new());
            debts
        };
        assert!(is_lost(gone(&[0]), &[]) && is_lost(gone(&[0]), &[1]));
        assert!(!is_lost(gone(&[0, 1]), &[1]), "it had all");
        assert!(!is_lost(opened(&[0]), &[]), "nothing is gone");
    }

    #[test]
    fn what_a_disk_owes_is_lost_with_it_if_no_other_one_can_have_it() {
        let mut debts = opened(&[0, 1]);
        assert_eq!(decided(&mut debts, &[2], None), (false, OWED));
        assert_eq!(debts.forget(OsdId::new(3)), BTreeSet::new());
        assert_eq!(debts.forget(OsdId::new(0)), BTreeSet::new());
        assert_eq!(debts.standing(Some(POOL)), OWED);
        assert_eq!(debts.forget(OsdId::new(1)), BTreeSet::from([POOL]));
        assert_eq!(debts.standing(None), NOTHING);
    }
}
