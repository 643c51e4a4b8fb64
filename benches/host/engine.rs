//! The whole engine on one OSD file with one copy, beside fio with io_uring and direct I/O on a file of the same folder: 4 KiB
//! at depth 64, and the engine with mClock beside the engine without: `cargo bench -p loadline-benches --bench engine`.
//!
//! The load is in the process, as fio's is: `loadline/benches/node.rs` asks the same through NBD. Reads go to data of
//! which a sixteenth is in the cache. Writes are measured in turns with fio for as long as the rounds last, so that checkpoints are
//! in them; on both sides a write counts when the device has it (log mode `log-only`). `LOADLINE_BENCH_DIR` chooses the
//! folder, `LOADLINE_BENCH_SECONDS` the length of each round, `LOADLINE_BENCH_ROUNDS` their number.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

use loadline_base::{Bytes, Rng, WallClock};
use loadline_cluster::PoolId;
use loadline_cluster::settings::{DriveLimits, LevelTarget, Scope, SettingsChange};
use loadline_device::Medium;
use loadline_host::{
    BackendChoice, Direct, DirectAnswer, DirectAsk, DirectClient, DirectOp, Discards, DiskSpec,
    DoorLimits, Engine, EngineConfig, ListenAt, Mail, Mailbox, MemoryPlan, NbdSpec,
};
use loadline_osd::{ClientId, Data, OpKind, OsdSet};
use loadline_store::ObjectNo;
use loadline_store::paged::{LogMode, Protection};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The allocator that the `loadline` binary has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DATA: u64 = 1 << 30;
const OBJECT: u32 = 4 << 20;
const BLOCK: u32 = 4096;
const DEPTH: usize = 64;
const POOL: PoolId = PoolId::new(0);

fn main() {
    let set = |name| std::env::var(name).ok();
    let number = |name, or: u64| set(name).map_or(or, |text| text.parse().expect("a number"));
    let place = set("LOADLINE_BENCH_DIR").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
    let folder = tempfile::tempdir_in(&place).expect("a folder");
    let bench = Bench {
        folder: folder.path().to_owned(),
        seconds: number("LOADLINE_BENCH_SECONDS", 5),
        rounds: number("LOADLINE_BENCH_ROUNDS", 5),
    };
    println!(
        "{place}: 4 KiB at depth {DEPTH} on 1 GiB of data, medians of {} rounds of {} s in turns",
        bench.rounds, bench.seconds
    );
    if bench.fio("write", &["--bs=1m", "--end_fsync=1"]).is_none() {
        return println!("fio is needed (Debian: fio)");
    }
    for (kind, rw, cache) in [(OpKind::Read, "randread", 64), (OpKind::Write, "randwrite", 512)] {
        let on = Node::start(&bench.folder, "on", cache, "mclock_scheduler");
        let off = Node::start(&bench.folder, "off", cache, "fifo");
        let [mut with, mut without, mut fio] = [const { Vec::new() }; 3];
        for _ in 0..bench.rounds {
            with.push(on.load(kind, bench.seconds));
            fio.push(bench.fio(rw, &["--bs=4k", "--time_based"]).expect("fio runs"));
            without.push(off.load(kind, bench.seconds));
        }
        let [with, without, fio] = [with, without, fio].map(median);
        println!(
            "{rw:9} mclock {with:7.0} IOPS, fifo {without:7.0}, fio {fio:7.0}; mclock to fio {:.3} (to reach: 0.85), \
             mclock to fifo {:.3} (to reach: 0.97)",
            with / fio,
            with / without
        );
    }
}

struct Bench {
    folder: PathBuf,
    seconds: u64,
    rounds: u64,
}

impl Bench {
    /// IOPS of one job on a plain file.
    fn fio(&self, rw: &str, flags: &[&str]) -> Option<f64> {
        let output = Command::new("fio")
            .args(["--name=bench", "--output-format=json", "--randrepeat=0", "--size=1g"])
            .args(["--ioengine=io_uring", "--direct=1", "--registerfiles", "--fixedbufs"])
            .args([format!("--iodepth={DEPTH}"), format!("--rw={rw}")])
            .arg(format!("--runtime={}", self.seconds))
            .arg(format!("--filename={}", self.folder.join("plain").display()))
            .args(flags)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        let job = &report["jobs"][0];
        let [read, write] = ["read", "write"].map(|side| job[side]["iops"].as_f64());
        Some(read? + write?)
    }
}

/// A node of one OSD with its load, until it is dropped.
struct Node {
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
    client: DirectClient,
    block: Vec<u8>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.mailbox.post(Mail::Direct(DirectAsk::Leave));
        self.thread.take().expect("it runs").join().expect("the node ends");
    }
}

