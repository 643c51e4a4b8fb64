//! How a node ends: no new work is taken, what is under way ends, everything answered is made durable, and the answers leave.
//! Each step has its time; what is not done by then is left, and the log says so.

use super::Engine;
use super::Stopping;
use super::host_node::{Alarm, HostNode};
use crate::Signal;
use loadline_base::{Span, Time};
use loadline_cluster::{SyncEnd, SyncOf};

/// How long a stop waits for an open op to end, or for durability, before it goes on without. On a machine that is busy with other
/// things many ops take longer than that together, so each that ends gives the others as much again.
const PATIENCE: Span = Span::from_millis(10_000);
/// How long it waits for open ops in all; whoever manages the node has some patience too (90 s is systemd's).
const DRAINING: Span = Span::from_millis(60_000);
/// How long it waits for the newest map to be on every disk, and not only on those that make it count: a start that misses a
/// disk then still knows that it has the last one.
const SPREADING: Span = Span::from_millis(2_000);
/// How long it then waits for clients to take their answers. One that reads needs milliseconds; one that does not is not
/// worth more.
const SENDING: Span = Span::from_millis(5_000);
/// For so long a client must have been silent before its connection ends: a request that meets a closed TCP connection makes
/// the kernel reset it, and answers that are still on their way are lost.
const SILENCE: Span = Span::from_millis(50);

impl HostNode {
    /// Whether the map is where it should be, or has had its time since the stop began.
    fn is_map_spread(&self, begun: Time) -> bool {
        self.node.cluster().is_map_everywhere() || self.now.since(begun) >= SPREADING
    }
}

impl Engine {
    pub(super) fn signalled(&mut self, signal: Signal) {
        tracing::info!(?signal, "asked to stop");
        match self.stopping {
            Stopping::No => self.begin_stop(),
            _ => {
                tracing::warn!("asked again: stopping at once, without waiting for open ops");
                self.stopping = Stopping::Done;
            }
        }
    }

    pub(super) fn begin_stop(&mut self) {
        if self.is_stopping() {
            return;
        }
        let (begun, until, open) =
            (self.host.now, self.host.now + PATIENCE, self.clients.open_commands());
        self.stopping = Stopping::Draining { begun, until, open };
        self.host.alarms.push(until, Alarm::Stop);
        self.host.alarms.push(self.host.now + SPREADING, Alarm::Stop);
        for listener in self.doors.close_faces() {
            self.host.world.stop_listening(listener);
        }
        self.nbd_shut_down();
        self.clients.end_steps();
    }

    /// Whether no new work is taken any more.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping != Stopping::No
    }

    /// A client has sent something that nobody reads any more.
    pub(super) fn heard_while_stopping(&mut self) {
        if let Stopping::Sending { silent_at, .. } = &mut self.stopping {
            *silent_at = self.host.now + SILENCE;
            self.host.alarms.push(*silent_at, Alarm::Stop);
        }
    }

    /// Ops end: those that are open still have their time again.
    fn wait_longer(&mut self) {
        let now_open = self.clients.open_commands();
        if let Stopping::Draining { begun, until, open } = &mut self.stopping
            && now_open < *open
        {
            *open = now_open;
            *until = (self.host.now + PATIENCE).min(*begun + DRAINING);
            self.host.alarms.push(*until, Alarm::Stop);
        }
    }

    /// Takes the next step towards the end, if it is time for one.
    pub(super) fn stop_settle(&mut self) {
        self.wait_longer();
        let stopping = self.stopping;
        match stopping {
            Stopping::Draining { begun, .. }
                if self.is_drained() && self.host.is_map_spread(begun) =>
            {
                let of = SyncOf::Node;
                let number =
                    self.host.node.change(self.host.now, |cluster, fx| cluster.sync(of, fx));
                let until = self.host.now + PATIENCE;
                self.host.alarms.push(until, Alarm::Stop);
                self.stopping = Stopping::Syncing { number, until };
                self.carry_out();
                self.syncs_ended();
            }
            Stopping::Draining { until, .. } | Stopping::Syncing { until, .. }
                if until <= self.host.now =>
            {
                tracing::warn!("some ops did not end in time; the node ends without their replies");
                self.begin_to_send();
            }
            Stopping::Sending { silent_at, .. }
                if silent_at <= self.host.now && self.is_all_sent() =>
            {
                self.stopping = Stopping::Done;
            }
            Stopping::Sending { until, .. } if until <= self.host.now => {
                tracing::warn!("some clients did not take their answers in time");
                self.stopping = Stopping::Done;
            }
            _ => {}
        }
    }

    /// Everything answered is durable if this is the sync that the stop waits for, and it has not failed.
    pub(super) fn stop_synced(&mut self, sync: SyncEnd) {
        let SyncEnd { number, is_durable } = sync;
        if matches!(self.stopping, Stopping::Syncing { number: awaited, .. } if awaited == number) {
            match is_durable {
                true => tracing::info!("everything is durable; the node ends"),
                false => tracing::warn!(
                    "what runs is durable; what an OSD had alone that is down, or whose device failed in a flush, may not be; the node ends"
                ),
            }
            self.begin_to_send();
        }
    }

    fn begin_to_send(&mut self) {
        let is_heard = self.doors.counts().nbd > 0;
        let silent_at = if is_heard { self.host.now + SILENCE } else { self.host.now };
        let until = self.host.now + SENDING;
        self.stopping = Stopping::Sending { until, silent_at };
        self.host.alarms.push(silent_at, Alarm::Stop);
        self.host.alarms.push(until, Alarm::Stop);
    }

    fn is_drained(&self) -> bool {
        self.clients.open_commands() == 0 && self.admin.nothing_waits()
    }

    fn is_all_sent(&self) -> bool {
        self.doors.connections().all(|conn| self.host.world.queued(conn) == 0)
    }
}
