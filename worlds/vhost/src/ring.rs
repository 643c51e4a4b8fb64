//! A ring (virtqueue): requests out of the machine, answers into it.

use crate::inflight::InflightRing;
use crate::memory::{MachineMemory, Segments};
use loadline_wire::vhost::RingAddresses;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, GuestAddress};

/// Most descriptors of a ring; a power of two, as virtio has it.
const RING_SIZE_MAX: u16 = 1024;

/// Bytes of a descriptor: address 64 bits, length 32, flags 16, next 16.
const DESCRIPTOR_BYTES: u64 = 16;

/// A descriptor's flags: another follows; the device writes; it is a table of descriptors.
const NEXT: u16 = 1;
const WRITES: u16 = 2;
const TABLE: u16 = 4;

/// A ring that makes no sense; the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRing;

/// A request as it stands in a ring: what the device may read, and what it may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingRequest {
    /// By which it is answered.
    pub head: u16,
    /// What the device may read.
    pub readable: Segments,
    /// What it may write.
    pub writable: Segments,
    /// Whether its descriptors make sense to the last. Of those that do not, the ones before are there.
    pub is_whole: bool,
}

impl RingRequest {
    /// How many descriptors of what it brings and has room for were looked at.
    pub fn descriptors(&self) -> usize {
        self.readable.pieces() + self.writable.pieces()
    }
}

/// One ring with the descriptors by which its two sides wake each other.
#[derive(Debug)]
pub struct MachineRing {
    queue: Queue,
    enabled: bool,
    kick: Option<Arc<OwnedFd>>,
    call: Option<OwnedFd>,
    /// It has something new for a machine that gave no descriptor to be called by.
    called: bool,
    /// What is under way, where the machine keeps that.
    inflight: Option<InflightRing>,
    /// What was under way when the last session ended, and was not taken again.
    left: VecDeque<u16>,
    /// What was taken and has no answer yet. So there is never more of it than the ring has descriptors.
    under_way: HeadSet,
}

/// A bit for each head that a ring may have.
#[derive(Clone, Copy, Debug, Default)]
struct HeadSet {
    bits: [u64; RING_SIZE_MAX as usize / 64],
}

impl HeadSet {
    /// Whether it was not there yet.
    fn insert(&mut self, head: u16) -> bool {
        let word = &mut self.bits[usize::from(head / 64)];
        let before = *word;
        *word |= 1 << (head % 64);
        *word != before
    }

    fn remove(&mut self, head: u16) {
        self.bits[usize::from(head / 64)] &= !(1 << (head % 64));
    }
}

impl MachineRing {
    pub(crate) fn new() -> MachineRing {
        let queue = Queue::new(RING_SIZE_MAX).expect("the size is a power of two");
        MachineRing {
            queue,
            enabled: false,
            kick: None,
            call: None,
            called: false,
            inflight: None,
            left: VecDeque::new(),
            under_way: HeadSet::default(),
        }
    }

    pub(crate) fn set_size(&mut self, size: u32) -> Result<(), BrokenRing> {
        self.has_to_stand()?;
        let size = u16::try_from(size).map_err(|_| BrokenRing)?;
        self.queue.try_set_size(size).map_err(|_| BrokenRing)
    }

    /// What it is must not change while it runs.
    fn has_to_stand(&self) -> Result<(), BrokenRing> {
        if self.enabled && self.queue.ready() { Err(BrokenRing) } else { Ok(()) }
    }

    /// Whether it has begun, enabled or not.
    pub(crate) fn has_begun(&self) -> bool {
        self.queue.ready()
    }

    /// How many descriptors it has.
    pub fn size(&self) -> u16 {
        self.queue.size()
    }

    pub(crate) fn set_addresses(
        &mut self,
        memory: &MachineMemory,
        addresses: RingAddresses,
    ) -> Result<(), BrokenRing> {
        self.has_to_stand()?;
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
        self.has_to_stand()?;
        let next = u16::try_from(next).map_err(|_| BrokenRing)?;
        self.queue.set_next_avail(next);
        self.queue.set_next_used(next);
        // Whoever sets up a ring anew has not offered what was taken from it before.
        self.under_way = HeadSet::default();
        Ok(())
    }

