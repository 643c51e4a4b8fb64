//! The begin and the end marker: superblocks.

use super::CheckpointStep;
use crate::paged::api::StoreDevice;
use crate::paged::layout::{SUPERBLOCK, superblock_offsets};
use crate::paged::options::Protection;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{CheckpointRequest, RequestPurpose};
use crate::paged::superblock::{Begun, ImageSum, Superblock};

impl<T: Copy> PagedStore<T> {
    /// The superblock that the present step writes.
    fn marker(&self) -> Superblock {
        let job = self.checkpoint.job.as_ref().expect("a checkpoint runs");
        let mut next = self.superblock;
        next.sequence += 1;
        next.protection = self.options.protection;
        if job.step < CheckpointStep::Pages {
            let images = match job.report.protection {
                Protection::Checkpoint => job.encoder.sum(),
                Protection::Log => ImageSum::default(),
            };
            next.begun =
                Some(Begun { state: job.state, protection: job.report.protection, images });
        } else {
            (next.completed, next.begun) = (job.state, None);
        }
        next
    }

    pub(super) fn write_marker(&mut self, next: CheckpointStep) -> bool {
        let marker = self.marker();
        self.put_marker(&marker);
        self.superblock = marker;
        self.checkpoint.job.as_mut().expect("a checkpoint runs").in_flight = 2;
        self.enter_step(next)
    }

    /// Writes a superblock into its slot, at both ends of the device.
    fn put_marker(&mut self, marker: &Superblock) {
        let bytes = marker.encode();
        let class = self.options.classes.checkpoint;
        for offset in marker_offsets(marker) {
            self.requests.write(
                RequestPurpose::Checkpoint(CheckpointRequest::Marker),
                StoreDevice::Data,
                offset,
                class,
                bytes.clone(),
            );
        }
    }

    pub(super) fn marked_begin(&mut self) {
        // From here on a crash leads to this checkpoint's state, and pages may be overwritten.
        assert!(self.superblock.begun.is_some(), "the begin marker is durable");
    }
}

/// Where the slot of a superblock stands, at both ends.
pub(in crate::paged::store) fn marker_offsets(marker: &Superblock) -> [u64; 2] {
    let offsets = superblock_offsets(marker.layout.data_bytes);
    let slot = (marker.sequence % 2) as usize;
    assert!(offsets[slot] + SUPERBLOCK <= offsets[slot + 2], "the ends do not overlap");
    [offsets[slot], offsets[slot + 2]]
}
