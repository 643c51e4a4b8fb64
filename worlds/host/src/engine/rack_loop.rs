//! A loop that turns a rack of OSDs with their disks, on a thread of its own. It knows neither clients nor the map: events come by mail, and what
//! follows goes by mail, at most one batch for each other loop and turn.

use super::loop_ways::LoopWays;
use super::mail::{FromRack, Mail, RackMail};
use super::rack_disks::LoopRequest;
use super::shared_rack::{RackOnLoop, SharedRack};
use crate::{Loop, LoopEvent};
use loadline_base::Time;
use loadline_device::Outcome;
use loadline_osd::{Effect, Event, OsdId};
use loadline_store::paged::IoDone;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The loop and its rack.
pub(super) struct RackLoop {
    world: Loop<Mail>,
    shared: Arc<SharedRack>,
    ways: LoopWays,
    /// The OSDs of which was told that they rest.
    resting: BTreeSet<OsdId>,
    ends: bool,
}

impl RackLoop {
    pub(super) fn new(world: Loop<Mail>, shared: Arc<SharedRack>, ways: LoopWays) -> RackLoop {
        RackLoop { world, shared, ways, resting: BTreeSet::new(), ends: false }
    }

    /// Turns until it is told to end.
    pub(super) fn run(&mut self) {
        let (mut happenings, mut next) = (Vec::new(), Time::MAX);
        while !self.ends {
            self.world.turn((next < Time::MAX).then_some(next), &mut happenings);
            let shared = Arc::clone(&self.shared);
            let mut held = shared.hold();
            let mut from = FromRack::default();
            let mut may_rest = false;
            let mut now = self.world.now();
            for happening in happenings.drain(..) {
                may_rest |= self.happened(&mut held, happening, now, &mut from);
            }
            while held.rack.fire(now) {}
            self.carry_out(&mut held, &mut now, &mut from);
            self.ways.send_events(held.rack.leaving());
            if may_rest {
                self.note_rest(&held, &mut from);
            }
            next = held.rack.next_timer();
            held.refused = (self.world.real_time_refused(), self.world.limits_refused());
            // Before the rack is let go: whoever looks into it then is behind what it has told.
            if !from.is_empty() {
                self.ways.send(0, RackMail::From(Box::new(from)));
            }
        }
    }

    /// Takes what has happened. Answers whether an OSD may have come to rest by it.
    fn happened(
        &mut self,
        held: &mut RackOnLoop,
        happening: LoopEvent<Mail>,
        now: Time,
        from: &mut FromRack,
    ) -> bool {
        match happening {
            LoopEvent::DiskDone { token, outcome, data, error, .. } => {
                let LoopRequest { osd, life, id } = held.disks.answered(token, outcome);
                if outcome == Outcome::NoSpace || error.is_some() {
                    from.troubles.push((osd, outcome, error));
                }
                held.rack.happened(osd, Event::IoDone(life, IoDone { id, outcome, data }));
                held.disks.in_flight(osd) == 0 && !held.rack.osd(osd).has_disk()
            }
            LoopEvent::Mail(Mail::Rack(RackMail::Events(events))) => {
                let mut is_told = false;
                for event in events {
                    is_told |= matches!(event.1, Event::Directive(_));
                    held.rack.arrived(now, event);
                }
                is_told
            }
            LoopEvent::Mail(Mail::Rack(RackMail::Do(what))) => {
                what(&mut self.world, &mut held.disks);
                false
            }
            LoopEvent::Mail(Mail::Rack(RackMail::End)) => {
                self.ends = true;
                false
            }
            other => unreachable!("for the owner's loop: {other:?}"),
        }
    }

    fn carry_out(&mut self, held: &mut RackOnLoop, now: &mut Time, from: &mut FromRack) {
        let RackOnLoop { rack, disks, .. } = held;
        while let Some(effect) = rack.next(*now) {
            match effect {
                Effect::Io(osd, life, io) => {
                    if let Some(failed) = disks.submit(&mut self.world, (osd, life), io) {
                        rack.happened(osd, failed);
                    }
                }
                effect => {
                    *now = self.world.now();
                    from.effects.push(effect);
                }
            }
        }
        from.told = std::mem::take(rack.told());
    }

    /// Tells of OSDs that have closed their disks, now that those have answered everything.
    fn note_rest(&mut self, held: &RackOnLoop, from: &mut FromRack) {
        for (osd, it) in held.rack.osds() {
            let rests = !it.has_disk() && held.disks.in_flight(osd) == 0;
            if !rests {
                self.resting.remove(&osd);
            } else if self.resting.insert(osd) {
                from.rested.push(osd);
            }
        }
    }
}
