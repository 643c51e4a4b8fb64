//! Any bytes in any pieces: no panic, bounded memory, and the pieces do not matter.

use crate::feed;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_session_bears_any_client(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        feed::client(&bytes);
    }
}
