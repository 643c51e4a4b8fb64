//! A copy's look at a range of its objects, as a value.

use super::found::ScrubError;
use super::kind::ScrubKind;
use super::map::{ScanAsked, ScannedState, ScrubMap};
use super::options::ScrubReading;
use super::recorded::recorded_for;
use crate::ids::OsdId;
use crate::shard::KeptWorker;
use crate::snapshots::SnapshotNo;
use loadline_store::paged::{ObjectDigest, OwnPages};
use loadline_store::{ObjectMeta, ObjectNo};
use std::collections::VecDeque;
use std::ops::Range;

/// A state of an object.
pub(crate) type StateId = (ObjectNo, SnapshotNo);

/// A range that this OSD looks at.
#[derive(Debug)]
pub(crate) struct RangeScan {
    pub asked: ScanAsked,
    /// The primary.
    pub asker: OsdId,
    map: ScrubMap,
    /// What is still to be read.
    left: VecDeque<StateId>,
    /// How much of the first of these was read.
    offset: u64,
    /// Reads under way.
    reading: u32,
    /// Bytes that the present step of the queue has read, and those of its last read.
    spent: u64,
    last: u64,
    /// Pages of the store's own making that are still to be read, and bytes of those that no step was charged for.
    own_pages: VecDeque<OwnPages>,
    uncharged: u64,
    /// The worker that waits for what the present step reads, where it does.
    pub keeps: Option<KeptWorker>,
}

impl RangeScan {
    /// Nothing is looked at yet.
    pub(crate) fn new(asker: OsdId, asked: ScanAsked) -> RangeScan {
        let map = ScrubMap { number: asked.range.number, ..ScrubMap::default() };
        RangeScan {
            asked,
            asker,
            map,
            left: VecDeque::new(),
            offset: 0,
            reading: 0,
            spent: 0,
            last: 0,
            own_pages: VecDeque::new(),
            uncharged: 0,
            keeps: None,
        }
    }

    /// These pages of the store's own making are to be read as well.
    pub(crate) fn add_own_pages(&mut self, pages: impl IntoIterator<Item = OwnPages>) {
        self.own_pages.extend(pages);
    }

    /// Which of these are next.
    pub(crate) fn next_own_pages(&mut self) -> Option<OwnPages> {
        self.own_pages.pop_front()
    }

    /// So many bytes of them were read.
    pub(crate) fn own_pages_read(&mut self, bytes: u64) {
        self.uncharged += bytes;
        self.map.read_bytes += bytes;
    }

    /// The OSD has these states of objects in the range, and objects with this past.
    pub(crate) fn list(
        &mut self,
        states: impl IntoIterator<Item = (StateId, ObjectMeta)>,
        pasts: impl IntoIterator<Item = (ObjectNo, u64)>,
    ) {
        for (id, meta) in states {
            self.map.states.insert(id, ScannedState { meta, ..ScannedState::default() });
            if self.asked.kind == ScrubKind::Deep {
                self.left.push_back(id);
            }
        }
        self.map.pasts.extend(pasts);
    }

    /// The disk has these states of objects in the range, in order.
    pub(crate) fn compare_with_disk(&mut self, on_disk: &[(StateId, ObjectMeta)]) {
        for (id, state) in &mut self.map.states {
            let found = on_disk.binary_search_by_key(id, |(id, _)| *id);
            if found.map(|at| on_disk[at].1) != Ok(state.meta) {
                state.errors.add(ScrubError::Stat);
            }
        }
    }

    /// Nothing of the range can be listed.
    pub(crate) fn disk_unreadable(&mut self) {
        for state in self.map.states.values_mut() {
            state.errors.add(ScrubError::Stat);
        }
    }

    /// What to read next, of at most so many bytes, if anything is left.
    pub(crate) fn next(&mut self, bytes_max: u64) -> Option<(StateId, Range<u64>)> {
        let id = *self.left.front()?;
        let length = self.map.states[&id].meta.length;
        let range = self.offset..length.min(self.offset.saturating_add(bytes_max));
        self.offset = range.end;
        if range.end == length {
            self.left.pop_front();
            self.offset = 0;
        }
        let bytes = range.end - range.start;
        (self.reading, self.spent, self.last) = (self.reading + 1, self.spent + bytes, bytes);
        self.map.read_bytes += bytes;
        Some((id, range))
    }

