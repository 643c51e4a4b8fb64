//! `loadline drive boot`

use super::served::BootArgs;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::show;
use loadline_base::{Bytes, Span};
use loadline_guest::{GuestError, GuestOrder, GuestRoot, GuestScript, GuestWatch, RootError, run};
use loadline_host::{ProgramMemory, why};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a drive may take until it listens, and until it has told its statistics.
const DRIVE_TIME: Duration = Duration::from_secs(10);

pub(super) fn carry_out(args: &BootArgs) -> Result<(), Failure> {
    let path = args.root.clone().map_or_else(default_root, Ok)?;
    let kernel = kernel(args)?;
    check(args, kernel.as_deref())?;
    let root = GuestRoot::at(&path, &args.mirror, &mut |step| show::note(step));
    let root = root.map_err(|error| match error {
        RootError::Lacking(_) => Failure::Environment(error.to_string()),
        _ => Failure::Environment(format!("no root for a guest: {error}")),
    })?;
    let own = std::env::current_exe().map_err(|error| {
        Failure::Environment(format!("this program is not to be found: {error}"))
    })?;
    let order = GuestOrder {
        root,
        kernel,
        kernel_words: kernel_words(args),
        memory: args.memory,
        time_limit: args.time_limit,
        results: args.results.clone(),
        shares: args.share.clone(),
        programs: vec![own.clone()],
        scripts: scripts(args),
        disks: args.vhost_blk.clone(),
        command: args.command.clone(),
    };
    let interrupted = interruptible()?;
    let mut out = io::stdout();
    let end = run(&order, &mut out, |socket| {
        ServedDrive::start(args, &own, socket, Arc::clone(&interrupted))
    });
    match end {
        Ok(end) if end.status == 0 => Ok(()),
        Ok(end) => Err(Failure::Environment(format!("the command ended with {}", end.status))),
        Err(error) if interrupted.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted(error.to_string()))
        }
        Err(error) => Err(Failure::Environment(error.to_string())),
    }
}

/// A kernel with less says nothing that could be passed on.
const MEMORY_MIN: Bytes = Bytes::from_mib(64);

/// Refuses what would be refused when a root has been made, packages fetched and all, or what the drive's process would refuse.
fn check(args: &BootArgs, kernel: Option<&Path>) -> Result<(), Failure> {
    let refused = |flag: &str, what: &dyn Display, why: &str| {
        Err(Failure::Input(format!("--{flag} {what}: {why}")))
    };
    if args.command.first().is_none_or(|program| program.is_empty()) {
        let why = "the command has no name; say which, such as `-- fio --version`";
        return Err(Failure::Input(why.to_owned()));
    }
    let memory_max = ProgramMemory::here().total;
    if args.memory < MEMORY_MIN || memory_max.is_some_and(|most| args.memory > most) {
        let most =
            memory_max.map_or(String::new(), |most| format!(", and this machine has {most}"));
        return refused(
            "memory",
            &args.memory,
            &format!("a guest takes at least {MEMORY_MIN}{most}"),
        );
    }
    if args.time_limit < Span::from_secs(1) {
        return refused("time-limit", &args.time_limit, "a guest is given at least 1 s");
    }
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if let Some(kernel) = kernel.filter(|kernel| !is_program(kernel)) {
        return refused("kernel", &kernel.display(), "there is no program of this name");
    }
    for path in &args.share {
        if let Err(error) = fs::metadata(path) {
            return refused("share", &path.display(), &why(&error));
        }
    }
    for path in &args.vhost_blk {
        let found = fs::metadata(path).map(|found| found.file_type().is_socket());
        let why = match found {
            Ok(true) => continue,
            Ok(false) => {
                "it is no socket; `loadline serve --vhost IMAGE=PATH` makes one".to_owned()
            }
            Err(error) => why(&error),
        };
        return refused("vhost-blk", &path.display(), &why);
    }
    let spec = super::serve::spec(&args.drive, args.virtual_time)?;
    drop(super::serve::device(&spec, &args.drive, args.backing.as_deref())?);
    if let Err(error) = fs::create_dir_all(&args.results) {
        return refused("results", &args.results.display(), &why(&error));
    }
    Ok(())
}

