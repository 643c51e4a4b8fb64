//! Whether clients keep their tail beside the services, and get what they ask for, and whether the services are over in time.
//!
//! One run shows clients alone and beside: their p99 may grow to twice what it was, or by twice the window's latency goal where that is
//! more. That says nothing where clients got less than they asked for, or where a service waited for their end; so each of these is judged
//! beside it, and only all together are kept. Where a service was over before clients had met it, or clients were alone for too short a time,
//! what was seen is too little for either word.
//!
//! A tail is kept if it was within its bar in every repeat, and broken if it was in none. Where repeats disagree, a stall of the disk in a
//! few seconds decided, and neither is shown.

use crate::chance::is_close;
use crate::promise::{ClientPromise, OfferedRate, PromiseResult};
use crate::record::RunRecord;
use loadline_base::Span;
use serde::{Deserialize, Serialize};

/// Clients must have completed so many operations alone, and so many beside a service: ten of them are beyond the 99th percentile.
pub const OPS_MIN: u64 = 1000;

/// The clients' p99 beside services is at most so many times that of alone.
const TIMES_ALONE: f64 = 2.0;

/// Or that of alone and so many times the latency goal: one goal for what the disk has already, one for the part of a transfer that
/// comes next.
const GOALS: f64 = 2.0;

/// How clients fared beside the services, and the services beside them, in the worst repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BesideResult {
    /// Whether the setup is judged, or stands beside those that are.
    pub judged: bool,
    /// The clients' p99 before the services began.
    pub alone_p99_ms: f64,
    /// Operations that they completed before, in the repeat with the fewest.
    #[serde(default)]
    pub alone_ops: u64,
    /// Their p99 beside that service beside which it was longest.
    pub p99_ms: f64,
    /// What it may be.
    pub bar_ms: f64,
    /// In how many repeats it was no more.
    #[serde(default)]
    pub repeats_within: usize,
    /// Of how many.
    #[serde(default)]
    pub repeats: usize,
    /// The latency goal of the window in the bar.
    pub goal_ms: f64,
    /// From its beginning on each service has so long.
    pub deadline_s: f64,
    /// What clients asked for beside the services and what they got; `None` if a repeat saw not a whole second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<PromiseResult>,
    /// Each service.
    pub services: Vec<ServiceResult>,
}

/// What the runs of a setup show of all that is asked beside services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BesideVerdict {
    Kept,
    Broken,
    /// Neither: chance may have decided, or too little was seen.
    Open,
}

/// A service beside clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceResult {
    /// `scrub`, `trim` or `removal`.
    pub service: String,
    /// How long it took, in the slowest repeat; `None` if one saw no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The clients' p99 beside it, in the worst repeat.
    pub p99_ms: f64,
    /// Operations that clients completed beside it, in the repeat with the fewest.
    pub ops: u64,
}

impl ServiceResult {
    /// Whether clients had enough of it for a percentile.
    pub fn is_seen(&self) -> bool {
        self.ops >= OPS_MIN
    }
}

impl BesideResult {
    /// Whether the clients' tail stayed within the bar.
    pub fn is_within_bar(&self) -> bool {
        self.p99_ms <= self.bar_ms
    }

    /// Whether it did in some repeats and not in others.
    pub fn is_tail_open(&self) -> bool {
        (1..self.repeats).contains(&self.repeats_within)
    }

    /// Whether clients got what they asked for, in every second.
    pub fn has_what_it_asked(&self) -> bool {
        self.asked.and_then(|asked| asked.is_kept()) == Some(true)
    }

    /// Whether clients were alone for long enough for a percentile, which sets the bar.
    pub fn is_alone_seen(&self) -> bool {
        self.alone_ops >= OPS_MIN
    }

    /// Whether clients were alone, and every service was under way beside them.
    pub fn is_seen(&self) -> bool {
        self.is_alone_seen()
            && !self.services.is_empty()
            && self.services.iter().all(ServiceResult::is_seen)
    }

