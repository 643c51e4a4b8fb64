//! What a guest boots from: a folder of Debian's packages.
//!
//! `apt-get` resolves and fetches them with a configuration, a state and a cache of its own, checked by Debian's keys; the
//! machine's own packages are neither looked at nor touched. `dpkg-deb` unpacks them. Their scripts do not run: the few links
//! that a guest needs of them are made here. So nothing of it needs the rights of root.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Debian's release whose kernel knows duration limits (6.12), with a fio that can ask for them (3.39).
const SUITE: &str = "trixie";

/// Debian's public keys, of the package `debian-archive-keyring`.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What a guest has, beside what these need: the kernel, the benchmark's tools, and a shell with its tools.
const PACKAGES: [&str; 20] = [
    "user-mode-linux",
    "fio",
    "sg3-utils",
    "gnuplot-nox",
    "bash",
    "bc",
    "coreutils",
    "debianutils",
    "diffutils",
    "findutils",
    "gawk",
    "grep",
    "gzip",
    "hostname",
    "kmod",
    "mount",
    "procps",
    "python3-minimal",
    "sed",
    "util-linux",
];

/// The form of a root; one of another form is made anew.
const FORM: &str = "1\n";

/// What the stamp of a folder says in which a root is being made.
const MAKING: &str = "making\n";

/// The file that tells whose a folder is: no other is ever removed.
const STAMP: &str = "loadline-guest";

/// Folders that only a guest has: where shared ones come, and the run's own.
const FOLDERS: [&str; 3] = ["loadline", "results", "share"];

/// Why there is no root.
#[derive(Debug, Error)]
pub enum RootError {
    /// This machine cannot fetch Debian's packages.
    #[error("a guest's root is made of Debian's packages, and {0}")]
    Lacking(String),
    /// A step failed.
    #[error("{step} failed: {why}")]
    Step {
        /// What was tried.
        step: String,
        /// What was said.
        why: String,
    },
    /// The place of a root, or of its making, holds what is somebody's own.
    #[error(
        "{} is not empty and no guest's root, and stays as it is: name another folder, or empty it",
        .0.display()
    )]
    Foreign(PathBuf),
    /// A folder cannot be used.
    #[error("{}: {error}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What was said.
        error: io::Error,
    },
}

/// A folder from which a guest boots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRoot {
    path: PathBuf,
}

