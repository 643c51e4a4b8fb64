//! A disk of a node that has died, opened without an OSD: to see what is on it, or to change it.

use crate::judge::stores;
use loadline_base::Time;
use loadline_sim::disk::SimDisk;
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::{Answer, Ask, LogMode, Op, OpLane};

/// The store of an OSD whose node is not running.
pub(crate) struct OpenedStore {
    store: SimStore,
    asked: u64,
}

impl OpenedStore {
    pub(crate) fn new(disk: SimDisk) -> OpenedStore {
        let disks = StoreDisks { data: disk, log: None };
        let store = SimStore::open(Time::ZERO, stores(LogMode::Fsync), disks);
        OpenedStore { store, asked: 0 }
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Answer {
        self.asked += 1;
        let class = stores(LogMode::Fsync).classes.log;
        self.store.submit(Op { ask, lane: Some(OpLane(0)), class, token: self.asked });
        while self.store.ended().is_empty() {
            assert!(self.store.step(), "it is answered");
        }
        let ended = self.store.ended_mut().pop().expect("it has ended");
        ended.result.expect("the disk is good")
    }

    /// The disk as it is then, with all that was done.
    pub(crate) fn into_disk(mut self) -> SimDisk {
        self.ask(Ask::Sync);
        self.store.into_disks().data
    }
}
