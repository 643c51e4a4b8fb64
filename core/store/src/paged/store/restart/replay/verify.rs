//! Data beside the log that no flush is known to cover: it is all there, or the log ends before the record that speaks of it.
//!
//! The log's tail is read once more for it, a record at a time, with a few runs on their way, so nothing depends on how much of it there is. What the first reading has
//! taken for records behind the end that is found here is given back by reading on.

use super::own_data::{Compared, OwnData};
use super::{Replay, ReplayStage};
use crate::paged::api::StoreDevice;
use crate::paged::bounds::RUNS_COMPARED;
use crate::paged::contents::each_run;
use crate::paged::ids::PageSize;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{RequestPurpose, RestartRequest};
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::state::RestartPhase;
use crate::paged::store::restart::stream::{Stream, StreamProgress};

/// The numbers of streams that read the tail: answers to one that was before are not taken for this one's.
const COMPARING: u32 = 4;
const RELEASING: u32 = 5;

impl<T: Copy> PagedStore<T> {
    /// The end of the log is where the first reading found it, unless data of its tail is not there.
    pub(super) fn begin_to_compare(&mut self) -> bool {
        let replay = self.replay();
        replay.own_data.scanned = replay.marks.end;
        if replay.marks.last_place <= replay.marks.durable {
            return self.begin_to_rewrite();
        }
        replay.read_tail(COMPARING);
        replay.stage = ReplayStage::Compare;
        true
    }

    /// Reads back the data of records that are not known to be durable.
    pub(super) fn compare_own_data(&mut self) -> bool {
        let replay = self.replay();
        let end = replay.marks.end;
        replay.own_data.next.retain(|compared| compared.record < end);
        if !self.ask_for_own_data() {
            return false;
        }
        let replay = self.replay();
        let progress = replay.note_own_data();
        let position = replay.stream.scan().position();
        match progress {
            _ if !replay.own_data.next.is_empty() => return true,
            Some(StreamProgress::Wait) => return replay.stream.wants_reads(),
            // What is read now is not what was read before.
            Some(StreamProgress::End) if position < end => {
                return self.replay_failed(RestartFault::LogDamaged(position));
            }
            Some(StreamProgress::End) | None => {}
        }
        if replay.in_flight > 0 || !replay.write_back.is_empty() {
            return false;
        }
        if end == replay.own_data.scanned {
            return self.begin_to_rewrite();
        }
        replay.read_tail(RELEASING);
        replay.stage = ReplayStage::Release;
        true
    }

    /// Asks for what of the record at hand is to be compared, as far as it goes. Answers whether all of it is on its way.
    fn ask_for_own_data(&mut self) -> bool {
        let class = self.options.classes.restart;
        let page = self.superblock.layout.page;
        loop {
            let replay = self.replay();
            if replay.own_data.next.is_empty() {
                return true;
            }
            // What was read is written before more is read.
            if replay.in_flight >= RUNS_COMPARED as u32 {
                return false;
            }
            let OwnData { next, reads, .. } = &mut replay.own_data;
            let Some(at) = reads.iter().position(Option::is_none) else { return false };
            let compared = next.pop_front().expect("there is one");
            let run = &compared.run;
            let place = (page.offset(run.first), (run.sums.len() * page.bytes()) as u64);
            reads[at] = Some(compared);
            replay.in_flight += 1;
            let purpose = RequestPurpose::Restart(RestartRequest::Own(at));
            self.requests.read(purpose, StoreDevice::Data, place, class);
        }
    }

    /// Reads the tail once more, and gives back what its first reading has taken for records behind the end.
    pub(super) fn release_behind_the_end(&mut self) -> bool {
        let allocator = &mut self.space.pages.allocator;
        let restart = self.restart.as_mut().expect("a restart runs");
        let RestartPhase::Replay(replay) = &mut restart.phase else { unreachable!("it runs") };
        let (end, scanned) = (replay.marks.end, replay.own_data.scanned);
        let refused = replay.own_data.refused;
        let (first, carried) = (replay.first, replay.progress);
        let progress = replay.stream.pump(|_, record| {
            if record.position >= scanned {
                return false;
            }
            if record.position >= end {
                each_run(first, carried, &record, |at, run| {
                    if refused.is_none_or(|refused| (record.position, at) < refused) {
                        allocator.unclaim(run.pages());
                    }
                });
            }
            true
        });
        let position = replay.stream.scan().position();
        match progress {
            Some(StreamProgress::Wait) => replay.stream.wants_reads(),
            Some(StreamProgress::End) if position < scanned => {
                self.replay_failed(RestartFault::LogDamaged(position))
            }
            Some(StreamProgress::End) | None => self.begin_to_rewrite(),
        }
    }

    fn begin_to_rewrite(&mut self) -> bool {
        let replay = self.replay();
        // Behind the end it is nothing.
        if let Some((record, _)) =
            replay.own_data.refused.filter(|(record, _)| *record < replay.marks.end)
        {
            return self.replay_failed(RestartFault::Record(record));
        }
        replay.begin_rewriting();
        true
    }
}

impl Replay {
    /// Reads the log from where nothing says that it is durable.
    fn read_tail(&mut self, number: u32) {
        let (position, chain) = self.tail_starts[0];
        self.stream = Stream::new(self.ring, number, position, chain);
    }

    /// Goes on to the next record of which data is to be compared. Nothing is answered if it has come to one, or to the end.
    fn note_own_data(&mut self) -> Option<StreamProgress> {
        let marks = self.marks;
        let (first, carried) = (self.first, self.progress);
        let next = &mut self.own_data.next;
        self.stream.pump(|_, record| {
            if record.position >= marks.end || !next.is_empty() {
                return false;
            }
            if record.position >= marks.durable {
                each_run(first, carried, &record, |_, run| {
                    // What is lost was never written.
                    if !run.is_lost() {
                        next.push_back(Compared { record: record.position, run });
                    }
                });
            }
            true
        })
    }

    /// Where a run stands on its device that was asked for.
    pub(super) fn own_place(&self, at: usize, page: PageSize) -> u64 {
        self.own_data.reads[at].as_ref().map_or(0, |compared| page.offset(compared.run.first))
    }

    /// Data that stands beside the log: it is all there, or the log ends before the record that speaks of it.
    pub(super) fn own_data_read(&mut self, at: usize, data: Vec<u8>) {
        let Compared { record, run } = self.own_data.reads[at].take().expect("it was asked for");
        let page = data.len() / run.sums.len();
        let is_whole = data
            .chunks_exact(page)
            .zip(&run.sums)
            .all(|(bytes, sum)| crc32c::crc32c(bytes) == *sum);
        if is_whole {
            self.write_back.push((StoreDevice::Data, run.first.0 * page as u64, data));
        } else {
            self.marks.end = self.marks.end.min(record);
        }
    }
}
