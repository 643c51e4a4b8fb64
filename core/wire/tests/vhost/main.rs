//! Any bytes as messages and requests of a machine.

mod feed;

use proptest::prelude::*;

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        feed::machine(&bytes);
    }

    #[test]
    fn no_payload_breaks_a_known_request(
        request in 0u32..40,
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let head = [request, 0x9, payload.len() as u32].map(u32::to_le_bytes).concat();
        feed::machine(&[head, payload].concat());
    }

    #[test]
    fn no_request_leaves_its_disk(
        kind in 0u32..16,
        sector in prop_oneof![0u64..5000, any::<u64>()],
        sizes in (0u32..40_000, 0u32..40_000),
        behind in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let words = [kind, 0, sector as u32, (sector >> 32) as u32, sizes.0, sizes.1];
        let head = words.map(u32::to_le_bytes).concat();
        feed::guest(&[head, behind].concat());
    }
}
