//! What a disk holds, so that nothing is written over unasked: a store, nothing, or something else, by its name where its mark is
//! known.
//!
//! A disk holds nothing if its first and its last mebibyte are zeros: partition tables, file systems, volume managers and RAID
//! keep their marks there, and so does a store. So does one that holds what somebody who died was making a store of, and nothing
//! more: two of its marks, or one in the midst of zeros. The marks below are those that `blkid` (util-linux) looks for first; what
//! bears another one is not empty either, it only goes without a name.

use super::read_disk;
use loadline_store::paged::layout::{SUPERBLOCK, superblock_offsets};
use loadline_store::paged::superblock::{LOG_MAGIC, MAGIC, Superblock, SuperblockFault};
use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much is looked at, at each end.
const ENDS: u64 = 1 << 20;

/// What a disk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Nothing: zeros at both ends, or one mark of a store that was being made and zeros.
    Nothing,
    /// Nothing of worth: a store was being made, and is not finished.
    Unfinished,
    /// A store of Loadline's, or what is left of one: a superblock, whole or not.
    Store,
    /// Something else, which has this name if its mark is known.
    Other(Option<&'static str>),
}

/// A mark of something else: its first byte from the beginning, its bytes, its name. What says more stands first: an MBR is in
/// front of a GPT, and its mark is in many a boot sector.
const MARKS: [(usize, &[u8], &str); 20] = [
    (0, &LOG_MAGIC, "the log of a store"),
    (512, b"EFI PART", "a partition table (GPT)"),
    (4096, b"EFI PART", "a partition table (GPT)"),
    (0x438, &[0x53, 0xef], "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a Btrfs file system"),
    (0x2_0000, &[0x0c, 0xb1, 0xba, 0x00], "a ZFS pool's disk"),
    (512, b"LABELONE", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "a LUKS volume"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member (md)"),
    (4096, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member (md)"),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (0, b"hsqs", "a SquashFS file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0, b"bluestore block device", "a Ceph OSD's disk"),
    (0, b"QFI\xfb", "a qcow2 image"),
    (510, &[0x55, 0xaa], "a partition table or a boot sector"),
];

impl Holding {
    /// What the disk at this path holds.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(path: &Path) -> io::Result<Holding> {
        let mut file = read_disk(path)?;
        let size = file.seek(SeekFrom::End(0))?;
        let mut front = vec![0; ENDS.min(size) as usize];
        let mut back = front.clone();
        file.read_exact_at(&mut front, 0)?;
        let back_from = size - back.len() as u64;
        file.read_exact_at(&mut back, back_from)?;
        Ok(judge(size, &front, &back))
    }
}

/// What a disk of this size holds that begins and ends so.
fn judge(size: u64, front: &[u8], back: &[u8]) -> Holding {
    let back_from = size - back.len() as u64;
    let place = |at: u64| {
        let (bytes, from) = if at < ENDS { (front, 0) } else { (back, back_from) };
        let start = at.checked_sub(from).and_then(|start| usize::try_from(start).ok());
        start.and_then(|start| bytes.get(start..)).unwrap_or_default()
    };
    if size >= 4 * SUPERBLOCK {
        let places = superblock_offsets(size).map(place);
        if places.iter().any(|bytes| bytes.starts_with(&MAGIC)) {
            return Holding::Store;
        }
        let found = Superblock::newest(places.map(Superblock::decode));
        if let Err(SuperblockFault::Unfinished(_)) = found {
            return Holding::Unfinished;
        }
    }
    // One mark alone may be old, but beside nothing else there is nothing that it could be the remains of.
    if is_empty(size, front, 0) && is_empty(size, back, back_from) {
        return Holding::Nothing;
    }
    let mark = MARKS
        .iter()
        .find(|(at, bytes, _)| front.get(*at..).is_some_and(|rest| rest.starts_with(bytes)));
    Holding::Other(mark.map(|(.., name)| *name))
}

/// Whether these bytes of a disk, which begin there, are zeros but for marks of a store that was being made.
fn is_empty(size: u64, bytes: &[u8], from: u64) -> bool {
    let is_mark = |at: u64, block: &[u8]| {
        size >= 4 * SUPERBLOCK
            && superblock_offsets(size).contains(&at)
            && matches!(Superblock::decode(block), Err(SuperblockFault::Unfinished(_)))
    };
    let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    // Marks stand at multiples of their size, and the last bytes of a disk may be no whole one.
    let lead = (from.next_multiple_of(SUPERBLOCK) - from).min(bytes.len() as u64) as usize;
    let (lead, blocks) = bytes.split_at(lead);
    let first = from + lead.len() as u64;
    let mut places = blocks.chunks(SUPERBLOCK as usize).zip((first..).step_by(SUPERBLOCK as usize));
    is_zero(lead) && places.all(|(block, at)| is_zero(block) || is_mark(at, block))
}

