//! What goes wrong during a life, when, and what it excuses.

use super::draw::Draw;
use super::ledger::Excuses;
use super::place::StoreRegion;
use crate::SimStore;
use crate::disk::Trouble;
use loadline_base::{Rng, Span};
use loadline_device::RequestKind;
use loadline_store::paged::layout::Layout;
use std::fmt;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlannedFault {
    /// The next flush fails.
    FlushFails,
    /// The next write to this place fails.
    WriteFails(StoreRegion),
    /// The next write to this place stands elsewhere.
    WriteAstray(StoreRegion),
    /// The next write to this place is answered and never done.
    WriteLost(StoreRegion),
    /// What the next read asks for cannot be read, so often, or for good.
    ReadFails(Option<u32>),
    /// Bits flip in a sector of this place.
    Rot(StoreRegion),
    /// The disk of the next request answers nothing for so many seconds.
    Slow(u64),
    /// The next request is never answered.
    Hang,
    /// The device of the next write has no room for any for so many milliseconds.
    Full(u64),
}

/// What faults are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A flush failed.
    FlushFails,
    /// A write failed.
    WriteFails,
    /// A write went elsewhere.
    WriteAstray,
    /// A write was answered and never done.
    WriteLost,
    /// Reads failed.
    ReadFails,
    /// Bits flipped in the log.
    RotInLog,
    /// Bits flipped elsewhere.
    Rot,
    /// Nothing was answered for seconds.
    Slow,
    /// A request was never answered.
    Hang,
    /// A device had no room for writes.
    Full,
    /// The images were wiped between two lives.
    Wiped,
    /// A store was shown on a device of another size.
    Resized,
    /// A store was shown another store's device.
    Swapped,
    /// A store was shown as it was earlier.
    Stale,
    /// A store was being made when the power went.
    Format,
    /// A store of an earlier format was opened, and crashed.
    Upgrade,
}

