//! Leave to push.
//!
//! From the moment that an object is on its way writes wait for it. So on disks of bytes it is not begun before the disks that it goes to
//! may begin with it: their OSDs are asked, and answer when it is its turn there, at once where nothing is paced.
//! What ops wait for is begun without leave.

use super::admission::Turn;
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::Message;
use crate::osd::Osd;
use crate::pg::{Primary, Reservation};
use loadline_base::Time;

impl Osd {
    /// Queues a placement group's turn, after those were asked to whom its next objects go.
    pub(super) fn take_turn(&mut self, now: Time, turn: Turn, fx: &mut Effects) {
        let Turn { pg, pushes } = turn;
        let targets = match self.is_durable() {
            true => self.primary(pg).map_or(OsdSet::EMPTY, |primary| primary.pushed_to(self.id)),
            false => OsdSet::EMPTY,
        };
        if targets.is_empty() {
            return self.enqueue(now, Item::Recovery(pg, pushes), fx);
        }
        let bytes = self.primary(pg).map_or(0, Primary::push_bytes) * u64::from(pushes);
        self.recovery.turns.ask(turn, targets);
        for target in targets.iter() {
            self.send(target, pg, Message::PushAsked(bytes), fx);
        }
    }

    /// One of those who were asked may begin.
    pub(crate) fn push_allowed(&mut self, now: Time, from: OsdId, pg: PgId, fx: &mut Effects) {
        if let Some(Turn { pg, pushes }) = self.recovery.turns.allowed(pg, from) {
            self.enqueue(now, Item::Recovery(pg, pushes), fx);
        }
    }
}

impl Primary {
    /// To whom the next objects may go. Which object is the next, and whether this OSD gets it first, is known when its turn has come.
    fn pushed_to(&self, this: OsdId) -> OsdSet {
        match &self.reservation {
            Reservation::Held(kind) => self.recovery_targets(*kind, this),
            _ => OsdSet::EMPTY,
        }
    }
}
