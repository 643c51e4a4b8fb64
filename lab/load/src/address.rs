//! Where the next op goes: addresses of an image that is striped over a pool's objects.

use crate::spec::Pattern;
use loadline_base::Rng;
use loadline_cluster::PoolId;
use loadline_store::ObjectNo;

/// A block image: its bytes lie in a pool's objects, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockImage {
    /// The pool.
    pub pool: PoolId,
    /// Its first object; the others have the numbers behind it.
    pub first: ObjectNo,
    /// How many objects.
    pub objects: u64,
    /// Size of each object in bytes.
    pub object_bytes: u32,
}

impl BlockImage {
    fn object(&self, index: u64) -> ObjectNo {
        ObjectNo(self.first.0 + index)
    }
}

/// Draws addresses.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    image: BlockImage,
    pattern: Pattern,
    /// Where a sequential load goes next, in bytes.
    cursor: u64,
}

impl Addresses {
    pub(crate) fn new(image: BlockImage, pattern: Pattern) -> Addresses {
        Addresses { image, pattern, cursor: 0 }
    }

    pub(crate) fn pool(&self) -> PoolId {
        self.image.pool
    }

    /// The object and the first byte inside it for an op of `length` bytes, which divides the object size; so
    /// no op straddles two objects.
    pub(crate) fn draw(&mut self, length: u32, rng: &mut Rng) -> (ObjectNo, u32) {
        match self.pattern {
            Pattern::Random => {
                let blocks_per_object = u64::from(self.image.object_bytes / length);
                let block = rng.below(self.image.objects * blocks_per_object);
                let offset = (block % blocks_per_object) as u32 * length;
                (self.image.object(block / blocks_per_object), offset)
            }
            Pattern::Sequential => {
                let object_bytes = u64::from(self.image.object_bytes);
                let at = self.cursor.next_multiple_of(u64::from(length));
                let at = at % (self.image.objects * object_bytes);
                self.cursor = at + u64::from(length);
                (self.image.object(at / object_bytes), (at % object_bytes) as u32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(pattern: Pattern) -> Addresses {
        let image =
            BlockImage { pool: PoolId::new(0), first: ObjectNo(7), objects: 2, object_bytes: 16 };
        Addresses::new(image, pattern)
    }

    #[test]
    fn sequential_addresses_run_through_the_objects_and_begin_again() {
        let (mut addresses, mut rng) = (addresses(Pattern::Sequential), Rng::new(1));
        let drawn: Vec<(u64, u32)> = [8, 8, 8, 8, 8, 4, 16]
            .into_iter()
            .map(|length| addresses.draw(length, &mut rng))
            .map(|(object, offset)| (object.0, offset))
            .collect();
        assert_eq!(drawn, [(7, 0), (7, 8), (8, 0), (8, 8), (7, 0), (7, 8), (8, 0)]);
    }

    /// 64,000 draws over 8 blocks of 4 bytes: 8,000 each, standard deviation
    /// sqrt(64000 x 1/8 x 7/8) = 83.7; five of them are 418.
    #[test]
    fn random_addresses_are_aligned_and_uniform() {
        let (mut addresses, mut rng) = (addresses(Pattern::Random), Rng::new(1));
        let mut counts = [0i64; 8];
        for _ in 0..64_000 {
            let (object, offset) = addresses.draw(4, &mut rng);
            assert_eq!(offset % 4, 0);
            counts[(object.0 - 7) as usize * 4 + offset as usize / 4] += 1;
        }
        assert!(counts.iter().all(|count| (count - 8_000).abs() < 418), "{counts:?}");
    }
}
