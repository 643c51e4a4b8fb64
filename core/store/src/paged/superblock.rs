//! The superblock: what the store is, and which checkpoint it stands at.
//!
//! A marker of checkpoint.md 5 (begin, end) is a new superblock with the next sequence number. Slot 0 and slot 1 take
//! turns, so a torn one leaves the one before; each is written at both ends of the device, so a rotten one leaves its twin.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | `LOADLINE` |
//! | 8 | 4 | CRC-32C of bytes 12..4096 |
//! | 12 | 4 | format version |
//! | 16 | 8 | store id |
//! | 24 | 8 | sequence number |
//! | 32 | 4 | page size |
//! | 36 | 4 | log block |
//! | 40 | 8 | size of the data device |
//! | 48 | 1 | log on: 0 the data device, 1 a device of its own |
//! | 49 | 1 | protection that the store is set to: 0 `log`, 1 `checkpoint` |
//! | 50 | 6 | zero |
//! | 56 | 72 | log offset, log bytes, segment bytes, recovery offset, recovery bytes, first map page, map pages, first page, pages |
//! | 128 | 40 | the last completed checkpoint ([`CheckpointState`]) |
//! | 168 | 1 | 1 if a checkpoint has begun and not ended |
//! | 169 | 1 | its protection |
//! | 170 | 6 | zero |
//! | 176 | 40 | the begun checkpoint |
//! | 216 | 8 | its images |
//! | 224 | 8 | bytes of its images |
//! | 232 | 4 | their digest |
//! | 236 | 4 | zero |
//! | 240 | 8 | log position from which records are of format 2 |
//!
//! A superblock of format 1 has zeros in the places that format 2 has added, and is read as one that knows nothing of them:
//! no version of the root, no digest of the free map, no seeded record. The first restart turns it into one of format 2.

use super::api::StoreDevice;
use super::codec::{u32_at, u64_at};
use super::ids::{CheckpointId, Child, Lsn, PageNo, PageSize, StoreId};
use super::layout::{Layout, SUPERBLOCK};
use super::options::Protection;
use super::seed::Seed;

/// First bytes of every superblock.
pub const MAGIC: [u8; 8] = *b"LOADLINE";
/// First bytes of what stands in a superblock's place while a store is being made.
pub const MARK_MAGIC: [u8; 8] = *b"LOADLFMT";
/// Version of the whole format.
pub const VERSION: u32 = 2;
/// The version before, whose stores are restored by its rules and go on as stores of this one.
const VERSION_BEFORE: u32 = 1;
/// First bytes of a log device.
pub const LOG_MAGIC: [u8; 8] = *b"LOADLLOG";

/// The store as of one checkpoint's instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointState {
    /// Which checkpoint.
    pub id: CheckpointId,
    /// The pages contain the log before this position, and nothing after.
    pub position: Lsn,
    /// The chain value before that position ([`super::log`]).
    pub chain: u32,
    /// The tree's root.
    pub root: Child,
    /// The tree's levels.
    pub height: u8,
    /// Which writings of the free map's pages belong to it ([`super::space::Pages`]); not known of a checkpoint of format 1.
    pub map: Option<u32>,
}

impl CheckpointState {
    /// What the checksums of this checkpoint's images begin with, in a store with this seed.
    pub fn image_seed(&self, seed: Seed) -> Seed {
        if self.map.is_none() { Seed::NONE } else { seed }
    }
}

/// A checkpoint whose pages may be half written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// What it makes the store.
    pub state: CheckpointState,
    /// Where the images of its pages are, whatever is configured now.
    pub protection: Protection,
    /// The image set, under `checkpoint` protection; else zeros.
    pub images: ImageSum,
}

/// What is known of an image set as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageSum {
    /// How many images.
    pub count: u64,
    /// Bytes of all records.
    pub bytes: u64,
    /// Digest over all records.
    pub digest: u32,
}

/// The whole superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Tells this store from every other one.
    pub store_id: u64,
    /// Grows with each marker.
    pub sequence: u64,
    /// The places.
    pub layout: Layout,
    /// The protection that the store is set to.
    pub protection: Protection,
    /// The last completed checkpoint.
    pub completed: CheckpointState,
    /// The one that has begun and not ended.
    pub begun: Option<Begun>,
    /// Records of the log from here on are of format 2.
    pub seeded_from: Lsn,
}

