//! What happens between an OSD and the device of its direct store: requests, answers, and the gate.

use crate::device_terms::without_limit;
use crate::event::{Effect, Effects};
use crate::item::Item;
use crate::osd::Osd;
use crate::parts::NextPart;
use crate::policy::Windowed;
use loadline_base::{SlotId, Time};
use loadline_device::Outcome;
use loadline_store::{RequestId, Submission};

impl Osd {
    /// Hands the store's requests out, on the terms of their classes, and lets the queues take what the gate admits then.
    pub(crate) fn send_submissions(&mut self, now: Time, fx: &mut Effects) {
        if self.gate().paces() {
            if self.store.has_submissions() {
                let mut all = std::mem::take(self.store.submissions());
                for whole in all.drain(..) {
                    self.begin_transfer(now, whole, fx);
                }
                // The list is used again, and nothing that was added meanwhile is dropped.
                all.append(self.store.submissions());
                *self.store.submissions() = all;
            }
            self.gate().settle();
        } else if self.store.has_submissions() {
            let (osd, terms) = (self.id, &self.options.device);
            fx.world.extend(self.store.submissions().drain(..).map(|submission| {
                let request = terms.apply(submission.request);
                Effect::Device(osd, Submission { request, ..submission })
            }));
        }
        if self.options.windowed == Windowed::All {
            self.take_by_window(now, fx);
        }
    }

    /// A request begins its way to the device: whole, or in parts if it is a large one of background work.
    fn begin_transfer(&mut self, now: Time, whole: Submission, fx: &mut Effects) {
        let work = self.store.work_of(whole.id);
        let slot = self.gate().begin(whole, work);
        self.send_part(now, slot, fx);
    }

    /// A part's turn has come.
    pub(crate) fn go_on(&mut self, now: Time, slot: SlotId, fx: &mut Effects) {
        match self.is_durable() {
            true => self.store.paged().go_on(now, slot),
            false => self.send_part(now, slot, fx),
        }
    }

    fn send_part(&mut self, now: Time, slot: SlotId, fx: &mut Effects) {
        let (part, next) = self.gate().send(slot);
        let request = self.options.device.apply(part.request);
        fx.world.push(Effect::Device(self.id, Submission { request, ..part }));
        if let Some(NextPart { transfer, bytes, class, work }) = next {
            self.enqueue(now, Item::Part { transfer, bytes, class, work }, fx);
        }
    }

    /// The device answered a request. What it ended for time says nothing of the medium: it gets the request again without a
    /// limit, once, because then there is nothing that it could end it for.
    pub(crate) fn device_done(
        &mut self,
        now: Time,
        id: RequestId,
        outcome: Outcome,
        fx: &mut Effects,
    ) {
        if outcome == Outcome::OverLimit
            && let Some(submission) = self.again(id)
        {
            self.counters.over_limit += 1;
            let request = without_limit(self.options.device.apply(submission.request));
            return fx.world.push(Effect::Device(self.id, Submission { request, ..submission }));
        }
        let mut is_good = outcome == Outcome::Done;
        if self.gate().paces() && self.store.is_of_this_life(id) {
            let (ended, all_good) = self.gate().answered(id.slot(), is_good);
            self.served(now, ended, fx);
            match all_good {
                Some(all_good) => is_good = all_good,
                None => return,
            }
        }
        let done = self.store.direct_done(now, id, is_good);
        let Some(done) = done else { return };
        self.account_done(now, &done, fx);
        self.committed(now, done, fx);
    }

    fn again(&mut self, id: RequestId) -> Option<Submission> {
        match self.gate().paces() {
            true if self.store.is_of_this_life(id) => self.gate().again(id.slot()),
            true => None,
            false => self.store.direct_again(id),
        }
    }
}
