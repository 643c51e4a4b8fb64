//! The image set in the recovery area: an image of every page of one checkpoint, as of its instant.
//!
//! The area begins with a header block, which is written last; the records follow back to back.
//!
//! | offset in the header | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the store's id ([`Seed`]) and bytes 4..4096 |
//! | 4 | 4 | format version |
//! | 8 | 8 | `LOADLIMG` |
//! | 16 | 8 | checkpoint |
//! | 24 | 8 | number of images |
//! | 32 | 8 | bytes of all records |
//! | 40 | 4 | digest: CRC-32C over the CRCs of all records, in order |
//! | 44 | 4 | page size |
//! | 48 | | zero |
//!
//! | offset in a record | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the store's id and bytes 4..32 + length |
//! | 4 | 4 | length of the data |
//! | 8 | 8 | page number |
//! | 16 | 8 | checkpoint |
//! | 24 | 1 | form ([`image`](super::image)) |
//! | 25 | 1 | content: 0 a page with a header, 1 object data |
//! | 26 | 6 | zero |
//! | 32 | length | data |
//!
//! A record carries the checkpoint's number because the area is used again and again: where an earlier set was longer,
//! whole records of it stand behind the end of this one, and if a write was lost, in the middle. The digest stands in the
//! header and in the begin marker: a set that lacks a record, or has the right records of another attempt, is found out.
//! A whole set is applied or none of it (checkpoint.md 16.11), so a reader goes through it twice.

use super::codec::{u32_at, u64_at};
use super::ids::{CheckpointId, PageNo, PageSize};
use super::image::{Compressor, Content, ImageForm};
use super::seed::Seed;
use super::superblock::ImageSum;
use std::fmt;

/// Bytes of the header block.
pub const HEADER_BLOCK: usize = 4096;
/// Bytes of a record before its data.
pub const RECORD_HEADER: usize = 32;
/// First bytes of the header, behind checksum and version.
const MAGIC: [u8; 8] = *b"LOADLIMG";
/// Version of header and records.
const VERSION: u32 = 2;
/// The version before: checksums without a seed.
const VERSION_BEFORE: u32 = 1;

/// Why an image set cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSetFault {
    /// There is no whole header: no set was completed here.
    Missing,
    /// The set is of a newer format.
    Version(u32),
    /// The header is for pages of another size.
    PageSize(u32),
    /// The set, or one record of it, is of another checkpoint.
    WrongCheckpoint(CheckpointId),
    /// The header does not say what the begin marker says.
    WrongSum,
    /// Record number `index`, `offset` bytes behind the header, is not whole.
    Damaged {
        /// Counted from 0.
        index: u64,
        /// Bytes between the header and the record.
        offset: u64,
    },
    /// Each record is whole, but together they are not what the header says.
    WrongDigest,
    /// The records end before the set does.
    Short,
}

/// One image of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageImage<'a> {
    /// Where the page belongs.
    pub page: PageNo,
    /// What it holds.
    pub content: Content,
    /// How it is stored.
    pub form: ImageForm,
    /// The stored bytes.
    pub data: &'a [u8],
}

/// Writes a set: append each page's record, write what comes out behind the header block, then write the header.
pub struct ImageSetEncoder {
    seed: Seed,
    checkpoint: CheckpointId,
    page_size: PageSize,
    sum: ImageSum,
}

impl ImageSetEncoder {
    /// An empty set of `checkpoint`, in the store of this seed.
    pub fn new(seed: Seed, checkpoint: CheckpointId, page_size: PageSize) -> ImageSetEncoder {
        ImageSetEncoder { seed, checkpoint, page_size, sum: ImageSum::default() }
    }