/// How often faults of each kind struck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultsByKind([u64; FaultKind::ALL.len()]);

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 16] = [
        FaultKind::FlushFails,
        FaultKind::WriteFails,
        FaultKind::WriteAstray,
        FaultKind::WriteLost,
        FaultKind::ReadFails,
        FaultKind::RotInLog,
        FaultKind::Rot,
        FaultKind::Slow,
        FaultKind::Hang,
        FaultKind::Full,
        FaultKind::Wiped,
        FaultKind::Resized,
        FaultKind::Swapped,
        FaultKind::Stale,
        FaultKind::Format,
        FaultKind::Upgrade,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::FlushFails => "a flush fails",
            FaultKind::WriteFails => "a write fails",
            FaultKind::WriteAstray => "a write goes elsewhere",
            FaultKind::WriteLost => "a write is lost",
            FaultKind::ReadFails => "reads fail",
            FaultKind::RotInLog => "rot in the log",
            FaultKind::Rot => "rot elsewhere",
            FaultKind::Slow => "a slow disk",
            FaultKind::Hang => "a request hangs",
            FaultKind::Full => "a device that is full",
            FaultKind::Wiped => "images wiped at rest",
            FaultKind::Resized => "a device of another size",
            FaultKind::Swapped => "another store's device",
            FaultKind::Stale => "a disk as it was earlier",
            FaultKind::Format => "a crash during a format",
            FaultKind::Upgrade => "an upgrade from format 1",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FaultsByKind {
    /// One more.
    pub(super) fn hit(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }

    /// How many of a kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another count.
    pub(super) fn add(&mut self, other: &FaultsByKind) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// A fault and the event from which on it waits for its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) from: u64,
    pub(super) fault: PlannedFault,
}

/// What is written and is no page.
const NOT_A_PAGE: [StoreRegion; 3] =
    [StoreRegion::Superblock, StoreRegion::Log, StoreRegion::Images];

impl PlannedFault {
    /// Any of those that were thought of first.
    pub(super) fn draw(rng: &mut Rng) -> PlannedFault {
        let place = *rng.pick(&[
            StoreRegion::Superblock,
            StoreRegion::Log,
            StoreRegion::Log,
            StoreRegion::Images,
            StoreRegion::FreeMap,
            StoreRegion::Pages,
            StoreRegion::Pages,
        ]);
        match rng.below(10) {
            0 | 1 => PlannedFault::FlushFails,
            2..=4 => PlannedFault::WriteFails(place),
            5 => PlannedFault::WriteAstray(*rng.pick(&NOT_A_PAGE)),
            6 => PlannedFault::ReadFails(Some(rng.between(1, 3) as u32)),
            7 => PlannedFault::ReadFails(None),
            _ => PlannedFault::Rot(place),
        }
    }

    /// Any of those that were thought of later.
    pub(super) fn draw_later(rng: &mut Rng) -> PlannedFault {
        let page = *rng.pick(&[StoreRegion::FreeMap, StoreRegion::Pages, StoreRegion::Pages]);
        match rng.below(6) {
            0 => PlannedFault::WriteLost(*rng.pick(&NOT_A_PAGE)),
            1 | 2 => PlannedFault::WriteLost(page),
            3 => PlannedFault::WriteAstray(page),
            4 => PlannedFault::Slow(rng.between(1, 20)),
            _ => PlannedFault::Hang,
        }
    }

    /// One that strikes the log's witness.
    pub(super) fn draw_of_witness(rng: &mut Rng) -> PlannedFault {
        let place = StoreRegion::Witness;
        *rng.pick(&[
            PlannedFault::WriteLost(place),
            PlannedFault::WriteLost(place),
            PlannedFault::WriteFails(place),
            PlannedFault::WriteAstray(place),
            PlannedFault::Rot(place),
        ])
    }

    /// A device that is full, for less than the longest that any other is silent.
    pub(super) fn draw_full(rng: &mut Rng) -> PlannedFault {
        let most = *rng.pick(&[40, 400, 5000]);
        PlannedFault::Full(rng.between(1, most))
    }

    /// What it is counted by.
    pub(super) fn kind(self) -> FaultKind {
        match self {
            PlannedFault::FlushFails => FaultKind::FlushFails,
            PlannedFault::WriteFails(_) => FaultKind::WriteFails,
            PlannedFault::WriteAstray(_) => FaultKind::WriteAstray,
            PlannedFault::WriteLost(_) => FaultKind::WriteLost,
            PlannedFault::ReadFails(_) => FaultKind::ReadFails,
            PlannedFault::Rot(StoreRegion::Log) => FaultKind::RotInLog,
            PlannedFault::Rot(_) => FaultKind::Rot,
            PlannedFault::Slow(_) => FaultKind::Slow,
            PlannedFault::Hang => FaultKind::Hang,
            PlannedFault::Full(_) => FaultKind::Full,
        }
    }

    /// Whether the log may end early because of it. It also ends before a record whose own data, written beside the log and
    /// not yet noted as durable, is not what it should be: a restart cannot tell rot from data that never came.
    pub(super) fn damages_log(self) -> bool {
        matches!(
            self,
            PlannedFault::WriteAstray(_)
                | PlannedFault::WriteLost(StoreRegion::Log | StoreRegion::Pages)
                | PlannedFault::Rot(StoreRegion::Log | StoreRegion::Pages)
        )
    }

    /// What it excuses. A rotten superblock is one of four and excuses nothing, nor does a place of the witness, which is one of two.
    pub(super) fn excuses(self, excuses: &mut Excuses) {
        excuses.log |= self.damages_log();
        match self {
            PlannedFault::FlushFails => excuses.stop = true,
            PlannedFault::WriteFails(StoreRegion::Pages) => {
                (excuses.stop, excuses.own_data) = (true, true)
            }
            PlannedFault::WriteFails(_) => excuses.stop = true,
            PlannedFault::WriteAstray(_) | PlannedFault::WriteLost(StoreRegion::Log) => {
                (excuses.damage, excuses.astray) = (true, true);
            }
            // One of two that are written with each marker; one of two places, and the log has its own proof.
            PlannedFault::WriteLost(StoreRegion::Superblock | StoreRegion::Witness)
            | PlannedFault::Slow(_)
            | PlannedFault::Full(_) => {}
            PlannedFault::WriteLost(_) => excuses.damage = true,
            PlannedFault::Hang => excuses.hang = true,
            PlannedFault::ReadFails(times) => {
                excuses.passing = true;
                excuses.damage |= times.is_none();
            }
            PlannedFault::Rot(StoreRegion::Superblock | StoreRegion::Witness) => {}
            PlannedFault::Rot(_) => excuses.damage = true,
        }
    }

    /// Strikes, if the moment is right: before the request that waits is sent.
    pub(super) fn strike(self, host: &mut SimStore, layout: &Layout, rng: &mut Rng) -> bool {
        let Some(io) = host.next_request() else { return false };
        let (target, request) = (io.target, io.request);
        let place = StoreRegion::of_request(layout, target, &request);
        let range = request.offset..request.offset + request.length.get();
        if request.kind == RequestKind::Write && host.is_full(target) {
            // It will not be carried out, so nothing can go wrong with it.
            return false;
        }
        match (self, request.kind) {
            (PlannedFault::FlushFails, RequestKind::Flush) => {
                host.disks_mut().of(target).fail_flush(1)
            }
            (PlannedFault::WriteFails(wanted), RequestKind::Write) if wanted == place => {
                host.disks_mut().of(target).fail_write(1);
            }
            (PlannedFault::WriteAstray(wanted), RequestKind::Write) if wanted == place => {
                let disk = host.disks_mut().of(target);
                let sector = u64::from(disk.spec().sector);
                let room = (disk.spec().size.get() - request.length.get()) / sector;
                disk.misdirect_write(1, rng.below(room + 1) * sector);
            }
            (PlannedFault::WriteLost(wanted), RequestKind::Write) if wanted == place => {
                host.disks_mut().of(target).lose_write(1);
            }
            (PlannedFault::Slow(seconds), _) => {
                let until = host.now() + Span::from_secs(seconds);
                host.disks_mut().of(target).hold_until(until);
            }
            (PlannedFault::Full(milliseconds), RequestKind::Write) => {
                host.fill(target, host.now() + Span::from_millis(milliseconds));
            }
            (PlannedFault::Hang, _) => host.disks_mut().of(target).hang(),
            (PlannedFault::ReadFails(times), RequestKind::Read) => {
                let trouble = times.map_or(Trouble::Always, Trouble::Times);
                host.disks_mut().of(target).fail_reads(range, trouble);
            }
            (PlannedFault::Rot(place), _) => rot(host, place, layout, rng),
            _ => return false,
        }
        true
    }
}

/// Where the log that the next restart reads mostly lies, from its last checkpoint on.
const LIVE_LOG: u64 = 16 << 10;

/// Flips bits in one sector of a place; in the log, half of the time in what a restart reads.
pub(super) fn rot(host: &mut SimStore, place: StoreRegion, layout: &Layout, rng: &mut Rng) {
    let (target, range) = place.range(layout);
    let mut at = range.start + rng.below(range.end - range.start);
    if place == StoreRegion::Log && rng.one_in(2) {
        let from = host.store().superblock().completed.position.0 + rng.below(LIVE_LOG);
        at = layout.log_offset + from % layout.log_bytes;
    }
    host.disks_mut().of(target).rot(at..at + 1);
}
