//! What the figures say, in sentences: the greatest depth of each workload beside the baseline.

use super::data::{DepthResult, Results, WorkloadResult};
use super::groups::ReadGroup;
use super::ink::Ink;
use crate::figures::ReadFigures;
use loadline_draw::number::{difference, percent, plain};

/// A sentence for each workload.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let baseline = results.workloads.iter().find(|workload| workload.is_baseline());
    let of = |workload: &WorkloadResult| sentence(workload, baseline).map(|text| unbroken(&text));
    results.workloads.iter().filter_map(of).collect()
}

/// No line ends between a figure and its unit.
fn unbroken(text: &str) -> String {
    [" ms", " us", " %", " IOPS"]
        .iter()
        .fold(text.to_owned(), |text, unit| text.replace(unit, &unit.replace(' ', "\u{a0}")))
}

fn sentence(workload: &WorkloadResult, baseline: Option<&WorkloadResult>) -> Option<String> {
    let last = workload.depths.last()?;
    let depth = last.depth;
    if workload.is_baseline() {
        let found = last.figures.first()?;
        return Some(format!(
            "Without priorities the drive reads {} IOPS at a queue depth of {depth}, with a mean latency of {} ms and a p99 of {} ms.",
            plain(found.iops),
            plain(found.mean_ms),
            found.percentile(0.99)
        ));
    }
    let beside = baseline.and_then(|it| it.at(depth));
    let told = |group: &ReadGroup| told(group, last.of(group)?, beside);
    let marked = workload.groups.iter().filter(|group| matches!(group.ink, Ink::Marked(_)));
    let parts: Vec<String> = marked.filter_map(told).collect();
    let cost = cost(workload, last, baseline);
    (!parts.is_empty())
        .then(|| format!("At a queue depth of {depth}, {}. {cost}", parts.join(", ")))
}

/// The tail of a kind of reads, by the figures of the table.
fn told(
    group: &ReadGroup,
    figures: &ReadFigures,
    baseline: Option<&DepthResult>,
) -> Option<String> {
    let text = format!("{} have a p99 of {} ms", group.spoken, figures.percentile(0.99));
    let beside = baseline.and_then(|found| found.figures.first());
    let beside = beside.map(|found| format!(" (baseline {} ms)", found.percentile(0.99)));
    let within = group.limit.and_then(|limit| limit.share_within(figures));
    let within = within.map(|share| format!(", {} of them end within their limit", percent(share)));
    Some(text + &beside.unwrap_or_default() + &within.unwrap_or_default())
}

/// What all reads and those without a mark pay for it.
fn cost(
    workload: &WorkloadResult,
    last: &DepthResult,
    baseline: Option<&WorkloadResult>,
) -> String {
    let mut text = format!("All reads together come to {} IOPS", plain(last.rate));
    let lost = |found: &DepthResult| {
        let beside = baseline?.at(found.depth)?;
        difference(found.rate, beside.rate)
    };
    if let Some(lost) = lost(last) {
        text += &format!(", {lost} against the baseline");
    }
    let first = workload.depths.first().filter(|first| first.depth < last.depth);
    if let Some((first, lost)) = first.and_then(|first| Some((first, lost(first)?))) {
        text += &format!(" ({lost} at a queue depth of {})", first.depth);
    }
    let plain_group = workload.groups.iter().find(|group| group.ink == Ink::Plain);
    if let Some(figures) = plain_group.and_then(|group| last.of(group)) {
        text += &format!("; the other reads have a p99 of {} ms", figures.percentile(0.99));
    }
    text + "."
}
