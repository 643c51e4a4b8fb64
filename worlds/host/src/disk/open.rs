//! Opening: lock first, then look at what it is, then find out whether the page cache can be passed by.

use super::{Direct, Discards, DiskKind, DiskMode, DiskOpen, DiskProblem, OpenedDisk};
use crate::folder::folder_of;
use crate::special::special;
use crate::{Clock, special_at};
use loadline_base::{Bytes, Span, Time};
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, SeekFrom, Statx, StatxFlags,
    fallocate, fcntl_getfl, fcntl_setfl, flock, fstatfs, fsync, open as open_file, seek, statx,
    unlink,
};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The paged store's page; sizes and requests are multiples of it.
const PAGE: u64 = 4096;
const SIZE_MIN: Bytes = Bytes::from_mib(1);
/// The smallest sector that any device has.
const SECTOR_MIN: u32 = 512;

pub(super) fn open(how: &DiskOpen) -> Result<OpenedDisk, DiskProblem> {
    let (fd, created) = open_or_create(how)?;
    let opened = look_at(fd, created, how);
    if created && opened.is_err() {
        // Half a disk is none. A file that cannot be removed is refused at the next start.
        let _ = unlink(&how.path);
    }
    opened
}

fn look_at(fd: OwnedFd, created: bool, how: &DiskOpen) -> Result<OpenedDisk, DiskProblem> {
    let facts = statx(&fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN)
        .map_err(system)?;
    let kind = kind_of(&facts)?;
    let fd = if how.exclusive { take(fd, kind, &how.path)? } else { fd };
    if created {
        allocate(&fd, how)?;
    }
    let size = size_of(&fd, how)?;
    let keeps = kind == DiskKind::File && how.discards == Discards::Keep;
    let lacks = if keeps { fill_holes(&fd, size)? } else { Bytes::ZERO };
    let sector = choose_direct(&fd, &facts, how.direct)?;
    Ok(OpenedDisk {
        fd: Arc::new(fd),
        path: how.path.clone(),
        size,
        sector: sector.unwrap_or(SECTOR_MIN),
        mode: DiskMode { direct: sector.is_some() },
        kind,
        created,
        discards: how.discards,
        lacks,
        set_aside: 0,
    })
}

fn open_or_create(how: &DiskOpen) -> Result<(OwnedFd, bool), DiskProblem> {
    refuse_special(&how.path)?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    match open_file(&how.path, flags, Mode::empty()) {
        Ok(fd) => Ok((fd, false)),
        Err(Errno::NOENT) if how.create.is_some() => {
            may_have(how.create)?;
            let new = flags | OFlags::CREATE | OFlags::EXCL;
            open_file(&how.path, new, Mode::RUSR | Mode::WUSR).map(|fd| (fd, true)).map_err(refused)
        }
        Err(errno) => Err(refused(errno)),
    }
}

/// Asked before a file is made: what is made and then refused would be called a disk that was cut.
fn may_have(size: Option<Bytes>) -> Result<(), DiskProblem> {
    let is_none = |size: &Bytes| *size < SIZE_MIN || !size.get().is_multiple_of(PAGE);
    match size.filter(is_none) {
        Some(wanted) => Err(DiskProblem::NewSize { wanted, least: SIZE_MIN }),
        None => Ok(()),
    }
}

/// Has a disk for itself: nobody else opens it as a disk, and a block device is neither mounted nor claimed.
fn take(fd: OwnedFd, kind: DiskKind, path: &Path) -> Result<OwnedFd, DiskProblem> {
    let fd = match kind {
        DiskKind::BlockDevice => patiently(|| claim_device(path))?,
        DiskKind::File => fd,
    };
    patiently(|| lock(&fd))?;
    Ok(fd)
}

/// A disk that is nobody else's as long as this lives.
#[derive(Debug)]
pub struct DiskClaim(OwnedFd);

impl DiskClaim {
    /// Whether the file system has room for so much in this file, all of it: a sparse one is made where there is none, and its writes wait for some.
    ///
    /// # Errors
    /// [`DiskProblem::NoRoom`], or what the system says.
    pub fn check_room(&self, wanted: Bytes) -> Result<(), DiskProblem> {
        match room_beside(&self.0).map_err(system)? < lacking(&self.0, wanted)? {
            true => Err(DiskProblem::NoRoom { wanted }),
            false => Ok(()),
        }
    }

