//! A machine: one mapping of memory, four rings in it, and a slot of 16 KiB for each request.

use loadline_scsi::CDB_BYTES;
use loadline_wire::calendar::{
    CALENDAR_MESSAGE_BYTES, CalendarLayout, CalendarMessage, CalendarOp, NEVER_NS,
};
use loadline_wire::vhost::{CONTROL_BYTES, REQUEST_BYTES, RESPONSE_BYTES};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

const MEMORY_BYTES: usize = 8 << 20;
/// Where the memory lies for the process that runs the machine.
const USER_BASE: u64 = 0x6000_0000;
const RING_SIZE: u16 = 128;
const SLOT_BYTES: u64 = 0x4000;

/// What memory holds that is used for something else than answers.
const PAINT: [u8; 4096] = [0xa5; 4096];

/// The feature of rings whose requests may have tables of descriptors.
const TABLES: u64 = 1 << 28;

pub(crate) const CONTROLS: usize = 0;
pub(crate) const REQUESTS: usize = 2;
/// A second ring of commands, which is not set up when the machine connects.
pub(crate) const MORE_REQUESTS: usize = 3;
const RINGS: usize = 4;

/// An answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) slot: u16,
    pub(crate) status: u8,
    pub(crate) response: u8,
    pub(crate) residual: u32,
    pub(crate) sense: Vec<u8>,
    /// What was transferred to the machine.
    pub(crate) data: Vec<u8>,
}

pub(crate) struct Machine {
    stream: UnixStream,
    memory: GuestMemoryMmap,
    /// The memory as the drive gets it.
    file: OwnedFd,
    calls: Vec<OwnedFd>,
    kicks: Vec<OwnedFd>,
    /// Per ring: requests offered, answers taken.
    counts: [(u16, u16); RINGS],
    slots: u16,
    /// Where its time is virtual: what it is called by instead of descriptors, and who keeps its time.
    clock: Option<KeptClock>,
}

impl Machine {
    /// Connects as Linux 6.12 in user mode does, in its order.
    pub(crate) fn connect(socket: &Path) -> Machine {
        Machine::set_out(socket, None)
    }

    /// The same of a machine whose time the drive keeps.
    pub(crate) fn in_virtual_time(socket: &Path, calendar: &Path) -> Machine {
        Machine::set_out(socket, Some(calendar))
    }

    fn set_out(socket: &Path, calendar: Option<&Path>) -> Machine {
        let clock = calendar.map(KeptClock::start);
        let file = memory_file();
        let shared = FileOffset::new(File::from(file.try_clone().unwrap()), 0);
        let ranges = [(GuestAddress(0), MEMORY_BYTES, Some(shared))];
        let event = || eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut machine = Machine {
            stream: UnixStream::connect(socket).unwrap(),
            memory: GuestMemoryMmap::from_ranges_with_files(ranges).unwrap(),
            file,
            calls: (0..RINGS).map(|_| event()).collect(),
            kicks: (0..RINGS).map(|_| event()).collect(),
            counts: [(0, 0); RINGS],
            slots: 0,
            clock: None,
        };
        machine.stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        machine.send(3, &[], &[]);
        let wanted = 1 << 32 | TABLES;
        assert_eq!(machine.ask(1) & wanted, wanted, "virtio 1, and tables of descriptors");
        let features = 0x228 | if clock.is_some() { 1 << 14 } else { 0 };
        assert_eq!(
            machine.ask(15) & features,
            features,
            "answers, own requests, configuration, in band"
        );
        machine.send(16, &[features], &[]);
        let (own, channel) = UnixStream::pair().unwrap();
        machine.tell(21, &[], &[channel.as_fd()]);
        machine.clock = clock.map(|clock| KeptClock { channel: Some(own), ..clock });
        machine.tell(2, &[1 << 32 | 1 << 30 | TABLES], &[]);
        machine.share_again();
        for ring in 0..3 {
            machine.set_up(ring);
        }
        machine
    }

    fn set_up(&mut self, ring: usize) {
        let number = ring as u64;
        let base = USER_BASE + ring_base(ring);
        self.tell(8, &[u64::from(RING_SIZE) << 32 | number], &[]);
        self.tell(9, &[number, base, base + 0x2000, base + 0x1000, 0], &[]);
        self.tell(10, &[number], &[]);
        if self.clock.is_none() {
            let (call, kick) =
                (self.calls[ring].try_clone().unwrap(), self.kicks[ring].try_clone().unwrap());
            self.tell(13, &[number], &[call.as_fd()]);
            self.tell(12, &[number], &[kick.as_fd()]);
        }
        self.tell(18, &[1 << 32 | number], &[]);
    }