/// Why a superblock is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockFault {
    /// It does not begin as a superblock does.
    Foreign,
    /// The checksum does not fit. Of one superblock: the store that it names; of a device: the one that at least two places name.
    Checksum(Option<StoreId>),
    /// There is none yet: the making of this store was begun, and not ended.
    Unfinished(StoreId),
    /// A newer format.
    Version(u32),
    /// Whole, but with impossible places.
    Layout,
    /// Whole superblocks of different stores stand on one device: which of them it holds nobody can say.
    TwoStores,
}

impl Superblock {
    /// What stands for the superblock before one is read.
    pub(in crate::paged) fn unknown(layout: Layout) -> Superblock {
        Superblock {
            store_id: 0,
            sequence: 0,
            layout,
            protection: Protection::Checkpoint,
            completed: CheckpointState::default(),
            begun: None,
            seeded_from: Lsn(0),
        }
    }

    /// What the store's checksums begin with.
    pub fn seed(&self) -> Seed {
        Seed::of(self.store_id)
    }

    /// The bytes of the superblock.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUPERBLOCK as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        let layout = &self.layout;
        out.extend_from_slice(&(layout.page.bytes() as u32).to_le_bytes());
        out.extend_from_slice(&(layout.block_bytes as u32).to_le_bytes());
        out.extend_from_slice(&layout.data_bytes.to_le_bytes());
        out.push(u8::from(layout.log_target == StoreDevice::Log));
        out.push(self.protection.number());
        out.extend_from_slice(&[0; 6]);
        for place in places(layout) {
            out.extend_from_slice(&place.to_le_bytes());
        }
        encode_state(&self.completed, &mut out);
        out.push(u8::from(self.begun.is_some()));
        out.push(self.begun.map_or(0, |begun| begun.protection.number()));
        out.extend_from_slice(&[0; 6]);
        let begun = self
            .begun
            .map_or((CheckpointState::default(), ImageSum::default()), |b| (b.state, b.images));
        encode_state(&begun.0, &mut out);
        out.extend_from_slice(&begun.1.count.to_le_bytes());
        out.extend_from_slice(&begun.1.bytes.to_le_bytes());
        out.extend_from_slice(&begun.1.digest.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.seeded_from.0.to_le_bytes());
        out.resize(SUPERBLOCK as usize, 0);
        seal(&mut out);
        out
    }

    /// Reads a superblock. Never panics.
    pub fn decode(bytes: &[u8]) -> Result<Superblock, SuperblockFault> {
        let Some(bytes) = bytes.get(..SUPERBLOCK as usize) else {
            return Err(SuperblockFault::Foreign);
        };
        let is_whole = u32_at(bytes, 8) == crc32c::crc32c(&bytes[12..]);
        let named = StoreId::new(u64_at(bytes, 16));
        match (bytes.starts_with(&MAGIC), named) {
            (true, _) if is_whole => {}
            (true, named) => return Err(SuperblockFault::Checksum(named)),
            (false, Some(store)) if is_whole && bytes.starts_with(&MARK_MAGIC) => {
                return Err(SuperblockFault::Unfinished(store));
            }
            (false, _) => return Err(SuperblockFault::Foreign),
        }
        let seeded_from = match u32_at(bytes, 12) {
            VERSION => Lsn(u64_at(bytes, 240)),
            VERSION_BEFORE => Lsn(u64::MAX),
            newer => return Err(SuperblockFault::Version(newer)),
        };
        let layout = decode_layout(bytes).ok_or(SuperblockFault::Layout)?;
        let protection = Protection::from_number(bytes[49]).ok_or(SuperblockFault::Layout)?;
        let completed = decode_state(bytes, 128, &layout).ok_or(SuperblockFault::Layout)?;
        let begun = match bytes[168] {
            0 => None,
            _ => Some(decode_begun(bytes, &layout).ok_or(SuperblockFault::Layout)?),
        };
        if begun.is_some_and(|begun| begun.state.position < completed.position) {
            return Err(SuperblockFault::Layout);
        }
        Ok(Superblock {
            store_id: u64_at(bytes, 16),
            sequence: u64_at(bytes, 24),
            layout,
            protection,
            completed,
            begun,
            seeded_from,
        })
    }

    /// What stands in the places of a store's superblocks until the rest of it is there: made by nobody else, and with no
    /// superblock beside it, it says that nothing of worth is on the device.
    pub fn mark_of_making(store_id: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUPERBLOCK as usize);
        out.extend_from_slice(&MARK_MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&store_id.to_le_bytes());
        out.resize(SUPERBLOCK as usize, 0);
        seal(&mut out);
        out
    }

    /// The newest of a device's superblocks, or the best reason why there is none.
    pub fn newest(
        found: impl IntoIterator<Item = Result<Superblock, SuperblockFault>>,
    ) -> Result<Superblock, SuperblockFault> {
        let mut newest: Option<Superblock> = None;
        let mut faults = Vec::new();
        for found in found {
            match (found, newest) {
                (Ok(found), Some(other)) if found.store_id != other.store_id => {
                    return Err(SuperblockFault::TwoStores);
                }
                (Ok(found), Some(other)) if found.sequence <= other.sequence => {}
                (Ok(found), _) => newest = Some(found),
                (Err(fault), _) => faults.push(fault),
            }
        }
        newest.ok_or_else(|| SuperblockFault::of_device(&faults))
    }

    /// The first block of a log device of its own: it names the store that it belongs to.
    pub fn encode_log_header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(super::layout::LOG_HEADER as usize);
        out.extend_from_slice(&LOG_MAGIC);
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.layout.log_bytes.to_le_bytes());
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.resize(super::layout::LOG_HEADER as usize, 0);
        out
    }

    /// Whether these are the first bytes of this store's log device.
    pub fn owns_log(&self, header: &[u8]) -> bool {
        header == self.encode_log_header()
    }
}

