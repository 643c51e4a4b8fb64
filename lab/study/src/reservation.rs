//! Whether clients got what is reserved for them, second by second, from the records of all repeats.

use crate::record::RunRecord;
use crate::service::{ClassService, Reserved};
use loadline_stats::mean;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A second fell short if more than this share of a reservation was owed and not served.
pub const SHORT_ABOVE: f64 = 0.02;

/// How the clients' reservation was kept. Rates are operations of the clients' mean cost per second, on one OSD.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReservationResult {
    /// Mean cost of a client's operation, in the scheduler's units.
    pub op_cost: f64,
    /// What is reserved on the whole OSD.
    pub reserved_iops: f64,
    /// What is reserved on those of its shards that clients wanted anything of.
    pub wanted_iops: f64,
    /// What was owed: what clients took or waited for, up to the reservation.
    pub owed_iops: f64,
    /// What was served.
    pub served_iops: f64,
    /// What was owed as a share of the reservation, on those shards that clients wanted anything of.
    pub demand: f64,
    /// Whole seconds of all repeats.
    pub seconds: u64,
    /// Those in which clients were owed at least half of that.
    pub seconds_with_demand: u64,
    /// Those in which some OSD fell short by more than [`SHORT_ABOVE`].
    pub seconds_short: u64,
    /// The worst of them.
    pub worst: WorstSecond,
}

/// The second in which an OSD fell short most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstSecond {
    /// Share of the reservation that was owed and not served; the reservation is that of the shards that clients wanted
    /// anything of.
    pub shortfall: f64,
    /// The seed of the repeat.
    pub seed: u64,
    /// Counted from zero.
    pub second: u64,
    /// The OSD's number.
    pub osd: u32,
}

/// One OSD in one second.
struct OsdSecond<'a> {
    at: WorstSecond,
    row: &'a ClassService,
    reserved: &'a Reserved,
}

impl ReservationResult {
    /// From the records of one setup; `None` if nothing was reserved, or not a whole second passed.
    pub(crate) fn of(records: &[&RunRecord]) -> Option<ReservationResult> {
        let moments: Vec<OsdSecond<'_>> =
            records.iter().flat_map(|record| moments(record)).collect();
        let op_cost = op_cost(&moments)?;
        let rate = |of: &dyn Fn(&OsdSecond<'_>) -> f64| {
            mean(&moments.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0) / op_cost
        };
        let owed_iops = rate(&|moment| moment.owed());
        let wanted_iops = rate(&|moment| moment.wanted());
        let worst = moments.iter().map(|moment| moment.at);
        Some(ReservationResult {
            op_cost,
            reserved_iops: rate(&|moment| moment.reserved.units),
            wanted_iops,
            owed_iops,
            served_iops: rate(&|moment| moment.row.units[moment.second()]),
            demand: if wanted_iops > 0.0 { owed_iops / wanted_iops } else { 0.0 },
            seconds: seconds(&moments, |_| true),
            seconds_with_demand: seconds_with_demand(&moments),
            seconds_short: seconds(&moments, |moment| moment.at.shortfall > SHORT_ABOVE),
            worst: worst.reduce(|a, b| if b.shortfall > a.shortfall { b } else { a })?,
        })
    }
}

impl OsdSecond<'_> {
    fn second(&self) -> usize {
        self.at.second as usize
    }

    fn owed(&self) -> f64 {
        self.reserved.owed[self.second()]
    }

    fn wanted(&self) -> f64 {
        self.reserved.wanted[self.second()]
    }
}

/// A second has demand if clients are owed at least this share of the reservation, over all OSDs.
const DEMAND_FROM: f64 = 0.5;

