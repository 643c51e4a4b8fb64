//! Rot in the log is never taken for its torn end.
//!
//! A log ends at the first thing that is no record: that is how it ends after a power cut. A flipped bit looks the same.
//! What tells them apart is a record behind the damage that says that the log was durable beyond. It was written with the
//! *next* append, so after an answered `Sync` one flipped bit lost acknowledged writes without a word (16 of 1,000 flips).
//! Now it is on the device before the answer.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::check::{ReadAt, check as check_store};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Answer, Ask, Edit, Fault, Format, LogMode, ObjectId, Op, OpError, Options, Payload, Protection,
    RestartFault, StoreDevice,
};
use loadline_store::{CollectionId, ObjectNo, Version};

const OBJECT: ObjectId =
    ObjectId { collection: CollectionId::new(1), object: ObjectNo(5), snapshot: 0 };
const OBJECT_BYTES: u64 = 16 << 10;

/// How a store comes to have promised what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// Each put was answered.
    Puts,
    /// A sync was answered.
    Sync,
    /// Nobody asked, and the store was left alone for a while.
    Idle,
    /// A sync was answered, the process died, and the store was opened again.
    Restart,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    log_mode: LogMode,
    protection: Protection,
    promise: Promise,
    puts: u64,
}

fn disks() -> StoreDisks {
    let size = Bytes::from_mib(8);
    let spec = SimDiskSpec { size, sector: 512, write_cache: true, timing: Timing::FREE };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    let format = Format {
        store_id: 7,
        data_bytes: size,
        log_device_bytes: None,
        log_bytes: Bytes::from_kib(512),
        segment_bytes: Bytes::from_kib(64),
        block_bytes: 512,
        recovery_bytes: Bytes::from_kib(512),
        page: PageSize::DEFAULT,
    };
    disks.format(&format, Protection::Checkpoint).expect("it fits");
    disks
}

impl Case {
    fn options(&self) -> Options {
        Options {
            log_mode: self.log_mode,
            protection: self.protection,
            cache: Bytes::from_mib(1),
            old_versions: Bytes::from_kib(256),
            checkpoint_interval: Span::from_secs(1_000_000),
            log_trigger_percent: 90,
            direct_write: Bytes::from_kib(8),
            ..Options::default()
        }
    }

    fn value(at: u64) -> Vec<u8> {
        vec![at as u8; 20 + (at * 37 % 300) as usize]
    }

    /// Everything is written and promised, and the log takes so many bytes.
    fn promised(&self) -> (SimStore, u64) {
        let mut host = SimStore::open(Time::ZERO, self.options(), disks());
        let edit = |edit| Ask::Transaction(vec![edit]);
        for at in 0..self.puts {
            let key = at.to_be_bytes().to_vec();
            ask(&mut host, edit(Edit::Put { key, value: Case::value(at) })).expect("it has room");
            if at == self.puts / 2 {
                let data = Payload::Pattern { seed: 4, offset: 0, length: OBJECT_BYTES };
                let version = Version(1);
                let write = Edit::Write { object: OBJECT, offset: 0, data, version };
                ask(&mut host, edit(write)).expect("it has room");
            }
            if at % 16 == 0 && self.promise != Promise::Idle {
                ask(&mut host, Ask::Sync).expect("it is durable");
            }
        }
        match self.promise {
            Promise::Puts => {}
            Promise::Sync | Promise::Restart => {
                ask(&mut host, Ask::Sync).expect("it is durable");
            }
            Promise::Idle => {
                let flushes = host.store().metrics().totals.log_flushes;
                assert!(host.wait_until(|host| {
                    host.store().metrics().totals.log_flushes > flushes
                        && host.in_flight().next().is_none()
                }));
            }
        }
        let log_bytes = host.store().metrics().totals.log_ring_bytes;
        if self.promise == Promise::Restart {
            let mut disks = host.into_disks();
            disks.data.kill(&mut Rng::new(3));
            host = SimStore::open(Time::ZERO, self.options(), disks);
            assert!(host.wait_until(|host| {
                host.store().is_open() && host.in_flight().next().is_none()
            }));
        }
        assert_eq!(host.store().metrics().totals.checkpoints, 0, "everything is in the log");
        (host, log_bytes)
    }

    /// Opens damaged disks. True if the store was refused; else everything that was promised is there.
    fn is_refused(&self, mut disks: StoreDisks) -> bool {
        disks.data.kill(&mut Rng::new(3));
        let mut host = SimStore::open(Time::ZERO, self.options(), disks);
        host.wait_until(|host| host.store().is_open() || host.store().fault().is_some());
        if let Some(fault) = host.store().fault() {
            assert!(matches!(fault, Fault::Restart(RestartFault::LogDamaged(_))), "{fault:?}");
            return true;
        }
        for at in 0..self.puts {
            let found = ask(&mut host, Ask::Get(at.to_be_bytes().to_vec()));
            assert_eq!(
                found,
                Ok(Answer::Value(Some(Case::value(at)))),
                "{self:?}: put {at} is lost"
            );
        }
        let read = Ask::Read { object: OBJECT, offset: 0, length: OBJECT_BYTES };
        let bytes = loadline_store::paged::api::pattern(4, 0, OBJECT_BYTES);
        assert_eq!(ask(&mut host, read), Ok(Answer::Bytes(Some(bytes))), "{self:?}");
        false
    }

