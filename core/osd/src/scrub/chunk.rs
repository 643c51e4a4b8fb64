//! Which objects are compared at a time, and how often a write may break that off.

use loadline_store::ObjectNo;

/// Bounds of a chunk, in objects and former states of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkBounds {
    /// At least so many, if there are (`osd_scrub_chunk_min` and its shallow form).
    pub least: u32,
    /// At most so many, unless one object alone has more (`osd_scrub_chunk_max` and its shallow form).
    pub most: u32,
}

/// However often it was broken off, a chunk has so many.
const LEAST: u32 = 3;

impl ChunkBounds {
    /// The bounds of a chunk that was broken off and is made smaller by this divisor.
    pub(crate) fn divided(self, divisor: u32) -> ChunkBounds {
        let least = (self.least / divisor).max(LEAST);
        ChunkBounds { least, most: (self.most / divisor).max(least) }
    }

    /// The last object of the next chunk, of objects in order with how many states each has; `None` if all of them are in it.
    /// An object is never parted from its former states, so what does not fit as a whole begins the next one.
    pub(crate) fn end_of(
        self,
        objects: impl IntoIterator<Item = (ObjectNo, u32)>,
    ) -> Option<ObjectNo> {
        let (mut count, mut last) = (0, None);
        for (object, states) in objects {
            if last.is_some() && count + states > self.most {
                return last;
            }
            (count, last) = (count + states, Some(object));
        }
        None
    }
}

/// How often a chunk may still be broken off by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preemptions {
    left: u32,
    divisor: u32,
}

impl Preemptions {
    /// Of a chunk that was not yet tried (`osd_scrub_max_preemptions`).
    pub(crate) fn new(most: u32) -> Preemptions {
        Preemptions { left: most, divisor: 1 }
    }

    pub(crate) fn is_any_left(self) -> bool {
        self.left > 0
    }

    /// What the bounds of the chunk are divided by.
    pub(crate) fn divisor(self) -> u32 {
        self.divisor
    }

    /// The chunk was broken off once more.
    pub(crate) fn use_one(&mut self) {
        self.left -= 1;
        self.divisor *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(bounds: (u32, u32), states: &[u32]) -> Option<u64> {
        let (least, most) = bounds;
        let objects = states.iter().enumerate().map(|(at, states)| (ObjectNo(at as u64), *states));
        ChunkBounds { least, most }.end_of(objects).map(|object| object.0)
    }

    #[test]
    fn a_chunk_ends_between_objects() {
        assert_eq!(end((5, 15), &[]), None);
        assert_eq!(end((5, 15), &[1; 15]), None);
        assert_eq!(end((5, 15), &[1; 16]), Some(14));
        assert_eq!(
            end((5, 15), &[1, 1, 1, 13, 1]),
            Some(2),
            "the fourth and its states go together"
        );
        assert_eq!(end((5, 15), &[40, 1]), Some(0), "one object alone may have more");
        assert_eq!(end((5, 15), &[40]), None);
    }

    #[test]
    fn a_chunk_that_was_broken_off_is_smaller() {
        let bounds = ChunkBounds { least: 5, most: 25 };
        let mut preemptions = Preemptions::new(5);
        let mut sizes = Vec::new();
        while preemptions.is_any_left() {
            preemptions.use_one();
            let ChunkBounds { least, most } = bounds.divided(preemptions.divisor());
            sizes.push((least, most));
        }
        assert_eq!(sizes, [(3, 12), (3, 6), (3, 3), (3, 3), (3, 3)]);
    }
}
