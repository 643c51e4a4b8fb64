//! Any bytes in any pieces: no panic, bounded memory, and the pieces do not matter.

use crate::feed;
use proptest::prelude::*;

/// What the fuzz target begins with.
const SEEDS: [&[u8]; 3] = [
    include_bytes!("../../../../fuzz/seeds/resp_requests/arrays"),
    include_bytes!("../../../../fuzz/seeds/resp_requests/inline"),
    include_bytes!("../../../../fuzz/seeds/resp_requests/faults"),
];

#[test]
fn the_seeds_are_borne() {
    SEEDS.into_iter().for_each(feed::connection);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_reader_bears_any_client(
        piece in any::<u8>(),
        sent in prop::collection::vec(prop::sample::select(b"*$123\r\n\"'\\x a".to_vec()), 0..400),
    ) {
        feed::connection(&[&[piece][..], &sent].concat());
    }
}
