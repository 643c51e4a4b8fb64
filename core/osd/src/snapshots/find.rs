//! Where the bytes are that a read of an object gets.

use super::view::SnapshotNo;
use crate::access::{AccessKind, ObjectRange};
use crate::ids::PgId;
use crate::message::{ClientOp, OpKind};
use crate::osd::Osd;
use loadline_store::ObjectNo;

/// What stands at a place in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundState {
    /// This state of this object, as far as it is visible.
    State { object: ObjectNo, label: SnapshotNo, length: u64 },
    /// Nothing: zeros.
    Absent,
    /// That depends on this object, which this copy lacks.
    Unknown(ObjectNo),
}

/// Label and length of a state that is there.
fn own_state(found: FoundState) -> (SnapshotNo, u64) {
    match found {
        FoundState::State { label, length, .. } => (label, length),
        _ => unreachable!("it is there"),
    }
}

impl Osd {
    /// What a read reads, and how. An error names an object that it depends on and that this copy lacks.
    pub(crate) fn source_of(
        &mut self,
        op: &ClientOp,
    ) -> Result<(AccessKind, ObjectRange), ObjectNo> {
        if let OpKind::Changed { since, at } = op.kind {
            return self.source_of_change(op, since, at);
        }
        let read_at = match op.kind {
            OpKind::ReadAt(snapshot) | OpKind::Ranges(snapshot) => snapshot,
            _ => SnapshotNo::HEAD,
        };
        let looks = matches!(op.kind, OpKind::Ranges(_));
        if read_at == SnapshotNo::HEAD && !self.has_past(op.pg, op.object) {
            let touch = if looks { AccessKind::Look } else { AccessKind::Read };
            return Ok((touch, ObjectRange::of(op)));
        }
        let place = ObjectRange::of(op);
        match self.find(op.pg, op.object, read_at) {
            FoundState::Unknown(object) => Err(object),
            FoundState::Absent if looks => {
                Ok((AccessKind::Look, ObjectRange { length: 0, ..place }))
            }
            FoundState::Absent => Ok((AccessKind::Read, ObjectRange { length: 0, ..place })),
            FoundState::State { object, label, length } => {
                let length = length.saturating_sub(place.offset).min(place.length);
                let is_present = object == op.object && label == SnapshotNo::HEAD;
                // A former state, and an ancestor's, may get another label or be made right now; so may the present one
                // while its first bytes are on their way from an ancestor.
                let is_settled =
                    read_at == SnapshotNo::HEAD && is_present && !self.is_begun(object);
                let touch = match (looks, is_settled) {
                    (true, true) => AccessKind::Look,
                    (true, false) => AccessKind::LookInOrder(label),
                    (false, true) => AccessKind::Read,
                    (false, false) => AccessKind::ReadInOrder(label),
                };
                Ok((touch, ObjectRange { object, length, ..place }))
            }
        }
    }

    /// What tells where an object may be other than it was: ranges, or bytes without any, which mean that all of it may be.
    fn source_of_change(
        &mut self,
        op: &ClientOp,
        since: SnapshotNo,
        at: SnapshotNo,
    ) -> Result<(AccessKind, ObjectRange), ObjectNo> {
        use FoundState::{Absent, State, Unknown};
        let place = ObjectRange::of(op);
        let within = |length: u64| length.saturating_sub(place.offset).min(place.length);
        let (touch, object, length) =
            match (self.find(op.pg, op.object, since), self.find(op.pg, op.object, at)) {
                (Unknown(object), _) | (_, Unknown(object)) => return Err(object),
                (Absent, Absent) => (AccessKind::Look, op.object, 0),
                (before, now) if before == now => (AccessKind::Look, op.object, 0),
                // What one of them shows, the other shows as zeros.
                (State { object, label, length }, Absent)
                | (Absent, State { object, label, length }) => {
                    (AccessKind::LookInOrder(label), object, within(length))
                }
                (
                    State { object, label, length },
                    State { object: other, label: now, length: more },
                ) if (object, label) == (other, now) => {
                    (AccessKind::LookInOrder(label), object, within(length.max(more)))
                }
                // Both are the object's own. The store compares by the pages that they share, and is asked of the longer one: what is
                // behind the other's end is compared with zeros.
                (before @ State { object, .. }, now @ State { object: other, .. })
                    if object == other && object == op.object =>
                {
                    let [(label, length), (base, shorter)] = [now, before].map(own_state);
                    let (label, base) =
                        if length < shorter { (base, label) } else { (label, base) };
                    let touch = AccessKind::LookPast { label, base };
                    (touch, object, within(length.max(shorter)))
                }
                // One of them is an ancestor's, of which less may be visible than there is: pages that both share tell nothing.
                (_, State { object, label, length }) => {
                    (AccessKind::ReadInOrder(label), object, within(length).min(1))
                }
            };
        Ok((touch, ObjectRange { object, length, ..place }))
    }

