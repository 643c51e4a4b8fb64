//! How a cluster on disks begins: an empty one is created, another goes on from the map that counts.

use crate::cluster::{Cluster, Config, OwnerEffects};
use crate::codec::{MapRecord, OsdRecord, PgRecord, PoolRecord};
use crate::durable::Durable;
use crate::give_up::{check, in_words, not_here};
use crate::loss::Loss;
use crate::map::{Map, OsdState, Pool};
use crate::placement::Placement;
use crate::pool::PoolId;
use crate::quorum::{
    Chosen, FoundDisk, MapCommit, NoQuorum, Summary, Term, choose, choose_what_is_left,
};
use crate::seats::{SeatClaim, owners};
use loadline_base::Bytes;
use loadline_osd::{Directive, DiskFault, Identity, Opened, OsdId, OsdSet, PgId};
use std::collections::BTreeMap;
use std::fmt;

/// A cluster with fewer epochs left does not start, so that no life of a node ends in its middle for want of them. A start
/// takes about ten, each change of the map one; long before the last one `status` warns.
const EPOCHS_TO_START: u32 = 1 << 24;

/// Why a cluster cannot start from its disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// No disk could be opened; the first one's reason.
    NoDisk(OsdId, DiskFault),
    /// No disk holds a map, and none is empty either: nothing was ever finished here.
    NoMap,
    /// Too few disks to know which map is the last.
    NoQuorum {
        /// Which are there and which are not.
        reason: NoQuorum,
        /// The OSDs that must be given up to go on without them.
        lost: OsdSet,
    },
    /// An OSD is to be given up whose disk is here and good.
    NotLost(OsdId),
    /// An OSD is to be given up that the map does not know.
    NoSuchOsd(OsdId),
    /// Others are given up, and these are not here either.
    NotGivenUp(OsdSet),
    /// The map tells of another number of OSDs than were given.
    Osds {
        /// By the map.
        map: u32,
        /// Given.
        given: u32,
    },
    /// The map's epochs are nearly used up.
    Epochs(u32),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::NoDisk(osd, fault) => {
                write!(f, "{osd}: {fault}, and no other disk is here")
            }
            StartError::NoMap => f.write_str("no disk holds a map of the cluster"),
            StartError::NoQuorum { reason, lost } => {
                let (lost, epoch) = (in_words(*lost).replace(", ", ","), reason.epoch);
                write!(
                    f,
                    "{reason}; if they never will, `loadline serve --give-up {lost}` goes on with what is left, and whatever was acknowledged after epoch {epoch} by them alone is lost"
                )
            }
            StartError::NotLost(osd) => {
                write!(
                    f,
                    "{osd}'s disk is here and good, and is not given up: leave it out of --give-up"
                )
            }
            StartError::NoSuchOsd(osd) => write!(f, "there is no {osd} to be given up"),
            StartError::NotGivenUp(osds) => write!(
                f,
                "{} may know more than the disks that are here: bring back those disks, or name them in --give-up as well",
                in_words(*osds)
            ),
            StartError::Osds { map, given } => {
                let (has, were) = match (map, given) {
                    (1, given) => ("1 OSD".to_owned(), format!("disks of {given} were")),
                    (map, 1) => (format!("{map} OSDs"), "the disk of 1 was".to_owned()),
                    (map, given) => (format!("{map} OSDs"), format!("disks of {given} were")),
                };
                write!(
                    f,
                    "the cluster has {has}, and {were} given: say `--osds {map}`, which takes `osd.N` in the node's folder for each, or name every OSD's disk, also of one that is lost"
                )
            }
            StartError::Epochs(epoch) => write!(
                f,
                "the cluster has used up its epochs ({epoch} of {}) and starts no more: restore its images into a new one",
                u32::MAX
            ),
        }
    }
}

impl std::error::Error for StartError {}

impl Cluster {
    /// A cluster whose OSDs stand on the paged store. Their disks are to be opened, then it is to be
    /// [created](Cluster::create) or [started](Cluster::start).
    pub fn on_disks(config: &Config) -> Cluster {
        // A map that is read back from the disks would be placed anew.
        assert_eq!(config.placement, Placement::Even, "a map on disks does not keep its placement");
        let mut cluster = Cluster::new(config);
        for osd in cluster.osds.ids() {
            cluster.map.set_osd(osd, OsdState { up: false, is_in: true });
        }
        cluster.durable = Some(Durable::default());
        cluster
    }

