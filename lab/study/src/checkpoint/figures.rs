//! The figures of a checkpoint study.

use crate::figure::Better::{Down, Neither, Up};
use crate::figure::{Figure, Figures, Print};

/// Those that tell a run in a few words.
pub(crate) const CHIEF: [&str; 4] = [
    "client/puts_per_s",
    "client/clat_ms/mean",
    "checkpoint/checkpoints",
    "checkpoint/share_in_checkpoints",
];

/// Every figure, in the order of the tables.
pub(crate) const FIGURES: [Figure; 50] = [
    Figure::new(
        "client/puts_per_s",
        ("puts", "1/s"),
        Up,
        "puts answered in the measured window / its length",
    ),
    Figure::new(
        "client/clat_ms/mean",
        ("mean", "ms"),
        Down,
        "sum of latencies / puts; closed loop: from sending, open loop: from the intended start",
    ),
    Figure::new(
        "client/clat_ms/p50",
        ("p50", "ms"),
        Down,
        "the smallest latency that at least half of the puts stayed at or below",
    )
    .on_page(),
    Figure::new("client/clat_ms/p99", ("p99", "ms"), Down, "the same for 99 %"),
    Figure::new("client/clat_ms/p99.9", ("p99.9", "ms"), Down, "the same for 99.9 %"),
    Figure::new(
        "client/lowest_second_share",
        ("lowest second", "of median"),
        Up,
        "puts of the second with the fewest / puts of the median second; seconds of the published node, shrunk by the scale as the periods are",
    )
    .printed(Print::Percent)
    .computed(|of| ratio(of, "client/lowest_second", "client/median_second")),
    Figure::new(
        "client/longest_gap_ms",
        ("longest gap", "ms"),
        Down,
        "the longest time in which no put ended",
    )
    .on_page(),
    Figure::new(
        "checkpoint/log_bytes_per_put",
        ("log", "B/put"),
        Down,
        "bytes of log records, images and edits included, padding not / puts",
    )
    .computed(|of| ratio(of, "checkpoint/log_bytes", "checkpoint/puts")),
    Figure::new(
        "checkpoint/recovery_bytes_per_page",
        ("recovery data", "B/page"),
        Down,
        "bytes in the recovery area / pages; of the checkpoints that ended in the window and wrote any",
    )
    .computed(|of| {
        ratio(of, "checkpoint/recovery_data_bytes_of_ended", "checkpoint/pages_with_recovery_data")
    }),
    Figure::new(
        "checkpoint/log_and_recovery_bytes_per_put",
        ("log + recovery", "B/put"),
        Down,
        "(log bytes + bytes written to the recovery area) / puts",
    )
    .computed(|of| {
        let bytes = of.get("checkpoint/log_bytes")? + of.get("checkpoint/recovery_data_bytes")?;
        share(bytes, of.get("checkpoint/puts")?)
    })
    .on_page(),
    Figure::new(
        "checkpoint/pages_per_put",
        ("pages", "1/put"),
        Down,
        "pages written home / puts",
    )
    .computed(|of| ratio(of, "checkpoint/pages_written", "checkpoint/puts"))
    .on_page(),
    Figure::new(
        "checkpoint/share_in_checkpoints",
        ("in checkpoints", "of time"),
        Down,
        "time from each checkpoint's instant to its end / measured time",
    )
    .printed(Print::Percent)
    .telling_regimes(),
    Figure::new(
        "checkpoint/copied_on_write_share",
        ("copied on write", "of pages"),
        Neither,
        "pages written from the buffer of old versions / pages of the checkpoints",
    )
    .printed(Print::Percent)
    .computed(|of| ratio(of, "checkpoint/copied_on_write_pages", "checkpoint/checkpoint_pages")),
    Figure::new(
        "checkpoint/buffer_max_share",
        ("buffer, most", "of slots"),
        Down,
        "most slots in use at once / slots",
    )
    .printed(Print::Percent),
    Figure::new(
        "checkpoint/throttle_us_per_put",
        ("throttled", "us/put"),
        Down,
        "sleep handed out by the throttle / puts",
    )
    .computed(|of| share(of.get("checkpoint/throttle_s")? * 1e6, of.get("checkpoint/puts")?))
    .on_page(),
    Figure::new(
        "checkpoint/recovery_write_ms",
        ("recovery write", "ms"),
        Down,
        "mean over checkpoints: writing images and making them durable",
    )
    .computed(|of| positive(of, "checkpoint/durations_ms/recovery_data_write"))
    .on_page(),
    Figure::new(
        "checkpoint/pages_write_ms",
        ("pages write", "ms"),
        Down,
        "mean over checkpoints: writing pages home",
    )
    .computed(|of| positive(of, "checkpoint/durations_ms/pages_write"))
    .on_page(),
    Figure::new(
        "checkpoint/sync_ms",
        ("sync", "ms"),
        Down,
        "mean over checkpoints: flushing the pages, the end marker, freeing",
    )
    .computed(|of| positive(of, "checkpoint/durations_ms/sync"))
    .on_page(),
    Figure::new(
        "checkpoint/checkpoint_ms",
        ("checkpoint", "ms"),
        Down,
        "mean over checkpoints: from the instant to the end",
    )
    .computed(|of| positive(of, "checkpoint/durations_ms/total")),
    Figure::new(
        "checkpoint/recovery_share_of_checkpoint",
        ("recovery write", "of checkpoint"),
        Neither,
        "mean time of recovery writing / mean time of a checkpoint",
    )
    .printed(Print::Percent)
    .computed(|of| {
        let images = positive(of, "checkpoint/durations_ms/recovery_data_write")?;
        share(images, of.get("checkpoint/durations_ms/total")?)
    })
    .on_page(),
    Figure::data("client/clat_ms/p95", "the same for 95 %"),
    Figure::data("client/clat_ms/p99.5", "the same for 99.5 %"),
    Figure::data("client/lowest_second", "puts per second in the second with the fewest"),
    Figure::data("client/median_second", "puts per second in the median second"),
    Figure::data("client/seconds", "how many of these were counted").printed(Print::Count),
    Figure::data("client/empty_seconds", "seconds without a put").printed(Print::Count),
    Figure::data("client/failed", "puts that ended with an error"),
    Figure::data("client/under_way", "puts that had begun and not ended when the window closed"),
    Figure::data("client/waited_max_ms", "how long the oldest of these had waited by then"),
    Figure::data("checkpoint/seconds", "length of the window in the world's time"),
    Figure::data("checkpoint/puts", "puts carried out"),
    Figure::data("checkpoint/log_bytes", "bytes of log records, images and edits included"),
    Figure::data("checkpoint/log_physical_bytes", "of these, images and edits"),
    Figure::data(
        "checkpoint/log_device_bytes",
        "bytes written to the log, blocks that were written again as they filled included",
    ),
    Figure::data("checkpoint/recovery_data_bytes", "bytes written to the recovery area"),
    Figure::data(
        "checkpoint/recovery_data_bytes_of_ended",
        "bytes in the recovery area of the checkpoints that ended in the window, begun before it or in it",
    ),
    Figure::data("checkpoint/pages_with_recovery_data", "pages of checkpoints that wrote any"),
    Figure::data("checkpoint/pages_written", "pages written home"),
    Figure::data("checkpoint/page_bytes", "bytes of these"),
    Figure::data("checkpoint/read_bytes", "bytes of pages read because they were not in memory"),
    Figure::new(
        "checkpoint/checkpoints",
        ("checkpoints", "ended"),
        Neither,
        "checkpoints that ended in the window",
    )
    .on_page(),
    Figure::data("checkpoint/checkpoint_pages", "pages of these"),
    Figure::data("checkpoint/copied_on_write_pages", "of these, written from the buffer"),
    Figure::data("checkpoint/throttle_s", "sleep handed out by the throttle, over all puts"),
    Figure::data("checkpoint/durations_ms/log_sync", "mean: making the log durable"),
    Figure::data("checkpoint/durations_ms/recovery_data_write", "mean: images, made durable"),
    Figure::data("checkpoint/durations_ms/write_entry", "mean: the begin marker"),
    Figure::data("checkpoint/durations_ms/pages_write", "mean: writing pages home"),
    Figure::data("checkpoint/durations_ms/sync", "mean: making them durable, the end marker"),
    Figure::data("checkpoint/durations_ms/total", "mean: all of it"),
];

fn ratio(of: &Figures, part: &str, whole: &str) -> Option<f64> {
    share(of.get(part)?, of.get(whole)?)
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part.is_finite()).then(|| part / whole)
}

fn positive(of: &Figures, key: &str) -> Option<f64> {
    of.get(key).filter(|value| *value > 0.0)
}
