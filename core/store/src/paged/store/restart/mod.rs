//! The restart: from whatever a crash left to a store that takes ops.
//!
//! 1. The newest superblock says which checkpoint was completed and whether one had begun. It may be in a volatile cache only, so
//!    it is written again into its own slot and flushed before anything relies on it (`Phase::Confirm`).
//! 2. One that had begun may have left pages half written: [`physical`] makes them whole from where *that* checkpoint put
//!    their images, whatever is configured now, and writes the end marker.
//! 3. The free map is read.
//! 4. [`replay`] reads the log twice: to find its end, and to carry its transactions out again.
//!
//! Every part may be cut short and begun again: nothing is written but pages that the begun checkpoint owes, and markers.

mod fault;
mod physical;
mod replay;
mod state;
mod stream;
mod superblock;

use super::requests::{RequestPurpose, RestartRequest};
use super::{Fault, PagedStore};
use crate::paged::api::{IoDone, StoreDevice};
use crate::paged::contents::{Miss, ReplayLosses};
use crate::paged::ids::{Child, Lsn};
use crate::paged::layout::{LOG_HEADER, SUPERBLOCK, superblock_offsets};
use crate::paged::log::witness;
use crate::paged::page::HEADER;
use crate::paged::tree::TreePages;
pub use fault::{RestartFault, RestartProgress};
use loadline_base::Bytes;
use loadline_device::Outcome;
use physical::Physical;
pub(super) use state::Restart;
use state::RestartPhase;
use std::collections::BTreeSet;

impl<T: Copy> PagedStore<T> {
    pub(super) fn begin_restart(&mut self, data_bytes: Bytes, log_device_bytes: Option<Bytes>) {
        let class = self.options.classes.restart;
        let left = 4 + u32::from(log_device_bytes.is_some());
        for (at, offset) in superblock_offsets(data_bytes.get()).into_iter().enumerate() {
            let purpose = RequestPurpose::Restart(RestartRequest::Superblock(at));
            self.requests.read(purpose, StoreDevice::Data, (offset, SUPERBLOCK), class);
        }
        if log_device_bytes.is_some() {
            let purpose = RequestPurpose::Restart(RestartRequest::LogHeader);
            self.requests.read(purpose, StoreDevice::Log, (0, LOG_HEADER), class);
        }
        self.restart = Some(Box::new(Restart {
            phase: RestartPhase::Superblocks { read: vec![Vec::new(); 4], log_header: None, left },
            data_bytes: data_bytes.get(),
            log_device_bytes: log_device_bytes.map(Bytes::get),
            replayed: (Lsn(0), 0),
            witnessed: Lsn(0),
            in_batch: false,
            pins: Vec::new(),
            ahead: BTreeSet::new(),
            losses: ReplayLosses::default(),
            failed_load: None,
            loads_done: 0,
        }));
    }

    fn restarting(&mut self) -> &mut Restart {
        self.restart.as_mut().expect("a restart runs")
    }

    fn give_up(&mut self, fault: RestartFault) {
        self.stop(Fault::Restart(fault));
    }

    pub(super) fn restart_io_done(&mut self, request: RestartRequest, done: IoDone) {
        let good = done.outcome == Outcome::Done;
        let Some(restart) = &mut self.restart else { return };
        match (&mut restart.phase, request) {
            (RestartPhase::Superblocks { read, left, .. }, RestartRequest::Superblock(at)) => {
                // One that cannot be read counts as damaged: there are others.
                read[at] = if good { done.data } else { Vec::new() };
                *left -= 1;
            }
            (RestartPhase::Superblocks { log_header, left, .. }, RestartRequest::LogHeader) => {
                *log_header = good.then_some(done.data);
                *left -= 1;
            }
            (RestartPhase::Confirm { left, flushing: false }, RestartRequest::Witness) => {
                *left -= 1;
                let says = witness::decode(self.superblock.store_id, &done.data).filter(|_| good);
                restart.witnessed = restart.witnessed.max(says.unwrap_or_default());
            }
            (RestartPhase::Physical(physical), request) => {
                if let Err(fault) = physical.answered(request, done) {
                    self.give_up(fault);
                }
            }
            (RestartPhase::Replay(_), RestartRequest::Flush(device)) if !good => {
                self.stop(Fault::Flush(device));
            }
            (RestartPhase::Replay(replay), request) => {
                let page = self.superblock.layout.page;
                if let Err(fault) = replay.answered(request, done, page) {
                    self.give_up(fault);
                }
            }
            (
                RestartPhase::Confirm { left, flushing: false } | RestartPhase::Marker { left },
                RestartRequest::Marker,
            ) => {
                *left -= 1;
                if !good {
                    self.give_up(RestartFault::Unwritable);
                }
            }
            (
                RestartPhase::Confirm { left, flushing: true } | RestartPhase::Flush { left },
                RestartRequest::Flush(device),
            ) => {
                *left -= 1;
                if !good {
                    self.stop(Fault::Flush(device));
                }
            }
            _ => {}
        }
    }

