//! How a study's store is laid out, whichever machine has it.

use super::study::CheckpointStudy;
use loadline_base::Bytes;
use loadline_store::paged::Format;
use loadline_store::paged::ids::PageSize;

/// Only the clock begins a checkpoint, as in the published runs, unless something runs full.
pub(super) const DIRTY_TRIGGER_PERCENT: u8 = 70;

/// The store's regions at the study's scale, in whole segments and sectors.
pub(super) fn format(study: &CheckpointStudy) -> Format {
    let (work, store) = (&study.work, &study.store);
    let whole = |bytes: Bytes, unit: u64| work.scaled(bytes.get()).next_multiple_of(unit);
    // Sixteen segments, none smaller than the largest that a transaction may need.
    let segment = (work.scaled(store.log.get()) / 16).max(256 << 10).next_multiple_of(4096);
    Format {
        store_id: 1,
        data_bytes: Bytes::new(whole(store.size, 1 << 20)),
        log_device_bytes: None,
        log_bytes: Bytes::new(segment * 16),
        segment_bytes: Bytes::new(segment),
        block_bytes: 4096,
        recovery_bytes: Bytes::new(whole(store.recovery, 4096)),
        page: PageSize::DEFAULT,
    }
}
