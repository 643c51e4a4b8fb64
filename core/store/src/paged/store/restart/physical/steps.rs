//! The steps of the physical part: what is asked of the device, and what comes after what.

use super::{IN_FLIGHT_MAX, PIECE, Physical, PhysicalStage};
use crate::paged::api::StoreDevice;
use crate::paged::image_set::HEADER_BLOCK;
use crate::paged::layout::SUPERBLOCK;
use crate::paged::store::PagedStore;
use crate::paged::store::checkpoint::marker_offsets;
use crate::paged::store::requests::{RequestPurpose, RestartRequest};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::state::RestartPhase;
use crate::paged::tree::Tree;

impl<T: Copy> PagedStore<T> {
    fn physical(&mut self) -> &mut Physical {
        match &mut self.restarting().phase {
            RestartPhase::Physical(physical) => physical,
            _ => unreachable!("the physical part runs"),
        }
    }

    /// Goes on with the physical part. Answers whether the next phase has begun.
    pub(in crate::paged::store) fn advance_physical(&mut self) -> bool {
        loop {
            let went_on = match self.physical().stage {
                PhysicalStage::Images { .. } => self.advance_images(),
                PhysicalStage::Log(_) => self.advance_physical_log(),
                PhysicalStage::Home => self.write_home(true),
                PhysicalStage::Flush | PhysicalStage::MarkerFlush => self.flush_physical(),
                PhysicalStage::Marker => self.write_end_marker(),
                PhysicalStage::Done => {
                    self.restarting().phase = RestartPhase::Map { next: 0, loaded: 0 };
                    return true;
                }
            };
            if !went_on || self.fault.is_some() {
                return false;
            }
        }
    }

    fn physical_failed(&mut self, fault: RestartFault) -> bool {
        self.give_up(fault);
        false
    }

    fn advance_images(&mut self) -> bool {
        self.read_area();
        let whole = match self.physical().read_images() {
            Ok(whole) => whole,
            Err(fault) => return self.physical_failed(fault),
        };
        self.write_home(false);
        let physical = self.physical();
        if !whole {
            // Reading goes on as writes are answered.
            return false;
        }
        let PhysicalStage::Images { first, .. } = physical.stage else {
            unreachable!("the images are read")
        };
        physical.stage = match first {
            true => PhysicalStage::Images { first: false, reader: None, next: 0 },
            false => PhysicalStage::Home,
        };
        physical.arrived.clear();
        true
    }

    /// Asks for the next pieces of the recovery area.
    fn read_area(&mut self) {
        let class = self.options.classes.restart;
        loop {
            let physical = self.physical();
            let end = HEADER_BLOCK as u64
                + physical.begun.images.bytes.next_multiple_of(HEADER_BLOCK as u64);
            let end = end.min(physical.layout.recovery_bytes);
            let waiting =
                physical.in_flight as usize + physical.arrived.len() + physical.home.len();
            let PhysicalStage::Images { next, .. } = &mut physical.stage else { return };
            if *next >= end || waiting >= IN_FLIGHT_MAX as usize {
                return;
            }
            let offset = *next;
            let length = if offset == 0 { HEADER_BLOCK as u64 } else { PIECE.min(end - offset) };
            *next += length;
            physical.in_flight += 1;
            let place = (physical.layout.recovery_offset + offset, length);
            let purpose = RequestPurpose::Restart(RestartRequest::Area(offset));
            self.requests.read(purpose, StoreDevice::Data, place, class);
        }
    }

    fn advance_physical_log(&mut self) -> bool {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        loop {
            let PhysicalStage::Log(stream) = &mut self.physical().stage else { return false };
            let Some((request, offset, length)) = stream.next_read() else { break };
            self.requests.read(RequestPurpose::Restart(request), target, (offset, length), class);
        }
        match self.physical().read_log() {
            Ok(true) => {
                let physical = self.physical();
                physical.collect();
                physical.stage = PhysicalStage::Home;
                true
            }
            Ok(false) => {
                let PhysicalStage::Log(stream) = &mut self.physical().stage else { return false };
                stream.wants_reads()
            }
            Err(fault) => self.physical_failed(fault),
        }
    }

    /// Writes runs home while few requests are in flight. With `all`, goes on when the last is done.
    fn write_home(&mut self, all: bool) -> bool {
        let class = self.options.classes.restart;
        let page = self.superblock.layout.page;
        loop {
            let physical = self.physical();
            if physical.in_flight >= IN_FLIGHT_MAX || (!all && physical.home.len() < 2) {
                return false;
            }
            let Some((first, data)) = physical.home.pop_front() else { break };
            physical.in_flight += 1;
            self.requests.write(
                RequestPurpose::Restart(RestartRequest::Home),
                StoreDevice::Data,
                page.offset(first),
                class,
                data,
            );
        }
        let physical = self.physical();
        if physical.in_flight > 0 {
            return false;
        }
        physical.stage = PhysicalStage::Flush;
        true
    }

    fn flush_physical(&mut self) -> bool {
        let class = self.options.classes.restart;
        let physical = self.physical();
        if physical.in_flight > 0 {
            return false;
        }
        if !std::mem::replace(&mut physical.sent, true) {
            physical.in_flight = 1;
            self.requests.flush(
                RequestPurpose::Restart(RestartRequest::Flush(StoreDevice::Data)),
                StoreDevice::Data,
                class,
            );
            return false;
        }
        physical.sent = false;
        physical.stage = match physical.stage {
            PhysicalStage::Flush => PhysicalStage::Marker,
            _ => PhysicalStage::Done,
        };
        true
    }

    /// The pages are durable: the checkpoint is completed after all.
    fn write_end_marker(&mut self) -> bool {
        let class = self.options.classes.restart;
        let state = self.physical().begun.state;
        let mut marker = self.superblock;
        marker.sequence += 1;
        (marker.completed, marker.begun) = (state, None);
        self.superblock = marker;
        self.space.tree = Tree { root: state.root, height: state.height };
        self.space.pages.set_coming(state.id.next());
        for offset in marker_offsets(&marker) {
            let bytes = marker.encode();
            assert_eq!(bytes.len() as u64, SUPERBLOCK, "a superblock has its size");
            self.requests.write(
                RequestPurpose::Restart(RestartRequest::Marker),
                StoreDevice::Data,
                offset,
                class,
                bytes,
            );
        }
        let physical = self.physical();
        physical.in_flight = 2;
        physical.stage = PhysicalStage::MarkerFlush;
        true
    }
}
