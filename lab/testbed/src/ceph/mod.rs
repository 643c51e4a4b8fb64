//! A Ceph cluster somewhere, as a testbed: somebody else's system, asked and changed by its own commands alone, with fio as the clients.
//!
//! Every change goes through the guard of `worlds/ceph`, so whatever ends this process, `loadline ceph undo` puts it back; what is
//! said of a step here is what the cluster answers. Looks are late: an end counts when every OSD has reported once more.

mod client;
mod place;
mod plan;
mod services;
mod sight;
mod state;
#[cfg(test)]
mod tests;
mod watch;

pub use place::{CephFound, CephTestPlace, release_numbers};
pub use plan::{CephSpec, check, plan};

use crate::{
    ClonedObjects, Heed, Latency, MachineFacts, Pace, RecoveryProgress, Seen, ServicesLeft, Stop,
    Testbed,
};
use client::{EndedClients, RbdClients};
use loadline_base::{Bytes, Span, Time};
use loadline_ceph::answers::{OsdMapDump, PerfDump, PgStat, read_pgs};
use loadline_ceph::guard::{ClusterGuard, GuardError, UNKNOWN_QUEUE, queue_of};
use loadline_ceph::{CephConnection, CephError, CommandTarget, ask, tell};
use loadline_cluster::PoolId;
use loadline_osd::{OsdId, OsdService, ServedClass, TraceSpan, Waits};
use loadline_qos::ServiceClass;
use loadline_stats::LatencyHistogram;
use serde_json::json;
use services::{AskedScrub, RemovedPool, TrimTold, clones};
use sight::{ClusterSight, Watchman, WriteWatch};
use state::ClusterState;
use std::sync::Arc;
use std::time::Duration;
use watch::{FIRST_SIGN, MoveLook, MoveWatch};

/// Two looks closer than this are one.
const ONE_LOOK: Span = Span::from_millis(100);

/// How often processes and other people's clients are asked for.
const RARELY: Span = Span::from_secs(5);

/// What OSDs have reported is in the monitors' status within this time: the manager sends it every 5 s. (`osd last-stat-seq` would tell sooner, but
/// with a number as text it ends the monitor of 18.2.7.)
const DIGEST: Span = Span::from_secs(6);

/// A cluster that has not answered for so long is lost.
const SILENCE: Span = Span::from_secs(30);

/// Until a cluster at rest says so, its new groups included.
const REST: Span = Span::from_secs(180);

/// How often the cluster is looked at while images are filled.
const FILL_LOOKS: Span = Span::from_secs(1);

/// Objects under way while a pool is filled.
const FILL_DEPTH: u64 = 8;

/// How often OSDs are told to report their groups while a service is looked at: half as often the manager takes the reports in.
const REPORTS: Span = Span::from_secs(1);

/// What the pool of the clients' images is called behind the run's name.
const CLIENTS: &str = "clients";

/// A group's log has so many entries during a study: what an OSD lacks that was away is then copied as a whole, as after a longer absence
/// with more writes, and not told from the log.
const LOG_ENTRIES: [(&str, &str); 3] = [
    ("osd_min_pg_log_entries", "1"),
    ("osd_max_pg_log_entries", "1"),
    ("osd_pg_log_trim_min", "1"),
];

/// A cluster with its clients.
pub struct CephCluster {
    spec: CephSpec,
    on: Arc<dyn CephConnection>,
    /// While something is changed.
    guard: Option<ClusterGuard>,
    before: ClusterState,
    zero: ClusterZero,
    filled: Vec<FilledPool>,
    eye: ClusterEye,
    course: CopyCourse,
    services: AskedServices,
    clients: Option<RbdClients>,
    ended: Option<EndedClients>,
    facts: MachineFacts,
}

/// The testbed's zero.
#[derive(Clone, Copy, Debug)]
struct ClusterZero {
    /// On a clock that never goes back: spans are measured by it.
    passed: Duration,
    /// The time of day then, by which what the cluster and fio have stamped is placed.
    day_s: f64,
}

/// A pool that was made.
#[derive(Debug)]
struct FilledPool {
    name: String,
    /// As the names of its groups begin.
    number: u64,
    object_size: Bytes,
    /// Objects in it.
    objects: u64,
    /// For which clones of some of them are kept, and of how many.
    snapshot: Option<(u64, u64)>,
}

