//! Everything that was answered is made durable, and whoever asks for it hears whether it is.
//!
//! What an OSD has answered may be in the cache of its device still. An OSD that goes takes that with it, and [what others have of it](crate::debts) is known when
//! its placement groups have found who serves them next:
//!
//! - Who serves a group has all of it, and was asked once more when the other one went.
//! - What a disk that is away owes comes with it. Nobody serves the group, no sync of its pool ends, and all is well when it runs again: a start makes
//!   everything durable that it finds.
//! - Where something may be lost, syncs of its pool that are under way fail, and of every image there the next one fails, once: whoever writes there must hear
//!   it, and can go on then. One that fails makes durable what it can all the same.

use crate::debts::{Debts, PeeringOutcome, Standing};
use crate::images::ImageId;
use crate::pool::PoolId;
use loadline_base::IdVec;
use loadline_osd::{OsdId, OsdSet, PgId};
use std::collections::{BTreeMap, BTreeSet};

/// Whose answers a sync is about. It makes others' durable, too, but waits for none of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncOf {
    /// Those of an image's clients.
    Image(ImageId),
    /// All of them, on the OSDs that run: what is owed is waited for by nobody, and makes it fail.
    Node,
}

/// How a sync has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncEnd {
    /// The number that it began with.
    pub number: u32,
    /// Whether all is durable that was answered before.
    pub is_durable: bool,
}

/// One under way.
#[derive(Clone, Copy, Debug)]
struct OpenSync {
    number: u32,
    of: SyncOf,
    /// Where the image is.
    pool: Option<PoolId>,
    /// How many had begun with it.
    begun: u64,
    /// Who was asked and has not answered.
    left: OsdSet,
    /// Something may be lost that was answered before.
    has_failed: bool,
}

/// Who is still to make durable what was answered, and what nobody can make durable any more.
#[derive(Default)]
pub(crate) struct Syncs {
    /// By the number under which OSDs are asked, which is another one than its own where they were asked once more.
    open: BTreeMap<u32, OpenSync>,
    last: u32,
    ended: Vec<SyncEnd>,
    /// How many have begun.
    begun: u64,
    /// What was answered before so many had begun is durable, but for what is owed.
    durable: u64,
    /// How many had begun when an update of a placement group was answered last, if one was.
    answered: IdVec<PgId, Option<u64>>,
    /// What disks that are away may have alone.
    debts: Debts,
    /// Who has not heard that something may be lost.
    untold: BTreeSet<SyncOf>,
}

impl OpenSync {
    /// Whether it is about what was answered of one of these pools.
    fn is_about(&self, pools: &BTreeSet<PoolId>) -> bool {
        match self.of {
            SyncOf::Node => true,
            SyncOf::Image(_) => self.pool.is_some_and(|pool| pools.contains(&pool)),
        }
    }

    /// How it ends, if it waits for nobody.
    fn end(&self, debts: &Debts) -> Option<SyncEnd> {
        let standing = match (self.of, self.pool) {
            (SyncOf::Image(_), None) => Standing::default(),
            (SyncOf::Image(_), pool) => debts.standing(pool),
            (SyncOf::Node, _) => debts.standing(None),
        };
        let is_told = self.has_failed || self.of == SyncOf::Node;
        let is_over = self.left.is_empty() && !standing.is_open && (is_told || !standing.is_owed);
        let is_durable = !self.has_failed && !standing.is_owed;
        is_over.then_some(SyncEnd { number: self.number, is_durable })
    }
}

impl Syncs {
    /// An update was answered.
    pub(crate) fn note_answered(&mut self, pg: PgId) {
        *self.answered.get_or_default(pg) = Some(self.begun);
    }

    /// Whether something was answered that may not be durable.
    pub(crate) fn has_answered(&self, pg: PgId) -> bool {
        self.answered.get(pg).copied().flatten().is_some_and(|begun| begun >= self.durable)
    }

