//! What a real run stands on: a folder with new files, or devices that may be written over. It is checked before anything is
//! written, and cleared when the run is over.

use crate::place::{HostPlace, RealDisks};
use loadline_base::Bytes;
use loadline_host::{DiskClaim, Holding, may_make_in, why, wipe_ends};
use loadline_osd::OsdSet;
use rustix::fs::{FlockOperation, flock, statvfs};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The folder that runs make inside the one that was named.
const FOLDER: &str = "loadline-study";
/// A file in it that says whose it is. A running study holds a lock on it.
const MARK: &str = "made-by-loadline-study";

/// By this name an NBD client that stands in the run's folder finds the node.
pub(super) const NBD_SOCKET: &str = "nbd.sock";
const ADMIN_SOCKET: &str = "admin.sock";

/// Room that stays free for the system, and for what the file system itself needs.
const SPARE: Bytes = Bytes::from_mib(256);

/// What a run is to stand on.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunGround<'a> {
    /// Where.
    pub place: &'a HostPlace,
    /// How many disks.
    pub disks: u32,
    /// Size of each.
    pub size: Bytes,
    /// Whose they are.
    pub of: GroundOf,
}

/// Whose disks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroundOf {
    /// A node's: one for each OSD.
    Osds,
    /// Of a store that is embedded: one.
    Store,
}

impl RunGround<'_> {
    /// The name of a file in the run's folder.
    fn file(&self, at: u32) -> String {
        match self.of {
            GroundOf::Osds => format!("osd.{at}"),
            GroundOf::Store => "store".to_owned(),
        }
    }

    fn in_words(&self) -> String {
        match self.of {
            GroundOf::Osds => format!("{} OSDs of {}", self.disks, self.size),
            GroundOf::Store => format!("a store of {}", self.size),
        }
    }

    /// What takes less room.
    fn smaller(&self) -> &'static str {
        match self.of {
            GroundOf::Osds => "take a smaller --set scale or --set image",
            GroundOf::Store => "take a smaller --set scale",
        }
    }

    fn one(&self) -> &'static str {
        match self.of {
            GroundOf::Osds => "an OSD",
            GroundOf::Store => "the store",
        }
    }
}

/// Where a run has what.
#[derive(Default)]
pub(super) struct RunPaths {
    pub folder: PathBuf,
    pub disks: Vec<PathBuf>,
    /// Whether the disks are files that the node makes.
    pub make_files: bool,
}

impl RunPaths {
    pub(super) fn nbd_socket(&self) -> PathBuf {
        self.folder.join(NBD_SOCKET)
    }

    pub(super) fn admin_socket(&self) -> PathBuf {
        self.folder.join(ADMIN_SOCKET)
    }
}

/// The disks of one run. Dropping it clears them.
pub(super) struct RunDisks {
    pub paths: RunPaths,
    keep: bool,
    /// Held for as long as the run lasts.
    _lock: File,
}

/// Whether a run could begin.
pub(super) fn check(ground: &RunGround<'_>) -> Result<(), String> {
    match &ground.place.disks {
        RealDisks::Files(folder) => check_folder(folder, ground)?,
        RealDisks::Devices(devices) => check_devices(devices, ground)?,
    }
    match ground.of {
        GroundOf::Osds => check_sockets(&ground.place.disks),
        GroundOf::Store => Ok(()),
    }
}

/// A node's sockets lie in the run's folder, and the system takes no long name for one.
fn check_sockets(disks: &RealDisks) -> Result<(), String> {
    let folder = folder_of(disks);
    let longest = SocketAddr::from_pathname(folder.join(ADMIN_SOCKET));
    let shorter = match disks {
        RealDisks::Files(_) => "name a folder by a shorter path, as from the one where you are",
        RealDisks::Devices(_) => "set TMPDIR to a folder with a shorter path",
    };
    longest.map(drop).map_err(|_| {
        format!("{} is too long a path for a node's sockets; {shorter}", folder.display())
    })
}

