//! The engine on this machine: a cluster, its disks, its clients' connections, and the loop that carries out what they ask
//! of each other.
//!
//! One thread runs everything. Work that costs only processor time is done at once; whatever waits, waits in the loop.

mod absence;
mod admin;
mod bench;
mod boot;
mod budget;
mod capacity;
mod client;
mod direct_client;
mod disks;
mod doors;
mod effects;
mod exports;
mod heal;
mod health;
mod images;
mod nbd;
mod opening;
mod room;
mod served;
mod settings;
mod stop;
mod terms;

pub use boot::{BootError, DiskSpec, EngineConfig, ImageSpec, write_empty_store};
pub use budget::{MemoryPlan, TooLittleMemory};
pub use direct_client::{
    DirectAnswer, DirectAsk, DirectClient, DirectCounts, DirectEnd, DirectModes, DirectOp, NodeGone,
};
pub use doors::DoorLimits;

use crate::{ConnId, Disconnect, ListenerId, Loop, LoopEvent, Peer};
use client::ClientOps;
use disks::EngineDisks;
use effects::Alarm;
use loadline_base::{Agenda, Time};
use loadline_node::Node;
use nbd::NbdConnections;
use std::collections::BTreeMap;
use stop::Stopping;

/// Mail from other threads.
#[derive(Debug)]
pub enum Mail {
    /// End as SIGTERM does.
    Stop,
    /// The client in this process asks for something.
    Direct(DirectAsk),
    /// A disk that was asked for is open.
    Disk(Box<admin::DiskReady>),
    /// A damaged disk is empty now.
    Emptied(Box<heal::DiskEmptied>),
}

/// What a listener's connections speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Speaks {
    Nbd,
    Admin,
}

/// A running node.
pub struct Engine {
    now: Time,
    world: Loop<Mail>,
    node: Node,
    config: EngineConfig,
    disks: EngineDisks,
    alarms: Agenda<Alarm>,
    listeners: BTreeMap<ListenerId, Speaks>,
    conns: BTreeMap<ConnId, Speaks>,
    clients: ClientOps,
    direct: direct_client::DirectDesk,
    doors: doors::Doors,
    /// What NBD connections hold of the memory.
    held: budget::HeldMemory,
    nbd: NbdConnections,
    admin: admin::AdminConnections,
    health: health::HealthMeter,
    image_work: images::ImageWork,
    bench: bench::Benches,
    settings: settings::NodeSettings,
    told: terms::LoggedRefusals,
    stopping: Stopping,
}

impl Engine {
    /// Runs until it is told to stop, and has stopped.
    pub fn run(&mut self) {
        let mut happenings = Vec::new();
        while self.stopping != Stopping::Done {
            self.turn(&mut happenings);
        }
    }

    /// One round: waits for something to happen, and deals with it and all that follows.
    fn turn(&mut self, happenings: &mut Vec<LoopEvent<Mail>>) {
        let next = self.node.next_timer().min(self.alarms.next());
        self.world.turn((next < Time::MAX).then_some(next), happenings);
        self.now = self.world.now();
        for happening in happenings.drain(..) {
            self.happened(happening);
        }
        self.ring();
        self.settle();
    }

    fn happened(&mut self, happening: LoopEvent<Mail>) {
        match happening {
            LoopEvent::DiskDone { disk, token, outcome, data, error } => {
                self.disk_done(disk, token, outcome, data, error);
            }
            LoopEvent::Accepted { listener, conn, peer } => self.accepted(listener, conn, peer),
            LoopEvent::Received { conn, bytes } => match self.conns.get(&conn) {
                Some(Speaks::Nbd) => self.nbd_received(conn, &bytes),
                Some(Speaks::Admin) => self.admin_received(conn, &bytes),
                None => {}
            },
            LoopEvent::Ended { conn } => match self.conns.get(&conn) {
                Some(Speaks::Nbd) => self.nbd_ended(conn),
                _ => self.world.close_when_sent(conn),
            },
            LoopEvent::Sent { conn, bytes, .. } => match self.conns.get(&conn) {
                Some(Speaks::Nbd) => self.nbd_sent(conn, bytes),
                Some(Speaks::Admin) => self.admin_sent(conn),
                None => {}
            },
            LoopEvent::Closed { conn, reason } => self.closed(conn, reason),
            LoopEvent::Signal(signal) => self.signalled(signal),
            LoopEvent::Mail(Mail::Stop) => self.begin_stop(),
            LoopEvent::Mail(Mail::Direct(ask)) => self.direct_asked(ask),
            LoopEvent::Mail(Mail::Disk(ready)) => self.disk_ready(*ready),
            LoopEvent::Mail(Mail::Emptied(emptied)) => self.disk_emptied(*emptied),
        }
    }

    fn accepted(&mut self, listener: ListenerId, conn: ConnId, peer: Peer) {
        // The last ones may come while the listener is taken away.
        let Some(&speaks) = self.listeners.get(&listener) else { return self.world.close(conn) };
        if !self.let_in(conn, speaks, peer) {
            return;
        }
        self.conns.insert(conn, speaks);
        match speaks {
            Speaks::Nbd => self.nbd_accepted(conn),
            Speaks::Admin => self.admin_accepted(conn),
        }
    }

    fn closed(&mut self, conn: ConnId, reason: Disconnect) {
        if let Disconnect::Broken(number) = reason {
            tracing::debug!(?conn, error = %std::io::Error::from_raw_os_error(number), "connection broke");
        }
        self.has_left(conn);
        match self.conns.remove(&conn) {
            Some(Speaks::Nbd) => self.nbd_closed(conn),
            Some(Speaks::Admin) => self.admin_closed(conn),
            None => {}
        }
    }

    /// Does everything that is due now, until nothing is.
    fn settle(&mut self) {
        loop {
            self.carry_out();
            self.syncs_ended();
            self.bench_settle();
            self.admin_settle();
            self.image_work_settle();
            if !self.node.is_settled() {
                continue;
            }
            // Where an answer made room, a command that was waiting may be read, and carried out.
            self.nbd_flush();
            if self.node.is_settled() {
                break;
            }
        }
        self.direct_settle();
        self.stop_settle();
    }

    fn syncs_ended(&mut self) {
        for number in self.node.cluster_mut().take_synced() {
            self.stop_synced(number);
            self.client_synced(number);
        }
    }
}
