//! One boot of a guest, from its first process to its last.

use crate::console::{CONSOLE_BYTES_MAX, Console, TooMuch};
use crate::init::{command_line, script};
use crate::root::GuestRoot;
use loadline_base::{Bytes, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::Timespec;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What is to be run, and in what.
#[derive(Clone, Debug)]
pub struct GuestOrder {
    /// From where it boots.
    pub root: GuestRoot,
    /// Another kernel than the root's, a file of this machine.
    pub kernel: Option<PathBuf>,
    /// More words for the kernel's command line.
    pub kernel_words: Vec<OsString>,
    /// The guest's memory.
    pub memory: Bytes,
    /// After which it is ended, boot and all.
    pub time_limit: Span,
    /// The folder that the command finds as `/results`, and in which it begins.
    pub results: PathBuf,
    /// Files and folders that it finds in `/share`, by their own names.
    pub shares: Vec<PathBuf>,
    /// Programs that it finds by their own names.
    pub programs: Vec<PathBuf>,
    /// Scripts of this run, which it finds before programs of the root.
    pub scripts: Vec<GuestScript>,
    /// Sockets of disks by vhost-user-blk, which it finds as `/dev/vda` and so on.
    pub disks: Vec<PathBuf>,
    /// The command.
    pub command: Vec<OsString>,
}

/// A program that is made for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestScript {
    /// How it is called.
    pub name: String,
    /// What it does; its first line names what carries it out.
    pub text: String,
}

/// What goes on beside a guest.
pub trait GuestWatch {
    /// Why the guest is to end at once, if it is.
    fn ends(&mut self) -> Option<String>;
}

/// How a command in a guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestEnd {
    /// Its exit status, as a shell has it.
    pub status: i32,
}

/// Why a command in a guest has no end.
#[derive(Debug, Error)]
pub enum GuestError {
    /// Something that a guest needs cannot be had.
    #[error("{what}: {error}")]
    Start {
        /// What.
        what: String,
        /// What was said.
        error: io::Error,
    },
    /// Two files that are to be shared have one name.
    #[error("two things to be shared are called `{0}`")]
    SameName(String),
    /// It took too long.
    #[error("the guest was ended after its time limit of {limit} ({}); {hint}", stage(*begun))]
    Time {
        /// The limit.
        limit: Span,
        /// Whether the command had begun.
        begun: bool,
        /// Where to look.
        hint: String,
    },
    /// Its console said too much.
    #[error(
        "the guest was ended because its console had said more than {}; {hint}",
        Bytes::new(CONSOLE_BYTES_MAX)
    )]
    Console {
        /// Where to look.
        hint: String,
    },
    /// Who watches wanted it to end.
    #[error("{why} ({}), and the guest was ended", stage(*begun))]
    Watch {
        /// Why.
        why: String,
        /// Whether the command had begun.
        begun: bool,
    },
    /// Its kernel ended by itself, and left no status.
    #[error("the guest's kernel ended ({}) and left no status of the command; {hint}", stage(*begun))]
    Kernel {
        /// Whether the command had begun.
        begun: bool,
        /// Where to look.
        hint: String,
    },
}

fn stage(begun: bool) -> &'static str {
    if begun { "while the command ran" } else { "before the command began" }
}

/// How often the watch is looked at.
const WATCH_TIME: Duration = Duration::from_millis(50);

/// How long a guest may take to switch itself off once its command has ended.
const OFF_TIME: Duration = Duration::from_secs(10);

/// A guest's memory is a file in a file system of its own, which has some room beside it.
const BESIDE_MEMORY: Bytes = Bytes::from_mib(64);

/// Sets up what the guest sees in a space of mounts that ends with it, and becomes the kernel. Its words: root, the run's
/// folder, size of the file system for its memory; then pairs of what is shared and where; after an empty word the kernel with
/// its command line.
///
/// Its first line is for a user: `chroot` is in a folder that only the path of root has.
const SETUP: &str = r#"PATH=$PATH:/usr/sbin:/sbin
set -e
root=$1 run=$2 size=$3
shift 3
mount --rbind "$run" "$root/loadline"
while [ -n "$1" ]; do
    mount --rbind "$1" "$root/loadline/$2"
    shift 2
