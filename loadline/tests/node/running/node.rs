//! A node in a folder of its own, on small files.

#![expect(clippy::disallowed_methods, reason = "the program under test is another process")]

use crate::script::{Ran, loadline};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something may take that takes a moment, on a machine that has much else to do, before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(300);
/// A capacity that is set is not measured, which would take most of a test's time.
const CAPACITY: &str = "osd_mclock_max_capacity_iops_ssd=20000";

/// A node that runs as long as this lives.
pub(super) struct Node {
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Node {
    /// A new node with so many OSDs of 64 MiB.
    pub(super) fn with_osds(osds: u32) -> Node {
        let mut node = Node::without_disks();
        node.start(&["--osds", &osds.to_string(), "--size", "64MiB", "--pgs", "8"]);
        node
    }

    /// A folder for a node.
    pub(super) fn without_disks() -> Node {
        Node { folder: tempfile::tempdir().unwrap(), process: None }
    }

    /// Starts it, on what is there.
    pub(super) fn start(&mut self, flags: &[&str]) {
        self.serve(&[&["--dir", "node", "--set", CAPACITY][..], flags].concat());
    }

    /// Starts it as a service manager does that listens on a socket.
    pub(super) fn start_under(&mut self, socket: &Path, flags: &[&str]) {
        let flags = [&["--dir", "node", "--set", CAPACITY][..], flags].concat();
        self.serve_with(&[("NOTIFY_SOCKET", socket)], &flags);
    }

    /// Starts it as its file says.
    pub(super) fn start_from(&mut self, file: &str) {
        std::fs::write(self.folder().join("node.toml"), file).unwrap();
        self.serve(&["--config", "node.toml"]);
    }

    /// Starts it with these flags alone.
    pub(super) fn start_with(&mut self, flags: &[&str]) {
        self.serve(flags);
    }

    fn serve(&mut self, flags: &[&str]) {
        self.serve_with(&[], flags);
    }

    fn serve_with(&mut self, environment: &[(&str, &Path)], flags: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        command.arg("serve").args(flags).envs(environment.iter().copied());
        let mut appending = std::fs::File::options();
        let log = appending.create(true).append(true).open(self.folder().join("log")).unwrap();
        command.current_dir(self.folder()).stderr(Stdio::from(log));
        let mut process = command.spawn().expect("the program starts");
        let begun = Instant::now();
        while !self.run(&["status"]).status.success() {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "the node ended, {ended:?}:\n{}", self.log());
            assert!(begun.elapsed() < PATIENCE, "the node does not answer:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.process = Some(process);
    }

    /// What it has logged in all of its lives; of a log without end the beginning.
    pub(super) fn log(&self) -> String {
        let mut text = Vec::new();
        let log = std::fs::File::open(self.folder().join("log")).unwrap();
        log.take(1 << 20).read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// A start that fails with this code and one sentence, which contains all of these.
    pub(super) fn does_not_start(&self, code: i32, says: &[&str]) {
        self.does_not_start_with(&[], code, says);
    }

    /// The same with these flags.
    pub(super) fn does_not_start_with(&self, flags: &[&str], code: i32, says: &[&str]) {
        let ran = self.run(&[&["serve", "--dir", "node", "--log", "error"], flags].concat());
        assert_eq!(ran.status.code(), Some(code), "{flags:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        for said in says {
            assert!(ran.stderr.contains(said), "`{}` has no `{said}`", ran.stderr);
        }
    }

    /// Stops it by a command, and waits for its end.
    pub(super) fn stop(&mut self) {
        self.stop_with(0);
    }

    /// The same, with this exit code.
    pub(super) fn stop_with(&mut self, code: i32) {
        self.done(&["stop"], "the node stops");
        let status = self.process.take().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(code), "{}", self.log());
    }

    /// Ends it as a power cut would, but for what the kernel has already.
    pub(super) fn kill(&mut self) {
        let mut process = self.process.take().unwrap();
        process.kill().and_then(|()| process.wait()).expect("a child can be killed");
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the node.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder().join("node").join(name)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        loadline(self.folder(), arguments)
    }

    /// What a command that succeeds prints.
    pub(super) fn says(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert!(ran.status.success(), "{arguments:?}: {}", ran.stderr);
        ran.stdout
    }

    /// A command that succeeds with one line.
    pub(super) fn done(&self, arguments: &[&str], says: &str) {
        assert_eq!(self.says(arguments), format!("{says}\n"), "{arguments:?}");
    }

    /// A command that fails with this code and one sentence that contains this.
    pub(super) fn refuses(&self, arguments: &[&str], code: i32, says: &str) {
        let ran = self.run(arguments);
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(says), "{arguments:?}: `{}` has no `{says}`", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
    }

    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.says(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until a command succeeds and prints what is wanted.
    pub(super) fn await_ok(&self, arguments: &[&str], mut wanted: impl FnMut(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let ran = self.run(arguments);
            if ran.status.success() && wanted(&ran.stdout) {
                return;
            }
            let shown = format!("{}{}", ran.stdout, ran.stderr);
            assert!(begun.elapsed() < PATIENCE, "{arguments:?} still says:\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until every copy is where it should be.
    pub(super) fn await_clean(&self) {
        self.await_ok(&["status"], |text| {
            let pgs = text.lines().find(|line| line.starts_with("PGs:")).expect("a line of PGs");
            pgs.ends_with("active+clean") && !pgs.contains(',')
        });
    }

    /// The same, or if something is missing, until all that there can be is served.
    pub(super) fn await_clean_but_for(&self, missing: bool) {
        match missing {
            true => self.await_ok(&["status"], |text| text.contains("active+undersized")),
            false => self.await_clean(),
        }
    }

    /// An OSD as `osd list` tells of it.
    pub(super) fn osd(&self, osd: usize) -> Value {
        self.json(&["osd", "list"])["osds"][osd].take()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
