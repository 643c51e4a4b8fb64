//! The images of a checkpoint's pages, written to the recovery area.

use super::CheckpointStep;
use crate::paged::api::StoreDevice;
use crate::paged::image::Content;
use crate::paged::image_set::HEADER_BLOCK;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{CheckpointRequest, RequestPurpose};

/// Bytes of one write of images: what is in the device when a commit comes, the commit waits for. With 256 KiB the lowest
/// second under extreme load was a third of the median, with 64 KiB more than half.
const IMAGE_WRITE: usize = 64 << 10;

impl<T: Copy> PagedStore<T> {
    /// Fills writes with images as long as few are in flight.
    pub(super) fn write_images(&mut self) -> bool {
        loop {
            let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
            if job.in_flight >= self.options.checkpoint_writes {
                return false;
            }
            let first = job.next;
            while job.next < job.pages.len() && job.images.bytes.len() < IMAGE_WRITE {
                let number = job.pages[job.next];
                let (bytes, raw) = self.space.pages.as_of_instant(number);
                job.report.data_pages += u64::from(raw);
                let content = Content::of(raw);
                job.encoder.append(
                    number,
                    content,
                    bytes,
                    &mut self.checkpoint.compressor,
                    &mut job.images.bytes,
                );
                job.next += 1;
            }
            let is_last = job.next == job.pages.len();
            let whole = if is_last {
                job.images.bytes.len().next_multiple_of(HEADER_BLOCK)
            } else {
                job.images.bytes.len() / HEADER_BLOCK * HEADER_BLOCK
            };
            job.images.bytes.resize(job.images.bytes.len().max(whole), 0);
            if whole == 0 {
                return self.images_written();
            }
            let rest = job.images.bytes.split_off(whole);
            let data = std::mem::replace(&mut job.images.bytes, rest);
            let offset = self.superblock.layout.recovery_offset + job.images.offset;
            job.images.offset += data.len() as u64;
            job.in_flight += 1;
            let images = (job.next - first) as u64;
            self.metrics.totals.recovery_data_bytes += data.len() as u64;
            let class = self.options.classes.checkpoint;
            let purpose = RequestPurpose::Checkpoint(CheckpointRequest::Images(images));
            self.requests.write(purpose, StoreDevice::Data, offset, class, data);
        }
    }

    /// When all images are on the device, the header follows.
    fn images_written(&mut self) -> bool {
        let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
        if job.in_flight > 0 {
            return false;
        }
        job.report.recovery_data_bytes = job.encoder.sum().bytes;
        let header = job.encoder.header().to_vec();
        job.in_flight = 1;
        let offset = self.superblock.layout.recovery_offset;
        let class = self.options.classes.checkpoint;
        self.requests.write(
            RequestPurpose::Checkpoint(CheckpointRequest::Images(0)),
            StoreDevice::Data,
            offset,
            class,
            header,
        );
        self.enter_step(CheckpointStep::ImagesSync)
    }
}
