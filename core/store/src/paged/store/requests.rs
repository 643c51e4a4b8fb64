//! What the store has asked of its devices: each request with what it is for, until it is answered.

use crate::paged::api::{Cause, Io, IoId, StoreDevice};
use crate::paged::ids::{Lsn, PageNo};
use crate::paged::space::PageRun;
use loadline_base::{Bytes, SlotId, Slots};
use loadline_device::{ClassTag, Priority, Request, RequestKind};

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
    Flush,
    Own(usize),
    Tail(StoreDevice, u64),
}

/// Requests without an answer, and those that the world has not been handed yet.
#[derive(Default)]
pub(super) struct DeviceRequests {
    unanswered: Slots<RequestPurpose>,
    out: Vec<Io>,
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

    /// Tells the data device that a run of pages holds nothing.
    pub(super) fn discard(&mut self, run: PageRun, place: (u64, u64), class: ClassTag) {
        self.push(
            RequestPurpose::Discard(run),
            StoreDevice::Data,
            RequestKind::Discard,
            place,
            class,
            Vec::new(),
        );
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
        self.unanswered.release(id.0)
    }

    /// On whose behalf a request goes that has not been answered.
    pub(super) fn cause(&self, id: IoId) -> Cause {
        match self.unanswered.at(id.0) {
            RequestPurpose::LogWrite(_) | RequestPurpose::LogFlush(_) | RequestPurpose::Witness => {
                Cause::Log
            }
            RequestPurpose::Load(_) | RequestPurpose::OwnWrite(_) | RequestPurpose::OwnRead(..) => {
                Cause::Op
            }
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
