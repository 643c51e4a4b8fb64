//! Commands on ranges that bring no bytes, zeros and block status: few bytes name many objects, so they are carried out in steps, and hold no
//! more of the node at a time than they are charged for.

use super::image_ops::{NewOp, op_on};
use loadline_base::SlotId;
use loadline_cluster::images::{ImageId, OBJECT_BYTES_MIN, Piece, SnapshotId, View, split};
use loadline_osd::{ClientId, Data, OpKind, SnapshotNo};
use loadline_wire::request_room::{PIECE_BYTES_MIN, RangeLimits};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

const _: () = assert!(PIECE_BYTES_MIN == OBJECT_BYTES_MIN, "what is charged is what there is");

/// Pieces that a step looks at, most of which hold nothing in a sparse image; and those after which the steps of one turn are over, whoever
/// asks: 0.2 to 1 ms of the loop's time.
const LOOKED_AT_MAX: usize = 1024;

/// What is to become of the pieces of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeAsk {
    /// They are to be zeros: all of them.
    Zero,
    /// Where they hold data, as far as one step tells it; the client asks again for what is behind it.
    Held,
    /// Where they may be other than they were at this snapshot, told in the same way.
    Changed(SnapshotId),
}

/// Why a command has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandFailure {
    /// No copy could do it.
    NoCopy,
    /// The image, or the snapshot, has been removed; or who asked has gone before every step was taken.
    Gone,
    /// The node ends before every step was taken.
    Ending,
    /// The image is shorter than where the range ends.
    PastEnd,
    /// A device failed to make durable what had been answered, and no other copy runs that has it.
    MayBeLost,
}

/// What of a command's ranges has had no op yet.
#[derive(Debug)]
pub(super) struct RangeWork {
    pub image: ImageId,
    pub snapshot: SnapshotId,
    ask: RangeAsk,
    /// Offset and length of each.
    ranges: VecDeque<(u64, u64)>,
    limits: RangeLimits,
    /// Bytes of them that have been looked at.
    pub covered: u64,
    is_given_up: bool,
}

/// One step.
#[derive(Debug)]
pub(super) struct RangeStep {
    pub ops: Vec<NewOp>,
    looked_at: usize,
}

impl RangeWork {
    pub(super) fn new(
        view: &View,
        ask: RangeAsk,
        ranges: Vec<(u64, u64)>,
        limits: RangeLimits,
    ) -> RangeWork {
        let (image, snapshot, ranges) = (view.image, view.read_at, ranges.into());
        RangeWork { image, snapshot, ask, ranges, limits, covered: 0, is_given_up: false }
    }

    /// How many extents the answer has room for.
    pub(super) fn extents_most(&self) -> usize {
        self.limits.extents
    }

    /// Takes a step on the image as it is now: ops for the next pieces that may matter: that hold data, or are other than they were.
    pub(super) fn step(
        &mut self,
        view: Option<&View>,
        mut may_matter: impl FnMut(&Piece) -> bool,
    ) -> Result<RangeStep, CommandFailure> {
        let view = view.filter(|_| !self.is_given_up).ok_or(CommandFailure::Gone)?;
        let kind = match self.ask {
            RangeAsk::Zero => OpKind::Zero,
            RangeAsk::Held => OpKind::Ranges(SnapshotNo(view.read_at.0)),
            RangeAsk::Changed(since) => {
                let (since, at) = (SnapshotNo(since.0), SnapshotNo(view.read_at.0));
                OpKind::Changed { since, at }
            }
        };
        let mut step = RangeStep { ops: Vec::new(), looked_at: 0 };
        while let Some((offset, length)) = self.ranges.pop_front() {
            if offset + length > view.size {
                return Err(CommandFailure::PastEnd);
            }
            for piece in split(view, offset, length) {
                let is_full = step.ops.len() == self.limits.ops;
                if is_full || step.looked_at == LOOKED_AT_MAX {
                    self.ranges.push_front((offset + piece.at, length - piece.at));
                    self.ends_here();
                    return Ok(step);
                }
                step.looked_at += 1;
                if may_matter(&piece) {
                    let piece = Piece { at: self.covered, ..piece };
                    step.ops.push(op_on(view, kind, piece, Data::NONE));
                }
                self.covered += u64::from(piece.length);
            }
        }
        Ok(step)
    }

    /// A question has one step.
    fn ends_here(&mut self) {
        if self.ask != RangeAsk::Zero {
            self.ranges.clear();
        }
    }

    /// The snapshot beside its own that its steps need to be there still: what one had alone is given back once it is removed, and with it what
    /// tells how others differ.
    pub(super) fn since(&self) -> Option<SnapshotId> {
        match self.ask {
            RangeAsk::Changed(since) => Some(since),
            RangeAsk::Zero | RangeAsk::Held => None,
        }
    }

    /// What it asks.
    pub(super) fn ask(&self) -> RangeAsk {
        self.ask
    }

