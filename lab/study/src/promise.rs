//! Whether clients got what they were promised, end to end: what completed in each second, beside what they asked for and what is
//! reserved for them.
//!
//! A reservation is a share of what every disk can do, so it promises clients that share of the throughput that they have alone.
//! What a class is *owed* in a second is the lesser of what it asks for and what it is promised. A closed loop asks for all that it
//! can get; an open one for its rate. Where an op waits, in a queue, before a store, at a disk or for the other copies, is no
//! excuse: it has completed in its second or not.

use crate::record::RunRecord;
use loadline_load::{Arrivals, LoadSpec};
use serde::{Deserialize, Serialize};

/// A promise counts as kept in a second from this share of what was owed on; whatever is said of it names the share.
pub const KEPT_FROM: f64 = 0.95;

/// The Poisson arrivals of a second of an open loop lie no further below their mean than this many of their standard deviations, for what
/// is judged.
const DEVIATIONS: f64 = 3.0;

/// What clients were promised and what they got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromiseResult {
    /// Part of every disk that is reserved for clients; 0 where nothing is, and 1 where operations are promised as such.
    pub share: f64,
    /// Operations per second that clients complete alone, or that are promised as such.
    pub alone_iops: f64,
    /// Operations per second that clients are owed.
    pub owed_iops: f64,
    /// Operations per second from which on a second counts as kept: [`KEPT_FROM`] of what clients are owed, where an open loop is
    /// owed what a second of its arrivals brings at least.
    #[serde(default)]
    pub kept_from_iops: f64,
    /// Seconds of all repeats that were judged; runs of less than a second are judged as one.
    pub seconds: u64,
    /// Those in which clients got less than [`kept_from_iops`](Self::kept_from_iops).
    pub seconds_short: u64,
    /// Operations per second in the worst of all.
    pub worst_iops: f64,
    /// Which second that was, and of which repeat.
    pub worst_second: u64,
    /// The seed of that repeat.
    pub worst_seed: u64,
}

/// How an image fared beside the others of its setup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageResult {
    /// Its name.
    pub image: String,
    /// What its clients do, in words.
    pub load: String,
    /// Operations per second that it is promised; 0 for none.
    pub reservation_iops: f64,
    /// Operations per second that it may have at most; 0 for no limit.
    pub limit_iops: f64,
    /// Operations per second that its clients completed, the mean over the repeats.
    pub iops: f64,
    /// Their latency.
    pub mean_ms: f64,
    /// See `mean_ms`.
    pub p99_ms: f64,
    /// How its promise was kept, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<PromiseResult>,
}

/// What open loops ask for in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OfferedRate {
    /// Operations, in the mean.
    pub(crate) mean: f64,
    /// Operations that can have arrived and completed, when arrivals are few.
    pub(crate) least: f64,
}

impl OfferedRate {
    /// Of these loads together; `None` if one of them is a closed loop. Poisson arrivals vary by the root of their number. Fixed ones do not, but
    /// for the one that is under way as the second ends.
    pub(crate) fn of<'a>(loads: impl IntoIterator<Item = &'a LoadSpec>) -> Option<OfferedRate> {
        let (mut poisson, mut fixed) = (0.0, OfferedRate::default());
        for load in loads {
            let rate = load.rate?;
            match load.arrivals {
                Arrivals::Poisson => poisson += rate,
                Arrivals::Fixed => {
                    fixed.mean += rate;
                    fixed.least += (rate.floor() - 1.0).max(0.0);
                }
            }
        }
        let least_of_poisson = (poisson - DEVIATIONS * poisson.sqrt()).max(0.0);
        Some(OfferedRate { mean: poisson + fixed.mean, least: least_of_poisson + fixed.least })
    }
}

/// What is promised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientPromise {
    /// Part of every disk that is reserved for clients, if any is.
    pub(crate) share: Option<f64>,
    /// What clients complete alone.
    pub(crate) alone_iops: f64,
    /// What open loops ask for.
    pub(crate) offered: Option<OfferedRate>,
}

impl ClientPromise {
    pub(crate) fn owed(&self) -> f64 {
        self.owed_of(self.offered.map(|offered| offered.mean))
    }

    fn owed_of(&self, offered_iops: Option<f64>) -> f64 {
        let promised = self.share.unwrap_or(0.0) * self.alone_iops;
        offered_iops.map_or(promised, |offered| offered.min(promised))
    }

    /// What a second must at least show.
    fn kept_from(&self) -> f64 {
        KEPT_FROM * self.owed_of(self.offered.map(|offered| offered.least))
    }

