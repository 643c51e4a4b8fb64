//! Logs that tell the script's rules apart, made anew for each test from nothing but numbers.

use loadline_base::Rng;
use std::fmt::Write;

/// A log and the name of its stored statistics.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// One line for each of these: time, latency in nanoseconds, block size, priority.
fn lines(of: impl IntoIterator<Item = (u64, u64, u64, u16)>) -> String {
    let mut text = String::new();
    for (time_ms, latency_ns, bytes, word) in of {
        writeln!(text, "{time_ms}, {latency_ns}, 0, {bytes}, {word:#06x}").unwrap();
    }
    text
}

/// What a disk might do under two duration limits: about 20 % of I/Os with hint 1, a few with hint 4.
fn mixed() -> String {
    let mut rng = Rng::new(22);
    let mut time_us = 0;
    lines((0..20_000).map(|_| {
        time_us += 2_000 + rng.below(9_000);
        let (word, reach) = match rng.below(100) {
            0..20 => (0x4008, 80_000_000),
            20..22 => (0x4020, 350_000_000),
            _ => (0x0000, 500_000_000),
        };
        // The larger of two draws: a slope instead of a plateau.
        let latency_ns = 5_000_000 + rng.below(reach).max(rng.below(reach));
        (time_us / 1_000, latency_ns, 131_072, word)
    }))
}

/// Every class, levels above 3, hints above 7, and two words that the script calls by one name.
fn words() -> String {
    let words = [0x0000, 0x2000, 0x2004, 0x4007, 0x4008, 0x4040, 0x5ff8, 0x6003, 0x8000, 0xffff];
    lines((0..400).map(|n| (n * 7, n * 1_234_567, 4_096, words[n as usize % words.len()])))
}

/// All samples.
pub(crate) fn samples() -> Vec<Sample> {
    let same = |time, latency, bytes| lines([(time, latency, bytes, 0x4008)]);
    let sample = |name, text| Sample { name, text };
    vec![
        sample("mixed", mixed()),
        sample("words", words()),
        sample("one_line", same(17, 15_051_627, 131_072)),
        sample("no_time", same(0, 15_051_627, 131_072)),
        sample("below_one", same(1_000_000_000, 999_999, 512)),
        sample("minutes", same(400_000, 399_999_999_999, 1 << 30)),
        // Means of n / 8 and n / 16, whose third decimal is a 5 with nothing behind it.
        sample(
            "ties",
            lines((0..16).map(|n| (100 + n, 1_000_000 * (n / 15), 4_096, (n as u16 & 1) << 3))),
        ),
        // Small differences of long latencies, whose variance is lost in the rounding of their squares.
        sample(
            "alike",
            lines((0..3_000).map(|n| (n, 9_999_999_000_000 + n / 2_999 * 1_000_000, 4_096, 0))),
        ),
        sample("open_end", format!("{}9, 2000000, 0, 4096, 0x0000", same(5, 7_000_000, 4_096))),
        sample("partly_flags", format!("{}9, 2000000, 0, 4096, 0\n", same(5, 7_000_000, 4_096))),
        sample(
            "offsets",
            "5, 7000000, 0, 4096, 8192, 0x4008\n9, 8000000, 1, 8192, 0, 0x0000\n".to_owned(),
        ),
        sample("only_flags", "5, 7000000, 0, 4096, 0\n9, 8000000, 0, 4096, 1\n".to_owned()),
        sample("empty", String::new()),
    ]
}
