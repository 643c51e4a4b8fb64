//! A whole node with its client in one process, for benchmarks of it.

use loadline_base::{Bytes, Rng};
use loadline_cluster::PoolId;
use loadline_cluster::settings::{LevelTarget, Scope, SettingsChange};
use loadline_host::{
    Clock, DirectAnswer, DirectAsk, DirectClient, DirectOp, DiskSpec, Engine, EngineConfig, Mail,
    Mailbox,
};
use loadline_osd::{ClientId, Data, OpKind};
use loadline_store::ObjectNo;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The allocator that the `loadline` binary has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECT: u32 = 4 << 20;
const BLOCK: u32 = 4096;
/// More than any depth: ops in flight do not share one.
const BUFFERS: usize = 1024;
const POOL: PoolId = PoolId::new(0);

/// What a node is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeShape {
    pub(crate) osds: u32,
    pub(crate) copies: u32,
    pub(crate) loops: usize,
    pub(crate) cache_mib: u64,
    pub(crate) osd_mib: u64,
    pub(crate) scheduler: &'static str,
    /// How much data clients work on.
    pub(crate) data: u64,
}

/// What a load has reached.
pub(crate) struct LoadReached {
    pub(crate) iops: f64,
    /// Of the ops' times, in microseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Processor time of the whole process for each, its client included, in microseconds.
    pub(crate) cpu: f64,
}

impl fmt::Display for LoadReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadReached { iops, p50, p99, cpu } = self;
        write!(
            f,
            "{iops:7.0} IOPS, p50 {p50:5.0} us, p99 {p99:6.0} us, {cpu:5.1} us of processor each"
        )
    }
}

/// A node with its client, until it is dropped.
pub(crate) struct Node {
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
    client: DirectClient,
    /// What an object is filled with.
    object: Data,
    /// What blocks are written with, as a client does that keeps its buffers: making bytes for each op would be the client's work, not the node's.
    blocks: Vec<Data>,
    data: u64,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.mailbox.post(Mail::Direct(DirectAsk::Leave));
        self.thread.take().expect("it runs").join().expect("the node ends");
    }
}

impl Node {
    pub(crate) fn start(folder: &Path, name: &str, shape: NodeShape) -> Node {
        let folder = folder.join(name);
        // What an earlier round left here is in nobody's use.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        let config = config(&folder, shape);
        let (tell, began) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut engine = Engine::start(config).expect("the node starts");
            tell.send((engine.direct_client(), engine.mailbox())).expect("somebody waits");
            engine.run().expect("it leaves at once");
        });
        let (client, mailbox) = began.recv().expect("the node starts");
        let mut rng = Rng::new(1);
        let mut bytes = |length: u32| {
            Data::new((0..length / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect())
        };
        let (object, blocks) = (bytes(OBJECT), (0..BUFFERS).map(|_| bytes(BLOCK)).collect());
        let node = Node { mailbox, thread: Some(thread), client, object, blocks, data: shape.data };
        let objects = shape.data / u64::from(OBJECT);
        let filled = node.drive(4, None, &mut |number, token| {
            (number < objects).then(|| node.op(token, OpKind::Write, (number, 0, OBJECT)))
        });
        assert_eq!(filled.len() as u64, objects);
        node
    }

    fn op(&self, token: u64, kind: OpKind, (object, offset, length): (u64, u32, u32)) -> DirectOp {
        let data = match (kind, length) {
            (OpKind::Write, BLOCK) => self.blocks[token as usize % self.blocks.len()].clone(),
            (OpKind::Write, _) => self.object.clone(),
            _ => Data::NONE,
        };
        let (client, pool, object) = (ClientId::new(1), POOL, ObjectNo(object));
        DirectOp { token, client, kind, pool, object, offset, length, data }
    }

    /// Random blocks at a depth for so long.
    pub(crate) fn load(&self, kind: OpKind, depth: usize, seconds: u64) -> LoadReached {
        let mut rng = Rng::new(2);
        let limit = Duration::from_secs(seconds);
        let (begun, used) = (Instant::now(), Clock::processor_time());
        let mut times = self.drive(depth, Some(begun + limit), &mut |_, token| {
            let block = rng.below(self.data / u64::from(BLOCK)) * u64::from(BLOCK);
            let (object, offset) = (block / u64::from(OBJECT), block % u64::from(OBJECT));
            Some(self.op(token, kind, (object, offset as u32, BLOCK)))
        });
        let iops = times.len() as f64 / begun.elapsed().as_secs_f64();
        let used = Clock::processor_time() - used;
        let cpu = used.as_secs_f64() * 1e6 / times.len() as f64;
        times.sort_unstable();
        let of = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e6;
        LoadReached { iops, p50: of(50), p99: of(99), cpu }
    }

    /// Keeps so many ops in flight, until there are no more or it is that late, and answers how long each took. None is left under way: its end would
    /// be taken for one of the next round's.
    fn drive(
        &self,
        depth: usize,
        until: Option<Instant>,
        next: &mut dyn FnMut(u64, u64) -> Option<DirectOp>,
    ) -> Vec<Duration> {
        let mut free: Vec<u64> = (0..depth as u64).collect();
        let mut begun = vec![Instant::now(); depth];
        let (mut number, mut times) = (0, Vec::new());
        loop {
            let now = Instant::now();
            let over = until.is_some_and(|until| now >= until);
            let mut more = Vec::new();
            while !over && let Some(token) = free.pop() {
                let Some(op) = next(number, token) else {
                    free.push(token);
                    break;
                };
                begun[token as usize] = now;
                number += 1;
                more.push(op);
            }
            if free.len() == depth {
                return times;
            }
            if !more.is_empty() {
                self.client.ask(DirectAsk::Ops(more)).expect("the node runs");
            }
            match self.client.answer(Duration::from_secs(60)).expect("the node runs") {
                Some(DirectAnswer::Ended(ended)) => {
                    let now = Instant::now();
                    for end in ended {
                        assert!(end.data.is_some(), "an op failed");
                        times.push(now - begun[end.token as usize]);
                        free.push(end.token);
                    }
                }
                other => panic!("the node stands still: {other:?}"),
            }
        }
    }
}

fn config(folder: &Path, shape: NodeShape) -> EngineConfig {
    let cache = Bytes::from_mib(shape.cache_mib);
    let disk = |osd: u32| DiskSpec {
        path: folder.join(format!("osd.{osd}")),
        size: Some(Bytes::from_mib(shape.osd_mib)),
    };
    let settings = SettingsChange::default().and_set(
        LevelTarget::Stored(Scope::Osds),
        "osd_op_queue",
        shape.scheduler,
    );
    let disks = (0..shape.osds).map(disk).collect();
    EngineConfig {
        loops: NonZeroUsize::new(shape.loops).expect("some"),
        copies: shape.copies,
        object_bytes: Bytes::new(u64::from(OBJECT)),
        settings,
        ..EngineConfig::inside(folder.join("admin.sock"), disks, cache)
    }
}