    /// Whether a service was over in time.
    pub fn is_in_time(&self, service: &ServiceResult) -> bool {
        service.seconds.is_some_and(|seconds| seconds <= self.deadline_s)
    }

    /// Whether all of this is so; `None` where too little was seen to say it, and nothing was broken.
    pub fn is_kept(&self) -> Option<bool> {
        let is_seen = self.is_seen() && self.asked.is_some();
        match self.is_broken_but_for_tail() {
            true => Some(false),
            false => is_seen.then(|| self.is_within_bar()),
        }
    }

    /// The same where chance is thought of. Runs of a real disk differ without a reason, and one of them does not say by how much.
    pub(crate) fn verdict(&self, is_real: bool) -> BesideVerdict {
        let is_close = is_real && self.repeats == 1 && is_close(self.p99_ms, self.bar_ms);
        let is_open = !self.is_broken_but_for_tail() && (self.is_tail_open() || is_close);
        match self.is_kept() {
            _ if is_open => BesideVerdict::Open,
            None => BesideVerdict::Open,
            Some(true) => BesideVerdict::Kept,
            Some(false) => BesideVerdict::Broken,
        }
    }

    /// Whether a service was late, or clients got less than they asked for.
    fn is_broken_but_for_tail(&self) -> bool {
        let in_time = self.services.iter().all(|service| self.is_in_time(service));
        !in_time || self.asked.is_some() && !self.has_what_it_asked()
    }
}

/// By what it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BesideTerms {
    pub(crate) judged: bool,
    pub(crate) goal: Span,
    pub(crate) deadline: Span,
    /// What clients ask for.
    pub(crate) asked: OfferedRate,
}

impl BesideTerms {
    fn bar_ms(&self, alone: f64) -> f64 {
        (TIMES_ALONE * alone).max(alone + GOALS * self.goal_ms())
    }

    fn goal_ms(&self) -> f64 {
        self.goal.as_secs_f64() * 1e3
    }

    /// What the runs of a setup show; `None` if one of them saw no clients alone and beside.
    pub(crate) fn judge(&self, runs: &[&RunRecord], services: &[&str]) -> Option<BesideResult> {
        let tails = runs.iter().map(|run| {
            let of = |key| run.counted.get(key);
            Some((of("alone/clat_ms/p99")?, of("beside/clat_ms/p99")?))
        });
        let tails = tails.collect::<Option<Vec<(f64, f64)>>>()?;
        let beyond = |(alone, p99): &(f64, f64)| p99 / self.bar_ms(*alone);
        let (repeats, within) =
            (tails.len(), tails.iter().filter(|(alone, p99)| *p99 <= self.bar_ms(*alone)).count());
        let worst = tails.into_iter().max_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        let (alone_p99_ms, p99_ms) = worst?;
        let asked = ClientPromise::of_image(self.asked.mean, Some(self.asked));
        // What one repeat did not see the others do not make up for.
        let are_seen = runs.iter().all(|run| !seconds_beside(run).is_empty());
        let asked = are_seen.then(|| asked.judge_seconds(runs, seconds_beside)).flatten();
        let services = services.iter().map(|service| service_result(runs, service));
        Some(BesideResult {
            judged: self.judged,
            alone_p99_ms,
            alone_ops: least_ops(runs, "alone"),
            p99_ms,
            bar_ms: self.bar_ms(alone_p99_ms),
            repeats_within: within,
            repeats,
            goal_ms: self.goal_ms(),
            deadline_s: self.deadline.as_secs_f64(),
            asked,
            services: services.collect(),
        })
    }
}

fn service_result(runs: &[&RunRecord], service: &str) -> ServiceResult {
    let all = |figure: &str| {
        let key = format!("{service}/{figure}");
        runs.iter().map(move |run| run.counted.get(&key)).collect::<Vec<_>>()
    };
    let most = |of: Vec<Option<f64>>| {
        of.into_iter().collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    };
    ServiceResult {
        service: service.to_owned(),
        seconds: most(all("seconds")),
        p99_ms: most(all("clat_ms/p99")).unwrap_or(0.0),
        ops: least_ops(runs, service),
    }
}

