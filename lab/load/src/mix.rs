//! What the next op is: its kind and its size.

use crate::spec::LoadSpec;
use loadline_base::Rng;
use loadline_osd::OpKind;

/// Draws kinds and sizes in the proportions of a spec.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    /// Of 2^32 ops, so many read.
    reads_of_2_32: u64,
    /// Sizes with the running sums of their weights.
    blocks: Vec<(u64, u32)>,
}

impl Mix {
    pub(crate) fn new(spec: &LoadSpec) -> Mix {
        let mut sum = 0;
        let running = spec.block.iter().map(|block| {
            sum += u64::from(block.weight);
            (sum, block.size.get() as u32)
        });
        let blocks = running.collect();
        Mix { reads_of_2_32: (spec.reads * (1u64 << 32) as f64).round() as u64, blocks }
    }

    /// The next op's kind and length. What has only one outcome draws nothing.
    pub(crate) fn draw(&self, rng: &mut Rng) -> (OpKind, u32) {
        let kind = match self.reads_of_2_32 {
            0 => OpKind::Write,
            reads if rng.next_u64() >> 32 < reads => OpKind::Read,
            _ => OpKind::Write,
        };
        let length = match self.blocks.as_slice() {
            [(_, length)] => *length,
            blocks => {
                let drawn = rng.below(blocks.last().expect("a mix has a block").0);
                let block = blocks.iter().find(|(sum, _)| drawn < *sum);
                block.expect("the last sum is above every draw").1
            }
        };
        (kind, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Block;
    use loadline_base::Bytes;

    /// 80,000 draws, 70 % reads and sizes 3 : 1. Reads: 56,000 with a standard deviation of
    /// sqrt(80000 x 0.7 x 0.3) = 129.6; small ones: 60,000 with sqrt(80000 x 0.75 x 0.25) = 122.5. Five of
    /// each are 648 and 613.
    #[test]
    fn kinds_and_sizes_come_in_their_proportions() {
        let block = |kib, weight| Block { size: Bytes::from_kib(kib), weight };
        let text = "depth = 1\nreads = 0.7\nblock = '4 KiB'\nimage = '4 MiB'";
        let mut spec: LoadSpec = toml::from_str(text).expect("a load");
        spec.block = vec![block(4, 3), block(64, 1)];
        let (mix, mut rng) = (Mix::new(&spec), Rng::new(3));
        let (mut reads, mut small) = (0i64, 0i64);
        for _ in 0..80_000 {
            let (kind, length) = mix.draw(&mut rng);
            reads += i64::from(kind == OpKind::Read);
            small += i64::from(length == 4096);
        }
        assert!((reads - 56_000).abs() < 648, "{reads} reads");
        assert!((small - 60_000).abs() < 613, "{small} small ones");
    }
}
