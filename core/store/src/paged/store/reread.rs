//! The store's own pages, read again from the device whatever is in memory: a page that is in memory and was not changed since says
//! nothing of what became of it where it lies.
//!
//! Few pages are asked for at a time, and nothing waits for them but whoever asked. What the tree or a checkpoint has made of a page meanwhile is
//! no damage: one that is not what it should be is looked at again, in the end while updates wait, so that nobody changes what it was.
//! A page that is bad then, and in memory, is written again as the very bytes that it was written as: no checkpoint and no log has to know, and a
//! write that is cut short leaves what was there before, a bad page. Updates go on when it is written, and not sooner, so that no checkpoint takes
//! the same page home at the same time. One that is not in memory is lost.

use super::PagedStore;
use super::op::{OpWork, RunningOp};
use super::requests::RequestPurpose;
use super::rereading::{RereadStep, Rereading};
use crate::paged::api::{Answer, IoDone, OwnPages, StoreDevice};
use crate::paged::contents::Miss;
use crate::paged::ids::{Child, PageNo};
use crate::paged::wait::Wait;
use loadline_base::SlotId;

/// Pages that were bad so often are looked at while updates wait.
const LOOKS_BESIDE_UPDATES: u32 = 2;

impl<T: Copy> PagedStore<T> {
    pub(super) fn begin_reread(&mut self, mut running: RunningOp<T>, pages: &OwnPages) {
        let map_pages = self.superblock.layout.map_pages;
        running.work = OpWork::Rereading(Box::new(Rereading::new(pages, map_pages)));
        self.reread_on(running);
    }

    /// Goes on where it was.
    pub(super) fn reread_on(&mut self, mut running: RunningOp<T>) {
        let OpWork::Rereading(mut reading) =
            std::mem::replace(&mut running.work, OpWork::Changes(Vec::new()))
        else {
            unreachable!("it reads again");
        };
        match reading.step {
            RereadStep::Find => {}
            RereadStep::Read if reading.bad.is_empty() => {
                self.let_updates_go(&mut running);
                reading.go_behind();
            }
            RereadStep::Read if running.holds_updates() => {
                return self.mend(running, reading);
            }
            RereadStep::Read => {
                reading.looks += 1;
                reading.bad.clear();
                reading.step = RereadStep::Find;
            }
            RereadStep::Write => {
                self.release_pins(&mut running);
                self.let_updates_go(&mut running);
                reading.go_behind();
            }
        }
        self.read_next(running, reading);
    }

    fn read_next(&mut self, mut running: RunningOp<T>, mut reading: Box<Rereading>) {
        let must_hold = reading.looks >= LOOKS_BESIDE_UPDATES;
        if self.ops.in_part().is_some() || must_hold && !self.hold_updates(&mut running) {
            running.work = OpWork::Rereading(reading);
            return self.park(running, Wait::Turn, false);
        }
        self.space.pages.next_op();
        match reading.find(&self.space) {
            Ok(true) => {}
            Ok(false) => return self.finish(running, Ok(Answer::Reread(reading.found))),
            Err(missing) => {
                running.work = OpWork::Rereading(reading);
                return self.load_for(running, &[Miss::from(missing)]);
            }
        }
        self.release_pins(&mut running);
        let page = self.superblock.layout.page;
        let place =
            |run: &Vec<Child>| (page.offset(run[0].page), (run.len() * page.bytes()) as u64);
        let places: Vec<(u64, u64)> = reading.runs.iter().map(place).collect();
        (reading.step, reading.left) = (RereadStep::Read, places.len());
        let class = running.class;
        running.wait = Wait::Pages;
        running.work = OpWork::Rereading(reading);
        let slot = self.ops.suspend(running);
        for (piece, place) in places.into_iter().enumerate() {
            self.metrics.totals.pages_read += place.1 / page.bytes() as u64;
            let purpose = RequestPurpose::Reread(slot, piece);
            self.requests.read(purpose, StoreDevice::Data, place, class);
        }
    }

    /// Some pages have come.
    pub(super) fn reread_done(&mut self, slot: SlotId, piece: usize, done: IoDone) {
        let size = self.superblock.layout.page.bytes();
        let OpWork::Rereading(reading) = &mut self.ops.suspended(slot).work else {
            unreachable!("it reads again")
        };
        let Rereading { runs, bad, left, .. } = &mut **reading;
        if Self::is_good(done.outcome) {
            let all = runs[piece].iter().zip(done.data.chunks_exact(size));
            let pages = &self.space.pages;
            bad.extend(
                all.filter(|(node, bytes)| !pages.is_as_written(**node, bytes))
                    .map(|(node, _)| *node),
            );
        } else {
            bad.extend_from_slice(&runs[piece]);
        }
        *left -= 1;
        if *left == 0 {
            self.ops.resume(slot);
        }
    }

    /// Pages are bad, and nobody changes them: those that are in memory are written, the others are lost.
    fn mend(&mut self, mut running: RunningOp<T>, mut reading: Box<Rereading>) {
        let mut bad = std::mem::take(&mut reading.bad);
        let pages = &self.space.pages;
        bad.retain(|node| !pages.is_resident(node.page) || pages.is_at_home(node.page));
        self.metrics.totals.pages_damaged += bad.len() as u64;
        let (kept, lost): (Vec<Child>, Vec<Child>) =
            bad.into_iter().partition(|node| self.space.pages.is_resident(node.page));
        lost.into_iter().for_each(|node| reading.lose(node.page));
        if kept.is_empty() {
            self.let_updates_go(&mut running);
            reading.go_behind();
            return self.read_next(running, reading);
        }
        (reading.step, reading.left) = (RereadStep::Write, kept.len());
        for node in &kept {
            self.space.pages.pin(node.page);
            self.memory.pinned += 1;
            running.journey().pins.push(node.page);
        }
        let class = running.class;
        running.wait = Wait::Pages;
        running.work = OpWork::Rereading(reading);
        let slot = self.ops.suspend(running);
        for node in kept {
            let (purpose, data) =
                (RequestPurpose::Rewrite(slot, node.page), self.space.pages.as_written(node));
            let offset = self.superblock.layout.page.offset(node.page);
            self.requests.write(purpose, StoreDevice::Data, offset, class, data);
        }
    }

    /// A page was written again, or could not be.
    pub(super) fn rewrite_done(&mut self, slot: SlotId, page: PageNo, done: &IoDone) {
        let OpWork::Rereading(reading) = &mut self.ops.suspended(slot).work else {
            unreachable!("it writes again")
        };
        match Self::is_good(done.outcome) {
            true => reading.found.rewritten += 1,
            false => reading.lose(page),
        }
        reading.left -= 1;
        if reading.left == 0 {
            self.ops.resume(slot);
        }
    }
}
