//! A node in a process of its own, as an operator starts, asks, stops and kills it.

use crate::tools::output;
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_loadline");

/// Four small disks, three copies, and a cache far smaller than the image, so that pages are written and read again.
pub(crate) const SMALL: [&str; 8] =
    ["--osds", "4", "--size", "128MiB", "--image", "vol0=64MiB", "--cache", "8MiB"];

/// Bytes of the image in [`SMALL`].
pub(crate) const IMAGE_BYTES: u64 = 64 << 20;

/// What takes a moment may take this long on a busy machine before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A node that says it is ready. Dropped, it is killed.
pub(crate) struct Node {
    child: Child,
    dir: PathBuf,
    log: Arc<Mutex<String>>,
    /// From the process's start to its word that it is ready.
    pub(crate) ready_after: Duration,
}

impl Node {
    /// Starts a node on a folder that may hold one already, and waits until it is ready.
    pub(crate) fn start(dir: &Path, flags: &[&str]) -> Node {
        Node::start_watched(dir, flags, |_| {})
    }

    /// The same; `watch` sees each line that it logs until then.
    pub(crate) fn start_watched(dir: &Path, flags: &[&str], watch: impl Fn(&str)) -> Node {
        Node::await_ready(spawn(dir, flags), dir, watch)
    }

    /// Starts the node that a file tells of, whose folder is `dir`.
    pub(crate) fn start_by(file: &Path, dir: &Path) -> Node {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg("--config").arg(file);
        Node::await_ready(spawned(command), dir, |_| {})
    }

    /// The same under a program that sets something for it, such as `prlimit` with its flags.
    pub(crate) fn start_under(program: &[&str], dir: &Path, flags: &[&str]) -> Node {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(PROGRAM);
        Node::await_ready(spawn_as(command, dir, flags), dir, |_| {})
    }

    fn await_ready(mut child: Child, dir: &Path, watch: impl Fn(&str)) -> Node {
        let began = Instant::now();
        let (log, lines) = follow(child.stderr.take().expect("it is piped"));
        let mut node = Node { child, dir: dir.to_owned(), log, ready_after: Duration::ZERO };
        while let Some(line) = next_line(&lines) {
            watch(&line);
            if line.ends_with(" ready") {
                node.ready_after = began.elapsed();
                return node;
            }
        }
        panic!("the node {} is not ready:\n{}", dir.display(), node.log());
    }

    /// Starts a node and kills it after `life`, whatever it has come to by then.
    pub(crate) fn start_and_kill(dir: &Path, flags: &[&str], life: Duration) {
        let mut child = spawn(dir, flags);
        let (log, _lines) = follow(child.stderr.take().expect("it is piped"));
        std::thread::sleep(life);
        let ended = child.try_wait().expect("a child can be asked");
        assert!(ended.is_none(), "ended by itself, {ended:?}:\n{}", log.lock().unwrap());
        child.kill().and_then(|()| child.wait()).expect("a child can be killed");
    }