    /// Stops a ring by GET_VRING_BASE; with which request it would go on.
    pub(crate) fn stop(&mut self, ring: usize) -> u32 {
        self.send(11, &[ring as u64], &[]);
        (self.reply(11) >> 32) as u32
    }

    /// Stops a ring as Linux in user mode does: by SET_VRING_ENABLE alone.
    pub(crate) fn disable(&mut self, ring: usize) {
        self.tell(18, &[ring as u64], &[]);
    }

    /// Hands over its memory once more.
    pub(crate) fn share_again(&mut self) {
        let file = self.file.try_clone().unwrap();
        self.share(&file);
    }

    /// Hands over other memory in its place, which it does not use.
    pub(crate) fn share_other(&mut self) {
        self.share(&memory_file());
    }

    /// One region, in a message that has room for two.
    fn share(&mut self, file: &OwnedFd) {
        let table = [1, 0, MEMORY_BYTES as u64, USER_BASE, 0, 0, 0, 0, 0];
        self.tell(5, &table, &[file.as_fd()]);
    }

    /// Another driver begins with a ring that was stopped.
    pub(crate) fn begin_anew(&mut self, ring: usize) {
        for part in [0x1000, 0x2000] {
            self.memory.write_slice(&[0; 4], GuestAddress(ring_base(ring) + part)).unwrap();
        }
        self.counts[ring] = (0, 0);
        self.set_up(ring);
    }

    /// How many answers have ever been put into a ring, taken or not.
    pub(crate) fn answered(&self, ring: usize) -> u16 {
        let index = GuestAddress(ring_base(ring) + 0x2000 + 2);
        self.memory.load(index, std::sync::atomic::Ordering::Acquire).unwrap()
    }

    /// Uses what the device may write of a slot for something else.
    pub(crate) fn paint(&self, slot: u16) {
        self.memory.write_slice(&PAINT, GuestAddress(room_of(slot))).unwrap();
    }

    /// Whether the device has left it as it was then.
    pub(crate) fn is_painted(&self, slot: u16) -> bool {
        let mut room = [0; PAINT.len()];
        self.memory.read_slice(&mut room, GuestAddress(room_of(slot))).unwrap();
        room == PAINT
    }

