//! A store, its disks, its load and its lives, all drawn from one seed.

use super::draw::Draw;
use crate::StoreDisks;
use crate::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_base::{Bytes, Rng, Span};
use loadline_store::paged::bounds::{StoreLimits, cache_least, limits};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::image::Compression;
use loadline_store::paged::layout::Layout;
use loadline_store::paged::options::WriteOrder;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{Format, LogMode, Options, Protection};

/// What all lives of a store have in common.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where everything comes from.
    pub seed: u64,
    /// How the store is formatted.
    pub format: Format,
    /// The data device.
    pub data: SimDiskSpec,
    /// The log's own device, if it has one.
    pub log: Option<SimDiskSpec>,
    /// What is asked of it.
    pub load: SoakLoad,
}

/// The smallest segment of a log, and the fewest that it may have.
const SMALLEST_SEGMENT: Bytes = Bytes::from_kib(64);
const SMALLEST_SEGMENTS: u64 = 4;

/// The kinds of edits, with how often each is drawn. Some seeds leave some kinds out: what is common elsewhere is then
/// rare, and the other way round.
pub(super) const EDIT_KINDS: usize = 12;

/// What is asked of a store.
#[derive(Clone, Debug)]
pub struct SoakLoad {
    /// How many lanes.
    pub lanes: u32,
    /// Ops in flight at the same time.
    pub depth: usize,
    /// Keys of each lane.
    pub keys: u64,
    /// Whether keys are about as long as they may be.
    pub long_keys: bool,
    /// Objects of each lane.
    pub objects: u64,
    /// Bytes over which an object's writes are spread.
    pub object_span: u64,
    /// Edits of a transaction at most.
    pub edits_max: u64,
    /// How often each kind of edit is drawn.
    pub weights: [u64; EDIT_KINDS],
    /// One op in so many is a question.
    pub one_query_in: u64,
    /// One op in so many asks for durability.
    pub one_barrier_in: u64,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn new(seed: u64) -> Scenario {
        let mut rng = Rng::for_purpose(seed, 1);
        let page = *rng.pick(&[1024u32, 4096, 4096, 4096, 16384]);
        let sector = if page > 1024 && rng.one_in(3) { 4096 } else { 512 };
        let log_bytes = (64 << 10) * rng.between(4, 16) * rng.between(1, 2);
        // Under `log` protection a small change may need images of some twenty pages, in a quarter of the log.
        let log_bytes = log_bytes.max(160 * u64::from(page)).next_multiple_of(64 << 10);
        let mut format = Format {
            store_id: seed,
            data_bytes: Bytes::ZERO,
            log_device_bytes: None,
            log_bytes: Bytes::new(log_bytes),
            segment_bytes: Bytes::new(64 << 10),
            block_bytes: if page > 1024 && rng.one_in(2) { 4096 } else { sector },
            recovery_bytes: Bytes::new(rng.between(128, 300) * u64::from(page + 64)),
            page: PageSize::new(page).expect("a legal size"),
        };
        if log_bytes >= 8 << 16 && rng.one_in(2) {
            format.segment_bytes = Bytes::new(128 << 10);
            format.log_bytes = Bytes::new(log_bytes / (128 << 10) * (128 << 10));
        }
        if Scenario::has_smallest_log(seed) {
            format.segment_bytes = SMALLEST_SEGMENT;
            format.log_bytes = Bytes::new(SMALLEST_SEGMENTS * SMALLEST_SEGMENT.get());
        }
        let pages = if rng.one_in(4) { rng.between(80, 200) } else { rng.between(200, 1200) };
        let fixed = (16 << 10) + format.recovery_bytes.get() + u64::from(page) * 4;
        let mut data_bytes = fixed + pages * u64::from(page);
        let spec = |rng: &mut Rng, size: u64| SimDiskSpec {
            size: Bytes::new(size.next_multiple_of(4096)),
            sector,
            write_cache: !rng.one_in(4),
            timing: timing(rng),
        };
        let log = rng.one_in(2).then(|| spec(&mut rng, 4096 + format.log_bytes.get()));
        match &log {
            Some(log) => format.log_device_bytes = Some(log.size),
            None => data_bytes += format.log_bytes.get(),
        }
        let data = spec(&mut rng, data_bytes);
        format.data_bytes = data.size;
        let load = SoakLoad::draw(&mut rng, &format);
        Scenario { seed, format, data, log, load }
    }

    /// Whether the log of a seed's store is as small as may be; from a stream of its own, as the later faults.
    pub(super) fn has_smallest_log(seed: u64) -> bool {
        Rng::for_purpose(seed, 10).one_in(10)
    }

    /// The least cache that the store opens with.
    pub(super) fn cache_least(&self) -> Bytes {
        cache_least(&self.layout())
    }