fn seconds_with_demand(moments: &[OsdSecond<'_>]) -> u64 {
    let mut seconds: BTreeMap<(u64, u64), (f64, f64)> = BTreeMap::new();
    for moment in moments {
        let sums = seconds.entry((moment.at.seed, moment.at.second)).or_default();
        *sums = (sums.0 + moment.owed(), sums.1 + moment.wanted());
    }
    let has_demand = |(owed, wanted): &&(f64, f64)| *owed > 0.0 && *owed >= DEMAND_FROM * wanted;
    seconds.values().filter(has_demand).count() as u64
}

/// How many different seconds have such a moment on any OSD.
fn seconds(moments: &[OsdSecond<'_>], is_such: impl Fn(&OsdSecond<'_>) -> bool) -> u64 {
    let such = moments.iter().filter(|moment| is_such(moment));
    such.map(|moment| (moment.at.seed, moment.at.second)).collect::<BTreeSet<_>>().len() as u64
}

fn moments(record: &RunRecord) -> impl Iterator<Item = OsdSecond<'_>> {
    let seed = record.seed;
    record.series.service.iter().flat_map(move |row| {
        let reserved = row.reserved.as_ref();
        reserved.into_iter().flat_map(move |reserved| {
            reserved.short.iter().zip(&reserved.wanted).enumerate().map(
                move |(second, (short, wanted))| {
                    let shortfall = if *wanted > 0.0 { short / wanted } else { 0.0 };
                    let at = WorstSecond { shortfall, seed, second: second as u64, osd: row.osd };
                    OsdSecond { at, row, reserved }
                },
            )
        })
    })
}

fn op_cost(moments: &[OsdSecond<'_>]) -> Option<f64> {
    let sum = |of: fn(&ClassService) -> &Vec<f64>| -> f64 {
        moments.iter().map(|moment| of(moment.row)[moment.second()]).sum()
    };
    let (units, ops) = (sum(|row| &row.units), sum(|row| &row.iops));
    (ops > 0.0 && units > 0.0).then(|| units / ops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    /// Reserved, owed, served and short, second by second, at two units an operation.
    fn on_osd(osd: u32, seconds: &[[f64; 4]]) -> ClassService {
        let column = |index: usize| seconds.iter().map(|second| second[index]).collect::<Vec<_>>();
        let units = column(2);
        ClassService {
            class: "client".to_owned(),
            osd,
            iops: units.iter().map(|units| units / 2.0).collect(),
            units,
            reserved: Some(Reserved {
                units: seconds[0][0],
                wanted: column(0),
                owed: column(1),
                short: column(3),
            }),
        }
    }

    fn record(seed: u64, service: Vec<ClassService>) -> RunRecord {
        let series = Series { service, ..Series::default() };
        RunRecord { seed, series, ..RunRecord::default() }
    }

    /// Two OSDs in two repeats: the second of the first is short on both, by 3 % and 10 %, and little is wanted in the first
    /// of the second.
    #[test]
    fn the_worst_second_of_any_osd_counts() {
        let first = [
            on_osd(0, &[[100.0, 100.0, 300.0, 0.0], [100.0, 100.0, 97.0, 3.0]]),
            on_osd(1, &[[100.0, 100.0, 99.0, 1.0], [100.0, 100.0, 90.0, 10.0]]),
        ];
        let second =
            [on_osd(0, &[[100.0, 10.0, 10.0, 0.0]]), on_osd(1, &[[100.0, 30.0, 30.0, 0.0]])];
        let records = [record(7, first.into()), record(8, second.into())];
        let found = ReservationResult::of(&records.iter().collect::<Vec<_>>()).unwrap();
        let worst = WorstSecond { shortfall: 0.1, seed: 7, second: 1, osd: 1 };
        let (reserved_iops, owed_iops) = (50.0, 440.0 / 12.0);
        let served_iops = 626.0 / 12.0;
        let wanted = ReservationResult {
            op_cost: 2.0,
            reserved_iops,
            wanted_iops: reserved_iops,
            owed_iops,
            served_iops,
            demand: found.demand,
            seconds: 3,
            seconds_with_demand: 2,
            seconds_short: 1,
            worst,
        };
        assert_eq!(found, wanted);
        assert!((found.demand - 440.0 / 600.0).abs() < 1e-9, "{}", found.demand);
    }

    #[test]
    fn a_second_that_lacks_two_percent_is_not_short() {
        let seconds = |short: f64| {
            let service = vec![on_osd(0, &[[100.0, 100.0, 100.0 - short, short]])];
            ReservationResult::of(&[&record(7, service)]).unwrap().seconds_short
        };
        assert_eq!((seconds(2.0), seconds(2.5)), (0, 1));
    }

    #[test]
    fn without_a_reservation_there_is_nothing_to_keep() {
        let free = ClassService { reserved: None, ..on_osd(0, &[[100.0, 1.0, 1.0, 0.0]]) };
        assert_eq!(ReservationResult::of(&[&record(7, vec![free])]), None);
        assert_eq!(ReservationResult::of(&[&record(7, Vec::new())]), None);
    }
}