    /// Flips bits in one byte after the other, and counts those stores that were refused.
    fn check(&self, step: impl Fn(&mut Rng) -> u64) {
        let (host, log_bytes) = self.promised();
        let start = host.store().superblock().layout.log_offset;
        let live = start..start + log_bytes + 100;
        let mut rng = Rng::new(9);
        let (mut flips, mut refused) = (0, 0);
        let mut at = live.start + step(&mut rng) - 1;
        while at < live.end {
            let mut disks = host.disks().clone();
            disks.data.rot(at..at + 1);
            let says = check_store(&Devices(&disks.data)).findings;
            flips += 1;
            let is_refused = self.is_refused(disks);
            refused += u64::from(is_refused);
            assert_eq!(
                is_refused,
                !says.is_empty(),
                "{self:?}, byte {at}: the checker says {says:?}"
            );
            at += step(&mut rng);
        }
        println!("{self:?}: {flips} flips, {refused} refused");
        assert!(refused * 2 > flips, "flips hit what was promised");
    }

    /// Writes over the log from one byte after the other to far behind its end, as a write of several pages does that goes
    /// astray. What no byte before is promised is there, or the store is refused.
    fn check_strays(&self) {
        let (mut host, log_bytes) = self.promised();
        if self.promise == Promise::Puts {
            let witnesses = host.store().metrics().totals.log_witnesses;
            assert!(
                host.wait_until(|host| host.store().metrics().totals.log_witnesses > witnesses
                    && host.in_flight().next().is_none())
            );
        }
        let start = host.store().superblock().layout.log_offset;
        for at in (start + 1..start + log_bytes).step_by(97) {
            let mut disks = host.disks().clone();
            disks.data.poke(at, &[0xa5; 16 << 10]);
            let says = check_store(&Devices(&disks.data)).findings;
            let is_refused = self.is_refused(disks);
            let says_so = !says.is_empty();
            assert_eq!(is_refused, says_so, "{self:?}, from byte {at}: the checker says {says:?}");
            // The last block may hold no more than the proof and a pad.
            assert!(is_refused || at + 600 > start + log_bytes, "{self:?}, from byte {at}");
        }
    }
}

fn ask(host: &mut SimStore, ask: Ask) -> Result<Answer, OpError> {
    host.submit(Op { ask, lane: None, class: ClassTag(9), token: 0 });
    assert!(host.wait_until(|host| !host.ended().is_empty()));
    host.ended_mut().pop().expect("it has ended").result
}

struct Devices<'a>(&'a SimDisk);

impl ReadAt for Devices<'_> {
    fn size(&self, target: StoreDevice) -> Option<u64> {
        (target == StoreDevice::Data).then(|| self.0.spec().size.get())
    }

    fn read_at(&self, _: StoreDevice, offset: u64, into: &mut [u8]) -> bool {
        into.copy_from_slice(&self.0.peek(offset..offset + into.len() as u64));
        true
    }
}

const PROMISES: [(LogMode, Promise); 8] = [
    (LogMode::Fsync, Promise::Puts),
    (LogMode::Fsync, Promise::Restart),
    (LogMode::LogOnly, Promise::Sync),
    (LogMode::LogOnly, Promise::Idle),
    (LogMode::LogOnly, Promise::Restart),
    (LogMode::Background, Promise::Sync),
    (LogMode::Background, Promise::Idle),
    (LogMode::Background, Promise::Restart),
];

#[test]
fn every_byte_of_a_short_log() {
    for (log_mode, promise) in PROMISES {
        let protection = Protection::Checkpoint;
        Case { log_mode, protection, promise, puts: 5 }.check(|_| 1);
    }
}

/// Over segments, with images of pages, large records and what is left of a segment that they do not fit into.
#[test]
fn thousands_of_bits_of_a_long_log() {
    for (log_mode, promise) in PROMISES {
        for protection in [Protection::Checkpoint, Protection::Log] {
            Case { log_mode, protection, promise, puts: 500 }.check(|rng| 1 + rng.below(800));
        }
    }
}

/// The newest proof is the end of the log. What took it together with records that only it covered passed for a power cut: they
/// were lost without a word. Now the witness says that they were durable.
#[test]
fn what_takes_the_newest_proof_along_is_no_torn_end() {
    for (log_mode, promise) in PROMISES {
        for protection in [Protection::Checkpoint, Protection::Log] {
            Case { log_mode, protection, promise, puts: 40 }.check_strays();
        }
    }
}
