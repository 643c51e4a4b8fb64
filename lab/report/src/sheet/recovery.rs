//! The answer in words, computed from the result: what recovery does to clients, and why.

use super::clients;
use super::parts::{Course, PlannedChart, Sheet, Verdict};
use super::trades;
use crate::owed::owed;
use loadline_draw::number::{duration, percent, plain};
use loadline_stats::{mean, quantile};
use loadline_study::{ClassWaits, ImageResult, PromiseResult, SetupResult, StudyResult, quoted};

pub(super) const SHEET: Sheet = Sheet {
    charts: &CHARTS,
    columns: &["client_iops", "clat_mean_ms", "clat_p99_ms", "objects_left", "objects_per_s"],
    background: Some(SECONDS),
    trades: &trades::RECOVERY,
    sentences,
    verdicts,
};

const IOPS: &str = "client/iops";
const SHARE: &str = "share_of_baseline";
const RATE: &str = "recovery/objects_per_s";
const SECONDS: &str = "recovery/seconds";

/// Every chart of the published study, in its order.
const CHARTS: [PlannedChart; 10] = [
    clients::IOPS,
    clients::MEAN,
    PlannedChart::Percentiles {
        id: "clat-percentiles",
        title: "Client latency percentiles",
        note: " The table has the published ones beside ours.",
    },
    PlannedChart::Bars { id: "recovery-rate", title: "Mean recovery rate", figure: RATE, note: "" },
    PlannedChart::Bars { id: "recovery-time", title: "Time to finish", figure: SECONDS, note: "" },
    clients::MEAN_OVER_TIME,
    clients::P99_OVER_TIME,
    clients::IOPS_OVER_TIME,
    PlannedChart::Course(Course {
        id: "objects-left-over-time",
        title: "Objects left to recover",
        caption: "Misplaced objects at the end of each second. The steeper, the faster the recovery; \
                  a bend means that some shards have finished before others.",
        log: false,
        steps: true,
        values: |series| series.column("objects_left").to_vec(),
        column: "objects_left",
    }),
    PlannedChart::Course(Course {
        id: "recovery-rate-over-time",
        title: "Recovery rate over time",
        caption: "Objects recovered per second, as the mean of ten seconds.",
        log: false,
        steps: false,
        values: |series| ten_second_means(series.column("objects_per_s")),
        column: "objects_per_s",
    }),
];

/// Recovery proceeds in bursts of whole objects; each second shows the mean of the ten around it.
fn ten_second_means(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let values: Vec<f64> = values.iter().copied().flatten().collect();
    let around = |at: usize| &values[at.saturating_sub(5)..(at + 5).min(values.len())];
    (0..values.len()).map(|at| mean(around(at))).collect()
}

/// A setup that recovered something, with how long that took.
type RecoveredSetup<'a> = (&'a SetupResult, f64);

/// The page's first sentences: the range of what recovery costs, the fastest recovery, the reason.
fn sentences(result: &StudyResult) -> Vec<String> {
    let ran: Vec<RecoveredSetup<'_>> =
        result.setups.iter().filter_map(|setup| Some((setup, setup.figure(SECONDS)?))).collect();
    let by = |figure: fn(&RecoveredSetup<'_>) -> f64| {
        let mut sorted = ran.clone();
        sorted.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
        sorted
    };
    let by_iops = by(|(setup, _)| iops(setup));
    let by_seconds = by(|(_, seconds)| *seconds);
    let mut sentences = neighbour_sentences(result);
    if let (Some((worst, _)), Some((best, _))) = (by_iops.first(), by_iops.last()) {
        sentences.push(range_sentence(worst, best));
    }
    if let (Some(fastest), Some(slowest)) = (by_seconds.first(), by_seconds.last())
        && by_seconds.len() > 1
    {
        sentences.push(recovery_sentence(*fastest, *slowest));
    }
    sentences.extend(profile_sentences(&ran));
    if let Some((worst, _)) = by_iops.first() {
        sentences.extend(reason(worst, SHEET.baseline(result)));
    }
    sentences
}

