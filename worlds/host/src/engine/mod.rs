//! The engine on this machine: a cluster, its disks, its clients' connections, and the loop that carries out what they ask
//! of each other.
//!
//! One thread runs everything. Work that costs only processor time is done at once; whatever waits, waits in the loop.

mod absence;
mod access;
mod admin;
mod bench;
mod benches;
mod boot;
mod budget;
mod capacity;
mod client;
mod client_ops;
mod client_times;
mod config;
mod connections;
mod direct;
mod direct_client;
mod disk_table;
mod disks;
mod doors;
mod effects;
mod exports;
mod former_disks;
mod heal;
mod health;
mod host_node;
mod image_ops;
mod image_work;
mod images;
mod inside;
mod live;
mod loop_ways;
mod mail;
mod nbd;
mod op_trace;
mod opening;
mod rack_disks;
mod rack_loop;
mod racks;
mod range_work;
mod room;
mod settings;
mod shared_memory;
mod shared_rack;
mod sharing;
mod stop;
mod stop_wait;
mod terms;
mod vhost;
mod watches;

pub use access::{ClientImages, ImagePattern, NbdAccess};
pub use boot::BootError;
pub use budget::{MemoryPlan, TooLittleMemory};
pub use config::{DiskSpec, EngineConfig, ImageSpec, NbdSpec, PageSpec, VhostSpec};
pub use direct_client::{
    DirectAnswer, DirectAsk, DirectClient, DirectCounts, DirectEnd, DirectImage, DirectModes,
    DirectOp, DirectServices, NodeGone,
};
pub use doors::DoorLimits;
pub use former_disks::FormerDisks;
pub use mail::Mail;
pub use stop_wait::NotDurable;

use crate::LoopEvent;
use admin::AdminConnections;
use benches::Benches;
use client_ops::ClientOps;
use direct_client::DirectDesk;
use doors::{Doors, Speaks};
use host_node::{Alarm, HostNode};
use image_work::ImageWork;
use loadline_base::Time;
use nbd::NbdConnections;
use shared_memory::SharedMemory;
use stop_wait::StopWait;
use vhost::VhostFaces;
use watches::Watches;

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    No,
    /// No new work; open ops may still end.
    Draining {
        wait: StopWait,
        /// How many ops were open when one ended last.
        open: usize,
    },
    /// Everything answered is being made durable.
    Syncing {
        number: u32,
        wait: StopWait,
        /// How many requests the disks had carried out when that was looked at last.
        done: u64,
        /// An op has ended meanwhile, which this sync may not cover.
        again: bool,
        /// An earlier one has found what may be lost.
        may_be_lost: bool,
    },
    /// Clients take their last answers, and fall silent.
    Sending {
        until: Time,
        silent_at: Time,
        /// Whether all is durable that was answered.
        is_durable: bool,
    },
    Done {
        is_durable: bool,
    },
}

/// A running node and those that it serves.
pub struct Engine {
    host: HostNode,
    doors: Doors,
    memory: SharedMemory,
    nbd: NbdConnections,
    vhost: VhostFaces,
    admin: AdminConnections,
    direct: DirectDesk,
    clients: ClientOps,
    image_work: ImageWork,
    bench: Benches,
    watches: Watches,
    stopping: Stopping,
}

impl Engine {
    /// Runs until it is told to stop, and has stopped.
    ///
    /// # Errors
    /// It has ended before everything that was answered was durable.
    pub fn run(&mut self) -> Result<(), NotDurable> {
        let mut happenings = Vec::new();
        loop {
            if let Stopping::Done { is_durable } = self.stopping {
                self.host.config.page.iter().for_each(PageSpec::remove_token);
                return if is_durable { Ok(()) } else { Err(NotDurable) };
            }
            self.turn(&mut happenings);
        }
    }

    /// One round: waits for something to happen, and deals with it and all that follows.
    fn turn(&mut self, happenings: &mut Vec<LoopEvent<Mail>>) {
        let next = self.host.node.next_timer().min(self.host.alarms.next());
        self.host.world.turn((next < Time::MAX).then_some(next), happenings);
        self.host.now = self.host.world.now();
        self.vhost.begin_turn();
        self.clients.begin_turn();
        for happening in happenings.drain(..) {
            self.happened(happening);
        }
        self.ring();
        self.settle();
    }

    fn happened(&mut self, happening: LoopEvent<Mail>) {
        match happening {
            LoopEvent::DiskDone { token, outcome, data, error, .. } => {
                self.host.disk_done(token, outcome, data, error);
            }
            LoopEvent::Accepted { listener, conn, peer } => self.accepted(listener, conn, peer),
            LoopEvent::Received { conn, bytes } => match self.doors.speaks(conn) {
                Some(Speaks::Nbd) => self.nbd_received(conn, &bytes),
                Some(Speaks::Admin | Speaks::Page) => self.admin_received(conn, &bytes),
                Some(Speaks::Vhost) | None => {}
            },
            LoopEvent::Closes { conn } => self.nbd_closes(conn),
            LoopEvent::Ended { conn } => match self.doors.speaks(conn) {
                Some(Speaks::Nbd) => self.nbd_ended(conn),
                _ => self.host.world.close_when_sent(conn),
            },
            LoopEvent::Sent { conn, bytes, .. } => match self.doors.speaks(conn) {
                Some(Speaks::Nbd) => self.nbd_sent(conn, bytes),
                Some(Speaks::Admin | Speaks::Page) => self.admin_sent(conn, bytes),
                Some(Speaks::Vhost) | None => {}
            },
            LoopEvent::Closed { conn, reason } => self.closed(conn, reason),
            LoopEvent::Readable(id) => self.vhost_readable(id),
            LoopEvent::Signal(signal) => self.signalled(signal),
            LoopEvent::Mail(Mail::Stop) => self.begin_stop(),
            LoopEvent::Mail(Mail::Direct(ask)) => self.direct_asked(ask),
            LoopEvent::Mail(Mail::Disk(ready)) => self.disk_ready(*ready),
            LoopEvent::Mail(Mail::Opened(opened)) => self.host.disk_opened(*opened),
            LoopEvent::Mail(Mail::Emptied(emptied)) => self.host.disk_emptied(*emptied),
            LoopEvent::Mail(Mail::Rack(mail)) => self.rack_mail(mail),
        }
    }

    /// Does everything that is due now, until nothing is.
    fn settle(&mut self) {
        loop {
            self.take_steps();
            self.carry_out();
            self.end_displaced();
            self.go_on_behind_others();
            self.syncs_ended();
            self.bench_settle();
            self.end_watches();
            self.admin_settle();
            self.image_work_settle();
            if !self.host.node.is_settled() {
                continue;
            }
            // Where an answer made room, a command that was waiting may be read, and carried out.
            if !self.is_stopping() {
                self.give_memory();
            }
            self.nbd_flush();
            self.vhost_flush();
            let is_given = !self.is_stopping() && self.memory.has_some_to_give();
            let is_free = self.clients.has_freed();
            if self.host.node.is_settled() && !self.clients.may_step() && !is_given && !is_free {
                break;
            }
        }
        if self.clients.has_steps() {
            self.host.alarms.push(self.host.now, Alarm::Again);
        }
        self.host.racks.ways().send_events(self.host.node.leaving());
        self.direct.settle(self.host.node.cluster());
        self.stop_settle();
    }

    fn syncs_ended(&mut self) {
        for sync in self.host.node.cluster_mut().take_synced() {
            self.stop_synced(sync);
            self.client_synced(sync);
        }
    }
}