    /// These are asked. The answer is the sync's number.
    pub(crate) fn begin(&mut self, (of, pool): (SyncOf, Option<PoolId>), up: OsdSet) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.begun += 1;
        let (number, begun) = (self.last, self.begun);
        let has_failed = self.untold.remove(&of);
        self.open.insert(number, OpenSync { number, of, pool, begun, left: up, has_failed });
        self.settle();
        number
    }

    /// An OSD has done its part.
    pub(crate) fn done(&mut self, osd: OsdId, asked: u32) {
        if let Some(sync) = self.open.get_mut(&asked) {
            sync.left.remove(osd);
            self.settle();
        }
    }

    /// An OSD will not answer any more: others have what it had, or have got it since they were asked. They are asked again, under these numbers.
    pub(crate) fn without(&mut self, osd: OsdId, up: OsdSet) -> Vec<u32> {
        let open = self.open.extract_if(.., |_, sync| sync.left.contains(osd));
        let mut asked = Vec::new();
        for (_, sync) in open.collect::<Vec<_>>() {
            self.last = self.last.wrapping_add(1);
            self.open.insert(self.last, OpenSync { left: up, ..sync });
            asked.push(self.last);
        }
        self.settle();
        asked
    }

    /// An OSD goes that has served a group with these, of whom those had all: others may not have what was answered.
    pub(crate) fn open_debt(&mut self, group: (PoolId, PgId), served: OsdSet, whole: OsdSet) {
        self.debts.open(group, served, whole);
    }

    /// Peering has ended for a group. Whether something of it may be lost, which is to be [told](Syncs::lose) then.
    pub(crate) fn decided(&mut self, group: (PoolId, PgId), outcome: PeeringOutcome) -> bool {
        let is_lost = self.debts.decided(group, outcome);
        if !is_lost {
            self.settle();
        }
        is_lost
    }

    /// What an OSD had that is down will not come back with its disk. Something of these pools may be lost by that, which is to be [told](Syncs::lose).
    pub(crate) fn forget_osd(&mut self, osd: OsdId) -> BTreeSet<PoolId> {
        self.debts.forget(osd)
    }

    /// Something of these pools, and of these images, may be lost.
    pub(crate) fn lose(&mut self, pools: &BTreeSet<PoolId>, images: impl Iterator<Item = ImageId>) {
        self.untold.extend(images.map(SyncOf::Image));
        self.untold.insert(SyncOf::Node);
        for sync in self.open.values_mut().filter(|sync| sync.is_about(pools)) {
            sync.has_failed = true;
            self.untold.remove(&sync.of);
        }
        self.settle();
    }

    /// A pool is gone, with what is owed of it.
    pub(crate) fn forget_pool(&mut self, pool: PoolId) {
        self.debts.forget_pool(pool);
        self.settle();
    }

    /// Ends those that wait for nobody.
    fn settle(&mut self) {
        let debts = &self.debts;
        for (_, sync) in self.open.extract_if(.., |_, sync| sync.end(debts).is_some()) {
            self.durable = self.durable.max(sync.begun);
            self.ended.extend(sync.end(debts));
        }
    }

    /// Those that have ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<SyncEnd> {
        std::mem::take(&mut self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PG: PgId = PgId::new(0);
    const HERE: PoolId = PoolId::new(1);
    const ELSEWHERE: PoolId = PoolId::new(2);
    const NODE: (SyncOf, Option<PoolId>) = (SyncOf::Node, None);

    fn osds<const N: usize>(osds: [u32; N]) -> OsdSet {
        osds.into_iter().map(OsdId::new).collect()
    }

    fn image(member: u16) -> ImageId {
        ImageId { family: 1, member }
    }

    fn of(member: u16, pool: PoolId) -> (SyncOf, Option<PoolId>) {
        (SyncOf::Image(image(member)), Some(pool))
    }

    fn ended(syncs: &mut Syncs) -> Vec<(u32, bool)> {
        syncs.take_ended().into_iter().map(|end| (end.number, end.is_durable)).collect()
    }

    /// Another OSD may have got what the first had since it was asked.
    #[test]
    fn who_is_left_is_asked_again_when_one_goes() {
        let mut syncs = Syncs::default();
        let number = syncs.begin(NODE, osds([0, 1]));
        syncs.done(OsdId::new(1), number);
        let again = syncs.without(OsdId::new(0), osds([1]));
        assert_eq!(again.len(), 1);
        syncs.done(OsdId::new(1), number);
        assert_eq!(ended(&mut syncs), []);
        syncs.done(OsdId::new(1), again[0]);
        assert_eq!(ended(&mut syncs), [(number, true)]);
        // Who has answered is missed by nobody, and nobody is asked where nobody is left.
        let number = syncs.begin(NODE, osds([0, 1]));
        syncs.done(OsdId::new(0), number);
        assert_eq!(syncs.without(OsdId::new(0), osds([1])), []);
        syncs.without(OsdId::new(1), OsdSet::EMPTY);
        assert_eq!(ended(&mut syncs), [(number, true)]);
    }

    /// One OSD goes that alone has served a group of the pool.
    fn open_debt(syncs: &mut Syncs) {
        syncs.open_debt((HERE, PG), osds([0]), osds([0]));
    }

    fn decided(syncs: &mut Syncs, whole: Option<OsdSet>) {
        let outcome = PeeringOutcome { told: osds([1]), whole, is_rest: false };
        assert!(!syncs.decided((HERE, PG), outcome));
    }

    #[test]
    fn what_is_owed_holds_up_the_images_of_its_pool() {
        let mut syncs = Syncs::default();
        open_debt(&mut syncs);
        let all = [of(7, HERE), of(8, ELSEWHERE), NODE].map(|of| syncs.begin(of, osds([1])));
        all.iter().for_each(|number| syncs.done(OsdId::new(1), *number));
        assert_eq!(ended(&mut syncs), [(all[1], true)], "others may serve what the first had");
        decided(&mut syncs, None);
        assert_eq!(ended(&mut syncs), [(all[2], false)]);
        decided(&mut syncs, Some(osds([1])));
        assert_eq!(ended(&mut syncs), [(all[0], true)]);
        open_debt(&mut syncs);
        let number = syncs.begin(NODE, OsdSet::EMPTY);
        decided(&mut syncs, Some(osds([1])));
        assert_eq!(ended(&mut syncs), [(number, true)]);
    }

    /// Groups of one OSD find one by one that nobody has what it had. An image hears of all of that by one flush.
    #[test]
    fn who_fails_waits_until_all_is_known_that_may_be_lost() {
        let mut syncs = Syncs::default();
        open_debt(&mut syncs);
        let open = syncs.begin(of(7, HERE), OsdSet::EMPTY);
        syncs.lose(&BTreeSet::from([HERE]), [7].map(image).into_iter());
        assert_eq!(ended(&mut syncs), []);
        assert_eq!(syncs.forget_osd(OsdId::new(0)), BTreeSet::new());
        let outcome = PeeringOutcome { told: osds([1]), whole: None, is_rest: false };
        assert!(syncs.decided((HERE, PG), outcome));
        assert_eq!(ended(&mut syncs), [], "that is to be told first");
        syncs.lose(&BTreeSet::from([HERE]), [7].map(image).into_iter());
        assert_eq!(ended(&mut syncs), [(open, false)]);
        let next = syncs.begin(of(7, HERE), OsdSet::EMPTY);
        assert_eq!(ended(&mut syncs), [(next, true)]);
    }

    #[test]
    fn each_image_hears_once_that_something_may_be_lost() {
        let mut syncs = Syncs::default();
        let open = syncs.begin(of(7, HERE), osds([1]));
        let other = syncs.begin(of(9, ELSEWHERE), osds([1]));
        syncs.lose(&BTreeSet::from([HERE]), [7, 8].map(image).into_iter());
        assert_eq!(ended(&mut syncs), [], "one that runs is making something durable");
        [open, other].iter().for_each(|number| syncs.done(OsdId::new(1), *number));
        assert_eq!(ended(&mut syncs), [(open, false), (other, true)]);
        for (of, is_durable) in
            [(of(7, HERE), true), (of(8, HERE), false), (of(8, HERE), true), (NODE, false)]
        {
            let number = syncs.begin(of, OsdSet::EMPTY);
            assert_eq!(ended(&mut syncs), [(number, is_durable)], "{of:?}");
        }
    }

    /// A node that ended after a flush had been refused waited for none of its disks.
    #[test]
    fn a_sync_that_fails_makes_durable_what_it_can() {
        let mut syncs = Syncs::default();
        syncs.lose(&BTreeSet::from([HERE]), std::iter::empty());
        let told = syncs.begin(NODE, osds([0, 1]));
        syncs.done(OsdId::new(0), told);
        assert_eq!(ended(&mut syncs), []);
        syncs.done(OsdId::new(1), told);
        assert_eq!(ended(&mut syncs), [(told, false)]);
        // What it fails by may happen while it is under way.
        let open = syncs.begin(NODE, osds([0, 1]));
        syncs.lose(&BTreeSet::from([HERE]), std::iter::empty());
        let asked = syncs.without(OsdId::new(0), osds([1]));
        assert_eq!(ended(&mut syncs), []);
        syncs.done(OsdId::new(1), asked[0]);
        assert_eq!(ended(&mut syncs), [(open, false)]);
        // That one image's may fail says nothing of what others wait for.
        open_debt(&mut syncs);
        decided(&mut syncs, None);
        let waits = syncs.begin(of(7, HERE), OsdSet::EMPTY);
        syncs.lose(&BTreeSet::from([HERE]), std::iter::empty());
        assert_eq!(ended(&mut syncs), [(waits, false)], "it has its answer");
    }

    #[test]
    fn only_what_was_answered_before_a_sync_is_durable_by_it() {
        let mut syncs = Syncs::default();
        assert!(!syncs.has_answered(PG));
        syncs.note_answered(PG);
        let number = syncs.begin(NODE, osds([0]));
        assert!(syncs.has_answered(PG), "nobody has done anything yet");
        syncs.done(OsdId::new(0), number);
        assert!(!syncs.has_answered(PG));
        let number = syncs.begin(NODE, osds([0]));
        syncs.note_answered(PG);
        syncs.done(OsdId::new(0), number);
        assert!(syncs.has_answered(PG), "it may have come behind the flush");
    }
}
