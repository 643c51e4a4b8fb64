//! What stands under a real run: file system, drive, how the node reaches them, and what makes its figures doubtful.

use super::spec::HostedSpec;
use super::spec::{LOG_MODE, PROTECTION};
use crate::MachineFacts;
use crate::place::{HostPlace, RealDisks};
use loadline_base::{Bytes, Span};
use loadline_host::DirectModes;
use loadline_osd::OsdId;
use rustix::fs::{Dev, major, minor};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that is known before a node runs, and what is doubtful about it.
pub(super) fn look(spec: &HostedSpec) -> MachineFacts {
    let mut facts = MachineFacts::default();
    let place = &spec.place;
    facts.know("Disks of the OSDs", disks(place, spec));
    look_under(place, &mut facts);
    facts.know("Writes are answered", answered().to_owned());
    facts.know("Torn checkpoints are made whole from", format!("the {PROTECTION} images"));
    facts.know("Clients", place.client.to_string());
    facts.devices = (0..spec.osds).map(|osd| device_under(place, OsdId::new(osd))).collect();
    facts
}

/// The number of the whole drive under an OSD: its partitions are one device. Where there is no drive, that of the file system.
fn device_under(place: &HostPlace, osd: OsdId) -> String {
    let (_, device) = under(&place.disks, osd);
    let drive = BlockQueue::of(device).and_then(|queue| queue.read("dev"));
    drive.unwrap_or_else(|| format!("{}:{}", major(device), minor(device)))
}

/// The same of a store that is embedded.
pub(super) fn look_at_store(place: &HostPlace, size: Bytes) -> MachineFacts {
    let mut facts = MachineFacts::default();
    let disk = match &place.disks {
        RealDisks::Files(folder) => format!("a file of {size} in {}", folder.display()),
        devices @ RealDisks::Devices(_) => devices.to_string(),
    };
    facts.know("Disk of the store", disk);
    look_under(place, &mut facts);
    facts.know(
        "Clients",
        "one thread, which keeps all of its puts under way; the store has another".to_owned(),
    );
    facts
}

/// File system and drive, and what the machine had to do before.
fn look_under(place: &HostPlace, facts: &mut MachineFacts) {
    let (path, device) = under(&place.disks, OsdId::new(0));
    if let RealDisks::Files(_) = place.disks {
        facts.know("File system", file_system(device).unwrap_or_else(|| "unknown".to_owned()));
    }
    match BlockQueue::of(device) {
        Some(queue) => queue.tell(facts),
        None => {
            let text = format!("none: {} is on no block device of this machine", path.display());
            facts.know("Drive", text);
        }
    }
    facts.load_before = load_per_core();
}

/// How long the drive under an OSD has had something to do since the machine was started.
pub(super) fn drive_busy(disks: &RealDisks, osd: OsdId) -> Option<Span> {
    let (_, device) = under(disks, osd);
    busy_in(&BlockQueue::of(device)?.read("stat")?)
}

/// The tenth field of a block device's `stat`: milliseconds in which it had requests.
fn busy_in(stat: &str) -> Option<Span> {
    stat.split_ascii_whitespace().nth(9)?.parse().ok().map(Span::from_millis)
}

/// Where an OSD's disk is, and the number of the device that this is on.
fn under(disks: &RealDisks, osd: OsdId) -> (&Path, Dev) {
    match disks {
        RealDisks::Files(folder) => (folder, device_number(folder, MetadataExt::dev)),
        RealDisks::Devices(devices) => {
            let device = &devices[osd.get() as usize];
            (device, device_number(device, MetadataExt::rdev))
        }
    }
}

/// What the running node says of itself.
pub(super) fn reached(facts: &mut MachineFacts, modes: &DirectModes) {
    let is_direct = modes.direct.iter().all(|direct| *direct);
    reached_by(facts, &modes.event_loop, is_direct);
}

/// Who carries system calls out, and whether that passes the page cache by.
pub(super) fn reached_by(facts: &mut MachineFacts, event_loop: &str, is_direct: bool) {
    let disks = if is_direct { "direct" } else { "buffered" };
    facts.know("Event loop", format!("{event_loop}, {disks} I/O"));
    if !is_direct {
        facts.doubt(
            "The disks were reached through the page cache, so the figures are memory's; use a file system that \
             can do direct I/O."
                .to_owned(),
        );
    }
    if event_loop.starts_with("threads") {
        facts.doubt(
            "The system refuses io_uring, so threads carried the requests out, which costs processor time; allow \
             io_uring and run again."
                .to_owned(),
        );
    }
}

