//! Which store is whose. Each store has a random number of its own, and the map keeps that of every OSD: what lies in an OSD's
//! place and cannot be opened is made empty only if it is that one. Anything else is somebody else's, however damaged it is.
//!
//! Before a disk is made empty, the map tells of the number that its next store will have. So an empty one with that number is
//! the OSD's, also where the node died before the disk was told whose it is.

use crate::codec::{OsdRecord, OwnStores};
use crate::map_change::MapChange;
use loadline_osd::OsdId;
use loadline_store::paged::ids::StoreId;
use std::collections::BTreeMap;

/// Those of all OSDs.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    known: BTreeMap<OsdId, OwnStores>,
    /// The one that was found in each OSD's place when it was opened last.
    found: BTreeMap<OsdId, StoreId>,
    /// The change of the map that tells of the next one, where it was made in this life.
    told_by: BTreeMap<OsdId, MapChange>,
}

impl Stores {
    /// The map that counts says so.
    pub(crate) fn begin(&mut self, osds: &BTreeMap<OsdId, OsdRecord>) {
        self.known = osds.iter().map(|(osd, record)| (*osd, record.stores)).collect();
    }

    /// What the map is to tell of an OSD.
    pub(crate) fn of(&self, osd: OsdId) -> OwnStores {
        self.known.get(&osd).copied().unwrap_or_default()
    }

    /// Whose a store is.
    pub(crate) fn owner(&self, store: StoreId) -> Option<OsdId> {
        self.known.iter().find(|(_, stores)| stores.contains(store)).map(|(osd, _)| *osd)
    }

    /// An OSD's disk is opened, or could not be; it holds this store, if that can be read.
    pub(crate) fn note_found(&mut self, osd: OsdId, store: Option<StoreId>) {
        match store {
            Some(store) => drop(self.found.insert(osd, store)),
            None => drop(self.found.remove(&osd)),
        }
    }

    /// The store that was found in an OSD's place.
    pub(crate) fn found(&self, osd: OsdId) -> Option<StoreId> {
        self.found.get(&osd).copied()
    }

    /// Whether it is the one that was to come.
    pub(crate) fn has_come(&self, osd: OsdId) -> bool {
        self.found(osd).is_some() && self.found(osd) == self.of(osd).next
    }

    /// This store is to take the place of an OSD's present one, and this change of the map tells of it. Answers whether that is
    /// news.
    pub(crate) fn expect(&mut self, osd: OsdId, store: StoreId, change: MapChange) -> bool {
        let known = self.known.entry(osd).or_default();
        let is_news = known.next.replace(store) != Some(store);
        if is_news {
            self.told_by.insert(osd, change);
        }
        is_news
    }

    /// The store that was said in this life to take the place of an OSD's, with the change of the map that tells of it.
    pub(crate) fn expected(&self, osd: OsdId) -> Option<(StoreId, MapChange)> {
        self.of(osd).next.zip(self.told_by.get(&osd).copied())
    }

    /// The store that was found in an OSD's place was told that it is this OSD's. Answers whether the map did not know.
    pub(crate) fn learn(&mut self, osd: OsdId) -> bool {
        let learned = OwnStores { now: self.found(osd), next: None };
        learned.now.is_some() && self.known.insert(osd, learned) != Some(learned)
    }

    /// An OSD is none any more.
    pub(crate) fn forget(&mut self, osd: OsdId) {
        self.known.remove(&osd);
        self.found.remove(&osd);
        self.told_by.remove(&osd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that was given anew had the change that told of its former OSD's next store.
    #[test]
    fn an_osd_that_is_none_any_more_leaves_nothing() {
        let (osd, store) = (OsdId::new(3), StoreId::new(7).expect("not zero"));
        let mut stores = Stores::default();
        stores.note_found(osd, Some(store));
        assert!(stores.expect(osd, store, MapChange::default().next()));
        stores.forget(osd);
        assert_eq!((stores.found(osd), stores.expected(osd)), (None, None));
        assert!(stores.known.is_empty() && stores.told_by.is_empty());
    }
}