/// What the mClock profiles span, a sentence for each preset that ran more than one.
fn profile_sentences(ran: &[RecoveredSetup<'_>]) -> Vec<String> {
    let profiles: Vec<_> = ran.iter().filter(|(setup, _)| setup.setup.profile.is_some()).collect();
    let mut presets: Vec<&str> = Vec::new();
    for (setup, _) in &profiles {
        if !presets.contains(&setup.setup.preset.as_str()) {
            presets.push(&setup.setup.preset);
        }
    }
    let of = |preset: &str| {
        profiles.iter().filter(|(setup, _)| setup.setup.preset == preset).map(|ran| **ran).collect()
    };
    presets.into_iter().filter_map(|preset| profile_sentence(preset, of(preset))).collect()
}

fn profile_sentence(preset: &str, ran: Vec<RecoveredSetup<'_>>) -> Option<String> {
    let shares: Vec<f64> = ran.iter().filter_map(|(setup, _)| setup.figure(SHARE)).collect();
    let seconds: Vec<f64> = ran.iter().map(|(_, seconds)| *seconds).collect();
    let end = |values: &[f64], q| quantile(values, q);
    if shares.len() < 2 {
        return None;
    }
    Some(format!(
        "Across the mClock profiles of preset {preset}, clients keep {} to {} and recovery takes {} \
         to {}.",
        percent(end(&shares, 0.0)?),
        percent(end(&shares, 1.0)?),
        duration(end(&seconds, 0.0)?),
        duration(end(&seconds, 1.0)?)
    ))
}

fn iops(setup: &SetupResult) -> f64 {
    setup.figure(IOPS).unwrap_or(0.0)
}

fn kept(setup: &SetupResult) -> String {
    match setup.figure(SHARE) {
        Some(share) => format!("{} of their throughput", percent(share)),
        None => format!("{} IOPS", plain(iops(setup))),
    }
}

/// What neighbours do to the clients' own image, setup by setup.
fn neighbour_sentences(result: &StudyResult) -> Vec<String> {
    let beside = result.setups.iter().filter(|setup| setup.images.len() > 1);
    let sentence = |setup: &SetupResult| {
        let (own, others) = setup.images.split_first()?;
        let names: Vec<&str> = others.iter().map(|other| other.image.as_str()).collect();
        let beyond = setup.figure("p99_beyond_alone_ms");
        let beyond = beyond.map_or_else(String::new, |ms| {
            let way = if ms < 0.0 { "less" } else { "more" };
            format!(", {} ms {way} than alone", plain(ms.abs()))
        });
        Some(format!(
            "Beside {} under {}, {} has {} IOPS and a p99 of {} ms{beyond}.",
            names.join(" and "),
            quoted(setup.name()),
            own.image,
            plain(own.iops),
            plain(own.p99_ms)
        ))
    };
    beside.filter_map(sentence).collect()
}

fn range_sentence(worst: &SetupResult, best: &SetupResult) -> String {
    if worst.name() == best.name() {
        let name = quoted(best.name());
        return format!("While recovery runs under {name}, clients keep {}.", kept(best));
    }
    format!(
        "While recovery runs, clients keep {} under {}, but only {} under {}.",
        kept(best),
        quoted(best.name()),
        kept(worst),
        quoted(worst.name())
    )
}

fn recovery_sentence(fastest: RecoveredSetup<'_>, slowest: RecoveredSetup<'_>) -> String {
    let told = |(setup, seconds): RecoveredSetup<'_>| {
        let (time, rate) = (duration(seconds), plain(setup.figure(RATE).unwrap_or(0.0)));
        format!("{} ({time}, {rate} objects/s)", quoted(setup.name()))
    };
    format!("Recovery is fastest under {} and slowest under {}.", told(fastest), told(slowest))
}

/// Where a client operation waits in the setup that costs clients most.
fn reason(worst: &SetupResult, baseline: Option<&SetupResult>) -> Option<String> {
    let waits = client_waits(worst)?;
    let (stage, mean) = longest_stage(waits)?;
    let total = waits.mean_total_ms();
    let mut text = format!(
        "Why: under {} a client operation spends {} of its {} ms {}",
        quoted(worst.name()),
        percent(mean / total),
        plain(total),
        in_words(stage)
    );
    if stage == "replica" {
        text += &copies_wait(worst);
    }
    let before = baseline.and_then(client_waits);
    let same = before.and_then(|waits| waits.stages().into_iter().find(|(name, _)| *name == stage));
    if let Some((_, before)) = same {
        text += &format!(", which takes {} ms without recovery", plain(before.mean));
    }
    Some(text + ".")
}

/// What the copies wait for, as an insertion into a sentence about a client that waits for them.
fn copies_wait(setup: &SetupResult) -> String {
    let copies = setup.waits.iter().find(|waits| waits.class == "replica_write");
    let longest = copies.and_then(longest_stage);
    longest.map_or_else(String::new, |(stage, mean)| {
        format!(" (a copy's write spends {} ms {})", plain(mean), in_words(stage))
    })
}

fn client_waits(setup: &SetupResult) -> Option<&ClassWaits> {
    setup.waits.iter().find(|waits| waits.class == "client" && waits.items > 0)
}

fn longest_stage(waits: &ClassWaits) -> Option<(&'static str, f64)> {
    let stages = waits.stages().map(|(name, stage)| (name, stage.mean));
    stages.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, mean)| *mean > 0.0)
}

fn in_words(stage: &str) -> &'static str {
    match stage {
        "queue" => "in the scheduler's queue",
        "cpu" => "on a worker thread or waiting for one",
        "window" => "waiting for room in the store's window",
        "device" => "at the device",
        "replica" => "waiting for the other copies",
        "link" => "on the links",
        stage => unreachable!("{stage} is no stage of ClassWaits"),
    }
}

