//! A simulated world that a test turns by hand: a node on disks with contents and faults, no load but the ops that the test
//! issues, and steps to what happens next. As on the host, messages and processor time cost nothing.

use crate::disk::{CutStyle, SimDisk};
use crate::host::SimHost;
use crate::osd_drive::RunningDrive;
use crate::sim::{DisksConfig, Sim};
use crate::store_disks::StoreDisks;
use crate::workload::ByHand;
use loadline_base::{Rng, Time};
use loadline_cluster::images::{ImageError, Images, JobId};
use loadline_cluster::{Config, NotHealed, NotLost, OsdState, StartError, SyncOf, Target};
use loadline_node::{Delays, Lateness};
use loadline_osd::{Data, OpId, OsdId, OsdSet, PgId};
use loadline_store::ObjectNo;
use loadline_store::paged::Options;
use loadline_store::paged::ids::{PageNo, StoreId};
use loadline_store::paged::layout::SUPERBLOCK;
use loadline_store::paged::superblock::Superblock;

/// A world in which only the disks take time.
fn by_hand(now: Time, cluster: &Config, stores: Options, disks: Vec<SimDisk>) -> Sim {
    let (delays, host) = (Delays::default(), SimHost::default());
    let config = DisksConfig { cluster, stores, disks, delays, host };
    Sim::on_disks(now, config, ByHand::default())
}

impl Sim<ByHand> {
    /// Opens formatted disks and makes them a cluster, or goes on from what they hold.
    ///
    /// # Errors
    /// [`StartError`] if they do not lead to a cluster.
    pub fn start(
        now: Time,
        config: &Config,
        stores: Options,
        disks: Vec<SimDisk>,
    ) -> Result<Sim, (StartError, Vec<SimDisk>)> {
        Sim::start_without(now, config, stores, disks, OsdSet::EMPTY)
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
    ) -> Result<Sim, (StartError, Vec<SimDisk>)> {
        by_hand(now, config, stores, disks).begin(given_up)
    }

    /// As [`Sim::start`], in a world where the map's owner and the OSDs hear each other late.
    ///
    /// # Errors
    /// [`StartError`] if the disks do not lead to a cluster.
    pub fn start_late(
        now: Time,
        config: &Config,
        stores: Options,
        disks: Vec<SimDisk>,
        lateness: Lateness,
    ) -> Result<Sim, (StartError, Vec<SimDisk>)> {
        let mut sim = by_hand(now, config, stores, disks);
        sim.be_late(lateness);
        sim.begin(OsdSet::EMPTY)
    }

    /// Changes the table of images.
    ///
    /// # Errors
    /// What `change` answers.
    pub fn change_images<T>(
        &mut self,
        change: impl FnOnce(&mut Images) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        self.change(|cluster, fx| cluster.change_images(fx, change))
    }

    /// The blocks of a job on images before `next` are done.
    pub fn job_advanced(&mut self, job: JobId, next: u64) {
        self.change(|cluster, fx| cluster.image_job_advanced(job, next, fx));
    }

    /// Issues an op.
    pub fn issue(&mut self, target: &Target, data: Data) -> OpId {
        let now = self.now();
        let (id, envelope) = self.cluster().issue(now, target, data);
        if let Some(envelope) = envelope {
            self.send_message(envelope);
        }
        id
    }

    /// Stops an OSD as a crash of it does.
    pub fn take_down(&mut self, osd: OsdId) {
        self.change(|cluster, fx| cluster.take_down(osd, fx));
    }

    /// Whether an OSD has heard that it is down.
    pub fn is_closed(&mut self, osd: OsdId) -> bool {
        !self.osd(osd).has_disk()
    }

    /// Puts another disk in the place of an OSD's, which is down.
    pub fn replace(&mut self, osd: OsdId, disk: SimDisk) {
        self.put_disk(osd, disk);
        self.cluster().expect_new_disk(osd);
    }

    /// The same, where nobody says so.
    pub fn put_disk(&mut self, osd: OsdId, disk: SimDisk) {
        self.drives.of[osd] = RunningDrive::on_disks(StoreDisks { data: disk, log: None });
    }

    /// Whether an OSD is down because its store is damaged, and may be filled again.
    pub fn may_heal(&self, osd: OsdId) -> Option<Result<(), NotHealed>> {
        self.node().cluster().may_heal(osd)
    }

