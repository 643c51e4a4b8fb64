//! A smoke run of the fuzz targets: valid bytes, spoiled in a few places.

use super::feed;
use super::sample::{Disks, Sample};
use loadline_base::Rng;
use loadline_store::paged::edit::PageEdit;
use loadline_store::paged::ids::{CheckpointId, Lsn, PageNo, PageSize};
use loadline_store::paged::image::{Compression, Compressor, Content};
use loadline_store::paged::image_set::ImageSetEncoder;
use loadline_store::paged::log::{Log, RecordKind, witness};
use loadline_store::paged::page::{self, PageKind};
use loadline_store::paged::{Ask, Protection};

/// Numbers at which something may happen.
const EDGES: [u64; 8] = [0, 1, 0x7f, 0x80, 0xffff, 0xffff_ffff, 1 << 63, u64::MAX];

/// The bytes with a few changes: a bit, an edge of some width, a piece copied elsewhere, the end cut off.
fn spoiled(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(8) {
            0..=2 => bytes[at] ^= 1 << rng.below(8),
            3..=5 => {
                let edge = EDGES[rng.below(8) as usize].to_le_bytes();
                let width = (1 << rng.below(4)).min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
            6 => {
                let length = 1 + rng.below((bytes.len() - at).min(64) as u64) as usize;
                let to = rng.below((bytes.len() - length + 1) as u64) as usize;
                bytes.copy_within(at..at + length, to);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

/// Feeds the bytes, then many spoiled versions of them.
fn check(rounds: u64, valid: &[u8], feed: impl Fn(&[u8])) {
    feed(valid);
    let mut rng = Rng::new(valid.len() as u64);
    for _ in 0..rounds {
        feed(&spoiled(valid, &mut rng));
    }
}

#[test]
fn superblocks() {
    let begun =
        Sample::open(Disks::formatted(Protection::Checkpoint, false), Protection::Checkpoint);
    let begun = begun.with_a_key().crash_in_checkpoint();
    let slot = (0..2).map(|slot| &begun.data[slot * 4096..][..248]).find(|slot| slot[168] == 1);
    check(20_000, slot.expect("a checkpoint has begun"), feed::superblock);
}

/// A log with a record of each kind.
fn log_bytes() -> Vec<u8> {
    let mut sample = Sample::open(Disks::formatted(Protection::Log, true), Protection::Log);
    let mut rng = Rng::new(4);
    sample.fill(&mut rng);
    sample.ask(Ask::Checkpoint);
    let log = sample.disks.log.expect("it has one");
    log[4096..][..feed::RING.bytes as usize].to_vec()
}

#[test]
fn logs() {
    let (bytes, chain) = (log_bytes(), crc32c::crc32c(&77_u64.to_le_bytes()));
    assert!(feed::log(&bytes, chain) > 50, "there is a log to spoil");
    check(300, &bytes[..4096], |bytes| {
        feed::log(bytes, chain);
    });
}

#[test]
fn log_witnesses() {
    let valid = &witness::encode(&feed::RING, Lsn(777))[..32];
    check(20_000, valid, feed::log_witness);
}

/// Records whose checksums fit, so that their bodies are looked at.
#[test]
fn bodies_of_records() {
    let (bytes, mut rng) = (log_bytes(), Rng::new(8));
    for at in 0..200_u64 {
        let mut log = Log::resume(feed::RING, Lsn(0), Lsn(0), 1, Vec::new());
        let from = rng.below(20_000) as usize;
        let body = spoiled(&bytes[from..][..1 + rng.below(300) as usize], &mut rng);
        let kind = RecordKind::from_u8(3 + (at % 3) as u8).expect("a kind with a body");
        log.append(kind, &body);
        let write = log.next_last_write().expect("something was appended");
        assert_eq!(feed::log(&write.data, 1), 2, "the segment's record and this one");
    }
}

#[test]
fn changes() {
    let mut body = Vec::new();
    let bytes = log_bytes();
    let mut scan = loadline_store::paged::log::Scan::new(
        feed::RING,
        Lsn(0),
        crc32c::crc32c(&77_u64.to_le_bytes()),
    );
    while let loadline_store::paged::log::ScanFound::Record(record) = scan.next(Lsn(0), &bytes) {
        if record.kind == RecordKind::Transaction && record.body.len() < 400 {
            body.extend_from_slice(record.body);
        }
    }
    assert!(body.len() > 1000, "there are changes to spoil");
    check(5_000, &body, feed::change);
}

#[test]
fn pages() {
    let mut edits = Vec::new();
    for at in 0..6 {
        PageEdit::Insert { at, key: &[at as u8 * 3, 7], value: &[1; 40] }.encode(&mut edits);
    }
    PageEdit::Replace { at: 2, value: &[2; 90] }.encode(&mut edits);
    PageEdit::Patch { at: 1, offset: 3, bytes: &[9; 8] }.encode(&mut edits);
    PageEdit::Remove { at: 0 }.encode(&mut edits);
    PageEdit::Truncate { from: 3 }.encode(&mut edits);
    let mut leaf = vec![0; 4096];
    page::init(&mut leaf, PageKind::Leaf, PageNo(1));
    check(5_000, &edits, |edits| feed::page(&leaf, edits));
    let mut full = leaf.clone();
    for at in 0..20_u8 {
        let (key, value) = ([b'k', at, 1], [at; 30]);
        PageEdit::Insert { at: at.into(), key: &key, value: &value }.apply(PageNo(1), &mut full);
    }
    check(20_000, &full, |page| feed::page(page, &edits));
}

#[test]
fn image_sets() {
    let mut encoder = ImageSetEncoder::new(feed::SEED, CheckpointId(3), PageSize::DEFAULT);
    let mut records = Vec::new();
    for (number, compression) in
        [Compression::None, Compression::Snappy, Compression::Lz4, Compression::Zstd(3)]
            .into_iter()
            .enumerate()
    {
        let mut leaf = vec![0; 4096];
        page::init(&mut leaf, PageKind::Leaf, PageNo(number as u64));
        let edit = PageEdit::Insert { at: 0, key: b"key", value: &[5; 500] };
        edit.apply(PageNo(number as u64), &mut leaf);
        let mut compressor = Compressor::new(compression);
        let number = PageNo(number as u64);
        encoder.append(number, Content::Headed, &leaf, &mut compressor, &mut records);
    }
    let mut set = encoder.header().to_vec();
    set.extend_from_slice(&records);
    assert_eq!(feed::images(&set, 100), 4, "the set is whole before it is spoiled");
    let mut rng = Rng::new(1);
    for _ in 0..3_000 {
        let (mut bytes, piece) = (set.clone(), 1 + rng.below(5_000) as usize);
        match rng.below(3) {
            // The header's few fields, or any record.
            0 => bytes[..48].copy_from_slice(&pad(spoiled(&set[..48], &mut rng))),
            _ => bytes = [&set[..4096], &spoiled(&records, &mut rng)].concat(),
        }
        feed::images(&bytes, piece);
    }
}

fn pad(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(48, 0);
    bytes
}
