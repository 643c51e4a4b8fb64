//! What an update does to an object's past. The primary decides it; every copy does the same.

use super::find::FoundState;
use super::kept::ObjectHistory;
use super::view::{SnapshotNo, image_of};
use crate::ids::{OsdSet, PgId};
use crate::message::{Before, ClientOp, OpKind};
use crate::osd::Osd;
use crate::pg::Primary;
use loadline_store::ObjectNo;

/// What a primary does with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Carries it out, after this.
    Go(Before),
    /// It changes nothing.
    Needless,
    /// It waits until this object is where it is needed.
    Park(ObjectNo),
}

impl Osd {
    /// Decides about an update that is to be carried out here and by `others`.
    pub(crate) fn decide(&mut self, op: &ClientOp, others: OsdSet) -> Decision {
        let here = self.pg(op.pg).expect("the primary has the placement group");
        let has_past = here.kept.get(op.object).is_some();
        let is_plain = self.groups.views().is_empty() && !has_past;
        // Most ops are such, and nobody looks whether their object exists.
        if is_plain && op.kind == OpKind::Write {
            return Decision::Go(Before::Nothing);
        }
        let exists = self.store.objects(op.pg).meta(op.object).is_some();
        match op.kind {
            OpKind::Zero | OpKind::Remove if is_plain && exists => Decision::Go(Before::Nothing),
            OpKind::Trim(snapshot) => self.decide_trim(op, snapshot),
            OpKind::Purge if exists || has_past => Decision::Go(Before::Nothing),
            OpKind::Write | OpKind::Zero | OpKind::Remove if exists => self.decide_keep(op),
            OpKind::Write | OpKind::Zero => self.decide_first(op, others),
            OpKind::Remove | OpKind::Purge => Decision::Needless,
            OpKind::Read | OpKind::ReadAt(_) | OpKind::Ranges(_) | OpKind::Changed { .. } => {
                Decision::Needless
            }
        }
    }

    /// An update of what exists: the newest snapshot must go on showing it, unless it is kept already, or is younger.
    fn decide_keep(&self, op: &ClientOp) -> Decision {
        let newest = self.newest_of(op.object);
        let here = self.pg(op.pg).expect("the primary has the placement group");
        let (born, label) =
            here.kept.get(op.object).map_or_else(Default::default, |h| (h.born, h.newest()));
        let is_shown = born < newest && label < newest;
        Decision::Go(if is_shown { Before::Keep(newest) } else { Before::Nothing })
    }

    /// The first update of an object, behind which an ancestor's may stand.
    fn decide_first(&mut self, op: &ClientOp, others: OsdSet) -> Decision {
        let born = self.newest_of(op.object);
        let (from, to) = (u64::from(op.offset), u64::from(op.offset) + u64::from(op.length));
        let create = Decision::Go(Before::Create(born));
        let (object, label, length) = match self.find_behind(op.pg, op.object, SnapshotNo::HEAD) {
            FoundState::Unknown(object) => return Decision::Park(object),
            FoundState::Absent if op.kind == OpKind::Zero => return Decision::Needless,
            FoundState::Absent => return create,
            FoundState::State { object, label, length } => (object, label, length),
        };
        if op.kind == OpKind::Zero && length <= from {
            return Decision::Needless;
        }
        if from == 0 && length <= to {
            return create;
        }
        let primary = self.primary(op.pg).expect("it decides");
        if !primary.is_everywhere(object, others) {
            return Decision::Park(object);
        }
        let (image, length) = (image_of(object), length as u32);
        Decision::Go(Before::Copy { born, image, label, length })
    }

    /// What was kept for a removed snapshot goes to the newest live one before it, if that shows it, or goes.
    fn decide_trim(&self, op: &ClientOp, snapshot: SnapshotNo) -> Decision {
        let is_kept = |past: &ObjectHistory| past.labelled(snapshot).is_some();
        let here = self.pg(op.pg).expect("the primary has the placement group");
        let Some(past) = here.kept.get(op.object).filter(|past| is_kept(past)) else {
            return Decision::Needless;
        };
        let keep = self.groups.views().live_before(image_of(op.object), snapshot);
        Decision::Go(match past.shows(snapshot, keep) {
            true => Before::Relabel(snapshot, keep),
            false => Before::Drop(snapshot),
        })
    }

    /// If the snapshot was removed that a state is kept for: the newest live one before it, which the state may show as well.
    pub(crate) fn older_than_removed(
        &self,
        object: ObjectNo,
        label: SnapshotNo,
    ) -> Option<SnapshotNo> {
        let (views, image) = (self.groups.views(), image_of(object));
        let is_removed = label != SnapshotNo::HEAD && views.is_removed(image, label);
        is_removed.then(|| views.live_before(image, label))
    }

    /// Whether a state of an object is here, and shows nothing at this older snapshot.
    pub(crate) fn shows_it_not(
        &self,
        pg: PgId,
        object: ObjectNo,
        label: SnapshotNo,
        older: SnapshotNo,
    ) -> bool {
        let past = self.pg(pg).and_then(|here| here.kept.get(object));
        past.is_some_and(|past| past.labelled(label).is_some() && !past.shows(label, older))
    }
}

impl Primary {
    /// Whether these other copies have an object as this OSD has it.
    fn is_everywhere(&self, object: ObjectNo, others: OsdSet) -> bool {
        let is_under_way = self.recovering.contains_key(&object);
        let is_filled = self.backfill.as_ref().is_none_or(|backfill| {
            backfill.covers(object) || backfill.targets.iter().all(|t| !others.contains(t))
        });
        is_filled && !is_under_way && others.iter().all(|osd| !self.misses(osd, object))
    }

    /// Who has to get an object that an op waits for: whoever misses it by the log, or else whoever is filled and was not
    /// reached yet.
    pub(crate) fn who_needs(&self, this: crate::ids::OsdId, object: ObjectNo) -> OsdSet {
        let missing = self.who_misses(this, object);
        match &self.backfill {
            Some(backfill) if missing.is_empty() && !backfill.covers(object) => backfill.targets,
            _ => missing,
        }
    }
}