/// Services that were asked for, and what was last told of them.
#[derive(Debug, Default)]
struct AskedServices {
    scrub: Option<(PoolId, AskedScrub)>,
    trim: Option<PoolId>,
    removal: Option<RemovedPool>,
    told: ServicesLeft,
    told_at: Time,
    told_to_report: Option<Time>,
}

/// Who looks at the cluster, and what was seen last.
#[derive(Debug, Default)]
struct ClusterEye {
    watchman: Watchman,
    sight: ClusterSight,
    asked_rarely: Time,
}

/// The copies that move since the map was changed, and what was counted meanwhile.
#[derive(Debug, Default)]
struct CopyCourse {
    /// The look from which everything counts.
    counted: ClusterSight,
    watch: MoveWatch,
    /// When all OSDs were told to report, since an end is in sight.
    told_to_report: Option<Time>,
    /// An OSD that is to come back when the clients write.
    returning: Option<OsdId>,
    /// When the clients' time began.
    begun: Time,
    figures: Vec<(&'static str, f64)>,
}

fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::Failed(error.to_string())
}

impl From<CephError> for Stop {
    fn from(error: CephError) -> Stop {
        failed(error)
    }
}

impl From<GuardError> for Stop {
    fn from(error: GuardError) -> Stop {
        failed(error)
    }
}

impl CephCluster {
    /// Connects to a cluster that a study may change. Nothing is changed yet.
    ///
    /// # Errors
    /// [`Stop::Failed`] with every condition that is not met.
    pub fn start(spec: CephSpec) -> Result<CephCluster, Stop> {
        let on: Arc<dyn CephConnection> = spec.place.cluster.connect()?.into();
        CephCluster::on(spec, on)
    }

    /// The same over a connection that is there.
    fn on(spec: CephSpec, on: Arc<dyn CephConnection>) -> Result<CephCluster, Stop> {
        // The run before may have left copies on their way home.
        let mut tries = 0..REST.as_secs_f64() as u32;
        loop {
            let refusals = plan::refusals(&spec, &*on)?;
            if refusals.is_empty() {
                break;
            }
            if tries.next().is_none() {
                return Err(failed(refusals.join("; ")));
            }
            on.pause(Duration::from_secs(1));
        }
        let facts = plan::facts(&spec, &*on)?;
        let before = ClusterState::ask(&*on)?;
        Ok(CephCluster::new(spec, on, before, facts))
    }

    /// One to which nothing has been done; its time begins.
    fn new(
        spec: CephSpec,
        on: Arc<dyn CephConnection>,
        before: ClusterState,
        facts: MachineFacts,
    ) -> CephCluster {
        let zero = ClusterZero { passed: on.passed(), day_s: on.time_of_day_s() };
        CephCluster {
            spec,
            on,
            guard: None,
            before,
            zero,
            filled: Vec::new(),
            eye: ClusterEye::default(),
            course: CopyCourse::default(),
            services: AskedServices::default(),
            clients: None,
            ended: None,
            facts,
        }
    }

    fn guard(&mut self) -> &mut ClusterGuard {
        self.guard.as_mut().expect("images are made first, and with them the guard")
    }

    fn osds(&self) -> &[u32] {
        &self.spec.place.found.osds
    }

    /// Those that answer: who asks one that is stopped waits for nothing.
    fn running(&self) -> Vec<u32> {
        let stopped = self.eye.watchman.stopped;
        self.osds().iter().copied().filter(|osd| Some(*osd) != stopped).collect()
    }

    /// Quiet, short logs where an OSD goes, and the setup's own settings, each read back from every OSD. The flags keep every scrub away but
    /// those that are asked for: what is requested heeds no flag.
    fn set_up(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let journal = self.spec.place.journal();
        self.guard = Some(ClusterGuard::begin(Arc::clone(&self.on), &journal, &self.spec.run())?);
        self.eye.watchman.begin(&*self.on)?;
        for flag in ["noscrub", "nodeep-scrub"] {
            self.guard().set_flag(flag)?;
        }
        self.guard().pause_balancer()?;
        let osds = self.osds().to_vec();
        let settings: Vec<(String, String)> = self.spec.settings.clone();
        let (queue, settings): (Vec<_>, Vec<_>) =
            settings.into_iter().partition(|(name, _)| name == "osd_op_queue");
        for (name, value) in queue {
            if self.runs_with_another(&value)? {
                self.guard().set_option("osd", &name, &value)?;
                self.restart_all(&value, heed)?;
            }
        }
        for (name, value) in &settings {
            self.guard().set_option("osd", name, value)?;
            heed.at(0.0)?;
        }
        // Where no OSD goes nothing is told from a log.
        let logs = LOG_ENTRIES.into_iter().filter(|_| self.spec.victim.is_some());
        let logs: Vec<(&str, &str)> = logs.collect();
        for (name, value) in &logs {
            self.guard().set_option("osd", name, value)?;
        }
        let own = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(logs) {
            self.guard().in_force(&osds, name, value)?;
            heed.at(0.0)?;
        }
        Ok(())
    }