    /// Takes the restart as far as it goes without another answer.
    pub(super) fn advance_restart(&mut self) {
        while self.fault.is_none() && self.restart.is_some() {
            if !self.restart_step() {
                return;
            }
        }
    }

    /// One phase's turn. Answers whether the next phase has begun.
    fn restart_step(&mut self) -> bool {
        if let Some(fault) = self.restarting().failed_load {
            self.give_up(fault);
            return false;
        }
        match &self.restarting().phase {
            RestartPhase::Superblocks { left: 0, .. } => self.choose_superblock(),
            RestartPhase::Superblocks { .. } => false,
            RestartPhase::Confirm { left: 0, flushing } => match *flushing {
                false => self.flush_confirmed(),
                true => self.begin_repair(),
            },
            RestartPhase::Confirm { .. } => false,
            RestartPhase::Physical(_) => self.advance_physical(),
            RestartPhase::Map { .. } => self.load_map(),
            RestartPhase::Replay(_) => self.advance_replay(),
            RestartPhase::Marker { left: 0 } => self.flush_marker(),
            RestartPhase::Flush { left: 0 } => self.open_for_ops(),
            RestartPhase::Marker { .. } | RestartPhase::Flush { .. } | RestartPhase::Done => false,
        }
    }

    fn flush_confirmed(&mut self) -> bool {
        let class = self.options.classes.restart;
        self.requests.flush(
            RequestPurpose::Restart(RestartRequest::Flush(StoreDevice::Data)),
            StoreDevice::Data,
            class,
        );
        self.restarting().phase = RestartPhase::Confirm { left: 1, flushing: true };
        true
    }

    fn begin_repair(&mut self) -> bool {
        let superblock = self.superblock;
        self.restarting().phase = match superblock.begun {
            Some(begun) => RestartPhase::Physical(Box::new(Physical::new(&superblock, begun))),
            None => RestartPhase::Map { next: 0, loaded: 0 },
        };
        true
    }

    /// Reads the free map; its pages stay in memory.
    fn load_map(&mut self) -> bool {
        let layout = self.superblock.layout;
        let class = self.options.classes.restart;
        let RestartPhase::Map { next, .. } = self.restarting().phase else {
            unreachable!("the map is read")
        };
        let mut next = next;
        while next < layout.map_pages && self.memory.loads() < 16 {
            // No parent names it: whether it is the right writing is asked of all of them together.
            let page = Child::of_any_version(layout.map_first.plus(next));
            let begun = self.begin_load(Miss::Structure(page), class);
            begun.expect("the cache has room for the free map");
            next += 1;
        }
        let restart = self.restarting();
        let loaded = restart.loads_done;
        restart.phase = RestartPhase::Map { next, loaded };
        if loaded < layout.map_pages {
            return false;
        }
        restart.loads_done = 0;
        let found = self.space.pages.take_map();
        if self.superblock.completed.map.is_some_and(|wanted| wanted != found) {
            self.give_up(RestartFault::FreeMap);
            return false;
        }
        for at in 0..layout.map_pages {
            let number = layout.map_first.plus(at);
            let first =
                layout.pages_first.plus(at * crate::paged::layout::bits_per_map_page(layout.page));
            let bits = self.space.pages.page(number).expect("it was loaded")[HEADER..].to_vec();
            self.space.pages.allocator.load(first, &bits);
            self.space.pages.pin(number);
        }
        self.begin_replay();
        true
    }

    /// The replay is over: what it read is made durable. So is the marker: the one that was read may be the remains of a
    /// flush that failed.
    fn flush_restart(&mut self) {
        self.superblock.sequence += 1;
        self.superblock.protection = self.options.protection;
        self.restarting().phase = RestartPhase::Marker { left: 2 };
        self.write_markers();
    }

    fn flush_marker(&mut self) -> bool {
        let class = self.options.classes.restart;
        self.requests.flush(
            RequestPurpose::Restart(RestartRequest::Flush(StoreDevice::Data)),
            StoreDevice::Data,
            class,
        );
        let mut left = 1;
        if self.superblock.layout.log_target == StoreDevice::Log {
            self.requests.flush(
                RequestPurpose::Restart(RestartRequest::Flush(StoreDevice::Log)),
                StoreDevice::Log,
                class,
            );
            left = 2;
        }
        self.restarting().phase = RestartPhase::Flush { left };
        true
    }

    fn open_for_ops(&mut self) -> bool {
        self.restart = None;
        self.ops.note_change();
        self.begin_intervals();
        true
    }

    fn resume_log(&mut self, head: Lsn, chain: u32, prefix: Vec<u8>, last_commit: Lsn) {
        // What is appended from here on is of this format, whatever stood there before.
        self.superblock.seeded_from = self.superblock.seeded_from.min(head);
        let whole = (head, chain, prefix);
        self.log.resume(self.now, &self.options, &self.superblock, whole, last_commit);
    }
}
