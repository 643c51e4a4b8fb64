//! io_uring. The only place with `unsafe`: the kernel is handed addresses here.
//!
//! What makes it sound: a call owns its buffers, a call that the kernel may know of stands in `pending` until the
//! kernel has answered it, and dropping the ring waits for every answer. Buffers are on the heap or in an arena,
//! so moving the call does not move them.

mod entry;
mod memory;

use super::{Call, FinishedCall};
use crate::event_loop::DiskId;
use entry::{Attached, MessageHeader, entry};
use io_uring::opcode::AsyncCancel2;
use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Parameters, cqueue};
use loadline_base::{SlotId, Slots, Span};
pub(crate) use memory::{Arena, ArenaBlock};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// So many disks of a loop have their file and memory registered; more work as well, a little slower.
const REGISTERED_MAX: u32 = 64;
/// The kernel wakes the loop for a quarter of the transfers in flight, at most for so many, if they come within
/// [`GATHER_TIME`]: what follows from them is then handed over at once too, and a virtual disk is notified once for all.
const GATHERED_MAX: usize = 16;
/// How long a first answer waits for company when many transfers are in flight. With few, none waits.
const GATHER_TIME: Span = Span::from_micros(100);
/// So many notes an enter turns into answers at least, if there are as many (`IO_LOCAL_TW_DEFAULT_MAX` of Linux).
const NOTES: usize = 20;
/// The number of the entry that cancels; no slot has it.
const CANCEL: u64 = u64::MAX;

/// An io_uring with the calls that are in it.
pub(crate) struct Ring<P> {
    ring: IoUring,
    pending: Slots<PendingCall<P>>,
    /// Calls that the submission queue had no room for yet, or that wait for the next turn.
    line: VecDeque<SlotId>,
    /// How many calls the kernel has not answered.
    in_kernel: usize,
    /// How many of them move bytes of a disk.
    transfers: usize,
    /// How many wait for a peer to close.
    closes_awaited: usize,
    disks: Vec<Option<Attached>>,
    /// Whether there is a table for files, and one for memory.
    tables: (bool, bool),
}

struct PendingCall<P> {
    purpose: P,
    call: Call,
    message: Option<MessageHeader>,
}

impl<P> Ring<P> {
    /// A ring of `entries`, with the best that this kernel offers.
    pub(crate) fn new(entries: u32) -> io::Result<Ring<P>> {
        let ring = set_up(entries)?;
        let params: &Parameters = ring.params();
        if !params.is_feature_ext_arg() || !params.is_feature_nodrop() {
            let told = "the kernel is older than 5.11";
            return Err(io::Error::new(io::ErrorKind::Unsupported, told));
        }
        let submitter = ring.submitter();
        let files = submitter.register_files_sparse(REGISTERED_MAX).is_ok();
        let memory = submitter.register_buffers_sparse(REGISTERED_MAX).is_ok();
        Ok(Ring {
            ring,
            pending: Slots::new(),
            line: VecDeque::new(),
            in_kernel: 0,
            transfers: 0,
            closes_awaited: 0,
            disks: Vec::new(),
            tables: (files, memory),
        })
    }

    /// Registers a disk's file and memory as far as the system lets us. Answers why the memory is not.
    pub(crate) fn attach(
        &mut self,
        disk: DiskId,
        fd: &Arc<OwnedFd>,
        arena: &Arena,
    ) -> Option<String> {
        let index = disk.get();
        let in_table = index < REGISTERED_MAX;
        let submitter = self.ring.submitter();
        let file = (in_table
            && self.tables.0
            && submitter.register_files_update(index, &[fd.as_raw_fd()]).is_ok())
        .then_some(index);
        let memory = match in_table && self.tables.1 {
            // SAFETY: the range is mapped. It may be unmapped before the ring forgets it: the kernel holds the
            // pages themselves, and calls name addresses of blocks only, which keep the mapping alive.
            true => unsafe { submitter.register_buffers_update(index, &[arena.as_iovec()], None) },
            false => Err(io::Error::other("no room in the ring's table")),
        };
        let attached =
            Attached { fd: fd.clone(), file, memory: memory.is_ok().then_some(index as u16) };
        let place = usize::from(disk);
        if self.disks.len() <= place {
            self.disks.resize_with(place + 1, || None);
        }
        self.disks[place] = Some(attached);
        memory.err().map(|error| reason(&error))
    }

    /// Forgets a disk.
    pub(crate) fn detach(&mut self, disk: DiskId) {
        let attached = self.disks[usize::from(disk)].take().expect("the disk is attached");
        let submitter = self.ring.submitter();
        if let Some(index) = attached.file {
            submitter.register_files_update(index, &[-1]).expect("the place is ours");
        }
        if let Some(index) = attached.memory {
            let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            // SAFETY: an empty range names no memory.
            unsafe { submitter.register_buffers_update(index.into(), &[nothing], None) }
                .expect("the place is ours");
        }
    }