    /// Whether each side says up to where it wants to hear nothing.
    pub(crate) fn set_event_index(&mut self, is_agreed: bool) {
        self.queue.set_event_idx(is_agreed);
    }

    /// From now on it runs, once it is enabled.
    pub(crate) fn set_kick(&mut self, kick: Option<OwnedFd>) {
        self.kick = kick.map(|kick| Arc::new(never_waits(kick)));
        self.queue.set_ready(true);
    }

    /// It goes on where the last session ended: what was under way then comes first, in the order in which it was taken.
    pub(crate) fn go_on(
        &mut self,
        memory: &MachineMemory,
        mut inflight: InflightRing,
    ) -> Result<(), BrokenRing> {
        let used = self.queue.used_idx(memory.mapped(), Ordering::Acquire);
        let used = used.map_err(|_| BrokenRing)?;
        self.left = inflight.left(used.0).into();
        self.queue.set_next_used(used.0);
        self.queue.set_next_avail(used.0.wrapping_add(self.left.len() as u16));
        self.inflight = Some(inflight);
        self.call_again();
        Ok(())
    }

    /// The last session may have ended between an answer and its call.
    fn call_again(&self) {
        if let Some(call) = self.call.as_ref().filter(|_| self.inflight.is_some()) {
            // Whoever cannot be called now is told so when there is something to call for.
            let _ = rustix::io::write(call, &1u64.to_ne_bytes());
        }
    }

    /// A machine without a descriptor to kick has kicked it.
    pub(crate) fn start(&mut self) {
        self.queue.set_ready(true);
    }

    pub(crate) fn set_call(&mut self, call: Option<OwnedFd>) {
        self.call = call.map(never_waits);
        self.call_again();
    }

    pub(crate) fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// It stands still; with which request it would go on.
    pub(crate) fn stop(&mut self) -> u32 {
        self.queue.set_ready(false);
        (self.kick, self.call, self.called) = (None, None, false);
        self.inflight = None;
        self.left.clear();
        self.under_way = HeadSet::default();
        u32::from(self.queue.next_avail())
    }

    /// What becomes readable when the machine has put something into it.
    pub fn kick(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().map(|kick| kick.as_fd())
    }

    /// The same, for who waits for it elsewhere.
    pub fn shared_kick(&self) -> Option<&Arc<OwnedFd>> {
        self.kick.as_ref()
    }

    /// Takes the machine's kicks: all of an eventfd, or eight bytes each of a pipe.
    pub fn take_kicks(&self) -> Result<(), BrokenRing> {
        let Some(kick) = &self.kick else { return Ok(()) };
        match rustix::io::read(kick, &mut [0; 512]) {
            Ok(0) => Err(BrokenRing),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(BrokenRing),
        }
    }

    /// Whether there is one to take. Whoever looks leaves the ring as it is.
    pub(crate) fn has_requests(&self, memory: &MachineMemory) -> bool {
        let runs = self.enabled && self.queue.ready();
        let index = || self.queue.avail_idx(memory.mapped(), Ordering::Acquire);
        let has_new = || index().is_ok_and(|index| index.0 != self.queue.next_avail());
        runs && (!self.left.is_empty() || has_new())
    }

    /// The next request, if there is one. Where there is none the machine kicks for the next one. One that is under way cannot be
    /// offered again.
    pub fn take(&mut self, memory: &MachineMemory) -> Result<Option<RingRequest>, BrokenRing> {
        if !self.enabled || !self.queue.ready() {
            return Ok(None);
        }
        if !self.queue.is_valid(memory.mapped()) {
            return Err(BrokenRing);
        }
        if let Some(head) = self.left.pop_front() {
            self.under_way.insert(head);
            return Ok(Some(self.request(memory, head)));
        }
        loop {
            if let Some(chain) = self.queue.pop_descriptor_chain(memory.mapped()) {
                let head = chain.head_index();
                if head >= self.queue.size() || !self.under_way.insert(head) {
                    return Err(BrokenRing);
                }
                if let Some(inflight) = &mut self.inflight {
                    inflight.taken(head).map_err(|_| BrokenRing)?;
                }
                return Ok(Some(self.request(memory, head)));
            }
            // One that offers more than it has room for is not read any more, and would stand still for ever.
            let index = self.queue.avail_idx(memory.mapped(), Ordering::Acquire);
            let index = index.map_err(|_| BrokenRing)?;
            if index.0.wrapping_sub(self.queue.next_avail()) > self.queue.size() {
                return Err(BrokenRing);
            }
            if !self.queue.event_idx_enabled() {
                return Ok(None);
            }
            // What came in between would not be kicked for.
            let came = self.queue.enable_notification(memory.mapped()).map_err(|_| BrokenRing)?;
            if !came {
                return Ok(None);
            }
        }
    }

