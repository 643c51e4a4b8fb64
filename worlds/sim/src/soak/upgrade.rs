//! Stores of disk format 1, which become stores of format 2 as they are opened, with crashes on the way. Whatever happens, they hold
//! what they held.
//!
//! The four images are devices of 1 MiB, packed, as the last program that knew no other format left them:
//! `core/store/tests/format/upgrade.rs` says what is in them and proves that.

use super::check::findings;
use super::draw::Draw;
use super::ledger::Ledger;
use super::life::{Life, LifeEvent};
use super::outcome::SoakFailure;
use super::scenario::Scenario;
use crate::StoreDisks;
use crate::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_base::{Bytes, Rng, Span};
use loadline_store::paged::{
    Answer, Ask, Edit, LogMode, ObjectDigest, Options, Protection, ScanBounds,
};
use loadline_store::{CollectionId, ObjectMeta, ObjectNo};

const IMAGES: [&[u8]; 4] = [
    include_bytes!("../../../../core/store/tests/format/format-1/log-idle.zst"),
    include_bytes!("../../../../core/store/tests/format/format-1/log-begun.zst"),
    include_bytes!("../../../../core/store/tests/format/format-1/checkpoint-idle.zst"),
    include_bytes!("../../../../core/store/tests/format/format-1/checkpoint-begun.zst"),
];
/// Bytes of each.
const SIZE: u64 = 1 << 20;
/// Where their objects are.
const COLLECTION: CollectionId = CollectionId::new(3);
/// Memory of their stores.
const CACHE: Bytes = Bytes::from_kib(512);
/// Events of an upgrade and some more.
const EVENTS: u64 = 400;

/// Everything that such a store holds.
#[derive(Debug, PartialEq)]
struct UpgradeContents {
    keys: Vec<(Vec<u8>, Vec<u8>)>,
    objects: Vec<(loadline_store::paged::ObjectId, ObjectMeta, Option<ObjectDigest>)>,
}

/// Opens one of the stores, crashes as it becomes another and goes on, and looks whether everything is there. The canary is
/// `careless`: no flush is carried out.
pub(super) fn carry_out((draws, careless): (u64, bool)) -> Result<(), SoakFailure> {
    let mut rng = Rng::new(draws);
    let packed = IMAGES[rng.below(IMAGES.len() as u64) as usize];
    let image = zstd::bulk::decompress(packed, SIZE as usize).expect("it was packed");
    let spec = SimDiskSpec {
        size: Bytes::new(SIZE),
        sector: 512,
        write_cache: careless || !rng.one_in(4),
        timing: Timing { flush: Span::from_micros(rng.below(500)), ..Timing::FREE },
    };
    let disk = |seed| StoreDisks { data: SimDisk::from_image(spec, &image, seed), log: None };
    let options = |rng: &mut Rng| Options {
        cache: CACHE,
        log_mode: *rng.pick(&LogMode::ALL),
        protection: *rng.pick(&[Protection::Log, Protection::Checkpoint]),
        ..Options::default()
    };
    let scenario = Scenario::small(draws, false);
    let (truth, _) = look(&scenario, Options { cache: CACHE, ..Options::default() }, disk(1))?;
    let mut disks = disk(draws);
    for _ in 0..rng.between(1, 4) {
        let mut ledger = Ledger::new(0);
        let life_rng = Rng::new(rng.next_u64());
        let mut life = Life::open(&scenario, options(&mut rng), disks, &mut ledger, life_rng)
            .with_lies(careless.then_some(1));
        let crash_at = rng.below(EVENTS);
        let mut left = rng.below(3);
        while life.events < crash_at {
            if let Some(fault) = life.fault() {
                return Err(SoakFailure::Stopped(fault));
            }
            if life.host.store().is_open() && left > 0 {
                left -= 1;
                let value = vec![left as u8; 90];
                let edit = Edit::Put { key: b"key 0000 later".to_vec(), value };
                life.ask_unheard(Ask::Transaction(vec![edit]));
                life.ask_unheard(Ask::Checkpoint);
            }
            if life.advance()? == LifeEvent::Nothing {
                break;
            }
        }
        disks = life.host.into_disks();
        match rng.below(4) {
            0 => disks.data.kill(&mut rng),
            1 => disks.data.power_cut(CutStyle::Torn, &mut rng),
            2 => disks.data.power_cut(CutStyle::AllLost, &mut rng),
            _ => disks.data.power_cut(CutStyle::Random, &mut rng),
        }
        if let Some(text) = findings(&disks) {
            return Err(SoakFailure::Check(text));
        }
    }
    let (mut held, disks) = look(&scenario, options(&mut rng), disks)?;
    held.keys.retain(|(key, _)| key != b"key 0000 later");
    if held != truth {
        return Err(SoakFailure::Answer("a store of format 1 lost what it held".to_owned()));
    }
    findings(&disks).map_or(Ok(()), |text| Err(SoakFailure::Check(text)))
}

/// Opens a store and reads everything.
fn look(
    scenario: &Scenario,
    options: Options,
    disks: StoreDisks,
) -> Result<(UpgradeContents, StoreDisks), SoakFailure> {
    let mut ledger = Ledger::new(0);
    let mut life = Life::open(scenario, options, disks, &mut ledger, Rng::new(1));
    while !life.host.store().is_open() {
        if let Some(fault) = life.fault() {
            return Err(SoakFailure::Stopped(fault));
        }
        if life.advance()? == LifeEvent::Nothing {
            return Err(life.stuck());
        }
    }
    let keys = match life.ask(Ask::Scan { from: Vec::new(), most: ScanBounds::keys(1000) })? {
        Ok(Answer::Pairs(pairs)) => pairs,
        other => return Err(SoakFailure::Answer(format!("a scan gave {other:?}"))),
    };
    let list = Ask::List { collection: COLLECTION, from: ObjectNo(0), most: 1000 };
    let listed = match life.ask(list)? {
        Ok(Answer::Objects(listed)) => listed,
        other => return Err(SoakFailure::Answer(format!("a list gave {other:?}"))),
    };
    let mut objects = Vec::new();
    for (id, meta) in listed {
        match life.ask(Ask::Digest(id))? {
            Ok(Answer::Digest(digest)) => objects.push((id, meta, digest)),
            other => return Err(SoakFailure::Answer(format!("a digest gave {other:?}"))),
        }
    }
    if keys.len() < 50 || objects.len() < 4 {
        return Err(SoakFailure::Answer(format!("{} keys, {} objects", keys.len(), objects.len())));
    }
    Ok((UpgradeContents { keys, objects }, life.host.into_disks()))
}