    /// Takes a call, to be handed over in the next [`wait`](Self::wait).
    pub(crate) fn begin(&mut self, purpose: P, call: Call) {
        let message = match &call {
            Call::Send { buffers, skip, .. } if buffers.len() > 1 => {
                Some(MessageHeader::new(buffers, *skip))
            }
            _ => None,
        };
        self.line.push_back(self.pending.acquire(PendingCall { purpose, call, message }));
    }

    /// Hands over what was begun, waits for a first answer up to `limit`, and appends all answers.
    pub(crate) fn wait(&mut self, limit: Option<Span>, out: &mut Vec<FinishedCall<P>>) {
        let before = out.len();
        self.fill();
        while !self.line.is_empty() {
            self.must_enter(Some(Span::ZERO));
            self.reap(out);
            self.fill();
        }
        self.reap(out);
        let nothing = out.len() == before;
        if nothing || !self.ring.submission().is_empty() {
            self.must_enter(if nothing { limit } else { Some(Span::ZERO) });
            self.reap(out);
        }
        self.gather_closes(before, out);
    }

    /// Goes on until every close has been answered that is older than what has been received.
    fn gather_closes(&mut self, before: usize, out: &mut Vec<FinishedCall<P>>) {
        let mut in_vain = 0;
        while in_vain <= self.in_kernel / NOTES
            && self.may_lack_a_close()
            && self.may_overtake(&out[before..])
        {
            let had = out.len();
            self.must_enter(Some(Span::ZERO));
            self.reap(out);
            in_vain = if out.len() > had { 0 } else { in_vain + 1 };
        }
    }

    /// Whether something has happened that the kernel has not told yet. A socket that comes to its end makes a note at once, and only an enter
    /// turns notes into answers, in their order; but what is there when a receive begins is received without a note, so before the
    /// notes that are older. Where none is left, none was older than what has been received. A kernel that leaves no notes has turned them into
    /// answers before it came back.
    ///
    /// The mark may stand with no note behind it: who leaves one may set it after the note has been taken. So enters that bring nothing are counted, and
    /// are enough when they have turned as many notes as there can be.
    fn may_lack_a_close(&mut self) -> bool {
        self.closes_awaited > 0 && self.ring.submission().taskrun()
    }

    /// Whether something has come that a peer's close may have come before. No peer overtakes itself; a bell may be anybody's.
    fn may_overtake(&self, finished: &[FinishedCall<P>]) -> bool {
        finished.iter().any(|finished| match finished.call {
            Call::Receive { .. } => self.closes_awaited > 1,
            Call::Hear { .. } => true,
            _ => false,
        })
    }

    /// Moves calls from the line into the submission queue as long as both last.
    fn fill(&mut self) {
        let mut queue = self.ring.submission();
        while !queue.is_full()
            && let Some(slot) = self.line.pop_front()
        {
            let pending = self.pending.at_mut(slot);
            let entry = entry(&mut pending.call, pending.message.as_ref(), &self.disks);
            // SAFETY: every address in the entry is a buffer of `pending`, which stays there until `reap` has
            // seen the kernel's answer, and so do the descriptors.
            unsafe { queue.push(&entry.user_data(slot.get().into())) }.expect("there is room");
            self.in_kernel += 1;
            self.transfers += usize::from(pending.call.moves_disk_bytes());
            self.closes_awaited += usize::from(pending.call.awaits_close());
        }
    }