    /// Claims what is at this path, as a node does that opens it for itself.
    ///
    /// # Errors
    /// [`DiskProblem::InUse`] where a node or a mount has it, and what else keeps it from being opened.
    pub fn new(path: &Path) -> Result<DiskClaim, DiskProblem> {
        refuse_special(path)?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = open_file(path, flags, Mode::empty()).map_err(refused)?;
        let facts = statx(&fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map_err(system)?;
        take(fd, kind_of(&facts)?, path).map(DiskClaim)
    }
}

/// Opens what is a disk, or the file of one, to be read alone, whoever else has it.
///
/// # Errors
/// What the system says, or that no disk stands there.
pub fn read_disk(path: &Path) -> io::Result<File> {
    refuse_special(path)
        .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem.to_string()))?;
    File::open(path)
}

/// What is no disk is not opened.
fn refuse_special(path: &Path) -> Result<(), DiskProblem> {
    special_at(path).map_or(Ok(()), |is| Err(DiskProblem::NotADisk(is)))
}

/// Tries again for a while what fails because somebody else has the disk. A process that was killed holds its
/// disks until the kernel has ended its requests and taken its ring apart, and its successor may be faster than
/// that.
fn patiently<T>(attempt: impl Fn() -> Result<T, DiskProblem>) -> Result<T, DiskProblem> {
    const PATIENCE: Span = Span::from_secs(2);
    const STEP: Duration = Duration::from_millis(10);
    let clock = Clock::start();
    loop {
        match attempt() {
            Err(DiskProblem::InUse) if clock.now() < Time::ZERO + PATIENCE => pause(STEP),
            answer => return answer,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a disk is opened before there is a loop to wait in")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn lock(fd: &OwnedFd) -> Result<(), DiskProblem> {
    flock(fd, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => DiskProblem::InUse,
        other => system(other),
    })
}

/// Opens a block device once more so that it can be neither mounted nor claimed by anybody else.
fn claim_device(path: &Path) -> Result<OwnedFd, DiskProblem> {
    open_file(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL, Mode::empty()).map_err(refused)
}

fn refused(errno: Errno) -> DiskProblem {
    match errno {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => DiskProblem::Missing,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => DiskProblem::NoPermission,
        Errno::BUSY => DiskProblem::InUse,
        other => system(other),
    }
}

fn system(errno: Errno) -> DiskProblem {
    DiskProblem::System(errno.into())
}

fn kind_of(facts: &Statx) -> Result<DiskKind, DiskProblem> {
    let kind = FileType::from_raw_mode(facts.stx_mode.into());
    match special(kind) {
        None if kind == FileType::BlockDevice => Ok(DiskKind::BlockDevice),
        None => Ok(DiskKind::File),
        Some(is) => Err(DiskProblem::NotADisk(is)),
    }
}

/// Allocates a new file's blocks. File and folder are made durable, so that a power cut cannot take the file from
/// under its contents.
fn allocate(fd: &OwnedFd, how: &DiskOpen) -> Result<(), DiskProblem> {
    let wanted = how.create.expect("only a wanted size creates a file");
    let folder = folder_of(&how.path);
    let made = retry(|| fallocate(fd, FallocateFlags::empty(), 0, wanted.get()))
        .and_then(|()| fsync(fd))
        .and_then(|()| open_file(folder, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
        .and_then(fsync);
    made.map_err(|errno| match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => DiskProblem::NoRoom { wanted },
        other => DiskProblem::NotAllocated { wanted, error: other.into() },
    })
}

/// Gives a file the blocks that it lacks: an earlier life may have given them back. Answers how many bytes it lacks still. The
/// attempt is made only where the file system has enough, since a failed one would take all that there is and help nobody.
fn fill_holes(fd: &OwnedFd, size: Bytes) -> Result<Bytes, DiskProblem> {
    let lacks = lacking(fd, size)?;
    if lacks == 0 || room_beside(fd).map_err(system)? < lacks {
        return Ok(Bytes::new(lacks));
    }
    match set_aside(fd, 0..size.get()) {
        Ok(()) => Ok(Bytes::ZERO),
        Err(Errno::NOSPC | Errno::DQUOT) => lacking(fd, size).map(Bytes::new),
        // A file system that cannot allocate beforehand keeps no blocks in any case.
        Err(_) => Ok(Bytes::ZERO),
    }
}

/// How many bytes of a file of this size have no blocks.
fn lacking(fd: &OwnedFd, size: Bytes) -> Result<u64, DiskProblem> {
    /// What `st_blocks` counts in.
    const BLOCK: u64 = 512;
    let blocks = rustix::fs::fstat(fd).map_err(system)?.st_blocks;
    Ok(size.get().saturating_sub(blocks as u64 * BLOCK))
}

/// Bytes that are free on the file system of a file.
fn room_beside(fd: &OwnedFd) -> Result<u64, Errno> {
    rustix::fs::fstatvfs(fd).map(|room| room.f_bavail.saturating_mul(room.f_frsize))
}

/// Gives a range of a file the blocks that it lacks; what it holds stays.
fn set_aside(fd: &OwnedFd, range: Range<u64>) -> Result<(), Errno> {
    let length = range.end - range.start;
    retry(|| fallocate(fd, FallocateFlags::KEEP_SIZE, range.start, length))
}

impl OpenedDisk {
    /// Sets aside some more of the blocks that its file lacked when it was opened, in order, `step` at most, if the file system has room
    /// for all of them by now. Answers whether it lacks none any more.
    pub(crate) fn set_more_aside(&mut self, step: Bytes) -> bool {
        if self.lacks == Bytes::ZERO {
            return true;
        }
        let end = (self.set_aside + step.get()).min(self.size.get());
        // What was set aside is no longer among what the file system has, and what of the rest the file lacks nobody knows.
        let wanted = if self.set_aside == 0 { self.lacks.get() } else { end - self.set_aside };
        let has_room = room_beside(&self.fd).is_ok_and(|room| room >= wanted);
        if has_room && set_aside(&self.fd, self.set_aside..end).is_ok() {
            self.set_aside = end;
        }
        if self.set_aside == self.size.get() {
            self.lacks = Bytes::ZERO;
        }
        self.lacks == Bytes::ZERO
    }
}

/// Allocating many blocks takes long enough for a signal to come in between.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// The end's position is the size of files and of block devices alike.
fn size_of(fd: &OwnedFd, how: &DiskOpen) -> Result<Bytes, DiskProblem> {
    let is = Bytes::new(seek(fd, SeekFrom::End(0)).map_err(system)?);
    match how.size {
        Some(wanted) if wanted != is => Err(DiskProblem::WrongSize { is, wanted }),
        _ if is < SIZE_MIN => Err(DiskProblem::TooSmall { is }),
        _ if !is.get().is_multiple_of(PAGE) => Err(DiskProblem::PartOfAPage { is }),
        _ => Ok(is),
    }
}

/// Switches direct I/O on where it is wanted and possible; answers the sector that it needs.
///
/// tmpfs takes the flag since Linux 6.6 and then uses the page cache all the same; so the flag alone proves
/// nothing, and what `statx` says about direct I/O counts. Before Linux 6.1 `statx` does not know, and no
/// tmpfs took the flag.
fn choose_direct(fd: &OwnedFd, facts: &Statx, direct: Direct) -> Result<Option<u32>, DiskProblem> {
    let told = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
    let possible = (!told || facts.stx_dio_offset_align != 0) && !in_memory(fd, facts)?;
    let wanted = direct != Direct::No;
    if wanted && possible && switch_direct_on(fd).is_ok() {
        let sector = if told { facts.stx_dio_offset_align } else { PAGE as u32 };
        return Ok(Some(sector.max(SECTOR_MIN)));
    }
    if direct == Direct::Yes { Err(DiskProblem::NoDirect) } else { Ok(None) }
}

/// Whether a file's contents are in memory only. Device nodes are kept in memory too, which says nothing of the
/// device.
fn in_memory(fd: &OwnedFd, facts: &Statx) -> Result<bool, DiskProblem> {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    let kind = fstatfs(fd).map_err(system)?.f_type;
    let is_file = kind_of(facts)? == DiskKind::File;
    Ok(is_file && [TMPFS_MAGIC, RAMFS_MAGIC].contains(&kind))
}

fn switch_direct_on(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::DIRECT)
}
