//! Counters of requests and bytes, for the whole disk and by class.

use loadline_device::{ClassTag, Request, RequestKind};

/// Requests and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads.
    pub reads: u64,
    /// What they asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// What they brought.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// What they gave back.
    pub discarded_bytes: u64,
}

impl Traffic {
    fn count(&mut self, request: &Request) {
        let bytes = request.length.get();
        match request.kind {
            RequestKind::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            RequestKind::Write => {
                self.writes += 1;
                self.written_bytes += bytes;
            }
            RequestKind::Flush => self.flushes += 1,
            RequestKind::Discard => {
                self.discards += 1;
                self.discarded_bytes += bytes;
            }
        }
    }
}

/// The traffic of a disk and of each class.
#[derive(Clone, Default)]
pub(super) struct Traffics {
    total: Traffic,
    /// By the class's tag; as long as the highest tag seen needs.
    by_class: Vec<Traffic>,
}

impl Traffics {
    pub(super) fn count(&mut self, request: &Request) {
        let class = usize::from(request.class.0);
        if class >= self.by_class.len() {
            self.by_class.resize(class + 1, Traffic::default());
        }
        self.by_class[class].count(request);
        self.total.count(request);
    }

    pub(super) fn total(&self) -> Traffic {
        self.total
    }

    pub(super) fn of(&self, class: ClassTag) -> Traffic {
        self.by_class.get(usize::from(class.0)).copied().unwrap_or_default()
    }
}
