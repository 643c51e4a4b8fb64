//! How a node ends: no new work is taken, what is under way ends, everything answered is made durable, and the answers leave.
//! Each step has its time; what is not done by then is left, and the log says so.

use super::Engine;
use super::Stopping;
use super::host_node::{Alarm, HostNode};
use super::stop_wait::StopWait;
use crate::Signal;
use loadline_base::{Span, Time};
use loadline_cluster::{SyncEnd, SyncOf};

/// How long a stop waits for open ops in all, each of which gives the others their time again; whoever manages the node has some patience
/// too (90 s is systemd's, 5 min are those of the unit that comes with it).
const DRAINING: Span = Span::from_millis(60_000);
/// How long it waits for durability in all. Without a log that is a checkpoint of all that the cache holds; with the time for open ops
/// and for answers it stays below the unit's 5 min.
const SYNCING: Span = Span::from_millis(180_000);
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
            // The end of one terminal is told twice, by the shell and by the kernel, and nobody has lost patience.
            _ if signal == Signal::HangUp => {}
            _ => {
                tracing::warn!("asked again: stopping at once, without waiting for open ops");
                let is_durable =
                    matches!(self.stopping, Stopping::Sending { is_durable: true, .. });
                self.stopping = Stopping::Done { is_durable };
            }
        }
    }

    pub(super) fn begin_stop(&mut self) {
        if self.is_stopping() {
            return;
        }
        let wait = StopWait::new(self.host.now, DRAINING);
        self.stopping = Stopping::Draining { wait, open: self.clients.open_commands() };
        self.host.alarms.push(wait.until, Alarm::Stop);
        self.host.alarms.push(self.host.now + SPREADING, Alarm::Stop);
        for listener in self.doors.close_faces() {
            self.host.world.stop_listening(listener);
        }
        self.nbd_shut_down();
        self.clients.end_steps();
    }

    /// Whether what was asked before may still begin.
    pub(super) fn may_begin_asked(&self) -> bool {
        matches!(self.stopping, Stopping::No | Stopping::Draining { .. })
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

    /// Ops end, or disks carry out what makes them durable: the others have their time again.
    fn wait_longer(&mut self) {
        let wait = match &mut self.stopping {
            Stopping::Draining { wait, open } => {
                let now_open = self.clients.open_commands();
                if now_open >= *open {
                    return;
                }
                *open = now_open;
                wait
            }
            // Every disk of every loop is asked, and so only while it counts: this is looked at each turn.
            Stopping::Syncing { wait, done, .. } => {
                let now_done = self.host.requests_done();
                if now_done <= *done {
                    return;
                }
                *done = now_done;
                wait
            }
            Stopping::No | Stopping::Sending { .. } | Stopping::Done { .. } => return,
        };
        let before = wait.until;
        wait.goes_on(self.host.now);
        if before < wait.until {
            self.host.alarms.push(wait.until, Alarm::Stop);
        }
    }

    /// Whether the reply to an op still goes to its client. What ends when nothing is made durable any more is left without an answer.
    pub(super) fn takes_reply(&mut self) -> bool {
        match &mut self.stopping {
            Stopping::Syncing { again, .. } => {
                *again = true;
                true
            }
            Stopping::Sending { .. } | Stopping::Done { .. } => false,
            Stopping::No | Stopping::Draining { .. } => true,
        }
    }

    /// Makes everything durable that was answered, whatever is open still.
    fn begin_stop_sync(&mut self, wait: StopWait, may_be_lost: bool) {
        let of = SyncOf::Node;
        let number = self.host.node.change(self.host.now, |cluster, fx| cluster.sync(of, fx));
        let done = self.host.requests_done();
        // The next turn carries to the OSDs what this one does not any more.
        self.host.alarms.push(self.host.now, Alarm::Stop);
        self.host.alarms.push(wait.until, Alarm::Stop);
        self.stopping = Stopping::Syncing { number, wait, done, again: false, may_be_lost };
    }

    /// Takes the next step towards the end, if it is time for one.
    pub(super) fn stop_settle(&mut self) {
        self.wait_longer();
        let stopping = self.stopping;
        match stopping {
            Stopping::Draining { wait, .. } => {
                let is_ready = self.is_drained() && self.host.is_map_spread(wait.begun);
                if !is_ready && !wait.is_over(self.host.now) {
                    return;
                }
                if !self.is_drained() {
                    tracing::warn!(
                        "some ops did not end in time; the node ends without their replies"
                    );
                }
                self.begin_stop_sync(StopWait::new(self.host.now, SYNCING), false);
                self.carry_out();
                self.syncs_ended();
            }
            Stopping::Syncing { wait, .. } if wait.is_over(self.host.now) => {
                tracing::error!(
                    "what was answered could not be made durable in time; the node ends without that"
                );
                self.begin_to_send(false);
            }
            Stopping::Sending { silent_at, is_durable, .. }
                if silent_at <= self.host.now && self.is_all_sent() =>
            {
                self.stopping = Stopping::Done { is_durable };
            }
            Stopping::Sending { until, is_durable, .. } if until <= self.host.now => {
                tracing::warn!("some clients did not take their answers in time");
                self.stopping = Stopping::Done { is_durable };
            }
            _ => {}
        }
    }

    /// What could be made durable is, if this is the sync that the stop waits for. Whoever looks at the exit code alone hears if that is not all.
    pub(super) fn stop_synced(&mut self, sync: SyncEnd) {
        let Stopping::Syncing { number: awaited, wait, again, may_be_lost, .. } = self.stopping
        else {
            return;
        };
        let may_be_lost = may_be_lost || !sync.is_durable;
        match (awaited == sync.number, again) {
            (false, _) => {}
            (true, true) => self.begin_stop_sync(wait, may_be_lost),
            (true, false) => {
                match may_be_lost {
                    false => tracing::info!("everything is durable; the node ends"),
                    true => tracing::error!(
                        "what runs is durable; what an OSD had alone that is down, or whose device failed in a flush, may not be; the node ends"
                    ),
                }
                self.begin_to_send(!may_be_lost);
            }
        }
    }

    /// Lets the answers leave, and says at the end whether everything that was answered is durable.
    fn begin_to_send(&mut self, is_durable: bool) {
        let is_heard = self.doors.counts().nbd > 0;
        let silent_at = if is_heard { self.host.now + SILENCE } else { self.host.now };
        let until = self.host.now + SENDING;
        self.stopping = Stopping::Sending { until, silent_at, is_durable };
        self.host.alarms.push(silent_at, Alarm::Stop);
        self.host.alarms.push(until, Alarm::Stop);
    }

    fn is_drained(&self) -> bool {
        self.clients.open_commands() == 0 && self.nbd_holds_none() && self.admin.nothing_waits()
    }

    fn is_all_sent(&self) -> bool {
        self.doors.connections().all(|conn| self.host.world.queued(conn) == 0)
    }
}
