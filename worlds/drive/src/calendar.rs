//! Virtual time: the drive owns the clock of the machine that uses it, which asks here when it may run.
//!
//! Either the machine has its turn or the drive. The machine runs without asking up to the time that was promised to it, when
//! the drive has something to say next; then it waits, and says when it wants to go on. What time it is, the promise and the
//! wish stand in shared memory; on the socket there are only the beginning, the machine's `Wait` and the drive's `Run`.

use loadline_base::{Span, Time};
use loadline_vhost::SocketError;
use loadline_wire::calendar::{
    CALENDAR_MESSAGE_BYTES, CalendarLayout, CalendarMessage, CalendarOp, NEVER_NS,
};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;
use thiserror::Error;
use vm_memory::mmap::FromRangesError;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

/// The places of the shared memory.
const DRIVE: u16 = 0;
const MACHINE: u16 = 1;

/// What a machine takes for the time of day when it boots: 2026-01-01, so that every run has the same.
const TIME_OF_DAY: Span = Span::from_secs(1_767_225_600);

/// How long the rest of a message may take: its sender is on this machine and sends it at once.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// Why a machine's time cannot be kept any more.
#[derive(Debug, Error)]
pub(crate) enum CalendarError {
    /// Its socket gives no more messages.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The memory that is shared cannot be had.
    #[error("memory for the time cannot be shared: {0}")]
    Memory(#[from] FromRangesError),
    /// The machine's kernel does without the shared memory.
    #[error(
        "the machine's kernel does not share its time by memory; one of Linux 6.11 or later does"
    )]
    NotShared,
    /// It says what only the time's owner may say.
    #[error("the machine said {0:?} about its time, which makes no sense")]
    Nonsense(CalendarOp),
    /// It says something that is not known.
    #[error("the machine said {0} about its time, which is not known")]
    Unknown(u32),
}

impl From<io::Error> for CalendarError {
    fn from(error: io::Error) -> CalendarError {
        CalendarError::Socket(SocketError::Io(error))
    }
}

/// A machine's time.
#[derive(Debug)]
pub(crate) struct Calendar {
    stream: UnixStream,
    memory: GuestMemoryMmap,
    /// The memory as the machine gets it.
    file: File,
    /// When the machine began by the drive's clock; its own begins with 0.
    begun: Time,
    /// The latest that it has ever been.
    latest: Time,
    waits: bool,
    sequence: u32,
}

