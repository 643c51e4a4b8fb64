//! How fast the disk itself is. Run with `--ignored --nocapture`; the figure is for people, nothing depends on it.

use crate::driven::{Driven, flush, spec, write};
use loadline_base::Bytes;
use loadline_sim::disk::SimDiskSpec;
use std::time::Instant;

#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_methods, reason = "it measures the disk, not the engine")]
fn requests_per_second_of_a_disk_that_costs_nothing() {
    const ROUNDS: u64 = 200_000;
    for write_cache in [false, true] {
        for depth in [1, 16] {
            // 1 MiB, so that the figure is the disk's and not that of the memory behind it.
            let spec = SimDiskSpec { write_cache, ..spec() };
            let mut disk = Driven::new(spec, 1);
            let mut buffers = vec![vec![1; 4096]; depth as usize];
            let start = Instant::now();
            for round in 0..ROUNDS {
                for lane in 0..depth {
                    let offset = (round * 79 + lane) % 256 * 4096;
                    disk.send(
                        &write(offset, 4096),
                        buffers.pop().expect("one comes back for each"),
                    );
                }
                buffers.extend((0..depth).map(|_| disk.next().data));
                if round % 64 == 0 {
                    disk.carry_out(&flush(), Vec::new());
                }
            }
            let rate = (ROUNDS * depth) as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("write cache {write_cache}, depth {depth}: {rate:.2} M writes of 4 KiB/s");
        }
    }
    let mut disk = Driven::new(SimDiskSpec { size: Bytes::from_mib(16), ..spec() }, 1);
    disk.write(0, &vec![1; 16 << 20]);
    disk.flush();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let mut clone = disk.clone();
        clone.write(0, &[2; 4096]);
    }
    let nanos = start.elapsed().as_nanos() / u128::from(ROUNDS);
    println!("a clone of 16 MiB with one write: {nanos} ns");
}