/// The socket of a machine's time, beside that of its disk.
const CALENDAR: &str = "calendar.sock";

/// The kernel that is meant, if it is not the root's own.
fn kernel(args: &BootArgs) -> Result<Option<PathBuf>, Failure> {
    if args.kernel.is_some() || !args.virtual_time {
        return Ok(args.kernel.clone());
    }
    let kernel = cache().map(|cache| cache.join("time-travel-kernel"));
    match kernel.filter(|kernel| kernel.exists()) {
        Some(kernel) => Ok(Some(kernel)),
        None => Err(Failure::Environment(
            "Debian's kernel keeps its own time; make one that does not with scripts/time-travel-kernel, or name one with --kernel"
                .to_owned(),
        )),
    }
}

fn kernel_words(args: &BootArgs) -> Vec<OsString> {
    let calendar = format!("time-travel=ext:/loadline/{CALENDAR}");
    args.virtual_time.then(|| OsString::from(calendar)).into_iter().collect()
}

/// fio counts time by the processor's own cycles, which know nothing of a time that is virtual.
fn scripts(args: &BootArgs) -> Vec<GuestScript> {
    let fio = GuestScript {
        name: "fio".to_owned(),
        text: "#!/bin/sh\nexec /usr/bin/fio --clocksource=clock_gettime \"$@\"\n".to_owned(),
    };
    args.virtual_time.then_some(fio).into_iter().collect()
}

/// Where a guest's root is kept if nobody says.
fn default_root() -> Result<PathBuf, Failure> {
    let cache = cache().ok_or_else(|| {
        Failure::Input("there is no HOME to keep a guest's root in; say --root FOLDER".to_owned())
    })?;
    Ok(cache.join("guest"))
}

/// Where what is made once is kept.
fn cache() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let folder = |name: &str| named(name).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(cache?.join("loadline"))
}

/// The drive's process beside the guest.
struct ServedDrive {
    child: Child,
    interrupted: Arc<AtomicBool>,
}

impl ServedDrive {
    /// Starts it; it listens when this returns.
    fn start(
        args: &BootArgs,
        own: &Path,
        socket: &Path,
        interrupted: Arc<AtomicBool>,
    ) -> Result<ServedDrive, GuestError> {
        let failed = |error| GuestError::Start { what: "the drive".to_owned(), error };
        let statistics = File::create(args.results.join("drive.json")).map_err(failed)?;
        // It ends with this process, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(own).args(["drive", "serve"]);
        command.args(args.drive.words()).arg("--vhost-scsi").arg(socket).arg("--json");
        if args.virtual_time {
            command.arg("--calendar").arg(socket.with_file_name(CALENDAR));
        }
        if let Some(backing) = &args.backing {
            command.arg("--backing").arg(backing);
        }
        let child = command.stdin(Stdio::null()).stdout(statistics).spawn().map_err(failed)?;
        let mut drive = ServedDrive { child, interrupted };
        drive.listens(socket).map_err(failed)?;
        show::note(&format!("the drive is process {}", drive.child.id()));
        Ok(drive)
    }

    fn listens(&mut self, socket: &Path) -> io::Result<()> {
        let until = now() + DRIVE_TIME;
        while !socket.exists() {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("it ended at once ({status})")));
            }
            if now() > until {
                return Err(io::Error::other("it does not listen"));
            }
            pause();
        }
        Ok(())
    }
}

impl GuestWatch for ServedDrive {
    fn ends(&mut self) -> Option<String> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some("interrupted".to_owned());
        }
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("the drive's process has gone ({status})"))
    }
}

impl Drop for ServedDrive {
    /// Asks for its statistics, and does not wait for ever.
    fn drop(&mut self) {
        let process = Pid::from_raw(self.child.id() as i32);
        if let (Ok(None), Some(process)) = (self.child.try_wait(), process) {
            // Whoever has gone meanwhile needs no signal.
            let _ = kill_process(process, Signal::TERM);
        }
        let until = now() + DRIVE_TIME;
        while let Ok(None) = self.child.try_wait() {
            if now() > until {
                let _ = self.child.kill();
            }
            pause();
        }
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "another process has a limit in real time")]
    Instant::now()
}

fn pause() {
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    std::thread::sleep(Duration::from_millis(10));
}