    /// Appends the record of a page to `out`.
    pub fn append(
        &mut self,
        number: PageNo,
        content: Content,
        page: &[u8],
        compressor: &mut Compressor,
        out: &mut Vec<u8>,
    ) {
        assert_eq!(page.len(), self.page_size.bytes(), "an image is of one page");
        let start = out.len();
        out.resize(start + RECORD_HEADER, 0);
        let form = compressor.compress(page, content, out);
        let record = &mut out[start..];
        let length = (record.len() - RECORD_HEADER) as u32;
        record[4..8].copy_from_slice(&length.to_le_bytes());
        record[8..16].copy_from_slice(&number.0.to_le_bytes());
        record[16..24].copy_from_slice(&self.checkpoint.0.to_le_bytes());
        record[24] = form.byte();
        record[25] = u8::from(content == Content::Data);
        let crc = self.seed.sum(&record[4..]);
        record[..4].copy_from_slice(&crc.to_le_bytes());
        self.sum = with_record(self.sum, crc, record.len());
    }

    /// Count, bytes and digest of what was appended.
    pub fn sum(&self) -> ImageSum {
        self.sum
    }

    /// The header block, to be written when all records are durable.
    pub fn header(&self) -> [u8; HEADER_BLOCK] {
        let mut block = [0; HEADER_BLOCK];
        block[4..8].copy_from_slice(&VERSION.to_le_bytes());
        block[8..16].copy_from_slice(&MAGIC);
        block[16..24].copy_from_slice(&self.checkpoint.0.to_le_bytes());
        block[24..32].copy_from_slice(&self.sum.count.to_le_bytes());
        block[32..40].copy_from_slice(&self.sum.bytes.to_le_bytes());
        block[40..44].copy_from_slice(&self.sum.digest.to_le_bytes());
        block[44..48].copy_from_slice(&(self.page_size.bytes() as u32).to_le_bytes());
        let crc = self.seed.sum(&block[4..]);
        block[..4].copy_from_slice(&crc.to_le_bytes());
        block
    }
}

/// The sum with one more record.
fn with_record(sum: ImageSum, crc: u32, length: usize) -> ImageSum {
    ImageSum {
        count: sum.count + 1,
        bytes: sum.bytes + length as u64,
        digest: crc32c::crc32c_append(sum.digest, &crc.to_le_bytes()),
    }
}

/// What a header block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSetHeader {
    /// Whose pages they are.
    pub checkpoint: CheckpointId,
    /// Size of the pages.
    pub page_size: PageSize,
    /// Count, bytes and digest of the records.
    pub sum: ImageSum,
    /// What the checksums of header and records begin with.
    pub seed: Seed,
}

impl ImageSetHeader {
    /// Reads the header block at the beginning of `block`, in the store of this seed.
    pub fn decode(block: &[u8], seed: Seed) -> Result<ImageSetHeader, ImageSetFault> {
        let block = block.get(..HEADER_BLOCK).ok_or(ImageSetFault::Missing)?;
        let version = u32_at(block, 4);
        let seed = if version == VERSION_BEFORE { Seed::NONE } else { seed };
        if u32_at(block, 0) != seed.sum(&block[4..]) || block[8..16] != MAGIC {
            return Err(ImageSetFault::Missing);
        }
        if !(VERSION_BEFORE..=VERSION).contains(&version) {
            return Err(ImageSetFault::Version(version));
        }
        let page_size = PageSize::new(u32_at(block, 44));
        Ok(ImageSetHeader {
            checkpoint: CheckpointId(u64_at(block, 16)),
            page_size: page_size.ok_or(ImageSetFault::PageSize(u32_at(block, 44)))?,
            sum: ImageSum {
                count: u64_at(block, 24),
                bytes: u64_at(block, 32),
                digest: u32_at(block, 40),
            },
            seed,
        })
    }

    /// Whether this is the set of which the begin marker speaks.
    pub fn expect(
        &self,
        seed: Seed,
        checkpoint: CheckpointId,
        page_size: PageSize,
        sum: ImageSum,
    ) -> Result<(), ImageSetFault> {
        if self.seed != seed {
            // Of another format than the begin marker: nothing that this checkpoint wrote.
            Err(ImageSetFault::Missing)
        } else if self.checkpoint != checkpoint {
            Err(ImageSetFault::WrongCheckpoint(self.checkpoint))
        } else if self.page_size != page_size {
            Err(ImageSetFault::PageSize(self.page_size.bytes() as u32))
        } else if self.sum != sum {
            Err(ImageSetFault::WrongSum)
        } else {
            Ok(())
        }
    }
}

