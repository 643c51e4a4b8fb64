//! What may be in a volatile cache only: data beside the log that no flush is known to cover, and the log's tail.

use super::{IN_FLIGHT_MAX, PIECE, Placed, ReplayStage};
use crate::paged::api::StoreDevice;
use crate::paged::ids::Lsn;
use crate::paged::space::PageRun;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{RequestPurpose, RestartRequest};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::stream::Stream;

impl<T: Copy> PagedStore<T> {
    /// Writes again what was read back.
    pub(super) fn write_back(&mut self) {
        let class = self.options.classes.restart;
        for (target, offset, data) in std::mem::take(&mut self.replay().write_back) {
            self.replay().in_flight += 1;
            self.requests.write(
                RequestPurpose::Restart(RestartRequest::Home),
                target,
                offset,
                class,
                data,
            );
        }
    }

    /// Reads back the data of records that are not known to be durable.
    pub(super) fn verify(&mut self, mut next: usize) -> bool {
        let class = self.options.classes.restart;
        let page = self.superblock.layout.page;
        while self.replay().in_flight < IN_FLIGHT_MAX {
            let replay = self.replay();
            let Some(Placed { record, run, .. }) = replay.placed.get(next) else { break };
            let at = next;
            next += 1;
            // What is lost was never written.
            if *record >= replay.marks.durable && !run.is_lost() {
                let place = (page.offset(run.first), (run.sums.len() * page.bytes()) as u64);
                replay.in_flight += 1;
                let purpose = RequestPurpose::Restart(RestartRequest::Own(at));
                self.requests.read(purpose, StoreDevice::Data, place, class);
            }
        }
        let replay = self.replay();
        replay.stage = ReplayStage::Verify { next };
        if replay.in_flight > 0 || next < replay.placed.len() || !replay.write_back.is_empty() {
            return false;
        }
        self.claim_placed()
    }

    /// Takes the pages that the log speaks of, so that the replay gives them to nobody else.
    fn claim_placed(&mut self) -> bool {
        let end = self.replay().marks.end;
        for Placed { record, run, .. } in std::mem::take(&mut self.replay().placed) {
            let pages = PageRun { first: run.first, count: run.sums.len() as u64 };
            if record < end && !self.space.pages.allocator.claim(pages) {
                return self.replay_failed(RestartFault::Record(record));
            }
        }
        let replay = self.replay();
        let next = Lsn(replay.marks.durable.0 / replay.ring.block * replay.ring.block);
        replay.stage = ReplayStage::Rewrite { next };
        true
    }

    /// Reads the log's tail and writes it again as it is, and has it flushed.
    pub(super) fn rewrite_tail(&mut self, mut next: Lsn) -> bool {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        let ring = self.replay().ring;
        let end = self.replay().marks.end.0.next_multiple_of(ring.block);
        while next.0 < end && self.replay().in_flight < IN_FLIGHT_MAX {
            let offset = ring.place(next);
            let length = PIECE.min(end - next.0).min(ring.offset + ring.bytes - offset);
            next = Lsn(next.0 + length);
            self.replay().in_flight += 1;
            let purpose = RequestPurpose::Restart(RestartRequest::Tail(target, offset));
            self.requests.read(purpose, target, (offset, length), class);
        }
        let replay = self.replay();
        replay.stage = ReplayStage::Rewrite { next };
        if next.0 < end || replay.in_flight > 0 || !replay.write_back.is_empty() {
            return false;
        }
        replay.in_flight = 1;
        replay.stage = ReplayStage::Flush;
        self.requests.flush(RequestPurpose::Restart(RestartRequest::Flush), target, class);
        true
    }

    /// The log that was found stays whatever happens now.
    pub(super) fn begin_to_apply(&mut self) -> bool {
        let completed = self.superblock.completed;
        let replay = self.replay();
        if replay.in_flight > 0 {
            return false;
        }
        replay.stream = Stream::new(replay.ring, 2, completed.position, completed.chain);
        replay.stage = ReplayStage::Apply;
        true
    }
}
