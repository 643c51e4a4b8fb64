//! What happened in each of the last seconds, kept for whoever opens the page.

use crate::admin::api::{LiveClass, LiveImage, LiveSecond};
use loadline_qos::ServiceClass;
use std::collections::VecDeque;

/// Seconds that are kept: five minutes, some 600 KiB with as many images as are shown.
const SECONDS: usize = 300;
/// Images that are shown of a second: those that have asked for most.
const IMAGES_MAX: usize = 16;
/// The classes that share time.
pub(super) const CLASSES: usize = ServiceClass::SHARED.len();

/// What the shards of all OSDs had given to a class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassSoFar {
    pub items: u64,
    pub small_ops: f64,
    /// Items that wait.
    pub waiting: u64,
    /// Small ops per second.
    pub promised: f64,
}

/// What is known at the end of a second beside what was counted in it.
#[derive(Debug, Default)]
pub(super) struct SecondEnd {
    /// Everything since the node's start.
    pub classes: [ClassSoFar; CLASSES],
    /// Objects that scrubs have looked at since then.
    pub scrubbed: u64,
    /// What was counted in the second.
    pub second: LiveSecond,
}

/// The last seconds.
#[derive(Debug, Default)]
pub(super) struct LiveMeter {
    seconds: VecDeque<LiveSecond>,
    classes: [ClassSoFar; CLASSES],
    scrubbed: u64,
}

impl LiveMeter {
    /// All of them, the oldest first.
    pub(super) fn seconds(&self) -> impl Iterator<Item = &LiveSecond> {
        self.seconds.iter()
    }

    /// A second is over.
    pub(super) fn ended(&mut self, end: SecondEnd) {
        let SecondEnd { classes, scrubbed, mut second } = end;
        second.scrubbed = scrubbed.saturating_sub(self.scrubbed);
        second.classes = shown_classes(&self.classes, &classes);
        second.images = most_asking(second.images);
        self.classes = classes;
        self.scrubbed = scrubbed;
        self.seconds.push_back(second);
        if self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&LiveSecond> {
        self.seconds.back()
    }
}

/// Those that are shown, in the order in which they came.
fn most_asking(mut images: Vec<LiveImage>) -> Vec<LiveImage> {
    if images.len() > IMAGES_MAX {
        images.sort_by_key(|image| std::cmp::Reverse(image.asked));
        images.truncate(IMAGES_MAX);
        images.sort_by(|one, other| one.image.cmp(&other.image));
    }
    images
}

fn shown_classes(before: &[ClassSoFar; CLASSES], now: &[ClassSoFar; CLASSES]) -> Vec<LiveClass> {
    let both = before.iter().zip(now).zip(ServiceClass::SHARED);
    let shown = |((before, now), class): ((&ClassSoFar, &ClassSoFar), ServiceClass)| {
        // An OSD that was made anew has begun to count anew.
        let items = now.items.saturating_sub(before.items);
        let given = (now.small_ops - before.small_ops).max(0.0);
        // What waits has not been charged; it counts like what was taken.
        let each = if items > 0 { given / items as f64 } else { 1.0 };
        LiveClass {
            class: class.name().to_owned(),
            promised: now.promised,
            asked: given + each * now.waiting as f64,
            given,
        }
    };
    both.map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_asked_for_at_the_price_of_what_was_given() {
        let before = [ClassSoFar { items: 10, small_ops: 40.0, ..Default::default() }; CLASSES];
        let now = [ClassSoFar { items: 15, small_ops: 50.0, waiting: 3, promised: 7.0 }; CLASSES];
        let shown = shown_classes(&before, &now);
        assert_eq!((shown[0].given, shown[0].asked, shown[0].promised), (10.0, 16.0, 7.0));
        let anew = shown_classes(&now, &[ClassSoFar { waiting: 2, ..Default::default() }; CLASSES]);
        assert_eq!((anew[0].given, anew[0].asked), (0.0, 2.0));
    }
}