    /// Takes no further step.
    pub(super) fn give_up(&mut self) {
        self.is_given_up = true;
    }

    /// Whether every piece has had its step.
    pub(super) fn is_done(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// Where a range holds data, as far as one answer tells it: where there is more than it has room for, the last of it is dropped, and the
/// client asks again from there.
#[derive(Debug, Default)]
pub(super) struct HeldRanges {
    ranges: Vec<Range<u64>>,
    /// The first that was dropped begins here.
    known_to: Option<u64>,
}

impl HeldRanges {
    /// Takes those of one object, which come in any order of objects, for an answer with room for so many.
    pub(super) fn extend(&mut self, most: usize, more: impl Iterator<Item = Range<u64>>) {
        self.ranges.extend(more);
        if self.ranges.len() > 2 * most {
            self.ranges.sort_unstable_by_key(|range| range.start);
            let dropped = self.ranges[most].start;
            self.known_to = Some(self.known_to.map_or(dropped, |known_to| known_to.min(dropped)));
            self.ranges.truncate(most);
        }
    }

    /// They in order, and how many of so many bytes they tell of.
    pub(super) fn told(mut self, covered: u64) -> (Vec<Range<u64>>, u64) {
        let covered = self.known_to.map_or(covered, |known_to| known_to.min(covered));
        self.ranges.retain(|range| range.start < covered);
        self.ranges.sort_unstable_by_key(|range| range.start);
        (self.ranges, covered)
    }
}

/// Commands with a step to take, and how much of this turn of the loop is left for steps. Clients take steps in turn, each for its own commands:
/// who has many gains nothing by it.
#[derive(Debug, Default)]
pub(super) struct RangeTurns {
    due: BTreeMap<ClientId, VecDeque<SlotId>>,
    /// Those of them in the order of their turns.
    clients: VecDeque<ClientId>,
    looked_at: usize,
}

impl RangeTurns {
    /// A turn of the loop begins.
    pub(super) fn begin_turn(&mut self) {
        self.looked_at = 0;
    }

    /// A command of a client has a step to take.
    pub(super) fn push(&mut self, client: ClientId, command: SlotId) {
        let due = self.due.entry(client).or_default();
        if due.is_empty() {
            self.clients.push_back(client);
        }
        due.push_back(command);
    }

    /// The next one that may take a step in this turn.
    pub(super) fn next(&mut self) -> Option<SlotId> {
        let client = if self.may_go_on() { self.clients.pop_front()? } else { return None };
        let due = self.due.get_mut(&client)?;
        let next = due.pop_front();
        match due.is_empty() {
            true => drop(self.due.remove(&client)),
            false => self.clients.push_back(client),
        }
        next
    }

    /// A step was taken.
    pub(super) fn took(&mut self, step: &RangeStep) {
        self.looked_at += step.looked_at;
    }

    /// Whether a step is due in this turn.
    pub(super) fn may_go_on(&self) -> bool {
        !self.due.is_empty() && self.looked_at < LOOKED_AT_MAX
    }

    /// Whether some are left for the next turn.
    pub(super) fn are_left(&self) -> bool {
        !self.due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_cluster::PoolId;
    use loadline_wire::request_room::RANGE_OPS_MAX;

    const LIMITS: RangeLimits = RangeLimits { ops: 64, extents: 1024 };

    const KIB_64: u64 = OBJECT_BYTES_MIN;

    fn view(size: u64) -> View {
        View {
            image: ImageId { family: 1, member: 0 },
            pool: PoolId::new(1),
            size,
            object_bytes: KIB_64,
            read_at: SnapshotId::HEAD,
            newest: SnapshotId::HEAD,
            ancestors: Vec::new(),
        }
    }

    /// Takes all steps; how many pieces each looked at, and the blocks that it has ops on.
    fn steps(work: &mut RangeWork, view: &View, holds: fn(u32) -> bool) -> Vec<(usize, Vec<u32>)> {
        let mut steps = Vec::new();
        while !work.is_done() {
            let step = work.step(Some(view), |piece| holds(ImageId::of(piece.object).1));
            let RangeStep { ops, looked_at } = step.unwrap();
            let blocks = ops.iter().map(|op| ImageId::of(op.object).1);
            steps.push((looked_at, blocks.collect()));
        }
        steps
    }

    /// A trim of 4 GiB was 65,536 ops at once, for which nobody was charged.
    #[test]
    fn a_step_has_few_ops_and_all_steps_together_meet_each_piece_once() {
        let view = view(4 << 30);
        let mut work = RangeWork::new(&view, RangeAsk::Zero, vec![(0, 4 << 30)], LIMITS);
        let all = steps(&mut work, &view, |_| true);
        assert!(all.iter().all(|(_, blocks)| blocks.len() as u64 <= RANGE_OPS_MAX));
        assert!(all.iter().flat_map(|(_, blocks)| blocks).copied().eq(0..65_536));
    }

    #[test]
    fn what_holds_nothing_takes_steps_too() {
        let view = view(4 << 30);
        let ranges = vec![(KIB_64 / 2, KIB_64), (0, 3000 * KIB_64)];
        let mut work = RangeWork::new(&view, RangeAsk::Zero, ranges, LIMITS);
        let all = steps(&mut work, &view, |block| block == 2500);
        let looked_at: Vec<usize> = all.iter().map(|(looked_at, _)| *looked_at).collect();
        assert_eq!(looked_at, [1024, 1024, 954]);
        assert_eq!(all[2].1, [2500]);
        assert_eq!(work.covered, 3001 * KIB_64);
    }

    #[test]
    fn a_question_has_one_step_and_says_how_far_it_came() {
        let view = view(4 << 30);
        for (holds, covered) in [((|_| false) as fn(u32) -> bool, 1024), (|_| true, 64)] {
            let mut work =
                RangeWork::new(&view, RangeAsk::Held, vec![(KIB_64 / 2, 2 << 30)], LIMITS);
            assert_eq!(steps(&mut work, &view, holds).len(), 1);
            assert_eq!(work.covered, covered * KIB_64 - KIB_64 / 2);
        }
    }

    /// Every second page of 64 objects of 32 MiB is 262,144 ranges, of which an answer has room for 1,024.
    #[test]
    fn an_answer_keeps_what_it_has_room_for_and_says_how_far_that_is() {
        let object = |number: u64| {
            (0..1000).map(move |page| {
                let start = number * 10_000 + page * 10;
                start..start + 5
            })
        };
        for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 2, 4, 1]] {
            let mut held = HeldRanges::default();
            for number in order {
                held.extend(LIMITS.extents, object(number));
                assert!(held.ranges.len() <= 2 * LIMITS.extents);
            }
            let (ranges, covered) = held.told(60_000);
            assert!(ranges.len() >= LIMITS.extents && covered <= 60_000, "{}", ranges.len());
            let all = (0..6).flat_map(object);
            assert!(ranges.into_iter().eq(all.take_while(|range| range.start < covered)));
        }
        let mut few = HeldRanges::default();
        few.extend(9, [5..7, 0..2].into_iter());
        assert_eq!(few.told(9), (vec![0..2, 5..7], 9));
    }

    #[test]
    fn each_step_meets_the_image_as_it_is_by_then() {
        let (long, short) = (view(4 << 30), view(1 << 30));
        let work = || RangeWork::new(&long, RangeAsk::Zero, vec![(0, 2 << 30)], LIMITS);
        let mut shrunk = work();
        assert!(shrunk.step(Some(&long), |_| true).is_ok());
        assert_eq!(shrunk.step(Some(&short), |_| true).unwrap_err(), CommandFailure::PastEnd);
        let mut removed = work();
        assert!(removed.step(Some(&long), |_| true).is_ok());
        assert_eq!(removed.step(None, |_| true).unwrap_err(), CommandFailure::Gone);
        let mut given_up = work();
        assert!(given_up.step(Some(&long), |_| true).is_ok());
        given_up.give_up();
        assert_eq!(given_up.step(Some(&long), |_| true).unwrap_err(), CommandFailure::Gone);
    }

    /// However many commands there are, a turn of the loop is short.
    #[test]
    fn a_turn_has_few_steps_whoever_asks() {
        let view = view(4 << 30);
        let mut works: Vec<_> = (0..3)
            .map(|_| RangeWork::new(&view, RangeAsk::Zero, vec![(0, 1 << 30)], LIMITS))
            .collect();
        let mut turns = RangeTurns::default();
        let push = |turns: &mut RangeTurns, command| {
            turns.push(ClientId::new(0), SlotId::new(command));
        };
        (0..3).for_each(|command| push(&mut turns, command));
        let mut order = Vec::new();
        for _ in 0..4 {
            turns.begin_turn();
            while let Some(command) = turns.next() {
                turns.took(&works[usize::from(command)].step(Some(&view), |_| false).unwrap());
                push(&mut turns, command.get());
                order.push(command.get());
            }
            assert!(turns.are_left());
        }
        assert_eq!(order, [0, 1, 2, 0]);
    }

    /// One had 256 zeros of 4 GiB under way, and each of them a step as often as the only one of another.
    #[test]
    fn clients_take_steps_in_turn_however_many_commands_they_have() {
        let mut turns = RangeTurns::default();
        let [many, one] = [7, 3].map(ClientId::new);
        (0..5).for_each(|command| turns.push(many, SlotId::new(command)));
        turns.push(one, SlotId::new(9));
        let mut order = Vec::new();
        while let Some(command) = turns.next() {
            order.push(command.get());
            if command.get() == 9 && order.len() < 6 {
                turns.push(one, command);
            }
        }
        assert_eq!(order, [0, 9, 1, 9, 2, 9, 3, 4]);
        assert!(!turns.are_left());
    }
}