    /// The request that begins with a descriptor. A list that never ends is cut where no ring has more.
    fn request(&self, memory: &MachineMemory, head: u16) -> RingRequest {
        let (readable, writable) = (Segments::default(), Segments::default());
        let mut request = RingRequest { head, readable, writable, is_whole: true };
        let (mut table, mut entries) = (self.queue.desc_table(), u64::from(self.queue.size()));
        let (mut index, mut is_inner) = (u64::from(head), false);
        let mut is_writing = false;
        for _ in 0..RING_SIZE_MAX {
            let Some(found) = descriptor(memory, table, entries, index) else { break };
            let (address, length, flags, next) = found;
            if flags & TABLE != 0 {
                let is_table = length > 0 && u64::from(length).is_multiple_of(DESCRIPTOR_BYTES);
                if is_inner || !is_table || flags & NEXT != 0 {
                    break;
                }
                (table, entries, is_inner) = (address, u64::from(length) / DESCRIPTOR_BYTES, true);
                index = 0;
                continue;
            }
            let writes = flags & WRITES != 0;
            // What the device reads comes first.
            if is_writing && !writes {
                break;
            }
            is_writing = writes;
            let side = if writes { &mut request.writable } else { &mut request.readable };
            side.push(GuestAddress(address), length);
            if flags & NEXT == 0 {
                return request;
            }
            index = u64::from(next);
        }
        request.is_whole = false;
        request
    }

    /// A request is answered by so many bytes that were written. A ring that stands still takes no answers: its memory may be used otherwise.
    pub fn answer(
        &mut self,
        memory: &MachineMemory,
        head: u16,
        bytes: u32,
    ) -> Result<(), BrokenRing> {
        if !self.queue.ready() {
            return Ok(());
        }
        self.under_way.remove(head);
        if let Some(inflight) = &self.inflight {
            inflight.answers(head).map_err(|_| BrokenRing)?;
        }
        self.queue.add_used(memory.mapped(), head, bytes).map_err(|_| BrokenRing)?;
        if let Some(inflight) = &self.inflight {
            inflight.answered(head, self.queue.next_used()).map_err(|_| BrokenRing)?;
        }
        Ok(())
    }

    /// Wakes the machine, if it wants to be. One that stands still wakes nobody.
    pub fn call(&mut self, memory: &MachineMemory) -> Result<(), BrokenRing> {
        if !self.queue.ready() {
            return Ok(());
        }
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
    pub fn is_called(&self) -> bool {
        self.called
    }

    /// Whether it was to be called, which is done from now on.
    pub fn take_called(&mut self) -> bool {
        std::mem::take(&mut self.called)
    }
}

/// Neither side is ever held up by the other's.
fn never_waits(descriptor: OwnedFd) -> OwnedFd {
    if let Ok(flags) = fcntl_getfl(&descriptor) {
        // One that cannot be told so fails when it is used.
        let _ = fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK);
    }
    descriptor
}

/// One descriptor of a table: address, length, flags, next. It is read once.
fn descriptor(
    memory: &MachineMemory,
    table: u64,
    entries: u64,
    index: u64,
) -> Option<(u64, u32, u16, u16)> {
    let place = table.checked_add(index * DESCRIPTOR_BYTES).filter(|_| index < entries)?;
    let mut bytes = [0; DESCRIPTOR_BYTES as usize];
    memory.mapped().read_slice(&mut bytes, GuestAddress(place)).ok()?;
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let length = u32::from_le_bytes(*bytes[8..].first_chunk()?);
    Some((u64::from_le_bytes(*bytes.first_chunk()?), length, half(12), half(14)))
}