    /// Whether an object may be other than it was at a snapshot, now or at a later one, from byte `offset` on. A copy that lacks it
    /// cannot tell.
    pub fn may_have_changed(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        (since, at): (SnapshotNo, SnapshotNo),
    ) -> bool {
        let states = (self.find(pg, object, since), self.find(pg, object, at));
        states.0 != states.1 || matches!(states.0, FoundState::Unknown(_))
    }

    /// Whether the first update of an object is under way.
    fn is_begun(&self, object: ObjectNo) -> bool {
        self.ops.begins(object)
    }

    /// Whether an object has a past, or may get one with its next update.
    fn has_past(&self, pg: PgId, object: ObjectNo) -> bool {
        let has_view = !self.groups.views().is_empty()
            && self.groups.views().of(object, SnapshotNo::HEAD).is_some();
        has_view || self.pg(pg).is_some_and(|here| here.kept.get(object).is_some())
    }

    /// What a read of an object at a snapshot, or now, sees: its own state, or else the nearest ancestor's.
    pub(crate) fn find(&mut self, pg: PgId, object: ObjectNo, read_at: SnapshotNo) -> FoundState {
        match self.state_at(pg, object, read_at, u64::MAX) {
            FoundState::Absent => self.find_behind(pg, object, read_at),
            found => found,
        }
    }

    /// What stands behind an object that does not exist.
    pub(crate) fn find_behind(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        read_at: SnapshotNo,
    ) -> FoundState {
        let views = self.groups.views().clone();
        let Some(lineage) = views.of(object, read_at) else { return FoundState::Absent };
        for behind in lineage.behind(object) {
            match self.state_at(pg, behind.object, behind.snapshot, behind.length) {
                FoundState::Absent => {}
                found => return found,
            }
        }
        FoundState::Absent
    }

    /// An object's own state, of which at most `visible` bytes can be seen.
    fn state_at(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        read_at: SnapshotNo,
        visible: u64,
    ) -> FoundState {
        let Some(here) = self.pg(pg) else { return FoundState::Absent };
        if here.lacks.contains(&object) || here.unreadable.contains(&object) {
            return FoundState::Unknown(object);
        }
        let history = here.kept.get(object);
        let (former, born) = match history {
            Some(history) if read_at != SnapshotNo::HEAD => {
                let state = history.state_at(read_at).copied();
                (state, state.map_or(history.born, |state| state.born))
            }
            _ => (None, SnapshotNo::HEAD),
        };
        if read_at != SnapshotNo::HEAD && born >= read_at {
            return FoundState::Absent;
        }
        let meta = match former {
            Some(state) => Some(state.meta),
            None => self.store.objects(pg).meta(object),
        };
        let label = former.map_or(SnapshotNo::HEAD, |state| state.label);
        let found = |length: u64| FoundState::State { object, label, length: length.min(visible) };
        meta.map_or(FoundState::Absent, |meta| found(meta.length))
    }

    /// The newest snapshot that must go on showing an object as it is.
    pub(crate) fn newest_of(&self, object: ObjectNo) -> SnapshotNo {
        let lineage = self.groups.views().of(object, SnapshotNo::HEAD);
        lineage.map_or(SnapshotNo::HEAD, |lineage| lineage.newest)
    }

    /// Whether byte `offset` of an object, or one after it, may be other than zero at a snapshot, or now. A copy that
    /// lacks the object cannot tell.
    pub fn may_hold_data(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        read_at: SnapshotNo,
        offset: u32,
    ) -> bool {
        match self.find(pg, object, read_at) {
            FoundState::State { length, .. } => length > u64::from(offset),
            FoundState::Absent => false,
            FoundState::Unknown(_) => true,
        }
    }

    /// Whether a copy of a placement group knows the past of any object, for checkers of what must be gone.
    pub fn keeps_any(&self, pg: PgId) -> bool {
        self.pg(pg).is_some_and(|here| !here.kept.is_empty())
    }

    /// Whether anything is kept of an object, now or for a snapshot. A copy that lacks the object cannot tell.
    pub fn may_hold_any(&mut self, pg: PgId, object: ObjectNo) -> bool {
        let is_there = self.store.objects(pg).meta(object).is_some();
        let here = self.pg(pg);
        is_there || here.is_some_and(|h| h.lacks.contains(&object) || h.kept.get(object).is_some())
    }
}
