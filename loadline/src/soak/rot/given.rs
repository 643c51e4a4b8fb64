//! Stores that are given as files or block devices. They are only read.

use crate::failure::Failure;
use crate::inspect::open;
use crate::show;
use loadline_base::Bytes;
use loadline_host::why;
use loadline_sim::StoreDisks;
use loadline_sim::disk::{BaseImage, SimDisk, SimDiskSpec, Timing};
use loadline_sim::rot::{DamageKind, Sound};
use loadline_store::paged::Options;
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::inspect::Inspector;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Memory of a copy's store: a copy is opened thousands of times, and nothing of it is read twice.
const CACHE: Bytes = Bytes::from_mib(16);
/// Sectors of a file: the smallest there are.
const SECTOR: u64 = 512;
/// Bytes of a file that are read at once, and of which copies share what is kept in memory.
const CHUNK: u64 = 64 << 10;
/// Chunks of all files that are kept: every copy reads the same ones.
const CHUNKS_MAX: usize = 4096;

/// Chunks that may still be kept.
static CHUNKS_LEFT: AtomicUsize = AtomicUsize::new(CHUNKS_MAX);

/// A given store as it is, and after it has lived on.
pub(super) struct Given {
    pub(super) path: PathBuf,
    sound: Sound,
    further: Option<Sound>,
}

/// A file that is only read.
struct FileImage {
    file: File,
    path: PathBuf,
    size: u64,
    chunks: Vec<OnceLock<Option<Box<[u8]>>>>,
}

/// The file, or the stores of a node's folder.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot =
        |error| Failure::Input(format!("{}: cannot be read: {}", path.display(), why(&error)));
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("osd.").and_then(|number| number.parse::<u32>().ok());
        found.extend(number.map(|number| (number, path)));
    }
    found.sort();
    match found.is_empty() {
        true => Err(Failure::Input(format!("{}: holds no osd.0, osd.1 ...", path.display()))),
        false => Ok(found.into_iter().map(|(_, path)| path).collect()),
    }
}

impl Given {
    /// Reads a store as a whole; if writes are to be lost, lets it live on as well.
    pub(super) fn read(path: &Path, log: Option<&Path>, loses: bool) -> Result<Given, Failure> {
        let disks = StoreDisks { data: disk(path)?, log: log.map(disk).transpose()? };
        let options = options(&disks, path)?;
        let unsound =
            |why| Failure::Damaged(format!("{}: not sound as it is: {why}", path.display()));
        let sound = Sound::new(disks, options, Vec::new()).map_err(unsound)?;
        let (keys, objects) = sound.count();
        show::note(&format!("{}: {keys} keys, {objects} objects", path.display()));
        let further = loses.then(|| sound.live_on()).transpose().map_err(unsound)?;
        Ok(Given { path: path.to_owned(), sound, further })
    }

    /// The copy's origin: what was written is known only of the store that has lived on.
    pub(super) fn of(&self, kind: DamageKind) -> Option<&Sound> {
        match kind {
            DamageKind::Drop | DamageKind::Stray => {
                self.further.as_ref().filter(|further| further.may_drop())
            }
            _ => Some(&self.sound),
        }
    }
}

fn disk(path: &Path) -> Result<SimDisk, Failure> {
    let (file, size) = open(path)?;
    lock(&file, path)?;
    let spec = SimDiskSpec {
        size: Bytes::new(size / SECTOR * SECTOR),
        sector: SECTOR as u32,
        write_cache: false,
        timing: Timing::FREE,
    };
    let chunks = (0..size.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
    let image = FileImage { file, path: path.to_owned(), size, chunks };
    Ok(SimDisk::over(spec, Arc::new(image), 1))
}

/// Who runs on the file would change what has been read; nobody may start meanwhile either.
fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Failure::Input(format!(
            "{}: another program has it, such as a running node or `kv serve`: end that, or name a copy of the file",
            path.display()
        ))),
        // Where there are no locks, nobody can have one.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

fn options(disks: &StoreDisks, path: &Path) -> Result<Options, Failure> {
    let inspector = Inspector::open(disks)
        .map_err(|trouble| Failure::Input(format!("{}: {trouble}", path.display())))?;
    let newest = inspector.newest();
    let cache = CACHE.max(cache_least(&newest.layout));
    Ok(Options { cache, protection: newest.protection, ..Options::default() })
}

impl FileImage {
    /// A part of the file, if there is still memory to keep it.
    fn chunk(&self, number: u64) -> Option<&[u8]> {
        let kept = self.chunks[number as usize].get_or_init(|| {
            let left = |left: usize| left.checked_sub(1);
            CHUNKS_LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).ok()?;
            let start = number * CHUNK;
            let mut bytes = vec![0; CHUNK.min(self.size - start) as usize];
            self.read_file(start, &mut bytes);
            Some(bytes.into())
        });
        kept.as_deref()
    }

    fn read_file(&self, offset: u64, into: &mut [u8]) {
        if let Err(error) = self.file.read_exact_at(into, offset) {
            show::note(&format!("error: {}: cannot be read: {error}", self.path.display()));
            std::process::exit(1);
        }
    }
}

impl BaseImage for FileImage {
    fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let start = (at % CHUNK) as usize;
            let part = &mut into[done..];
            let length = part.len().min(CHUNK as usize - start);
            match self.chunk(at / CHUNK) {
                Some(bytes) => part[..length].copy_from_slice(&bytes[start..start + length]),
                None => self.read_file(at, &mut part[..length]),
            }
            done += length;
        }
    }
}
