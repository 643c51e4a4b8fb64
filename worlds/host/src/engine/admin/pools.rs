//! Pools: what there are, one more, one less.

use super::desk::CommandOutcome;
use super::desk::{DONE, Executed};
use crate::admin::api::{AdminAnswer, AdminRefusal, PoolAsked, PoolRow, Pools};
use crate::engine::host_node::HostNode;
use loadline_base::in_short;
use loadline_cluster::images::{ImageError, may_be_named};
use loadline_cluster::{PGS_PER_OSD_MAX, PoolId, PoolInUse, PoolSpec};

impl HostNode {
    pub(super) fn pool_list(&self) -> AdminAnswer {
        let images = self.node.cluster().images();
        let pools = self.node.cluster().map().pools().iter().map(|(id, pool)| PoolRow {
            name: pool.spec.name.clone(),
            pgs: pool.spec.pgs,
            copies: pool.spec.copies,
            images: images.list().filter(|image| image.pool == *id).count() as u32,
        });
        AdminAnswer::Pools(Pools { pools: pools.collect() })
    }

    pub(super) fn pool_create(&mut self, asked: PoolAsked) -> Executed {
        self.take_growth()?;
        let PoolAsked { name, pgs, copies } = asked;
        self.check_pool_name(&name)?;
        let map = self.node.cluster().map();
        let osds = map.osds().ids().filter(|osd| !map.is_removed(*osd)).count() as u32;
        let copies = copies.unwrap_or(self.config.copies.min(osds));
        if !(1..=osds).contains(&copies) {
            let (on, wanted) = match osds {
                1 => ("1 OSD".to_owned(), "1".to_owned()),
                osds => (format!("{osds} OSDs"), format!("1 to {osds}")),
            };
            let error = format!("{copies} copies have no place on {on}");
            return Err(AdminRefusal::bad(error).wants(wanted));
        }
        let pgs = pgs.unwrap_or_else(|| crate::engine::boot::pgs_that_suit(osds, copies));
        let (there, most) =
            (self.node.cluster().map().pgs().count() as u32, PGS_PER_OSD_MAX * osds);
        let left = most.saturating_sub(there);
        if !(1..=left).contains(&pgs) {
            let error = format!("{pgs} PGs cannot be made: {there} are there");
            return Err(AdminRefusal::bad(error).wants(format!("1 to {left}")));
        }
        self.take_changes()?;
        let object_bytes = self.config.object_bytes.get();
        let spec = PoolSpec { name, pgs, copies, object_bytes, recovery_priority: 0 };
        self.node.change(self.now, |cluster, fx| cluster.create_pool(spec, fx));
        Ok(CommandOutcome::WhenKept(DONE))
    }

    fn check_pool_name(&self, name: &str) -> Result<(), AdminRefusal> {
        if !may_be_named(name) {
            return Err(AdminRefusal::bad(ImageError::BadName(name.to_owned()).to_string()));
        }
        if names_another(name) {
            let error =
                format!("`{name}` is what an OSD or a PG is called, and no name for a pool");
            return Err(AdminRefusal::bad(error));
        }
        match self.pool_of(name) {
            Ok(_) => Err(AdminRefusal::conflict(format!("pool {name} exists already"))),
            Err(_) => Ok(()),
        }
    }

    /// Removes a pool that holds nothing any more.
    pub(super) fn pool_remove(&mut self, name: &str) -> Executed {
        let pool = self.pool_of(name)?;
        let refused = |why: PoolInUse| AdminRefusal::conflict(format!("pool {name} stays: {why}"));
        match self.node.cluster().may_remove_pool(pool) {
            Err(why) if why.passes() => {
                return Ok(CommandOutcome::Busy(format!("pool {name} stays: {why}")));
            }
            may => may.map_err(refused)?,
        }
        self.take_changes()?;
        self.node.change(self.now, |cluster, fx| cluster.remove_pool(pool, fx)).map_err(refused)?;
        Ok(CommandOutcome::WhenKept(DONE))
    }

    /// The pool of this name.
    pub(super) fn pool_of(&self, name: &str) -> Result<PoolId, AdminRefusal> {
        let pools = self.node.cluster().map().pools();
        let found = pools.iter().find(|(_, pool)| pool.spec.name == name);
        found.map(|(id, _)| *id).ok_or_else(|| {
            let names: Vec<&str> = pools.values().map(|pool| pool.spec.name.as_str()).collect();
            let shown = in_short(name);
            AdminRefusal::not_found(format!("there is no pool `{}`", shown.escape_debug()))
                .wants(names.join(" or "))
        })
    }
}

/// Whether a name has the form of an OSD's (`osd.2`) or of a PG's (`0.1f`): where one of the three may stand, it would not say which.
fn names_another(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    match name.split_once('.') {
        Some(("osd", number)) => is_number(number),
        Some((pool, pg)) => is_number(pool) && is_hex(pg),
        None => false,
    }
}
