//! Rounds of one campaign: start, look at everything, load, trouble, kill; in the end a word about all of it.

use super::ledger::Ledger;
use super::load;
use crate::node::{IMAGE_BYTES, Node, SMALL};
use crate::tools::{succeed, text};
use loadline_base::Rng;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// Connections that load the node at once.
const CLIENTS: u64 = 3;

const OSDS: u64 = 4;

/// What happens to an OSD while clients are at work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// Nothing; all are there.
    None,
    /// It goes down, and comes back in the next round.
    Down,
    /// It goes out and its data moves; it comes back in the next round.
    Out,
    /// Its disk is replaced by an empty one, and it is being filled when the node is killed.
    Replace,
}

/// A node's folder that outlives its nodes, and what its image may hold.
pub(crate) struct Campaign {
    seed: u64,
    random: Rng,
    folder: tempfile::TempDir,
    flags: Vec<&'static str>,
    ledger: Mutex<Ledger>,
    /// What was done to an OSD and waits for the command that undoes it.
    undo: Option<[String; 3]>,
    rounds: u64,
    kills_at_start: u64,
    slowest_start: Duration,
}

impl Campaign {
    pub(crate) fn new(seed: u64, flags: &[&'static str]) -> Campaign {
        Campaign::promising(true, seed, flags)
    }

    /// One of a node in this log mode. Two of the four keep what was answered, and the others what was flushed.
    pub(crate) fn in_mode(seed: u64, mode: &'static str) -> Campaign {
        let answers_promise = ["fsync", "log-only"].contains(&mode);
        Campaign::promising(answers_promise, seed, &["--log-mode", mode])
    }

    fn promising(answers_promise: bool, seed: u64, flags: &[&'static str]) -> Campaign {
        let blocks = IMAGE_BYTES / super::block::BLOCK_BYTES as u64;
        let mut folder = tempfile::tempdir().unwrap();
        // It stays for whoever looks for the cause, unless the campaign comes to its end.
        folder.disable_cleanup(true);
        println!("LOADLINE_SEED={seed}, in {}", folder.path().display());
        Campaign {
            seed,
            random: Rng::new(seed),
            folder,
            flags: [&SMALL[..], flags].concat(),
            ledger: Mutex::new(Ledger::new(blocks, answers_promise)),
            undo: None,
            rounds: 0,
            kills_at_start: 0,
            slowest_start: Duration::ZERO,
        }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("node")
    }

    pub(crate) fn rounds(&mut self, count: u64, troubles: &[Trouble]) {
        for _ in 0..count {
            let trouble = troubles[self.random.below(troubles.len() as u64) as usize];
            self.round(trouble);
        }
    }

    fn round(&mut self, trouble: Trouble) {
        self.rounds += 1;
        println!("round {}: {trouble:?}", self.rounds);
        let node = self.start();
        self.verify(&node);
        self.load_that_ends(&node);
        self.load_that_is_killed(node, trouble);
        // One kill in three is followed by one while the node reads its log again.
        if self.random.below(3) == 0 {
            self.kills_at_start += 1;
            let life = Duration::from_millis(self.random.below(200));
            Node::start_and_kill(&self.dir(), &self.flags, life);
        }
    }

    /// Clients that stop by themselves: every request has to be answered.
    fn load_that_ends(&mut self, node: &Node) {
        let (stop, socket) = (AtomicBool::new(false), node.socket());
        let ended: io::Result<()> = std::thread::scope(|scope| {
            let clients = clients(scope, &socket, &self.ledger, &stop, &mut self.random);
            pause(&mut self.random, 200);
            stop.store(true, Ordering::Relaxed);
            clients.into_iter().try_for_each(|client| client.join().expect("it does not panic"))
        });
        if let Err(error) = ended {
            self.fail(&format!("a request has no answer: {error}"), node);
        }
    }

    fn load_that_is_killed(&mut self, mut node: Node, trouble: Trouble) {
        let (never, socket) = (AtomicBool::new(false), node.socket());
        std::thread::scope(|scope| {
            // That they end with an error is what a kill looks like from there.
            let _clients = clients(scope, &socket, &self.ledger, &never, &mut self.random);
            pause(&mut self.random, 400);
            node.assert_alive();
            self.undo = make_trouble(&node, trouble, self.undo.take(), &mut self.random);
            pause(&mut self.random, 800);
            node.kill();
        });
        self.ledger.lock().unwrap().abandon();
    }

    fn start(&mut self) -> Node {
        let node = Node::start(&self.dir(), &self.flags);
        self.slowest_start = self.slowest_start.max(node.ready_after);
        node
    }

    fn verify(&mut self, node: &Node) {
        if let Err(error) = load::verify_all(&node.socket(), &self.ledger) {
            self.fail(&format!("a read has no answer: {error}"), node);
        }
        let losses = std::mem::take(&mut self.ledger.lock().unwrap().losses);
        if !losses.is_empty() {
            let shown: Vec<_> = losses.iter().take(20).map(String::as_str).collect();
            self.fail(&format!("{} blocks lost:\n{}", losses.len(), shown.join("\n")), node);
        }
    }

    fn fail(&self, what: &str, node: &Node) -> ! {
        panic!("seed {}, round {}: {what}\n{}", self.seed, self.rounds, node.log());
    }

    /// Takes each OSD down in turn: the copies that remain hold everything.
    pub(crate) fn each_osd_is_dispensable(&mut self) {
        let node = self.start();
        if let Some(undo) = self.undo.take() {
            node.tell(&undo.each_ref().map(String::as_str));
        }
        for osd in 0..OSDS {
            node.wait_until_clean();
            node.tell(&["osd", "down", &osd.to_string()]);
            self.verify(&node);
            node.tell(&["osd", "up", &osd.to_string()]);
        }
        node.wait_until_clean();
        node.stop();
    }

    /// The last look: everything is there, also after one more load, and the stores are whole.
    pub(crate) fn close(mut self) {
        let node = self.start();
        self.verify(&node);
        self.load_that_ends(&node);
        self.verify(&node);
        node.terminate();
        for osd in 0..OSDS {
            let file = self.dir().join(format!("osd.{osd}"));
            succeed(crate::node::PROGRAM, &["inspect", text(&file), "check"]);
        }
        self.folder.disable_cleanup(false);
        let acknowledged = self.ledger.lock().unwrap().acknowledged;
        println!(
            "seed {}: {} rounds, {} kills at start, {acknowledged} writes acknowledged, none lost, slowest start {:.2} s",
            self.seed,
            self.rounds,
            self.kills_at_start,
            self.slowest_start.as_secs_f64()
        );
    }
}

fn clients<'scope>(
    scope: &'scope Scope<'scope, '_>,
    socket: &'scope Path,
    ledger: &'scope Mutex<Ledger>,
    stop: &'scope AtomicBool,
    random: &mut Rng,
) -> Vec<ScopedJoinHandle<'scope, io::Result<()>>> {
    let start = |seed| scope.spawn(move || load::run(socket, ledger, seed, stop));
    (0..CLIENTS).map(|_| start(random.next_u64())).collect()
}