    fn send(&self, request: u32, words: &[u64], descriptors: &[BorrowedFd<'_>]) {
        self.send_flagged(request, 0x1, words, descriptors);
    }

    fn send_flagged(&self, request: u32, flags: u32, words: &[u64], beside: &[BorrowedFd<'_>]) {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let head = [request, flags, payload.len() as u32].map(u32::to_le_bytes).concat();
        let message = [head, payload].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !beside.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(beside)));
        }
        let sent =
            sendmsg(&self.stream, &[IoSlice::new(&message)], &mut control, SendFlags::empty());
        assert_eq!(sent.unwrap(), message.len());
    }

    /// Says something and waits for the word that it went well.
    fn tell(&mut self, request: u32, words: &[u64], descriptors: &[BorrowedFd<'_>]) {
        self.send_flagged(request, 0x9, words, descriptors);
        assert_eq!(self.reply(request), 0, "request {request}");
    }

    fn ask(&mut self, request: u32) -> u64 {
        self.send(request, &[], &[]);
        self.reply(request)
    }

    fn reply(&mut self, request: u32) -> u64 {
        let mut bytes = [0; 20];
        self.stream.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes[..12], [request, 0x5, 8].map(u32::to_le_bytes).concat());
        u64::from_le_bytes(*bytes[12..].first_chunk().unwrap())
    }

    /// Offers a command with room for so many bytes, and gives its slot.
    pub(crate) fn command(&mut self, cdb: &[u8], out: &[u8], room: u32) -> u16 {
        let slot = self.prepare(cdb, out, room);
        self.kick(REQUESTS);
        slot
    }

    /// The same in the second ring of commands.
    pub(crate) fn command_beside(&mut self, cdb: &[u8], room: u32) -> u16 {
        let head = self.head(cdb);
        let slot = self.offer(MORE_REQUESTS, &head, RESPONSE_BYTES as u32 + room);
        self.kick(MORE_REQUESTS);
        slot
    }

    /// Offers commands with room for 4 KiB, all at one instant.
    pub(crate) fn commands(&mut self, cdbs: &[[u8; 16]]) {
        for cdb in cdbs {
            self.prepare(cdb, &[], 4096);
        }
        self.kick(REQUESTS);
    }

    fn kick(&mut self, ring: usize) {
        if self.clock.is_some() {
            return self.tell(35, &[ring as u64], &[]);
        }
        rustix::io::write(&self.kicks[ring], &1u64.to_ne_bytes()).unwrap();
    }

    fn prepare(&mut self, cdb: &[u8], out: &[u8], room: u32) -> u16 {
        let head = self.head(cdb);
        self.offer(REQUESTS, &[&head, out].concat(), RESPONSE_BYTES as u32 + room)
    }

    /// What stands before the data of a command in the next slot.
    fn head(&self, cdb: &[u8]) -> [u8; REQUEST_BYTES] {
        let mut head = [0; REQUEST_BYTES];
        head[..4].copy_from_slice(&[1, 0, 0x40, 0]);
        head[8..16].copy_from_slice(&u64::from(self.slots).to_le_bytes());
        head[19..19 + cdb.len()].copy_from_slice(cdb);
        assert!(cdb.len() <= CDB_BYTES);
        head
    }

    /// Runs a command whose last descriptor says that one follows which no ring has.
    pub(crate) fn run_broken(&mut self, cdb: &[u8], out: &[u8], room: u32) -> Answer {
        let out = [&self.head(cdb), out].concat();
        let head = self.describe(REQUESTS, &out, RESPONSE_BYTES as u32 + room, 1);
        self.put(REQUESTS, head);
        self.kick(REQUESTS);
        self.answers(1).remove(0)
    }

    /// Asks to abort the command in a slot, and waits for what is said.
    pub(crate) fn task_function(&mut self, function: u32, slot: u16) -> u8 {
        let mut bytes = [0; CONTROL_BYTES];
        bytes[4..8].copy_from_slice(&function.to_le_bytes());
        bytes[8..12].copy_from_slice(&[1, 0, 0x40, 0]);
        bytes[16..18].copy_from_slice(&slot.to_le_bytes());
        let own = self.offer(CONTROLS, &bytes, 1);
        self.kick(CONTROLS);
        let answers = self.used(CONTROLS, 1);
        assert_eq!(answers, [(own, 1)]);
        let mut answer = [0];
        self.memory.read_slice(&mut answer, GuestAddress(room_of(own))).unwrap();
        answer[0]
    }

    /// Two descriptors, what the device reads and what it writes, in the next slot; every other command has them in a table of its
    /// own, at the slot's end.
    fn offer(&mut self, ring: usize, out: &[u8], room: u32) -> u16 {
        let head = self.describe(ring, out, room, 0);
        self.put(ring, head);
        head / 2
    }

    /// The same without offering it; `flags` are the last descriptor's, beside that it is written. Gives the head.
    fn describe(&mut self, ring: usize, out: &[u8], room: u32, flags: u16) -> u16 {
        let slot = self.slots % (RING_SIZE / 2);
        self.slots += 1;
        let at = slot_of(slot);
        self.memory.write_slice(out, GuestAddress(at)).unwrap();
        let base = ring_base(ring);
        let (own, both) = (base + u64::from(2 * slot) * 16, 2 * 16);
        let (head, table) = (2 * slot, at + SLOT_BYTES - u64::from(both));
        let has_table = ring == REQUESTS && slot % 2 == 1;
        let (place, first) = if has_table { (table, 0) } else { (own, head) };
        self.descriptor(place, at, out.len() as u32, 1, first + 1);
        self.descriptor(place + 16, room_of(slot), room, 2 | flags, 9999);
        if has_table {
            assert!(room_of(slot) + u64::from(room) <= table);
            self.descriptor(own, table, both, 4, 0);
        }
        head
    }

    /// Offers what stands in a slot, whether it is at the drive or not.
    pub(crate) fn offer_again(&mut self, slot: u16) {
        self.put(REQUESTS, 2 * slot);
        self.kick(REQUESTS);
    }

    fn put(&mut self, ring: usize, head: u16) {
        let base = ring_base(ring);
        let (offered, _) = &mut self.counts[ring];
        let place = base + 0x1000 + 4 + u64::from(*offered % RING_SIZE) * 2;
        self.memory.write_slice(&head.to_le_bytes(), GuestAddress(place)).unwrap();
        *offered = offered.wrapping_add(1);
        let index = GuestAddress(base + 0x1000 + 2);
        self.memory.store(*offered, index, std::sync::atomic::Ordering::Release).unwrap();
    }

    fn descriptor(&self, place: u64, address: u64, length: u32, flags: u16, next: u16) {
        let fields = [
            &address.to_le_bytes()[..],
            &length.to_le_bytes(),
            &flags.to_le_bytes(),
            &next.to_le_bytes(),
        ];
        self.memory.write_slice(&fields.concat(), GuestAddress(place)).unwrap();
    }

    /// Waits for so many answers of a ring: slots, and bytes that were written.
    pub(crate) fn used(&mut self, ring: usize, wanted: u16) -> Vec<(u16, u32)> {
        let base = ring_base(ring) + 0x2000;
        let mut answers = Vec::new();
        while answers.len() < usize::from(wanted) {
            let order = std::sync::atomic::Ordering::Acquire;
            let there: u16 = self.memory.load(GuestAddress(base + 2), order).unwrap();
            let (_, taken) = &mut self.counts[ring];
            if *taken == there
                && let Some(clock) = &mut self.clock
            {
                clock.wait(NEVER_NS);
                continue;
            }
            if *taken == there {
                let mut polled = [PollFd::new(&self.calls[ring], PollFlags::IN)];
                let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
                assert!(poll(&mut polled, Some(&limit)).unwrap() > 0, "no answer in a minute");
                rustix::io::read(&self.calls[ring], &mut [0; 8]).unwrap();
                continue;
            }
            let mut entry = [0; 8];
            let place = GuestAddress(base + 4 + u64::from(*taken % RING_SIZE) * 8);
            self.memory.read_slice(&mut entry, place).unwrap();
            let word = |at: usize| u32::from_le_bytes(*entry[at..].first_chunk().unwrap());
            answers.push((word(0) as u16 / 2, word(4)));
            *taken = taken.wrapping_add(1);
        }
        answers
    }

    /// Waits for so many answers to commands.
    pub(crate) fn answers(&mut self, wanted: u16) -> Vec<Answer> {
        let used = self.used(REQUESTS, wanted);
        used.into_iter().map(|(slot, bytes)| self.answer(slot, bytes)).collect()
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn run(&mut self, cdb: &[u8], out: &[u8], room: u32) -> Answer {
        let slot = self.command(cdb, out, room);
        let answer = self.answers(1).remove(0);
        assert_eq!(answer.slot, slot);
        answer
    }

    fn answer(&self, slot: u16, bytes: u32) -> Answer {
        let mut written = vec![0; bytes as usize];
        self.memory.read_slice(&mut written, GuestAddress(room_of(slot))).unwrap();
        let word = |at: usize| u32::from_le_bytes(*written[at..].first_chunk().unwrap());
        Answer {
            slot,
            status: written[10],
            response: written[11],
            residual: word(4),
            sense: written[12..12 + word(0) as usize].to_vec(),
            data: written[RESPONSE_BYTES..].to_vec(),
        }
    }
}