impl SuperblockFault {
    /// Why a device has no superblock. Whose store it was, or was to be, is believed where two places say the same and no other says
    /// otherwise: one place may be what is left of an earlier life. That a store was only being made is believed where nothing but marks
    /// of it is left.
    fn of_device(faults: &[SuperblockFault]) -> SuperblockFault {
        use SuperblockFault::{Checksum, Foreign, Unfinished};
        let unreadable =
            |fault: &&SuperblockFault| !matches!(fault, Foreign | Checksum(_) | Unfinished(_));
        if let Some(fault) = faults.iter().rev().find(unreadable) {
            return *fault;
        }
        let named = || faults.iter().filter_map(|fault| fault.store());
        let agreed = named()
            .next()
            .filter(|first| named().count() > 1 && named().all(|named| named == *first));
        let is_damaged = faults.iter().any(|fault| matches!(fault, Checksum(_)));
        match agreed {
            Some(store) if !is_damaged => Unfinished(store),
            None if !is_damaged && named().next().is_none() => Foreign,
            agreed => Checksum(agreed),
        }
    }

    /// The store that is named all the same.
    pub fn store(self) -> Option<StoreId> {
        match self {
            SuperblockFault::Checksum(store) => store,
            SuperblockFault::Unfinished(store) => Some(store),
            _ => None,
        }
    }
}

/// Writes the checksum of a superblock, or of what stands in its place.
fn seal(bytes: &mut [u8]) {
    let crc = crc32c::crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
}

fn places(layout: &Layout) -> [u64; 9] {
    [
        layout.log_offset,
        layout.log_bytes,
        layout.segment_bytes,
        layout.recovery_offset,
        layout.recovery_bytes,
        layout.map_first.0,
        layout.map_pages,
        layout.pages_first.0,
        layout.pages_count,
    ]
}

fn encode_state(state: &CheckpointState, out: &mut Vec<u8>) {
    out.extend_from_slice(&state.id.0.to_le_bytes());
    out.extend_from_slice(&state.position.0.to_le_bytes());
    out.extend_from_slice(&state.root.bits().to_le_bytes());
    out.extend_from_slice(&state.chain.to_le_bytes());
    out.push(state.height);
    out.push(u8::from(state.map.is_some()));
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&state.map.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
}