fn check_folder(folder: &Path, ground: &RunGround<'_>) -> Result<(), String> {
    let found = fs::metadata(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{} is not there; make the folder first", folder.display())
        }
        _ => format!("{} cannot be used: {}", folder.display(), why(&error)),
    })?;
    if !found.is_dir() {
        return Err(format!("{} is no folder; name one", folder.display()));
    }
    may_make_in(folder)
        .map_err(|error| format!("{} cannot be used: {}", folder.display(), why(&error)))?;
    let own = folder.join(FOLDER);
    let mut reclaimed = 0;
    if own.exists() {
        check_own(&own)?;
        reclaimed = bytes_in(&own);
    }
    let room = statvfs(folder).map_err(|error| {
        format!("{} cannot be asked for its room: {}", folder.display(), why(&error.into()))
    })?;
    let free = Bytes::new(room.f_bavail * room.f_frsize + reclaimed);
    let wanted = Bytes::new(ground.size.get() * u64::from(ground.disks)) + SPARE;
    if free < wanted {
        return Err(format!(
            "{} has {:.1} GiB free and the study needs {:.1} GiB ({}); {}",
            folder.display(),
            gib(free),
            gib(wanted),
            ground.in_words(),
            ground.smaller()
        ));
    }
    Ok(())
}

fn gib(bytes: Bytes) -> f64 {
    bytes.as_mib_f64() / 1024.0
}

