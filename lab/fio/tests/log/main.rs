//! The reader of logs with damaged text; `fuzz/` runs the same under coverage guidance.

mod feed;

use loadline_base::Rng;

const LOG: &str = "\
17, 15051627, 0, 131072, 0x4008
21, 4294967296, 1, 4096, 0
21, 7, 2, 512, 8192, 0x0000
22, 1234567890123456789, 0, 0, 0x2007, 99
1000000, 999999, 0, 131072, 4096, 1, 123456789
";

/// Bytes changed at random, and the log cut anywhere.
#[test]
fn damaged_logs_are_harmless() {
    assert!(feed::log(LOG.as_bytes()));
    let mut rng = Rng::new(3);
    let damaged = |_| {
        let mut bytes = LOG.as_bytes()[..1 + rng.below(LOG.len() as u64 - 1) as usize].to_vec();
        let place = rng.below(bytes.len() as u64) as usize;
        bytes[place] = [b'0', b'9', b',', b' ', b'\n', b'x', 0xff][rng.below(7) as usize];
        feed::log(&bytes)
    };
    let accepted = (0..20_000).map(damaged).filter(|accepted| *accepted).count();
    assert!((1..20_000).contains(&accepted), "{accepted} of 20000 accepted");
}
