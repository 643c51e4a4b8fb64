//! A given store lives on for a while in memory, so that something is known that it wrote and may lose.

use super::judge::Sound;
use super::reader::{ReadStop, StoreFindings, StoreReader};
use crate::StoreDisks;
use crate::disk::CutStyle;
use loadline_base::Rng;
use loadline_store::Version;
use loadline_store::paged::{Ask, Edit, ObjectId, Options, Payload};

/// Transactions of that life.
const TRANSACTIONS: u64 = 400;
/// One in so many is followed by a checkpoint.
const CHECKPOINT: u64 = 100;
/// Bytes of a value that is written over another at most, and of a write to an object.
const VALUE_MAX: u64 = 200;
const WRITE_MAX: u64 = 16 << 10;

/// Writes over much that the store holds, takes checkpoints in between and a sync at the end, and dies.
pub(super) fn live_on(
    disks: StoreDisks,
    options: Options,
    truth: &StoreFindings,
) -> Result<Sound, ReadStop> {
    let mut disks = disks;
    disks.data.note_writes();
    let mut rng = Rng::new(7);
    let mut reader = StoreReader::open(disks, options, u64::MAX)?;
    for number in 1..=TRANSACTIONS {
        let edit = match draw(truth, number, &mut rng) {
            Some(edit) => edit,
            None => break,
        };
        // One that finds no room changes nothing.
        let _ = reader.ask(Ask::Transaction(vec![edit]))?;
        if number.is_multiple_of(CHECKPOINT) {
            let _ = reader.ask(Ask::Checkpoint)?;
        }
    }
    let _ = reader.ask(Ask::Sync)?;
    let mut disks = reader.into_disks();
    let written = disks.data.take_written();
    settle(&mut disks, 7);
    Ok(Sound::new(disks, options, written).map_err(ReadStop::Answer)?.all_promised())
}

/// The process dies, and everything that its disks have answered is durable.
pub(super) fn settle(disks: &mut StoreDisks, seed: u64) {
    let StoreDisks { data, log } = disks;
    for disk in std::iter::once(data).chain(log) {
        let mut rng = Rng::new(seed);
        disk.kill(&mut rng);
        disk.power_cut(CutStyle::AllKept, &mut rng);
    }
}

fn draw(truth: &StoreFindings, number: u64, rng: &mut Rng) -> Option<Edit> {
    let (keys, objects) = truth.count();
    let all = (keys + objects) as u64;
    let at = (all > 0).then(|| rng.below(all))? as usize;
    let bytes = |rng: &mut Rng, most| Payload::Pattern {
        seed: rng.next_u64(),
        offset: 0,
        length: 1 + rng.below(most),
    };
    if at < keys {
        let key = truth.key(at).to_vec();
        return Some(Edit::Put { key, value: bytes(rng, VALUE_MAX).into_bytes() });
    }
    let (object, length): (ObjectId, u64) = truth.object(at - keys);
    let offset = rng.below(length.max(1));
    Some(Edit::Write {
        object,
        offset,
        data: bytes(rng, WRITE_MAX),
        version: Version(u64::MAX / 2 + number),
    })
}