impl GuestRoot {
    /// The root at `path`, with `path.lock` beside it; made if it is not there, from `mirror`, in `path.new`, telling each step.
    /// Where either is a folder of something else nothing is done.
    pub fn at(
        path: &Path,
        mirror: &str,
        tell: &mut dyn FnMut(&str),
    ) -> Result<GuestRoot, RootError> {
        let whole = std::path::absolute(path).map_err(|error| folder(path, error))?;
        // What lies beside a folder is named by it, and `..` is no name.
        let path = match whole.file_name().is_some() {
            true => whole,
            false => fs::canonicalize(&whole).map_err(|error| folder(&whole, error))?,
        };
        check_clearable(&path)?;
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(|error| folder(parent, error))?;
        // Of two that want the same root one makes it.
        let lock = path.with_added_extension("lock");
        let held = File::options().create(true).truncate(false).write(true).open(&lock);
        let held = held.map_err(|error| folder(&lock, error))?;
        flock(&held, FlockOperation::LockExclusive).map_err(|error| folder(&lock, error.into()))?;
        if fs::read_to_string(path.join(STAMP)).is_ok_and(|form| form == FORM) {
            return Ok(GuestRoot { path });
        }
        let work = path.with_added_extension("new");
        check_clearable(&path)?;
        clear(&work)?;
        fs::create_dir(&work).map_err(|error| folder(&work, error))?;
        fs::write(work.join(STAMP), MAKING).map_err(|error| folder(&work, error))?;
        make(&work, mirror, tell)?;
        clear(&path)?;
        fs::rename(work.join("root"), &path).map_err(|error| folder(&path, error))?;
        clear(&work)?;
        Ok(GuestRoot { path })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn folder(path: &Path, error: io::Error) -> RootError {
    RootError::Folder { path: path.to_owned(), error }
}

/// Whether a stamp of any form says that a folder is ours.
fn is_ours(path: &Path) -> bool {
    let stamp = fs::read_to_string(path.join(STAMP));
    stamp.is_ok_and(|form| form == MAKING || form.trim_end().parse::<u32>().is_ok())
}

/// Whether [`clear`] would leave nothing at `path`: there is nothing, an empty folder, or one of ours.
fn check_clearable(path: &Path) -> Result<(), RootError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(is_empty) if is_empty || is_ours(path) => Ok(()),
        Ok(_) => Err(RootError::Foreign(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(folder(path, error)),
    }
}

/// Removes an empty folder, or one of ours, whose stamp goes last: what is left of it on the way stays ours.
fn clear(path: &Path) -> Result<(), RootError> {
    check_clearable(path)?;
    let failed = |error| folder(path, error);
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == STAMP {
            continue;
        }
        let removed = match entry.file_type().map_err(failed)?.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
        removed.map_err(failed)?;
    }
    match fs::remove_file(path.join(STAMP)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // What has come meanwhile makes this fail, and stays.
    fs::remove_dir(path).map_err(failed)
}

fn make(work: &Path, mirror: &str, tell: &mut dyn FnMut(&str)) -> Result<(), RootError> {
    if !Path::new(KEYRING).exists() {
        let text = format!("{KEYRING} is not there; install debian-archive-keyring");
        return Err(RootError::Lacking(text));
    }
    for program in ["apt-get", "dpkg-deb"] {
        let there = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            let text = format!("`{program}` is not there; this works on Debian and its kin");
            return Err(RootError::Lacking(text));
        }
    }
    let config = configure(work, mirror)?;
    tell("making a guest's root, once: fetching Debian's packages (about 120 MB)");
    apt(&config, &["update"])?;
    let install = ["install", "--yes", "--download-only", "--no-install-recommends"];
    apt(&config, &[&install[..], &PACKAGES[..]].concat())?;
    tell("making a guest's root, once: unpacking them (about 450 MB)");
    let root = work.join("root");
    unpack(&work.join("cache/archives"), &root)?;
    link(&root)?;
    fs::write(root.join(STAMP), FORM).map_err(|error| folder(&root, error))
}

/// A configuration of `apt-get` under which it knows one source and no package of this machine.
fn configure(work: &Path, mirror: &str) -> Result<PathBuf, RootError> {
    let folders = ["etc/preferences.d", "etc/trusted.gpg.d", "state/lists/partial"];
    for name in folders.iter().chain(&["cache/archives/partial", "root"]) {
        let path = work.join(name);
        fs::create_dir_all(&path).map_err(|error| folder(&path, error))?;
    }
    let write = |name: &str, text: String| {
        let path = work.join(name);
        fs::write(&path, text).map_err(|error| folder(&path, error))?;
        Ok::<PathBuf, RootError>(path)
    };
    let status = write("status", String::new())?;
    let source = format!("deb [signed-by={KEYRING}] {mirror} {SUITE} main\n");
    let sources = write("etc/sources.list", source)?;
    let text = format!(
        "Dir::Etc \"{etc}\";\nDir::Etc::sourcelist \"{sources}\";\nDir::Etc::sourceparts \"-\";\n\
         Dir::State \"{state}\";\nDir::State::status \"{status}\";\nDir::Cache \"{cache}\";\n\
         APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n\
         APT::Sandbox::User \"\";\nAcquire::Languages \"none\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n",
        etc = work.join("etc").display(),
        sources = sources.display(),
        state = work.join("state").display(),
        status = status.display(),
        cache = work.join("cache").display(),
    );
    write("apt.conf", text)
}

fn apt(config: &Path, words: &[&str]) -> Result<(), RootError> {
    let mut command = Command::new("apt-get");
    command.arg("-c").arg(config).arg("-q").args(words);
    checked(&mut command, &format!("`apt-get {}`", words[0]))
}

/// Runs a step; of what it says its last line of the standard error is kept.
fn checked(command: &mut Command, step: &str) -> Result<(), RootError> {
    let failed = |why: String| RootError::Step { step: step.to_owned(), why };
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(failed(last.unwrap_or("it said nothing").trim().to_owned()))
}

/// Unpacks every package; the one with the links of the merged `/usr` comes first.
fn unpack(archives: &Path, root: &Path) -> Result<(), RootError> {
    let read = fs::read_dir(archives).map_err(|error| folder(archives, error))?;
    let paths = read.filter_map(|entry| Some(entry.ok()?.path()));
    let mut packages: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect();
    let is_base = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("base-files_"))
    };
    packages.sort_by_key(|path| (!is_base(path), path.clone()));
    for package in &packages {
        let mut command = Command::new("dpkg-deb");
        command.arg("--extract").arg(package).arg(root);
        checked(&mut command, &format!("unpacking {}", package.display()))?;
    }
    Ok(())
}

