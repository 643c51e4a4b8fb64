//! A state of an object that comes from another copy, as transactions that a store takes whatever the object holds: only
//! what holds data is written, and holes stay holes.
//!
//! The first makes what is to be changed: nothing, or a clone of the state that the copy has already and that shares most
//! of its pages. Until the last one the object has version 0, which says that it is not whole; a restart removes it.

use super::keys::object_id;
use crate::ids::PgId;
use crate::message::Data;
use crate::snapshots::SnapshotNo;
use loadline_store::paged::{Edit, ObjectId, Payload};
use loadline_store::{ObjectNo, Version};
use std::collections::VecDeque;
use std::ops::Range;

/// What one transaction writes at most, unless it goes beside the log: a client's write waits behind no more.
const STEP_BYTES: u64 = 64 << 10;
/// Ranges that one transaction is about, so that it is small whatever their length.
const STEP_RANGES: usize = 16;

/// What a state of an object is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The label of the state.
    pub label: SnapshotNo,
    pub length: u64,
    /// The state that the ranges are compared with, which is here; without one they are compared with zeros.
    pub base: Option<SnapshotNo>,
    pub data: Data,
}

/// A transaction and the bytes that it takes of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransactionStep {
    pub edits: Vec<Edit>,
    pub bytes: u64,
}

/// The transactions, in order. `first` goes with the first of them, `edits` with the last, which gives the object its version.
/// Writes of at least `direct` bytes go beside the log, `part` bytes at a time if that is said.
pub(super) fn steps_of(
    (pg, object): (PgId, ObjectNo),
    whole: Whole,
    version: Version,
    (mut first, mut edits): (Vec<Edit>, Vec<Edit>),
    (direct, part): (u64, Option<u64>),
) -> VecDeque<TransactionStep> {
    let Whole { label, length, base, data } = whole;
    let id = object_id(pg, object, label);
    first.push(match base {
        Some(base) => Edit::Clone { from: object_id(pg, object, base), to: id },
        None => Edit::Remove { object: id },
    });
    first.push(Edit::Truncate { object: id, length, version: Version::default() });
    let mut steps = VecDeque::from([TransactionStep { edits: first, bytes: 0 }]);
    let mut changes = changes_of(id, &data, (direct, part)).into_iter().peekable();
    while changes.peek().is_some() {
        let mut step = TransactionStep { edits: Vec::new(), bytes: 0 };
        while let Some((_, bytes)) = changes.peek()
            && (step.edits.is_empty()
                || step.edits.len() < STEP_RANGES && step.bytes + bytes <= STEP_BYTES)
        {
            let (edit, bytes) = changes.next().expect("it was looked at");
            step.edits.push(edit);
            step.bytes += bytes;
        }
        steps.push_back(step);
    }
    if steps.len() == 1 {
        edits.push(Edit::Truncate { object: id, length, version });
        steps.push_back(TransactionStep { edits, bytes: 0 });
        return steps;
    }
    let last = steps.back_mut().expect("there are two");
    last.edits.iter_mut().for_each(|edit| set_version(edit, version));
    edits.append(&mut last.edits);
    last.edits = edits;
    steps
}

fn set_version(edit: &mut Edit, to: Version) {
    if let Edit::Write { version, .. } | Edit::Punch { version, .. } = edit {
        *version = to;
    }
}

/// The writes and the holes, each with the bytes that it writes.
fn changes_of(id: ObjectId, data: &Data, sizes: (u64, Option<u64>)) -> Vec<(Edit, u64)> {
    let version = Version::default();
    let ranges = data.ranges().cloned().unwrap_or_default();
    let punch = |range: Range<u64>| (Edit::Punch { object: id, range, version }, 0);
    let mut changes: Vec<(Edit, u64)> = ranges.zeros.iter().cloned().map(punch).collect();
    let mut at = 0;
    for range in &ranges.data {
        for piece in pieces(range, sizes) {
            let bytes = piece.end - piece.start;
            let data = data.part(at..at + bytes);
            changes.push((Edit::Write { object: id, offset: piece.start, data, version }, bytes));
            at += bytes;
        }
    }
    changes
}

/// A range as it is written: whole or in parts if it goes beside the log, which its ragged ends do not, or in pieces.
fn pieces(
    range: &Range<u64>,
    (direct, part): (u64, Option<u64>),
) -> impl Iterator<Item = Range<u64>> {
    let (start, end) = (range.start, range.end);
    let is_direct = end - start >= direct + STEP_BYTES;
    let most = if is_direct { part.unwrap_or(end - start).max(direct) } else { STEP_BYTES };
    (start..end).step_by(most as usize).map(move |at| at..(at + most).min(end))
}

