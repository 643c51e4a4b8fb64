//! A simulated disk with contents, for stores that must survive what real disks do.
//!
//! # Fault model
//!
//! **A sector is atomic.** It has 512 or 4096 bytes and holds one write or another, never parts of two. Whatever is
//! longer than a sector may tear at every sector boundary, a page of 4 KiB on sectors of 512 bytes included.
//!
//! **Requests overtake each other.** A write changes the contents when it is answered, a read sees them as they
//! are when it is answered. Requests that are due at the same instant are answered in a random order, so of two
//! writes in flight over the same place either may win.
//!
//! **The write cache forgets.** With a write cache, a write that was answered is visible at once but may be
//! lost when the power goes, until a flush covers it. Without one, it is durable when it is answered.
//!
//! **What a flush promises.** When it is answered with `Done`, every write and discard that was answered before the
//! flush was *submitted* is durable. It promises nothing about those answered later, and waits for none in flight.
//!
//! **What a power cut does.** No request answers any more. Each sector, independently of its neighbours, holds one
//! of: its last flushed content, the content of any write to it that no flush has covered, or that of any write
//! to it that was in flight. So a later write may survive an earlier one, and parts of one write may survive.
//! [`CutStyle`] narrows this down where a test wants a particular cut.
//!
//! **What the death of the process does.** The disk stays powered. Answered writes stay visible, and as volatile as
//! before; each request in flight happens wholly or not at all.
//!
//! **A flush that fails** leaves the writes that it would have covered in doubt for good: they can be read,
//! but no later flush makes them durable, even if it succeeds (Linux marks such pages clean). Only writing them
//! again does, or a power cut, which decides.
//!
//! **A write that fails** has changed some of its sectors and not others. **A read that fails** returns nothing; a
//! range that was told to fail is readable again where it has been written since, or when the test says so.
//!
//! **A discarded sector** reads as its old content or as zeros; which of the two is settled when the discard is
//! answered, and stays.
//!
//! **Rot** flips bits at rest, in every copy of a sector that the disk has: cached, flushed and in doubt. It is not
//! reported. **A misdirected write** is answered with `Done` but stands at another place, whose content it destroys.
//! **A lost write** is answered with `Done` and was never done; no flush and no cut brings it.
//!
//! **A slow disk** answers nothing for seconds and then all of it: a drive that tries again and again, a full file system
//! until there is room. **A request that hangs** is not answered while the power is on and the process lives. Either may have
//! happened or not when one of the two ends.
//!
//! **Between two lives** a disk may be copied onto one of another size, or be put back as it was earlier.
//!
//! **Never happens** unless a test asked for it: a flushed write is lost or changed; a read returns another sector than was
//! asked for; a sector holds bytes that nobody wrote; a request is not answered while the power is on; the size changes.
//! And never at all: a request is answered twice.
//!
//! **A request that is ended for its duration limit** is carried out like one that fails, and answered with `OverLimit`:
//! a read returns nothing, a write has changed some of its sectors. Only a share that a test asked for ends so; otherwise
//! priorities and duration limits are accepted and make no difference here.
//!
//! **A write for which there is no room**, on a disk that was told to be full, is carried out like one that fails, and answered
//! with `NoSpace`. Reads, flushes and discards go on.
//!
//! Equal seeds and equal calls give equal answers. A clone is another disk with the same contents, requests in
//! flight and future; it costs a pointer per MiB of the disk's size and per block written since the last flush.

mod contents;
mod cut;
mod faults;
mod medium;
mod sim_disk;
mod timing;
mod traffic;

pub use cut::CutStyle;
pub use faults::{FaultCounts, Trouble};
pub use medium::BaseImage;
pub use sim_disk::{SimDisk, Written};
pub(crate) use timing::Station;
pub use timing::{OtherAccesses, Timing};
pub use traffic::Traffic;

use loadline_base::Bytes;
use loadline_device::{Outcome, Request};

/// What a simulated disk is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimDiskSpec {
    /// Its size, a multiple of the sector.
    pub size: Bytes,
    /// What it writes atomically: 512 or 4096 bytes. Requests are whole sectors.
    pub sector: u32,
    /// Whether an answered write is volatile until it is flushed.
    pub write_cache: bool,
    /// How long requests take.
    pub timing: Timing,
}

/// A request that has been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDone {
    /// The number under which it was submitted.
    pub id: u64,
    /// What was asked.
    pub request: Request,
    /// How it ended.
    pub outcome: Outcome,
    /// The bytes of a read that succeeded; otherwise the buffer that was submitted.
    pub data: Vec<u8>,
}
