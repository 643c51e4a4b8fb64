//! A whole node in virtual time: a cluster on simulated disks with contents and faults. The same engine as on the host;
//! messages and processor time cost nothing, as there.

use crate::disk::{CutStyle, SimDisk};
use loadline_base::{IdVec, Rng, Time};
use loadline_cluster::images::{ImageError, Images, JobId};
use loadline_cluster::{Cluster, Config, NotHealed, OsdState, PoolSpec, StartError, Target};
use loadline_node::{Delays, Node};
use loadline_osd::{Data, Effect, Event, OpId, OsdId, OsdSet, Reply};
use loadline_store::paged::{Io, IoDone, IoId, Options};
use std::collections::BTreeMap;

/// A request that a disk has.
#[derive(Clone, Copy, Debug)]
struct Sent {
    life: u32,
    id: IoId,
}

/// A disk with what it has not answered.
struct Drive {
    disk: SimDisk,
    in_flight: BTreeMap<u64, Sent>,
    submitted: u64,
    /// To be opened when the last request of the earlier life has been answered.
    reopen: bool,
}

/// A node.
pub struct DiskNode {
    now: Time,
    node: Node,
    drives: IdVec<OsdId, Drive>,
    /// Replies since they were last taken.
    pub replies: Vec<Reply>,
}

impl DiskNode {
    /// Opens formatted disks and makes them a cluster, or goes on from what they hold.
    ///
    /// # Errors
    /// [`StartError`] if they do not lead to a cluster.
    pub fn start(
        now: Time,
        config: &Config,
        stores: Options,
        disks: Vec<SimDisk>,
    ) -> Result<DiskNode, (StartError, Vec<SimDisk>)> {
        DiskNode::start_without(now, config, stores, disks, OsdSet::EMPTY)
    }

    /// The same, where an operator gives some OSDs' disks up as lost.
    ///
    /// # Errors
    /// [`StartError`] if what is left does not lead to a cluster.
    pub fn start_without(
        now: Time,
        config: &Config,
        stores: Options,
        disks: Vec<SimDisk>,
        given_up: OsdSet,
    ) -> Result<DiskNode, (StartError, Vec<SimDisk>)> {
        let drive = |disk| Drive { disk, in_flight: BTreeMap::new(), submitted: 0, reopen: false };
        let mut node = DiskNode {
            now,
            node: Node::new(Cluster::on_disks(config, stores), Delays::default()),
            drives: disks.into_iter().map(drive).collect(),
            replies: Vec::new(),
        };
        for osd in node.drives.ids().collect::<Vec<_>>() {
            node.open(osd);
        }
        node.run_until(|node| !node.node.cluster().is_opening());
        if node.node.cluster().is_new() {
            node.node.change(|cluster, fx| cluster.create(node.now, 0x010a_d11e, fx));
        } else if let Err(error) = node.node.cluster_mut().start(node.now, given_up) {
            return Err((error, node.into_disks()));
        } else {
            node.node.change(|cluster, fx| cluster.take_over(node.now, fx));
        }
        node.run_until(|node| node.node.cluster().is_serving());
        Ok(node)
    }

    /// Creates a pool.
    pub fn create_pool(&mut self, spec: PoolSpec) {
        self.node.change(|cluster, fx| cluster.create_pool(self.now, spec, fx));
        self.settle();
    }

    /// Changes the table of images.
    ///
    /// # Errors
    /// What `change` answers.
    pub fn change_images<T>(
        &mut self,
        change: impl FnOnce(&mut Images) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let changed = self.node.change(|cluster, fx| cluster.change_images(self.now, fx, change));
        self.settle();
        changed
    }

    /// The blocks of a job on images before `next` are done.
    pub fn job_advanced(&mut self, job: JobId, next: u64) {
        self.node.change(|cluster, fx| cluster.image_job_advanced(self.now, job, next, fx));
        self.settle();
    }

    /// Issues an op.
    pub fn issue(&mut self, target: &Target, data: Data) -> OpId {
        let (id, envelope) = self.node.cluster_mut().issue(self.now, target, data);
        if let Some(envelope) = envelope {
            self.node.send(envelope);
        }
        self.settle();
        id
    }

    /// Stops an OSD as a crash of it does.
    pub fn take_down(&mut self, osd: OsdId) {
        self.node.change(|cluster, fx| cluster.take_down(self.now, osd, fx));
        self.settle();
    }

    /// Opens an OSD's disk again, as soon as nothing of its earlier life is under way.
    pub fn open(&mut self, osd: OsdId) {
        self.drives[osd].reopen = true;
        self.reopen_if_idle(osd);
        self.settle();
    }

    /// Puts another disk in the place of an OSD's, which is down.
    pub fn replace(&mut self, osd: OsdId, disk: SimDisk) {
        let (in_flight, submitted) = (BTreeMap::new(), self.drives[osd].submitted);
        self.drives[osd] = Drive { disk, in_flight, submitted, reopen: false };
        self.node.cluster_mut().expect_new_disk(osd);
    }

    /// Whether an OSD is down because its store is damaged, and may be filled again.
    pub fn may_heal(&self, osd: OsdId) -> Option<Result<(), NotHealed>> {
        self.node.cluster().may_heal(osd)
    }