/// What the packages' scripts would have made.
fn link(root: &Path) -> Result<(), RootError> {
    for name in FOLDERS {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(|error| folder(&path, error))?;
    }
    let modules = root.join("usr/lib/modules");
    fs::create_dir_all(&modules).map_err(|error| folder(&modules, error))?;
    let of_kernel = root.join("usr/lib/uml/modules");
    let kernels = fs::read_dir(&of_kernel).map_err(|error| folder(&of_kernel, error))?;
    for kernel in kernels.filter_map(Result::ok) {
        let target = Path::new("../uml/modules").join(kernel.file_name());
        replace_link(&target, &modules.join(kernel.file_name()))?;
    }
    // The benchmark's scripts name `sh` and are written for bash.
    for (target, name) in [
        ("bash", "sh"),
        ("gawk", "awk"),
        ("gnuplot-nox", "gnuplot"),
        ("which.debianutils", "which"),
    ] {
        replace_link(Path::new(target), &root.join("usr/bin").join(name))?;
    }
    let users = "root:x:0:0:root:/results:/bin/bash\n";
    fs::write(root.join("etc/passwd"), users).map_err(|error| folder(root, error))?;
    fs::write(root.join("etc/group"), "root:x:0:\n").map_err(|error| folder(root, error))
}

fn replace_link(target: &Path, link: &Path) -> Result<(), RootError> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(folder(link, error)),
        _ => {}
    }
    symlink(target, link).map_err(|error| folder(link, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing can be fetched from.
    const NOWHERE: &str = "file:///nowhere";

    fn error_of(path: &Path) -> RootError {
        GuestRoot::at(path, NOWHERE, &mut |_| ()).expect_err("there is nothing to make it of")
    }

    /// `--root work` removed a folder of somebody's own files, `work.new` beside it sooner still, and emptied `work.lock`.
    #[test]
    fn what_is_somebodys_own_stays() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["mine", "other.new", "other.d"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("letter"), "dear").unwrap();
            // A folder of the name is no stamp.
            fs::create_dir(at(name).join(STAMP)).unwrap();
        }
        fs::write(at("mine.lock"), "packages").unwrap();
        fs::write(at("file"), "text").unwrap();
        for (root, kept) in [("mine", "mine"), ("other", "other.new"), ("other.d", "other.d")] {
            let error = error_of(&at(root));
            assert!(matches!(&error, RootError::Foreign(path) if *path == at(kept)), "{error}");
            assert_eq!(fs::read_to_string(at(kept).join("letter")).unwrap(), "dear");
        }
        assert_eq!(fs::read_to_string(at("mine.lock")).unwrap(), "packages");
        assert!(matches!(error_of(&at("file")), RootError::Folder { .. }));
        // It was told to be a folder, "and a file is needed".
        let error = error_of(&at("mine/letters/.."));
        assert!(matches!(error, RootError::Folder { .. }), "it is not there: {error}");
        let error = error_of(&at("other.new/.."));
        let whole = fs::canonicalize(parent.path()).unwrap();
        assert!(matches!(&error, RootError::Foreign(path) if *path == whole), "{error}");
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "text");
    }

    /// An older form and a making that was cut off are ours, an empty folder is nobody's.
    #[test]
    fn what_is_ours_is_made_anew() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for (name, stamp) in [("old", Some("0\n")), ("cut", Some(MAKING)), ("empty", None)] {
            fs::create_dir(at(name)).unwrap();
            if let Some(stamp) = stamp {
                fs::create_dir_all(at(name).join("usr/bin")).unwrap();
                fs::write(at(name).join("usr/bin/sh"), "").unwrap();
                symlink("/nowhere", at(name).join("link")).unwrap();
                fs::write(at(name).join(STAMP), stamp).unwrap();
            }
            clear(&at(name)).unwrap();
            assert!(!at(name).exists(), "{name}");
        }
        clear(&at("nothing")).unwrap();
        fs::create_dir(at("made")).unwrap();
        fs::write(at("made").join(STAMP), FORM).unwrap();
        assert_eq!(GuestRoot::at(&at("made"), NOWHERE, &mut |_| ()).unwrap().path(), at("made"));
        // A shell's completion puts a slash behind a folder's name; what lies beside it then still lies beside it.
        GuestRoot::at(&at("made/"), NOWHERE, &mut |_| ()).unwrap();
        assert!(!at("made/.lock").exists());
    }
}