    /// Submits, and waits for an answer up to `limit`. Running out of time, a signal, and a kernel that wants its
    /// answers taken first are no errors: the caller takes what is there and comes again.
    ///
    /// Who does not wait has the notes turned into answers all the same as long as a close is awaited: the kernel makes a note first and sets its
    /// mark then, and what is submitted between the two may receive what is younger.
    fn enter(&mut self, limit: Option<Span>) -> io::Result<()> {
        const PASSING: [Errno; 4] = [Errno::TIME, Errno::INTR, Errno::BUSY, Errno::AGAIN];
        let queued = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        let gathered = self.gathered();
        let time = limit.map(timespec);
        let mut args = SubmitArgs::new();
        if let Some(time) = &time {
            args = args.timespec(time);
        }
        if gathered > 1 {
            args = args.min_wait_usec((GATHER_TIME.nanos() / 1000) as u32);
        }
        let entered = match limit {
            // SAFETY: it submits the entries that `fill` has pushed, as `submit` does, and there is no argument.
            Some(Span::ZERO) if self.closes_awaited > 0 => unsafe {
                submitter.enter::<libc::sigset_t>(queued, 0, EnterFlags::GETEVENTS.bits(), None)
            },
            Some(Span::ZERO) => submitter.submit(),
            _ => submitter.submit_with_args(gathered, &args),
        };
        match entered {
            Err(error) if Errno::from_io_error(&error).is_none_or(|e| !PASSING.contains(&e)) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// How many answers to wait for.
    fn gathered(&self) -> usize {
        match self.ring.params().is_feature_min_timeout() {
            true => (self.transfers / 4).clamp(1, GATHERED_MAX),
            false => 1,
        }
    }

    fn must_enter(&mut self, limit: Option<Span>) {
        self.enter(limit).expect("the ring is ours and its entries are well formed");
    }

    /// Takes the answers that are there.
    fn reap(&mut self, out: &mut Vec<FinishedCall<P>>) {
        for answer in self.ring.completion() {
            if answer.user_data() != CANCEL {
                let finished = finish(&mut self.pending, &answer);
                self.in_kernel -= 1;
                self.transfers -= usize::from(finished.call.moves_disk_bytes());
                self.closes_awaited -= usize::from(finished.call.awaits_close());
                out.push(finished);
            }
        }
    }
}

fn timespec(span: Span) -> Timespec {
    let (secs, nanos) = (span.nanos() / 1_000_000_000, span.nanos() % 1_000_000_000);
    Timespec::new().sec(secs).nsec(nanos as u32)
}

/// Takes the answered call out, with what the kernel left in its buffers.
fn finish<P>(pending: &mut Slots<PendingCall<P>>, answer: &cqueue::Entry) -> FinishedCall<P> {
    let slot = SlotId::new(answer.user_data() as u32);
    let PendingCall { purpose, mut call, .. } = pending.release(slot);
    let result = match usize::try_from(answer.result()) {
        Ok(moved) => Ok(moved),
        Err(_) => Err(Errno::from_raw_os_error(-answer.result())),
    };
    match (&mut call, result) {
        (Call::Accept { accepted, .. }, Ok(fd)) => {
            // SAFETY: the kernel has just opened this descriptor for us, and nobody else knows it.
            *accepted = Some(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        }
        (Call::Receive { bytes, .. }, Ok(received)) => {
            assert!(received <= bytes.capacity(), "the kernel keeps to the length it was given");
            // SAFETY: the kernel has filled so many bytes from the start of the allocation.
            unsafe { bytes.set_len(received) };
        }
        _ => {}
    }
    FinishedCall { purpose, call, result }
}

impl<P> Ring<P> {
    /// Cancels what can be cancelled and waits for every answer.
    fn drain(&mut self) -> io::Result<()> {
        let cancel = AsyncCancel2::new(CancelBuilder::any()).build().user_data(CANCEL);
        let mut out = Vec::new();
        // SAFETY: the entry holds no address.
        while unsafe { self.ring.submission().push(&cancel) }.is_err() {
            self.enter(Some(Span::ZERO))?;
            self.reap(&mut out);
        }
        while self.in_kernel > 0 {
            self.enter(None)?;
            self.reap(&mut out);
        }
        Ok(())
    }
}

impl<P> Drop for Ring<P> {
    /// The kernel writes into the buffers of `pending` until it has answered. If it cannot be waited for, they
    /// are left to it.
    fn drop(&mut self) {
        if self.in_kernel > 0 && self.drain().is_err() {
            std::mem::forget(std::mem::take(&mut self.pending));
        }
        // The kernel takes a closed ring apart some time later and would hold the files, with their locks, until
        // then.
        if self.tables.0 {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

/// The ring with completions on our own thread when we ask for them, as Linux 6.1 and later can; else without
/// interrupting us for each; else plain. A kernel answers what it does not know with an invalid argument.
fn set_up(entries: u32) -> io::Result<IoUring> {
    let plain = || {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(entries.saturating_mul(4));
        builder
    };
    let mut deferred = plain();
    deferred.setup_submit_all().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    let mut cooperative = plain();
    cooperative.setup_submit_all().setup_coop_taskrun().setup_taskrun_flag();
    let unknown = |error: &io::Error| Errno::from_io_error(error) == Some(Errno::INVAL);
    match deferred.build(entries) {
        Err(error) if unknown(&error) => {}
        made => return made,
    }
    match cooperative.build(entries) {
        Err(error) if unknown(&error) => plain().build(entries),
        made => made,
    }
}

/// Why the system refuses something of the ring, in words that an operator can act on.
pub(super) fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOSYS) => "this kernel has none".into(),
        Some(Errno::PERM | Errno::ACCESS) => {
            "not permitted, see kernel.io_uring_disabled and the container's seccomp profile".into()
        }
        Some(Errno::NOMEM) => "the limit of locked memory is too low, see `ulimit -l`".into(),
        _ => error.to_string(),
    }
}
