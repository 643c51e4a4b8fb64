//! What the node asks of this world.

use super::Engine;
use super::budget::give_back_memory;
use super::health::DoneSoFar;
use super::host_node::{Alarm, HostNode};
use super::mail::{FromRack, RackMail};
use loadline_base::Span;
use loadline_cluster::images::Image;
use loadline_osd::Effect;

impl Engine {
    /// Lets the node go on, and does what it asks for, until it is at rest. Messages cost nothing here. The processor's time is told
    /// with each answer to a client, and the node's clock moves on by it: an op that is answered in the turn in which it came has
    /// taken what that turn took.
    pub(super) fn carry_out(&mut self) {
        while let Some(effect) = self.host.node.next(self.host.now) {
            match effect {
                Effect::Io(osd, life, io) => self.host.disk_request(osd, life, io),
                effect => self.happened_to_clients(effect),
            }
        }
    }

    /// What an OSD, on whichever loop, has for who serves clients.
    fn happened_to_clients(&mut self, effect: Effect) {
        match effect {
            Effect::Reply(mut reply) => {
                self.host.now = self.host.world.now();
                reply.answered = self.host.now;
                self.replied(*reply);
            }
            Effect::Benched(osd, ended) => self.benched(osd, ended),
            Effect::Trace(span) => self.traced(span),
            effect => unreachable!("not of OSDs on disks in a world without delays: {effect:?}"),
        }
    }

    /// Another loop of this node has sent something.
    pub(super) fn rack_mail(&mut self, mail: RackMail) {
        match mail {
            RackMail::Events(events) => {
                for (osd, event) in events {
                    self.host.node.happened(osd, event);
                }
            }
            RackMail::From(from) => {
                let FromRack { told, effects, troubles, rested } = *from;
                told.into_iter().for_each(|told| self.host.node.heard(self.host.now, told));
                effects.into_iter().for_each(|effect| self.happened_to_clients(effect));
                for (osd, outcome, error) in troubles {
                    self.host.told_trouble(osd, outcome, error);
                }
                rested.into_iter().for_each(|osd| self.host.go_on_opening(osd));
            }
            RackMail::Do(_) | RackMail::End => unreachable!("this loop tells others so"),
        }
    }

    /// Deals with everything whose time has come.
    pub(super) fn ring(&mut self) {
        while self.host.node.fire(self.host.now) {}
        while let Some((_, alarm)) = self.host.alarms.pop_until(self.host.now) {
            match alarm {
                Alarm::Second => self.second_passed(),
                Alarm::Again => self.vhost_again(),
                // The upkeep that follows every event looks how far these are.
                Alarm::Stop | Alarm::Watch => {}
            }
        }
    }

    /// What is due once a second.
    fn second_passed(&mut self) {
        self.host.second_passed();
        let admin = &self.admin;
        self.host.mend_disks(|osd| admin.is_joining(osd));
        self.tell_second();
        self.end_idle();
        self.end_gone();
        self.end_given_up();
        self.end_waiting_jobs();
        self.vhost_tell_sizes();
        self.doors.tell_more(self.host.now);
        give_back_memory();
    }
}

impl HostNode {
    /// What is due once a second, whoever is served.
    fn second_passed(&mut self) {
        self.tell_capacities();
        let (received, over_limit) = (self.node.received(), self.over_limit());
        let (trimmed, deleted) = (self.node.trimmed(), self.node.deleted());
        self.health.second_passed(self.now, DoneSoFar { received, over_limit, trimmed, deleted });
        let end = self.second_end();
        let images: Vec<&Image> = self.node.cluster().images().list().collect();
        self.health.note_second(self.now, end, &images);
        self.health.note_left_to_recover(self.now, self.node.left_to_recover());
        self.node.change(self.now, |cluster, fx| cluster.check_fullness(fx));
        self.tell_machine_load();
        self.note_changes();
        self.use_who_is_back();
        self.take_out_the_absent();
        self.tell_terms();
        self.tell_room();
        self.set_blocks_aside();
        self.alarms.push(self.now + Span::from_millis(1000), Alarm::Second);
    }
}
