//! Small stores with something of every kind in them, on devices that are vectors and answer at once.

use loadline_base::{Bytes, Rng, Time};
use loadline_device::{ClassTag, Outcome, RequestKind};
use loadline_store::paged::check::InMemory;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{
    Answer, Ask, Edit, Format, IoDone, LogMode, ObjectId, Op, OpError, OpLane, Options, Outbox,
    PagedStore, PastDamage, Payload, Protection, RoomClaim, StoreDevice, format,
};
use loadline_store::{CollectionId, ObjectNo, Version};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of the data device.
pub(crate) const DATA: u64 = 16 << 20;
/// Bytes of the log device, where there is one.
pub(crate) const LOG: u64 = (8 << 20) + 4096;

/// The devices of a store.
#[derive(Clone)]
pub(crate) struct Disks {
    pub(crate) data: Vec<u8>,
    pub(crate) log: Option<Vec<u8>>,
}

impl Disks {
    /// Devices with an empty store.
    pub(crate) fn formatted(protection: Protection, with_log_device: bool) -> Disks {
        let format_of = Format {
            store_id: 77,
            data_bytes: Bytes::new(DATA),
            log_device_bytes: with_log_device.then_some(Bytes::new(LOG)),
            log_bytes: Bytes::from_mib(8),
            segment_bytes: Bytes::from_kib(64),
            block_bytes: 512,
            recovery_bytes: Bytes::from_mib(1),
            page: PageSize::DEFAULT,
        };
        Disks::made(&format_of, protection)
    }

    /// Devices with an empty store of this format.
    pub(crate) fn made(of: &Format, protection: Protection) -> Disks {
        let log = of.log_device_bytes.map(|bytes| vec![0; bytes.get() as usize]);
        let mut disks = Disks { data: vec![0; of.data_bytes.get() as usize], log };
        for (target, offset, bytes) in format(of, protection).expect("it fits") {
            disks.of(target)[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        disks
    }

    pub(crate) fn of(&mut self, target: StoreDevice) -> &mut Vec<u8> {
        match target {
            StoreDevice::Data => &mut self.data,
            StoreDevice::Log => self.log.as_mut().expect("there is a log device"),
        }
    }

    /// To read.
    pub(crate) fn bytes(&self) -> InMemory<'_> {
        InMemory { data: &self.data, log: self.log.as_deref() }
    }
}

/// A store at work.
pub(crate) struct Sample {
    pub(crate) store: PagedStore<u64>,
    pub(crate) disks: Disks,
    /// What the last flush has made durable, where somebody wants to know.
    pub(crate) durable: Option<Disks>,
    /// What each page of the data device held before it was last written, where somebody wants to know.
    pub(crate) before: Option<BTreeMap<u64, Vec<u8>>>,
    /// Bytes of the data device that it does not read, if there are such.
    pub(crate) unreadable: Option<Range<u64>>,
    pub(crate) out: Outbox<u64>,
    /// The classes of all requests so far.
    pub(crate) classes: Vec<ClassTag>,
    now: Time,
}

impl Sample {
    /// Opens the store on these devices.
    pub(crate) fn open(disks: Disks, protection: Protection) -> Sample {
        Sample::begin(disks, protection).opened()
    }

    /// The same store when it is open.
    pub(crate) fn opened(mut self) -> Sample {
        let sample = &mut self;
        while !sample.store.is_open() {
            assert_eq!(sample.store.fault(), None, "it opens");
            sample.step();
        }
        self
    }

    /// Begins to open the store on these devices.
    pub(crate) fn begin(disks: Disks, protection: Protection) -> Sample {
        Sample::begin_with(disks, Sample::options(protection))
    }

    pub(crate) fn options(protection: Protection) -> Options {
        Options {
            log_mode: LogMode::Fsync,
            protection,
            cache: Bytes::from_mib(16),
            old_versions: Bytes::from_kib(256),
            direct_write: Bytes::from_kib(32),
            throttle: ThrottlePolicy::None,
            ..Options::default()
        }
    }

