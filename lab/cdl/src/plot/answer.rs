//! Which way of marking reads to take, by the greatest depth of each: the one under which marked reads have the shortest tail, beside what all
//! reads pay for it.

use super::data::{DepthResult, Results, WorkloadResult};
use super::groups::ReadGroup;
use super::ink::Ink;
use crate::figures::ReadFigures;
use loadline_draw::number::{percent, plain};

/// What a benchmark of limits asks.
pub const QUESTION: &str =
    "Which way of marking reads keeps them short on this drive, and what do all reads pay for it?";

/// The answer to [`QUESTION`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchAnswer {
    /// The folder of the workload that is recommended, if one is.
    pub recommended: Option<&'static str>,
    /// A sentence or two.
    pub sentences: Vec<String>,
}

/// What differs by no more counts as alike.
const MARGIN: f64 = 0.05;

/// With fewer reads no hundredth of them is one read.
const READS_MIN: u64 = 100;

/// Marked reads of a workload at its greatest depth.
struct MarkedReads<'a> {
    workload: &'a WorkloadResult,
    group: &'a ReadGroup,
    depth: &'a DepthResult,
    p99_ms: u64,
}

/// What the figures allow to say.
pub(super) fn answer(results: &Results) -> BenchAnswer {
    let depth = results.depth_max();
    let baseline = results.workloads.iter().find(|workload| workload.is_baseline());
    let alone = baseline.and_then(|workload| workload.at(depth));
    let marked = || results.workloads.iter().filter(|workload| !workload.is_baseline());
    if marked().next().is_none() {
        return none(
            "Nothing is recommended, since no reads were marked: add --cdl-single, --cdl-multi or --ncq-prio.",
        );
    }
    let Some(chosen) = best(marked().filter_map(|workload| shortest(workload, depth)).collect())
    else {
        return none(&format!(
            "Nothing is recommended, since at a queue depth of {depth} fewer than {READS_MIN} reads were marked: add --runtime."
        ));
    };
    match alone.and_then(|found| Some((found, found.figures.first()?))) {
        Some((_, reads)) if !is_shorter(chosen.p99_ms, p99(reads)) => none(&format!(
            "At a queue depth of {depth} no mark makes the p99 of reads more than {} shorter than the {} ms that it is without: mark none.",
            percent(MARGIN),
            p99(reads)
        )),
        alone => chosen.in_words(alone),
    }
}

fn none(why: &str) -> BenchAnswer {
    BenchAnswer { recommended: None, sentences: vec![why.to_owned()] }
}

/// The percentile of the tables.
fn p99(figures: &ReadFigures) -> u64 {
    figures.percentile(0.99)
}

fn is_shorter(ms: u64, than: u64) -> bool {
    (ms as f64) < than as f64 * (1.0 - MARGIN)
}

/// The marked reads of a workload with the shortest tail.
fn shortest(workload: &WorkloadResult, depth: u32) -> Option<MarkedReads<'_>> {
    let depth = workload.at(depth)?;
    let marked = workload.groups.iter().filter(|group| matches!(group.ink, Ink::Marked(_)));
    let candidates = marked.filter_map(|group| {
        let figures = depth.of(group).filter(|figures| figures.reads >= READS_MIN)?;
        Some(MarkedReads { workload, group, depth, p99_ms: p99(figures) })
    });
    candidates.min_by_key(|of| of.p99_ms)
}

/// The one with the shortest tail; of those that are alike in it, the one whose drive does most.
fn best(all: Vec<MarkedReads<'_>>) -> Option<MarkedReads<'_>> {
    let least = all.iter().map(|of| of.p99_ms).min()?;
    let alike = all.into_iter().filter(|of| !is_shorter(least, of.p99_ms));
    alike.max_by(|a, b| a.depth.rate.total_cmp(&b.depth.rate))
}

impl MarkedReads<'_> {
    fn in_words(&self, alone: Option<(&DepthResult, &ReadFigures)>) -> BenchAnswer {
        let MarkedReads { workload, group, depth, p99_ms } = self;
        let beside = alone.map_or_else(String::new, |(_, reads)| {
            format!(" beside {} ms without marks", p99(reads))
        });
        let lost = alone.map(|(found, _)| 1.0 - depth.rate / found.rate);
        let cost = lost.map_or_else(String::new, |lost| match lost > 0.0 {
            true => format!(", {} fewer", percent(lost)),
            false => ", no fewer".to_owned(),
        });
        let others = workload.groups.iter().find(|group| group.ink == Ink::Plain);
        let others = others.and_then(|group| depth.of(group));
        let others = others.map_or_else(String::new, |figures| {
            format!(", and the p99 of the others is {} ms", p99(figures))
        });
        let (name, rate) = (workload.heading(), plain(depth.rate));
        let first = format!(
            "For reads in a hurry take “{name}” ({}): at a queue depth of {} the p99 of {} is {p99_ms} ms{beside}; all reads together come to \
             {rate} IOPS{cost}{others}.",
            about(workload),
            depth.depth,
            group.spoken,
        );
        let second = lost.filter(|lost| *lost > MARGIN).map(|_| {
            "For as many reads as the drive can do mark none: that is the baseline.".to_owned()
        });
        let sentences = [Some(first), second].into_iter().flatten().collect();
        BenchAnswer { recommended: Some(workload.folder), sentences }
    }
}

