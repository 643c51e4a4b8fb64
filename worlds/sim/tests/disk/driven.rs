//! A disk with the clock that drives it.

use loadline_base::{Bytes, Time};
use loadline_device::{ClassTag, Outcome, Priority, Request, RequestKind, contract};
use loadline_sim::disk::{RequestDone, SimDisk, SimDiskSpec, Timing};

/// 1 MiB in sectors of 512 bytes, with a write cache, at no cost.
pub(crate) fn spec() -> SimDiskSpec {
    SimDiskSpec { size: Bytes::from_mib(1), sector: 512, write_cache: true, timing: Timing::FREE }
}

#[derive(Clone)]
pub(crate) struct Driven {
    pub(crate) disk: SimDisk,
    pub(crate) now: Time,
    sent: u64,
}

impl Driven {
    pub(crate) fn new(spec: SimDiskSpec, seed: u64) -> Driven {
        Driven { disk: SimDisk::new(spec, seed), now: Time::ZERO, sent: 0 }
    }

    /// Submits under the next number, which it returns.
    pub(crate) fn send(&mut self, request: &Request, data: Vec<u8>) -> u64 {
        self.sent += 1;
        self.disk.submit(self.now, self.sent, request, data);
        self.sent
    }

    /// The next answer, at the time when it is due.
    pub(crate) fn next(&mut self) -> RequestDone {
        self.now = self.now.max(self.disk.next_done().expect("something is in flight"));
        self.disk.finish(self.now).expect("it is due")
    }

    pub(crate) fn carry_out(&mut self, request: &Request, data: Vec<u8>) -> (Outcome, Vec<u8>) {
        let id = self.send(request, data);
        let done = self.next();
        assert_eq!(done.id, id);
        (done.outcome, done.data)
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Outcome {
        self.carry_out(&write(offset, bytes.len() as u64), bytes.to_vec()).0
    }

    pub(crate) fn read(&mut self, offset: u64, length: u64) -> (Outcome, Vec<u8>) {
        self.carry_out(&read(offset, length), Vec::new())
    }

    pub(crate) fn flush(&mut self) -> Outcome {
        self.carry_out(&flush(), Vec::new()).0
    }
}

impl contract::ContractDisk for Driven {
    fn size(&self) -> Bytes {
        self.disk.spec().size
    }

    fn sector(&self) -> u32 {
        self.disk.spec().sector
    }

    fn submit(&mut self, id: u64, request: &Request, data: Vec<u8>) {
        self.disk.submit(self.now, id, request, data);
    }

    fn wait(&mut self) -> (u64, Outcome, Vec<u8>) {
        let done = self.next();
        (done.id, done.outcome, done.data)
    }
}

fn request(kind: RequestKind, offset: u64, length: u64) -> Request {
    Request {
        kind,
        offset,
        length: Bytes::new(length),
        class: ClassTag(1),
        priority: Priority::default(),
        duration_limit: None,
    }
}

pub(crate) fn read(offset: u64, length: u64) -> Request {
    request(RequestKind::Read, offset, length)
}

pub(crate) fn write(offset: u64, length: u64) -> Request {
    request(RequestKind::Write, offset, length)
}

pub(crate) fn discard(offset: u64, length: u64) -> Request {
    request(RequestKind::Discard, offset, length)
}

pub(crate) fn flush() -> Request {
    request(RequestKind::Flush, 0, 0)
}
