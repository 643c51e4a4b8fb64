//! What clients were promised and got, in sentences; and what the queues served of their reservation, second by second: a table,
//! charts and a table of all seconds.

use crate::charts::{Chart, Drawing};
use crate::csv::file_stem;
use crate::owed::owed;
use crate::palette::{Look, looks};
use crate::svg::{LineChart, SetupLine};
use crate::wrap::wrapped;
use loadline_draw::number::{percent, plain};
use loadline_study::{
    ClassService, ImageResult, PromiseResult, ReservationResult, Reserved, Series, SetupResult,
    StudyResult, WorstSecond, quoted,
};

/// One sentence for each setup beside whose clients something else went on.
pub(crate) fn reservation_sentences(result: &StudyResult) -> Vec<String> {
    let alone = result.setups.iter().find(|setup| setup.promise.is_none());
    let alone_p99 = alone.and_then(|setup| setup.figure(P99));
    let told = result.setups.iter().filter_map(|setup| match (&setup.promise, &setup.reservation) {
        (Some(promise), _) => Some(sentence(&quoted(setup.name()), promise, &tail(setup, alone_p99))),
        (None, Some(_)) if setup.figure("recovery/seconds").is_some() => Some(format!(
            "reservation not judged under {}: no setup shows what clients have alone; add the baseline to --setups",
            quoted(setup.name())
        )),
        _ => None,
    });
    told.chain(result.setups.iter().flat_map(image_sentences)).collect()
}

/// One sentence for each image of a setup that has several, or promises one something.
fn image_sentences(setup: &SetupResult) -> impl Iterator<Item = String> {
    setup.images.iter().map(|image| image_sentence(&quoted(setup.name()), image))
}

fn image_sentence(setup: &str, of: &ImageResult) -> String {
    let ImageResult { image, load, iops, mean_ms, p99_ms, .. } = of;
    let got = format!(
        "{} IOPS, {} ms mean, {} ms p99 ({load})",
        plain(*iops),
        plain(*mean_ms),
        plain(*p99_ms)
    );
    let limit = match of.limit_iops > 0.0 {
        true => format!(", at most {} IOPS", plain(of.limit_iops)),
        false => String::new(),
    };
    let Some(promise) = &of.promise else {
        return format!("image {image} under {setup}: nothing promised{limit}; {got}");
    };
    let worst = format!(
        "{}, {} in the worst of {} s",
        owed(promise),
        plain(promise.worst_iops),
        promise.seconds
    );
    let verdict = match promise.seconds_short {
        0 => "kept".to_owned(),
        short => format!("NOT kept in {short} s"),
    };
    let promised = plain(of.reservation_iops);
    format!(
        "image {image} under {setup}: {promised} IOPS promised{limit}, {verdict}, {worst}; {got}"
    )
}

const P99: &str = "client/clat_ms/p99";

fn tail(setup: &SetupResult, alone: Option<f64>) -> String {
    match (setup.figure(P99), alone) {
        (Some(p99), Some(alone)) => {
            format!("p99 {} ms beside {} ms alone", plain(p99), plain(alone))
        }
        _ => "no p99".to_owned(),
    }
}

fn sentence(setup: &str, promise: &PromiseResult, tail: &str) -> String {
    let PromiseResult { share, alone_iops, seconds, seconds_short, .. } = *promise;
    let worst = format!(
        "{} IOPS in the worst second (second {} of seed {})",
        plain(promise.worst_iops),
        promise.worst_second,
        promise.worst_seed
    );
    let promised = format!(
        "clients were promised {} of what they have alone, {}",
        percent(share),
        owed(promise)
    );
    match promise.is_kept() {
        None => format!(
            "nothing is promised under {setup}: clients got {worst}, of {} alone; {tail}",
            plain(alone_iops)
        ),
        Some(true) => {
            format!("reservation kept under {setup}: {promised}; they got {worst}; {tail}")
        }
        Some(false) => format!(
            "reservation NOT kept under {setup}: {promised}; they got less in {seconds_short} of {seconds} s, \
             {worst}; {tail}"
        ),
    }
}

/// The sentences for a terminal, none wider than `width` where words allow it.
pub fn reservation_text(result: &StudyResult, width: usize) -> String {
    reservation_sentences(result).iter().map(|text| wrapped(text, width)).collect()
}

/// A row of the page's table.
pub(crate) struct ReservationRow {
    pub(crate) setup: String,
    pub(crate) classes: String,
    pub(crate) figures: Vec<String>,
}

/// The heads of the table's figures, with their units.
pub(crate) const HEADS: [(&str, &str); 8] = [
    ("reserved", "IOPS per OSD"),
    ("on shards in use", "IOPS per OSD"),
    ("owed", "IOPS per OSD"),
    ("served", "IOPS per OSD"),
    ("owed", "of the reservation"),
    ("owed half in", "seconds"),
    ("short by > 2 %", "seconds"),
    ("worst second", "of the reservation"),
];

pub(crate) fn reservation_rows(result: &StudyResult) -> Vec<ReservationRow> {
    let rows = result.setups.iter().zip(looks(result));
    rows.filter_map(|(setup, look)| Some(row(setup, look, setup.reservation.as_ref()?))).collect()
}

