//! Studies of background services: what clients keep beside them, when each of them ends, and the course of both.

use super::clients;
use super::parts::{Course, PlannedChart, Sheet};
use super::trades;
use crate::named::names;
use crate::wrap::listed;
use loadline_draw::number::{duration, percent, plain};
use loadline_study::{SetupResult, StudyResult, quoted};

pub(super) const SHEET: Sheet = Sheet {
    charts: &CHARTS,
    columns: &[
        "client_iops",
        "clat_mean_ms",
        "clat_p99_ms",
        "scrub_left",
        "scrubbed_pgs",
        "trim_left",
        "removal_left",
        "recovery_left",
    ],
    background: Some("services"),
    trades: &trades::SERVICES,
    sentences,
    verdicts: |_| Vec::new(),
};

/// Only setups beside which services ran have a share, where there is one without.
const SHARE: &str = "share_of_baseline";

/// The services with their names in a sentence.
const SERVICES: [(&str, &str); 4] = [
    ("scrub", "the deep scrub"),
    ("trim", "the trim"),
    ("removal", "the removal"),
    ("recovery", "recovery"),
];

const CHARTS: [PlannedChart; 17] = [
    clients::IOPS,
    clients::MEAN,
    PlannedChart::Percentiles {
        id: "clat-percentiles",
        title: "Client latency percentiles",
        note: "",
    },
    PlannedChart::Bars {
        id: "scrub-time",
        title: "Time to scrub",
        figure: "scrub/seconds",
        note: "",
    },
    PlannedChart::Bars {
        id: "slots-used",
        title: "Slots of scrubs in use",
        figure: "scrub/slots_used",
        note: "",
    },
    PlannedChart::Bars {
        id: "trim-rate",
        title: "Clones trimmed per second",
        figure: "trim/objects_per_s",
        note: "",
    },
    PlannedChart::Bars {
        id: "removal-time",
        title: "Time until a removed pool is gone",
        figure: "removal/seconds",
        note: "",
    },
    PlannedChart::Bars {
        id: "recovery-rate",
        title: "Mean recovery rate",
        figure: "recovery/objects_per_s",
        note: "",
    },
    PlannedChart::Bars {
        id: "p99-beside",
        title: "Clients' p99 beside the services",
        figure: "beside/clat_ms/p99",
        note: "The longest of those beside each service. Before the services the same clients were alone.",
    },
    clients::MEAN_OVER_TIME,
    clients::P99_OVER_TIME,
    clients::IOPS_OVER_TIME,
    left("scrub-left-over-time", "Objects left to scrub", "scrub_left", |series| {
        series.column("scrub_left").to_vec()
    }),
    PlannedChart::Course(Course {
        id: "scrubbed-pgs-over-time",
        title: "Placement groups scrubbed at a time",
        caption: "Those that have a slot on every copy, at the end of each second.",
        log: false,
        steps: true,
        values: |series| series.column("scrubbed_pgs").to_vec(),
        column: "scrubbed_pgs",
    }),
    left("trim-left-over-time", "Clones left to trim", "trim_left", |series| {
        series.column("trim_left").to_vec()
    }),
    left("removal-left-over-time", "Objects left of the removed pool", "removal_left", |series| {
        series.column("removal_left").to_vec()
    }),
    left("recovery-left-over-time", "Objects left to recover", "recovery_left", |series| {
        series.column("recovery_left").to_vec()
    }),
];

const fn left(
    id: &'static str,
    title: &'static str,
    column: &'static str,
    values: fn(&loadline_study::Series) -> Vec<Option<f64>>,
) -> PlannedChart {
    let caption = "At the end of each second. The steeper, the faster.";
    PlannedChart::Course(Course { id, title, caption, log: false, steps: true, values, column })
}

/// The page's first sentences: what clients keep, then when each service ends.
fn sentences(result: &StudyResult) -> Vec<String> {
    let share = |setup: &SetupResult| setup.figure(SHARE);
    let mut by_share: Vec<(&SetupResult, f64)> =
        result.setups.iter().filter_map(|setup| Some((setup, share(setup)?))).collect();
    by_share.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut sentences = Vec::new();
    if let (Some((worst, least)), Some((best, most))) = (by_share.first(), by_share.last()) {
        sentences.push(format!(
            "Beside the background work clients keep {} of their throughput under {} and {} under {}.",
            percent(*most),
            quoted(best.name()),
            percent(*least),
            quoted(worst.name())
        ));
    }
    sentences.extend(SERVICES.iter().filter_map(|(key, name)| ends(result, key, name)));
    let slots = result.setups.iter().filter_map(|setup| setup.figure("scrub/slots_used"));
    if let Some(least) = slots.reduce(f64::min).filter(|least| *least >= 0.8) {
        sentences.push(format!(
            "In the mean at least {} of the slots of scrubs are in use: it is `osd_max_scrubs`, and the time of a single placement group, that \
             sets how long the scrub takes.",
            percent(least)
        ));
    }
    sentences
}

/// Between which setups the end of a service lies, and where it did not come.
fn ends(result: &StudyResult, key: &str, name: &str) -> Option<String> {
    let seconds = |setup: &SetupResult| setup.figure(&format!("{key}/seconds"));
    let rate = |setup: &SetupResult| setup.figure(&format!("{key}/objects_per_s")).unwrap_or(0.0);
    let ran = |setup: &&SetupResult| setup.figure(&format!("{key}/objects_per_s")).is_some();
    let mut ended: Vec<(&SetupResult, f64)> =
        result.setups.iter().filter_map(|setup| Some((setup, seconds(setup)?))).collect();
    ended.sort_by(|a, b| a.1.total_cmp(&b.1));
    let unended = names(result.setups.iter().filter(ran).filter(|of| seconds(of).is_none()));
    let told = |(setup, seconds): &(&SetupResult, f64)| {
        let (name, rate) = (quoted(setup.name()), plain(rate(setup)));
        format!("{} ({rate} objects/s) under {name}", duration(*seconds))
    };
    let mut text = match (ended.first(), ended.last()) {
        (Some(first), Some(last)) if ended.len() > 1 => {
            format!("{} takes {} at least and {} at most", capital(name), told(first), told(last))
        }
        (Some(only), _) => format!("{} takes {}", capital(name), told(only)),
        _ => String::new(),
    };
    if !unended.is_empty() {
        let joined = listed(&unended);
        text = match text.is_empty() {
            true => format!("{} does not end in the run's time under {joined}", capital(name)),
            false => format!("{text}; it does not end in the run's time under {joined}"),
        };
    }
    (!text.is_empty()).then_some(text + ".")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