    /// The address of an export for libnbd, qemu and fio.
    pub(crate) fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket().display())
    }

    /// The address of an export by TCP, of a node that was told to listen there; `scheme` is `nbd` or `nbds`.
    pub(crate) fn tcp_uri(&self, scheme: &str, export: &str) -> String {
        format!("{scheme}://{}/{export}", self.tcp())
    }

    /// Where it serves NBD by TCP, as its log says.
    pub(crate) fn tcp(&self) -> String {
        let log = self.log();
        let served = log.lines().filter(|line| line.contains(" NBD at="));
        let mut at = served.filter_map(|line| line.split("NBD at=").nth(1));
        at.find(|at| !at.starts_with('/'))
            .expect("it serves NBD by TCP")
            .split(' ')
            .next()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("nbd.sock")
    }

    /// The file of an OSD.
    pub(crate) fn disk(&self, osd: &str) -> PathBuf {
        self.dir.join(format!("osd.{osd}"))
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Carries out a command about this node and returns what it prints.
    pub(crate) fn tell(&self, arguments: &[&str]) -> String {
        self.try_tell(arguments).unwrap_or_else(|error| {
            panic!("loadline {arguments:?}: {error}\nthe node's log:\n{}", self.log())
        })
    }

    /// The same for a command that may be refused: the refusal is the error.
    pub(crate) fn try_tell(&self, arguments: &[&str]) -> Result<String, String> {
        let dir = self.dir.to_str().expect("a temporary folder has a plain name");
        let done = output(PROGRAM, &[arguments, &["--dir", dir]].concat());
        if done.status.success() { Ok(done.stdout) } else { Err(done.stderr) }
    }

    /// Waits until every placement group is clean again.
    pub(crate) fn wait_until_clean(&self) {
        self.wait_until("not clean for long", |node| {
            let status = node.status();
            let groups = status["pgs"].as_array().expect("the placement groups by state");
            groups.iter().all(|group| group["state"] == "active+clean")
        });
    }

    /// Waits until something is so; `what` says what is the matter if it never is.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Node) -> bool) {
        self.wait_for(|| if is_so(self) { Ok(()) } else { Err(what) });
    }

    /// Tries until it succeeds, and returns what that gave. The last error, the node's status and its log are told of what does not
    /// within [`PATIENCE`].
    pub(crate) fn wait_for<T, E: Display>(&self, attempt: impl Fn() -> Result<T, E>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            match attempt() {
                Ok(found) => return found,
                Err(error) if Instant::now() >= until => {
                    let status = self.try_tell(&["status", "--json"]).unwrap_or_else(|it| it);
                    panic!("{error}\n{status}\n{}", self.log());
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.tell(&["status", "--json"])).expect("it is JSON")
    }

    /// Ends it as the power switch would, but for what the kernel already has: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.assert_alive();
        self.child.kill().and_then(|()| self.child.wait()).expect("a child can be killed");
    }

    /// Ends it in the orderly way.
    pub(crate) fn stop(mut self) {
        self.tell(&["stop"]);
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}:\n{}", self.log());
    }

    /// Ends it with SIGTERM.
    pub(crate) fn terminate(self) {
        let (status, log) = self.terminated();
        assert!(status.success(), "{status}, signal {:?}:\n{log}", status.signal());
    }

    /// The same where it may not end well; answers how it ended, and its log.
    pub(crate) fn terminated(self) -> (ExitStatus, String) {
        self.ended_by("TERM")
    }

    /// The same by another signal.
    pub(crate) fn ended_by(mut self, signal: &str) -> (ExitStatus, String) {
        self.send(signal);
        let status = self.child.wait().expect("a child can be waited for");
        (status, self.log())
    }

    /// Sends it a signal.
    pub(crate) fn send(&self, signal: &str) {
        output("kill", &[&format!("-{signal}"), &self.process_id().to_string()]);
    }

    pub(crate) fn assert_alive(&mut self) {
        let ended = self.child.try_wait().expect("a child can be asked");
        assert!(ended.is_none(), "the node ended, {ended:?}:\n{}", self.log());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(dir: &Path, flags: &[&str]) -> Child {
    spawn_as(Command::new(PROGRAM), dir, flags)
}

fn spawn_as(mut command: Command, dir: &Path, flags: &[&str]) -> Child {
    command.arg("serve").arg("--dir").arg(dir).args(flags);
    spawned(command)
}

fn spawned(mut command: Command) -> Child {
    command.env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Collects the log while the node runs: a pipe that nobody empties would stop it.
fn follow(errors: ChildStderr) -> (Arc<Mutex<String>>, Receiver<String>) {
    let (sender, receiver) = channel();
    let log = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&log);
    std::thread::spawn(move || {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            kept.lock().unwrap().push_str(&format!("{line}\n"));
            // After the node is ready nobody listens any more; the log is still kept.
            let _ = sender.send(line);
        }
    });
    (log, receiver)
}

fn next_line(lines: &Receiver<String>) -> Option<String> {
    lines.recv_timeout(PATIENCE).ok()
}