/// Operations that clients completed alone or beside a service, in the run with the fewest.
fn least_ops(runs: &[&RunRecord], beside: &str) -> u64 {
    let key = format!("{beside}/client_ops");
    let ops = runs.iter().map(|run| run.counted.get(&key).unwrap_or(0.0) as u64);
    ops.min().unwrap_or(0)
}

/// What clients completed in each whole second beside a service.
fn seconds_beside(run: &RunRecord) -> Vec<f64> {
    let of = |key| run.counted.get(key).unwrap_or(0.0);
    let began = of("alone/seconds");
    let (from, until) = (began.ceil() as usize, (began + of("beside/seconds")).floor() as usize);
    let all = run.series.column("client_iops");
    let until = until.min(all.len());
    all[from.min(until)..until].iter().map(|iops| iops.unwrap_or(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::series::Series;

    /// Two seconds alone, then four beside a scrub and a trim; the trim was over after 2.5 of them.
    fn run(alone: f64, beside: f64) -> RunRecord {
        let mut series = Series::default();
        series.put("client_iops", [1000.0, 990.0, 1010.0, 995.0, 1000.0, 1005.0, 3.0]);
        let counted = Figures::default().with([
            ("alone/clat_ms/p99", alone),
            ("alone/client_ops", 1990.0),
            ("alone/seconds", 2.0),
            ("beside/clat_ms/p99", beside),
            ("beside/seconds", 4.02),
            ("scrub/clat_ms/p99", beside),
            ("scrub/client_ops", 4020.0),
            ("scrub/seconds", 4.02),
            ("trim/clat_ms/p99", beside / 2.0),
            ("trim/client_ops", 2500.0),
            ("trim/seconds", 2.5),
        ]);
        RunRecord { series, counted, ..RunRecord::default() }
    }

    fn judged(runs: &[RunRecord]) -> BesideResult {
        let terms = BesideTerms {
            judged: true,
            goal: Span::from_millis(1),
            deadline: Span::from_secs(5),
            asked: OfferedRate { mean: 1000.0, least: 905.0 },
        };
        terms.judge(&runs.iter().collect::<Vec<_>>(), &["scrub", "trim"]).expect("all was counted")
    }

    fn check(runs: &[RunRecord], wanted: [bool; 4], is_kept: Option<bool>) {
        let found = judged(runs);
        let in_time = found.services.iter().all(|service| found.is_in_time(service));
        let says = [found.is_within_bar(), found.has_what_it_asked(), found.is_seen(), in_time];
        assert_eq!((says, found.is_kept()), (wanted, is_kept), "{found:?}");
    }

    #[test]
    fn the_bar_is_twice_of_alone_or_two_goals_more_whichever_is_more() {
        let bar = |alone| judged(&[run(alone, 0.1)]).bar_ms;
        assert_eq!([bar(0.5), bar(2.0), bar(3.0)], [2.5, 4.0, 6.0]);
        check(&[run(0.5, 2.5)], [true; 4], Some(true));
        check(&[run(0.5, 2.51)], [false, true, true, true], Some(false));
        check(&[run(3.0, 6.0)], [true; 4], Some(true));
    }

    /// A good tail beside nothing, or of clients who starved, is none. A study of next to no work said that it is not so, though too little was
    /// seen for that, too.
    #[test]
    fn nothing_is_kept_beside_services_that_were_not_there_or_clients_who_got_less() {
        let with = |key: &str, value: f64| {
            let good = run(0.5, 1.0);
            RunRecord { counted: good.counted.with([(key, value)]), ..good }
        };
        let unseen = [true, true, false, true];
        check(&[with("trim/client_ops", 999.0)], unseen, None);
        check(&[with("alone/client_ops", 1000.0)], [true; 4], Some(true));
        // One slow operation of a few alone would set the bar.
        check(&[with("alone/client_ops", 999.0)], unseen, None);
        check(&[run(0.5, 1.0), with("alone/client_ops", 999.0)], unseen, None);
        check(&[with("scrub/seconds", 5.1)], [true, true, true, false], Some(false));
        // What is broken needs no percentile.
        let late = with("scrub/seconds", 5.1);
        let late = RunRecord { counted: late.counted.with([("trim/client_ops", 9.0)]), ..late };
        check(&[late], [true, true, false, false], Some(false));
        let mut starved = run(0.5, 1.0);
        starved.series.put("client_iops", [1000.0, 1000.0, 1000.0, 500.0, 1500.0, 1000.0]);
        check(&[starved], [true, false, true, true], Some(false));
        let mut short = run(0.5, 1.0);
        short.counted.put("beside/seconds", 0.4);
        check(&[short.clone()], [true, false, true, true], None);
        check(&[run(0.5, 1.0), short], [true, false, true, true], None);
    }

    /// What clients lack before the services begin and after their end is not theirs.
    #[test]
    fn seconds_without_services_are_left_out() {
        assert_eq!(seconds_beside(&run(0.5, 1.0)), [1010.0, 995.0, 1000.0, 1005.0]);
    }

    /// One stall of the disk in one of three repeats was told as a broken promise.
    #[test]
    fn repeats_that_disagree_about_the_tail_show_neither() {
        let verdict = |runs: &[RunRecord], is_real| judged(runs).verdict(is_real);
        let (good, bad) = (run(0.5, 1.0), run(0.5, 2.7));
        let mixed = [good.clone(), bad.clone(), good.clone()];
        let found = judged(&mixed);
        assert_eq!((found.repeats_within, found.repeats, found.p99_ms), (2, 3, 2.7));
        assert_eq!([false, true].map(|is_real| verdict(&mixed, is_real)), [BesideVerdict::Open; 2]);
        for is_real in [false, true] {
            assert_eq!(verdict(&[bad.clone(), bad.clone()], is_real), BesideVerdict::Broken);
            assert_eq!(verdict(&[good.clone(), good.clone()], is_real), BesideVerdict::Kept);
            assert_eq!(verdict(std::slice::from_ref(&bad), is_real), BesideVerdict::Broken);
        }
        // One run is as good as another in simulation alone.
        let close = [run(0.5, 2.45)];
        assert_eq!(verdict(&close, false), BesideVerdict::Kept);
        assert_eq!(verdict(&close, true), BesideVerdict::Open);
        // Who missed the deadline is not saved by a tail that is undecided.
        let late = bad.counted.clone().with([("scrub/seconds", 5.1)]);
        let late = RunRecord { counted: late, ..bad };
        assert_eq!(verdict(&[good.clone(), late], true), BesideVerdict::Broken);
        let few = good.counted.clone().with([("trim/client_ops", 9.0)]);
        let few = RunRecord { counted: few, ..good };
        assert_eq!(verdict(&[few], false), BesideVerdict::Open);
    }

    #[test]
    fn the_worst_repeat_counts() {
        let runs = [run(0.5, 1.0), run(0.6, 2.7), run(3.0, 4.0)];
        check(&runs, [false, true, true, true], Some(false));
        let mut unended = run(0.5, 1.0);
        let keys = ["alone/clat_ms/p99", "alone/seconds", "beside/clat_ms/p99", "beside/seconds"];
        let left: Vec<f64> = keys.iter().filter_map(|key| unended.counted.get(key)).collect();
        unended.counted = Figures::default();
        keys.iter().zip(left).for_each(|(key, value)| unended.counted.put(key, value));
        check(&[run(0.5, 1.0), unended], [true, true, false, false], Some(false));
    }

    #[test]
    fn a_run_without_clients_alone_is_not_judged() {
        let bare = RunRecord::default();
        let terms = BesideTerms {
            judged: true,
            goal: Span::ZERO,
            deadline: Span::from_secs(5),
            asked: OfferedRate { mean: 1000.0, least: 905.0 },
        };
        assert_eq!(terms.judge(&[&run(0.5, 1.0), &bare], &["scrub"]), None);
    }
}
