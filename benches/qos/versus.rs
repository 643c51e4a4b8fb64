//! What one add and one take cost together under the loads that schedulers are compared by, in processor time.
//!
//!     cargo bench -p loadline-benches --bench versus                               every load, all modes
//!     cargo bench -p loadline-benches --bench versus -- MODE LOAD RECORDS PAIRS    one figure for each line of input, for
//!                                                                                   scripts/bench-dmclock
//!
//! Each record starts with four requests of cost 1. *random*: a take is followed by an add to a random record, so that
//! records run empty and come back; *closed*: to the record that was served. *mixed*: random weights from 1 to 100, half of the
//! capacity reserved in equal parts, limits at 2 to 10 times the fair share; *equal*: equal weights only. *tenants*:
//! the mixed records are tenants of one class. `reference.cc` does the same to the reference library. MODE `wpq` knows the
//! loads *wpq-one* (one priority) and *wpq-lottery*, with six requests of each owner, as `reference_wpq.cc` does.

mod wpq_load;

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, LoadlineConfig, MClock, Params, PublishedConfig, Request,
    Scheduler, Take, Taken, TenantKey,
};
use std::num::NonZeroU32;
use wpq_load::{MIX, cycle, filled};

/// Requests of cost 1 per second.
const CAPACITY: f64 = 1e6;
const SERVICE: Span = Span::from_nanos(1_000);
const DEPTH: usize = 4;
const MODES: [&str; 3] = ["loadline", "published", "wpq"];
const LOADS: [&str; 7] = [
    "mixed-random",
    "mixed-closed",
    "equal-random",
    "equal-closed",
    "tenants-random",
    "wpq-one",
    "wpq-lottery",
];
const RECORDS: [usize; 5] = [3, 10, 100, 10_000, 100_000];

/// SplitMix64, the same in `reference.cc`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Run {
    scheduler: MClock<u64>,
    flows: Vec<FlowId>,
    random: Random,
    now: Time,
    /// What was taken, so that it is read as a server would.
    sum: u64,
}

impl Run {
    fn new(mode: &str, load: &str, records: usize) -> Run {
        let mut random = Random(7);
        let equal = load.starts_with("equal");
        let weight = |random: &mut Random| if equal { 1.0 } else { 1.0 + random.below(100) as f64 };
        let weights: Vec<f64> = (0..records).map(|_| weight(&mut random)).collect();
        let total: f64 = weights.iter().sum();
        let mut params = |weight: f64| {
            let limit = CAPACITY * weight / total * (2.0 + 8.0 * random.unit());
            let reservation = 0.5 * CAPACITY / records as f64;
            match equal {
                true => Params::new(0.0, weight, 0.0),
                false => Params::new(reservation, weight, limit),
            }
            .expect("a weight is enough")
        };
        let params: Vec<Params> = weights.iter().map(|weight| params(*weight)).collect();
        let lanes: Vec<Lane> = match load.starts_with("tenants") {
            true => vec![Lane::Shared(Params::new(CAPACITY, 1.0, 0.0).expect("it is valid"))],
            false => params.iter().map(|params| Lane::Shared(*params)).collect(),
        };
        let mut scheduler = match mode {
            "published" => MClock::as_published(PublishedConfig::default(), &lanes),
            _ => MClock::loadline(LoadlineConfig::default(), &lanes),
        };
        let now = Time::from_secs(1_000_000);
        let mut flow = |index: usize| match load.starts_with("tenants") {
            true => {
                let (class, key) = (ClassId::new(0), TenantKey(index as u64));
                let here = NonZeroU32::MIN;
                scheduler
                    .set_tenant(now, class, key, params[index], here)
                    .expect("half is reserved");
                scheduler.tenant_flow(class, key, ClientKey(0)).expect("it was just added")
            }
            false => scheduler.flow(now, index.into(), ClientKey(0)),
        };
        let flows = (0..records).map(&mut flow).collect();
        let mut run = Run { scheduler, flows, random, now, sum: 0 };
        for _ in 0..DEPTH {
            (0..records).for_each(|record| run.add(run.flows[record]));
        }
        run
    }

    #[inline(always)]
    fn add(&mut self, flow: FlowId) {
        self.scheduler.enqueue(self.now, Request::new(flow, 1, 7)).expect("the flow is open");
    }

    /// One take and one add; where nothing may run, the clock goes to the time named.
    #[inline(always)]
    fn pair<const CLOSED: bool>(&mut self) {
        loop {
            match self.scheduler.take(self.now) {
                Take::Ready(Taken { flow, payload, .. }) => {
                    self.sum = self.sum.wrapping_add(payload);
                    let record =
                        if CLOSED { None } else { Some(self.random.below(self.flows.len())) };
                    self.add(record.map_or(flow, |record| self.flows[record]));
                    self.now += SERVICE;
                    return;
                }
                Take::NotBefore(time) => self.now = time,
                Take::Empty => unreachable!("as many are added as are taken"),
            }
        }
    }

    /// So many pairs, compiled for each kind of load.
    fn pairs<const CLOSED: bool>(&mut self, pairs: u64) {
        for _ in 0..pairs {
            self.pair::<CLOSED>();
        }
    }
}

/// Processor time of this thread in nanoseconds, as the kernel counts it: neighbours do not count. It counts when it looks for the
/// next thread, as it is made to here; what it says otherwise is as old as its last tick, milliseconds that a round seems to be
/// faster by.
fn processor_nanos() -> f64 {
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0.0)
}

fn measure(pair: &mut dyn FnMut(u64), pairs: u64) -> f64 {
    let from = processor_nanos();
    pair(pairs);
    (processor_nanos() - from) / pairs as f64
}

/// What a mode does in a load: as many pairs as it is asked for.
fn runner(mode: &str, load: &str, records: usize) -> Box<dyn FnMut(u64)> {
    if mode != "wpq" {
        let mut run = Run::new(mode, load, records);
        let pairs = if load.ends_with("closed") { Run::pairs::<true> } else { Run::pairs::<false> };
        pairs(&mut run, 4 * records.max(1_000) as u64);
        return Box::new(move |count| {
            pairs(&mut run, count);
            std::hint::black_box(run.sum);
        });
    }
    let mix = if load.ends_with("one") { &MIX[..1] } else { &MIX };
    let mut queue = filled(records as u64, 6, mix);
    (0..4 * records.max(1_000)).for_each(|_| cycle(&mut queue));
    Box::new(move |pairs| {
        for _ in 0..pairs {
            cycle(&mut queue);
        }
    })
}

/// Whether a mode knows a load.
fn knows(mode: &str, load: &str) -> bool {
    match mode {
        "wpq" => load.starts_with("wpq"),
        "published" => !load.starts_with("wpq") && !load.starts_with("tenants"),
        _ => !load.starts_with("wpq"),
    }
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [mode, load, records, pairs] = &arguments[..] {
        let number = |word: &str| word.parse().expect("RECORDS and PAIRS are numbers");
        let mut run = runner(mode, load, number(records) as usize);
        for _ in std::io::stdin().lines() {
            println!("{:.2}", measure(&mut run, number(pairs)));
        }
        return;
    }
    println!("{:10} {:15} {}", "mode", "load", RECORDS.map(|n| format!("{n:>9}")).join(""));
    for mode in MODES {
        for load in LOADS.into_iter().filter(|load| knows(mode, load)) {
            let cell =
                |records| format!("{:9.1}", measure(&mut runner(mode, load, records), 2_000_000));
            println!("{mode:10} {load:15} {}", RECORDS.map(cell).join(""));
        }
    }
}
