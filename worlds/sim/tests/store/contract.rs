//! The paged store on simulated disks passes the contract of every store, in every log mode that promises anything, under both
//! protections, with the log on the same disk and on its own.

use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::contract::{ContractWorld, check};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Answer, Format, LogMode, Op, OpError, Options, Protection};

pub(crate) struct Simulated {
    host: Option<SimStore>,
    options: Options,
    rng: Rng,
}

pub(crate) fn fresh(options: Options, own_log: bool, page: u32) -> Simulated {
    let spec = |size| SimDiskSpec { size, sector: 512, write_cache: true, timing: Timing::FREE };
    let (data, log) = (Bytes::from_mib(32), Bytes::from_mib(8));
    let log_disk = own_log.then(|| SimDisk::new(spec(log), 2));
    let mut disks = StoreDisks { data: SimDisk::new(spec(data), 1), log: log_disk };
    let format = Format {
        store_id: 7,
        data_bytes: data,
        log_device_bytes: own_log.then_some(log),
        log_bytes: log,
        segment_bytes: Bytes::from_kib(512),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(2),
        page: PageSize::new(page).expect("a legal size"),
    };
    disks.format(&format, options.protection).expect("it fits");
    let host = SimStore::open(Time::ZERO, options, disks);
    Simulated { host: Some(host), options, rng: Rng::new(5) }
}

impl Simulated {
    pub(crate) fn host(&mut self) -> &mut SimStore {
        self.host.as_mut().expect("a store runs")
    }
}

impl ContractWorld for Simulated {
    fn submit(&mut self, op: Op<u64>) {
        self.host().submit(op);
    }

    fn run(&mut self) -> Vec<(u64, Result<Answer, OpError>)> {
        while self.host().step() {}
        let ended = std::mem::take(self.host().ended_mut());
        ended.into_iter().map(|done| (done.token, done.result)).collect()
    }

    fn crash(&mut self) {
        let mut disks = self.host.take().expect("a store runs").into_disks();
        for disk in std::iter::once(&mut disks.data).chain(&mut disks.log) {
            match self.options.log_mode {
                LogMode::Fsync => disk.power_cut(CutStyle::Random, &mut self.rng),
                _ => disk.kill(&mut self.rng),
            }
        }
        self.host = Some(SimStore::open(Time::ZERO, self.options, disks));
    }

    fn classes(&self) -> Vec<ClassTag> {
        let host = self.host.as_ref().expect("a store runs");
        let disks = host.disks().clone();
        (0..=u8::MAX)
            .map(ClassTag)
            .filter(|class| {
                let traffic = disks.data.traffic_of(*class);
                traffic.reads + traffic.writes > 0
            })
            .collect()
    }
}

#[test]
fn the_paged_store_keeps_the_contract() {
    for log_mode in [LogMode::Fsync, LogMode::LogOnly] {
        for protection in [Protection::Log, Protection::Checkpoint] {
            for (own_log, page) in [(false, 4096), (true, 4096), (false, 1024), (true, 16384)] {
                let options = Options {
                    log_mode,
                    protection,
                    cache: Bytes::from_mib(2),
                    old_versions: Bytes::from_kib(512),
                    ..Options::default()
                };
                check(|| fresh(options, own_log, page));
            }
        }
    }
}
