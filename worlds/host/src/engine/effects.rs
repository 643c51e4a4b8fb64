//! What the cluster asks of this world.

use super::Engine;
use super::timers::Due;
use loadline_osd::{Effect, Event};

impl Engine {
    /// Carries out what has been asked. Messages and processor time cost nothing here: they are due at once.
    pub(super) fn carry_out(&mut self) {
        let mut effects = std::mem::take(&mut self.effects.world);
        while !effects.is_empty() {
            for effect in effects.drain(..) {
                self.carry_out_one(effect);
            }
            std::mem::swap(&mut effects, &mut self.effects.world);
        }
        self.effects.world = effects;
    }

    fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            Effect::Send(envelope) => {
                self.due.push_back((envelope.to, Event::Message(envelope)));
            }
            Effect::Compute(osd, run) => self.due.push_back((osd, Event::Computed(run))),
            Effect::Io(osd, life, io) => self.disk_request(osd, life, io),
            Effect::Timer(osd, at, timer) => self.timers.set(at, Due::Osd(osd, timer)),
            Effect::Reply(reply) => self.replied(reply),
            Effect::Benched(osd, ended) => self.benched(osd, ended),
            Effect::Trace(_) => {}
            Effect::Device(..) => unreachable!("the OSDs of a host stand on the paged store"),
        }
    }

    pub(super) fn timer_fired(&mut self, due: Due) {
        match due {
            Due::Osd(osd, timer) => self.due.push_back((osd, Event::Timer(timer))),
            Due::Second => self.second_passed(),
            // The upkeep that follows every event looks how far the stop is.
            Due::Stop => {}
        }
    }
}