    pub(crate) fn begin_with(disks: Disks, options: Options) -> Sample {
        let mut out = Outbox::new();
        let log = disks.log.as_ref().map(|log| Bytes::new(log.len() as u64));
        let data = Bytes::new(disks.data.len() as u64);
        let store = PagedStore::open(Time::ZERO, options, data, log, &mut out);
        Sample {
            store,
            disks,
            durable: None,
            before: None,
            unreadable: None,
            out,
            classes: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Carries a request out, or lets time pass if there is none.
    pub(crate) fn step(&mut self) {
        if self.out.io.is_empty() {
            self.now = self.store.next_tick().expect("something is to happen").max(self.now);
            return self.store.tick(self.now, &mut self.out);
        }
        self.serve(0);
    }

    /// Carries the oldest request to a device out. False if there is none.
    pub(crate) fn step_only(&mut self, target: StoreDevice) -> bool {
        let found = self.out.io.iter().position(|io| io.target == target);
        found.map(|at| self.serve(at)).is_some()
    }

    fn serve(&mut self, at: usize) {
        let io = self.out.io.remove(at);
        self.classes.push(io.request.class);
        let device = self.disks.of(io.target);
        let mut data = io.data;
        let range =
            io.request.offset as usize..(io.request.offset + io.request.length.get()) as usize;
        match io.request.kind {
            RequestKind::Read => data = device[range.clone()].to_vec(),
            RequestKind::Write => {
                if let Some(before) =
                    self.before.as_mut().filter(|_| io.target == StoreDevice::Data)
                {
                    let pages = range.clone().step_by(4096);
                    before
                        .extend(pages.map(|at| (at as u64 / 4096, device[at..at + 4096].to_vec())));
                }
                device[range.clone()].copy_from_slice(&data);
            }
            RequestKind::Discard => device[range.clone()].fill(0xdd),
            RequestKind::Flush => {
                let disks = &self.disks;
                self.durable.iter_mut().for_each(|durable| durable.clone_from(disks));
            }
        }
        let is_data_read = io.request.kind == RequestKind::Read && io.target == StoreDevice::Data;
        let is_met =
            |bad: &Range<u64>| bad.start < range.end as u64 && (range.start as u64) < bad.end;
        let outcome = match self.unreadable.as_ref().filter(|_| is_data_read).is_some_and(is_met) {
            true => Outcome::Failed,
            false => Outcome::Done,
        };
        self.store.done(self.now, IoDone { id: io.id, outcome, data }, &mut self.out);
    }

    /// Gives the store an answer that no device has given.
    pub(crate) fn fail(&mut self, done: IoDone) {
        self.store.done(self.now, done, &mut self.out);
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let what = ask.clone();
        self.submit(ask);
        while self.out.completions.is_empty() {
            self.step();
        }
        let done = self.out.completions.remove(0);
        assert!(done.result.is_ok(), "{what:?}: {:?}", done.result);
    }

    /// Asks and waits for the answer, whatever it is, as long as the store runs.
    pub(crate) fn answer(&mut self, ask: Ask) -> Result<Answer, OpError> {
        self.submit(ask);
        while self.out.completions.is_empty() {
            self.step();
        }
        self.out.completions.remove(0).result
    }

    /// Lets everything that was given back be free.
    pub(crate) fn settle(&mut self) {
        while self.store.space().pages.allocator.returning() > 0 || !self.is_idle() {
            self.ask(Ask::Checkpoint);
            while !self.is_idle() {
                self.step();
            }
        }
    }

    /// Pages that are free, now or behind a checkpoint.
    pub(crate) fn free_or_returning(&self) -> u64 {
        let allocator = &self.store.space().pages.allocator;
        allocator.free() + allocator.returning()
    }

    /// Whether everything that was asked is answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.out.io.is_empty()
    }

    pub(crate) fn submit(&mut self, ask: Ask) {
        self.submit_op(Op { ask, lane: None, class: ClassTag(1), token: 0 });
    }

    pub(crate) fn submit_op(&mut self, op: Op<u64>) {
        self.store.submit(self.now, op, &mut self.out);
    }

    /// Asks for a transaction in a lane of its own number, with this claim to room.
    pub(crate) fn submit_claiming(&mut self, token: u64, claim: RoomClaim, edits: Vec<Edit>) {
        let lane = Some(OpLane(token as u32));
        let op = Op { ask: Ask::Transaction(edits), lane, class: ClassTag(1), token };
        self.store.submit_claiming(self.now, op, (claim, None), &mut self.out);
    }

    /// Asks for a transaction that goes past damage.
    pub(crate) fn submit_past(&mut self, op: Op<u64>, past: PastDamage) {
        self.store.submit_past_damage(self.now, op, past, &mut self.out);
    }

    /// Lets everything happen that may without another op: all requests are answered, and all is done that is due. The results of those
    /// that have ended, by their tokens.
    pub(crate) fn run_dry(&mut self) -> BTreeMap<u64, Result<Answer, OpError>> {
        while !self.out.io.is_empty() || self.store.next_tick().is_some() {
            self.step();
        }
        self.out.completions.drain(..).map(|done| (done.token, done.result)).collect()
    }

    /// The store after its first change.
    pub(crate) fn with_a_key(mut self) -> Sample {
        let put = Edit::Put { key: b"key".into(), value: b"value".into() };
        self.ask(Ask::Transaction(vec![put]));
        self
    }

    /// Begins a checkpoint and stops when its begin marker and some of its pages are on the device: devices as a crash
    /// leaves them.
    pub(crate) fn crash_in_checkpoint(mut self) -> Disks {
        self.submit(Ask::Checkpoint);
        while self.store.superblock().begun.is_none() {
            self.step();
        }
        (0..4).for_each(|_| self.step());
        self.disks
    }

    /// Changes of every kind.
    pub(crate) fn fill(&mut self, rng: &mut Rng) {
        for at in 0..600 {
            let edit = self.random_edit(at, rng);
            self.ask(Ask::Transaction(vec![edit]));
        }
    }

    fn random_edit(&self, at: u64, rng: &mut Rng) -> Edit {
        let version = Version(at + 1);
        let object = object(rng.below(6));
        let key = format!("key {}", rng.below(200)).into_bytes();
        match rng.below(16) {
            0..=5 => Edit::Put { key, value: vec![at as u8; rng.below(300) as usize] },
            6 => Edit::Put { key, value: vec![at as u8; 1000 + rng.below(7000) as usize] },
            7 => Edit::Delete { key },
            8 => {
                let data = Payload::Pattern { seed: at, offset: 0, length: 90_000 };
                Edit::Write { object, offset: rng.below(200_000), data, version }
            }
            9 | 10 => {
                let data = Payload::Pattern { seed: at, offset: 0, length: 1 + rng.below(9000) };
                Edit::Write { object, offset: rng.below(200_000), data, version }
            }
            11 => {
                let start = rng.below(150_000);
                Edit::Punch { object, range: start..start + 8192 + rng.below(50_000), version }
            }
            12 => Edit::Truncate { object, length: rng.below(250_000), version },
            13 if rng.below(3) == 0 => Edit::Remove { object },
            13 => Edit::Clone { from: object, to: self::object(rng.below(6)) },
            _ => {
                let name = format!("attribute {}", rng.below(4)).into_bytes();
                Edit::SetAttribute { object, name, value: vec![at as u8; 40] }
            }
        }
    }
}

/// One of the objects that are written.
pub(crate) fn object(number: u64) -> ObjectId {
    ObjectId { collection: CollectionId::new(3), object: ObjectNo(number), snapshot: number % 2 }
}

/// Devices whose store was closed in the middle of life: a checkpoint, and a log behind it.
pub(crate) fn crashed(protection: Protection, with_log_device: bool) -> Disks {
    let mut sample = Sample::open(Disks::formatted(protection, with_log_device), protection);
    let mut rng = Rng::new(11);
    sample.fill(&mut rng);
    sample.ask(Ask::Checkpoint);
    sample.fill(&mut rng);
    sample.disks
}

/// Devices, one of them for the log, whose store was closed after its first changes.
pub(crate) fn crashed_early(protection: Protection) -> Disks {
    let sample = Sample::open(Disks::formatted(protection, true), protection);
    sample.with_a_key().disks
}