done
shift
mount -t tmpfs -o "size=$size,mode=1777" tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
exec chroot "$root" /usr/bin/env -i TMPDIR=/tmp PATH=/usr/bin HOME=/ "$@"
"#;

/// Boots a guest whose drive listens on the socket that `drive` gets, and runs the command. The drive has to listen when
/// `drive` returns; what that gives watches the guest, and is dropped when it has ended.
pub fn run<W: GuestWatch>(
    order: &GuestOrder,
    out: &mut dyn Write,
    drive: impl FnOnce(&Path) -> Result<W, GuestError>,
) -> Result<GuestEnd, GuestError> {
    let folder = GuestFolder::make(order)?;
    let mut watch = drive(&folder.path.join("drive.sock"))?;
    let log_path = order.results.join("console.log");
    let log = File::create(&log_path).map_err(|error| start(&log_path, error))?;
    let hint = format!("{} has what it said", log_path.display());
    let mut guest = BootedGuest::boot(order, &folder)?;
    let mut console = Console::new(log, out);
    let over = guest.follow(order.time_limit, &mut console, &mut watch, &folder);
    drop(guest);
    let begun = console.begun();
    match (folder.status(), over) {
        (Some(status), _) => Ok(GuestEnd { status }),
        (None, Over::Closed) => Err(GuestError::Kernel { begun, hint }),
        (None, Over::Time) => Err(GuestError::Time { limit: order.time_limit, begun, hint }),
        (None, Over::TooMuch) => Err(GuestError::Console { hint }),
        (None, Over::Watch(why)) => Err(GuestError::Watch { why, begun }),
        (None, Over::Io(error)) => Err(start(&log_path, error)),
    }
}

/// Where the guest finds the socket of a disk, below the run's folder.
fn disk_place(number: usize) -> PathBuf {
    PathBuf::from(format!("disk{number}.sock"))
}

fn start(what: &Path, error: io::Error) -> GuestError {
    GuestError::Start { what: what.display().to_string(), error }
}

/// Why nothing more is read from a console.
#[derive(Debug)]
enum Over {
    Closed,
    Time,
    TooMuch,
    Watch(String),
    Io(io::Error),
}

/// How many folders of other runs may have this process's number.
const NAMESAKES_MAX: u32 = 1000;

/// A new folder in `parent`, for this process's user alone. One that is there stays: containers with a folder in common have
/// processes of one number, so it can be that of a guest that runs.
fn folder_of_run(parent: &Path) -> io::Result<PathBuf> {
    let mut turn = 0;
    loop {
        let path = parent.join(format!("loadline-guest-{}-{turn}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && turn < NAMESAKES_MAX => {
                turn += 1;
            }
            made => return made.map(|()| path),
        }
    }
}

/// The folder of one run, which the guest sees as `/loadline`; it goes with its value.
#[derive(Debug)]
struct GuestFolder {
    path: PathBuf,
    /// What is shared, and where it appears below the folder.
    shares: Vec<(PathBuf, PathBuf)>,
}

impl GuestFolder {
    fn make(order: &GuestOrder) -> Result<GuestFolder, GuestError> {
        let parent = std::env::temp_dir();
        let path = folder_of_run(&parent).map_err(|error| start(&parent, error))?;
        let mut folder = GuestFolder { path, shares: Vec::new() };
        folder.fill(order).map_err(|error| start(&folder.path.clone(), error))?;
        for (paths, below) in [(&order.shares, "share"), (&order.programs, "share/bin")] {
            for path in paths {
                folder.share(path, below)?;
            }
        }
        if let Some(kernel) = &order.kernel {
            folder.share_as(kernel, PathBuf::from("kernel"))?;
        }
        for (number, disk) in order.disks.iter().enumerate() {
            folder.share_as(disk, disk_place(number))?;
        }
        folder.share_as(&order.results, PathBuf::from("results"))?;
        Ok(folder)
    }

