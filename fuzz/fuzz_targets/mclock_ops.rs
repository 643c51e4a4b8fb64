//! mClock under any script of operations: `cargo +nightly fuzz run mclock_ops`.
//!
//! The first byte chooses the mode, the rest is the script of `core/qos/tests/mclock_ops/script.rs`.

#![no_main]

#[path = "../../core/qos/tests/mclock_ops/script.rs"]
mod script;

use libfuzzer_sys::fuzz_target;
use loadline_qos::{Lane, LoadlineConfig, MClock, Params, PublishedConfig, SideQueue};

fn scheduler(mode: u8) -> MClock<u64> {
    let shared = |r, w, l| Lane::Shared(Params::new(r, w, l).expect("valid"));
    let lanes =
        [Lane::Strict, shared(100.0, 2.0, 0.0), shared(20.0, 1.0, 200.0), shared(0.0, 1.0, 50.0)];
    let published =
        |beside| MClock::as_published(PublishedConfig { beside, ..Default::default() }, &lanes);
    match mode % 4 {
        0 => published(SideQueue::List),
        1 => published(SideQueue::Priorities),
        _ => {
            let strict_priority = (mode % 4 == 2).then_some(196);
            MClock::loadline(LoadlineConfig { strict_priority, ..Default::default() }, &lanes)
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((mode, bytes)) = bytes.split_first() {
        script::run(&mut scheduler(*mode), 4, bytes);
    }
});