    /// Opens the disks once more that may be good at a second look, as a real node does every second. Answers whose.
    pub fn open_again(&mut self) -> Vec<OsdId> {
        let may_pass = |osd: &OsdId| {
            self.waits_for_disk(*osd) == (0, false) && self.node().cluster().may_open_again(*osd)
        };
        let all: Vec<OsdId> = self.osds().filter(may_pass).collect();
        for osd in &all {
            self.cluster().open_again(*osd);
            self.open(*osd);
        }
        all
    }

    /// Takes one OSD down whose scrubs have found its store bad, if everything is on others too, which a real node looks for every second.
    pub fn take_rotten_down(&mut self) -> Option<OsdId> {
        let cluster = self.node().cluster();
        let may_go = |(osd, _): &(OsdId, PageNo)| cluster.may_take_rotten_down(*osd).is_ok();
        let (osd, _) = cluster.rotten().find(may_go)?;
        self.change(|cluster, fx| cluster.take_rotten_down(osd, fx));
        Some(osd)
    }

    /// Makes the disks of damaged OSDs empty where that loses nothing, and has them filled again, which a real node looks for every
    /// second. Answers whose.
    pub fn heal_damaged(&mut self, mut empty: impl FnMut(OsdId) -> SimDisk) -> Vec<OsdId> {
        let mut healed = Vec::new();
        for osd in self.osds() {
            if self.is_to_be_emptied(osd) && self.make_empty(osd, empty(osd)) {
                self.open(osd);
                healed.push(osd);
            }
        }
        healed
    }

    fn is_to_be_emptied(&self, osd: OsdId) -> bool {
        self.waits_for_disk(osd) == (0, false) && self.may_heal(osd) == Some(Ok(()))
    }

    /// Makes a damaged disk this empty one, as soon as the map tells which store that is. It is not opened yet. Answers whether it
    /// still may be when the map does.
    pub fn make_empty(&mut self, osd: OsdId, empty: SimDisk) -> bool {
        let store = match Superblock::decode(&empty.peek(0..SUPERBLOCK)) {
            Ok(superblock) => StoreId::new(superblock.store_id),
            Err(fault) => fault.store(),
        };
        let store = store.expect("it holds a store, or will");
        self.change(|cluster, fx| cluster.expect_store(osd, store, fx));
        let told = self.cluster().last_change();
        self.wait_until(|sim| sim.node().cluster().is_kept(told));
        let may = self.is_to_be_emptied(osd);
        if may {
            self.cluster().heal(osd);
            self.put_disk(osd, empty);
        }
        may
    }

    /// The objects of a placement group that nobody can give, and whether they may be given up.
    pub fn unfound(&self, pg: PgId) -> (Vec<ObjectNo>, Result<(), NotLost>) {
        let cluster = self.node().cluster();
        (cluster.unfound_objects(pg).to_vec(), cluster.may_give_up_unfound(pg))
    }

    /// Gives up what nobody can give, as an operator does. Answers of how many placement groups.
    pub fn give_up_unfound(&mut self) -> u32 {
        let pgs: Vec<PgId> = self.node().cluster().map().pgs().map(|(pg, _)| pg).collect();
        let give_up = |pg| self.change(|cluster, fx| cluster.give_up_unfound(pg, fx));
        pgs.into_iter().map(give_up).map(|given_up| u32::from(given_up.is_ok())).sum()
    }

    /// Lets placement use an OSD, or not.
    pub fn set_in(&mut self, osd: OsdId, is_in: bool) {
        let state = OsdState { is_in, ..self.cluster().map().osds()[osd] };
        self.set_osd(osd, state);
    }

    /// Makes everything durable that was answered; the number comes back with
    /// [`take_synced`](loadline_cluster::Cluster::take_synced).
    pub fn sync(&mut self, of: SyncOf) -> u32 {
        self.change(|cluster, fx| cluster.sync(of, fx))
    }

    /// Looks how full the disks are, which a real node does every second.
    pub fn check_fullness(&mut self) {
        self.change(|cluster, fx| cluster.check_fullness(fx));
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

    /// Whether every change of the map is on a quorum of the disks.
    pub fn is_map_committed(&self) -> bool {
        self.node().cluster().is_map_committed()
    }

    /// What an OSD's disk has not answered, and whether it is to be opened then: for messages of failed tests.
    pub fn waits_for_disk(&self, osd: OsdId) -> (usize, bool) {
        let drive = self.drives.of[osd].disk();
        (drive.disks.data.in_flight(), drive.reopen)
    }
}