    fn fill(&self, order: &GuestOrder) -> io::Result<()> {
        fs::create_dir_all(&order.results)?;
        fs::create_dir_all(self.path.join("share/bin"))?;
        fs::write(self.path.join("command"), command_line(&order.command).as_bytes())?;
        let init = (self.path.join("init"), script());
        let of_run = |script: &GuestScript| {
            (self.path.join("share/bin").join(&script.name), script.text.clone())
        };
        for (path, text) in order.scripts.iter().map(of_run).chain([init]) {
            fs::write(&path, text)?;
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(())
    }

    fn share(&mut self, path: &Path, below: &str) -> Result<(), GuestError> {
        let real = fs::canonicalize(path).map_err(|error| start(path, error))?;
        let name = path.file_name().or(real.file_name()).unwrap_or_default().to_owned();
        let place = Path::new(below).join(&name);
        if fs::symlink_metadata(self.path.join(&place)).is_ok() {
            return Err(GuestError::SameName(name.to_string_lossy().into_owned()));
        }
        self.share_as(&real, place)
    }

    /// Something to be mounted on a folder or a file of its kind.
    fn share_as(&mut self, path: &Path, place: PathBuf) -> Result<(), GuestError> {
        let real = fs::canonicalize(path).map_err(|error| start(path, error))?;
        let target = self.path.join(&place);
        let made = if real.is_dir() {
            fs::create_dir_all(&target)
        } else {
            File::create(&target).map(|_| ())
        };
        made.map_err(|error| start(&target, error))?;
        self.shares.push((real, place));
        Ok(())
    }

    /// What the command left as its status.
    fn status(&self) -> Option<i32> {
        fs::read_to_string(self.path.join("status")).ok()?.trim().parse().ok()
    }
}

impl Drop for GuestFolder {
    fn drop(&mut self) {
        // What stays in a folder for temporary files is somebody else's to clear.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A guest that runs; it ends with its value.
#[derive(Debug)]
struct BootedGuest {
    child: Child,
    console: ChildStdout,
    begun: Instant,
}

impl BootedGuest {
    fn boot(order: &GuestOrder, folder: &GuestFolder) -> Result<BootedGuest, GuestError> {
        // The guest ends with whoever has started it: with its first process everything in its space of numbers goes.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare"]);
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", SETUP, "sh"]);
        let size = order.memory + BESIDE_MEMORY;
        command.arg(order.root.path()).arg(&folder.path).arg(size.get().to_string());
        for (path, place) in &folder.shares {
            command.arg(path).arg(place);
        }
        command
            .arg("")
            .arg(order.kernel.as_ref().map_or("/usr/bin/linux.uml", |_| "/loadline/kernel"));
        command.arg(format!("mem={}", order.memory.get()));
        command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]);
        command.args(["init=/loadline/init", "con=null", "con0=fd:0,fd:1"]);
        // 8 is the number of SCSI host adapters among virtio's devices.
        command.arg("virtio_uml.device=/loadline/drive.sock:8").args(&order.kernel_words);
        for number in 0..order.disks.len() {
            // 2 is the number of disks.
            let place = disk_place(number);
            command.arg(format!("virtio_uml.device=/loadline/{}:2", place.display()));
        }
        let (ours, theirs) = io::pipe().map_err(|error| start(Path::new("a pipe"), error))?;
        let both = theirs.try_clone().map_err(|error| start(Path::new("a pipe"), error))?;
        command.stdin(Stdio::null()).stdout(theirs).stderr(both).process_group(0);
        let child = command.spawn().map_err(|error| start(Path::new("setpriv"), error))?;
        // The command holds the other ends of the pipe, which has to close when the guest does.
        drop(command);
        #[expect(clippy::disallowed_methods, reason = "a guest has a limit in real time")]
        let begun = Instant::now();
        Ok(BootedGuest {
            child,
            console: ChildStdout::from(std::os::fd::OwnedFd::from(ours)),
            begun,
        })
    }

