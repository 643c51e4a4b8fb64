//! The direct store passes the contract of every store.

use loadline_base::{Bytes, Time};
use loadline_device::{ClassTag, Outcome};
use loadline_store::contract::{World, check};
use loadline_store::paged::{Answer, IoDone, Op, OpError, Outbox};
use loadline_store::{DirectOps, Store, WindowBounds};

/// A device that answers at once.
struct Instant {
    store: DirectOps<u64>,
    out: Outbox<u64>,
    classes: Vec<ClassTag>,
}

impl World for Instant {
    fn submit(&mut self, op: Op<u64>) {
        self.store.submit(Time::ZERO, op, &mut self.out);
    }

    fn run(&mut self) -> Vec<(u64, Result<Answer, OpError>)> {
        while !self.out.io.is_empty() {
            for io in std::mem::take(&mut self.out.io) {
                self.classes.push(io.request.class);
                let done = IoDone { id: io.id, outcome: Outcome::Done, data: Vec::new() };
                self.store.done(Time::ZERO, done, &mut self.out);
            }
        }
        self.out.completions.drain(..).map(|done| (done.token, done.result)).collect()
    }

    fn crash(&mut self) {
        self.store.restart();
    }

    fn classes(&self) -> Vec<ClassTag> {
        self.classes.clone()
    }
}

#[test]
fn the_direct_store_keeps_the_contract() {
    let bounds = WindowBounds { bytes: Bytes::from_kib(256), ops: 16 };
    check(|| Instant { store: DirectOps::new(bounds), out: Outbox::new(), classes: Vec::new() });
}
