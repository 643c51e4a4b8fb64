//! `loadline store`: making a store on files or block devices.

use crate::cli::{FormatArgs, ProtectionArg, StoreCommand};
use crate::failure::Failure;
use crate::{show, writable};
use loadline_base::Bytes;
use loadline_host::{DiskClaim, DiskProblem, Holding, ProgramMemory, special_at, write_new_store};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::layout::LOG_HEADER;
use loadline_store::paged::{Format, FormatError, Protection, format};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::iter;
use std::path::{Path, PathBuf};

pub(crate) fn carry_out(command: StoreCommand) -> Result<(), Failure> {
    match command {
        StoreCommand::Format(args) => make(&args),
    }
}

fn make(args: &FormatArgs) -> Result<(), Failure> {
    check_places(args)?;
    if !args.force {
        refuse_used(&args.file)?;
        args.log_device.as_deref().map_or(Ok(()), refuse_used)?;
    }
    let data = size(&args.file, args.size, "--size")?;
    let log = args.log_device.as_deref().map(|file| size(file, args.log, "--log")).transpose()?;
    let wanted = wanted(args, data, log)?;
    has_memory_for(&wanted)?;
    let protection = match args.protection {
        ProtectionArg::Log => Protection::Log,
        ProtectionArg::Checkpoint => Protection::Checkpoint,
    };
    let store = format(&wanted, protection).map_err(|error| refused(error, &wanted))?;
    let mut data = StoreDisk::open(&args.file, data)?;
    let log = args.log_device.as_deref().zip(log);
    let mut log = log.map(|(path, size)| StoreDisk::open(path, size)).transpose()?;
    write_new_store(&store, &data.file, log.as_ref().map(|log| &log.file))
        .map_err(|error| Failure::unwritable(&args.file, &error))?;
    for disk in iter::once(&mut data).chain(&mut log) {
        disk.made = None;
    }
    report(args, &wanted)
}

/// Whether there can be files of these names, asked before one is made.
fn check_places(args: &FormatArgs) -> Result<(), Failure> {
    let whole = |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    if let Some(log) = args.log_device.as_deref().filter(|log| whole(log) == whole(&args.file)) {
        return Err(Failure::Input(format!(
            "--log-device {}: store and log cannot be the same file; name another one for the log",
            log.display()
        )));
    }
    for path in iter::once(&args.file).chain(&args.log_device) {
        if let Some(is) = special_at(path).filter(|_| !path.is_dir()) {
            return Err(no_disk(path, &DiskProblem::NotADisk(is)));
        }
        // A file or device that is there is asked whether it holds something before it is written, whatever may be made beside it.
        if path.is_dir() || !path.exists() {
            writable::file(path)?;
        }
    }
    Ok(())
}

/// The map of what is free is made in memory, a bit for each page: that of a sparse file may be larger than the machine.
fn has_memory_for(wanted: &Format) -> Result<(), Failure> {
    let map = Bytes::new(wanted.data_bytes.get() / wanted.page.bytes() as u64 / 8);
    match ProgramMemory::here().available.filter(|free| *free < map) {
        None => Ok(()),
        Some(free) => Err(Failure::Environment(format!(
            "--size {}: the map of its pages takes {map} of memory, and {free} are free",
            wanted.data_bytes
        ))),
    }
}

/// A file that holds something is not overwritten unasked.
fn refuse_used(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let shown = path.display();
    match Holding::of(path) {
        Ok(Holding::Nothing | Holding::Unfinished) => Ok(()),
        Ok(other) => Err(Failure::Input(format!("{shown}: holds {other}; --force overwrites it"))),
        Err(error) => Err(Failure::unreadable(path, &error)),
    }
}

/// The size that was asked for, or the one that the file has.
fn size(path: &Path, asked: Option<Bytes>, flag: &str) -> Result<Bytes, Failure> {
    if let Some(size) = asked {
        return Ok(size);
    }
    match File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::unreadable(path, &error))
        }
        Err(_) | Ok(0) => {
            Err(Failure::Input(format!("{}: how large? say {flag} SIZE", path.display())))
        }
        Ok(found) => Ok(Bytes::new(found)),
    }
}

