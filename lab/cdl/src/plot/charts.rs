//! Which charts there are of what was found: those of the scripts, under the same names (cdl.md 3.7).

use super::chart::{Across, Curve, CurveChart};
use super::data::{Results, WorkloadResult};
use super::groups::{Guideline, ReadGroup};
use super::ink::Ink;
use crate::figures::ReadFigures;
use crate::stats::PriorityName;
use std::collections::BTreeMap;

/// Width of a bin of the distributions, in milliseconds.
const BIN_MS: u64 = 2;

/// All charts of one workload.
pub(super) struct WorkloadCharts<'a> {
    pub(super) workload: &'a WorkloadResult,
    pub(super) iops: CurveChart,
    pub(super) lat_avg: CurveChart,
    pub(super) lat_p99: CurveChart,
    pub(super) distributions: Vec<CurveChart>,
}

impl WorkloadCharts<'_> {
    /// The charts in the order of the script.
    pub(super) fn all(&self) -> impl Iterator<Item = &CurveChart> {
        [&self.iops, &self.lat_avg, &self.lat_p99].into_iter().chain(&self.distributions)
    }

    /// What the script says when it draws each of them.
    pub(super) fn announcements(&self) -> Vec<String> {
        let mut said =
            ["IOPS", "latency average", "latency 99th percentile"].map(str::to_owned).to_vec();
        said.extend(self.workload.groups.iter().map(|group| {
            let PriorityName { class, level, hint } = PriorityName::of(group.priority.word());
            match self.workload.is_baseline() {
                true => "latency distribution".to_owned(),
                false => format!("latency distribution, class {class}, level {level}, hint {hint}"),
            }
        }));
        said
    }
}

/// The charts of every workload.
pub(super) fn charts(results: &Results) -> Vec<WorkloadCharts<'_>> {
    let baseline = results.workloads.iter().find(|workload| workload.is_baseline());
    results.workloads.iter().map(|workload| of_workload(workload, baseline)).collect()
}

fn of_workload<'a>(
    workload: &'a WorkloadResult,
    baseline: Option<&WorkloadResult>,
) -> WorkloadCharts<'a> {
    let titles = Titles::of(workload);
    let beside = baseline.filter(|_| !workload.is_baseline());
    let chart = |name: &str, title, up, curves| CurveChart {
        stem: format!("{}_{name}", workload.folder),
        title,
        subtitle: String::new(),
        across: Across::Depth,
        up,
        curves,
        limits: Vec::new(),
    };
    let latency = |of: fn(&ReadFigures) -> f64, alone: &str| {
        let mut curves: Vec<Curve> = beside.iter().flat_map(|it| group_curves(it, of)).collect();
        curves.extend(group_curves(workload, of));
        if workload.is_baseline() {
            curves.iter_mut().for_each(|curve| curve.name = alone.to_owned());
        }
        curves
    };
    WorkloadCharts {
        workload,
        iops: chart("iops", titles.iops, "IOPS", rate_curves(workload, beside)),
        lat_avg: chart(
            "lat_avg",
            titles.lat_avg,
            "Latency (ms)",
            latency(|figures| figures.mean_ms, "Average latency"),
        ),
        lat_p99: CurveChart {
            limits: different(workload.groups.iter().filter_map(|group| group.limit)),
            ..chart(
                "lat_p99",
                titles.lat_p99,
                "Latency (ms)",
                latency(|figures| figures.percentile(0.99) as f64, "Latency 99th percentile"),
            )
        },
        distributions: workload
            .groups
            .iter()
            .map(|group| distribution(workload, group, titles.distribution))
            .collect(),
    }
}

/// Each limit once.
fn different(limits: impl Iterator<Item = Guideline>) -> Vec<Guideline> {
    limits.fold(Vec::new(), |mut found, limit| {
        if !found.contains(&limit) {
            found.push(limit);
        }
        found
    })
}

/// Titles of a workload's charts, as the scripts print them.
struct Titles {
    iops: &'static str,
    lat_avg: &'static str,
    lat_p99: &'static str,
    distribution: &'static str,
}

impl Titles {
    fn of(workload: &WorkloadResult) -> Titles {
        if workload.is_baseline() {
            return Titles {
                iops: "Baseline I/O Rate",
                lat_avg: "Baseline I/O Latency Average",
                lat_p99: "Baseline I/O Latency 99th Percentile",
                distribution: "Baseline I/O Latency Probability Distribution",
            };
        }
        if workload.is_ncq() {
            return Titles {
                iops: "NCQ Priority I/O Rate",
                lat_avg: "NCQ Priority I/O Latency Average",
                lat_p99: "NCQ Priority I/O Latency 99th Percentile",
                distribution: "NCQ Priority I/O Latency Distribution",
            };
        }
        Titles {
            iops: "Command Duration Limits I/O Rate",
            lat_avg: "Command Duration Limits I/O Latency Average",
            lat_p99: "Command Duration Limits I/O Latency 99th Percentile",
            distribution: "Command Duration Limits I/O Latency Distribution",
        }
    }
}

