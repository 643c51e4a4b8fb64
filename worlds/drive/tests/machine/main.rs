//! The drive from the other side of its socket: a naive machine that shares its memory, fills rings and waits for answers.

mod answers;
mod naive;

use loadline_base::Span;
use loadline_drive::{
    DriveContents, DriveMedium, DriveStatistics, MediumFault, ScsiDevice, ServeOrders, bind, serve,
};
use loadline_scsi::{Capability, DiskIdentity, ScsiDisk};
use loadline_sim::hdd::{Hdd, HddSpec};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A drive that serves in a thread, until its value goes.
pub(crate) struct Served {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<DriveStatistics>>,
}

struct Flag(Arc<AtomicBool>);

impl ServeOrders for Flag {
    fn ends(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    fn wants_statistics(&mut self) -> bool {
        false
    }
    fn statistics(&mut self, _: &DriveStatistics) {}
    fn session_over(&mut self, _: &str) {}
}

impl Served {
    /// The drive of the benchmark's model.
    pub(crate) fn mechanical(faults: Vec<MediumFault>) -> Served {
        let spec = spec();
        Served::start(DriveMedium::mechanical(Hdd::new(spec, 1)), faults, DriveContents::Zeros)
    }

    /// One that takes no time.
    pub(crate) fn at_once(faults: Vec<MediumFault>, contents: DriveContents) -> Served {
        Served::start(DriveMedium::instant(), faults, contents)
    }

    fn start(mut medium: DriveMedium, faults: Vec<MediumFault>, contents: DriveContents) -> Served {
        faults.into_iter().for_each(|fault| medium.damage(fault));
        let disk = ScsiDisk::new(
            identity(),
            Capability::DurationLimits,
            Span::from_millis(20)..=Span::from_secs(4294),
        );
        let mut device = ScsiDevice::new(disk, medium, contents);
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("drive.sock");
        let listener = bind(&socket).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let mut orders = Flag(Arc::clone(&end));
        #[expect(clippy::disallowed_methods, reason = "the machine is this thread")]
        let thread =
            std::thread::spawn(move || serve(&listener, &mut device, &mut orders).unwrap());
        Served { _folder: folder, socket, end, thread: Some(thread) }
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