    /// Makes the disks of damaged OSDs empty where that loses nothing, and has them filled again, which a real node looks for every
    /// second. Answers whose.
    pub fn heal_damaged(&mut self, mut empty: impl FnMut(OsdId) -> SimDisk) -> Vec<OsdId> {
        let mut healed = Vec::new();
        for osd in self.drives.ids().collect::<Vec<_>>() {
            let is_idle = self.drives[osd].in_flight.is_empty() && !self.drives[osd].reopen;
            if is_idle && self.node.cluster().may_heal(osd) == Some(Ok(())) {
                self.node.cluster_mut().heal(osd);
                self.replace(osd, empty(osd));
                self.open(osd);
                healed.push(osd);
            }
        }
        healed
    }

    /// Lets placement use an OSD, or not.
    pub fn set_in(&mut self, osd: OsdId, is_in: bool) {
        let state = OsdState { is_in, ..self.node.cluster().map().osds()[osd] };
        self.node.change(|cluster, fx| cluster.set_osd(self.now, osd, state, fx));
        self.settle();
    }

    /// Makes everything durable that was answered; the number comes back with [`Cluster::take_synced`].
    pub fn sync(&mut self) -> u32 {
        let number = self.node.change(|cluster, fx| cluster.sync(self.now, fx));
        self.settle();
        number
    }

    /// Looks how full the disks are, which a real node does every second.
    pub fn check_fullness(&mut self) {
        self.node.change(|cluster, fx| cluster.check_fullness(fx));
        self.settle();
    }

    /// Lets the next thing happen. False if nothing ever will.
    pub fn step(&mut self) -> bool {
        let disk =
            self.drives.iter().filter_map(|(osd, drive)| Some((drive.disk.next_done()?, osd)));
        let disk = disk.min();
        let next = disk.map_or(Time::MAX, |(at, _)| at).min(self.node.next_timer());
        if next == Time::MAX {
            return false;
        }
        self.now = self.now.max(next);
        match disk {
            Some((at, osd)) if at <= self.now => self.answer(osd),
            _ => _ = self.node.fire(self.now),
        }
        self.settle();
        true
    }

    /// Lets things happen until `ready` says so, or nothing ever will.
    pub fn run_until(&mut self, mut ready: impl FnMut(&DiskNode) -> bool) -> bool {
        self.settle();
        while !ready(self) {
            if !self.step() {
                return false;
            }
        }
        true
    }

    fn answer(&mut self, osd: OsdId) {
        let drive = &mut self.drives[osd];
        let done = drive.disk.finish(self.now).expect("an answer is due");
        let Some(Sent { life, id }) = drive.in_flight.remove(&done.id) else { return };
        let done = IoDone { id, outcome: done.outcome, data: done.data };
        self.node.happened(osd, Event::IoDone(life, done));
        self.settle();
        self.reopen_if_idle(osd);
    }

    fn reopen_if_idle(&mut self, osd: OsdId) {
        let drive = &mut self.drives[osd];
        if drive.reopen && drive.in_flight.is_empty() {
            drive.reopen = false;
            let bytes = drive.disk.spec().size;
            self.node.change(|cluster, fx| cluster.open_osd(self.now, osd, bytes, fx));
        }
    }

    fn settle(&mut self) {
        while let Some(effect) = self.node.next(self.now) {
            match effect {
                Effect::Io(osd, life, io) => self.request(osd, life, io),
                Effect::Reply(reply) => {
                    self.node.cluster_mut().finish(reply.op);
                    self.replies.push(reply);
                }
                Effect::Trace(_) => {}
                effect => unreachable!("not of a cluster on disks: {effect:?}"),
            }
        }
    }

    fn request(&mut self, osd: OsdId, life: u32, io: Io) {
        let Io { id, request, data, .. } = io;
        let drive = &mut self.drives[osd];
        drive.submitted += 1;
        drive.in_flight.insert(drive.submitted, Sent { life, id });
        drive.disk.submit(self.now, drive.submitted, &request, data);
    }

    /// The process dies, and perhaps the power goes: the disks as they are then.
    pub fn crash(self, power: Option<CutStyle>, rng: &mut Rng) -> Vec<SimDisk> {
        let mut disks = self.into_disks();
        for disk in &mut disks {
            match power {
                Some(style) => disk.power_cut(style, rng),
                None => disk.kill(rng),
            }
        }
        disks
    }

    fn into_disks(self) -> Vec<SimDisk> {
        self.drives.into_values().map(|drive| drive.disk).collect()
    }

    /// Whether every copy is where it should be, and served.
    pub fn is_clean(&self) -> bool {
        self.node.cluster().is_clean()
            && self.node.cluster().map().pgs().all(|(_, state)| state.ready)
    }

    /// Whether every change of the map is on a quorum of the disks.
    pub fn is_map_committed(&self) -> bool {
        self.node.cluster().is_map_committed()
    }

    /// What an OSD's disk has not answered, and whether it is to be opened then: for messages of failed tests.
    pub fn waits_for_disk(&self, osd: OsdId) -> (usize, bool) {
        let drive = &self.drives[osd];
        (drive.in_flight.len(), drive.reopen)
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The cluster, to look into.
    pub fn cluster(&mut self) -> &mut Cluster {
        self.node.cluster_mut()
    }

    /// An OSD's disk, to look into or to spoil.
    pub fn disk(&mut self, osd: OsdId) -> &mut SimDisk {
        &mut self.drives[osd].disk
    }
}