/// Reads per second: the baseline, all reads of the workload, each kind of them.
fn rate_curves(workload: &WorkloadResult, baseline: Option<&WorkloadResult>) -> Vec<Curve> {
    let rate = |figures: &ReadFigures| figures.iops;
    if workload.is_baseline() {
        let mut curves = group_curves(workload, rate);
        curves.iter_mut().for_each(|curve| curve.name = "IOPS".to_owned());
        return curves;
    }
    let mut curves: Vec<Curve> = baseline.iter().flat_map(|it| group_curves(it, rate)).collect();
    let total = workload.depths.iter().map(|depth| (f64::from(depth.depth), depth.total));
    curves.push(Curve {
        name: total_title(workload).to_owned(),
        ink: Ink::Total,
        points: total.collect(),
    });
    curves.extend(group_curves(workload, rate));
    curves
}

/// What all reads of a workload together are called.
pub(super) fn total_title(workload: &WorkloadResult) -> &'static str {
    if workload.is_ncq() { "Total IOPS (low + high)" } else { "Total IOPS (all limits)" }
}

/// A figure of each kind of reads by depth.
fn group_curves(workload: &WorkloadResult, figure: impl Fn(&ReadFigures) -> f64) -> Vec<Curve> {
    let curve = |group: &ReadGroup| {
        let point = |depth: &super::data::DepthResult| {
            Some((f64::from(depth.depth), figure(depth.of(group)?)))
        };
        let points = workload.depths.iter().filter_map(point).collect();
        Curve { name: group.title.clone(), ink: group.ink, points }
    };
    workload.groups.iter().map(curve).collect()
}

/// The distribution of one kind of reads, a curve for each depth.
fn distribution(workload: &WorkloadResult, group: &ReadGroup, title: &'static str) -> CurveChart {
    let depths: Vec<_> =
        workload.depths.iter().filter_map(|depth| Some((depth.depth, depth.of(group)?))).collect();
    let curve = |(n, (depth, figures)): (usize, &(u32, &ReadFigures))| Curve {
        name: format!("I/O depth={depth}"),
        ink: Ink::Depth(n, depths.len()),
        points: shares(figures),
    };
    CurveChart {
        stem: format!("{}_lat_pdf{}", workload.folder, group.plot_suffix),
        title,
        subtitle: group.subtitle.clone(),
        across: Across::Latency,
        up: "Percentage",
        curves: depths.iter().enumerate().map(curve).collect(),
        limits: group.limit.into_iter().collect(),
    }
}

/// Percent of a kind's own reads in each bin that has any, at the bin's centre, with an empty bin at either side.
fn shares(figures: &ReadFigures) -> Vec<(f64, f64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (ms, count) in &figures.counts {
        let bin = ms / BIN_MS;
        for beside in [bin.saturating_sub(1), bin + 1] {
            bins.entry(beside).or_default();
        }
        *bins.entry(bin).or_default() += count;
    }
    let all: u64 = bins.values().sum();
    let point = |(bin, count): (&u64, &u64)| {
        ((*bin as f64 + 0.5) * BIN_MS as f64, *count as f64 * 100.0 / all as f64)
    };
    bins.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_device::Priority;

    /// Ten reads: three of 4 ms, one of 5 ms (the same bin, 4 to 6), six of 9 ms (bin 8 to 10); the bin between is empty.
    #[test]
    fn shares_stand_at_the_centres_of_bins() {
        let figures = ReadFigures {
            priority: Priority::default(),
            counts: vec![(4, 3), (5, 1), (9, 6)],
            ..ReadFigures::default()
        };
        let wanted = [(3.0, 0.0), (5.0, 40.0), (7.0, 0.0), (9.0, 60.0), (11.0, 0.0)];
        assert_eq!(shares(&figures), wanted);
        assert_eq!(shares(&ReadFigures::default()), []);
        // One that is far away has no more bins for that.
        let far = ReadFigures { counts: vec![(0, 1), (9_999_999_999_999, 1)], ..figures };
        let far: Vec<f64> = shares(&far).into_iter().map(|(_, share)| share).collect();
        assert_eq!(far, [50.0, 0.0, 0.0, 50.0, 0.0]);
    }
}