    /// Of an image that is promised so many operations per second, as such.
    pub(crate) fn of_image(reservation: f64, offered: Option<OfferedRate>) -> ClientPromise {
        ClientPromise { share: Some(1.0), alone_iops: reservation, offered }
    }

    /// How it was kept in the runs of a setup; `None` if there are none.
    pub(crate) fn judge(&self, runs: &[&RunRecord]) -> Option<PromiseResult> {
        self.judge_seconds(runs, seconds)
    }

    /// The same of what `seconds` tells of each run.
    pub(crate) fn judge_seconds(
        &self,
        runs: &[&RunRecord],
        seconds: impl Fn(&RunRecord) -> Vec<f64>,
    ) -> Option<PromiseResult> {
        let seconds: Vec<(u64, u64, f64)> = runs
            .iter()
            .flat_map(|run| {
                seconds(run).into_iter().enumerate().map(|(at, iops)| (run.seed, at as u64, iops))
            })
            .collect();
        let (seed, second, iops) = *seconds.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
        let kept_from_iops = self.kept_from();
        let short = seconds.iter().filter(|(_, _, iops)| *iops < kept_from_iops);
        Some(PromiseResult {
            share: self.share.unwrap_or(0.0),
            alone_iops: self.alone_iops,
            owed_iops: self.owed(),
            kept_from_iops,
            seconds: seconds.len() as u64,
            seconds_short: short.count() as u64,
            worst_iops: iops,
            worst_second: second,
            worst_seed: seed,
        })
    }
}

impl PromiseResult {
    /// Whether every second kept it; `None` where nothing was promised.
    pub fn is_kept(&self) -> Option<bool> {
        (self.share > 0.0).then_some(self.seconds_short == 0)
    }

    /// Whether a second is kept from less than [`KEPT_FROM`] of what is owed on, since an open loop's arrivals vary.
    pub fn allows_for_chance(&self) -> bool {
        self.kept_from_iops < KEPT_FROM * self.owed_iops * (1.0 - 1e-9)
    }

    /// The part of what a second is kept from that did not come in the worst one: none where all are kept.
    pub fn shortfall(&self) -> f64 {
        match self.kept_from_iops > 0.0 {
            true => (1.0 - self.worst_iops / self.kept_from_iops).max(0.0),
            false => 0.0,
        }
    }
}

