//! The answer in words, computed from the result: what recovery does to clients, and why.

use loadline_draw::number::{duration, percent, plain};
use loadline_stats::quantile;
use loadline_study::{ClassWaits, RecoveryResult, SetupResult, StudyResult};

/// A setup's answer in a few words.
pub(crate) struct Verdict {
    pub(crate) setup: usize,
    pub(crate) name: String,
    /// What the clients keep.
    pub(crate) keeps: String,
    /// What they keep of what.
    pub(crate) of: String,
    pub(crate) latency: String,
    pub(crate) recovery: String,
    pub(crate) wait: String,
}

/// A setup that recovered something, with what it recovered.
type Recovering<'a> = (&'a SetupResult, &'a RecoveryResult);

/// The page's first sentences: the range of what recovery costs, the fastest recovery, the reason.
pub(crate) fn sentences(result: &StudyResult) -> Vec<String> {
    let ran: Vec<Recovering<'_>> =
        result.setups.iter().filter_map(|setup| Some((setup, setup.recovery.as_ref()?))).collect();
    let by = |figure: fn(&Recovering<'_>) -> f64| {
        let mut sorted = ran.clone();
        sorted.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
        sorted
    };
    let by_iops = by(|(setup, _)| setup.client.iops);
    let by_seconds = by(|(_, recovery)| recovery.seconds);
    let mut sentences = Vec::new();
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
        sentences.extend(reason(worst, result.baseline()));
    }
    sentences
}

/// What the mClock profiles span, a sentence for each preset that ran more than one.
fn profile_sentences(ran: &[Recovering<'_>]) -> Vec<String> {
    let profiles: Vec<_> = ran.iter().filter(|(setup, _)| setup.profile.is_some()).collect();
    let mut presets: Vec<&str> = Vec::new();
    for (setup, _) in &profiles {
        if !presets.contains(&setup.preset.as_str()) {
            presets.push(&setup.preset);
        }
    }
    let of = |preset: &str| {
        profiles.iter().filter(|(setup, _)| setup.preset == preset).map(|ran| **ran).collect()
    };
    presets.into_iter().filter_map(|preset| profile_sentence(preset, of(preset))).collect()
}

fn profile_sentence(preset: &str, ran: Vec<Recovering<'_>>) -> Option<String> {
    let shares: Vec<f64> = ran.iter().filter_map(|(setup, _)| setup.share_of_baseline).collect();
    let seconds: Vec<f64> = ran.iter().map(|(_, recovery)| recovery.seconds).collect();
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

fn kept(setup: &SetupResult) -> String {
    match setup.share_of_baseline {
        Some(share) => format!("{} of their throughput", percent(share)),
        None => format!("{} IOPS", plain(setup.client.iops)),
    }
}

fn range_sentence(worst: &SetupResult, best: &SetupResult) -> String {
    if worst.name == best.name {
        return format!("While recovery runs under {}, clients keep {}.", best.name, kept(best));
    }
    format!(
        "While recovery runs, clients keep {} under {}, but only {} under {}.",
        kept(best),
        best.name,
        kept(worst),
        worst.name
    )
}

fn recovery_sentence(fastest: Recovering<'_>, slowest: Recovering<'_>) -> String {
    let told = |(setup, recovery): Recovering<'_>| {
        let (time, rate) = (duration(recovery.seconds), plain(recovery.objects_per_s));
        format!("{} ({time}, {rate} objects/s)", setup.name)
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
        worst.name,
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
        "software stage" => "in the study era's software stage, before any OSD sees it",
        stage => unreachable!("{stage} is no stage of ClassWaits"),
    }
}

/// One verdict per setup with recovery, in the result's order.
pub(crate) fn verdicts(result: &StudyResult) -> Vec<Verdict> {
    let setups = result.setups.iter().enumerate();
    setups.filter_map(|(place, setup)| verdict(place, setup)).collect()
}

fn verdict(place: usize, setup: &SetupResult) -> Option<Verdict> {
    let recovery = setup.recovery.as_ref()?;
    let clat = &setup.client.clat_ms;
    let iops = format!("{} IOPS", plain(setup.client.iops));
    let (keeps, of) = match setup.share_of_baseline {
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
        name: setup.name.clone(),
        keeps,
        of,
        latency: format!("{} ms mean, {} ms p99", plain(clat.mean), plain(clat.p99)),
        recovery: format!(
            "{} at {} objects/s",
            duration(recovery.seconds),
            plain(recovery.objects_per_s)
        ),
        wait: wait.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{ClientResult, Stage};

    fn setup(name: &str, share: f64, seconds: f64, profile: Option<&str>) -> SetupResult {
        let stage = |mean| Stage { mean, p99: 3.0 * mean };
        let waits = ClassWaits {
            class: "client".to_owned(),
            items: 1,
            queue_ms: stage(1.0),
            device_ms: stage(if seconds > 0.0 { 3.0 } else { 0.5 }),
            ..Default::default()
        };
        SetupResult {
            name: name.to_owned(),
            preset: "quincy".to_owned(),
            profile: profile.map(str::to_owned),
            client: ClientResult { iops: 20_000.0 * share, ..Default::default() },
            share_of_baseline: (seconds > 0.0).then_some(share),
            recovery: (seconds > 0.0).then(|| RecoveryResult {
                objects_per_s: 60_000.0 / seconds,
                seconds,
                ..Default::default()
            }),
            waits: vec![waits],
            ..Default::default()
        }
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
                 high_client_ops, but only 15 % of their throughput under WPQ(BST).",
                "Recovery is fastest under WPQ(BST) (3 min 20 s, 300 objects/s) and slowest under \
                 high_client_ops (16 min 40 s, 60.0 objects/s).",
                "Across the mClock profiles of preset quincy, clients keep 50 % to 60 % and \
                 recovery takes 10 min 0 s to 16 min 40 s.",
                "Why: under WPQ(BST) a client operation spends 75 % of its 4.00 ms at the device, \
                 which takes 0.500 ms without recovery.",
            ],
        );
    }

    #[test]
    fn without_recovery_there_is_nothing_to_say() {
        check(vec![setup("baseline", 1.0, 0.0, None)], &[]);
    }
}