impl Calendar {
    /// Of a machine that has connected at `now`; it has its turn.
    pub(crate) fn new(stream: UnixStream, now: Time) -> Result<Calendar, CalendarError> {
        stream.set_read_timeout(Some(MESSAGE_TIME))?;
        stream.set_write_timeout(Some(MESSAGE_TIME))?;
        let file = memfd_create("loadline-time", MemfdFlags::CLOEXEC).map_err(io::Error::from)?;
        ftruncate(&file, CalendarLayout::BYTES as u64).map_err(io::Error::from)?;
        let file = File::from(file);
        let shared = FileOffset::new(file.try_clone()?, 0);
        let range = (GuestAddress(0), CalendarLayout::BYTES, Some(shared));
        let memory = GuestMemoryMmap::from_ranges_with_files([range])?;
        let (begun, latest) = (now, now);
        let calendar = Calendar { stream, memory, file, begun, latest, waits: false, sequence: 0 };
        calendar.store(CalendarLayout::VERSION, CalendarLayout::VERSION_KNOWN);
        calendar.store(CalendarLayout::LENGTH, CalendarLayout::BYTES as u32);
        calendar.store(CalendarLayout::PLACES, MACHINE + 1);
        calendar.store(CalendarLayout::capability(DRIVE), CalendarLayout::SHARES_TIME);
        calendar.store(CalendarLayout::RUNNING, MACHINE);
        calendar.promise(None);
        Ok(calendar)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// What time it is; while the machine runs, what it was when it last had to do with the drive.
    pub(crate) fn now(&mut self) -> Time {
        // The machine writes it, too. One that sets it back is not followed: the drive has been further.
        let at: u64 = self.load(CalendarLayout::TIME);
        self.latest = self.latest.max(self.begun + Span::from_nanos(at.min(NEVER_NS)));
        self.latest
    }

    /// The same on the machine's own clock.
    fn of_machine(&mut self) -> Span {
        self.now().since(self.begun)
    }

    /// Whether it is the drive's turn.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// When the machine that waits wants to go on; `None` for one that waits for the drive alone.
    pub(crate) fn wanted(&self) -> Option<Time> {
        let flags: u32 = self.load(CalendarLayout::flags(MACHINE));
        let at: u64 = self.load(CalendarLayout::wanted(MACHINE));
        let wants = flags & CalendarLayout::WANTS_TO_RUN != 0 && at < NEVER_NS;
        wants.then(|| self.begun + Span::from_nanos(at))
    }

    /// Time goes on while the machine waits; never backwards.
    pub(crate) fn pass(&mut self, to: Time) {
        assert!(self.waits, "whoever runs has the time");
        let to = to.max(self.now()).since(self.begun);
        self.store(CalendarLayout::TIME, to.nanos());
    }

    /// The machine may run without asking until then, as far as the drive is concerned.
    pub(crate) fn promise(&self, until: Option<Time>) {
        self.store(
            CalendarLayout::FREE_UNTIL,
            until.map_or(NEVER_NS, |until| until.since(self.begun).nanos()),
        );
    }

    /// It is the machine's turn.
    pub(crate) fn run(&mut self) -> Result<(), CalendarError> {
        self.waits = false;
        self.store(CalendarLayout::RUNNING, MACHINE);
        self.sequence = self.sequence.wrapping_add(1);
        let time_ns = self.of_machine().nanos();
        self.send(CalendarMessage { op: CalendarOp::Run, sequence: self.sequence, time_ns })
    }

    /// Receives a message and does what it says.
    pub(crate) fn receive(&mut self) -> Result<(), CalendarError> {
        let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
        self.stream.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => SocketError::Gone,
            _ => error.into(),
        })?;
        let message = CalendarMessage::decode(&bytes).map_err(|op| CalendarError::Unknown(op.0))?;
        let acknowledged = |time_ns| CalendarMessage { op: CalendarOp::Ack, time_ns, ..message };
        match message.op {
            CalendarOp::Start => self.share(acknowledged(u64::from(MACHINE))),
            CalendarOp::Wait => {
                let capability: u32 = self.load(CalendarLayout::capability(MACHINE));
                if capability & CalendarLayout::SHARES_TIME == 0 {
                    return Err(CalendarError::NotShared);
                }
                self.waits = true;
                self.store(CalendarLayout::RUNNING, DRIVE);
                Ok(())
            }
            CalendarOp::GetTimeOfDay => {
                let time = TIME_OF_DAY + self.of_machine();
                self.send(acknowledged(time.nanos()))
            }
            CalendarOp::Get => {
                let time = self.of_machine();
                self.send(acknowledged(time.nanos()))
            }
            // All of these are said by memory once it is shared, or need nothing.
            CalendarOp::Request | CalendarOp::Update | CalendarOp::Broadcast => {
                self.send(acknowledged(0))
            }
            op @ (CalendarOp::Ack | CalendarOp::Run | CalendarOp::FreeUntil) => {
                Err(CalendarError::Nonsense(op))
            }
        }
    }

    /// Answers a machine that begins; the memory and somewhere to write come beside it.
    fn share(&self, answer: CalendarMessage) -> Result<(), CalendarError> {
        let log = OpenOptions::new().write(true).open("/dev/null")?;
        let beside = [self.file.as_fd(), log.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&beside));
        debug_assert!(fits, "there is room for two descriptors");
        let bytes = answer.bytes();
        let pieces = [IoSlice::new(&bytes)];
        sendmsg(&self.stream, &pieces, &mut control, SendFlags::empty())
            .map_err(io::Error::from)?;
        Ok(())
    }

    fn send(&mut self, message: CalendarMessage) -> Result<(), CalendarError> {
        Ok(self.stream.write_all(&message.bytes())?)
    }

    fn load<T: vm_memory::AtomicAccess>(&self, at: u64) -> T {
        let loaded = self.memory.load(GuestAddress(at), Ordering::Acquire);
        loaded.expect("the fields lie in the memory, each at a multiple of its size")
    }

    fn store<T: vm_memory::AtomicAccess>(&self, at: u64, value: T) {
        let stored = self.memory.store(value, GuestAddress(at), Ordering::Release);
        stored.expect("the fields lie in the memory, each at a multiple of its size");
    }
}