impl Machine {
    /// The clock of a machine whose time is virtual.
    pub(crate) fn clock(&mut self) -> &mut KeptClock {
        self.clock.as_mut().expect("its time is virtual")
    }
}

/// The machine's side of a clock that the drive keeps.
pub(crate) struct KeptClock {
    stream: UnixStream,
    shared: GuestMemoryMmap,
    channel: Option<UnixStream>,
}

const ID: u16 = 1;

impl KeptClock {
    /// As `time-travel=ext:PATH` has it: it begins, and gets the memory with the answer.
    fn start(path: &Path) -> KeptClock {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream.write_all(&message(CalendarOp::Start, u64::MAX)).unwrap();
        let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut pieces = [IoSliceMut::new(&mut bytes)];
        recvmsg(&stream, &mut pieces, &mut beside, RecvFlags::empty()).unwrap();
        let mut files: Vec<OwnedFd> = beside
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(files) => Some(files),
                _ => None,
            })
            .flatten()
            .collect();
        assert_eq!(files.len(), 2, "the memory, and a log");
        let answer = CalendarMessage::decode(&bytes).unwrap();
        assert_eq!(
            (answer.op, answer.sequence, answer.time_ns),
            (CalendarOp::Ack, 7, u64::from(ID))
        );
        let file = FileOffset::new(File::from(files.swap_remove(0)), 0);
        let ranges = [(GuestAddress(0), CalendarLayout::BYTES, Some(file))];
        let shared = GuestMemoryMmap::from_ranges_with_files(ranges).unwrap();
        let clock = KeptClock { stream, shared, channel: None };
        assert_eq!(clock.load::<u32>(CalendarLayout::VERSION), CalendarLayout::VERSION_KNOWN);
        assert_eq!(clock.load::<u16>(CalendarLayout::RUNNING), ID, "it runs");
        clock.store(CalendarLayout::capability(ID), CalendarLayout::SHARES_TIME);
        clock
    }

    pub(crate) fn now(&self) -> u64 {
        self.load(CalendarLayout::TIME)
    }

    /// Says that it is another time, which no machine may.
    pub(crate) fn lie(&self, now: u64) {
        self.store(CalendarLayout::TIME, now);
    }

    /// What the drive says when it is asked for the time of day.
    pub(crate) fn time_of_day(&mut self) -> u64 {
        self.stream.write_all(&message(CalendarOp::GetTimeOfDay, 0)).unwrap();
        let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
        self.stream.read_exact(&mut bytes).unwrap();
        CalendarMessage::decode(&bytes).unwrap().time_ns
    }

    /// Up to when it may go on by itself.
    pub(crate) fn free_until(&self) -> u64 {
        self.load(CalendarLayout::FREE_UNTIL)
    }

    /// Waits for a time, or for a call of the drive before.
    pub(crate) fn wait(&mut self, until: u64) {
        self.store(CalendarLayout::wanted(ID), until);
        self.store(CalendarLayout::flags(ID), CalendarLayout::WANTS_TO_RUN);
        self.stream.write_all(&message(CalendarOp::Wait, u64::MAX)).unwrap();
        loop {
            let channel = self.channel.as_mut().unwrap();
            let mut polled =
                [PollFd::new(&*channel, PollFlags::IN), PollFd::new(&self.stream, PollFlags::IN)];
            let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
            assert!(poll(&mut polled, Some(&limit)).unwrap() > 0, "nobody calls it");
            if !polled[0].revents().is_empty() {
                let mut call = [0; 20];
                channel.read_exact(&mut call).unwrap();
                assert_eq!(call[..12], [4u32, 0x9, 8].map(u32::to_le_bytes).concat());
                // An interrupt is an event of this instant.
                let now = self.now();
                self.store(CalendarLayout::wanted(ID), now);
                let answer = [4u32, 0x5, 8, 0, 0].map(u32::to_le_bytes).concat();
                self.channel.as_mut().unwrap().write_all(&answer).unwrap();
                continue;
            }
            let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
            self.stream.read_exact(&mut bytes).unwrap();
            let run = CalendarMessage::decode(&bytes).unwrap();
            assert_eq!((run.op, run.time_ns), (CalendarOp::Run, self.now()));
            assert_eq!(self.load::<u16>(CalendarLayout::RUNNING), ID);
            return self.store(CalendarLayout::flags(ID), 0u32);
        }
    }

    fn load<T: vm_memory::AtomicAccess>(&self, at: u64) -> T {
        self.shared.load(GuestAddress(at), std::sync::atomic::Ordering::Acquire).unwrap()
    }

    fn store<T: vm_memory::AtomicAccess>(&self, at: u64, value: T) {
        self.shared.store(value, GuestAddress(at), std::sync::atomic::Ordering::Release).unwrap();
    }
}

fn message(op: CalendarOp, time_ns: u64) -> [u8; CALENDAR_MESSAGE_BYTES] {
    CalendarMessage { op, sequence: 7, time_ns }.bytes()
}

fn memory_file() -> OwnedFd {
    let file = memfd_create("machine", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, MEMORY_BYTES as u64).unwrap();
    file
}

fn ring_base(ring: usize) -> u64 {
    0x4000 * (ring as u64 + 1)
}

/// A slot: the first quarter is for the device to read, the rest for it to write.
fn slot_of(slot: u16) -> u64 {
    0x10_0000 + u64::from(slot) * SLOT_BYTES
}

fn room_of(slot: u16) -> u64 {
    slot_of(slot) + SLOT_BYTES / 4
}
