//! Pools that go: first from the map, and from the disks when the map without them counts. An OSD that is away keeps its
//! copies meanwhile; it loses them when it comes back.

use crate::cluster::{Cluster, OwnerEffects};
use crate::pool::PoolId;
use loadline_osd::{Directive, OsdId, PgId};
use std::fmt;

/// Why a pool cannot be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolInUse {
    /// There is no other one.
    Last,
    /// It holds so many images.
    Images(usize),
    /// Objects of images that are gone are still being removed.
    Cleaning,
    /// Ops on it have no reply yet.
    Ops,
}

impl PoolInUse {
    /// Whether it ends by itself.
    pub fn passes(self) -> bool {
        matches!(self, PoolInUse::Cleaning | PoolInUse::Ops)
    }
}

impl fmt::Display for PoolInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolInUse::Last => f.write_str("it is the only one, and images need one"),
            PoolInUse::Images(1) => f.write_str("it holds an image: remove that first"),
            PoolInUse::Images(count) => write!(f, "it holds {count} images: remove them first"),
            PoolInUse::Cleaning => {
                f.write_str("objects of images that are gone are still being removed from it")
            }
            PoolInUse::Ops => f.write_str("ops on it are under way"),
        }
    }
}

impl std::error::Error for PoolInUse {}

impl Cluster {
    /// Whether a pool can be removed.
    ///
    /// # Errors
    /// [`PoolInUse`]
    pub fn may_remove_pool(&self, pool: PoolId) -> Result<(), PoolInUse> {
        if self.map.pools().len() == 1 {
            return Err(PoolInUse::Last);
        }
        if let Some(durable) = &self.durable {
            let images = &durable.images;
            let count = images.list().filter(|image| image.pool == pool).count();
            if count > 0 {
                return Err(PoolInUse::Images(count));
            }
            // The last job of an image that is gone ends only after its removal is kept.
            if images.pools().any(|used| used == pool) {
                return Err(PoolInUse::Cleaning);
            }
        }
        let is_here = |pg: PgId| self.map.pool_of(pg).0 == pool;
        match self.open_ops().iter().any(|issued| is_here(issued.op.pg)) {
            true => Err(PoolInUse::Ops),
            false => Ok(()),
        }
    }

    /// Removes a pool that holds nothing any more. Its number is not used again, nor are those of its placement groups.
    ///
    /// # Errors
    /// [`PoolInUse`]; nothing has changed then.
    pub fn remove_pool(&mut self, pool: PoolId, fx: &mut OwnerEffects) -> Result<(), PoolInUse> {
        self.may_remove_pool(pool)?;
        let pgs = self.map.remove_pool(pool);
        self.map.next_epoch();
        for pg in &pgs {
            self.peering.remove(pg);
            self.seeking.remove(pg);
        }
        for osd in self.up_osds().iter() {
            for pg in &pgs {
                fx.direct(osd, Directive::Deactivate(*pg));
            }
        }
        self.save_map(fx);
        let change = self.last_change();
        match &mut self.durable {
            Some(durable) => {
                durable.syncs.forget_pool(pool);
                durable.removed_pgs.extend(pgs.into_iter().map(|pg| (pg, change)));
            }
            // No map could bring the pool back.
            None => self.retire(&pgs, fx),
        }
        Ok(())
    }

    /// Deletes the copies of placement groups whose removal is kept now: a crash must not bring back a pool of which some copies
    /// are gone.
    pub(crate) fn retire_removed(&mut self, fx: &mut OwnerEffects) {
        let removed = self.durable().take_kept_removals();
        self.retire(&removed, fx);
    }

    fn retire(&self, removed: &[PgId], fx: &mut OwnerEffects) {
        for osd in self.up_osds().iter() {
            for pg in removed {
                fx.direct(osd, Directive::Retire(*pg));
            }
        }
    }

    /// Deletes what an OSD that was away still has of placement groups that are none any more, when it takes part; before this
    /// owner has written the map that it started with, a later start may find another.
    pub(crate) fn retire_orphans(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        if !self.is_serving() || !self.map.osds()[osd].up {
            return;
        }
        let Some(Ok(opened)) = self.durable().disks.found.remove(&osd) else { return };
        let removed = &self.durable().removed_pgs;
        let gone: Vec<PgId> = opened
            .copies
            .into_iter()
            .map(|(pg, _)| pg)
            .filter(|pg| !removed.contains_key(pg))
            .collect();
        for pg in gone.into_iter().filter(|pg| !self.map.has_pg(*pg)) {
            fx.direct(osd, Directive::Retire(pg));
        }
    }
}