/// A folder of this name that no study made is left alone.
fn check_own(own: &Path) -> Result<(), String> {
    match own.join(MARK).is_file() {
        true => Ok(()),
        false => Err(format!(
            "{} holds files that no study made; move them away, or name another folder",
            own.display()
        )),
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

fn check_devices(devices: &[PathBuf], ground: &RunGround<'_>) -> Result<(), String> {
    let named = devices.len();
    // With fewer OSDs its copies may have no place: of that the study itself judges.
    let fits = match named > ground.disks as usize && named <= OsdSet::OSDS_MAX as usize {
        true => format!(", or --set osds={named}"),
        false => String::new(),
    };
    if named != ground.disks as usize {
        return Err(match ground.of {
            GroundOf::Osds => format!(
                "the study has {} OSDs and {named} devices are named; name one for each{fits}",
                ground.disks
            ),
            GroundOf::Store => {
                format!("the study has one store and {named} devices are named; name one")
            }
        });
    }
    devices.iter().try_for_each(|device| check_device(device, ground))
}

fn check_device(device: &Path, ground: &RunGround<'_>) -> Result<(), String> {
    let shown = device.display();
    let cannot = |error: io::Error| format!("{shown} cannot be used: {}", why(&error));
    let found = fs::metadata(device).map_err(cannot)?;
    if !found.file_type().is_block_device() {
        return Err(format!("{shown} is no block device; files go by --on files:DIR"));
    }
    let mut file = File::open(device).map_err(cannot)?;
    let size = Bytes::new(file.seek(SeekFrom::End(0)).map_err(cannot)?);
    if size < ground.size {
        let (wanted, whose) = (ground.size, ground.one());
        return Err(format!("{shown} has {size} and {whose} of this study needs {wanted}"));
    }
    let holding = Holding::of(device).map_err(cannot)?;
    if !ground.place.overwrite && !matches!(holding, Holding::Nothing | Holding::Unfinished) {
        return Err(format!("{shown} holds {holding}; --overwrite lets the study destroy it"));
    }
    Ok(())
}

/// Where a run keeps its files and sockets. Devices are locked one by one, so each process has a folder of its own for them.
fn folder_of(disks: &RealDisks) -> PathBuf {
    match disks {
        RealDisks::Files(folder) => folder.join(FOLDER),
        RealDisks::Devices(_) => {
            std::env::temp_dir().join(format!("{FOLDER}-{}", std::process::id()))
        }
    }
}

/// Removes the folders of processes that were killed. One that lives may not have locked its folder yet, and of a container's nothing is known
/// but the lock.
fn remove_left(beside: &Path) {
    let entries = fs::read_dir(beside).into_iter().flatten().flatten();
    for folder in entries.map(|entry| entry.path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let process = name.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('-'));
        let Some(process) = process.and_then(|of| of.parse::<u32>().ok()) else { continue };
        if Path::new("/proc").join(process.to_string()).exists() || check_own(&folder).is_err() {
            continue;
        }
        let Ok(mark) = File::options().append(true).open(folder.join(MARK)) else { continue };
        if flock(&mark, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // It is held until the folder is gone. Another user's stays.
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

impl RunDisks {
    /// Clears what an earlier run left, and makes room for a new one.
    pub(super) fn prepare(ground: &RunGround<'_>) -> Result<RunDisks, String> {
        check(ground)?;
        let place = ground.place;
        let folder = folder_of(&place.disks);
        if let RealDisks::Devices(_) = &place.disks {
            remove_left(&std::env::temp_dir());
        }
        let lock = take_folder(&folder)?;
        let disks = match &place.disks {
            RealDisks::Files(_) => {
                (0..ground.disks).map(|at| folder.join(ground.file(at))).collect()
            }
            RealDisks::Devices(devices) => devices.clone(),
        };
        let make_files = matches!(place.disks, RealDisks::Files(_));
        if let Err(refused) = claim_devices(&place.disks) {
            let _ = fs::remove_dir_all(&folder);
            return Err(refused);
        }
        let paths = RunPaths { folder, disks, make_files };
        Ok(RunDisks { paths, keep: place.keep_files, _lock: lock })
    }
}

/// Has all devices for a moment, before anything is written onto one: `--overwrite` speaks of what a device holds, and not of
/// what is done with it now.
fn claim_devices(disks: &RealDisks) -> Result<(), String> {
    let RealDisks::Devices(devices) = disks else { return Ok(()) };
    let claim = |device: &PathBuf| {
        DiskClaim::new(device).map_err(|problem| format!("{}: {problem}", device.display()))
    };
    devices.iter().map(claim).collect::<Result<Vec<_>, _>>().map(drop)
}

/// Makes the folder anew, and locks it.
fn take_folder(folder: &Path) -> Result<File, String> {
    let cannot = |error: io::Error| format!("{} cannot be used: {}", folder.display(), why(&error));
    if folder.exists() {
        check_own(folder)?;
    }
    fs::create_dir_all(folder).map_err(cannot)?;
    let mark = folder.join(MARK);
    let lock = File::options().create(true).append(true).open(&mark).map_err(cannot)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| format!("another study runs in {}; wait for its end", folder.display()))?;
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path != mark {
            fs::remove_file(&path).map_err(cannot)?;
        }
    }
    Ok(lock)
}

impl Drop for RunDisks {
    /// What cannot be removed now is removed by the next run.
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if !self.paths.make_files {
            for device in &self.paths.disks {
                // So that the next run finds the device empty, as this one did; unless somebody has it by now.
                let claim = DiskClaim::new(device);
                let _ = claim.is_ok().then(|| wipe_ends(device));
            }
        }
        let _ = fs::remove_dir_all(&self.paths.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::ClientKind;

    /// What speaks against four OSDs of this size there.
    fn checked(disks: RealDisks, size: Bytes) -> Result<(), String> {
        checked_of(disks, size, (4, GroundOf::Osds))
    }

    fn checked_of(
        disks: RealDisks,
        size: Bytes,
        (count, of): (u32, GroundOf),
    ) -> Result<(), String> {
        let client = ClientKind::Own;
        let place = HostPlace { disks, client, keep_files: false, overwrite: false };
        check(&RunGround { place: &place, disks: count, size, of })
    }

    const TIB: u64 = 1 << 20;

    #[test]
    fn room_is_what_is_free_and_what_an_earlier_run_left() {
        let place = tempfile::tempdir().unwrap();
        let check = |mib| checked(RealDisks::Files(place.path().into()), Bytes::from_mib(mib));
        assert_eq!(check(1), Ok(()));
        let refused = check(1024 * TIB).unwrap_err();
        assert!(
            refused.contains("the study needs 4194304.2 GiB (4 OSDs of 1024 TiB)"),
            "{refused}"
        );
        let own = place.path().join(FOLDER);
        fs::create_dir(&own).unwrap();
        fs::write(own.join(MARK), "").unwrap();
        // Sparse: it counts as long as it is, and takes nothing.
        File::create(own.join("osd.0")).unwrap().set_len(8 << 40).unwrap();
        assert_eq!(check(TIB), Ok(()));
    }

    #[test]
    fn files_that_no_study_made_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(FOLDER)).unwrap();
        let refused = checked(RealDisks::Files(place.path().into()), Bytes::from_mib(1));
        assert!(refused.unwrap_err().contains("holds files that no study made"));
    }

    /// "Not a directory (os error 20)" was told before.
    #[test]
    fn what_the_system_refuses_is_told_in_words() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = checked(RealDisks::Files(file.join("below")), Bytes::from_mib(1));
        let wanted = format!(
            "{}/below cannot be used: a part of the path is a file, not a folder",
            file.display()
        );
        assert_eq!(refused, Err(wanted));
    }

    #[test]
    fn a_store_needs_one_device_and_room_for_itself() {
        let store = |disks, size| checked_of(disks, size, (1, GroundOf::Store)).unwrap_err();
        let two = store(RealDisks::Devices(vec!["a".into(), "b".into()]), Bytes::from_mib(1));
        assert_eq!(two, "the study has one store and 2 devices are named; name one");
        let place = tempfile::tempdir().unwrap();
        let refused = store(RealDisks::Files(place.path().into()), Bytes::from_mib(1024 * TIB));
        assert!(refused.contains("(a store of 1024 TiB); take a smaller --set scale"), "{refused}");
    }

    /// The node of a study that had been checked did not begin: "File name too long".
    #[test]
    fn a_folder_whose_path_is_too_long_for_sockets_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let long = place.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        let check =
            |count_of| checked_of(RealDisks::Files(long.clone()), Bytes::from_mib(1), count_of);
        let refused = check((4, GroundOf::Osds)).unwrap_err();
        assert!(refused.contains("is too long a path for a node's sockets; name"), "{refused}");
        assert_eq!(check((1, GroundOf::Store)), Ok(()), "an embedded store has none");
    }

    /// Each process on devices has a folder of its own, and that of one that was killed stayed for ever. No process has these numbers.
    #[test]
    fn folders_of_killed_processes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let at = |whose: u32| place.path().join(format!("{FOLDER}-{whose}"));
        let [killed, elsewhere, foreign, own] =
            [u32::MAX, u32::MAX - 1, u32::MAX - 2, std::process::id()].map(at);
        drop(take_folder(&killed).unwrap());
        let _held = take_folder(&elsewhere).unwrap();
        fs::create_dir(&foreign).unwrap();
        drop(take_folder(&own).unwrap());
        remove_left(place.path());
        assert!(!killed.exists(), "nobody holds it");
        assert!(elsewhere.exists(), "a process of a container holds it");
        assert!(foreign.exists(), "no study made it");
        assert!(own.exists(), "its process lives");
    }

    #[test]
    fn each_osd_needs_a_device() {
        let devices = RealDisks::Devices(vec!["a".into(), "b".into()]);
        let refused = checked(devices, Bytes::from_mib(1)).unwrap_err();
        assert!(refused.contains("4 OSDs and 2 devices are named"), "{refused}");
        assert!(!refused.contains("--set osds"), "its three copies have no place there: {refused}");
    }
}