/// What the reads of a workload carry.
fn about(workload: &WorkloadResult) -> &'static str {
    match workload.folder {
        "ncqprio" => "some reads carry NCQ's high priority",
        "cdlsingle" => "some reads carry one duration limit",
        _ => "reads carry duration limits of several lengths",
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Facts;
    use super::super::groups::{Guideline, groups};
    use super::*;
    use loadline_device::{Priority, PriorityClass};

    fn reads(descriptor: u8, reads: u64, p99_ms: u64) -> ReadFigures {
        let priority = Priority::new(PriorityClass::BestEffort, 0).with_descriptor(descriptor);
        let priority = if descriptor == 0 { Priority::default() } else { priority };
        ReadFigures { priority, reads, counts: vec![(p99_ms, reads)], ..ReadFigures::default() }
    }

    fn workload(folder: &'static str, rate: f64, figures: Vec<ReadFigures>) -> WorkloadResult {
        let depths = vec![DepthResult { depth: 32, total: rate, rate, figures }];
        let limits = Guideline::all_of("    duration guideline       : 50 ms\n");
        let groups = groups(folder, &depths, &limits);
        WorkloadResult { folder, depths, groups }
    }

    fn says(workloads: Vec<WorkloadResult>) -> (Option<&'static str>, String) {
        let facts = Facts::default();
        let found = answer(&Results { workloads, facts, notes: Vec::new(), refused: None });
        (found.recommended, found.sentences.join(" ").replace('\u{a0}', " "))
    }

    #[test]
    fn the_shortest_tail_of_marked_reads_is_recommended_with_what_it_costs() {
        let baseline = || workload("baseline", 154.0, vec![reads(0, 4_000, 311)]);
        let single = |ms| workload("cdlsingle", 140.0, vec![reads(0, 900, 436), reads(1, 200, ms)]);
        let multi = |ms| workload("cdlmulti", 150.0, vec![reads(1, 200, ms)]);
        let (recommended, said) = says(vec![baseline(), single(68)]);
        assert_eq!(recommended, Some("cdlsingle"));
        assert_eq!(
            said,
            "For reads in a hurry take “One limit” (some reads carry one duration limit): at a queue depth of 32 the p99 of reads with a \
             limit of 50 ms is 68 ms beside 311 ms without marks; all reads together come to 140 IOPS, 9.1 % fewer, and the p99 of the others \
             is 436 ms. For as many reads as the drive can do mark none: that is the baseline."
        );
        // Alike in the tail: the other does more.
        assert_eq!(says(vec![baseline(), single(68), multi(70)]).0, Some("cdlmulti"));
        assert_eq!(says(vec![baseline(), single(68), multi(90)]).0, Some("cdlsingle"));
        assert!(
            says(vec![single(68)]).1.contains("is 68 ms; all reads together come to 140 IOPS, and")
        );
    }

    #[test]
    fn where_nothing_is_shown_nothing_is_recommended() {
        let check = |workloads: Vec<WorkloadResult>, says_so: &str| {
            let (recommended, said) = says(workloads);
            assert_eq!(recommended, None);
            assert!(said.contains(says_so), "{said}");
        };
        let baseline = || workload("baseline", 154.0, vec![reads(0, 4_000, 311)]);
        check(vec![baseline()], "no reads were marked");
        let with = |reads: Vec<ReadFigures>| vec![baseline(), workload("cdlsingle", 140.0, reads)];
        check(with(vec![reads(1, 99, 68)]), "fewer than 100 reads were marked");
        check(
            with(vec![reads(1, 200, 300)]),
            "shorter than the 311 ms that it is without: mark none",
        );
    }
}
