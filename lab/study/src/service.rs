//! What each class was served in each second, and what of its clients' reservation an OSD owed then.
//!
//! A reservation is a rate of one shard, and it is owed while the class has something waiting there. With `waited` as the
//! reservation for that time,
//!
//! - owed in a second = Σ over shards min(reservation, max(served there, waited there))
//! - short in a second = Σ over shards max(0, waited there − served there − one operation)
//!
//! One shard's surplus does not pay another's debt. The one operation is what a second's ends can hide: service comes in
//! whole operations.

use loadline_base::{Span, Time};
use loadline_osd::{OsdService, ServedClass};
use loadline_qos::ServiceClass;
use serde::{Deserialize, Serialize};

/// One class on one OSD, second by second. All columns are rates per second of the world's time and have the length of
/// [`Series::t_s`](crate::Series::t_s) where nothing was late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassService {
    /// The service class, e.g. `client`.
    pub class: String,
    /// The OSD's number.
    pub osd: u32,
    /// Items served.
    pub iops: Vec<f64>,
    /// Their cost, in the scheduler's units.
    pub units: Vec<f64>,
    /// What is reserved for the class, and how much of it was owed; `None` where nothing is reserved, or not for the class
    /// as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
}

/// The reservation of a class on one OSD, in cost units per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    /// Of the whole OSD.
    pub units: f64,
    /// Of those shards of which the class wanted anything in the second.
    pub wanted: Vec<f64>,
    /// What the class took or waited for, up to the reservation.
    pub owed: Vec<f64>,
    /// What was owed and not served.
    pub short: Vec<f64>,
}

/// The class whose reservation is followed. In the first eras every client and every sending OSD has the reservation of
/// its class to itself, so that of the others there is no sum to compare with; the studies have one client.
const FOLLOWED: ServiceClass = ServiceClass::Client;

const SECOND: Span = Span::from_secs(1);

/// The counters of all OSDs, read once a second.
#[derive(Clone, Debug)]
pub(crate) struct ServiceLog {
    reads: Vec<(Time, Vec<OsdService>)>,
}

impl ServiceLog {
    /// The first read is the moment from which everything is measured.
    pub(crate) fn begin(at: Time, service: Vec<OsdService>) -> ServiceLog {
        ServiceLog { reads: vec![(at, service)] }
    }

    /// The counters as they were at `at`.
    pub(crate) fn read(&mut self, at: Time, service: Vec<OsdService>) {
        self.reads.push((at, service));
    }

    /// Every class that was served anything, OSD by OSD.
    pub(crate) fn series(&self) -> Vec<ClassService> {
        let osds = self.reads[0].1.len();
        let of = |class: ServiceClass| (0..osds).map(move |osd| self.class_on(class, osd));
        let all = ServiceClass::ALL.into_iter().flat_map(of);
        all.filter(|row| row.iops.iter().any(|iops| *iops > 0.0)).collect()
    }

    fn class_on(&self, class: ServiceClass, osd: usize) -> ClassService {
        let first = &self.reads[0].1[osd];
        let reservation = first.reservations[class as usize];
        let is_followed = class == FOLLOWED && reservation > 0.0;
        let reserved =
            Reserved { units: reservation * first.shards.len() as f64, ..Reserved::default() };
        let mut row = ClassService {
            class: class.name().to_owned(),
            osd: osd as u32,
            reserved: is_followed.then_some(reserved),
            ..ClassService::default()
        };
        let one_op = self.mean_cost(class);
        for pair in self.reads.windows(2) {
            let ((from, before), (to, after)) = (&pair[0], &pair[1]);
            let shards = before[osd].shards.iter().zip(&after[osd].shards);
            let given = shards.map(|(a, b)| between(a[class as usize], b[class as usize]));
            let second =
                Second { given: given.collect(), span: to.since(*from), reservation, one_op };
            second.append_to(&mut row);
        }
        row
    }

    /// The mean cost of the class's items over the whole run.
    fn mean_cost(&self, class: ServiceClass) -> f64 {
        let (Some((_, first)), Some((_, last))) = (self.reads.first(), self.reads.last()) else {
            unreachable!("a log begins with a read");
        };
        let shards = |osds: &[OsdService]| -> Vec<ServedClass> {
            osds.iter().flat_map(|osd| &osd.shards).map(|shard| shard[class as usize]).collect()
        };
        let given = shards(first).into_iter().zip(shards(last)).map(|(a, b)| between(a, b));
        let (items, cost) =
            given.fold((0, 0), |(items, cost), given| (items + given.items, cost + given.cost));
        if items == 0 { 0.0 } else { cost as f64 / items as f64 }
    }
}

/// What was given between two reads; an OSD that began anew in between begins at zero.
fn between(before: ServedClass, after: ServedClass) -> ServedClass {
    ServedClass {
        items: after.items.saturating_sub(before.items),
        cost: after.cost.saturating_sub(before.cost),
        waited: Span::from_nanos(after.waited.nanos().saturating_sub(before.waited.nanos())),
    }
}