fn decode_state(bytes: &[u8], at: usize, layout: &Layout) -> Option<CheckpointState> {
    let state = CheckpointState {
        id: CheckpointId(u64_at(bytes, at)),
        position: Lsn(u64_at(bytes, at + 8)),
        root: Child::from_bits(u64_at(bytes, at + 16)),
        chain: u32_at(bytes, at + 24),
        height: bytes[at + 28],
        map: (bytes[at + 29] == 1).then(|| u32_at(bytes, at + 32)),
    };
    // No log grows so long; beyond it sums of positions might not fit.
    let is_sound =
        layout.is_page(state.root.page) && state.height > 0 && state.position.0 < 1 << 62;
    is_sound.then_some(state)
}

fn decode_begun(bytes: &[u8], layout: &Layout) -> Option<Begun> {
    Some(Begun {
        state: decode_state(bytes, 176, layout)?,
        protection: Protection::from_number(bytes[169])?,
        images: ImageSum {
            count: u64_at(bytes, 216),
            bytes: u64_at(bytes, 224),
            digest: u32_at(bytes, 232),
        },
    })
}

/// Reads the places and checks them against each other, so that nothing later has to distrust them.
fn decode_layout(bytes: &[u8]) -> Option<Layout> {
    let place = |index: usize| u64_at(bytes, 56 + 8 * index);
    let page = PageSize::new(u32_at(bytes, 32))?;
    let layout = Layout {
        page,
        data_bytes: u64_at(bytes, 40),
        log_target: if bytes[48] == 0 { StoreDevice::Data } else { StoreDevice::Log },
        log_offset: place(0),
        log_bytes: place(1),
        segment_bytes: place(2),
        block_bytes: u64::from(u32_at(bytes, 36)),
        recovery_offset: place(3),
        recovery_bytes: place(4),
        map_first: PageNo(place(5)),
        map_pages: place(6),
        pages_first: PageNo(place(7)),
        pages_count: place(8),
    };
    let size = page.bytes() as u64;
    let pages_end = layout.pages_first.0.checked_add(layout.pages_count)?.checked_mul(size)?;
    let recovery_end = layout.recovery_offset.checked_add(layout.recovery_bytes)?;
    let map_end = layout.map_first.0.checked_add(layout.map_pages)?;
    let log_end = layout.log_offset.checked_add(layout.log_bytes)?;
    let log_is_apart = match layout.log_target {
        StoreDevice::Data => {
            layout.log_offset >= 2 * SUPERBLOCK && log_end <= layout.recovery_offset
        }
        StoreDevice::Log => layout.log_offset == super::layout::LOG_HEADER,
    };
    let block_is_legal = super::layout::BLOCK_SIZES.contains(&u32_at(bytes, 36));
    let sound = block_is_legal
        && layout.segment_bytes >= 64 << 10
        && layout.segment_bytes.is_multiple_of(layout.block_bytes)
        && layout.log_bytes.is_multiple_of(layout.segment_bytes)
        && layout.log_bytes >= 4 * layout.segment_bytes
        && layout.recovery_bytes > SUPERBLOCK
        && recovery_end <= layout.map_first.0.checked_mul(size)?
        && log_is_apart
        && map_end == layout.pages_first.0
        && layout.map_pages.checked_mul(super::layout::bits_per_map_page(page))?
            >= layout.pages_count
        && pages_end <= layout.data_bytes
        && pages_end / size <= Child::PAGES_MAX
        && layout.pages_count > 0;
    sound.then_some(layout)
}

#[cfg(test)]
mod tests {
    use super::super::ids::PageVersion;
    use super::super::layout::Format;
    use super::*;
    use loadline_base::Bytes;
    use proptest::prelude::*;

