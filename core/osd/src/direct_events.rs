//! What happens between an OSD and the device of its direct store: requests, answers, and the window.

use crate::device_terms::without_limit;
use crate::event::{Effect, Effects};
use crate::osd::Osd;
use crate::policy::Windowed;
use loadline_base::Time;
use loadline_device::Outcome;
use loadline_store::{RequestId, Submission};

impl Osd {
    /// Hands the store's requests out, on the terms of their classes, and lets the queues take what the window admits then.
    pub(crate) fn send_submissions(&mut self, now: Time, fx: &mut Effects) {
        let (osd, terms) = (self.id, &self.options.device);
        fx.world.extend(self.store.take_submissions().map(|Submission { id, request }| {
            Effect::Device(osd, Submission { id, request: terms.apply(request) })
        }));
        if self.options.windowed == Windowed::All {
            self.take_by_window(now, fx);
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
            && let Some(Submission { id, request }) = self.store.direct_again(id)
        {
            self.counters.over_limit += 1;
            let request = without_limit(self.options.device.apply(request));
            return fx.world.push(Effect::Device(self.id, Submission { id, request }));
        }
        let is_good = outcome == Outcome::Done;
        let done = self.store.direct_done(now, id, is_good);
        let Some(done) = done else { return };
        self.account_done(now, &done, fx);
        self.committed(now, done, fx);
    }
}
