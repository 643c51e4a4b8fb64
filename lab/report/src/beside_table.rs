//! How clients fared beside services that have a deadline, and the services beside them, as a table: a row for each setup.

use crate::beside::named;
use loadline_draw::number::{duration, plain};
use loadline_study::{BesideResult, ServiceResult, SetupResult, StudyResult};

/// The table; its first column, the setups, has no head here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BesideTable {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<BesideRow>,
}

/// One setup, with its place in the result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BesideRow {
    pub(crate) setup: usize,
    /// Whether it stands beside those that are judged.
    pub(crate) is_compared: bool,
    pub(crate) cells: Vec<BesideCell>,
}

/// What is so, and what that is called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BesideCell {
    pub(crate) value: String,
    pub(crate) verdict: String,
}

/// The table of a result, if it has such setups; those that are judged first.
pub(crate) fn beside_table(result: &StudyResult) -> Option<BesideTable> {
    let with = || {
        let setups = result.setups.iter().enumerate();
        setups.filter_map(|(place, setup)| Some((place, setup, setup.beside.as_ref()?)))
    };
    let (.., first) = with().next()?;
    let names: Vec<&str> = first.services.iter().map(named).collect();
    let figures = ["p99 alone, ms", "p99 beside the services, ms", "what clients asked for"];
    let heads = figures.into_iter().chain(names).map(str::to_owned).collect();
    let of = |judged: bool| with().filter(move |(.., beside)| beside.judged == judged).map(row);
    Some(BesideTable { heads, rows: of(true).chain(of(false)).collect() })
}

fn row((setup, _, of): (usize, &SetupResult, &BesideResult)) -> BesideRow {
    let alone = match of.is_alone_seen() {
        true => String::new(),
        false => format!("by {} operations: too few", of.alone_ops),
    };
    let bar = plain(of.bar_ms);
    let tail = match of.is_within_bar() {
        true => format!("at most {bar}: kept"),
        false if of.is_tail_open() => {
            format!("at most {bar}: kept in {} of {} repeats", of.repeats_within, of.repeats)
        }
        false => format!("at most {bar}: NOT kept"),
    };
    let figures = [cell(plain(of.alone_p99_ms), alone), cell(plain(of.p99_ms), tail), asked(of)];
    let services = of.services.iter().map(|service| end(of, service));
    BesideRow {
        setup,
        is_compared: !of.judged,
        cells: figures.into_iter().chain(services).collect(),
    }
}

fn cell(value: impl Into<String>, verdict: impl Into<String>) -> BesideCell {
    BesideCell { value: value.into(), verdict: verdict.into() }
}

fn asked(of: &BesideResult) -> BesideCell {
    match &of.asked {
        None => cell("not seen", "not a whole second"),
        Some(_) if of.has_what_it_asked() => cell("got", ""),
        Some(asked) => cell(
            format!("short in {} of {} s", asked.seconds_short, asked.seconds),
            format!("{} of {} IOPS in the worst", plain(asked.worst_iops), plain(asked.owed_iops)),
        ),
    }
}

fn end(of: &BesideResult, service: &ServiceResult) -> BesideCell {
    let deadline = duration(of.deadline_s);
    let verdict = match (of.is_in_time(service), service.is_seen()) {
        (true, true) => format!("within {deadline}"),
        (true, false) => "too soon to be judged".to_owned(),
        (false, _) => format!("deadline of {deadline} MISSED"),
    };
    cell(service.seconds.map_or_else(|| "not over".to_owned(), duration), verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside::tests::{good, service};
    use loadline_study::{Configuration, PromiseResult};

    #[test]
    fn those_that_are_judged_come_first_and_each_cell_says_what_became_of_it() {
        let scrub = |seconds, ops| vec![service("scrub", seconds, ops)];
        let good = BesideResult { services: scrub(Some(42.0), 42_000), ..good() };
        let asked = good.asked.unwrap();
        let worse = BesideResult {
            judged: false,
            alone_ops: 999,
            p99_ms: 31.0,
            asked: Some(PromiseResult { seconds_short: 3, worst_iops: 12.0, ..asked }),
            services: scrub(None, 0),
            ..good.clone()
        };
        let setup = |name: &str, beside| SetupResult {
            setup: Configuration { name: name.to_owned(), ..Default::default() },
            beside,
            ..Default::default()
        };
        let setups = vec![setup("alone", None), setup("WPQ", Some(worse)), setup("a", Some(good))];
        let table = beside_table(&StudyResult { setups, ..Default::default() }).unwrap();
        assert_eq!(table.heads[2..], ["what clients asked for", "the deep scrub"]);
        let told = |row: &BesideRow| {
            let cells = row.cells.iter().map(|cell| format!("{} ({})", cell.value, cell.verdict));
            cells.collect::<Vec<_>>().join(", ").replace('\u{a0}', " ")
        };
        assert_eq!(table.rows.iter().map(|row| row.setup).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(
            told(&table.rows[0]),
            "0.500 (), 2.00 (at most 2.50: kept), got (), 42.0 s (within 1 min 0 s)"
        );
        assert_eq!(
            told(&table.rows[1]),
            "0.500 (by 999 operations: too few), 31.0 (at most 2.50: NOT kept), short in 3 of 40 s (12.0 of 1,000 IOPS in the worst), \
             not over (deadline of 1 min 0 s MISSED)"
        );
    }
}
