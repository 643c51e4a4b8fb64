//! Transfers that enter the disk in parts.
//!
//! The first part of a transfer goes with the item that asked for it. As soon as a part is sent the next one waits in the queue, so
//! that the gate alone decides how many of them the disk has: alone on a disk a transfer goes at the disk's speed.

use crate::demand::Demand;
use loadline_base::{Bytes, SlotId};
use loadline_device::{Request, RequestKind};
use loadline_qos::{ServiceClass, Work};
use loadline_store::Submission;

/// What the disk gets of a direct store's request, and what it still has of it.
#[derive(Clone, Debug)]
struct PartedTransfer {
    whole: Submission,
    work: Work,
    /// Bytes of each part but the last.
    part: u64,
    sent: u64,
    at_disk: Vec<Demand>,
    /// A part could not be carried out.
    failed: bool,
    /// Parts that were asked again without a limit.
    again: u32,
}

/// The next part of a transfer, waiting for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextPart {
    pub transfer: SlotId,
    pub bytes: u32,
    pub class: ServiceClass,
    pub work: Work,
}

/// The transfers of a direct store, by the slots of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers {
    under_way: Vec<Option<PartedTransfer>>,
    /// Lists of transfers that are over, to be used again.
    lists: Vec<Vec<Demand>>,
}

impl Transfers {
    /// The store asks for this, in parts of so many bytes.
    pub(crate) fn begin(&mut self, whole: Submission, work: Work, part: u64) -> SlotId {
        let slot = whole.id.slot();
        if self.under_way.len() <= usize::from(slot) {
            self.under_way.resize(usize::from(slot) + 1, None);
        }
        let transfer = PartedTransfer {
            whole,
            work,
            part,
            sent: 0,
            at_disk: self.lists.pop().unwrap_or_default(),
            failed: false,
            again: 0,
        };
        self.under_way[usize::from(slot)] = Some(transfer);
        slot
    }

    /// How many bytes the part has whose turn it is.
    pub(crate) fn next_bytes(&self, slot: SlotId) -> Bytes {
        Bytes::new(self.at(slot).next_bytes())
    }

    /// Whether it changes what the disk holds.
    pub(crate) fn is_update(&self, slot: SlotId) -> bool {
        self.at(slot).whole.request.kind != RequestKind::Read
    }

    /// The part whose turn it is, and the one after it.
    pub(crate) fn send(&mut self, slot: SlotId, load: Demand) -> (Submission, Option<NextPart>) {
        let transfer = self.at_mut(slot);
        let part = transfer.take_part();
        transfer.at_disk.push(load);
        let next = transfer.next(slot);
        (part, next)
    }

    /// The disk has answered a part, well or not. What it had of the gate; and after the last one, whether all went well.
    pub(crate) fn answered(&mut self, slot: SlotId, is_good: bool) -> (Demand, Option<bool>) {
        let transfer = self.at_mut(slot);
        // A disk may answer them in any order, but they are all alike but for the last.
        let demand = transfer.at_disk.remove(0);
        transfer.failed |= !is_good;
        let is_over = transfer.at_disk.is_empty() && transfer.next_bytes() == 0;
        let all_good = is_over.then_some(!transfer.failed);
        if is_over {
            let over = self.under_way[usize::from(slot)].take();
            self.lists.extend(over.map(|over| over.at_disk));
        }
        (demand, all_good)
    }

    /// A part that the disk ended for time, to be asked again; `None` if each was asked again already.
    pub(crate) fn again(&mut self, slot: SlotId) -> Option<Submission> {
        let transfer = self.at_mut(slot);
        transfer.again += 1;
        let parts = transfer.whole.request.length.get().div_ceil(transfer.part.max(1));
        let request = Request { length: Bytes::new(transfer.part), ..transfer.whole.request };
        (u64::from(transfer.again) <= parts).then_some(Submission { request, ..transfer.whole })
    }

    /// Forgets all, as a crash does.
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }

    fn at(&self, slot: SlotId) -> &PartedTransfer {
        self.under_way[usize::from(slot)].as_ref().expect("the transfer is under way")
    }

    fn at_mut(&mut self, slot: SlotId) -> &mut PartedTransfer {
        self.under_way[usize::from(slot)].as_mut().expect("the transfer is under way")
    }
}

impl PartedTransfer {
    fn next_bytes(&self) -> u64 {
        self.part.min(self.whole.request.length.get() - self.sent)
    }

    fn take_part(&mut self) -> Submission {
        let Submission { id, request, .. } = self.whole;
        let length = self.next_bytes();
        let offset = request.offset + self.sent;
        self.sent += length;
        let commits = self.next_bytes() == 0;
        let request = Request { offset, length: Bytes::new(length), ..request };
        Submission { id, request, commits }
    }

    fn next(&self, transfer: SlotId) -> Option<NextPart> {
        let bytes = self.next_bytes();
        let class = ServiceClass::ALL[usize::from(self.whole.request.class.0)];
        (bytes > 0).then_some(NextPart { transfer, bytes: bytes as u32, class, work: self.work })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_device::{ClassTag, Priority};
    use loadline_store::RequestId;

    fn begun(length: u64, part: u64) -> (Transfers, SlotId) {
        let request = Request {
            kind: RequestKind::Read,
            offset: 4096,
            length: Bytes::new(length),
            class: ClassTag(ServiceClass::Recovery as u8),
            priority: Priority::default(),
            duration_limit: None,
        };
        let id = RequestId::new(SlotId::new(2), 0);
        let mut transfers = Transfers::default();
        let whole = Submission { id, request, commits: true };
        let slot = transfers.begin(whole, Work::RecoveryItem, part);
        (transfers, slot)
    }

    #[test]
    fn parts_cover_the_whole_and_the_last_one_commits() {
        let (mut transfers, slot) = begun(10_000, 4096);
        let mut parts = Vec::new();
        loop {
            let (part, next) = transfers.send(slot, Demand::default());
            parts.push((part.request.offset, part.request.length.get(), part.commits));
            if next.is_none() {
                break;
            }
        }
        assert_eq!(parts, [(4096, 4096, false), (8192, 4096, false), (12_288, 1808, true)]);
    }

    /// Only the answer to the last part counted: an object of which the first part could not be read was pushed.
    #[test]
    fn a_part_that_failed_fails_the_transfer() {
        for (answers, all_good) in [([true, true, true], true), ([false, true, true], false)] {
            let (mut transfers, slot) = begun(10_000, 4096);
            let mut last = None;
            for is_good in answers {
                assert_eq!(last, None);
                transfers.send(slot, Demand::default());
                last = transfers.answered(slot, is_good).1;
            }
            assert_eq!(last, Some(all_good));
        }
    }
}
