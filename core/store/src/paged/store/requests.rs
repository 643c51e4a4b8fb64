//! What the store has asked of its devices: each request with what it is for, until it is answered.

use crate::paged::api::{Cause, Io, IoId, StoreDevice};
use crate::paged::ids::{Lsn, PageNo};
use crate::paged::space::PageRun;
use loadline_base::{Bytes, SlotId, Slots};
use loadline_device::{ClassTag, Priority, Request, RequestKind};
use std::collections::VecDeque;

/// Discards that the device has at a time: as many as a checkpoint has writes by default. After a checkpoint there may be thousands,
/// and what comes next of it, for which updates may have to wait, would be behind them.
const DISCARDS_MAX: u32 = 4;

/// What a request is for.
#[derive(Clone, Debug)]
pub(super) enum RequestPurpose {
    /// The log from this position on.
    LogWrite(Lsn),
    /// A flush for the log.
    LogFlush(StoreDevice),
    /// One place of the log's witness.
    Witness,
    /// A page into the cache.
    Load(PageNo),
    /// An op's own data, written beside the log.
    OwnWrite(SlotId),
    /// An object's bytes, read beside the cache: whose, and which of its pieces.
    OwnRead(SlotId, usize),
    /// Pages that are read again beside the cache: for whom, and which of its pieces.
    Reread(SlotId, usize),
    /// A page that was bad when it was read again, written from the cache: for whom.
    Rewrite(SlotId, PageNo),
    /// A request of the checkpoint.
    Checkpoint(CheckpointRequest),
    /// Pages that nobody owns any more.
    Discard(PageRun),
    /// A request of the restart.
    Restart(RestartRequest),
}

/// What a request of the checkpoint is for.
#[derive(Clone, Debug)]
pub(super) enum CheckpointRequest {
    Images(u64),
    Marker,
    Pages(Vec<PageNo>),
    Flush,
}

/// What a request of the restart is for. The number tells those of one phase from late ones of an earlier phase.
#[derive(Clone, Debug)]
pub(super) enum RestartRequest {
    Superblock(usize),
    LogHeader,
    Witness,
    Stream(u32, Lsn),
    Area(u64),
    Home,
    Marker,
    Flush(StoreDevice),
    Own(usize),
}

/// Requests without an answer, and those that the world has not been handed yet.
#[derive(Default)]
pub(super) struct DeviceRequests {
    unanswered: Slots<RequestPurpose>,
    out: Vec<Io>,
    discards: DeviceDiscards,
}

#[derive(Default)]
struct DeviceDiscards {
    at_device: u32,
    waiting: VecDeque<(PageRun, (u64, u64), ClassTag)>,
}

impl DeviceRequests {
    /// Reads this place: its offset and length in bytes.
    pub(super) fn read(
        &mut self,
        purpose: RequestPurpose,
        target: StoreDevice,
        place: (u64, u64),
        class: ClassTag,
    ) {
        self.push(purpose, target, RequestKind::Read, place, class, Vec::new());
    }

    pub(super) fn write(
        &mut self,
        purpose: RequestPurpose,
        target: StoreDevice,
        offset: u64,
        class: ClassTag,
        data: Vec<u8>,
    ) {
        let length = data.len() as u64;
        self.push(purpose, target, RequestKind::Write, (offset, length), class, data);
    }

    pub(super) fn flush(&mut self, purpose: RequestPurpose, target: StoreDevice, class: ClassTag) {
        self.push(purpose, target, RequestKind::Flush, (0, 0), class, Vec::new());
    }

    /// Tells the data device that a run of pages holds nothing, as soon as it has few of these.
    pub(super) fn discard(&mut self, run: PageRun, place: (u64, u64), class: ClassTag) {
        self.discards.waiting.push_back((run, place, class));
        self.send_discards();
    }

    fn send_discards(&mut self) {
        while self.discards.at_device < DISCARDS_MAX
            && let Some((run, place, class)) = self.discards.waiting.pop_front()
        {
            self.discards.at_device += 1;
            let (purpose, kind) = (RequestPurpose::Discard(run), RequestKind::Discard);
            self.push(purpose, StoreDevice::Data, kind, place, class, Vec::new());
        }
    }

    fn push(
        &mut self,
        purpose: RequestPurpose,
        target: StoreDevice,
        kind: RequestKind,
        place: (u64, u64),
        class: ClassTag,
        data: Vec<u8>,
    ) {
        let request = Request {
            kind,
            offset: place.0,
            length: Bytes::new(place.1),
            class,
            priority: Priority::default(),
            duration_limit: None,
        };
        let id = IoId(self.unanswered.acquire(purpose));
        self.out.push(Io { id, target, request, data });
    }

    /// A request is answered: what it was for.
    pub(super) fn answered(&mut self, id: IoId) -> RequestPurpose {
        let purpose = self.unanswered.release(id.0);
        if matches!(purpose, RequestPurpose::Discard(_)) {
            self.discards.at_device -= 1;
            self.send_discards();
        }
        purpose
    }

    /// On whose behalf a request goes that has not been answered.
    pub(super) fn cause(&self, id: IoId) -> Cause {
        match self.unanswered.at(id.0) {
            RequestPurpose::LogWrite(_) | RequestPurpose::LogFlush(_) | RequestPurpose::Witness => {
                Cause::Log
            }
            RequestPurpose::Load(_)
            | RequestPurpose::OwnWrite(_)
            | RequestPurpose::OwnRead(..)
            | RequestPurpose::Reread(..)
            | RequestPurpose::Rewrite(..) => Cause::Op,
            RequestPurpose::Checkpoint(_) | RequestPurpose::Discard(_) => Cause::Checkpoint,
            RequestPurpose::Restart(_) => Cause::Restart,
        }
    }

    /// Hands the world what it has not got yet.
    pub(super) fn hand_over(&mut self, out: &mut Vec<Io>) {
        out.append(&mut self.out);
    }

    /// The world gets nothing more.
    pub(super) fn withdraw(&mut self) {
        self.out.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a checkpoint that freed much, thousands of discards stood before the next checkpoint's writes.
    #[test]
    fn few_discards_are_at_the_device_and_all_are_sent_in_their_order() {
        let mut requests = DeviceRequests::default();
        for first in 0..10 {
            let run = PageRun { first: PageNo(first * 100), count: 16 };
            requests.discard(run, (first * 100 * 4096, 16 * 4096), ClassTag(3));
        }
        let (mut at_device, mut sent) = (VecDeque::new(), Vec::new());
        loop {
            let mut out = Vec::new();
            requests.hand_over(&mut out);
            sent.extend(out.iter().map(|io| io.request.offset / 4096 / 100));
            at_device.extend(out.iter().map(|io| io.id));
            assert!(at_device.len() <= DISCARDS_MAX as usize);
            let Some(id) = at_device.pop_front() else { break };
            assert!(matches!(requests.answered(id), RequestPurpose::Discard(_)));
        }
        assert_eq!(sent, (0..10).collect::<Vec<u64>>());
    }
}