    /// A store so small that opening it takes a fraction of a millisecond.
    pub fn small(seed: u64, has_log_device: bool) -> Scenario {
        let log_bytes = 256 << 10;
        let spec = |size: u64| SimDiskSpec {
            size: Bytes::new(size),
            sector: 512,
            write_cache: true,
            timing: Timing {
                per_request: Span::from_micros(20),
                bytes_per_second: 0,
                flush: Span::from_micros(50),
                channels: 4,
            },
        };
        let log = has_log_device.then(|| spec(4096 + log_bytes));
        let data = spec(
            (16 << 10) + (128 << 10) + (500 << 10) + if has_log_device { 0 } else { log_bytes },
        );
        let format = Format {
            store_id: seed,
            data_bytes: data.size,
            log_device_bytes: log.map(|log| log.size),
            log_bytes: Bytes::new(log_bytes),
            segment_bytes: Bytes::from_kib(64),
            block_bytes: 512,
            recovery_bytes: Bytes::from_kib(128),
            page: PageSize::new(1024).expect("a legal size"),
        };
        let load = SoakLoad {
            lanes: 2,
            depth: 4,
            keys: 20,
            long_keys: false,
            objects: 2,
            object_span: 128 << 10,
            edits_max: 4,
            weights: [8, 3, 5, 3, 2, 3, 4, 2, 2, 1, 1, 2],
            one_query_in: 10,
            one_barrier_in: 40,
        };
        Scenario { seed, format, data, log, load }
    }

    /// The places of the store.
    pub fn layout(&self) -> Layout {
        self.format.layout().expect("the format fits")
    }

    /// The largest things that the store takes.
    pub(super) fn limits(&self) -> StoreLimits {
        limits(&self.layout())
    }

    /// The disks, formatted.
    pub fn disks(&self, protection: Protection) -> StoreDisks {
        let mut disks = StoreDisks {
            data: SimDisk::new(self.data, self.seed),
            log: self.log.map(|log| SimDisk::new(log, self.seed ^ 1)),
        };
        disks.format(&self.format, protection).expect("the format fits");
        disks
    }

    /// The settings of one life.
    pub fn options(&self, rng: &mut Rng) -> Options {
        let page = self.format.page.bytes() as u64;
        // A key's value in pieces is read by one op, which may keep a quarter of the frames.
        let overhead = if self.load.long_keys { 6 } else { 2 };
        let value_pages = self.limits().value_bytes as u64 / page * overhead + 8;
        let frames_min = (cache_least(&self.layout()).get() / page).max(4 * value_pages);
        let frames_max = ((2 << 20) / page).max(frames_min + 1);
        let frames = if rng.one_in(4) {
            rng.between(frames_min, (frames_min + 30).min(frames_max))
        } else {
            rng.between(frames_min.max(96).min(frames_max), frames_max)
        };
        Options {
            log_mode: *rng.pick(&LogMode::ALL),
            protection: *rng.pick(&[Protection::Log, Protection::Checkpoint]),
            compression: *rng.pick(&[
                Compression::None,
                Compression::SkipGarbage,
                Compression::Snappy,
                Compression::Lz4,
                Compression::Zstd(1),
            ]),
            throttle: *rng.pick(&ThrottlePolicy::ALL),
            write_order: *rng.pick(&[WriteOrder::Sequential, WriteOrder::Unsorted]),
            cache: Bytes::new(frames * page),
            old_versions: Bytes::new(rng.between(4, 64) * page),
            checkpoint_interval: *rng.pick(&[
                Span::from_millis(1),
                Span::from_millis(30),
                Span::from_secs(1),
                Span::from_secs(3600),
            ]),
            dirty_trigger_percent: rng.between(10, 60) as u8,
            log_trigger_percent: rng.between(10, 60) as u8,
            checkpoint_writes: rng.between(1, 8) as u32,
            log_flush_interval: Span::from_micros(rng.between(10, 20_000)),
            log_sync_interval: Span::from_micros(rng.between(10, 20_000)),
            gather_max: Span::from_micros(rng.between(0, 300)),
            direct_write: Bytes::new(page * *rng.pick(&[1, 2, 4, 16, 1 << 30])),
            // Without a draw of its own: seeds that once failed keep their histories.
            placed_write: Bytes::new(page * [1, 1, 2, 1 << 30][(frames % 4) as usize]),
            ..Options::default()
        }
    }
}

impl SoakLoad {
    fn draw(rng: &mut Rng, format: &Format) -> SoakLoad {
        let page = format.page.bytes() as u64;
        let pages = format.layout().expect("the format fits").pages_count;
        let lanes = rng.between(1, 5) as u32;
        let objects = rng.between(1, 5);
        // From a tenth of the disk to more than it holds.
        let share = *rng.pick(&[10, 30, 60, 150]);
        let object_span = pages * page * share / 100 / (u64::from(lanes) * objects);
        let mut weights = [0; EDIT_KINDS];
        weights.iter_mut().for_each(|weight| *weight = rng.below(6));
        weights[rng.below(3) as usize] += 4;
        SoakLoad {
            lanes,
            depth: *rng.pick(&[1, 4, 16, 64]),
            keys: *rng.pick(&[6, 40, 150]),
            long_keys: rng.one_in(5),
            objects,
            object_span: object_span.max(2 * page),
            edits_max: *rng.pick(&[1, 4, 20]),
            weights,
            one_query_in: *rng.pick(&[2, 4, 20]),
            one_barrier_in: *rng.pick(&[10, 60, 1000]),
        }
    }
}

/// Half of the disks cost nothing; on the others requests overlap in time.
fn timing(rng: &mut Rng) -> Timing {
    if rng.one_in(2) {
        return Timing::FREE;
    }
    Timing {
        per_request: Span::from_micros(rng.between(1, 200)),
        bytes_per_second: *rng.pick(&[0, 50_000_000, 2_000_000_000]),
        flush: Span::from_micros(rng.between(0, 2000)),
        channels: *rng.pick(&[0, 1, 4, 16]),
    }
}
