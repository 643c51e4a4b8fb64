//! Which loop turns which OSD, and how something comes to it.

use super::mail::{Mail, RackMail};
use crate::Mailbox;
use loadline_node::RackEvent;
use loadline_osd::{OsdId, OsdSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// OSDs whose work the faces and the owner of the map are worth, of a hundred OSDs' work: so many fewer stand beside them. Between what was
/// measured, 11 for writes with three copies by NBD and 75 for reads with one (`docs/loops.md`).
const FACES_PERCENT: usize = 25;

/// Which loop turns which OSD: a matter of its number alone, so that all loops know it. The owner's is the first.
#[derive(Clone, Debug)]
pub(super) struct OsdPlaces {
    loop_of: Arc<[usize]>,
    pub loops: usize,
}

impl OsdPlaces {
    /// OSDs spread over so many loops, each next one to where there is least to do.
    pub(super) fn new(loops: NonZeroUsize) -> OsdPlaces {
        let mut given = vec![0; loops.get()];
        let place = |osd: usize| {
            let faces = |at: usize| if at == 0 { (osd + 1) * FACES_PERCENT } else { 0 };
            // Of loops alike the last one, which has no faces.
            let least = (0..given.len()).rev().min_by_key(|at| given[*at] * 100 + faces(*at));
            let at = least.expect("there is a loop");
            given[at] += 1;
            at
        };
        let loop_of = (0..OsdSet::OSDS_MAX as usize).map(place).collect();
        OsdPlaces { loop_of, loops: loops.get() }
    }

    /// The loop that turns an OSD.
    pub(super) fn of(&self, osd: OsdId) -> usize {
        self.loop_of[usize::from(osd)]
    }
}

/// Where each loop takes mail, by its number.
#[derive(Clone)]
pub(super) struct LoopWays {
    pub places: OsdPlaces,
    pub mailboxes: Vec<Mailbox<Mail>>,
}

impl LoopWays {
    /// Sends what is for other racks, one batch for each.
    pub(super) fn send_events(&self, leaving: &mut Vec<RackEvent>) {
        if leaving.is_empty() {
            return;
        }
        let mut batches: Vec<Vec<RackEvent>> = self.mailboxes.iter().map(|_| Vec::new()).collect();
        for (osd, event) in leaving.drain(..) {
            batches[self.places.of(osd)].push((osd, event));
        }
        for (to, batch) in batches.into_iter().enumerate().filter(|(_, batch)| !batch.is_empty()) {
            self.send(to, RackMail::Events(batch));
        }
    }

    /// Sends a loop something. One that has ended hears nothing: the node ends too.
    pub(super) fn send(&self, to: usize, mail: RackMail) {
        let _ = self.mailboxes[to].post(Mail::Rack(mail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many OSDs each of so many loops turns.
    fn given(loops: usize, osds: usize) -> Vec<usize> {
        let places = OsdPlaces::new(NonZeroUsize::new(loops).expect("some"));
        let mut given = vec![0; loops];
        (0..osds).for_each(|osd| given[places.of(OsdId::from(osd))] += 1);
        given
    }

    #[test]
    fn osds_stand_where_least_is_to_do() {
        assert_eq!(given(1, 4), [4]);
        assert_eq!(given(2, 1), [0, 1]);
        assert_eq!(given(2, 4), [1, 3]);
        assert_eq!(given(2, 8), [3, 5]);
        assert_eq!(given(4, 8), [1, 2, 2, 3]);
        assert_eq!(given(8, 8), [0, 1, 1, 1, 1, 1, 1, 2]);
    }
}
