//! virtio-blk: what stands in a request queue, and what the device says of itself.
//!
//! A request is a head of 16 bytes, what it brings, room for what it is answered with, and one byte for its status. Everything
//! in it is a guest's word: [`BlkCommand::read`] makes of it what the disk is to do, inside the disk, or the status that it ends with.

/// Bytes of a request before what it brings: type, priority (both 32 bits), sector.
pub const BLK_HEADER_BYTES: usize = 16;

/// Bytes of one range of a discard: sector, sectors (32 bits), flags (32 bits).
pub const BLK_RANGE_BYTES: usize = 16;

/// What virtio counts a disk in, whatever its blocks are.
const SECTOR_BYTES: u64 = 512;

/// What a guest reads of the configuration at most (VHOST_USER_MAX_CONFIG_SIZE); behind what is known there are zeros.
const CONFIG_BYTES: usize = 256;

/// Bytes of an identification.
const ID_BYTES: usize = 20;

/// A discard's ranges at most.
const RANGES_MAX: usize = 16;

/// Sectors of a range that is discarded or zeroed at most: 64 MiB. A range may stand in a list as often as fits, and be as many objects
/// as it has blocks of them, so that this bounds what one request costs.
const RANGE_SECTORS_MAX: u32 = 128 << 10;

/// What one request may discard or zero at most, all its ranges together.
pub const BLK_ZERO_BYTES_MAX: u64 = RANGES_MAX as u64 * RANGE_SECTORS_MAX as u64 * SECTOR_BYTES;

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkHeader {
    /// What is wanted.
    kind: u32,
    /// Where.
    sector: u64,
}

mod kind {
    pub(super) const IN: u32 = 0;
    pub(super) const OUT: u32 = 1;
    pub(super) const FLUSH: u32 = 4;
    pub(super) const GET_ID: u32 = 8;
    pub(super) const DISCARD: u32 = 11;
    pub(super) const WRITE_ZEROES: u32 = 13;
}

/// A range of a discard, or of zeros to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkRange {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// How many bytes a request has for each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkShape {
    /// What it brings behind its head.
    pub brings: u64,
    /// Room for what it is answered with, before its status.
    pub room: u64,
}

/// The disk that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkDisk {
    /// Bytes that can be addressed.
    pub bytes: u64,
    /// Whether it is not to be written.
    pub read_only: bool,
    /// Bytes of one read or write at most.
    pub transfer_max: u64,
}

/// What the disk is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlkCommand {
    /// Read.
    Read(BlkRange),
    /// Write what the request brings.
    Write(BlkRange),
    /// Make everything durable that was answered.
    Flush,
    /// Say what it is called.
    Id,
    /// Hold zeros there from now on, and nothing where nothing does as well.
    Zero(Vec<BlkRange>),
}

/// How a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlkStatus {
    /// Well.
    Done = 0,
    /// It could not be carried out.
    Failed = 1,
    /// The device does not know it.
    Unsupported = 2,
}

impl BlkHeader {
    /// Reads one.
    pub fn decode(bytes: &[u8; BLK_HEADER_BYTES]) -> BlkHeader {
        let kind = u32::from_le_bytes(*bytes.first_chunk().expect("a head has 16 bytes"));
        let sector = u64::from_le_bytes(*bytes.last_chunk().expect("a head has 16 bytes"));
        BlkHeader { kind, sector }
    }

    /// How many bytes of what it brings say where, so that they have to be read before it is understood; more is too much.
    pub fn range_bytes(&self, brings: u64) -> usize {
        let is_of_ranges = matches!(self.kind, kind::DISCARD | kind::WRITE_ZEROES);
        let most = RANGES_MAX * BLK_RANGE_BYTES;
        if is_of_ranges { usize::try_from(brings).unwrap_or(most).min(most) } else { 0 }
    }
}

impl BlkCommand {
    /// What a request of this head and shape wants, whose ranges are `ranges` ([`BlkHeader::range_bytes`]).
    ///
    /// # Errors
    /// The status that it ends with.
    pub fn read(
        header: BlkHeader,
        shape: BlkShape,
        ranges: &[u8],
        disk: &BlkDisk,
    ) -> Result<BlkCommand, BlkStatus> {
        match header.kind {
            kind::IN => transfer(header.sector, shape.room, disk).map(BlkCommand::Read),
            kind::OUT if disk.read_only => Err(BlkStatus::Failed),
            kind::OUT => transfer(header.sector, shape.brings, disk).map(BlkCommand::Write),
            kind::FLUSH => Ok(BlkCommand::Flush),
            kind::GET_ID if shape.room < ID_BYTES as u64 => Err(BlkStatus::Failed),
            kind::GET_ID => Ok(BlkCommand::Id),
            kind::DISCARD | kind::WRITE_ZEROES if disk.read_only => Err(BlkStatus::Failed),
            kind::DISCARD => zeros(ranges, shape.brings, 0, disk),
            // Where the blocks may be given back they are, and hold zeros as well.
            kind::WRITE_ZEROES => zeros(ranges, shape.brings, 1, disk),
            _ => Err(BlkStatus::Unsupported),
        }
    }
}

