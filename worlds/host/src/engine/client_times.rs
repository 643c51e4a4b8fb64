//! How long clients' ops took, from their issue to their reply: of the present second, and of each image since the node's start.

use loadline_base::Span;
use loadline_cluster::images::ImageId;
use loadline_osd::WaitHistogram;
use std::collections::BTreeMap;

/// Images of which ops are counted apart. A histogram takes 4 KiB, and monitoring systems suffer from more series than that; what
/// others do is counted together.
const IMAGES_MAX: usize = 256;

/// What an op did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpSort {
    Read,
    Write,
}

impl OpSort {
    pub(super) const ALL: [OpSort; 2] = [OpSort::Read, OpSort::Write];

    pub(super) const fn name(self) -> &'static str {
        match self {
            OpSort::Read => "read",
            OpSort::Write => "write",
        }
    }
}

/// Ops of one sort since the node's start.
#[derive(Clone, Debug, Default)]
pub(super) struct OpTotals {
    pub bytes: u64,
    pub took: WaitHistogram,
}

/// The ops of one image, by [`OpSort`].
#[derive(Clone, Debug, Default)]
pub(super) struct ImageTotals {
    sorts: [OpTotals; OpSort::ALL.len()],
}

impl ImageTotals {
    pub(super) fn of(&self, sort: OpSort) -> &OpTotals {
        &self.sorts[sort as usize]
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct ClientTimes {
    second: WaitHistogram,
    images: BTreeMap<ImageId, ImageTotals>,
    others: ImageTotals,
}

impl ClientTimes {
    /// An op has its reply.
    #[inline]
    pub(super) fn replied(&mut self, image: ImageId, sort: OpSort, bytes: u64, took: Span) {
        self.second.record(took);
        let has_room = self.images.len() < IMAGES_MAX;
        let totals = match self.images.get_mut(&image) {
            Some(totals) => totals,
            None if has_room => self.images.entry(image).or_default(),
            None => &mut self.others,
        };
        let totals = &mut totals.sorts[sort as usize];
        totals.bytes += bytes;
        totals.took.record(took);
    }

    /// The second is over: what its ops took.
    pub(super) fn take_second(&mut self) -> WaitHistogram {
        std::mem::take(&mut self.second)
    }

    /// Forgets images that are gone.
    pub(super) fn keep(&mut self, is_there: impl Fn(ImageId) -> bool) {
        self.images.retain(|image, _| is_there(*image));
    }

    /// Each image that has had ops, and last what images beyond the bound have had.
    pub(super) fn images(&self) -> impl Iterator<Item = (Option<ImageId>, &ImageTotals)> {
        let known = self.images.iter().map(|(image, totals)| (Some(*image), totals));
        let has_others = OpSort::ALL.iter().any(|sort| self.others.of(*sort).took.count() > 0);
        known.chain(has_others.then_some((None, &self.others)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_beyond_the_bound_are_counted_together() {
        let mut times = ClientTimes::default();
        for image in 0..IMAGES_MAX as u32 + 3 {
            let id = ImageId { family: 1, member: image as u16 };
            times.replied(id, OpSort::Write, 4096, Span::from_millis(1));
        }
        let counts: Vec<u64> =
            times.images().map(|(_, of)| of.of(OpSort::Write).took.count()).collect();
        assert_eq!((counts.len(), counts.last()), (IMAGES_MAX + 1, Some(&3)));
        assert_eq!(times.take_second().count(), IMAGES_MAX as u64 + 3);
        assert_eq!(times.take_second().count(), 0);
        times.keep(|image| image.member == 0);
        assert_eq!(times.images().count(), 2);
    }
}
