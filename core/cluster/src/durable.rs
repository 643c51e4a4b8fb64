//! What a cluster with disks keeps beside its map: what is known of each disk, how far the map is on them, and who waits until all is
//! durable.

use crate::healing::Healing;
use crate::images::{Images, KeptImages};
use crate::loss::Loss;
use crate::map_change::MapChange;
use crate::quorum::{MapCommit, Summary, Term};
use crate::settings::Scope;
use crate::stores::Stores;
use crate::syncs::Syncs;
use loadline_base::Bytes;
use loadline_osd::{DiskFault, Opened, OsdId, OsdSet, PgId};
use loadline_store::paged::LogMode;
use std::collections::BTreeMap;

/// How far the changes of the map have come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes {
    pub made: MapChange,
    /// The newest map that was begun tells of these.
    pub written: MapChange,
    /// The newest map that counts does.
    pub kept: MapChange,
}

/// What is known of each OSD's disk.
#[derive(Default)]
pub(crate) struct KnownDisks {
    /// Its size as it was made.
    pub sizes: BTreeMap<OsdId, Bytes>,
    /// The last term that it is known to have durably.
    pub promised: BTreeMap<OsdId, Term>,
    /// The drive that its OSD's capacity was measured on.
    pub measured_on: BTreeMap<OsdId, u64>,
    /// Which store is whose.
    pub stores: Stores,
    /// When each answers what it was asked to write.
    pub log_modes: BTreeMap<OsdId, LogMode>,
    /// What each said when it was opened, as long as something is to be made of it.
    pub found: BTreeMap<OsdId, Result<Opened, DiskFault>>,
    /// Why an OSD is down, if its disk was the reason.
    pub faults: BTreeMap<OsdId, DiskFault>,
    /// The change of the map before which such an OSD had gone down, if it was up in this life.
    pub stopped_by: BTreeMap<OsdId, MapChange>,
    /// Those that may be empty when they are opened: an operator has said so.
    pub fillable: OsdSet,
    /// The OSDs that take no part when their disk is open, until their world lets them.
    pub held: OsdSet,
    /// Which disks are mended by themselves.
    pub healing: Healing,
}

/// How far the map is on the disks.
#[derive(Default)]
pub(crate) struct MapSaving {
    /// The way of this owner's maps to the disks; `None` before it knows which map counts.
    pub commit: Option<MapCommit>,
    /// The holders of the map that this owner started with.
    pub start_holders: OsdSet,
    /// The newest map that was begun.
    pub newest: Option<Summary>,
    /// The OSDs that have a map of this owner: only they may be named as its holders.
    pub holding: OsdSet,
    /// Who has been given the newest map in its present life.
    pub given: OsdSet,
    /// The intervals that the newest map tells of.
    pub intervals: Vec<(PgId, u32)>,
    pub changes: Changes,
}

impl MapSaving {
    /// Whether the map has changed since the last one that was begun.
    pub(crate) fn is_changed(&self) -> bool {
        self.changes.made > self.changes.written
    }
}

/// What a cluster with disks keeps beside its map.
#[derive(Default)]
pub(crate) struct Durable {
    /// Tells this cluster's disks from every other one's.
    pub cluster: u128,
    pub disks: KnownDisks,
    pub saving: MapSaving,
    pub syncs: Syncs,
    /// The images.
    pub images: Images,
    /// Those that clients and OSDs may know of.
    pub kept_images: KeptImages,
    /// Settings that an operator stored, as text, by where they hold and the option's name.
    pub settings: BTreeMap<(Scope, String), String>,
    /// Placement groups that were removed by a change that is not kept yet.
    pub removed_pgs: BTreeMap<PgId, MapChange>,
    /// What may be lost with disks that were given up in this life.
    pub loss: Option<Loss>,
}

impl Durable {
    /// The placement groups whose removal a map tells of that counts now.
    pub(crate) fn take_kept_removals(&mut self) -> Vec<PgId> {
        let kept = self.saving.changes.kept;
        self.removed_pgs.extract_if(.., |_, change| *change <= kept).map(|(pg, _)| pg).collect()
    }

    /// The map that counts is known: from here on this owner writes its own.
    pub(crate) fn begin(&mut self, commit: MapCommit, start_holders: OsdSet) {
        (self.saving.commit, self.saving.start_holders) = (Some(commit), start_holders);
    }

    /// An OSD gets another disk, which holds no map yet.
    pub(crate) fn forget_disk(&mut self, osd: OsdId) {
        self.saving.holding.remove(osd);
        self.disks.fillable.insert(osd);
    }
}