impl Data {
    /// A part of the bytes as a store takes it: all of them without copying.
    fn part(&self, range: Range<u64>) -> Payload {
        let (from, to) = (range.start as usize, range.end as usize);
        match (from, to - from == self.len()) {
            (0, true) => self.clone().into_payload(),
            _ => Payload::Bytes(self.bytes()[from..to].to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_store::paged::Ranges;

    const PG: PgId = PgId::new(3);
    const OBJECT: ObjectNo = ObjectNo(7);
    const DIRECT: u64 = 64 << 10;

    fn key(name: u8) -> Edit {
        Edit::Delete { key: vec![name] }
    }

    /// The steps of an object with this data in these ranges.
    fn steps(data: Vec<Range<u64>>, zeros: Vec<Range<u64>>) -> Vec<TransactionStep> {
        steps_in_parts(data, zeros, None)
    }

    fn steps_in_parts(
        data: Vec<Range<u64>>,
        zeros: Vec<Range<u64>>,
        part: Option<u64>,
    ) -> Vec<TransactionStep> {
        let ranges = Ranges { data, zeros };
        let bytes = (0..ranges.data_bytes()).map(|at| (at / 4096) as u8).collect();
        let data = Data::sparse(ranges, bytes);
        let whole = Whole { label: SnapshotNo::HEAD, length: 4 << 20, base: None, data };
        let edits = (vec![key(b'f')], vec![key(b'l')]);
        steps_of((PG, OBJECT), whole, Version(9), edits, (DIRECT, part)).into()
    }

    #[test]
    fn a_full_object_is_two_transactions_and_its_bytes_are_not_copied() {
        let steps = steps(vec![0..4 << 20], Vec::new());
        assert_eq!(steps.len(), 2);
        assert!(matches!(&steps[0].edits[..], [_, Edit::Remove { .. }, Edit::Truncate { .. }]));
        let [last, Edit::Write { data: Payload::Shared(_), version, .. }] = &steps[1].edits[..]
        else {
            panic!("{:?}", steps[1].edits);
        };
        assert_eq!((last, *version), (&key(b'l'), Version(9)));
    }

    #[test]
    fn only_the_last_transaction_says_that_the_object_is_whole() {
        let scattered = (0..100).map(|at| at * 16_384..at * 16_384 + 4096).collect();
        let steps = steps(scattered, vec![8192..12_288]);
        let version = |edit: &Edit| match edit {
            Edit::Write { version, .. } | Edit::Punch { version, .. } => Some(*version),
            Edit::Truncate { version, .. } => Some(*version),
            _ => None,
        };
        let (last, others) = steps.split_last().expect("there are some");
        let of_others = others.iter().flat_map(|step| step.edits.iter().filter_map(version));
        assert!(of_others.into_iter().all(|version| version == Version(0)));
        assert!(last.edits.iter().filter_map(version).all(|version| version == Version(9)));
        assert_eq!(last.edits.first(), Some(&key(b'l')));
        let mut written = 0;
        for step in &steps {
            assert!(step.bytes <= STEP_BYTES && step.edits.len() <= STEP_RANGES + 1, "{step:?}");
            for edit in &step.edits {
                if let Edit::Write { offset, data, .. } = edit {
                    assert_eq!(*offset, written * 16_384);
                    assert!(data.bytes().iter().all(|byte| u64::from(*byte) == written));
                    written += 1;
                }
            }
        }
        assert_eq!(written, 100);
    }

    #[test]
    fn what_goes_through_the_log_is_cut_and_what_does_not_is_not() {
        let sizes = |range| -> Vec<u64> {
            steps(vec![range], Vec::new())[1..].iter().map(|step| step.bytes).collect()
        };
        assert_eq!(sizes(0..DIRECT + STEP_BYTES), [DIRECT + STEP_BYTES]);
        assert_eq!(sizes(100..100_000), [STEP_BYTES, 99_900 - STEP_BYTES]);
    }

    #[test]
    fn what_is_paced_is_written_in_parts() {
        let sizes = |range, part| -> Vec<u64> {
            let steps = steps_in_parts(vec![range], Vec::new(), Some(part));
            steps[1..].iter().map(|step| step.bytes).collect()
        };
        assert_eq!(sizes(0..1 << 20, 256 << 10), [256 << 10; 4]);
        assert_eq!(sizes(0..1_000_000, 512 << 10), [512 << 10, 1_000_000 - (512 << 10)]);
        assert_eq!(sizes(0..200_000, 4096), [DIRECT, DIRECT, DIRECT, 200_000 - 3 * DIRECT]);
    }

    #[test]
    fn an_object_without_data_gets_its_length() {
        let steps = steps(Vec::new(), Vec::new());
        let truncate = Edit::Truncate {
            object: object_id(PG, OBJECT, SnapshotNo::HEAD),
            length: 4 << 20,
            version: Version(9),
        };
        assert_eq!(steps[1].edits, [key(b'l'), truncate]);
    }
}