    /// Another step of the queue begins.
    pub(crate) fn begin_step(&mut self, keeps: Option<KeptWorker>) {
        (self.spent, self.last, self.keeps) = (0, 0, keeps);
    }

    /// Whether something is left that the present step may not begin.
    pub(crate) fn is_step_over(&self, reading: ScrubReading) -> bool {
        let is_over = match reading {
            ScrubReading::Strides(bytes) => self.last >= bytes,
            ScrubReading::Ahead { bytes, .. } => self.spent >= bytes,
        };
        is_over && !self.left.is_empty()
    }

    /// Bytes that a step will read which begins nothing more when it has read so many, and those that were read before and not charged.
    pub(crate) fn take_step_bytes(&mut self, most: u64) -> u64 {
        let uncharged = std::mem::take(&mut self.uncharged);
        let mut bytes = 0;
        for id in &self.left {
            if bytes >= most {
                break;
            }
            bytes += self.map.states[id].meta.length;
        }
        bytes.saturating_sub(self.offset) + uncharged
    }

    /// A state was read: what came of it, where a store keeps bytes.
    pub(crate) fn read(&mut self, id: StateId, result: Result<Option<ObjectDigest>, ScrubError>) {
        self.reading -= 1;
        let state = self.map.states.get_mut(&id).expect("it was listed");
        match result {
            Ok(None) => {}
            Ok(Some(ObjectDigest { sum, notes })) => {
                state.digest = Some(sum);
                state.recorded = recorded_for(state.meta.version, &notes);
            }
            Err(error) => state.errors.add(error),
        }
    }

    /// Reads under way.
    pub(crate) fn reading(&self) -> u32 {
        self.reading
    }

    /// Whether nothing is left to be read, or being read.
    pub(crate) fn is_over(&self) -> bool {
        self.left.is_empty() && self.reading == 0
    }

    /// What was seen.
    pub(crate) fn into_map(self) -> ScrubMap {
        self.map
    }
}

/// For tests of what one state looks like.
#[cfg(test)]
mod tests {
    use super::super::map::ScrubRange;
    use super::*;
    use loadline_store::Version;

    #[test]
    fn what_the_disk_does_not_tell_is_an_error_of_that_copy() {
        let range = ScrubRange { number: 3, after: None, last: None };
        let asked =
            ScanAsked { range, kind: ScrubKind::Deep, is_requested: true, may_be_preempted: true };
        let meta = |version| ObjectMeta { version: Version(version), length: 10 };
        let id = |object| (ObjectNo(object), SnapshotNo::HEAD);
        let mut scan = RangeScan::new(OsdId::new(1), asked);
        scan.list([(id(1), meta(5)), (id(2), meta(6)), (id(3), meta(7))], []);
        scan.compare_with_disk(&[(id(1), meta(5)), (id(2), meta(9))]);
        scan.own_pages_read(5);
        assert_eq!([1, 1, 11].map(|most| scan.take_step_bytes(most)), [15, 10, 20]);
        while let Some((id, range)) = scan.next(7) {
            let is_end = range == (7..10);
            assert!((is_end || range == (0..7)) && scan.reading() == 1, "{range:?}");
            if !is_end {
                scan.read(id, Ok(None));
                continue;
            }
            let digest = ObjectDigest { sum: 4, notes: Vec::new() };
            let is_bad = id.0 == ObjectNo(1);
            scan.read(id, if is_bad { Err(ScrubError::Read) } else { Ok(Some(digest)) });
        }
        assert!(scan.is_over());
        let map = scan.into_map();
        assert_eq!((map.number, map.read_bytes), (3, 35));
        let errors: Vec<Vec<ScrubError>> =
            map.states.values().map(|state| state.errors.iter().collect()).collect();
        assert_eq!(
            errors,
            [vec![ScrubError::Read], vec![ScrubError::Stat], vec![ScrubError::Stat]]
        );
        assert_eq!(map.states[&id(3)].digest, Some(4));
    }
}