/// Reads the records of a set from chunks of any length, given in order. It holds at most one chunk and one record.
pub struct ImageSetReader {
    header: ImageSetHeader,
    buffer: Vec<u8>,
    /// How much of the buffer has been handed out.
    taken: usize,
    /// What has been handed out so far.
    seen: ImageSum,
    /// Bytes that were fed and belong to the set.
    fed: u64,
}

impl ImageSetReader {
    /// A reader of the records behind `header`.
    pub fn new(header: ImageSetHeader) -> ImageSetReader {
        ImageSetReader { header, buffer: Vec::new(), taken: 0, seen: ImageSum::default(), fed: 0 }
    }

    /// Takes the next bytes behind the header. What lies behind the set's end is left alone.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let rest = self.header.sum.bytes - self.fed;
        let length = (chunk.len() as u64).min(rest) as usize;
        self.buffer.extend_from_slice(&chunk[..length]);
        self.fed += length as u64;
    }

    /// The next image, or none if it needs more bytes than were fed.
    pub fn image(&mut self) -> Result<Option<PageImage<'_>>, ImageSetFault> {
        let damaged = ImageSetFault::Damaged { index: self.seen.count, offset: self.seen.bytes };
        let bytes = &self.buffer[self.taken..];
        if bytes.len() < RECORD_HEADER {
            return self.none_yet(damaged);
        }
        let length = u32_at(bytes, 4) as usize;
        if length > self.header.page_size.bytes() {
            return Err(damaged);
        }
        let Some(record) = bytes.get(..RECORD_HEADER + length) else {
            return self.none_yet(damaged);
        };
        let crc = self.header.seed.sum(&record[4..]);
        if u32_at(record, 0) != crc {
            return Err(damaged);
        }
        let checkpoint = CheckpointId(u64_at(record, 16));
        if checkpoint != self.header.checkpoint {
            return Err(ImageSetFault::WrongCheckpoint(checkpoint));
        }
        let form = ImageForm::from_byte(record[24]).ok_or(damaged)?;
        let content = if record[25] == 0 { Content::Headed } else { Content::Data };
        self.taken += record.len();
        self.seen = with_record(self.seen, crc, record.len());
        let data = &record[RECORD_HEADER..];
        Ok(Some(PageImage { page: PageNo(u64_at(record, 8)), content, form, data }))
    }

    /// No image: more bytes may bring it, unless the set has no more.
    fn none_yet(&self, damaged: ImageSetFault) -> Result<Option<PageImage<'_>>, ImageSetFault> {
        let left_over = self.buffer.len() > self.taken;
        if left_over && self.fed == self.header.sum.bytes { Err(damaged) } else { Ok(None) }
    }

    /// How many bytes behind the header were fed.
    pub fn fed(&self) -> u64 {
        self.fed
    }

    /// Whether all bytes of the set were fed.
    pub fn is_fed(&self) -> bool {
        self.fed == self.header.sum.bytes
    }

    /// Whether everything that the header promises has been handed out.
    pub fn end(&self) -> Result<(), ImageSetFault> {
        if self.seen.bytes < self.header.sum.bytes {
            Err(ImageSetFault::Short)
        } else if self.seen != self.header.sum {
            Err(ImageSetFault::WrongDigest)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for ImageSetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageSetFault::Missing => f.write_str("there is no whole image set"),
            ImageSetFault::Version(version) => {
                write!(f, "the image set has format version {version}")
            }
            ImageSetFault::PageSize(bytes) => {
                write!(f, "the image set is of pages of {bytes} bytes")
            }
            ImageSetFault::WrongCheckpoint(id) => write!(f, "an image is of {id}"),
            ImageSetFault::WrongSum => {
                f.write_str("the image set is not the one that the begin marker names")
            }
            ImageSetFault::Damaged { index, offset } => {
                write!(f, "image {index}, {offset} bytes into the set, is damaged")
            }
            ImageSetFault::WrongDigest => {
                f.write_str("the image set's digest does not fit its images")
            }
            ImageSetFault::Short => f.write_str("the image set ends too early"),
        }
    }
}

impl std::error::Error for ImageSetFault {}

#[cfg(test)]
mod tests;
