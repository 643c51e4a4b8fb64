//! What a command would cost. Whatever destroys data or ends service is refused, with what it would cost, unless the
//! one who asks says that it is meant.

use crate::admin::api::{AdminRefusal, Command, OsdMove};
use crate::engine::host_node::HostNode;
use loadline_base::Bytes;
use loadline_cluster::RemoveError;
use loadline_node::WrittenBytes;
use loadline_osd::{OsdId, OsdSet, PgId};

/// So many placement groups are named; the rest is counted.
const NAMED_MAX: usize = 16;

impl HostNode {
    /// What is to settle before it is known what a command would cost; that passes by itself.
    pub(super) fn unsettled(&self, command: &Command) -> Option<String> {
        let (Command::OsdMove { osd, step: OsdMove::Down }
        | Command::OsdReplace { osd, .. }
        | Command::OsdRemove { osd }) = command
        else {
            return None;
        };
        self.known_osd(*osd).ok()?;
        let is_settling = self.node.cluster().is_settling_without(OsdSet::one(*osd));
        is_settling.then(|| {
            format!("an earlier change is not settled, so nobody knows what is left without {osd} (--force does not ask)")
        })
    }

    /// Why a command is not carried out before somebody has said that it is meant. What does not exist, or cannot be done
    /// anyway, costs nothing: whoever carries the command out says so.
    pub(super) fn cost(&mut self, command: &Command) -> Option<AdminRefusal> {
        let (error, flag) = match command {
            Command::PoolRemove { pool } => (self.cost_of_pool(pool)?, "--yes"),
            Command::ImageRemove { image } | Command::ImageRemoveOpen { image } => {
                (self.cost_of_image(image)?, "--yes")
            }
            Command::ImageResize { image, to } => {
                (self.cost_of_cut(image, to.size_bytes)?, "--yes")
            }
            Command::SnapshotRemove { image, snapshot } => {
                (self.cost_of_snapshot(image, snapshot)?, "--yes")
            }
            Command::PgMarkUnfoundLost { pg } => (self.cost_of_loss(pg)?, "--yes"),
            Command::OsdMove { osd, step: OsdMove::Down } => (self.cost_of_stop(*osd)?, "--force"),
            Command::OsdReplace { osd, .. } => (self.cost_of_new_disk(*osd)?, "--force"),
            Command::OsdRemove { osd } => (self.cost_of_removal(*osd)?, "--force"),
            _ => return None,
        };
        Some(AdminRefusal::conflict(error).wants(format!("{flag} if that is meant")))
    }

    fn cost_of_snapshot(&self, name: &str, snapshot: &str) -> Option<String> {
        let image = self.node.cluster().images().image(name).ok()?;
        let taken = image.snapshots.iter().find(|taken| taken.name == snapshot)?;
        let clones = self.node.cluster().images().clones(image.id, taken.id);
        clones.is_empty().then(|| {
            format!(
                "snapshot {name}@{snapshot} would be removed, and what only it shows would be gone"
            )
        })
    }

    fn cost_of_pool(&self, name: &str) -> Option<String> {
        let pool = self.pool_of(name).ok()?;
        let may = self.node.cluster().may_remove_pool(pool);
        let can = may.map_or_else(|why| why.passes(), |()| true);
        can.then(|| format!("pool {name} would be removed for good"))
    }

    fn cost_of_image(&mut self, name: &str) -> Option<String> {
        let image = self.node.cluster().images().image(name).ok()?;
        if !image.snapshots.is_empty() {
            return None;
        }
        let (id, size) = (image.id, image.size);
        // What was cut off before may still be there.
        let written = in_words(self.node.written(id, 0), size);
        let size = Bytes::new(size);
        Some(format!("image {name} of {size} would be removed for good, with {written} to it"))
    }

    fn cost_of_cut(&mut self, name: &str, size: u64) -> Option<String> {
        let image = self.node.cluster().images().image(name).ok()?;
        let (id, cut, snapshots) = (image.id, image.size.checked_sub(size)?, &image.snapshots);
        if cut == 0 || size == 0 {
            return None;
        }
        let kept: Vec<&str> = snapshots.iter().map(|taken| taken.name.as_str()).collect();
        let kept = match kept.is_empty() {
            true => String::new(),
            false => format!(" (snapshots keep what they show: {})", kept.join(", ")),
        };
        let written = in_words(self.node.written(id, size), cut);
        let cut = Bytes::new(cut);
        Some(format!("image {name} would lose its last {cut}, with {written}{kept}"))
    }

    fn cost_of_stop(&self, osd: OsdId) -> Option<String> {
        self.known_osd(osd).ok()?;
        let outage = self.node.outage(OsdSet::one(osd));
        let ended = self.named(&outage.become_inactive)?;
        Some(format!("without {osd} nobody would serve {ended}"))
    }

    fn cost_of_new_disk(&mut self, osd: OsdId) -> Option<String> {
        self.known_osd(osd).ok()?;
        let pgs = self.node.cluster_mut().may_hold_last_copy(osd);
        let lost = self.named(&pgs)?;
        Some(format!("the disk that {osd} has may hold the last whole copy of {lost}"))
    }

    fn cost_of_removal(&mut self, osd: OsdId) -> Option<String> {
        self.known_osd(osd).ok()?;
        let error = self.node.cluster().may_remove_osd(osd).err()?;
        if !error.may_be_meant() {
            return None;
        }
        let unclean = self.node.cluster().map().pgs().filter(|(_, state)| !state.clean);
        let unclean: Vec<PgId> = match error {
            RemoveError::NotWhole => self.node.cluster().may_hold_last_copy(osd),
            _ => unclean.map(|(pg, _)| pg).collect(),
        };
        let named = self.named(&unclean).unwrap_or_else(|| "PGs that it serves".to_owned());
        Some(format!("{error}; {osd}'s disk may hold what is missing of {named}"))
    }

    /// `PG 0.1f`, `PGs 0.1, 0.2 and 7 more`; `None` of none.
    fn named(&self, pgs: &[PgId]) -> Option<String> {
        let shown = pgs.iter().take(NAMED_MAX).map(|pg| self.node.cluster().pg_name(*pg));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match pgs.len() {
            0 => None,
            1 => Some(format!("PG {shown}")),
            count if count <= NAMED_MAX => Some(format!("PGs {shown}")),
            count => Some(format!("PGs {shown} and {} more", count - NAMED_MAX)),
        }
    }
}

/// How much of so many bytes was written.
fn in_words(written: WrittenBytes, of: u64) -> String {
    let bytes = Bytes::new(written.bytes.min(of));
    match written.may_be_more {
        false => format!("up to {bytes} written"),
        true => format!("{bytes} that the OSDs which run know of, and maybe more, written"),
    }
}
