//! The stages of the replay, and what comes after what.

use super::own_data::Places;
use super::{Replay, ReplayStage};
use crate::paged::api::StoreDevice;
use crate::paged::contents;
use crate::paged::ids::Lsn;
use crate::paged::log::{LogRing, ProofSearch};
use crate::paged::store::PagedStore;
use crate::paged::store::requests::RequestPurpose;
use crate::paged::store::restart::RestartFault;
use crate::paged::store::restart::state::RestartPhase;
use crate::paged::store::restart::stream::{Stream, StreamProgress};

impl<T: Copy> PagedStore<T> {
    pub(in crate::paged::store::restart) fn begin_replay(&mut self) {
        let completed = self.superblock.completed;
        let ring = LogRing::new(&self.superblock);
        let restart = self.restarting();
        restart.replayed = (completed.position, completed.chain);
        let witnessed = restart.witnessed;
        let replay = Replay::new(ring, completed.position, completed.chain, witnessed);
        restart.phase = RestartPhase::Replay(Box::new(replay));
    }

    pub(super) fn replay(&mut self) -> &mut Replay {
        match &mut self.restarting().phase {
            RestartPhase::Replay(replay) => replay,
            _ => unreachable!("the replay runs"),
        }
    }

    /// The byte of the log's device that the replay needs and cannot have.
    fn replay_unreadable(&self) -> Option<u64> {
        match &self.restart.as_ref()?.phase {
            RestartPhase::Replay(replay) => replay.stream.unreadable(),
            _ => None,
        }
    }

    pub(super) fn replay_failed(&mut self, fault: RestartFault) -> bool {
        self.give_up(fault);
        false
    }

    /// Goes on with the replay. Answers whether the next phase has begun.
    pub(in crate::paged::store::restart) fn advance_replay(&mut self) -> bool {
        loop {
            self.read_log_ahead();
            self.write_back();
            let went_on = match self.replay().stage {
                ReplayStage::Carried => self.find_carried(),
                ReplayStage::Scan => self.find_end(),
                ReplayStage::Compare => self.compare_own_data(),
                ReplayStage::Release => self.release_behind_the_end(),
                ReplayStage::Rewrite => self.rewrite_tail(),
                ReplayStage::Flush { is_begun } => self.flush_tail(is_begun),
                ReplayStage::Vouch { is_written } => self.flush_witness(is_written),
                ReplayStage::Apply => self.apply_log(),
                ReplayStage::Done => {
                    self.let_pages_go();
                    self.flush_restart();
                    return true;
                }
            };
            if let Some(at) = self.replay_unreadable() {
                return self.replay_failed(RestartFault::Unreadable(StoreDevice::Log, at));
            }
            if !went_on || self.fault.is_some() {
                return false;
            }
        }
    }

    fn read_log_ahead(&mut self) {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        while self.replay().may_read_on() {
            let Some((request, offset, length)) = self.replay().stream.next_read() else { return };
            self.requests.read(RequestPurpose::Restart(request), target, (offset, length), class);
        }
    }

    /// The first reading. It takes the pages that the log speaks of, so that the replay gives them to nobody else.
    fn find_end(&mut self) -> bool {
        let layout = &self.superblock.layout;
        let mut places = Places { layout, allocator: &mut self.space.pages.allocator };
        let restart = self.restart.as_mut().expect("a restart runs");
        let RestartPhase::Replay(replay) = &mut restart.phase else { unreachable!("it runs") };
        if replay.search.is_some() {
            return self.look_behind_the_end();
        }
        let ring = replay.ring;
        let mut stream = std::mem::replace(&mut replay.stream, Stream::new(ring, 0, Lsn(0), 0));
        let mut result = Ok(());
        let progress = stream.pump(|before, record| {
            replay.note_start(before);
            result = replay.note(record, &mut places);
            result.is_ok()
        });
        replay.stream = stream;
        if let Err(fault) = result {
            return self.replay_failed(fault);
        }
        if !matches!(progress, Some(StreamProgress::End)) {
            return self.replay().stream.wants_reads();
        }
        let replay = self.replay();
        let end = replay.stream.scan().position();
        if replay.marks.witnessed > ring.next_record(end) {
            return self.replay_failed(RestartFault::LogDamaged(end));
        }
        replay.search = Some(ProofSearch::new(&ring, end));
        self.look_behind_the_end()
    }

    /// The end of the log is rot if something behind it says that the log was durable beyond, as it is if the witness says so.
    fn look_behind_the_end(&mut self) -> bool {
        let replay = self.replay();
        let end = replay.stream.scan().position();
        let search = replay.search.as_mut().expect("the log has been read to its end");
        match replay.stream.is_damaged(search) {
            Some(true) => self.replay_failed(RestartFault::LogDamaged(end)),
            Some(false) => {
                replay.marks.end = end;
                let first = replay.first;
                if replay.progress.is_some() && first.is_none_or(|(position, _)| position >= end) {
                    return self.replay_failed(RestartFault::LogEnds(end));
                }
                self.begin_to_compare()
            }
            None => replay.stream.wants_reads(),
        }
    }

    /// Whether the pages hold a part of the first transaction: the checkpoint that wrote them began while it was carried out. What
    /// that part has placed is neither compared nor claimed: it is the pages'.
    fn find_carried(&mut self) -> bool {
        self.space.pages.next_op();
        match contents::progress(&self.space) {
            Ok(progress) => {
                let replay = self.replay();
                replay.progress = progress;
                replay.stage = ReplayStage::Scan;
                true
            }
            Err(missing) => {
                self.load_for_replay(&[missing.into()]);
                false
            }
        }
    }
}