    /// Passes on what the guest says until it has ended or has to.
    fn follow<L: Write, O: Write>(
        &mut self,
        time_limit: Span,
        console: &mut Console<L, O>,
        watch: &mut dyn GuestWatch,
        folder: &GuestFolder,
    ) -> Over {
        let limit = Duration::from_nanos(time_limit.nanos());
        let mut ended: Option<Instant> = None;
        loop {
            match self.hear(console) {
                // One that never stops talking has the same limits as a silent one.
                Ok(Heard::Open) => {}
                Ok(Heard::TooMuch) => return Over::TooMuch,
                Ok(Heard::End) => return Over::Closed,
                Err(error) => return Over::Io(error),
            }
            #[expect(clippy::disallowed_methods, reason = "a guest has a limit in real time")]
            let now = Instant::now();
            if ended.is_none() && folder.status().is_some() {
                ended = Some(now);
            }
            if ended.is_some_and(|ended| now - ended > OFF_TIME) || now - self.begun > limit {
                return Over::Time;
            }
            if ended.is_none()
                && let Some(why) = watch.ends()
            {
                return Over::Watch(why);
            }
        }
    }

    fn hear<L: Write, O: Write>(&mut self, console: &mut Console<L, O>) -> io::Result<Heard> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(WATCH_TIME.subsec_nanos()) };
        let ready = {
            let mut polled = [PollFd::new(&self.console, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(ready) => ready > 0,
                Err(Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if !ready {
            return Ok(Heard::Open);
        }
        let mut said = [0; 1 << 16];
        Ok(match self.console.read(&mut said)? {
            0 => Heard::End,
            bytes => match console.take(&said[..bytes])? {
                Ok(()) => Heard::Open,
                Err(TooMuch) => Heard::TooMuch,
            },
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Open,
    TooMuch,
    End,
}

impl Drop for BootedGuest {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            // Whoever has gone already cannot be ended again.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Ends(Option<&'static str>);

    impl GuestWatch for Ends {
        fn ends(&mut self) -> Option<String> {
            self.0.map(str::to_owned)
        }
    }

    /// How a guest is ended that never stops talking.
    fn end_of_a_talker(time_limit: Span, mut watch: Ends) -> Over {
        let parent = tempfile::tempdir().unwrap();
        let folder = GuestFolder { path: folder_of_run(parent.path()).unwrap(), shares: vec![] };
        let (ours, theirs) = io::pipe().unwrap();
        let mut command = Command::new("yes");
        let child = command.stdin(Stdio::null()).stdout(theirs).process_group(0).spawn().unwrap();
        drop(command);
        let console = ChildStdout::from(std::os::fd::OwnedFd::from(ours));
        #[expect(clippy::disallowed_methods, reason = "a guest has a limit in real time")]
        let begun = Instant::now();
        let mut guest = BootedGuest { child, console, begun };
        guest.follow(time_limit, &mut Console::new(io::sink(), io::sink()), &mut watch, &folder)
    }

    /// Neither the time limit nor ^C nor the end of the drive reached a guest that kept talking: only a pause let them be seen.
    #[test]
    fn a_guest_that_keeps_talking_is_ended_in_time() {
        let over = end_of_a_talker(Span::ZERO, Ends(None));
        assert!(matches!(over, Over::Time), "{over:?}");
        let over = end_of_a_talker(Span::from_secs(600), Ends(Some("interrupted")));
        assert!(matches!(&over, Over::Watch(why) if why == "interrupted"), "{over:?}");
    }

    #[test]
    fn a_run_takes_no_other_runs_folder() {
        let parent = tempfile::tempdir().unwrap();
        let first = folder_of_run(parent.path()).unwrap();
        fs::write(first.join("command"), "true").unwrap();
        let second = folder_of_run(parent.path()).unwrap();
        assert_ne!(first, second);
        assert!(first.join("command").exists(), "a guest that runs has lost its folder");
        assert_eq!(fs::metadata(&second).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