fn row(setup: &SetupResult, look: Look, kept: &ReservationResult) -> ReservationRow {
    let WorstSecond { shortfall, second, osd, .. } = kept.worst;
    let worst = match shortfall > 0.0 {
        true => format!("−{} (osd.{osd}, second {second})", percent(shortfall)),
        false => "none short".to_owned(),
    };
    ReservationRow {
        setup: setup.name().to_owned(),
        classes: look.classes(),
        figures: vec![
            plain(kept.reserved_iops),
            plain(kept.wanted_iops),
            plain(kept.owed_iops),
            plain(kept.served_iops),
            percent(kept.demand),
            format!("{} of {}", kept.seconds_with_demand, kept.seconds),
            kept.seconds_short.to_string(),
            worst,
        ],
    }
}

/// A chart for each setup with a reservation.
pub(crate) fn reservation_charts(result: &StudyResult) -> Vec<Chart> {
    let rows = result.setups.iter().zip(looks(result));
    rows.filter_map(|(setup, look)| chart(setup, look, setup.reservation.as_ref()?)).collect()
}

fn chart(setup: &SetupResult, look: Look, kept: &ReservationResult) -> Option<Chart> {
    let rows: Vec<(&ClassService, &Reserved)> = reserved_rows(&setup.series).collect();
    let osds = rows.len() as f64;
    let seconds = rows.iter().map(|(row, _)| row.units.len()).min().filter(|most| *most > 0)?;
    let course = |of: &dyn Fn(&ClassService, &Reserved, usize) -> f64| {
        let mean = |second| {
            rows.iter().map(|(row, reserved)| of(row, reserved, second)).sum::<f64>() / osds
        };
        (0..seconds).map(|second| Some(mean(second) / kept.op_cost)).collect::<Vec<_>>()
    };
    let line = |label: &str, pattern, values| SetupLine {
        label: label.to_owned(),
        look: look.with_pattern(pattern),
        values,
        published: Vec::new(),
    };
    let title = format!("Clients' reservation under {}", setup.name());
    let lines = vec![
        line("served", 0, course(&|row, _, second| row.units[second])),
        line("owed", 1, course(&|_, reserved, second| reserved.owed[second])),
        line("reserved", 2, course(&|_, reserved, second| reserved.wanted[second])),
    ];
    Some(Chart {
        id: format!("reservation-{}", file_stem(setup.name())),
        caption:
            "Client operations per second on one OSD, the mean of all: served, owed (dashed), and \
                  reserved on those shards that clients use (dotted)."
                .to_owned(),
        preset: None,
        drawing: Drawing::Course(LineChart {
            title: title.clone(),
            log: false,
            steps: false,
            lines,
        }),
        title,
    })
}

fn reserved_rows(series: &Series) -> impl Iterator<Item = (&ClassService, &Reserved)> {
    series.service.iter().filter_map(|row| Some((row, row.reserved.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_was_promised_what_came_and_the_verdict() {
        let promise = PromiseResult {
            share: 0.5,
            alone_iops: 21_500.0,
            owed_iops: 10_750.0,
            kept_from_iops: 10_212.5,
            seconds: 15,
            worst_iops: 17_000.0,
            worst_second: 5,
            worst_seed: 1,
            ..PromiseResult::default()
        };
        let check = |promise: PromiseResult, wanted: &str| {
            assert_eq!(sentence("“x”", &promise, "p99 6.5 ms beside 3.8 ms alone"), wanted);
        };
        check(
            promise,
            "reservation kept under “x”: clients were promised 50 % of what they have alone, 10,750 IOPS \
             owed, kept from 10,212 on; they got 17,000 IOPS in the worst second (second 5 of seed 1); p99 6.5 ms beside 3.8 ms alone",
        );
        check(
            PromiseResult { worst_iops: 3_000.0, seconds_short: 14, ..promise },
            "reservation NOT kept under “x”: clients were promised 50 % of what they have alone, 10,750 IOPS \
             owed, kept from 10,212 on; they got less in 14 of 15 s, 3,000 IOPS in the worst second (second 5 of seed 1); \
             p99 6.5 ms beside 3.8 ms alone",
        );
        check(
            PromiseResult { share: 0.0, owed_iops: 0.0, ..promise },
            "nothing is promised under “x”: clients got 17,000 IOPS in the worst second (second 5 of seed 1), \
             of 21,500 alone; p99 6.5 ms beside 3.8 ms alone",
        );
    }

    #[test]
    fn a_worst_second_that_lacks_nothing_is_not_named() {
        let worst = |shortfall: f64| {
            let worst = WorstSecond { shortfall, second: 20, osd: 2, seed: 1 };
            let reservation = Some(ReservationResult { worst, ..Default::default() });
            let setups = vec![SetupResult { reservation, ..Default::default() }];
            let rows = reservation_rows(&StudyResult { setups, ..Default::default() });
            rows[0].figures.last().cloned().unwrap()
        };
        assert_eq!(worst(0.0), "none short");
        assert_eq!(worst(0.31), "−31 % (osd.2, second 20)");
    }
}