/// One verdict per setup with recovery, in the result's order.
fn verdicts(result: &StudyResult) -> Vec<Verdict> {
    let setups = result.setups.iter().enumerate();
    setups.filter_map(|(place, setup)| verdict(place, setup)).collect()
}

fn verdict(place: usize, setup: &SetupResult) -> Option<Verdict> {
    let seconds = setup.figure(SECONDS);
    if seconds.is_none() && setup.images.len() < 2 {
        return None;
    }
    let of = |figure| plain(setup.figure(figure).unwrap_or(0.0));
    let iops = format!("{} IOPS", plain(iops(setup)));
    let (keeps, kept_of) = match setup.figure(SHARE) {
        Some(share) => (percent(share), format!("of the clients' throughput kept: {iops}")),
        None => (iops, "for clients".to_owned()),
    };
    let wait = client_waits(setup).and_then(|waits| {
        let (stage, mean) = longest_stage(waits)?;
        let share = percent(mean / waits.mean_total_ms());
        let copies = if stage == "replica" { copies_wait(setup) } else { String::new() };
        Some(format!("A client operation spends {share} of its time {}{copies}.", in_words(stage)))
    });
    Some(Verdict {
        setup: place,
        name: setup.name().to_owned(),
        keeps,
        of: kept_of,
        latency: format!(
            "{} ms mean, {} ms p99",
            of("client/clat_ms/mean"),
            of("client/clat_ms/p99")
        ),
        recovery: seconds.map_or_else(String::new, |seconds| {
            format!("{} at {} objects/s", duration(seconds), of(RATE))
        }),
        wait: wait.unwrap_or_default(),
        promise: promises(setup),
        is_beaten: false,
    })
}

/// Whether the clients got what they were promised as a class, and each image.
fn promises(setup: &SetupResult) -> String {
    let class = setup.promise.as_ref().map(promise);
    let image = |of: &ImageResult| Some(format!("{}: {}", of.image, promise(of.promise.as_ref()?)));
    let all = class.into_iter().chain(setup.images.iter().filter_map(image));
    all.collect::<Vec<_>>().join("; ")
}

/// Whether somebody got what was promised, beside what that was.
fn promise(promise: &PromiseResult) -> String {
    let (owed, worst) = (owed(promise), plain(promise.worst_iops));
    match promise.is_kept() {
        None => "nothing is promised to clients".to_owned(),
        Some(true) => format!("kept: {owed}, {worst} in the worst second"),
        Some(false) => format!(
            "NOT kept in {} of {} s: {owed}, {worst} in the worst second",
            promise.seconds_short, promise.seconds
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, StageTime};

    fn setup(name: &str, share: f64, seconds: f64, profile: Option<&str>) -> SetupResult {
        let stage = |mean| StageTime { mean, p99: 3.0 * mean };
        let waits = ClassWaits {
            class: "client".to_owned(),
            items: 1,
            queue_ms: stage(1.0),
            device_ms: stage(if seconds > 0.0 { 3.0 } else { 0.5 }),
            ..Default::default()
        };
        let mut figures = Figures::default();
        figures.put(IOPS, 20_000.0 * share);
        if seconds > 0.0 {
            figures.put(SHARE, share);
            figures.put(RATE, 60_000.0 / seconds);
            figures.put(SECONDS, seconds);
        }
        let setup = Configuration {
            name: name.to_owned(),
            preset: "quincy".to_owned(),
            profile: profile.map(str::to_owned),
            ..Default::default()
        };
        SetupResult { setup, figures, waits: vec![waits], ..Default::default() }
    }

    fn check(setups: Vec<SetupResult>, wanted: &[&str]) {
        let result = StudyResult { setups, ..Default::default() };
        let found: Vec<_> =
            sentences(&result).into_iter().map(|text| text.replace('\u{a0}', " ")).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_answer_names_the_ends_of_the_range_and_the_reason() {
        check(
            vec![
                setup("baseline", 1.0, 0.0, None),
                setup("WPQ(BST)", 0.15, 200.0, None),
                setup("balanced", 0.5, 600.0, Some("balanced")),
                setup("high_client_ops", 0.6, 1_000.0, Some("high_client_ops")),
            ],
            &[
                "While recovery runs, clients keep 60 % of their throughput under \
                 “high_client_ops”, but only 15 % of their throughput under “WPQ(BST)”.",
                "Recovery is fastest under “WPQ(BST)” (3 min 20 s, 300 objects/s) and slowest under \
                 “high_client_ops” (16 min 40 s, 60.0 objects/s).",
                "Across the mClock profiles of preset quincy, clients keep 50 % to 60 % and \
                 recovery takes 10 min 0 s to 16 min 40 s.",
                "Why: under “WPQ(BST)” a client operation spends 75 % of its 4.00 ms at the device, \
                 which takes 0.500 ms without recovery.",
            ],
        );
    }

    #[test]
    fn without_recovery_there_is_nothing_to_say() {
        check(vec![setup("baseline", 1.0, 0.0, None)], &[]);
    }
}
