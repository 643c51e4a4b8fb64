//! What clients had reserved, were owed and were served, second by second: sentences, a table, charts and a table of all
//! seconds.

use crate::charts::{Chart, Drawing};
use crate::csv::file_stem;
use crate::palette::{Look, looks};
use crate::svg::{Line, LineChart};
use loadline_draw::number::{percent, plain};
use loadline_study::{
    ClassService, ReservationResult, Reserved, SHORT_ABOVE, Series, SetupResult, StudyResult,
    WorstSecond,
};
use std::fmt::Write;

/// A setup that reserves something for clients.
type Reserving<'a> = (&'a SetupResult, &'a ReservationResult);

fn reserving(result: &StudyResult) -> impl Iterator<Item = Reserving<'_>> {
    result.setups.iter().filter_map(|setup| Some((setup, setup.reservation.as_ref()?)))
}

/// One sentence for each setup with a reservation.
pub(crate) fn reservation_sentences(result: &StudyResult) -> Vec<String> {
    reserving(result).map(|(setup, kept)| sentence(setup.name(), kept)).collect()
}

fn sentence(setup: &str, kept: &ReservationResult) -> String {
    let ReservationResult { seconds, seconds_with_demand, seconds_short, worst, .. } = kept;
    let demand = format!(
        "clients wanted {} of it, in {seconds_with_demand} of {seconds} s at least half",
        percent(kept.demand)
    );
    match (*seconds_short, worst.shortfall > 0.0) {
        (0, false) => format!("reservation kept under {setup}: no second fell short; {demand}"),
        (0, true) => format!("reservation kept under {setup}: {}; {demand}", worst_second(worst)),
        (short, _) => format!(
            "reservation not kept under {setup}: {short} s fell short by more than {}, {}; {demand}",
            percent(SHORT_ABOVE),
            worst_second(worst)
        ),
    }
}

fn worst_second(worst: &WorstSecond) -> String {
    let WorstSecond { shortfall, second, osd, .. } = worst;
    format!("worst second −{} (osd.{osd}, second {second})", percent(*shortfall))
}

/// The sentences for a terminal, none wider than `width` where words allow it.
pub fn reservation_text(result: &StudyResult, width: usize) -> String {
    reservation_sentences(result).iter().map(|text| wrapped(text, width)).collect()
}

fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push_str("\n ");
            column = 1;
        }
        if column > 0 {
            out.push(' ');
        }
        out.push_str(word);
        column += length + usize::from(column > 0);
    }
    out.push('\n');
    out
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
    let line = |label: &str, pattern, values| Line {
        label: label.to_owned(),
        look: look.with_pattern(pattern),
        values,
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

/// Every class on every OSD in every second.
pub(crate) fn service_csv(series: &Series) -> String {
    let mut out =
        "t_s,class,osd,iops,cost_units,reserved_units,wanted_units,owed_units,short_units\n"
            .to_owned();
    for row in &series.service {
        for (second, (iops, units)) in row.iops.iter().zip(&row.units).enumerate() {
            write!(out, "{second},{},{},{iops},{units}", row.class, row.osd)
                .expect("writing to a string");
            let cells = row.reserved.as_ref().map_or_else(
                || ",,,,".to_owned(),
                |reserved| {
                    let Reserved { units, wanted, owed, short } = reserved;
                    format!(",{units},{},{},{}", wanted[second], owed[second], short[second])
                },
            );
            out.push_str(&cells);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(seconds_short: u64, shortfall: f64) -> ReservationResult {
        ReservationResult {
            demand: 0.71,
            seconds: 15,
            seconds_with_demand: 14,
            seconds_short,
            worst: WorstSecond { shortfall, seed: 1, second: 5, osd: 2 },
            ..Default::default()
        }
    }

    #[test]
    fn the_sentence_says_kept_or_not_and_how_often_it_was_owed() {
        let check =
            |kept: &ReservationResult, wanted: &str| assert_eq!(sentence("x", kept), wanted);
        check(
            &kept(0, 0.004),
            "reservation kept under x: worst second −0.4 % (osd.2, second 5); clients wanted 71 % of it, in 14 of 15 s at least half",
        );
        check(
            &kept(0, 0.0),
            "reservation kept under x: no second fell short; clients wanted 71 % of it, in 14 of 15 s at least half",
        );
        check(
            &kept(3, 0.31),
            "reservation not kept under x: 3 s fell short by more than 2.0 %, worst second −31 % (osd.2, second 5); \
             clients wanted 71 % of it, in 14 of 15 s at least half",
        );
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 80), "one two three\n");
        assert_eq!(wrapped("one two three", 7), "one two\n  three\n");
    }

    #[test]
    fn a_class_without_a_reservation_leaves_its_fields_empty() {
        let row = |class: &str, reserved| ClassService {
            class: class.to_owned(),
            osd: 1,
            iops: vec![10.0],
            units: vec![20.5],
            reserved,
        };
        let reserved =
            Reserved { units: 100.0, wanted: vec![50.0], owed: vec![25.0], short: vec![4.0] };
        let service = vec![row("client", Some(reserved)), row("background_recovery", None)];
        let text = service_csv(&Series { service, ..Default::default() });
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["0,client,1,10,20.5,100,50,25,4", "0,background_recovery,1,10,20.5,,,,"]
        );
    }
}