fn disks(place: &HostPlace, spec: &HostedSpec) -> String {
    match &place.disks {
        RealDisks::Files(folder) => {
            format!("{} files of {} in {}", spec.osds, spec.osd_size, folder.display())
        }
        RealDisks::Devices(devices) => {
            let names: Vec<String> = devices.iter().map(|d| d.display().to_string()).collect();
            names.join(", ")
        }
    }
}

fn answered() -> &'static str {
    match LOG_MODE {
        loadline_store::paged::LogMode::Fsync => "when the log is flushed",
        loadline_store::paged::LogMode::LogOnly => "when the device has them, not flushed",
        _ => "before the device has them",
    }
}

fn device_number(path: &Path, of: fn(&fs::Metadata) -> u64) -> Dev {
    fs::metadata(path).map_or(0, |found| of(&found))
}

/// Type and options, from `/proc/self/mountinfo`: the third field is the device, the sixth and the one after the dash tell.
fn file_system(device: Dev) -> Option<String> {
    let number = format!("{}:{}", major(device), minor(device));
    let text = fs::read_to_string("/proc/self/mountinfo").ok()?;
    text.lines().find_map(|line| mounted(line, &number))
}

fn mounted(line: &str, number: &str) -> Option<String> {
    let (before, after) = line.split_once(" - ")?;
    let fields: Vec<&str> = before.split(' ').collect();
    let kind = after.split(' ').next()?;
    (fields.get(2) == Some(&number)).then(|| format!("{kind}, mounted {}", fields[5]))
}

/// A block device as the system knows it.
struct BlockQueue {
    name: String,
    folder: PathBuf,
}

impl BlockQueue {
    /// The whole drive behind a device number: a partition has its queue in the folder above.
    fn of(device: Dev) -> Option<BlockQueue> {
        let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
        let found = fs::canonicalize(link).ok()?;
        let folder = found.ancestors().take(2).find(|folder| folder.join("queue").is_dir())?;
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(BlockQueue { name, folder: folder.to_owned() })
    }

    fn read(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn tell(&self, facts: &mut MachineFacts) {
        let model = self.read("device/model").unwrap_or_else(|| "no model told".to_owned());
        let sectors = self.read("size").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        facts.know("Drive", format!("{}, {model}, {}", self.name, Bytes::new(sectors * 512)));
        let turns = match self.read("queue/rotational").as_deref() {
            Some("0") => "no",
            Some(_) => "yes, by the system's word",
            None => "unknown",
        };
        facts.know("Rotating", turns.to_owned());
        let scheduler = self.read("queue/scheduler").unwrap_or_default();
        facts.know("Kernel's scheduler", chosen(&scheduler).to_owned());
        let cache = self.read("queue/write_cache").unwrap_or_else(|| "unknown".to_owned());
        facts.know("Drive's write cache", cache);
        if self.name.starts_with("vd") || self.name.starts_with("loop") {
            facts.doubt(format!(
                "{} is a virtual drive: what else its host does and caches is not seen here; figures hold for this \
                 machine only.",
                self.name
            ));
        }
    }
}

/// The word in brackets of `none [mq-deadline] kyber`.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(word, _)| word)
}

/// How often the machine is looked at before a run, and how long apart.
const LOOKS: u32 = 20;
const LOOK_APART: Duration = Duration::from_millis(10);

/// Tasks per core that run or could run beside this one, over a moment. The system's own mean of a minute would have the study's last run in it.
#[expect(clippy::disallowed_methods, reason = "the machine is looked at in real time")]
fn load_per_core() -> Option<f64> {
    let mut tasks = 0;
    for _ in 0..LOOKS {
        std::thread::sleep(LOOK_APART);
        tasks += others_running(&fs::read_to_string("/proc/stat").ok()?)?;
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    Some(f64::from(tasks) / f64::from(LOOKS) / cores as f64)
}

/// `procs_running` of `/proc/stat`, without the one that reads it.
fn others_running(stat: &str) -> Option<u32> {
    let running = stat.lines().find_map(|line| line.strip_prefix("procs_running "))?;
    Some(running.trim().parse::<u32>().ok()?.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_words_are_understood() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
        let stat = "  7 0 56 3  900 12 7200 450  0  431 453 0 0 0 0 2 1";
        assert_eq!(busy_in(stat), Some(Span::from_millis(431)));
        assert_eq!(busy_in("7 0 56"), None);
        assert_eq!(others_running("ctxt 9\nprocs_running 3\nprocs_blocked 0\n"), Some(2));
        assert_eq!(others_running("ctxt 9\n"), None);
        let line = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";
        assert_eq!(mounted(line, "254:0").as_deref(), Some("ext4, mounted rw,relatime"));
        assert_eq!(mounted(line, "254:1"), None);
    }
}
