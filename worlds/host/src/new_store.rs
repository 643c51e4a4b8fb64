//! Writing an empty store onto files or block devices.

use loadline_store::paged::{Formatting, Target};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Writes an empty store onto a data device, and a log device if the store has one, stage by stage: what one stage wrote is
/// durable before the next begins, so that a crash leaves what was there, or nothing, or the new store.
///
/// # Errors
/// A device refuses a write or a flush.
pub fn write_new_store(store: &Formatting, data: &File, log: Option<&File>) -> io::Result<()> {
    for stage in store.stages() {
        for (target, offset, bytes) in stage {
            let file = match target {
                Target::Data => data,
                Target::Log => log.expect("a store with a log device is written onto two"),
            };
            file.write_all_at(bytes, *offset)?;
        }
        for file in [Some(data), log].into_iter().flatten() {
            file.sync_all()?;
        }
    }
    Ok(())
}
