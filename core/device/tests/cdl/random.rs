//! The readers with arbitrary and with damaged input; `fuzz/` runs the same under coverage guidance.

use crate::feed;
use crate::sample::any_page;
use loadline_base::Rng;
use loadline_device::cdl::{AtaLimits, DescriptorPage};
use proptest::prelude::*;

proptest! {
    #[test]
    fn arbitrary_input_is_harmless(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        feed::file(&bytes);
        feed::mode_page(&bytes);
        feed::ata_log(&bytes);
    }

    #[test]
    fn whole_pages_pass(page in any_page()) {
        prop_assert!(feed::file(page.file().as_bytes()));
        prop_assert!(feed::mode_page(&page.to_mode_page()));
    }
}

/// One byte changed at a time, at random: some changes are refused, some are not, none does harm.
#[test]
fn damaged_input_is_harmless() {
    let log = AtaLimits::from_pages(&DescriptorPage::BENCHMARK_T2A, &DescriptorPage::BENCHMARK_T2B)
        .unwrap()
        .to_log();
    let check = |whole: &[u8], feed: fn(&[u8]) -> bool| {
        let mut rng = Rng::new(5);
        let damaged = |_| {
            let mut bytes = whole.to_vec();
            let place = rng.below(bytes.len() as u64) as usize;
            bytes[place] = rng.below(256) as u8;
            feed(&bytes)
        };
        let accepted = (0..20_000).map(damaged).filter(|accepted| *accepted).count();
        assert!((1..20_000).contains(&accepted), "{accepted} of 20000 accepted");
    };
    check(DescriptorPage::BENCHMARK_T2A.file().as_bytes(), feed::file);
    check(&DescriptorPage::BENCHMARK_T2A.to_mode_page(), feed::mode_page);
    check(&log, feed::ata_log);
}