    /// Whether the disks that were opened say that there is no cluster yet.
    pub fn is_new(&self) -> bool {
        let found = &self.durable.as_ref().expect("the OSDs have disks").disks.found;
        found.len() == self.osds.len() && self.holds_nothing()
    }

    /// Whether none of the disks that were opened belongs to a cluster.
    pub fn holds_nothing(&self) -> bool {
        let found = &self.durable.as_ref().expect("the OSDs have disks").disks.found;
        found.values().all(|found| matches!(found, Ok(Opened { identity: None, .. })))
    }

    /// Makes the empty disks a cluster.
    pub fn create(&mut self, cluster: u128, fx: &mut OwnerEffects) {
        assert!(self.is_new(), "only empty disks become a cluster");
        let all: OsdSet = self.osds.ids().collect();
        let durable = self.durable();
        durable.cluster = cluster;
        durable.begin(MapCommit::create(all), all);
        for osd in all.iter() {
            self.map.set_osd(osd, OsdState { up: true, is_in: true });
            let identity = Identity { cluster, osd, term: 1 };
            fx.direct(osd, Directive::Join);
            fx.direct(osd, Directive::Identify(identity));
        }
        self.write_map(fx);
    }

    /// The disks that stand in another OSD's place, each with the OSD that it is. Before the start they can be
    /// [closed](Cluster::close_osd) and opened again where they belong.
    pub fn misplaced(&self) -> Vec<(OsdId, OsdId)> {
        let (disks, _) = self.readable();
        let owners = owners(&claims(&disks)).into_iter();
        let known = owners.filter_map(|(seat, owner)| Some((seat, owner.ok()?)));
        known.filter(|(seat, osd)| seat != osd && self.osds.get(*osd).is_some()).collect()
    }

    /// Closes a disk before the start, so that it can be opened in another place.
    pub fn close_osd(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        self.crash(osd, fx);
        let durable = self.durable();
        assert!(durable.saving.commit.is_none(), "the cluster has started");
        durable.disks.found.remove(&osd);
        durable.disks.faults.remove(&osd);
    }

    /// Goes on from the map that counts. OSDs whose disks are not there, empty, another's or a copy are down, and
    /// [`Cluster::fault`] tells why.
    ///
    /// OSDs that are `given_up` are taken for lost: the newest map of the others counts, whatever these have had, and
    /// [`Cluster::loss`] tells what may be lost by that. Every OSD without a good disk must be among them then.
    ///
    /// # Errors
    /// [`StartError`]; nothing but the faults has changed then.
    pub fn start(&mut self, given_up: OsdSet, fx: &mut OwnerEffects) -> Result<(), StartError> {
        let (mut disks, mut faults) = self.readable();
        let owners = owners(&claims(&disks));
        let misfit = |disk: &mut OwnDisk| match owners[&disk.claim.seat] {
            Ok(osd) if osd == disk.claim.seat => false,
            Ok(osd) => faults.insert(disk.claim.seat, DiskFault::OtherOsd(osd)).is_none(),
            Err(fault) => faults.insert(disk.claim.seat, fault).is_none(),
        };
        disks.extract_if(.., misfit).for_each(drop);
        let newest = disks.iter().map(|disk| &disk.map).max_by_key(|map| map.summary().stamp);
        let promised = newest.map(|map| map.osds.clone()).unwrap_or_default();
        let stale = |disk: &mut OwnDisk| {
            let knows = Term(disk.claim.identity.term);
            promised.get(&disk.claim.seat).is_some_and(|osd| knows < osd.promised)
        };
        let stale = disks.extract_if(.., stale).map(|disk| disk.claim.seat);
        faults.extend(stale.map(|osd| match promised[&osd].promised {
            Term::GIVEN_UP => (osd, DiskFault::GivenUp(osd)),
            _ => (osd, DiskFault::Stale(osd)),
        }));
        for (osd, fault) in faults {
            self.crash(osd, fx);
            self.durable().disks.faults.insert(osd, fault);
        }
        let votes: Vec<FoundDisk> = disks.iter().map(OwnDisk::vote).collect();
        let present: OsdSet = votes.iter().map(|vote| vote.osd).collect();
        let newest = disks.into_iter().max_by_key(|disk| disk.map.summary().stamp);
        let record = newest.ok_or_else(|| self.nothing_found())?.map;
        let proven = choose(&votes);
        if given_up == OsdSet::EMPTY {
            let lost = not_here(&record, present);
            let chosen = proven.map_err(|reason| StartError::NoQuorum { reason, lost })?;
            return self.go_on(record, &chosen.expect("there is a map"), present, fx);
        }
        check(&record, present, given_up)?;
        let is_osd = |vote: &FoundDisk| record.osds.get(&vote.osd).is_some_and(|osd| !osd.lost);
        let left: Vec<FoundDisk> = votes.into_iter().filter(is_osd).collect();
        let present = left.iter().map(|vote| vote.osd).collect();
        let chosen = choose_what_is_left(&left).ok_or(StartError::NoMap)?;
        let (epoch, is_last) = (record.epoch, proven.is_ok());
        self.go_on(record, &chosen, present, fx)?;
        self.give_up(Loss { given_up, epoch, is_last, ..Loss::default() }, chosen.term, fx);
        Ok(())
    }

