//! Full disks: writes to placement groups on an OSD that is nearly full wait until there is room, instead of stopping the
//! OSD when the last page is gone.

use crate::cluster::Cluster;
use loadline_osd::{Effect, OpId, OpKind, OsdId, OsdSet, PgId, Space};
use std::collections::BTreeSet;

/// An OSD is full with less than this share of its pages free, in percent (`mon_osd_full_ratio` 0.95).
const FULL_BELOW: u64 = 5;
/// It is full no longer with at least this share free: it must not change with every page.
const ROOM_FROM: u64 = 6;

/// Which OSDs are full, and the writes that wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fullness {
    full: OsdSet,
    /// By the number of the op, so that they go on in their order.
    held: BTreeSet<(u32, u32)>,
}

impl Cluster {
    /// Looks how full the OSDs are; writes that waited for room go on where there is some. To be called every second or so.
    pub fn check_fullness(&mut self, fx: &mut Vec<Effect>) {
        let before = self.fullness.full;
        self.fullness.full = self.osds.ids().filter(|osd| self.is_full(*osd)).collect();
        if before.iter().all(|osd| self.fullness.full.contains(osd)) {
            return;
        }
        let held = std::mem::take(&mut self.fullness.held);
        for (number, slot) in held {
            let envelope = self.router.op(number, slot).and_then(|id| self.route(id));
            fx.extend(envelope.map(Effect::Send));
        }
    }

    fn is_full(&self, osd: OsdId) -> bool {
        let Some(Space { free, total, .. }) = self.osds[osd].space() else { return false };
        let least = if self.fullness.full.contains(osd) { ROOM_FROM } else { FULL_BELOW };
        free * 100 < total * least
    }

    /// The OSDs that are full.
    pub fn full_osds(&self) -> OsdSet {
        self.fullness.full
    }

    /// How many writes wait for room.
    pub fn held_writes(&self) -> usize {
        self.fullness.held.len()
    }

    /// The message that carries an op to its primary, if somebody serves it now and everybody has room for it. Otherwise it
    /// waits here: for the next interval, or for room.
    pub(crate) fn route(&mut self, id: OpId) -> Option<loadline_osd::Envelope> {
        let op = self.router.issued(id).op;
        if op.kind == OpKind::Write && self.is_without_room(op.pg) {
            self.fullness.held.insert((id.number, id.slot.get()));
            return None;
        }
        self.router.route(&self.map, id)
    }

    fn is_without_room(&self, pg: PgId) -> bool {
        if self.fullness.full.is_empty() {
            return false;
        }
        let state = self.map.pg(pg);
        state.acting.iter().chain(&state.backfill).any(|osd| self.fullness.full.contains(*osd))
    }
}