/// Makes a disk one that holds nothing, whatever it held: both ends become zeros.
///
/// # Errors
/// It cannot be written.
pub fn wipe_ends(path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    let zeros = vec![0; ENDS.min(size) as usize];
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&zeros)?;
    file.seek(SeekFrom::Start(size - zeros.len() as u64))?;
    file.write_all(&zeros)?;
    file.sync_all()
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holding::Nothing => f.write_str("nothing"),
            Holding::Unfinished => f.write_str("a store that is not finished"),
            Holding::Store => f.write_str("a store"),
            Holding::Other(Some(name)) => f.write_str(name),
            Holding::Other(None) => f.write_str("something that is no store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 4 << 20;

    /// What a disk is taken for that has these bytes there.
    fn check(at: usize, bytes: &[u8], wanted: &str) {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.as_file().set_len(SIZE as u64).expect("it grows");
        file.as_file().write_all_at(bytes, at as u64).expect("it is written");
        let found = Holding::of(file.path()).expect("it can be read");
        assert_eq!(found.to_string(), wanted, "{bytes:?} at {at}");
        wipe_ends(file.path()).expect("it is written");
        assert_eq!(Holding::of(file.path()).expect("it can be read"), Holding::Nothing);
    }

    #[test]
    fn what_a_disk_holds_is_told_by_both_of_its_ends() {
        check(0, &[], "nothing");
        check(0, b"LOADLINE", "a store");
        for at in [4096, SIZE - 8192, SIZE - 4096] {
            check(at, b"LOADLINE", "a store");
        }
        check(SIZE - 1, &[1], "something that is no store");
        check((1 << 20) - 1, &[1], "something that is no store");
        check(SIZE - 4000, b"LOADLINE", "something that is no store");
        for (at, bytes, name) in MARKS {
            check(at, bytes, name);
        }
    }

    #[test]
    fn what_was_to_become_a_store_is_told_from_what_was_one() {
        let mark = Superblock::mark_of_making(7);
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.as_file().set_len(SIZE as u64).expect("it grows");
        // Remains of what was there before.
        file.as_file().write_all_at(&[5; 9000], 100_000).expect("it is written");
        let write = |place: usize, bytes: &[u8]| {
            file.as_file().write_all_at(bytes, superblock_offsets(SIZE as u64)[place])
        };
        let found = || Holding::of(file.path()).expect("it can be read");
        write(2, &mark).expect("it is written");
        assert_eq!(found(), Holding::Other(None), "one alone may be old");
        write(3, &mark).expect("it is written");
        assert_eq!(found(), Holding::Unfinished);
        write(1, b"LOADLINE").expect("it is written");
        assert_eq!(found(), Holding::Store);
    }

    /// Of four marks only one had reached the disk when the making of a store was cut short, and an empty disk was taken for something that is
    /// no store.
    #[test]
    fn an_empty_disk_with_one_mark_holds_nothing() {
        let mark = Superblock::mark_of_making(7);
        for size in [SIZE, SIZE + 700, 3 * SUPERBLOCK as usize] {
            for place in 0..4 {
                let file = tempfile::NamedTempFile::new().expect("a file can be made");
                file.as_file().set_len(size as u64).expect("it grows");
                let at = superblock_offsets(size as u64)[place];
                let write = |bytes: &[u8], at| file.as_file().write_all_at(bytes, at);
                let found = || Holding::of(file.path()).expect("it can be read");
                write(&mark, at).expect("it is written");
                let beside = (at + 5000) % size as u64;
                let is_large = size >= 4 * SUPERBLOCK as usize;
                assert_eq!(found() == Holding::Nothing, is_large, "{place} of {size} bytes");
                write(&[1], beside).expect("it is written");
                assert_eq!(found(), Holding::Other(None), "place {place} of {size} bytes");
                write(&[0], beside).expect("it is written");
                write(&[0xff], at + 100).expect("it is written");
                assert_eq!(found(), Holding::Other(None), "a torn mark is none");
            }
        }
    }

    #[test]
    fn a_disk_smaller_than_what_is_looked_at_is_looked_at_whole() {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        assert_eq!(Holding::of(file.path()).expect("it can be read"), Holding::Nothing);
        file.as_file().set_len(100_000).expect("it grows");
        assert_eq!(Holding::of(file.path()).expect("it can be read"), Holding::Nothing);
        file.as_file().write_all_at(&[1], 50_000).expect("it is written");
        assert_eq!(Holding::of(file.path()).expect("it can be read"), Holding::Other(None));
    }
}