    /// The disks of the cluster that most of them belong to, and why the others are of no use.
    fn readable(&self) -> (Vec<OwnDisk>, BTreeMap<OsdId, DiskFault>) {
        let found = &self.durable.as_ref().expect("the OSDs have disks").disks.found;
        let (mut disks, mut faults) = (Vec::new(), BTreeMap::new());
        for (seat, found) in found {
            match read(*seat, found) {
                Ok(disk) => disks.push(disk),
                Err(fault) => drop(faults.insert(*seat, fault)),
            }
        }
        let ours = cluster_of_most(&disks);
        let others = disks.extract_if(.., |disk| Some(disk.claim.identity.cluster) != ours);
        faults.extend(others.map(|disk| (disk.claim.seat, DiskFault::OtherCluster)));
        (disks, faults)
    }

    fn nothing_found(&self) -> StartError {
        let faults = &self.durable.as_ref().expect("the OSDs have disks").disks.faults;
        let worst = faults.iter().find(|(_, fault)| **fault != DiskFault::Empty);
        worst.map_or(StartError::NoMap, |(osd, fault)| StartError::NoDisk(*osd, *fault))
    }

    fn go_on(
        &mut self,
        record: MapRecord,
        chosen: &Chosen,
        present: OsdSet,
        fx: &mut OwnerEffects,
    ) -> Result<(), StartError> {
        let (map, given) = (record.osds.len() as u32, self.osds.len() as u32);
        if map != given {
            return Err(StartError::Osds { map, given });
        }
        if u32::MAX - record.epoch < EPOCHS_TO_START {
            return Err(StartError::Epochs(record.epoch));
        }
        self.map = Map::restore(&record);
        let durable = self.durable();
        durable.cluster = record.cluster_id;
        durable.disks.sizes = record.osds.iter().map(|(osd, record)| (*osd, record.size)).collect();
        durable.disks.promised =
            record.osds.iter().map(|(osd, record)| (*osd, record.promised)).collect();
        durable.disks.measured_on =
            record.osds.iter().map(|(osd, record)| (*osd, record.measured_on)).collect();
        durable.disks.stores.begin(&record.osds);
        durable.settings = record.settings;
        durable.kept_images.begin(record.images.clone());
        durable.images = record.images;
        durable.begin(MapCommit::start(chosen), chosen.map.holders.now);
        for osd in self.osds.ids().collect::<Vec<_>>() {
            let is_in = self.map.osds()[osd].is_in;
            let is_removed = self.map.is_removed(osd);
            if is_removed {
                self.crash(osd, fx);
            }
            let up = present.contains(osd) && !is_removed;
            if up {
                fx.direct(osd, Directive::Join);
            }
            self.map.set_osd(osd, OsdState { up, is_in });
        }
        self.tell_given_up();
        Ok(())
    }

    /// After [`Cluster::start`], when the OSDs have their settings: this owner's term is promised to the disks, and then the
    /// map written, from which on the cluster serves.
    pub fn take_over(&mut self, fx: &mut OwnerEffects) {
        self.open_debts_of_who_is_away();
        let durable = self.durable();
        let commit = durable.saving.commit.as_ref().expect("the start has chosen a map");
        let (cluster, term) = (durable.cluster, commit.term().0);
        for osd in self.up_osds().iter() {
            fx.direct(osd, Directive::Identify(Identity { cluster, osd, term }));
        }
    }