fn transfer(sector: u64, bytes: u64, disk: &BlkDisk) -> Result<BlkRange, BlkStatus> {
    let range = inside(sector, bytes, disk)?;
    let is_whole = bytes.is_multiple_of(SECTOR_BYTES) && bytes > 0 && bytes <= disk.transfer_max;
    if is_whole { Ok(range) } else { Err(BlkStatus::Failed) }
}

fn inside(sector: u64, bytes: u64, disk: &BlkDisk) -> Result<BlkRange, BlkStatus> {
    let offset = sector.checked_mul(SECTOR_BYTES).ok_or(BlkStatus::Failed)?;
    let end = offset.checked_add(bytes).ok_or(BlkStatus::Failed)?;
    if end > disk.bytes { Err(BlkStatus::Failed) } else { Ok(BlkRange { offset, length: bytes }) }
}

/// What a list of ranges says; each may have the flags that are `known`.
fn zeros(bytes: &[u8], brings: u64, known: u32, disk: &BlkDisk) -> Result<BlkCommand, BlkStatus> {
    let is_list = bytes.len() as u64 == brings && bytes.len().is_multiple_of(BLK_RANGE_BYTES);
    if !is_list || bytes.is_empty() {
        return Err(BlkStatus::Failed);
    }
    let range = |bytes: &[u8]| {
        let word =
            |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let sector = u64::from(word(4)) << 32 | u64::from(word(0));
        let (sectors, flags) = (word(8), word(12));
        if flags & !known != 0 {
            return Err(BlkStatus::Unsupported);
        }
        if sectors > RANGE_SECTORS_MAX {
            return Err(BlkStatus::Failed);
        }
        inside(sector, u64::from(sectors) * SECTOR_BYTES, disk)
    };
    bytes.chunks_exact(BLK_RANGE_BYTES).map(range).collect::<Result<_, _>>().map(BlkCommand::Zero)
}

/// What a device says of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkConfig {
    /// Bytes that can be addressed; what does not fill a sector of 512 bytes is not.
    pub bytes: u64,
    /// Bytes of a piece of a request's data at most.
    pub segment_bytes_max: u32,
    /// Such pieces at most.
    pub segments_max: u32,
    /// Bytes of a block that is written without reading it first; a power of two of at least 512.
    pub block_bytes: u32,
    /// Request queues.
    pub queues: u16,
}

impl BlkConfig {
    /// Features of virtio that belong to what it says: SIZE_MAX, SEG_MAX, BLK_SIZE, FLUSH, TOPOLOGY, MQ, DISCARD, WRITE_ZEROES.
    pub const FEATURES: u64 =
        1 << 1 | 1 << 2 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 14;

    /// The feature of a disk that is not to be written.
    pub const READ_ONLY: u64 = 1 << 5;

    /// The feature of a guest that asks for a flush where it wants one. Whoever has not agreed on it expects a write to be durable when
    /// it is answered.
    pub const FLUSH: u64 = 1 << 9;

