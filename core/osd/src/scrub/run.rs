//! The scrub of one placement group on its primary, as a value: which chunk it is at, whose maps of it are here, which writes wait.

use super::chunk::{ChunkBounds, Preemptions};
use super::compare::{DigestsToRecord, ScrubMaps, compare, to_record};
use super::kind::ScrubRequest;
use super::map::{ScanAsked, ScrubMap, ScrubRange};
use super::record::ScrubProgress;
use crate::aside::AsideFor;
use crate::ids::{OpId, OsdId, OsdSet};
use crate::message::{ClientOp, Data};
use loadline_store::ObjectNo;
use std::collections::VecDeque;

/// What a scrub waits for, or does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScrubPhase {
    /// A slot on the first of these, in order of their numbers; or on all of them.
    Reserving(VecDeque<OsdId>),
    /// The call of this one, which had no slot. Nobody else's is held meanwhile.
    InLine(OsdId),
    /// The pause before a chunk, or the turn of the item that chooses it.
    BeforeChunk,
    /// Writes to the chunk that were begun before are carried out on all copies.
    WaitUpdates,
    /// Copies look what they have.
    WaitMaps,
    /// The item that compares has its turn next.
    Comparing,
}

/// A scrub under way.
#[derive(Debug)]
pub(crate) struct ScrubRun {
    /// Tells its items from those of earlier ones.
    pub number: u32,
    pub progress: ScrubProgress,
    pub phase: ScrubPhase,
    /// Whether all members were asked for a slot at once.
    asks_at_once: bool,
    /// Who holds a slot for it.
    pub reserved: OsdSet,
    /// Who has called it since it stood in line.
    called_by: Option<OsdId>,
    /// The present chunk. Writes to it wait, or break it off.
    chunk: Option<ScrubRange>,
    preemptions: Preemptions,
    preemptions_most: u32,
    maps: ScrubMaps,
    blocked: Vec<(ClientOp, Data)>,
}

/// What becomes of a write to a placement group that is scrubbed.
pub(crate) enum WriteMeets {
    /// It goes on.
    Nothing,
    /// It goes on, and the chunk begins anew.
    Preempts,
    /// It waits until the chunk is compared.
    Waits,
}

impl ScrubRun {
    pub(crate) fn new(
        number: u32,
        progress: ScrubProgress,
        members: OsdSet,
        (asks_at_once, preemptions_most): (bool, u32),
    ) -> ScrubRun {
        ScrubRun {
            number,
            progress,
            phase: ScrubPhase::Reserving(members.iter().collect()),
            asks_at_once,
            reserved: OsdSet::EMPTY,
            called_by: None,
            chunk: None,
            preemptions: Preemptions::new(preemptions_most),
            preemptions_most,
            maps: ScrubMaps::new(),
            blocked: Vec::new(),
        }
    }

    pub(crate) fn request(&self) -> ScrubRequest {
        self.progress.request
    }

    /// Whether it waits for slots.
    pub(crate) fn is_reserving(&self) -> bool {
        matches!(self.phase, ScrubPhase::Reserving(_) | ScrubPhase::InLine(_))
    }

    /// Who is to give it a slot now, or to call it.
    pub(crate) fn asked(&self) -> OsdSet {
        match &self.phase {
            ScrubPhase::Reserving(left) if self.asks_at_once => left.iter().copied().collect(),
            ScrubPhase::Reserving(left) => left.front().copied().into_iter().collect(),
            ScrubPhase::InLine(at) => OsdSet::one(*at),
            _ => OsdSet::EMPTY,
        }
    }

    /// Who is to be asked next, when one of them has given a slot.
    pub(crate) fn next_to_ask(&self) -> Option<OsdId> {
        self.asked().iter().next().filter(|_| !self.asks_at_once)
    }

    /// A slot was granted by the one who was asked. Whether it was the last.
    pub(crate) fn granted(&mut self, by: OsdId) -> bool {
        let was_asked = self.asked().contains(by);
        let ScrubPhase::Reserving(left) = &mut self.phase else { return false };
        if !was_asked {
            return false;
        }
        left.retain(|osd| *osd != by);
        self.reserved.insert(by);
        let is_last = left.is_empty();
        if is_last {
            self.phase = ScrubPhase::BeforeChunk;
        }
        is_last
    }

    /// It stands in the line of one who was asked and has no slot. Who is told that it needs nothing of them meanwhile.
    pub(crate) fn stands_in_line(&mut self, at: OsdId) -> OsdSet {
        let ScrubPhase::Reserving(_) = self.phase else { return OsdSet::EMPTY };
        let mut others = self.claimed();
        others.remove(at);
        (self.phase, self.reserved, self.called_by) = (ScrubPhase::InLine(at), OsdSet::EMPTY, None);
        others
    }

