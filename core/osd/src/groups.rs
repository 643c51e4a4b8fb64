//! The copies of placement groups that an OSD has, and what the map's owner has told of the images that their objects belong to.

use crate::ids::{PgId, ShardId};
use crate::pg::Pg;
use crate::pg_log::LogReach;
use crate::snapshots::Views;
use loadline_base::IdVec;
use std::sync::Arc;

/// Copies by the number of their group.
#[derive(Default)]
pub(crate) struct Groups {
    copies: IdVec<PgId, Option<Box<Pg>>>,
    views: Arc<Views>,
}

impl Groups {
    #[inline]
    pub(crate) fn get(&self, id: PgId) -> Option<&Pg> {
        self.copies.get(id)?.as_deref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PgId) -> Option<&mut Pg> {
        (usize::from(id) < self.copies.len()).then(|| self.copies[id].as_deref_mut()).flatten()
    }

    /// What ops need to know of images, and trims.
    #[inline]
    pub(crate) fn views(&self) -> &Arc<Views> {
        &self.views
    }

    /// Images are like this from now on.
    pub(crate) fn show(&mut self, views: Arc<Views>) {
        self.views = views;
    }

    /// Makes room for a copy, empty if it is new, whose work goes through this shard.
    pub(crate) fn place(&mut self, id: PgId, shard: ShardId) {
        let copy = self.copies.get_or_default(id);
        copy.get_or_insert_with(|| Box::new(Pg::new(shard))).shard = shard;
    }

    /// The copy is gone.
    pub(crate) fn remove(&mut self, id: PgId) {
        self.copies[id] = None;
    }

    /// Forgets all copies.
    pub(crate) fn clear(&mut self) {
        self.copies = IdVec::new();
    }

    /// All logs go back so far from now on.
    pub(crate) fn set_log_reach(&mut self, reach: LogReach) {
        let copies = self.copies.iter_mut().filter_map(|(_, copy)| copy.as_deref_mut());
        copies.for_each(|copy| copy.log.set_reach(reach));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PgId, &Pg)> {
        self.copies.iter().filter_map(|(id, copy)| Some((id, copy.as_deref()?)))
    }

    /// Nobody takes part in anything any more, as after a crash.
    pub(crate) fn end_all(&mut self) {
        for copy in self.copies.iter_mut().filter_map(|(_, copy)| copy.as_deref_mut()) {
            copy.primary = None;
            copy.interval = 0;
            copy.stay();
        }
    }
}