    /// Whether an OSD runs with another queue than this one. Whoever does not tell is not measured: nobody could say under what.
    fn runs_with_another(&self, queue: &str) -> Result<bool, Stop> {
        let mut differs = false;
        for osd in self.osds() {
            let found = queue_of(&*self.on, *osd);
            if found.is_empty() || found == UNKNOWN_QUEUE {
                return Err(failed(format!(
                    "osd.{osd} does not tell which queue it runs with (`perf dump`, `dump_op_pq_state`)"
                )));
            }
            differs |= found != queue;
        }
        Ok(differs)
    }

    /// One after the other, each when all groups serve.
    fn restart_all(&mut self, queue: &str, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let Some(hook) = self.spec.place.restart.clone() else {
            return Err(failed("another queue needs --restart-osd"));
        };
        for osd in self.osds().to_vec() {
            self.until_rest(heed)?;
            self.guard().restart_osd(osd, &hook)?;
            let found = queue_of(&*self.on, osd);
            if found != queue {
                return Err(failed(format!(
                    "osd.{osd} began anew with {found} and not with {queue}"
                )));
            }
            heed.at(0.0)?;
        }
        self.until_rest(heed)?;
        Ok(self.eye.watchman.begin(&*self.on)?)
    }

    /// Until every group that the map has serves and is where it belongs.
    fn until_rest(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let until = self.now() + REST;
        loop {
            let map: OsdMapDump =
                ask(&*self.on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
            let groups: u64 = map.pools.iter().map(|pool| pool.pg_num).sum();
            let sight = ClusterSight::ask(&*self.on, &[], self.now())?;
            if sight.status.is_clean() && sight.status.pgmap.num_pgs == groups {
                return Ok(());
            }
            if self.now() > until {
                return Err(failed(format!("the cluster did not come to rest within {REST}")));
            }
            heed.at(0.0)?;
            self.on.pause(Duration::from_millis(500));
        }
    }

    /// Looks, unless it has just looked; the answer to everything that may be wrong is the end of the study.
    fn look(&mut self) -> Result<(), Stop> {
        let at = self.now();
        if at.since(self.eye.sight.at) < ONE_LOOK && self.eye.sight.at > Time::ZERO {
            return Ok(());
        }
        match ClusterSight::ask(&*self.on, &self.running(), at) {
            Ok(sight) => self.eye.sight = sight,
            Err(error) if at.since(self.eye.sight.at) > SILENCE => {
                return Err(failed(format!("aborted: the cluster is silent: {error}")));
            }
            Err(_) => return Ok(()),
        }
        let mut alarm = self.eye.watchman.alarm(&self.eye.sight);
        if alarm.is_none() && at.since(self.eye.asked_rarely) >= RARELY {
            self.eye.asked_rarely = at;
            alarm = self.eye.watchman.rare_alarm(&*self.on).unwrap_or_default();
        }
        match alarm {
            Some(why) => Err(failed(format!("aborted: {why}"))),
            None => Ok(()),
        }
    }

    /// Whether the end that the last look shows is still there when the monitors have what all OSDs say now.
    fn is_confirmed(&mut self) -> bool {
        let now = self.now();
        match self.course.told_to_report {
            Some(at) => now.since(at) >= DIGEST,
            None => {
                self.tell_to_report();
                self.course.told_to_report = Some(self.now());
                false
            }
        }
    }

    /// Has all OSDs report their groups. One that does not answer does so by itself, within seconds.
    fn tell_to_report(&self) {
        for osd in self.running() {
            let _ = self.on.command(&CommandTarget::Osd(osd), &json!({"prefix": "flush_pg_stats"}));
        }
    }

    /// What the groups of some pools tell, all OSDs having been told to report.
    fn groups(&mut self, pools: &[PoolId]) -> Result<Vec<Vec<PgStat>>, CephError> {
        let now = self.now();
        if self.services.told_to_report.is_none_or(|told| now.since(told) >= REPORTS) {
            self.tell_to_report();
            self.services.told_to_report = Some(now);
        }
        let dump = json!({"prefix": "pg dump", "dumpcontents": ["pgs"]});
        let output = tell(&*self.on, &CommandTarget::Manager, &dump)?;
        let number = |pool: &PoolId| format!("{}.", self.pool(*pool).number);
        let numbers: Vec<String> = pools.iter().map(number).collect();
        let mut groups = vec![Vec::new(); pools.len()];
        let sorted = read_pgs(&output, |group| {
            let of = numbers.iter().position(|number| group.pgid.starts_with(number));
            of.into_iter().for_each(|of| groups[of].push(group.clone()));
        });
        sorted.map_err(|error| CephError::Garbled {
            target: CommandTarget::Manager,
            prefix: "pg dump".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(groups)
    }

    /// What the groups tell of services that were asked for.
    fn told_of_services(&mut self, scrubbed: Option<PoolId>) -> Result<ServicesLeft, CephError> {
        let mut told = ServicesLeft::default();
        let scrub = self.services.scrub.clone().filter(|(pool, _)| scrubbed == Some(*pool));
        let trim = self.services.trim;
        let pools: Vec<PoolId> = scrub.iter().map(|(pool, _)| *pool).chain(trim).collect();
        let mut groups = if pools.is_empty() { Vec::new() } else { self.groups(&pools)? };
        let at = |seconds: f64| self.time_of(seconds);
        if let Some((_, scrub)) = scrub {
            let found = scrub.told(&groups.remove(0));
            told.scrub = found.left;
            told.closely.scrub_ended = found.ended_s.map(at);
            told.closely.groups_scrubbed = Some(Span::from_secs_f64(found.group_s));
        }
        if trim.is_some() {
            let found = TrimTold::of(&groups.remove(0));
            told.trim = found.left;
            told.closely.trim_ended = found.ended_s.map(at);
        }
        if let Some(removal) = self.services.removal {
            let left = removal.left(&self.eye.sight, self.osds().len());
            told.removal = left.unwrap_or(self.services.told.removal);
        }
        Ok(told)
    }

    /// A moment that the cluster stamped, as far as it is over.
    fn time_of(&self, seconds: f64) -> Time {
        let since_s = (seconds - self.zero.day_s).max(0.0);
        Time::from_nanos((since_s * 1e9) as u64).min(self.now())
    }

    /// A look from which things count: every OSD that runs has told what it has done by then.
    fn whole_sight(&self) -> Result<ClusterSight, Stop> {
        let running = self.running();
        let until = self.now() + SILENCE;
        loop {
            let sight = ClusterSight::ask(&*self.on, &running, self.now())?;
            let silent = sight.silent(&running);
            if silent.is_empty() {
                return Ok(sight);
            }
            if self.now() > until {
                let silent: Vec<String> = silent.iter().map(|osd| format!("osd.{osd}")).collect();
                return Err(failed(format!(
                    "{} did not tell its counters within {SILENCE}, and what it did before would count",
                    silent.join(", ")
                )));
            }
            self.on.pause(Duration::from_millis(500));
        }
    }

    /// What changes the map begins a new wait.
    fn watch_anew(&mut self) -> Result<(), Stop> {
        self.course.counted = self.whole_sight()?;
        self.course.watch = MoveWatch::begin(self.now());
        self.course.told_to_report = None;
        Ok(())
    }

    fn pool_name(&self, of: &str) -> String {
        format!("loadline-{}-{of}", self.spec.run())
    }

    fn make_named(
        &mut self,
        of: &str,
        object_size: Bytes,
        heed: &mut Heed<'_>,
    ) -> Result<PoolId, Stop> {
        let name = self.pool_name(of);
        let (pgs, copies) = (self.spec.pgs, self.spec.copies);
        self.guard().make_pool(&name, pgs, Some(copies))?;
        self.until_rest(heed)?;
        let map: OsdMapDump =
            ask(&*self.on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
        let made = map.pools.iter().find(|pool| pool.pool_name == name);
        let number = made.ok_or_else(|| failed(format!("the pool {name} is gone")))?.pool;
        self.filled.push(FilledPool { name, number, object_size, objects: 0, snapshot: None });
        Ok(PoolId::new(self.filled.len() as u32 - 1))
    }

    fn pool(&self, pool: PoolId) -> &FilledPool {
        &self.filled[pool.get() as usize]
    }

    /// Writes so many objects, some at a time.
    fn write_all(
        &self,
        objects: u64,
        heed: &mut Heed<'_>,
        write: &(dyn Fn(&str) -> Result<(), CephError> + Sync),
    ) -> Result<(), Stop> {
        // Each thread writes some before all wait for each other, so that a slow object holds up one of them.
        const EACH: u64 = 8;
        for first in (0..objects).step_by((FILL_DEPTH * EACH) as usize) {
            let last = objects.min(first + FILL_DEPTH * EACH);
            std::thread::scope(|scope| {
                let some = |thread: u64| {
                    let mut own = (first + thread..last).step_by(FILL_DEPTH as usize);
                    scope.spawn(move || own.try_for_each(|object| write(&format!("o{object}"))))
                };
                let threads: Vec<_> = (0..FILL_DEPTH).map(some).collect();
                threads.into_iter().try_for_each(|one| one.join().expect("it does not panic"))
            })?;
            heed.at(last as f64 / objects as f64)?;
        }
        Ok(())
    }

    /// Waits for clients that fill the images, while the cluster is looked at; one that takes no write any more ends that.
    fn watch_filling(&mut self, clients: RbdClients, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let on = Arc::clone(&self.on);
        self.eye.sight = self.whole_sight()?;
        let mut writes = WriteWatch::begin(self.eye.sight.clone());
        clients.until_they_end(&*on, heed, &mut || {
            if self.now().since(self.eye.sight.at) < FILL_LOOKS {
                return Ok(());
            }
            self.look()?;
            if writes.see(&self.eye.sight) > SILENCE {
                return Err(failed(format!(
                    "aborted: the images are not filled, and no OSD has written for {SILENCE}"
                )));
            }
            Ok(())
        })
    }

    /// The copies that an OSD's return moves: its share of all.
    fn expected(&self) -> u64 {
        let objects: u64 = self.filled.iter().map(|pool| pool.objects).sum();
        objects * u64::from(self.spec.copies) / self.osds().len().max(1) as u64
    }

    /// What only this testbed can tell: where time passed in the OSDs, and what the clients saw in the midst of the copies.
    fn tell_figures(&mut self, ended: &EndedClients) -> Result<(), Stop> {
        let (from, to) = (&self.course.counted, &self.eye.sight);
        let mean = |sum: fn(&PerfDump) -> f64, count: fn(&PerfDump) -> f64| {
            let count = to.grown(from, count);
            (count > 0.0).then(|| to.grown(from, sum) / count * 1e3)
        };
        let queue = mean(
            |it| it.osd.op_before_dequeue_op_lat.sum,
            |it| it.osd.op_before_dequeue_op_lat.avgcount,
        );
        let commit =
            mean(|it| it.bluestore.txc_commit_lat.sum, |it| it.bluestore.txc_commit_lat.avgcount);
        let mut figures = Vec::new();
        figures.extend(queue.map(|ms| ("osd/queue_ms", ms)));
        figures.extend(commit.map(|ms| ("osd/commit_ms", ms)));
        if let Some((first, last)) = self.course.watch.copying() {
            figures.push(("recovery/first_copy_s", first.since(self.course.begun).as_secs_f64()));
            figures.push(("recovery/told_after_s", self.eye.sight.at.since(last).as_secs_f64()));
        }
        if let Some(middle) = self.course.watch.between(0.1, 0.9).filter(|(from, to)| to > from) {
            let seen = ended.seen(self.zero.day_s, middle)?;
            if let Some(Seen { iops, latency, .. }) = seen.first() {
                figures.push(("client/amid/iops", *iops));
                figures.push(("client/amid/p99_ms", latency.percentile_ms(99.0)));
            }
        }
        self.course.figures = figures;
        Ok(())
    }
}

impl Testbed for CephCluster {
    fn now(&self) -> Time {
        Time::from_nanos(self.on.passed().saturating_sub(self.zero.passed).as_nanos() as u64)
    }

    fn pace(&self) -> Pace {
        Pace {
            clean: Span::from_secs(1),
            recovery: Span::from_millis(500),
            first_sign: FIRST_SIGN + Span::from_secs(10),
        }
    }

    fn pass(&mut self, until: Time) -> Result<(), Stop> {
        let now = self.now();
        if until > now {
            self.on.pause(Duration::from_nanos(until.since(now).nanos()));
        }
        match &mut self.clients {
            Some(clients) => clients.go_on(),
            None => Ok(()),
        }
    }

    fn make_images(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        self.set_up(heed)?;
        let made = self.make_named(CLIENTS, self.spec.object_size, heed)?;
        let pool = self.pool(made).name.clone();
        for image in &self.spec.images {
            self.on.create_image(&pool, &image.name, image.load.image.get())?;
            self.filled[made.get() as usize].objects +=
                image.load.image.get().div_ceil(self.spec.object_size.get());
        }
        let (place, images) = (&self.spec.place, &self.spec.images);
        let jobs = client::fillings(place, &pool, self.spec.object_size, images);
        let clients = RbdClients::begin(place, &jobs, images.len())?;
        self.watch_filling(clients, heed)
    }

    fn make_pool(&mut self, name: &str, object_size: Bytes) -> Result<PoolId, Stop> {
        self.make_named(name, object_size, &mut Heed::until(&mut |_| true, 1.0))
    }

    fn fill(&mut self, pool: PoolId, objects: u64, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let FilledPool { name, object_size, .. } = self.pool(pool);
        let bytes = object_size.get() as usize;
        self.write_all(objects, heed, &|object| self.on.write_object(name, object, bytes))?;
        self.filled[pool.get() as usize].objects += objects;
        Ok(())
    }

    /// Objects of an image are objects of a pool: the snapshot is one of those by which librbd makes an image's. It is there when the groups tell
    /// of every clone.
    fn fill_with_clones(
        &mut self,
        pool: PoolId,
        of: ClonedObjects,
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop> {
        self.fill(pool, of.objects, heed)?;
        let FilledPool { name, object_size, .. } = self.pool(pool);
        let (bytes, snapshot) = (object_size.get() as usize, self.on.take_snapshot(name)?);
        self.write_all(of.changed, heed, &|object| {
            self.on.write_beside(snapshot, name, object, bytes)
        })?;
        self.filled[pool.get() as usize].snapshot = Some((snapshot, of.changed));
        let until = self.now() + SILENCE;
        loop {
            let told = clones(&self.groups(&[pool])?.remove(0));
            if told == of.changed {
                return Ok(());
            }
            if self.now() > until {
                return Err(failed(format!("the groups tell of {told} clones of {}", of.changed)));
            }
            heed.at(1.0)?;
            self.on.pause(Duration::from_secs(1));
        }
    }

    fn remove_snapshot(&mut self, pool: PoolId) -> Result<(), Stop> {
        let FilledPool { name, snapshot, .. } = self.pool(pool);
        let (snapshot, clones) =
            snapshot.ok_or_else(|| failed(format!("{name} has no snapshot")))?;
        self.on.remove_snapshot(snapshot, name)?;
        self.services.trim = Some(pool);
        // Until something else is told.
        self.services.told.trim = clones;
        self.services.told_at = self.now();
        Ok(())
    }

    fn remove_pool(&mut self, pool: PoolId) -> Result<(), Stop> {
        let FilledPool { name, object_size, objects, .. } = self.pool(pool);
        let (name, size) = (name.clone(), object_size.get());
        let copies = objects * u64::from(self.spec.copies);
        let removed = RemovedPool::of(&self.whole_sight()?, self.osds().len(), size, copies);
        let removed = removed
            .ok_or_else(|| failed("an OSD is down, and what it holds of the pool is not known"))?;
        self.guard().remove_pool(&name)?;
        self.services.removal = Some(removed);
        self.services.told.removal = copies;
        self.services.told_at = self.now();
        Ok(())
    }

    fn deep_scrub(&mut self, pool: PoolId) -> Result<(), Stop> {
        let groups = self.groups(&[pool])?.remove(0);
        let asked = AskedScrub::of(&groups);
        let command = json!({"prefix": "osd pool deep-scrub", "who": [self.pool(pool).name]});
        tell(&*self.on, &CommandTarget::Manager, &command)?;
        self.services.told.scrub = asked.told(&groups).left;
        self.services.told_at = self.now();
        self.services.scrub = Some((pool, asked));
        Ok(())
    }

    fn services(&mut self, scrubbed: Option<PoolId>) -> Result<ServicesLeft, Stop> {
        self.look()?;
        match self.told_of_services(scrubbed) {
            Ok(told) => {
                self.services.told = told;
                self.services.told_at = self.now();
            }
            // A manager that is silent for a moment is a missing sample.
            Err(error) if self.now().since(self.services.told_at) > SILENCE => {
                return Err(failed(format!("aborted: the cluster is silent: {error}")));
            }
            Err(_) => {}
        }
        Ok(self.services.told)
    }

    /// Out, and where the operator's hook can do that, down before it.
    fn take_out(&mut self, osd: OsdId) -> Result<(), Stop> {
        let number = osd.get();
        self.watch_anew()?;
        if let Some(hook) = self.spec.place.restart.clone().filter(|hook| hook.can_stop()) {
            self.eye.watchman.stopped = Some(number);
            self.guard().stop_osd(number, &hook)?;
        }
        Ok(self.guard().take_out(number)?)
    }

    /// Up at once, and in as soon as the clients write: `in` is the moment from which a recovery counts.
    fn bring_back(&mut self, osd: OsdId) -> Result<(), Stop> {
        if self.eye.watchman.stopped.is_some() {
            let hook = self.spec.place.restart.clone().expect("it has stopped the OSD");
            self.guard().start_osd(osd.get(), &hook)?;
            self.eye.watchman.begin(&*self.on)?;
            self.eye.watchman.stopped = None;
        }
        self.course.returning = Some(osd);
        Ok(())
    }

    fn settle(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        match self.eye.watchman.stopped {
            // Its groups are degraded until it is back.
            Some(_) => self.on.pause(Duration::from_secs(2)),
            None => self.until_rest(heed)?,
        }
        Ok(())
    }

    fn count_from_now(&mut self) -> Result<(), Stop> {
        self.watch_anew()
    }

    fn start_load(&mut self, heed: &mut Heed<'_>) -> Result<Time, Stop> {
        let (place, images) = (&self.spec.place, &self.spec.images);
        let pool = self.pool_name(CLIENTS);
        let jobs = client::loads(place, &pool, images, self.spec.limit + REST)?;
        let before = self.whole_sight()?;
        self.clients = Some(RbdClients::begin(place, &jobs, images.len())?);
        let until = self.now() + SILENCE;
        // Opening an image takes some ops, too.
        const OPENING: f64 = 100.0;
        loop {
            let sight = ClusterSight::ask(&*self.on, self.osds(), self.now())?;
            if sight.grown(&before, |it| it.osd.op) > OPENING {
                break;
            }
            if self.now() > until {
                return Err(failed(format!("fio has not written anything for {SILENCE}")));
            }
            self.pass(self.now() + Span::from_millis(200))?;
            heed.at(0.0)?;
        }
        self.watch_anew()?;
        if let Some(osd) = self.course.returning {
            self.guard().take_in(osd.get())?;
        }
        self.course.begun = self.now();
        Ok(self.course.begun)
    }

    fn latency(&mut self) -> Option<LatencyHistogram> {
        None
    }

    fn latency_in(
        &mut self,
        parts: &[(Time, Time)],
    ) -> Result<Option<Vec<LatencyHistogram>>, Stop> {
        let Some(ended) = &self.ended else { return Ok(None) };
        parts
            .iter()
            .map(|part| ended.latency(self.zero.day_s, *part))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn end_load(&mut self, heed: &mut Heed<'_>) -> Result<Vec<Seen>, Stop> {
        let until = match self.course.watch.copying().filter(|_| self.course.returning.is_some()) {
            Some((_, last)) => last,
            None => self.now(),
        };
        let clients = self.clients.take().ok_or_else(|| failed("no clients have begun"))?;
        let ended = clients.end(&*self.on, heed)?;
        let seen = ended.seen(self.zero.day_s, (self.course.begun, until))?;
        if seen.iter().any(|seen| seen.latency == Latency::default()) {
            return Err(failed(
                "no op of the clients ended in the window; take a larger --set scale",
            ));
        }
        self.tell_figures(&ended)?;
        self.facts.know("fio", format!("{}, its rbd engine", ended.version));
        self.ended = Some(ended);
        Ok(seen)
    }

    fn progress(&mut self) -> Result<RecoveryProgress, Stop> {
        self.look()?;
        let pushed = self.eye.sight.grown(&self.course.counted, |it| it.osd.push);
        let look = MoveLook::of(self.eye.sight.at, pushed, &self.eye.sight.status);
        let clean = match self.course.watch.see(look) {
            // One that is stopped leaves its groups degraded, wherever else they have copies.
            true => self.is_confirmed(),
            false => {
                self.course.told_to_report = None;
                false
            }
        };
        let moved = self.course.watch.pushed();
        let nothing =
            !self.course.watch.has_started() && look_is_late(&self.eye.sight, self.course.begun);
        let left = match clean || nothing {
            true => 0,
            false => self.expected().saturating_sub(moved).max(1),
        };
        let recovered = clean && moved > 0;
        Ok(RecoveryProgress { moved, left, clean, recovered, copied: self.course.watch.copying() })
    }

    /// Ops of clients that each OSD has carried out. What waits for how long no cluster tells, so nothing is said of a reservation.
    fn service(&mut self) -> Result<(Time, Vec<OsdService>), Stop> {
        self.look()?;
        let of = |osd: &u32| {
            let mut classes = [ServedClass::default(); ServiceClass::ALL.len()];
            if let Some(now) = self.eye.sight.counters.get(osd) {
                let items = now.osd.op as u64;
                classes[ServiceClass::Client as usize] =
                    ServedClass { items, cost: items, ..ServedClass::default() };
            }
            OsdService {
                reservations: Default::default(),
                shards: vec![classes],
                waiting: Default::default(),
            }
        };
        Ok((self.eye.sight.at, self.osds().iter().map(of).collect()))
    }

    fn waits(&mut self) -> Result<Box<Waits>, Stop> {
        Ok(Box::default())
    }

    /// A cluster does not tell.
    fn device_requests(&mut self) -> Result<u64, Stop> {
        Ok(0)
    }

    fn drive_busy(&mut self, _osd: OsdId) -> Result<Option<Span>, Stop> {
        Ok(None)
    }

    fn take_trace(&mut self) -> Result<Vec<TraceSpan>, Stop> {
        Ok(Vec::new())
    }

    fn own_figures(&mut self) -> Vec<(&'static str, f64)> {
        std::mem::take(&mut self.course.figures)
    }

    /// The clients end, and all that was changed goes back.
    fn put_back(&mut self) -> Result<(), Stop> {
        self.clients = None;
        let Some(guard) = self.guard.take() else { return Ok(()) };
        let run = self.spec.place.folder.display().to_string();
        let undo =
            format!("`loadline ceph undo {run} --on {}` tries again", self.spec.place.cluster);
        let report = guard.end().map_err(|error| failed(format!("{error}; {undo}")))?;
        for foreign in &report.foreign {
            self.facts.doubt(format!(
                "Not ours, and left as it is: {foreign}; see who changes this cluster beside you."
            ));
        }
        let differs = self.before.differs(&ClusterState::ask(&*self.on)?);
        let is_explained = |what: &&String| {
            report.foreign.iter().any(|it| what.contains(it.split(' ').next().unwrap_or(it)))
        };
        let unexplained: Vec<&str> =
            differs.iter().filter(|it| !is_explained(it)).map(String::as_str).collect();
        let restored = match unexplained.as_slice() {
            [] => "restored: options, flags, pools, balancer and OSDs as before".to_owned(),
            some => format!("restored but for: {}", some.join("; ")),
        };
        self.facts.know("Afterwards", restored);
        match report.left.as_slice() {
            [] => Ok(()),
            left => Err(failed(format!("could not be put back: {}; {undo}", left.join("; ")))),
        }
    }

    fn facts(&mut self) -> Option<MachineFacts> {
        Some(self.facts.clone())
    }
}

fn look_is_late(sight: &ClusterSight, begun: Time) -> bool {
    begun > Time::ZERO && sight.at.since(begun) >= FIRST_SIGN
}

impl Drop for CephCluster {
    fn drop(&mut self) {
        // Whoever ends a study tells what could not be put back; here is only the last chance for it.
        drop(self.put_back());
    }
}