impl Node {
    fn start(folder: &Path, name: &str, cache_mib: u64, scheduler: &str) -> Node {
        let folder = folder.join(name);
        // What an earlier round left here is in nobody's use.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        let config = config(&folder, cache_mib, scheduler);
        let (tell, began) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut engine = Engine::start(config).expect("the node starts");
            tell.send((engine.direct_client(), engine.mailbox())).expect("somebody waits");
            engine.run();
        });
        let (client, mailbox) = began.recv().expect("the node starts");
        let mut rng = Rng::new(1);
        let block = (0..OBJECT / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        let node = Node { mailbox, thread: Some(thread), client, block };
        let objects = DATA / u64::from(OBJECT);
        let fill = |number| node.op(number, OpKind::Write, (number, 0, OBJECT));
        node.drive(&mut (0..objects).map(fill), 4, None);
        node
    }

    fn op(&self, token: u64, kind: OpKind, (object, offset, length): (u64, u32, u32)) -> DirectOp {
        let bytes = if kind == OpKind::Write { length as usize } else { 0 };
        let data = Data::new(self.block[..bytes].to_vec());
        let (client, pool, object) = (ClientId::new(1), POOL, ObjectNo(object));
        DirectOp { token, client, kind, pool, object, offset, length, data }
    }

    /// IOPS of random blocks.
    fn load(&self, kind: OpKind, seconds: u64) -> f64 {
        let mut rng = Rng::new(2);
        let mut ops = (0..).map(|token| {
            let block = rng.below(DATA / u64::from(BLOCK)) * u64::from(BLOCK);
            let (object, offset) = (block / u64::from(OBJECT), block % u64::from(OBJECT));
            self.op(token, kind, (object, offset as u32, BLOCK))
        });
        let limit = Duration::from_secs(seconds);
        let begun = Instant::now();
        let done = self.drive(&mut ops, DEPTH, Some(begun + limit));
        done as f64 / begun.elapsed().as_secs_f64()
    }

    /// Keeps so many ops in flight, until there are no more or it is that late, and answers how many ended.
    fn drive(
        &self,
        ops: &mut dyn Iterator<Item = DirectOp>,
        depth: usize,
        until: Option<Instant>,
    ) -> u64 {
        let (mut flying, mut done) = (0, 0);
        loop {
            let over = until.is_some_and(|until| Instant::now() >= until);
            let more: Vec<DirectOp> = ops.take(if over { 0 } else { depth - flying }).collect();
            flying += more.len();
            if flying == 0 {
                return done;
            }
            if !more.is_empty() {
                self.client.ask(DirectAsk::Ops(more)).expect("the node runs");
            }
            match self.client.answer(Duration::from_secs(60)).expect("the node runs") {
                Some(DirectAnswer::Ended(ended)) => {
                    assert!(ended.iter().all(|end| end.data.is_some()), "an op failed");
                    flying -= ended.len();
                    done += ended.len() as u64;
                }
                other => panic!("the node stands still: {other:?}"),
            }
        }
    }
}

fn config(folder: &Path, cache_mib: u64, scheduler: &str) -> EngineConfig {
    let disk = DiskSpec { path: folder.join("osd.0"), size: Some(Bytes::from_mib(4096)) };
    let settings = SettingsChange::default().and_set(
        LevelTarget::Stored(Scope::Osds),
        "osd_op_queue",
        scheduler,
    );
    EngineConfig {
        page: None,
        disks: vec![disk],
        copies: 1,
        pgs: None,
        object_bytes: Bytes::new(u64::from(OBJECT)),
        placement_seed: 0,
        images: Vec::new(),
        nbd: NbdSpec::default(),
        vhost: Vec::new(),
        admin: ListenAt::Unix(folder.join("admin.sock")),
        medium: Medium::Ssd,
        preset: *loadline_qos::preset("loadline").expect("it is built in"),
        settings,
        drive_limits: DriveLimits::default(),
        cache: Bytes::from_mib(cache_mib),
        memory: MemoryPlan::enough(1, Bytes::from_mib(cache_mib)).memory,
        doors: DoorLimits::default(),
        socket_mode: 0o600,
        log_mode: LogMode::LogOnly,
        protection: Protection::Checkpoint,
        direct: Direct::Auto,
        discards: Discards::Keep,
        backend: BackendChoice::default(),
        stop_on_signals: false,
        format_empty: false,
        give_up: OsdSet::EMPTY,
        clock: WallClock::default(),
    }
}

fn median(mut speeds: Vec<f64>) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}
