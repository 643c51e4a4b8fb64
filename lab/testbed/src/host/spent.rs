//! Processor time of a run: what the node takes, told apart from the thread that sends its clients' ops. All of it is this process's.

use crate::ProcessorUse;
use loadline_base::{Bytes, Span};
use loadline_host::Clock;

/// Processor time so far.
#[derive(Clone, Copy, Debug)]
struct Spent {
    /// All of this process but this thread: the node's thread, and the kernel's for it.
    node: Span,
    /// Of this thread.
    client: Span,
}

impl Spent {
    fn now() -> Spent {
        let client = Clock::thread_time();
        Spent { node: Clock::processor_time() - client, client }
    }

    /// Microseconds of node and client since then, for each of so many.
    fn each_since(before: Spent, count: f64) -> (f64, f64) {
        let now = Spent::now();
        let each = |now: Span, before: Span| (now - before).as_secs_f64() * 1e6 / count;
        (each(now.node, before.node), each(now.client, before.client))
    }
}

/// Counts processor time in the parts of a run.
pub(super) struct ProcessorCount {
    since: Spent,
    found: ProcessorUse,
}

impl ProcessorCount {
    pub(super) fn start() -> ProcessorCount {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        ProcessorCount { since: Spent::now(), found: ProcessorUse { cores, ..Default::default() } }
    }

    /// A part of the run begins.
    pub(super) fn begin(&mut self) {
        self.since = Spent::now();
    }

    /// A part in which so much was written, every copy counted, is over.
    pub(super) fn filled(&mut self, written: Bytes) {
        if written > Bytes::ZERO {
            self.found.fill_us_per_mib = Spent::each_since(self.since, written.as_mib_f64()).0;
        }
    }

    /// A part in which clients completed so many ops is over.
    pub(super) fn loaded(&mut self, ops: u64) {
        if ops > 0 {
            (self.found.node_us_per_op, self.found.client_us_per_op) =
                Spent::each_since(self.since, ops as f64);
        }
    }

    /// What was found.
    pub(super) fn found(&self) -> ProcessorUse {
        self.found
    }
}