    fn superblock() -> Superblock {
        let format = Format {
            store_id: 77,
            data_bytes: Bytes::from_mib(8),
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(1),
            segment_bytes: Bytes::from_kib(64),
            block_bytes: 4096,
            recovery_bytes: Bytes::from_mib(1),
            page: PageSize::DEFAULT,
        };
        let layout = format.layout().expect("it fits");
        let state = CheckpointState {
            id: CheckpointId(4),
            position: Lsn(4096),
            chain: 9,
            root: Child { page: layout.pages_first, version: PageVersion::of(CheckpointId(4)) },
            height: 2,
            map: Some(6),
        };
        let images = ImageSum { count: 3, bytes: 999, digest: 5 };
        let begun = Begun { state, protection: Protection::Checkpoint, images };
        Superblock {
            store_id: 77,
            sequence: 12,
            layout,
            protection: Protection::Log,
            completed: state,
            begun: Some(begun),
            seeded_from: Lsn(512),
        }
    }

    #[test]
    fn a_superblock_reads_back_and_the_newest_whole_one_counts() {
        let newer = superblock();
        let older = Superblock { sequence: 11, begun: None, ..newer };
        assert_eq!(Superblock::decode(&newer.encode()), Ok(newer));
        let mut torn = newer.encode();
        torn[200] ^= 1;
        let damaged = SuperblockFault::Checksum(StoreId::new(77));
        assert_eq!(Superblock::decode(&torn), Err(damaged));
        let newest =
            |read: &[Vec<u8>]| Superblock::newest(read.iter().map(|b| Superblock::decode(b)));
        assert_eq!(newest(&[older.encode(), newer.encode()]), Ok(newer));
        assert_eq!(newest(&[older.encode(), torn.clone()]), Ok(older));
        assert_eq!(newest(&[vec![0; 4096], torn]), Err(SuperblockFault::Checksum(None)));
        let stranger = Superblock { store_id: 78, sequence: 900, ..newer };
        let both = [newer.encode(), stranger.encode()];
        assert_eq!(
            newest(&both),
            Err(SuperblockFault::TwoStores),
            "the higher number means nothing"
        );
    }

    #[test]
    fn whose_store_it_was_is_believed_where_two_places_agree() {
        let store = |id| StoreId::new(id).expect("not zero");
        let whole = superblock().encode();
        let damaged = |id: u64| {
            let mut bytes = Superblock { store_id: id, ..superblock() }.encode();
            bytes[300] ^= 1;
            bytes
        };
        let (mark, zeros) = (Superblock::mark_of_making, vec![0; SUPERBLOCK as usize]);
        let check = |read: &[&[u8]], wanted: Result<(), SuperblockFault>| {
            let found = Superblock::newest(read.iter().map(|bytes| Superblock::decode(bytes)));
            assert_eq!(found.map(|_| ()), wanted);
        };
        let unknown = Err(SuperblockFault::Checksum(None));
        let lost = |id| Err(SuperblockFault::Checksum(Some(store(id))));
        check(&[&mark(5), &mark(5), &whole, &zeros], Ok(()));
        check(&[&mark(5), &mark(5), &zeros, &zeros], Err(SuperblockFault::Unfinished(store(5))));
        check(&[&mark(5), &zeros, &zeros, &zeros], unknown);
        check(&[&mark(5), &mark(6), &mark(5), &mark(5)], unknown);
        check(&[&damaged(5), &damaged(5), &zeros, &zeros], lost(5));
        check(&[&damaged(5), &damaged(6), &zeros, &zeros], unknown);
        // It may be a store that lived, with a write that was lost long ago.
        check(&[&damaged(5), &mark(5), &mark(5), &mark(5)], lost(5));
        check(&[&damaged(7), &mark(5), &mark(5), &mark(5)], unknown);
        check(&[&zeros, &zeros, &zeros, &zeros], Err(SuperblockFault::Foreign));
        let mut spoiled = mark(5);
        spoiled[1000] ^= 1;
        check(&[&spoiled, &spoiled, &spoiled, &spoiled], Err(SuperblockFault::Foreign));
    }

    proptest! {
        /// Also with a checksum that fits, no bytes lead to a panic or to places that overlap.
        #[test]
        fn spoiled_superblocks_are_refused_or_sound(at in 12usize..240, value: [u8; 8]) {
            let mut bytes = superblock().encode();
            bytes[at..at + 8].copy_from_slice(&value);
            seal(&mut bytes);
            if let Ok(read) = Superblock::decode(&bytes) {
                prop_assert!(read.layout.pages().end.0 <= read.layout.data_bytes / read.layout.page.bytes() as u64);
            }
        }
    }
}
