//! A ring (virtqueue): requests out of the machine, answers into it.

use crate::memory::{MachineMemory, Segments};
use loadline_wire::vhost::RingAddresses;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use virtio_queue::{Queue, QueueT};

/// Most descriptors of a ring; a power of two, as virtio has it.
const RING_SIZE_MAX: u16 = 1024;

/// A ring that makes no sense; the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokenRing;

/// A request as it stands in a ring: what the device may read, and what it may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RingRequest {
    pub(crate) head: u16,
    pub(crate) readable: Segments,
    pub(crate) writable: Segments,
}

/// One ring with the descriptors by which its two sides wake each other.
#[derive(Debug)]
pub(crate) struct MachineRing {
    queue: Queue,
    enabled: bool,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    /// It has something new for a machine that gave no descriptor to be called by.
    called: bool,
}

impl MachineRing {
    pub(crate) fn new() -> MachineRing {
        let queue = Queue::new(RING_SIZE_MAX).expect("the size is a power of two");
        MachineRing { queue, enabled: false, kick: None, call: None, called: false }
    }

    pub(crate) fn set_size(&mut self, size: u32) -> Result<(), BrokenRing> {
        let size = u16::try_from(size).map_err(|_| BrokenRing)?;
        self.queue.try_set_size(size).map_err(|_| BrokenRing)
    }

    pub(crate) fn set_addresses(
        &mut self,
        memory: &MachineMemory,
        addresses: RingAddresses,
    ) -> Result<(), BrokenRing> {
        let place = |user| memory.guest_address(user).ok_or(BrokenRing);
        let (descriptors, used) = (place(addresses.descriptors)?, place(addresses.used)?);
        let available = place(addresses.available)?;
        let queue = &mut self.queue;
        let set = [
            queue.try_set_desc_table_address(descriptors),
            queue.try_set_used_ring_address(used),
            queue.try_set_avail_ring_address(available),
        ];
        if set.iter().all(Result::is_ok) { Ok(()) } else { Err(BrokenRing) }
    }

    pub(crate) fn set_base(&mut self, next: u32) -> Result<(), BrokenRing> {
        let next = u16::try_from(next).map_err(|_| BrokenRing)?;
        self.queue.set_next_avail(next);
        self.queue.set_next_used(next);
        Ok(())
    }

    /// From now on it runs, once it is enabled.
    pub(crate) fn set_kick(&mut self, kick: Option<OwnedFd>) {
        self.kick = kick;
        self.queue.set_ready(true);
    }

    /// A machine without a descriptor to kick has kicked it.
    pub(crate) fn start(&mut self) {
        self.queue.set_ready(true);
    }

    pub(crate) fn set_call(&mut self, call: Option<OwnedFd>) {
        self.call = call;
    }

    pub(crate) fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// It stands still; with which request it would go on.
    pub(crate) fn stop(&mut self) -> u32 {
        self.queue.set_ready(false);
        (self.kick, self.call, self.called) = (None, None, false);
        u32::from(self.queue.next_avail())
    }

    /// What becomes readable when the machine has put something into it.
    pub(crate) fn kick(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().map(AsFd::as_fd)
    }

    /// Takes the machine's kicks: all of an eventfd, or eight bytes each of a pipe.
    pub(crate) fn take_kicks(&self) -> Result<(), BrokenRing> {
        let Some(kick) = &self.kick else { return Ok(()) };
        match rustix::io::read(kick, &mut [0; 512]) {
            Ok(0) => Err(BrokenRing),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(BrokenRing),
        }
    }

    /// The next request, if there is one.
    pub(crate) fn take(
        &mut self,
        memory: &MachineMemory,
    ) -> Result<Option<RingRequest>, BrokenRing> {
        if !self.enabled || !self.queue.ready() {
            return Ok(None);
        }
        if !self.queue.is_valid(memory.mapped()) {
            return Err(BrokenRing);
        }
        let Some(chain) = self.queue.pop_descriptor_chain(memory.mapped()) else {
            return Ok(None);
        };
        let head = chain.head_index();
        let (mut readable, mut writable) = (Segments::default(), Segments::default());
        for piece in chain {
            let side = if piece.is_write_only() { &mut writable } else { &mut readable };
            side.push(piece.addr(), piece.len());
        }
        Ok(Some(RingRequest { head, readable, writable }))
    }

    /// A request is answered by so many bytes that were written.
    pub(crate) fn answer(
        &mut self,
        memory: &MachineMemory,
        head: u16,
        bytes: u32,
    ) -> Result<(), BrokenRing> {
        self.queue.add_used(memory.mapped(), head, bytes).map_err(|_| BrokenRing)
    }

    /// Wakes the machine, if it wants to be.
    pub(crate) fn call(&mut self, memory: &MachineMemory) -> Result<(), BrokenRing> {
        let wanted = self.queue.needs_notification(memory.mapped()).map_err(|_| BrokenRing)?;
        if !wanted {
            return Ok(());
        }
        let Some(call) = self.call.as_ref() else {
            self.called = true;
            return Ok(());
        };
        match rustix::io::write(call, &1u64.to_ne_bytes()) {
            // A full pipe wakes the machine as well.
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(_) => Err(BrokenRing),
        }
    }
    /// Whether the machine is to be called in band.
    pub(crate) fn is_called(&self) -> bool {
        self.called
    }

    /// Whether it was to be called, which is done from now on.
    pub(crate) fn take_called(&mut self) -> bool {
        std::mem::take(&mut self.called)
    }
}