    /// Whoever has called it has a slot, for now: all are asked again. The first of them, if it waited for this call.
    pub(crate) fn called(&mut self, by: OsdId) -> Option<OsdId> {
        if self.phase != ScrubPhase::InLine(by) {
            return None;
        }
        self.called_by = Some(by);
        self.phase = ScrubPhase::Reserving(self.progress.members.iter().collect());
        self.asked().iter().next()
    }

    /// Who has given a slot, was asked for one, or waits for it to ask.
    pub(crate) fn claimed(&self) -> OsdSet {
        let called_by = self.called_by.map_or(OsdSet::EMPTY, OsdSet::one);
        self.reserved.with(self.asked()).with(called_by)
    }

    /// The bounds of the next chunk.
    pub(crate) fn bounds(&self, bounds: ChunkBounds) -> ChunkBounds {
        bounds.divided(self.preemptions.divisor())
    }

    /// From now on writes up to this object wait, or break the chunk off.
    pub(crate) fn begin_chunk(&mut self, number: u32, last: Option<ObjectNo>) {
        self.chunk = Some(ScrubRange { number, after: self.progress.reached, last });
        self.phase = ScrubPhase::WaitUpdates;
    }

    pub(crate) fn chunk(&self) -> Option<ScrubRange> {
        self.chunk
    }

    /// What each copy is asked.
    pub(crate) fn scan(&mut self) -> ScanAsked {
        let request = self.request();
        self.phase = ScrubPhase::WaitMaps;
        ScanAsked {
            range: self.chunk.expect("a chunk was chosen"),
            kind: request.kind,
            is_requested: request.is_requested,
            may_be_preempted: self.preemptions.is_any_left(),
        }
    }

    /// What a write to this object meets.
    pub(crate) fn meets(&self, object: ObjectNo) -> WriteMeets {
        match self.chunk {
            Some(chunk) if chunk.contains(object) => match self.phase {
                ScrubPhase::Comparing => WriteMeets::Waits,
                _ if self.preemptions.is_any_left() => WriteMeets::Preempts,
                _ => WriteMeets::Waits,
            },
            _ => WriteMeets::Nothing,
        }
    }

    /// A write waits until the chunk is compared.
    pub(crate) fn block(&mut self, mut op: ClientOp, data: Data) {
        op.aside.add(AsideFor::Scrub);
        self.blocked.push((op, data));
    }

    /// Whether this one does.
    pub(crate) fn blocks(&self, op: OpId) -> bool {
        self.blocked.iter().any(|(it, _)| it.id == op)
    }

    pub(crate) fn has_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// The writes that waited, in their order.
    pub(crate) fn take_blocked(&mut self) -> Vec<(ClientOp, Data)> {
        std::mem::take(&mut self.blocked)
    }

    /// The chunk is broken off, to begin anew with fewer objects.
    pub(crate) fn preempt(&mut self) {
        self.preemptions.use_one();
        self.drop_chunk();
    }

    fn drop_chunk(&mut self) {
        self.chunk = None;
        self.maps.clear();
        self.phase = ScrubPhase::BeforeChunk;
    }

    /// A copy's map of the present chunk is here. Whether it was the last of so many.
    pub(crate) fn take_map(&mut self, from: OsdId, map: ScrubMap) -> bool {
        let is_awaited = self.phase == ScrubPhase::WaitMaps
            && self.chunk.is_some_and(|chunk| chunk.number == map.number);
        if !is_awaited {
            return false;
        }
        self.maps.insert(from, map);
        let is_last = self.maps.len() == self.reserved.len() as usize;
        if is_last {
            self.phase = ScrubPhase::Comparing;
        }
        is_last
    }

    /// Compares the chunk's copies. The answer is whether it was the last one, and which copy has digests to record.
    pub(crate) fn compare(&mut self, primary: OsdId) -> (bool, DigestsToRecord) {
        let chunk = self.chunk.expect("a chunk is compared");
        let found = compare(primary, &self.maps);
        let to_record = to_record(&self.maps, &found);
        let own = self.maps.get(&primary).map_or(0, |map| map.states.len());
        self.progress.objects += own as u64;
        self.progress.findings.extend(found);
        self.progress.reached = chunk.last;
        self.preemptions = Preemptions::new(self.preemptions_most);
        self.drop_chunk();
        (chunk.last.is_none(), to_record)
    }
}
