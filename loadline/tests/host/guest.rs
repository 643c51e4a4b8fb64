//! A guest with the process that runs it: memory in a file, rings in it, and the messages by which QEMU hands them over, in its order.
//! The memory is read and written as a file, which is the same bytes.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{pread, pwrite, write};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::time::Timespec;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

const MEMORY_BYTES: u64 = 8 << 20;
/// Where the memory lies for the process that runs the guest.
pub(crate) const USER_BASE: u64 = 0x7f00_0000_0000;
pub(crate) const RING_SIZE: u16 = 64;
pub(crate) const RINGS: usize = 2;
/// Room of one request.
const SLOT_BYTES: u64 = 128 << 10;
const DATA: u64 = 0x100;

/// A descriptor's flags.
pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITES: u16 = 2;
pub(crate) const TABLE: u16 = 4;

const NEED_REPLY: u32 = 8;
/// Several queues, answers, configuration, requests under way.
const PROTOCOL: u64 = 1 << 0 | 1 << 3 | 1 << 9 | 1 << 12;
/// Version 1, protocol features, event index, tables, flush, several queues, discard, zeros.
pub(crate) const FEATURES: u64 =
    1 << 32 | 1 << 30 | 1 << 29 | 1 << 28 | 1 << 9 | 1 << 12 | 1 << 13 | 1 << 14;

/// What outlives a connection: the guest's memory, and what the node has asked to be kept.
pub(crate) struct Guest {
    stream: UnixStream,
    memory: OwnedFd,
    inflight: Option<(Vec<u8>, OwnedFd)>,
    kicks: Vec<OwnedFd>,
    calls: Vec<OwnedFd>,
    /// Per ring: requests offered, answers taken.
    counts: [(u16, u16); RINGS],
    slots: u16,
    /// What it was told of the disk.
    pub(crate) config: Vec<u8>,
    pub(crate) features: u64,
    /// What it agrees on, if it is offered.
    wanted: u64,
}

/// A request that was answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u8,
    pub(crate) data: Vec<u8>,
}

fn event() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()
}

impl Guest {
    /// Connects for the first time.
    pub(crate) fn connect(path: &Path) -> Guest {
        Guest::connect_with(path, FEATURES)
    }

