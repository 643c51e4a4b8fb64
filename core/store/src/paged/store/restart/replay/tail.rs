//! The log's tail, which may be in a volatile cache only, is written once more and vouched for.

use super::{IN_FLIGHT_MAX, Replay, ReplayStage};
use crate::paged::api::StoreDevice;
use crate::paged::ids::Lsn;
use crate::paged::log::witness;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{RequestPurpose, RestartRequest};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::stream::{Stream, StreamProgress};

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

    /// Reads the log's tail once more and writes it again as it is, as far as its records are those that the first reading has found, and has it
    /// flushed with the data beside it.
    pub(super) fn rewrite_tail(&mut self) -> bool {
        let target = self.superblock.layout.log_target;
        let replay = self.replay();
        let end = replay.marks.end;
        let mut is_cut = false;
        let progress = replay.stream.pump(|_, record| {
            is_cut = record.position >= end;
            !is_cut
        });
        for (at, blocks) in replay.stream.take_passed() {
            replay.write_again(target, at, &blocks);
        }
        match progress {
            Some(StreamProgress::Wait) => {
                return !replay.write_back.is_empty()
                    || replay.may_read_on() && replay.stream.wants_reads();
            }
            // What is read now is not what was read before, so it is not written either.
            Some(StreamProgress::End) if replay.stream.scan().position() < end => {
                let end = replay.stream.scan().position();
                return self.replay_failed(RestartFault::LogDamaged(end));
            }
            Some(StreamProgress::End) | None => {}
        }
        let (at, blocks) = replay.stream.blocks_to(end);
        let blocks = blocks.to_vec();
        replay.write_again(target, at, &blocks);
        replay.stage = ReplayStage::Flush { is_begun: false };
        true
    }

    /// Has what was written again flushed, the log and what stands beside it.
    pub(super) fn flush_tail(&mut self, is_begun: bool) -> bool {
        let target = self.superblock.layout.log_target;
        let replay = self.replay();
        if replay.in_flight > 0 {
            return false;
        }
        if is_begun {
            return self.vouch_for_tail();
        }
        replay.stage = ReplayStage::Flush { is_begun: true };
        self.flush_in_replay(target);
        if target != StoreDevice::Data {
            self.flush_in_replay(StoreDevice::Data);
        }
        true
    }

    /// The log is durable to its end, and the witness says so before anything relies on it.
    fn vouch_for_tail(&mut self) -> bool {
        let class = self.options.classes.restart;
        let places = self.superblock.layout.witness_offsets();
        let replay = self.replay();
        let end = replay.marks.end;
        let Some(places) = places.filter(|_| replay.marks.witnessed < end) else {
            return self.begin_to_apply();
        };
        replay.in_flight += places.len() as u32;
        replay.stage = ReplayStage::Vouch { is_written: false };
        let bytes = witness::encode(&replay.ring, end);
        for offset in places {
            let purpose = RequestPurpose::Restart(RestartRequest::Witness);
            self.requests.write(purpose, StoreDevice::Data, offset, class, bytes.clone());
        }
        true
    }

    /// Has the witness flushed.
    pub(super) fn flush_witness(&mut self, is_written: bool) -> bool {
        let replay = self.replay();
        if replay.in_flight > 0 {
            return false;
        }
        if is_written {
            return self.begin_to_apply();
        }
        replay.stage = ReplayStage::Vouch { is_written: true };
        self.flush_in_replay(StoreDevice::Data);
        true
    }

    fn flush_in_replay(&mut self, target: StoreDevice) {
        self.replay().in_flight += 1;
        let class = self.options.classes.restart;
        let purpose = RequestPurpose::Restart(RestartRequest::Flush(target));
        self.requests.flush(purpose, target, class);
    }

    /// The log that was found stays whatever happens now.
    fn begin_to_apply(&mut self) -> bool {
        let completed = self.superblock.completed;
        let replay = self.replay();
        replay.stream = Stream::new(replay.ring, 3, completed.position, completed.chain);
        replay.stage = ReplayStage::Apply;
        true
    }
}

impl Replay {
    pub(super) fn begin_rewriting(&mut self) {
        let (position, chain) = self.tail_starts[0];
        self.stream = Stream::new(self.ring, 2, position, chain).keeping();
        self.stage = ReplayStage::Rewrite;
    }

    /// Whether more of the log is to be read now. The tail is written as fast as it is read.
    pub(super) fn may_read_on(&self) -> bool {
        match self.stage {
            ReplayStage::Scan
            | ReplayStage::Compare
            | ReplayStage::Release
            | ReplayStage::Apply => true,
            ReplayStage::Rewrite => self.in_flight < IN_FLIGHT_MAX,
            _ => false,
        }
    }

    /// These blocks of the log are to be written again, as far as they are not known to be durable.
    fn write_again(&mut self, target: StoreDevice, at: Lsn, blocks: &[u8]) {
        let ring = self.ring;
        let first = ring.block_start(self.marks.durable.0);
        let known = (first.saturating_sub(at.0) as usize).min(blocks.len());
        let (mut at, mut blocks) = (at.0 + known as u64, &blocks[known..]);
        while !blocks.is_empty() {
            let offset = ring.place(Lsn(at));
            let to_end = ring.offset + ring.bytes - offset;
            let (piece, rest) = blocks.split_at(blocks.len().min(to_end as usize));
            self.write_back.push((target, offset, piece.to_vec()));
            (at, blocks) = (at + piece.len() as u64, rest);
        }
    }
}