    /// Its bytes. A sector has 512 bytes for every guest; that blocks are longer is told as the topology's.
    pub fn bytes(&self) -> [u8; CONFIG_BYTES] {
        let mut bytes = [0; CONFIG_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        let blocks = self.block_bytes / SECTOR_BYTES as u32;
        put(0, &(self.bytes / SECTOR_BYTES).to_le_bytes());
        put(8, &self.segment_bytes_max.to_le_bytes());
        put(12, &self.segments_max.to_le_bytes());
        put(20, &(SECTOR_BYTES as u32).to_le_bytes());
        put(24, &[blocks.trailing_zeros() as u8, 0]);
        put(26, &1u16.to_le_bytes());
        put(28, &blocks.to_le_bytes());
        // What was answered may still be in a cache: a flush empties it.
        put(32, &[1]);
        put(34, &self.queues.to_le_bytes());
        for at in [36, 48] {
            put(at, &RANGE_SECTORS_MAX.to_le_bytes());
            put(at + 4, &(RANGES_MAX as u32).to_le_bytes());
        }
        put(44, &blocks.to_le_bytes());
        // Zeros may be written by giving blocks back.
        put(56, &[1]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: BlkDisk = BlkDisk { bytes: 1 << 20, read_only: false, transfer_max: 1 << 16 };

    fn read(
        kind: u32,
        sector: u64,
        brings: u64,
        room: u64,
        ranges: &[u8],
    ) -> Result<BlkCommand, BlkStatus> {
        let mut bytes = [0; BLK_HEADER_BYTES];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[8..].copy_from_slice(&sector.to_le_bytes());
        BlkCommand::read(BlkHeader::decode(&bytes), BlkShape { brings, room }, ranges, &DISK)
    }

    fn range(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
        [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &flags.to_le_bytes()].concat()
    }

    #[test]
    fn reads_and_writes_stay_inside_the_disk() {
        let place = |offset, length| BlkRange { offset, length };
        assert_eq!(read(0, 8, 0, 4096, &[]), Ok(BlkCommand::Read(place(4096, 4096))));
        assert_eq!(read(1, 2047, 512, 0, &[]), Ok(BlkCommand::Write(place((1 << 20) - 512, 512))));
        for (sector, bytes) in [
            (2047, 1024),
            (2048, 512),
            (u64::MAX, 512),
            (1 << 55, 512),
            (0, 0),
            (0, 100),
            (0, 1 << 17),
        ] {
            assert_eq!(read(0, sector, 0, bytes, &[]), Err(BlkStatus::Failed), "{sector} {bytes}");
            assert_eq!(read(1, sector, bytes, 0, &[]), Err(BlkStatus::Failed), "{sector} {bytes}");
        }
    }

    #[test]
    fn ranges_are_a_list_of_known_flags() {
        let one = range(8, 16, 0);
        let zero = BlkCommand::Zero(vec![BlkRange { offset: 4096, length: 8192 }]);
        assert_eq!(read(11, 0, 16, 0, &one), Ok(zero.clone()));
        assert_eq!(read(13, 0, 16, 0, &range(8, 16, 1)), Ok(zero));
        assert_eq!(read(11, 0, 16, 0, &range(8, 16, 1)), Err(BlkStatus::Unsupported));
        assert_eq!(read(13, 0, 16, 0, &range(8, 16, 2)), Err(BlkStatus::Unsupported));
        for (brings, ranges) in [
            (0, vec![]),
            (20, one.clone()),
            (17, one.clone()),
            (16, range(2047, 2, 0)),
            (16, range(0, u32::MAX, 0)),
            (17 * 16, one.repeat(16)),
        ] {
            assert_eq!(read(11, 0, brings, 0, &ranges), Err(BlkStatus::Failed));
        }
        let disk = BlkDisk { bytes: 1 << 40, ..DISK };
        let all = |sectors| {
            let ranges = range(0, sectors, 0).repeat(RANGES_MAX);
            let shape = BlkShape { brings: ranges.len() as u64, room: 0 };
            BlkCommand::read(BlkHeader { kind: kind::DISCARD, sector: 0 }, shape, &ranges, &disk)
        };
        let Ok(BlkCommand::Zero(most)) = all(RANGE_SECTORS_MAX) else { panic!("as it is told") };
        assert_eq!(most.iter().map(|range| range.length).sum::<u64>(), 1 << 30);
        assert_eq!(all(RANGE_SECTORS_MAX + 1), Err(BlkStatus::Failed));
        let header = |kind| BlkHeader { kind, sector: 0 };
        assert_eq!([0, 11, 13].map(|kind| header(kind).range_bytes(1 << 40)), [0, 256, 256]);
    }

    #[test]
    fn what_is_not_known_is_said_so() {
        assert_eq!(read(4, 0, 0, 0, &[]), Ok(BlkCommand::Flush));
        assert_eq!(read(8, 0, 0, 20, &[]), Ok(BlkCommand::Id));
        assert_eq!(read(8, 0, 0, 19, &[]), Err(BlkStatus::Failed));
        assert_eq!(read(2, 0, 0, 0, &[]), Err(BlkStatus::Unsupported));
    }

    #[test]
    fn a_disk_that_is_not_to_be_written_is_not() {
        let disk = BlkDisk { read_only: true, ..DISK };
        for kind in [kind::OUT, kind::DISCARD, kind::WRITE_ZEROES] {
            let header = BlkHeader { kind, sector: 0 };
            let shape = BlkShape { brings: 512, room: 0 };
            assert_eq!(BlkCommand::read(header, shape, &[], &disk), Err(BlkStatus::Failed));
        }
    }

    #[test]
    fn the_configuration_has_its_fields_where_linux_looks() {
        let config = BlkConfig {
            bytes: 1 << 30,
            segment_bytes_max: 1 << 18,
            segments_max: 126,
            block_bytes: 4096,
            queues: 4,
        };
        let bytes = config.bytes();
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        assert_eq!((word(0), word(8), word(12), word(20)), (1 << 21, 1 << 18, 126, 512));
        assert_eq!(bytes[24], 3, "eight sectors make a block");
        assert_eq!((bytes[32], bytes[34], bytes[56]), (1, 4, 1));
        assert_eq!(
            (word(36), word(40), word(44), word(48)),
            (RANGE_SECTORS_MAX, 16, 8, RANGE_SECTORS_MAX)
        );
    }
}
