//! What goes wrong during a life, when, and what it excuses.

use super::draw::Draw;
use super::ledger::Excuses;
use super::place::Place;
use crate::StoreHost;
use crate::disk::Trouble;
use loadline_base::Rng;
use loadline_device::Kind;
use loadline_store::paged::layout::Layout;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The next flush fails.
    FlushFails,
    /// The next write to this place fails.
    WriteFails(Place),
    /// The next write to this place stands elsewhere.
    WriteAstray(Place),
    /// What the next read asks for cannot be read, so often, or for good.
    ReadFails(Option<u32>),
    /// Bits flip in a sector of this place.
    Rot(Place),
}

/// A fault and the event from which on it waits for its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) from: u64,
    pub(super) fault: Fault,
}

impl Fault {
    /// Any of them. Written pages never go astray: an old tree page in the place of a new one is whole, and only a
    /// store whose pages hold their children's checksums could tell.
    pub(super) fn draw(rng: &mut Rng) -> Fault {
        let place = *rng.pick(&[
            Place::Superblock,
            Place::Log,
            Place::Log,
            Place::Images,
            Place::FreeMap,
            Place::Pages,
            Place::Pages,
        ]);
        match rng.below(10) {
            0 | 1 => Fault::FlushFails,
            2..=4 => Fault::WriteFails(place),
            5 => Fault::WriteAstray(*rng.pick(&[Place::Superblock, Place::Log, Place::Images])),
            6 => Fault::ReadFails(Some(rng.between(1, 3) as u32)),
            7 => Fault::ReadFails(None),
            _ => Fault::Rot(place),
        }
    }

    /// Whether the log may end early because of it. It also ends before a record whose own data, written beside the log and
    /// not yet noted as durable, is not what it should be: a restart cannot tell rot from data that never came.
    pub(super) fn damages_log(self) -> bool {
        matches!(self, Fault::WriteAstray(_) | Fault::Rot(Place::Log | Place::Pages))
    }

    /// What it excuses. A rotten superblock is one of four and excuses nothing.
    pub(super) fn excuses(self, excuses: &mut Excuses) {
        excuses.log |= self.damages_log();
        match self {
            Fault::FlushFails => excuses.stop = true,
            Fault::WriteFails(Place::Pages) => (excuses.stop, excuses.own_data) = (true, true),
            Fault::WriteFails(_) => excuses.stop = true,
            Fault::WriteAstray(_) => (excuses.damage, excuses.astray) = (true, true),
            Fault::ReadFails(times) => {
                excuses.passing = true;
                excuses.damage |= times.is_none();
            }
            Fault::Rot(Place::Superblock) => {}
            Fault::Rot(_) => excuses.damage = true,
        }
    }

    /// Strikes, if the moment is right: before the request that waits is sent.
    pub(super) fn strike(self, host: &mut StoreHost, layout: &Layout, rng: &mut Rng) -> bool {
        let Some(io) = host.next_request() else { return false };
        let (target, request) = (io.target, io.request);
        let place = Place::of_request(layout, target, &request);
        let range = request.offset..request.offset + request.length.get();
        match (self, request.kind) {
            (Fault::FlushFails, Kind::Flush) => host.disks().of(target).fail_flush(1),
            (Fault::WriteFails(wanted), Kind::Write) if wanted == place => {
                host.disks().of(target).fail_write(1);
            }
            (Fault::WriteAstray(wanted), Kind::Write) if wanted == place => {
                let disk = host.disks().of(target);
                let sector = u64::from(disk.spec().sector);
                let room = (disk.spec().size.get() - request.length.get()) / sector;
                disk.misdirect_write(1, rng.below(room + 1) * sector);
            }
            (Fault::ReadFails(times), Kind::Read) => {
                let trouble = times.map_or(Trouble::Always, Trouble::Times);
                host.disks().of(target).fail_reads(range, trouble);
            }
            (Fault::Rot(place), _) => rot(host, place, layout, rng),
            _ => return false,
        }
        true
    }
}

/// Flips bits in one sector of a place.
pub(super) fn rot(host: &mut StoreHost, place: Place, layout: &Layout, rng: &mut Rng) {
    let (target, range) = place.range(layout);
    let at = range.start + rng.below(range.end - range.start);
    host.disks().of(target).rot(at..at + 1);
}
