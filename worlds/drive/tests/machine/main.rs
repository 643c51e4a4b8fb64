//! The drive from the other side of its socket: a naive machine that shares its memory, fills rings and waits for answers.

mod answers;
mod naive;
mod rings;
mod virtual_time;

use loadline_base::Span;
use loadline_drive::{
    DriveContents, DriveMedium, DriveStatistics, MediumFault, ScsiDevice, ServeOrders, serve,
    serve_in_virtual_time,
};
use loadline_scsi::{Capability, DiskIdentity, ScsiDisk};
use loadline_sim::hdd::{Hdd, HddSpec};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const CALENDAR: &str = "calendar.sock";

/// A drive that serves in a thread, until its value goes.
pub(crate) struct Served {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<DriveStatistics>>,
    told: Arc<Mutex<Vec<String>>>,
}

struct Flag {
    end: Arc<AtomicBool>,
    told: Arc<Mutex<Vec<String>>>,
}

impl ServeOrders for Flag {
    fn ends(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }
    fn wants_statistics(&mut self) -> bool {
        false
    }
    fn statistics(&mut self, _: &DriveStatistics) {}
    fn session_over(&mut self, why: &str) {
        self.told.lock().unwrap().push(why.to_owned());
    }
}

impl Served {
    /// The drive of the benchmark's model.
    pub(crate) fn mechanical(faults: Vec<MediumFault>) -> Served {
        let spec = spec();
        let medium = DriveMedium::mechanical(Hdd::new(spec, 1));
        Served::start(medium, faults, DriveContents::Zeros, false)
    }

    /// The same, which keeps its machines' time, too.
    pub(crate) fn in_virtual_time(faults: Vec<MediumFault>) -> Served {
        let medium = DriveMedium::mechanical(Hdd::new(spec(), 1));
        Served::start(medium, faults, DriveContents::Zeros, true)
    }

    /// One that takes no time.
    pub(crate) fn at_once(faults: Vec<MediumFault>, contents: DriveContents) -> Served {
        Served::start(DriveMedium::instant(), faults, contents, false)
    }

    fn start(
        mut medium: DriveMedium,
        faults: Vec<MediumFault>,
        contents: DriveContents,
        keeps_time: bool,
    ) -> Served {
        faults.into_iter().for_each(|fault| medium.damage(fault));
        let disk = ScsiDisk::new(
            identity(),
            Capability::DurationLimits,
            Span::from_millis(20)..=Span::from_secs(4294),
        );
        let mut device = ScsiDevice::new(disk, medium, contents);
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("drive.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let told = Arc::default();
        let mut orders = Flag { end: Arc::clone(&end), told: Arc::clone(&told) };
        let calendars =
            keeps_time.then(|| UnixListener::bind(folder.path().join(CALENDAR)).unwrap());
        #[expect(clippy::disallowed_methods, reason = "the machine is this thread")]
        let thread = std::thread::spawn(move || {
            let served = match &calendars {
                Some(calendars) => {
                    serve_in_virtual_time(&listener, calendars, &mut device, &mut orders)
                }
                None => serve(&listener, &mut device, &mut orders),
            };
            served.unwrap()
        });
        Served { _folder: folder, socket, end, thread: Some(thread), told }
    }

    /// Where it keeps time.
    pub(crate) fn calendar(&self) -> PathBuf {
        self.socket.with_file_name(CALENDAR)
    }

    /// Why sessions were over.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Ends it; what it has counted.
    pub(crate) fn end(mut self) -> DriveStatistics {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn spec() -> HddSpec {
    HddSpec::built_in("hdd-22tb-cdl").unwrap()
}

fn identity() -> DiskIdentity {
    DiskIdentity {
        vendor: "LOADLINE".to_owned(),
        product: "test".to_owned(),
        revision: "0001".to_owned(),
        serial: "1".to_owned(),
        world_wide: 1,
        blocks: spec().sectors,
        rpm: 7200,
        write_cache: false,
    }
}
