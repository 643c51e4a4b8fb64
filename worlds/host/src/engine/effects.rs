//! What the node asks of this world.

use super::Engine;
use loadline_osd::Effect;

/// What this world has set the clock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A second of the meters is over.
    Second,
    /// A step of the stop has had its time.
    Stop,
}

impl Engine {
    /// Lets the node go on, and does what it asks for, until it is at rest. Messages and processor time cost nothing here.
    pub(super) fn carry_out(&mut self) {
        while let Some(effect) = self.node.next(self.now) {
            match effect {
                Effect::Io(osd, life, io) => self.disk_request(osd, life, io),
                Effect::Reply(reply) => self.replied(reply),
                Effect::Benched(osd, ended) => self.benched(osd, ended),
                Effect::Trace(_) => {}
                effect => {
                    unreachable!("not of OSDs on disks in a world without delays: {effect:?}")
                }
            }
        }
    }

    /// Deals with everything whose time has come.
    pub(super) fn ring(&mut self) {
        while self.node.fire(self.now) {}
        while let Some((_, alarm)) = self.alarms.pop_until(self.now) {
            match alarm {
                Alarm::Second => self.second_passed(),
                // The upkeep that follows every event looks how far the stop is.
                Alarm::Stop => {}
            }
        }
    }
}