fn pause(random: &mut Rng, below_ms: u64) {
    std::thread::sleep(Duration::from_millis(random.below(below_ms)));
}

/// Does it to one OSD, or undoes what an earlier round did: never two away at once, for three copies promise to bear one.
fn make_trouble(
    node: &Node,
    trouble: Trouble,
    undo: Option<[String; 3]>,
    random: &mut Rng,
) -> Option<[String; 3]> {
    if let Some(undo) = undo {
        node.tell(&undo.each_ref().map(String::as_str));
        return None;
    }
    let osd = random.below(OSDS).to_string();
    let command = |verb: &str| ["osd".to_owned(), verb.to_owned(), osd.clone()];
    let (step, back) = match trouble {
        Trouble::None => return None,
        Trouble::Down => ("down", "up"),
        Trouble::Out => ("out", "in"),
        Trouble::Replace => return replace(node, &osd),
    };
    take_away(node, &command(step).each_ref().map(String::as_str));
    Some(command(back))
}

/// Has the node do without an OSD. It refuses that while the others do not hold everything yet, as after disks were replaced in
/// two rounds that followed each other: then it is asked again.
fn take_away(node: &Node, command: &[&str]) {
    node.wait_for(|| {
        node.try_tell(command).inspect_err(|error| {
            let is_too_soon = error.contains("nobody would serve");
            assert!(is_too_soon, "{command:?}: {error}\n{}", node.log());
        })
    });
}

/// Its file vanishes and an empty one takes its place.
fn replace(node: &Node, osd: &str) -> Option<[String; 3]> {
    let file = node.disk(osd);
    take_away(node, &["osd", "down", osd]);
    std::fs::remove_file(&file).expect("the disk is a file of the node's folder");
    node.tell(&["osd", "replace", osd, text(&file), "--size", "128MiB"]);
    None
}