    /// The same, with nothing but these features.
    pub(crate) fn connect_with(path: &Path, wanted: u64) -> Guest {
        let memory = memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, MEMORY_BYTES).unwrap();
        let mut guest = Guest {
            stream: UnixStream::connect(path).unwrap(),
            memory,
            inflight: None,
            kicks: Vec::new(),
            calls: Vec::new(),
            counts: [(0, 0); RINGS],
            slots: 0,
            config: Vec::new(),
            features: 0,
            wanted,
        };
        guest.begin();
        guest
    }

    /// Connects again, to a node that has begun anew: the rings are as they were.
    pub(crate) fn reconnect(&mut self, path: &Path) {
        self.stream = UnixStream::connect(path).unwrap();
        self.begin();
    }

    /// Lets the node go without a word, and takes no notice of what it still writes. It hears of that at once, even while a process that another
    /// test begins has the socket's number, too, until it becomes another program.
    pub(crate) fn hang_up(self) {
        self.stream.shutdown(std::net::Shutdown::Both).unwrap();
    }

    fn begin(&mut self) {
        let patience = Some(std::time::Duration::from_secs(120));
        self.stream.set_read_timeout(patience).unwrap();
        (self.kicks, self.calls) = (0..RINGS).map(|_| (event(), event())).unzip();
        self.features = self.ask(1);
        self.send(3, 0, &[], &[]);
        assert_eq!(self.ask(15) & PROTOCOL, PROTOCOL, "what a front end of a disk needs");
        self.send(16, 0, &words(&[PROTOCOL]), &[]);
        assert!(self.ask(17) >= RINGS as u64);
        self.config = self.config_part(60);
        self.tell(2, &words(&[self.wanted & self.features]), &[]);
        if self.inflight.is_none() {
            let asked = [&words(&[0, 0])[..], &halves(&[RINGS as u16, RING_SIZE, 0, 0])].concat();
            self.send(31, 0, &asked, &[]);
            let (answer, mut files) = self.receive(31);
            self.inflight = Some((answer, files.pop().expect("memory for requests under way")));
        }
        let (area, file) = self.inflight.as_ref().unwrap();
        let (area, file) = (area.clone(), file.try_clone().unwrap());
        self.tell(32, &area, &[file.as_fd()]);
        let table = words(&[1, 0, MEMORY_BYTES, USER_BASE, 0]);
        let memory = self.memory.try_clone().unwrap();
        self.tell(5, &table, &[memory.as_fd()]);
        for ring in 0..RINGS {
            let number = ring as u64;
            let base = USER_BASE + ring_base(ring);
            self.tell(8, &words(&[u64::from(RING_SIZE) << 32 | number]), &[]);
            // What QEMU takes for the place to go on after a node that has gone without a word.
            let used = u64::from(self.half(ring_base(ring) + 0x2002));
            self.tell(10, &words(&[used << 32 | number]), &[]);
            self.tell(9, &words(&[number, base, base + 0x2000, base + 0x1000, 0]), &[]);
            let (kick, call) =
                (self.kicks[ring].try_clone().unwrap(), self.calls[ring].try_clone().unwrap());
            self.tell(12, &words(&[number]), &[kick.as_fd()]);
            self.tell(13, &words(&[number]), &[call.as_fd()]);
            self.tell(18, &words(&[1 << 32 | number]), &[]);
        }
    }

    /// The first bytes of the disk's configuration.
    pub(crate) fn config_part(&mut self, bytes: u32) -> Vec<u8> {
        let head = [0, bytes, 0].map(u32::to_le_bytes).concat();
        self.send(24, 0, &[head, vec![0; bytes as usize]].concat(), &[]);
        let (answer, _) = self.receive(24);
        assert_eq!(answer.len(), 12 + bytes as usize);
        answer[12..].to_vec()
    }

    /// Says something and waits for the word that it went well.
    pub(crate) fn tell(&mut self, request: u32, payload: &[u8], beside: &[BorrowedFd<'_>]) {
        self.send(request, NEED_REPLY, payload, beside);
        let (answer, _) = self.receive(request);
        assert_eq!(answer, [0; 8], "request {request}");
    }

    fn ask(&mut self, request: u32) -> u64 {
        self.send(request, 0, &[], &[]);
        let (answer, _) = self.receive(request);
        u64::from_le_bytes(*answer.first_chunk().unwrap())
    }

    /// Gives the node a channel by which it says something by itself, and waits for the word that the disk is another.
    pub(crate) fn hears_of_its_disk(&mut self) {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
        self.tell(21, &[], &[there.as_fd()]);
        let mut message = [0; 12];
        std::io::Read::read_exact(&mut &here, &mut message).expect("the node says something");
        assert_eq!(message[..4], 2u32.to_le_bytes());
    }

    /// Takes back that it keeps what is under way.
    pub(crate) fn keeps_nothing(&mut self) {
        self.tell(16, &words(&[PROTOCOL & !(1 << 12)]), &[]);
    }

    /// Stops a ring; with which request it would go on.
    pub(crate) fn stop_ring(&mut self, ring: usize) -> u16 {
        self.send(11, 0, &words(&[ring as u64]), &[]);
        let (answer, _) = self.receive(11);
        u32::from_le_bytes(*answer[4..].first_chunk().unwrap()) as u16
    }

    pub(crate) fn send(&self, request: u32, flags: u32, payload: &[u8], beside: &[BorrowedFd<'_>]) {
        let head = [request, 1 | flags, payload.len() as u32].map(u32::to_le_bytes).concat();
        let message = [&head, payload].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !beside.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(beside)));
        }
        let sent =
            sendmsg(&self.stream, &[IoSlice::new(&message)], &mut control, SendFlags::NOSIGNAL);
        assert_eq!(sent.unwrap(), message.len());
    }

    fn receive(&self, request: u32) -> (Vec<u8>, Vec<OwnedFd>) {
        let mut bytes = [0; 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(&self.stream, &mut slices, &mut beside, flags).unwrap().bytes;
        let files = beside
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(files) => Some(files),
                _ => None,
            })
            .flatten()
            .collect();
        let length = u32::from_le_bytes(*bytes[8..].first_chunk().unwrap()) as usize;
        assert_eq!(bytes[..8], [request, 5].map(u32::to_le_bytes).concat());
        assert_eq!(got, 12 + length, "one message at a time");
        (bytes[12..got].to_vec(), files)
    }

    /// Whether the node has let it go.
    pub(crate) fn is_let_go(&self) -> bool {
        let mut byte = [0; 1];
        match std::io::Read::read(&mut &self.stream, &mut byte) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    pub(crate) fn put(&self, at: u64, bytes: &[u8]) {
        assert_eq!(pwrite(&self.memory, bytes, at).unwrap(), bytes.len());
    }

    fn get(&self, at: u64, bytes: usize) -> Vec<u8> {
        let mut found = vec![0; bytes];
        assert_eq!(pread(&self.memory, &mut found, at).unwrap(), bytes);
        found
    }

    fn half(&self, at: u64) -> u16 {
        u16::from_le_bytes(*self.get(at, 2).first_chunk().unwrap())
    }

    /// Writes a descriptor of a table at `base`.
    pub(crate) fn describe(
        &self,
        base: u64,
        index: u16,
        (address, length): (u64, u32),
        (flags, next): (u16, u16),
    ) {
        let fields = [&address.to_le_bytes()[..], &length.to_le_bytes(), &halves(&[flags, next])];
        self.put(base + u64::from(index) * 16, &fields.concat());
    }

    /// Offers the list that begins with a descriptor, and kicks.
    pub(crate) fn offer(&mut self, ring: usize, head: u16) {
        let base = ring_base(ring) + 0x1000;
        let (offered, _) = &mut self.counts[ring];
        let place = base + 4 + u64::from(*offered % RING_SIZE) * 2;
        *offered = offered.wrapping_add(1);
        let offered = *offered;
        self.put(place, &halves(&[head]));
        self.put(base + 2, &halves(&[offered]));
        self.kick(ring);
    }

    /// Hands over once more by what it kicks a ring.
    pub(crate) fn hand_over_kick(&mut self, ring: usize) {
        let kick = self.kicks[ring].try_clone().unwrap();
        self.tell(12, &words(&[ring as u64]), &[kick.as_fd()]);
    }

    pub(crate) fn kick(&self, ring: usize) {
        write(&self.kicks[ring], &1u64.to_ne_bytes()).unwrap();
    }

    /// The next place for a request: its first descriptor of three, and where its bytes lie.
    pub(crate) fn slot(&mut self) -> (u16, u64) {
        let slot = self.slots % (RING_SIZE / 3);
        self.slots += 1;
        (slot * 3, (1 << 20) + u64::from(slot) * SLOT_BYTES)
    }

    /// Offers a request of three descriptors: head, data, status. Gives its head.
    pub(crate) fn begin_request(
        &mut self,
        ring: usize,
        (kind, sector): (u32, u64),
        brings: &[u8],
        room: u32,
    ) -> u16 {
        let (head, at) = self.slot();
        self.put(at, &[&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat());
        self.put(at + 16, &[0xff]);
        let table = ring_base(ring);
        self.describe(table, head, (at, 16), (NEXT, head + 1));
        let status = if room == 0 && brings.is_empty() { head + 1 } else { head + 2 };
        match (room, brings.is_empty()) {
            (0, true) => {}
            (0, false) => {
                self.put(at + DATA, brings);
                let data = (at + DATA, brings.len() as u32);
                self.describe(table, head + 1, data, (NEXT, status));
            }
            _ => self.describe(table, head + 1, (at + DATA, room), (NEXT | WRITES, status)),
        }
        self.describe(table, status, (at + 16, 1), (WRITES, 0));
        self.offer(ring, head);
        head
    }

    /// The heads of the next answers, with how many bytes were written; waits for so many.
    pub(crate) fn answers(&mut self, ring: usize, wanted: usize) -> Vec<(u16, u32)> {
        let base = ring_base(ring) + 0x2000;
        let mut answers = Vec::new();
        while answers.len() < wanted {
            let there = self.half(base + 2);
            let (_, taken) = &mut self.counts[ring];
            if *taken == there {
                // Where it wants to be called again: behind what it has taken.
                let next = *taken;
                let event = ring_base(ring) + 0x1000 + 4 + u64::from(RING_SIZE) * 2;
                self.put(event, &halves(&[next]));
                if self.half(base + 2) != next {
                    continue;
                }
                let mut polled = [PollFd::new(&self.calls[ring], PollFlags::IN)];
                let limit = Timespec { tv_sec: 120, tv_nsec: 0 };
                assert!(poll(&mut polled, Some(&limit)).unwrap() > 0, "no answer in two minutes");
                let _ = rustix::io::read(&self.calls[ring], &mut [0; 8]);
                continue;
            }
            let place = base + 4 + u64::from(*taken % RING_SIZE) * 8;
            *taken = taken.wrapping_add(1);
            let entry = self.get(place, 8);
            let word = |at: usize| u32::from_le_bytes(*entry[at..].first_chunk().unwrap());
            answers.push((word(0) as u16, word(4)));
        }
        answers
    }

    /// How many answers there are that it has not taken.
    pub(crate) fn untaken(&self, ring: usize) -> u16 {
        self.half(ring_base(ring) + 0x2002).wrapping_sub(self.counts[ring].1)
    }

    /// What an answered request has: its status, and so many bytes of data.
    pub(crate) fn answer(&self, head: u16, room: u32) -> Answer {
        let at = (1 << 20) + u64::from(head / 3) * SLOT_BYTES;
        Answer { status: self.get(at + 16, 1)[0], data: self.get(at + DATA, room as usize) }
    }

    /// Makes a request and waits for its answer.
    pub(crate) fn request(&mut self, what: (u32, u64), brings: &[u8], room: u32) -> Answer {
        let ring = usize::from(self.slots) % RINGS;
        let head = self.begin_request(ring, what, brings, room);
        let answers = self.answers(ring, 1);
        assert_eq!(answers[0].0, head);
        self.answer(head, room)
    }

    pub(crate) fn read(&mut self, sector: u64, bytes: u32) -> Vec<u8> {
        let answer = self.request((0, sector), &[], bytes);
        assert_eq!(answer.status, 0);
        answer.data
    }

    pub(crate) fn write(&mut self, sector: u64, bytes: &[u8]) {
        assert_eq!(self.request((1, sector), bytes, 0).status, 0);
    }

    /// How many requests of a ring the node has taken and not answered.
    pub(crate) fn under_way(&self, ring: usize) -> usize {
        let (_, file) = self.inflight.as_ref().unwrap();
        let entry = |head: u16| inflight_ring(ring) + 16 + u64::from(head) * 16;
        let is_taken = |head: &u16| {
            let mut byte = [0];
            pread(file, &mut byte, entry(*head)).unwrap() == 1 && byte[0] == 1
        };
        (0..RING_SIZE).filter(is_taken).count()
    }

    /// Answers a request as a node does that is ended before it has noted that.
    pub(crate) fn answer_as_node(&self, ring: usize, head: u16) {
        let base = ring_base(ring) + 0x2000;
        let used = self.half(base + 2);
        let entry = [u32::from(head), 1].map(u32::to_le_bytes).concat();
        self.put(base + 4 + u64::from(used % RING_SIZE) * 8, &entry);
        let (_, file) = self.inflight.as_ref().unwrap();
        let last = inflight_ring(ring) + 12;
        assert_eq!(pwrite(file, &halves(&[head]), last).unwrap(), 2);
        self.put(base + 2, &halves(&[used.wrapping_add(1)]));
    }

    /// Notes a request as under way, as a node does that is ended before it has answered it.
    pub(crate) fn note_under_way(&self, ring: usize, head: u16, counter: u64) {
        let (_, file) = self.inflight.as_ref().unwrap();
        let entry = inflight_ring(ring) + 16 + u64::from(head) * 16;
        assert_eq!(pwrite(file, &[1], entry).unwrap(), 1);
        assert_eq!(pwrite(file, &counter.to_le_bytes(), entry + 8).unwrap(), 8);
    }
}

/// Where a ring's part of the memory for requests under way begins.
fn inflight_ring(ring: usize) -> u64 {
    ring as u64 * (16 + 16 * u64::from(RING_SIZE)).next_multiple_of(64)
}

/// Where a ring's table of descriptors lies; what it offers is 0x1000 behind, what is answered 0x2000.
pub(crate) fn ring_base(ring: usize) -> u64 {
    0x4000 * (ring as u64 + 1)
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}
