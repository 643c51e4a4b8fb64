//! Each parser of disk bytes with what may come: nothing panics, and what is accepted means one thing. Shared with the
//! targets in `fuzz/`, so it holds no tests.

use loadline_store::paged::change::{Change, decode_all};
use loadline_store::paged::codec::Reader;
use loadline_store::paged::edit::PageEdit;
use loadline_store::paged::ids::{Child, Lsn, PageNo};
use loadline_store::paged::image::{ImageForm, Restorer};
use loadline_store::paged::image_set::{HEADER_BLOCK, ImageSetHeader, ImageSetReader};
use loadline_store::paged::log::{LogRing, RecordKind, Scan, ScanFound, witness};
use loadline_store::paged::node::{self, TreeNode};
use loadline_store::paged::page::{self, PageKind};
use loadline_store::paged::seed::Seed;
use loadline_store::paged::superblock::Superblock;

/// A log of four small segments, of store 77.
pub(crate) const RING: LogRing = LogRing {
    offset: 0,
    bytes: 256 << 10,
    segment: 64 << 10,
    block: 512,
    store_id: 77,
    seed: SEED,
    seeded_from: Lsn(0),
};

/// What that store's checksums begin with.
pub(crate) const SEED: Seed = Seed::of(77);

/// Bytes with a CRC-32C of everything from `from` on at `at`, so that a parser goes on behind its checksum.
fn with_crc(seed: Seed, bytes: &[u8], length: usize, at: usize, from: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(length, 0);
    let crc = seed.sum(&bytes[from..]);
    bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// A superblock, as it is and with a checksum that fits.
pub(crate) fn superblock(bytes: &[u8]) {
    let _ = Superblock::decode(bytes);
    if let Ok(read) = Superblock::decode(&with_crc(Seed::NONE, bytes, 4096, 8, 12)) {
        let layout = read.layout;
        assert!(layout.is_page(read.completed.root.page));
        assert!(layout.pages().end.0 <= layout.data_bytes / layout.page.bytes() as u64);
        assert_eq!(Superblock::decode(&read.encode()), Ok(read), "it means one thing");
    }
}

/// The log from its beginning, and what its records say.
pub(crate) fn log(bytes: &[u8], chain: u32) -> usize {
    let mut scan = Scan::new(RING, Lsn(0), chain);
    let mut records = 0;
    while let ScanFound::Record(record) = scan.next(Lsn(0), bytes) {
        assert!(record.position < record.end && record.end.0 <= RING.bytes);
        match record.kind {
            RecordKind::Transaction | RecordKind::Again => change(record.body),
            RecordKind::Edits => edits(record.body),
            RecordKind::Image => image(record.body),
            RecordKind::Pad | RecordKind::Segment | RecordKind::Instant | RecordKind::Durable => {}
        }
        records += 1;
    }
    records
}

/// One place of the log's witness, as it is and with a checksum that fits.
pub(crate) fn log_witness(bytes: &[u8]) {
    let _ = witness::decode(RING.store_id, bytes);
    let bytes = with_crc(SEED, bytes, 32, 0, 4);
    if let Some(says) = witness::decode(RING.store_id, &bytes) {
        assert_eq!(witness::encode(&RING, says)[..32], bytes, "it means one thing");
    }
}

/// A transaction's changes.
pub(crate) fn change(body: &[u8]) {
    let Some(changes) = decode_all(body) else { return };
    let mut again = Vec::new();
    changes.iter().for_each(|change: &Change<'_>| change.encode(&mut again));
    assert_eq!(decode_all(&again), Some(changes), "they mean one thing");
}

fn edits(body: &[u8]) {
    let mut reader = Reader::new(body);
    while let Some((_, (_, rest))) = reader.u64().zip(PageEdit::decode(reader.rest())) {
        reader = Reader::new(rest);
    }
}

fn image(body: &[u8]) {
    let mut reader = Reader::new(body);
    if let (Some(_), Some(form)) = (reader.u64(), reader.byte().and_then(ImageForm::from_byte)) {
        let _ = Restorer::new().restore(reader.rest(), form, &mut [0; 4096]);
    }
}

/// A page behind its checksum: a node that is accepted can be read, and edits that fit leave one that is accepted.
pub(crate) fn page(bytes: &[u8], mut edits: &[u8]) {
    let mut page = bytes.to_vec();
    page.resize(4096, 0);
    let _ = page::verify(&page, SEED, Child::of_any_version(PageNo(1)));
    let is_map = page::kind(&page) == Some(PageKind::FreeMap);
    if !is_map && node::check(&page).is_err() {
        return;
    }
    read(&page);
    while let Some((edit, rest)) = PageEdit::decode(edits) {
        if edit.fits(&page) {
            edit.apply(PageNo(1), &mut page);
            match page::kind(&page) {
                Some(PageKind::Leaf | PageKind::Inner) if !is_raw(&edit) => {
                    assert_eq!(node::check(&page), Ok(()), "{edit:?} leaves a sound node");
                }
                _ => return,
            }
        }
        edits = rest;
    }
    read(&page);
}

/// Whether an edit makes the page, or a part of it, something that is no node.
fn is_raw(edit: &PageEdit<'_>) -> bool {
    matches!(edit, PageEdit::InitRaw | PageEdit::Bytes { .. })
}

fn read(page: &[u8]) {
    let Some(node) = TreeNode::of(page) else { return };
    for at in 0..node.count() {
        assert_eq!(node.route(node.key(at)), at, "a key leads to its cell");
        if !node.is_leaf() {
            let _ = node.child(at);
        }
    }
}

/// The recovery area, fed in pieces of `piece` bytes.
pub(crate) fn images(bytes: &[u8], piece: usize) -> u64 {
    let (block, records) = bytes.split_at(bytes.len().min(HEADER_BLOCK));
    let Ok(header) = ImageSetHeader::decode(&with_crc(SEED, block, HEADER_BLOCK, 0, 4), SEED)
    else {
        return 0;
    };
    let mut reader = ImageSetReader::new(header);
    let mut restorer = Restorer::new();
    let mut page = vec![0; header.page_size.bytes()];
    let mut images = 0;
    for piece in records.chunks(piece.max(1)) {
        reader.feed(piece);
        loop {
            match reader.image() {
                Ok(Some(image)) => {
                    let _ = restorer.restore(image.data, image.form, &mut page);
                    images += 1;
                }
                Ok(None) => break,
                Err(_) => return images,
            }
        }
    }
    if reader.end().is_ok() {
        assert_eq!(images, header.sum.count, "a whole set is all there");
    }
    images
}
