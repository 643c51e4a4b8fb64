//! What can be asked of a running node: every verb, once.

use super::{
    BenchAsked, ImageAsked, NameAsked, OsdAsked, OsdMove, PoolAsked, QosAsked, ScrubHow, SizeAsked,
    TracedOps, ValueAsked, ValueLevel, WatchSeconds, Who,
};
use crate::admin::route::{Method, verbs};
use loadline_osd::OsdId;

verbs! {
    /// How the node is.
    Status: Get ["status"]
        -> Status, "health, OSDs, PGs by state, copies, rates, `memory` by who holds it, `connections`", "status";
    /// Where it is met beside here: its socket for NBD, and the file that tells its page's address and token. Relative paths go by the
    /// folder of the admin socket.
    NodePlaces: Get ["places"] -> NodePlaces, "`nbd`, `page`, each `null` where there is none", "page";

    /// All OSDs.
    OsdList: Get ["osd"] -> Osds, "`osds`", "osd list";
    /// Takes one `down` or `out`, or brings it back `up` or `in`.
    OsdMove { osd: OsdId, step: OsdMove }: Put ["osd" osd step] -> Done, "`{}`", "osd down";
    /// Makes one on a file or a device that holds none.
    OsdAdd { disk: OsdAsked }: Post ["osd"] <= disk "`path` [`size_bytes`] [`overwrite`]" -> Added, "`osd`, its number", "osd add";
    /// Gives one an empty disk in place of its own, to be filled by backfill.
    OsdReplace { osd: OsdId, disk: OsdAsked }: Post ["osd" osd "replace"] <= disk "`path` [`size_bytes`] [`overwrite`]"
        -> Done, "`{}`", "osd replace";
    /// Forgets one that is down and out.
    OsdRemove { osd: OsdId }: Delete ["osd" osd] -> Done, "`{}`", "osd remove";
    /// Whether these, with commas between them, could stop at once without an end of service.
    OsdOkToStop { osds: Vec<OsdId> }: Get ["osd" osds "ok-to-stop"]
        -> OkToStop, "whether they could stop, by PG", "osd ok-to-stop";
    /// Measures its disk.
    OsdBench { osd: OsdId, shape: BenchAsked }: Post ["osd" osd "bench"]
        <= shape "[`total_bytes` `block_bytes` `store`]" -> BenchResult, "IOPS, bandwidth, verdict", "tell bench";
    /// What waits in its queues, and why.
    OsdQueues { osd: OsdId }: Get ["osd" osd "queues"]
        -> QueueDump, "what waits in each shard, with tags and reason", "dump queues";

    /// What the profile in force promises and allows: each OSD's classes, and the images.
    Profile: Get ["profile"]
        -> ProfileInForce, "`osds` with their classes, `images`, what is promised and what could be", "profile show";

    /// What happened in each of the last five minutes' seconds, and how it is now. `GET /live/events` streams each further second.
    Live: Get ["live"] -> LiveView, "`seconds`, and `now`", "top";

    /// What is measured, for monitoring systems: as `Accept` says, Prometheus' text, OpenMetrics or JSON.
    Metrics: Get ["metrics"] -> Exposition, "`families`, or text", "metrics";

    /// The ops in flight, the oldest first.
    Ops: Get ["ops"] -> OpDump, "`ops`", "dump ops";
    /// The slowest of the ops that ended lately, the slowest first.
    OpHistory: Get ["ops" "history"] -> OpDump, "`ops`", "dump history";

    /// What the ops of an image wait for: watches them for so many seconds, 1 to 3600, and sums their reasons up. With `traced=N` it tells
    /// the stages of the first N ops too, 1000 at most.
    ImageWhy { image: String, seconds: WatchSeconds, traced: TracedOps }: Get ["image" image "why" seconds] ? traced
        -> ImageWaits, "a `sentence`, its `stages` and its `reasons`, and what was `traced`", "why";

    /// All pools.
    PoolList: Get ["pool"] -> Pools, "`pools`", "pool list";
    /// Makes one, by no name of the form of an OSD's or a PG's (`osd.1`, `0.1`).
    PoolCreate { pool: PoolAsked }: Post ["pool"] <= pool "`name` [`pgs` `copies`]" -> Done, "`{}`", "pool create";
    /// Removes one that has no images.
    PoolRemove { pool: String }: Delete ["pool" pool] -> Done, "`{}`", "pool remove";

    /// The objects of a PG that no OSD can give.
    PgListUnfound { pg: String }: Get ["pg" pg "unfound"] -> UnfoundObjects, "`objects`, with the image and the place in it", "pg list-unfound";
    /// Gives them up: each becomes the newest that is left of it, or is forgotten where nothing is.
    PgMarkUnfoundLost { pg: String }: Post ["pg" pg "revert-unfound"] -> Done, "`{}`", "pg mark-unfound-lost";

    /// Compares the copies of one PG (`0.1f`), of all of an OSD (`osd.2`) or of a pool's (its name): `scrub`, `deep-scrub` or `repair`.
    Scrub { how: ScrubHow, what: String }: Post ["scrub" how what] -> Scrubbing, "`pgs` that are told to begin, and those that are `left_out`", "scrub start";
    /// When the PGs were compared, which are now, and what was found; when the round of deep scrubs ends, and what would help if that is too late.
    ScrubList: Get ["scrub"] -> Scrubs, "`pgs`, and the `round` of deep scrubs", "scrub status";
    /// What is not alike in the copies of a PG, by its last scrub.
    InconsistentList { pg: String }: Get ["pg" pg "inconsistent"] -> InconsistentStates, "`states` of objects, with what is wrong with which copy", "inconsistent list";

    /// All images.
    ImageList: Get ["image"] -> ImageRows, "`images`", "image list";
    /// One image.
    ImageInfo { image: String }: Get ["image" image] -> ImageRow, "it, with its snapshots", "image info";
    /// Makes an image.
    ImageCreate { asked: ImageAsked }: Post ["image"] <= asked "`name` `size_bytes` [`pool` `object_bytes`]"
        -> Done, "`{}`", "image create";
    /// Gives an image another size; what is cut off is gone.
    ImageResize { image: String, to: SizeAsked }: Put ["image" image "size"] <= to "`size_bytes`"
        -> Done, "`{}`", "image resize";
    /// Says what an image is promised and allowed beside others.
    ImageQos { image: String, to: QosAsked }: Put ["image" image "qos"] <= to "[`reservation_iops` `limit_iops` `burst_ns` `weight`]"
        -> Done, "`{}`", "image qos";
    /// Gives an image another name.
    ImageRename { image: String, to: NameAsked }: Put ["image" image "name"] <= to "`name`"
        -> Done, "`{}`", "image rename";
    /// Removes an image without snapshots and clones, which nobody has open.
    ImageRemove { image: String }: Delete ["image" image] -> Done, "`{}`", "image remove";
    /// The same of one that clients have open: what they ask for fails from then on.
    ImageRemoveOpen { image: String }: Delete ["image" image "open"] -> Done, "`{}`", "image remove --force";
    /// The snapshots of an image.
    SnapshotList { image: String }: Get ["image" image "snapshot"]
        -> Snapshots, "`snapshots`", "image snapshot list";
    /// Keeps an image as it is now.
    SnapshotCreate { image: String, snapshot: String }: Put ["image" image "snapshot" snapshot]
        -> Done, "`{}`", "image snapshot create";
    /// Removes a snapshot without clones.
    SnapshotRemove { image: String, snapshot: String }: Delete ["image" image "snapshot" snapshot]
        -> Done, "`{}`", "image snapshot remove";
    /// Makes an image that begins as a snapshot is.
    ImageClone { image: String, snapshot: String, to: NameAsked }: Post ["image" image "snapshot" snapshot "clone"]
        <= to "`name`" -> Done, "`{}`", "image clone";

    /// The values that somebody set, at all levels.
    ConfigDump: Get ["config"] -> ConfigRows, "`rows`", "config show";
    /// What is stored for a section; for one OSD its every option with the value in force.
    ConfigShow { who: Who }: Get ["config" who] -> ConfigRows, "`rows`", "config show";
    /// One option on every level.
    ConfigGet { who: Who, option: String }: Get ["config" who option]
        -> Explained, "`levels`, and the value in force with its origin", "config get";
    /// Sets an option.
    ConfigSet { who: Who, option: String, to: ValueAsked }: Put ["config" who option] <= to "`value` [`level`]"
        -> ConfigChanged, "`altered`: values in force that are others now", "config set";
    /// Takes a value away again.
    ConfigRemove { who: Who, option: String, level: ValueLevel }: Delete ["config" who option] ? level
        -> ConfigChanged, "`altered`: values in force that are others now", "config rm";

    /// Ends the node: open ops are answered, stores are made clean.
    Shutdown: Post ["shutdown"] -> Done, "`{}`, before it begins", "stop";
}

impl Command {
    /// Whether it changes nothing and takes no time: a question.
    pub fn is_question(&self) -> bool {
        self.request().method == Method::Get && !self.is_watch()
    }

    /// Whether it watches something for the time that it says.
    pub fn is_watch(&self) -> bool {
        matches!(self, Command::ImageWhy { .. })
    }

    /// The same, its cost accepted.
    pub fn meant(self) -> Command {
        Command::Meant(Box::new(self))
    }
}
