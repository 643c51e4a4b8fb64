//! What waits and why, what ops went through, and what a disk can do.

use loadline_osd::TraceSpan;
use serde::{Deserialize, Serialize};

/// What waits in the queues of one OSD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDump {
    /// The OSD.
    pub osd: u32,
    /// `mclock`, `wpq` or `fifo`.
    pub scheduler: String,
    /// Its shards in order, the idle ones too.
    pub shards: Vec<ShardQueue>,
    /// Background work that is kept out of the queues until it may begin, in the order in which it goes inside its class.
    #[serde(default)]
    pub kept_out: Vec<KeptOutRow>,
}

/// One piece of background work that is kept out of the queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptOutRow {
    /// The shard that it is kept out of.
    pub shard: u32,
    /// The service class by whose weight it goes.
    pub class: String,
    /// What it is, e.g. `recovery item`.
    pub work: String,
    /// How long it has waited.
    pub age_ns: u64,
    /// Why it is held back.
    pub reason: WaitReason,
}

/// What waits in one shard's queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardQueue {
    /// The shard.
    pub shard: u32,
    /// By class and then by arrival.
    pub waiting: Vec<QueuedItem>,
}

/// One piece of work that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedItem {
    /// Its service class.
    pub class: String,
    /// Whose it is inside the class.
    pub client: u64,
    /// Its place in its owner's line, 0 at the head.
    pub place: u64,
    /// How long it has waited.
    pub age_ns: u64,
    /// What it will be charged, in the scheduler's unit.
    pub cost: u32,
    /// Its priority.
    pub priority: u32,
    /// Its tags; only heads of lines have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<QueueTags>,
    /// Why it is not being served.
    pub reason: WaitReason,
}

/// The tags of a waiting item, relative to now: what is negative is due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueTags {
    /// Until its reservation is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_in_ns: Option<i64>,
    /// The weighted tag in the scheduler's own unit; comparable inside one shard only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportion: Option<f64>,
    /// Until its limit is passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_in_ns: Option<i64>,
}

/// Why an item is not being served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitReason {
    /// In one sentence.
    pub text: String,
    /// How long at least, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
}

/// Ops, in flight or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpDump {
    /// The ops.
    pub ops: Vec<OpRow>,
}

/// One client op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// Its number in the order of issue.
    pub op: u64,
    /// `read`, `write`, `zero`.
    pub kind: String,
    /// The image, with its snapshot if it reads one.
    pub image: String,
    /// First byte inside the image.
    pub offset_bytes: u64,
    /// How many.
    pub length_bytes: u64,
    /// Its placement group.
    pub pg: u32,
    /// The primary, or none while nobody serves the group.
    pub osd: Option<u32>,
    /// Since its issue: until now, or until its answer.
    pub age_ns: u64,
    /// What it went through, in order. The last one is where an op in flight is now.
    pub stages: Vec<OpStage>,
    /// What one in flight waits for now, and one that has ended waited for longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<OpWaitRow>,
}

/// One wait of an op.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpWaitRow {
    /// `before` it came to a queue, `queue`, `worker`, `window`, `device`, `replicas` or `loop`.
    pub stage: String,
    /// How long.
    pub span_ns: u64,
    /// Why, e.g. `store window of osd.2: full for 93 % of it, behind 4 recovery pushes`.
    pub reason: String,
}

/// What the ops of an image waited for while somebody watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageWaits {
    /// The image.
    pub image: String,
    /// How long it was watched.
    pub watched_ns: u64,
    /// Its ops that ended in that time.
    pub ops: u64,
    /// Its ops that are still in flight.
    pub open: u64,
    /// From issue to reply, of those that ended.
    pub took: WaitFigures,
    /// The answer.
    pub sentence: String,
    /// Where the time of those that ended went.
    pub stages: Vec<StageShare>,
    /// What ops waited for longest, those in flight too, by the time that it took in all.
    pub reasons: Vec<ReasonShare>,
    /// Stages of the first ops, as many as were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<OpSpan>,
}

/// One stage of one op on one OSD: in an answer, and in the record of a study's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpSpan {
    /// The op's number while it was under way.
    pub op: u32,
    /// The OSD's number.
    pub osd: u32,
    /// The kind of work, e.g. `client op`.
    pub work: String,
    /// `queue`, `worker`, `window`, `device` or `replicas`.
    pub stage: String,
    /// When it began, in nanoseconds of the clock of its world.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl From<&TraceSpan> for OpSpan {
    fn from(span: &TraceSpan) -> OpSpan {
        OpSpan {
            op: span.op.get(),
            osd: span.osd.get(),
            work: span.work.name().to_owned(),
            stage: span.stage.name().to_owned(),
            start_ns: span.start.nanos(),
            end_ns: span.end.nanos(),
        }
    }
}

/// Durations of several ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitFigures {
    /// Their mean.
    pub mean_ns: u64,
    /// Half took no longer. This and the next one are at most an eighth too large.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// One stage of the ops of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageShare {
    /// The stage.
    pub stage: String,
    /// Its mean time.
    pub mean_ns: u64,
    /// Its part of all time, 0 to 1.
    pub share: f64,
}

/// What kept some of the ops of an image longest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonShare {
    /// The stage in which they waited.
    pub stage: String,
    /// Where; `None` before they came to an OSD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd: Option<u32>,
    /// Why.
    pub reason: String,
    /// How many ops.
    pub ops: u64,
    /// This wait's part of the time of all ops, 0 to 1.
    pub share: f64,
    /// The mean of this wait.
    pub mean_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// A stage that an op has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpStage {
    /// `admitted`, `dequeued`, `executed`, `committed`, `replied` or `answered`.
    pub stage: String,
    /// After its issue.
    pub after_ns: u64,
}

/// What a disk can do (qos.md 6.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// The OSD.
    pub osd: u32,
    /// Bytes written and timed.
    pub total_bytes: u64,
    /// Bytes of one write.
    pub block_bytes: u64,
    /// How long they took.
    pub elapsed_ns: u64,
    /// Writes per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Whether the figure is believed and was kept, and why, in one sentence.
    pub verdict: String,
}