/// What clients completed in each whole second of their time, or its mean where that was less than one. Of several images it is the
/// sum.
fn seconds(run: &RunRecord) -> Vec<f64> {
    if let Some((first, others)) = run.images.split_first() {
        let mut sums = first.seconds.clone();
        for other in others {
            // Clients of another process begin one after the other.
            sums.truncate(other.seconds.len());
            sums.iter_mut().zip(&other.seconds).for_each(|(sum, iops)| *sum += iops);
        }
        return sums;
    }
    // A second of the run that is none of the clients' has no value.
    let whole: Vec<f64> = run.series.column("client_iops").iter().flatten().copied().collect();
    match whole.is_empty() {
        true => run.counted.get("client/iops").into_iter().collect(),
        false => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::series::Series;
    use loadline_base::Bytes;
    use loadline_load::Pattern;

    /// Clients of these seconds in a run of so many, which lasted so long for whoever waited for its end.
    fn run(seed: u64, seconds: &[f64], (all, lasted): (usize, f64)) -> RunRecord {
        let mut series = Series::default();
        series.put("client_iops", seconds.iter().copied());
        series.fill_up(all);
        let counted = Figures::default().with([("client/seconds", lasted), ("client/iops", 777.0)]);
        RunRecord { seed, series, counted, ..RunRecord::default() }
    }

    fn judged(promise: ClientPromise, seconds: &[f64]) -> (Option<bool>, u64, f64) {
        let run = run(1, seconds, (seconds.len(), seconds.len() as f64));
        let found = promise.judge(&[&run]).unwrap();
        (found.is_kept(), found.seconds_short, found.shortfall())
    }

    const CLOSED: ClientPromise =
        ClientPromise { share: Some(0.5), alone_iops: 20_000.0, offered: None };

    /// A report said "reservation kept" on each of these lines, because what waits behind a store's window counted as served. The
    /// figures are those of four OSDs on real files, 17,700 IOPS alone.
    #[test]
    fn nothing_is_kept_beside_starving_clients() {
        let lines = [
            ("balanced (loadline)", 0.5, 0.22),
            ("high_recovery_ops (loadline)", 0.3, 0.20),
            ("high_client_ops (reef)", 0.6, 0.16),
            ("balanced (reef)", 0.5, 0.15),
            ("high_recovery_ops (reef)", 0.3, 0.14),
            ("balanced (loadline), simulated", 0.5, 0.14),
        ];
        for (name, share, got) in lines {
            let promise = ClientPromise { share: Some(share), alone_iops: 17_700.0, offered: None };
            let (kept, short, shortfall) = judged(promise, &[got * 17_700.0; 3]);
            assert_eq!((kept, short), (Some(false), 3), "{name}");
            let wanted = 1.0 - got / (KEPT_FROM * share);
            assert!((shortfall - wanted).abs() < 1e-9, "{name}: {shortfall}");
        }
    }

    #[test]
    fn one_bad_second_is_not_made_up_for_by_the_others() {
        assert_eq!(judged(CLOSED, &[19_000.0, 9_499.0, 19_000.0]).0, Some(false));
        assert_eq!(judged(CLOSED, &[9_500.0; 3]).0, Some(true));
    }

    fn open_loop(arrivals: Arrivals, rate: f64) -> LoadSpec {
        LoadSpec {
            depth: None,
            rate: Some(rate),
            arrivals,
            block: Vec::new(),
            reads: 0.0,
            pattern: Pattern::Random,
            image: Bytes::from_mib(4),
        }
    }

    fn offered(arrivals: Arrivals, rate: f64) -> Option<OfferedRate> {
        OfferedRate::of([&open_loop(arrivals, rate)])
    }

    /// Of 100 operations at fixed intervals a second of 67 counted as kept, by what arrivals vary by that were none of its own.
    #[test]
    fn fixed_arrivals_do_not_vary() {
        let kept = |arrivals, rate, got| {
            let promise = ClientPromise { offered: offered(arrivals, rate), ..CLOSED };
            judged(promise, &[rate, got]).0
        };
        assert_eq!(kept(Arrivals::Poisson, 100.0, 67.0), Some(true));
        assert_eq!(kept(Arrivals::Fixed, 100.0, 67.0), Some(false));
        assert_eq!(kept(Arrivals::Fixed, 100.0, 94.0), Some(false));
        assert_eq!(kept(Arrivals::Fixed, 100.0, 95.0), Some(true));
        // The tenth operation of the first second arrives as it ends.
        assert_eq!(kept(Arrivals::Fixed, 10.0, 9.0), Some(true));
        assert_eq!(kept(Arrivals::Fixed, 10.0, 8.0), Some(false));
        let (poisson, fixed) =
            (open_loop(Arrivals::Poisson, 100.0), open_loop(Arrivals::Fixed, 10.5));
        let both = OfferedRate { mean: 110.5, least: 79.0 };
        assert_eq!(OfferedRate::of([&poisson, &fixed]), Some(both));
        let closed = LoadSpec { rate: None, ..fixed.clone() };
        assert_eq!(OfferedRate::of([&fixed, &closed]), None);
    }

    #[test]
    fn an_open_loop_is_owed_no_more_than_it_asks_for() {
        let slow = ClientPromise { offered: offered(Arrivals::Poisson, 900.0), ..CLOSED };
        assert_eq!(judged(slow, &[900.0, 880.0]).0, Some(true));
        let (kept, _, shortfall) = judged(slow, &[900.0, 770.0]);
        assert_eq!((kept, shortfall), (Some(true), 0.0), "arrivals vary by as much");
        assert_eq!(judged(slow, &[900.0, 760.0]).0, Some(false));
        let fast = ClientPromise { offered: offered(Arrivals::Poisson, 15_000.0), ..CLOSED };
        assert_eq!(judged(fast, &[9_600.0]).0, Some(true), "half is promised");
        assert_eq!(judged(fast, &[9_450.0]).0, Some(false), "its arrivals are never that few");
    }

    #[test]
    fn where_nothing_is_promised_nothing_is_kept() {
        let nothing = ClientPromise { share: None, ..CLOSED };
        assert_eq!(judged(nothing, &[10.0]), (None, 0, 0.0));
    }

    /// A run of less than a second is judged by its mean. fio begins some tenths of a second after recovery does and measures two whole seconds
    /// of its 2.9: the third second of the run was one in which nothing came, and no promise was kept.
    #[test]
    fn whole_seconds_of_the_clients_are_judged() {
        let all = [run(1, &[12_000.0, 11_000.0], (3, 3.2)), run(2, &[], (0, 0.4))];
        let found = CLOSED.judge(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.seconds, found.seconds_short), (3, 1));
        assert_eq!((found.worst_iops, found.worst_seed, found.worst_second), (777.0, 2, 0));
    }
}
