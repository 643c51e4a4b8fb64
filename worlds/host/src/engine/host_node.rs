//! The node on this machine: what everybody who serves it stands on. It carries out what the node asks of its disks and of the
//! clock, and may not know who its clients are.

use super::config::EngineConfig;
use super::disk_table::EngineDisks;
use super::health::HealthMeter;
use super::mail::Mail;
use super::rack_disks::RackDisks;
use super::racks::Racks;
use super::settings::NodeSettings;
use crate::Loop;
use crate::machine_load::machine_load;
use loadline_base::{Agenda, Time};
use loadline_cluster::settings::LeftOut;
use loadline_node::Node;
use loadline_osd::{Event, OsdId};

/// What this world has set the clock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A second of the meters is over.
    Second,
    /// Somebody has watched for as long as he wanted.
    Watch,
    /// A step of the stop has had its time.
    Stop,
    /// Guests whose rings had more than was taken in one turn have theirs, and so have commands with steps left.
    Again,
}

/// The node with its disks, its settings and what is counted of it.
pub(super) struct HostNode {
    pub now: Time,
    pub world: Loop<Mail>,
    pub alarms: Agenda<Alarm>,
    pub node: Node,
    /// The disks of the node's own rack.
    pub own: RackDisks,
    /// The other loops.
    pub racks: Racks,
    pub config: EngineConfig,
    pub settings: NodeSettings,
    pub disks: EngineDisks,
    pub health: HealthMeter,
    /// What the log has been told of the terms that are left out.
    pub told: Vec<&'static str>,
}

impl HostNode {
    /// The settings that the cluster keeps, on top of what was given at its making.
    pub(super) fn take_stored_settings(&mut self) {
        let stored = self.node.cluster().stored_settings().iter();
        let stored =
            stored.map(|((scope, option), value)| (*scope, option.as_str(), value.as_str()));
        self.settings.left_out = self.settings.levels.restore(stored);
        for LeftOut { scope, option, value, why } in &self.settings.left_out {
            tracing::warn!(%scope, option, value, "a stored setting is left out: {why}");
        }
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            self.renew_osd(osd);
        }
    }

    /// Starts an OSD's settings anew before it takes part in anything: run-time values are gone, and options that are
    /// read at start are read.
    pub(super) fn renew_osd(&mut self, osd: OsdId) {
        self.settings.levels.start(osd);
        let (policy, options) = (self.settings.policy(osd), self.settings.options(osd));
        self.node.change(self.now, |cluster, fx| cluster.renew_osd(osd, policy, options, fx));
    }

    /// Tells every OSD how busy this machine is. Where that is not known, none ever hears of it.
    pub(super) fn tell_machine_load(&mut self) {
        let Some(load) = machine_load() else { return };
        for osd in self.disks.of.ids() {
            self.node.pass(osd, Event::MachineLoad(load));
        }
    }

    /// Gives every OSD the settings in force, between two events.
    pub(super) fn configure_osds(&mut self) {
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            let (policy, options) = (self.settings.policy(osd), self.settings.options(osd));
            self.node
                .change(self.now, |cluster, fx| cluster.configure_osd(osd, &policy, options, fx));
        }
    }
}