    /// The first map of this owner counts: placement groups may begin their intervals.
    pub(crate) fn begin_to_serve(&mut self, fx: &mut OwnerEffects) {
        self.place_pools();
        for osd in self.up_osds().iter() {
            self.retire_orphans(osd, fx);
        }
        self.check_fullness(fx);
        let pgs: Vec<PgId> = self.map.pgs().map(|(pg, _)| pg).collect();
        self.map.next_epoch();
        for pg in pgs {
            self.begin_interval(pg, fx);
        }
    }

    /// Whether the map of this owner counts, so that pools and images may be changed.
    pub fn is_serving(&self) -> bool {
        let Some(durable) = &self.durable else { return true };
        durable.saving.commit.as_ref().is_some_and(|commit| commit.committed().is_some())
    }

    /// Everything that must survive, as it is now.
    pub(crate) fn record(&self, summary: Summary) -> MapRecord {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        let size = |osd| durable.disks.sizes.get(&osd).copied().unwrap_or(Bytes::ZERO);
        let osd = |(osd, state): (OsdId, &OsdState)| {
            let OsdState { up, is_in } = *state;
            let promised = durable.disks.promised.get(&osd).copied().unwrap_or_default();
            let measured_on = durable.disks.measured_on.get(&osd).copied().unwrap_or(0);
            let (taken_out, lost) = (self.map.is_taken_out(osd), self.map.is_removed(osd));
            let (size, stores) = (size(osd), durable.disks.stores.of(osd));
            (osd, OsdRecord { up, is_in, taken_out, lost, size, promised, measured_on, stores })
        };
        let pools = self.map.pools();
        let pool = |(id, pool): (&PoolId, &Pool)| {
            let pgs = self.map.pgs_of(*id).map(|pg| self.pg_record(pg)).collect();
            (*id, PoolRecord { spec: pool.spec.clone(), first_pg: pool.first_pg(), pgs })
        };
        MapRecord {
            cluster_id: durable.cluster,
            term: summary.stamp.term,
            epoch: summary.stamp.epoch,
            holders: summary.holders,
            placement_seed: self.map.placement_seed(),
            osds: self.map.osds().iter().map(osd).collect(),
            pools: pools.iter().map(pool).collect(),
            settings: durable.settings.clone(),
            images: durable.images.clone(),
            next_pool: self.map.next_pool(),
            next_pg: self.map.next_pg(),
        }
    }

    /// An interval counts as served as soon as a map that tells of it is written: who reads that map must believe it.
    fn pg_record(&self, pg: PgId) -> PgRecord {
        let state = self.map.pg(pg);
        PgRecord {
            acting: state.acting.clone(),
            backfill: state.backfill.clone(),
            interval: state.interval,
            served: match state.is_activated() {
                true => self.as_served_now(pg),
                false => state.served,
            },
        }
    }
}

/// A disk that can be read.
struct OwnDisk {
    claim: SeatClaim,
    map: MapRecord,
}

impl OwnDisk {
    fn vote(&self) -> FoundDisk {
        let SeatClaim { seat, identity, .. } = self.claim;
        FoundDisk { osd: seat, promised: Term(identity.term), map: self.map.summary() }
    }
}

fn claims(disks: &[OwnDisk]) -> Vec<SeatClaim> {
    disks.iter().map(|disk| disk.claim).collect()
}

/// What a disk says of itself, if it can be used by anybody.
fn read(seat: OsdId, found: &Result<Opened, DiskFault>) -> Result<OwnDisk, DiskFault> {
    let Opened { store, logged, identity, map, .. } = found.as_ref().map_err(|fault| *fault)?;
    let (Some(identity), Some(map)) = (identity, map) else { return Err(DiskFault::Empty) };
    let map = MapRecord::decode(map).map_err(|_| DiskFault::Contents)?;
    let (identity, store, logged) = (*identity, *store, *logged);
    let claim = SeatClaim { seat, identity, map: map.summary().stamp, store, logged };
    match identity.cluster == map.cluster_id {
        true => Ok(OwnDisk { claim, map }),
        false => Err(DiskFault::Contents),
    }
}

/// The cluster that most disks belong to; of two with as many, that of the lowest numbered disk. A disk of another one
/// was put here by mistake, and its map has no vote however new it is.
fn cluster_of_most(disks: &[OwnDisk]) -> Option<u128> {
    let count =
        |cluster| disks.iter().filter(|disk| disk.claim.identity.cluster == cluster).count();
    let clusters = disks.iter().rev().map(|disk| disk.claim.identity.cluster);
    clusters.max_by_key(|cluster| count(*cluster))
}
