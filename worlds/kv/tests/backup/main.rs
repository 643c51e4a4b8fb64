//! Streams of backups as strangers may hand them over.

mod feed;

use loadline_base::Rng;

/// What the fuzz target begins with.
const SEEDS: [&[u8]; 2] = [
    include_bytes!("../../../../fuzz/seeds/kv_backup/whole"),
    include_bytes!("../../../../fuzz/seeds/kv_backup/framed"),
];

#[test]
fn the_seeds_are_whole() {
    assert_eq!(SEEDS.map(feed::stream), [Some(3), Some(2)]);
}

#[test]
fn a_reader_bears_any_stream() {
    let mut rng = Rng::new(1);
    for _ in 0..5000 {
        let mut bytes = SEEDS[rng.below(2) as usize].to_vec();
        for _ in 0..=rng.below(3) {
            let at = 1 + rng.below(bytes.len() as u64 - 1) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(bytes.len() - rng.below(4) as usize);
        feed::stream(&bytes);
    }
}