/// What was asked for, and where nothing was asked, what suits the size.
fn wanted(args: &FormatArgs, data: Bytes, log_device: Option<Bytes>) -> Result<Format, Failure> {
    let page = u32::try_from(args.page.get()).ok().and_then(PageSize::new);
    let page = page.ok_or_else(|| {
        Failure::Input("--page: takes a power of two from 1 KiB to 16 KiB".to_owned())
    })?;
    // What is none of the sizes that a block has is refused with the others, when the store is laid out.
    let block_bytes = match args.block {
        Some(asked) => u32::try_from(asked.get()).unwrap_or(u32::MAX),
        None => page.bytes().min(4096) as u32,
    };
    // An eighth of the device for the log and for images, a sixteenth of the log for a segment: of the order that
    // checkpoint.md 4.1 has for its defaults.
    let eighth = Bytes::new((data.get() / 8).clamp(1 << 20, 4 << 30));
    let log = log_device
        .map_or(args.log.unwrap_or(eighth).get(), |device| device.get().saturating_sub(LOG_HEADER));
    let segment = (log / 16).next_power_of_two().clamp(64 << 10, 64 << 20);
    let segment_bytes = args.segment.unwrap_or(Bytes::new(segment));
    Ok(Format {
        store_id: random_id()?,
        data_bytes: data,
        log_device_bytes: log_device,
        log_bytes: Bytes::new(log / segment_bytes.get().max(1) * segment_bytes.get()),
        segment_bytes,
        block_bytes,
        recovery_bytes: args.recovery.unwrap_or(eighth),
        page,
    })
}

fn random_id() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    let id = read.map(|()| u64::from_le_bytes(bytes));
    id.map_err(|error| Failure::unreadable(Path::new("/dev/urandom"), &error))
}

fn refused(error: FormatError, format: &Format) -> Failure {
    let text = match error {
        FormatError::Block => "--block: takes 512 B, 1 KiB, 2 KiB or 4 KiB, at most a page",
        FormatError::Segment => "--segment: takes a multiple of the block, at least 64 KiB",
        FormatError::Log => "--log: takes at least four segments",
        FormatError::Recovery => {
            "--recovery: takes room for at least 66 pages, and some 18 for each level of the tree"
        }
        FormatError::TooLarge => "--page: takes a larger page: a store has at most 2^40 pages",
        FormatError::TooSmall => {
            return Failure::Input(format!(
                "--size: {} leave no room for 64 pages beside the log and the recovery area",
                format.data_bytes
            ));
        }
    };
    Failure::Input(text.to_owned())
}

/// A file or a device for a store.
struct StoreDisk {
    file: File,
    /// It is nobody else's meanwhile.
    claim: Option<DiskClaim>,
    /// What was made and has no store on it yet.
    made: Option<PathBuf>,
}

impl Drop for StoreDisk {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // A file of which no store has come is in nobody's way.
            let _ = fs::remove_file(path);
        }
    }
}

impl StoreDisk {
    /// Opens one of this size; what was there is kept, the superblocks go last.
    fn open(path: &Path, size: Bytes) -> Result<StoreDisk, Failure> {
        let cannot = |error| Failure::unwritable(path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let new = options.clone().create_new(true).open(path);
        let made = new.is_ok().then(|| path.to_owned());
        let file = new.or_else(|_| options.create(true).truncate(false).open(path));
        let mut disk = StoreDisk { file: file.map_err(cannot)?, claim: None, made };
        let claim = DiskClaim::new(path).map_err(|problem| no_disk(path, &problem))?;
        if disk.file.metadata().map_err(cannot)?.is_file() {
            claim.check_room(size).map_err(|problem| no_disk(path, &problem))?;
            disk.file.set_len(size.get()).map_err(cannot)?;
        } else if disk.file.seek(SeekFrom::End(0)).map_err(cannot)? != size.get() {
            let text = format!("{}: a device has the size that it has", path.display());
            return Err(Failure::Input(text));
        }
        disk.claim = Some(claim);
        Ok(disk)
    }
}

fn no_disk(path: &Path, problem: &DiskProblem) -> Failure {
    Failure::refused(problem.kind(), format!("{}: {problem}", path.display()))
}

fn report(args: &FormatArgs, format: &Format) -> Result<(), Failure> {
    let layout = format.layout().expect("it was just made");
    if args.json.json {
        return show::json(&json!({
            "file": args.file.display().to_string(), "store_id": format!("{:016x}", format.store_id),
            "bytes": layout.data_bytes, "pages": layout.pages_count,
            "log_bytes": layout.log_bytes, "recovery_bytes": layout.recovery_bytes,
        }));
    }
    show::text(&format!(
        "{}: a store of {} pages of {}, log {}, recovery area {}\n",
        args.file.display(),
        layout.pages_count,
        Bytes::new(layout.page.bytes() as u64),
        Bytes::new(layout.log_bytes),
        Bytes::new(layout.recovery_bytes)
    ))
}