/// One class on one OSD between two reads.
struct Second {
    /// Shard by shard.
    given: Vec<ServedClass>,
    span: Span,
    /// Of one shard.
    reservation: f64,
    one_op: f64,
}

impl Second {
    fn append_to(&self, row: &mut ClassService) {
        let seconds = self.span.as_secs_f64();
        let sum = |of: &dyn Fn(&ServedClass) -> f64| {
            rounded(self.given.iter().map(of).sum::<f64>() / seconds)
        };
        // A read that came late stands for all seconds that it missed.
        let times = (self.span.nanos() + SECOND.nanos() / 2) / SECOND.nanos();
        for _ in 0..times.max(1) {
            row.iops.push(sum(&|given| given.items as f64));
            row.units.push(sum(&|given| given.cost as f64));
            if let Some(reserved) = &mut row.reserved {
                reserved.wanted.push(sum(&|given| self.wanted(given)));
                reserved.owed.push(sum(&|given| self.owed(given)));
                reserved.short.push(sum(&|given| self.short(given)));
            }
        }
    }

    fn wanted(&self, given: &ServedClass) -> f64 {
        let wants = given.waited > Span::ZERO || given.items > 0;
        if wants { self.reservation * self.span.as_secs_f64() } else { 0.0 }
    }

    fn waited(&self, given: &ServedClass) -> f64 {
        self.reservation * given.waited.as_secs_f64()
    }

    fn owed(&self, given: &ServedClass) -> f64 {
        self.waited(given).max(given.cost as f64).min(self.wanted(given))
    }

    fn short(&self, given: &ServedClass) -> f64 {
        (self.waited(given) - given.cost as f64 - self.one_op).max(0.0)
    }
}

/// Thousandths, so that records stay short.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: usize = ServiceClass::Client as usize;

    /// One OSD whose shards reserve 100 units/s for clients; each shard's items of one unit, and its waiting time in ms.
    fn service(shards: &[(u64, u64)]) -> Vec<OsdService> {
        let mut reservations = [0.0; ServiceClass::ALL.len()];
        reservations[CLIENT] = 100.0;
        let shard = |(items, waited_ms): &(u64, u64)| {
            let mut classes = [ServedClass::default(); ServiceClass::ALL.len()];
            let waited = Span::from_millis(*waited_ms);
            classes[CLIENT] = ServedClass { items: *items, cost: *items, waited };
            classes
        };
        let shards = shards.iter().map(shard).collect();
        vec![OsdService { reservations, shards, waiting: Default::default() }]
    }

    fn check(reads: &[&[(u64, u64)]], iops: &[f64], owed: &[f64], wanted: &[f64], short: &[f64]) {
        let mut log = ServiceLog::begin(Time::ZERO, service(reads[0]));
        for (second, read) in (1..).zip(&reads[1..]) {
            log.read(Time::from_secs(second), service(read));
        }
        let series = log.series();
        let [row] = series.as_slice() else { panic!("one class on one OSD: {series:?}") };
        let reserved = row.reserved.as_ref().expect("clients have a reservation");
        assert_eq!((row.class.as_str(), row.osd, reserved.units), ("client", 0, 200.0));
        assert_eq!(row.iops, iops);
        assert_eq!(row.units, iops);
        assert_eq!((&*reserved.owed, &*reserved.wanted, &*reserved.short), (owed, wanted, short));
    }

    #[test]
    fn a_shard_that_waited_all_the_time_is_owed_its_reservation() {
        check(&[&[(0, 0), (0, 0)], &[(90, 1000), (0, 0)]], &[90.0], &[100.0], &[100.0], &[9.0]);
        check(&[&[(0, 0), (0, 0)], &[(99, 1000), (0, 0)]], &[99.0], &[100.0], &[100.0], &[0.0]);
    }

    #[test]
    fn what_did_not_wait_is_owed_no_more_than_it_got() {
        check(&[&[(5, 7), (5, 7)], &[(15, 7), (25, 257)]], &[30.0], &[35.0], &[200.0], &[4.0]);
    }

    #[test]
    fn a_shards_surplus_does_not_pay_for_another() {
        let reads: [&[(u64, u64)]; 3] =
            [&[(0, 0), (0, 0)], &[(500, 1000), (50, 1000)], &[(600, 2000), (150, 2000)]];
        check(&reads, &[550.0, 200.0], &[200.0, 200.0], &[200.0, 200.0], &[49.0, 0.0]);
    }

    #[test]
    fn a_late_read_stands_for_the_seconds_it_missed() {
        let mut log = ServiceLog::begin(Time::ZERO, service(&[(0, 0)]));
        log.read(Time::from_nanos(3_020_000_000), service(&[(302, 0)]));
        assert_eq!(log.series()[0].iops, [100.0, 100.0, 100.0]);
    }

    /// An OSD that is opened again counts from zero.
    #[test]
    fn counters_that_begin_anew_are_no_debt() {
        check(&[&[(50, 900), (0, 0)], &[(20, 100), (1, 0)]], &[1.0], &[1.0], &[100.0], &[0.0]);
    }
}
