//! Whole sets are read whole; anything else is found out.

use super::*;
use crate::paged::image::{Compression, Restorer};

const CHECKPOINT: CheckpointId = CheckpointId(41);
const SEED: Seed = Seed::of(9);

fn size() -> PageSize {
    PageSize::new(1024).expect("1 KiB is allowed")
}

fn page(number: u64) -> Vec<u8> {
    (0..1024u64).map(|at| (number * 7 + at / (number + 1)) as u8).collect()
}

/// Header block and records of a set with these pages.
fn set(checkpoint: CheckpointId, pages: &[u64]) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = ImageSetEncoder::new(SEED, checkpoint, size());
    let mut compressor = Compressor::new(Compression::Snappy);
    let mut records = Vec::new();
    for &number in pages {
        let bytes = page(number);
        encoder.append(PageNo(number), Content::Data, &bytes, &mut compressor, &mut records);
    }
    assert_eq!(encoder.sum().bytes, records.len() as u64);
    (encoder.header().to_vec(), records)
}

/// The pages of a set that is fed in chunks of this length.
fn read(header: &[u8], records: &[u8], chunk: usize) -> Result<Vec<u64>, ImageSetFault> {
    let header = ImageSetHeader::decode(header, SEED)?;
    header.expect(SEED, CHECKPOINT, size(), header.sum)?;
    let mut reader = ImageSetReader::new(header);
    let mut restorer = Restorer::new();
    let mut pages = Vec::new();
    for chunk in records.chunks(chunk) {
        reader.feed(chunk);
        while let Some(image) = reader.image()? {
            let mut bytes = vec![0; 1024];
            restorer.restore(image.data, image.form, &mut bytes).expect("the record is whole");
            assert_eq!((bytes, image.content), (page(image.page.0), Content::Data));
            pages.push(image.page.0);
        }
    }
    reader.end().map(|()| pages)
}

#[test]
fn a_set_comes_back_whatever_the_chunks_and_whatever_lies_behind_it() {
    let pages = [3, 4, 1000, 1 << 40];
    let (header, mut records) = set(CHECKPOINT, &pages);
    records.extend_from_slice(&set(CheckpointId(40), &[5, 6]).1);
    for chunk in [1, 31, 512, 1 << 20] {
        assert_eq!(read(&header, &records, chunk), Ok(pages.to_vec()), "chunks of {chunk}");
    }
    let (header, records) = set(CHECKPOINT, &[]);
    assert_eq!(read(&header, &records, 512), Ok(vec![]));
}

#[test]
fn every_damaged_byte_is_found() {
    let (header, records) = set(CHECKPOINT, &[3, 4, 5]);
    for at in 0..header.len() {
        let mut header = header.clone();
        header[at] ^= 0x40;
        assert_eq!(read(&header, &records, 512), Err(ImageSetFault::Missing), "header byte {at}");
    }
    let second = RECORD_HEADER + u32_at(&records, 4) as usize;
    for at in 0..records.len() {
        let mut records = records.clone();
        records[at] ^= 0x40;
        let fault = read(&header, &records, 512).expect_err("one byte is wrong");
        let ImageSetFault::Damaged { index, offset } = fault else { panic!("byte {at}: {fault}") };
        assert!(if at < second {
            index == 0 && offset == 0
        } else {
            index > 0 && offset >= second as u64
        });
    }
}

#[test]
fn a_set_that_ends_early_is_short_wherever_it_ends() {
    let (header, records) = set(CHECKPOINT, &[3, 4]);
    for length in 0..records.len() {
        assert_eq!(read(&header, &records[..length], 512), Err(ImageSetFault::Short), "{length}");
    }
}

#[test]
fn sets_and_records_of_others_are_refused() {
    let (header, records) = set(CHECKPOINT, &[3, 4]);
    let (other_header, others) = set(CheckpointId(40), &[3, 4]);
    let check =
        |header: &[u8], records: &[u8], fault| assert_eq!(read(header, records, 512), Err(fault));
    check(&other_header, &others, ImageSetFault::WrongCheckpoint(CheckpointId(40)));
    check(&header, &others, ImageSetFault::WrongCheckpoint(CheckpointId(40)));
    // The right records in the wrong order, as if two writes had been exchanged.
    let second = RECORD_HEADER + u32_at(&records, 4) as usize;
    let swapped = [&records[second..], &records[..second]].concat();
    check(&header, &swapped, ImageSetFault::WrongDigest);
    let said = ImageSetHeader::decode(&header, SEED).expect("it is whole");
    let other_sum = ImageSum { count: 3, ..said.sum };
    assert_eq!(said.expect(SEED, CHECKPOINT, size(), other_sum), Err(ImageSetFault::WrongSum));
    assert_eq!(
        said.expect(SEED, CHECKPOINT, PageSize::DEFAULT, said.sum),
        Err(ImageSetFault::PageSize(1024))
    );
    check(&[0; HEADER_BLOCK], &records, ImageSetFault::Missing);
    // Another store's, whole in its own eyes.
    assert_eq!(ImageSetHeader::decode(&header, Seed::of(8)), Err(ImageSetFault::Missing));
    assert_eq!(
        said.expect(Seed::NONE, CHECKPOINT, size(), said.sum),
        Err(ImageSetFault::Missing),
        "a begin marker of format 1 means a set of format 1"
    );
}
