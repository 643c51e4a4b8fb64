//! Disks that keep maps, owners that live on some of them and die, and the judge.
//!
//! A map's contents are the list of all changes that led to it. Two histories diverge, or a committed map is lost, if
//! what is chosen or committed does not begin with everything that was committed before.

use loadline_cluster::quorum::{
    Chosen, FoundDisk, Holders, MapCommit, Stamp, Summary, Term, choose,
};
use loadline_osd::{OsdId, OsdSet};

/// Which of the module's rules are followed; without one of them something must go wrong.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// The term is durable on a quorum before records are written.
    pub promise: bool,
    /// The holders before a change still vote.
    pub before: bool,
    /// Terms decide before epochs.
    pub terms: bool,
}

pub(crate) const ALL: Rules = Rules { promise: true, before: true, terms: true };

/// The changes that led to a map.
pub(crate) type History = Vec<u32>;

/// What a disk has.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Disk {
    pub promised: Term,
    pub record: Option<Record>,
}

/// A record on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub map: Summary,
    pub history: History,
}

impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Record) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Record {
    fn cmp(&self, other: &Record) -> std::cmp::Ordering {
        let key = |r: &Record| (r.map.stamp, bits(r.map.holders.now), bits(r.map.holders.before));
        key(self).cmp(&key(other)).then_with(|| self.history.cmp(&other.history))
    }
}

fn bits(set: OsdSet) -> Vec<u32> {
    set.iter().map(OsdId::get).collect()
}

pub(crate) fn osds(numbers: impl IntoIterator<Item = u32>) -> OsdSet {
    numbers.into_iter().map(OsdId::new).collect()
}

/// The disks, and what was committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct World {
    pub disks: Vec<Disk>,
    /// Whether the first map of all is committed.
    pub created: bool,
    pub committed: History,
    pub changes: u32,
}

/// What went wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Diverged;

/// An owner at work.
pub(crate) struct Owner {
    pub commit: MapCommit,
    pub newest: Option<Record>,
    history: History,
    epoch: u32,
    holders: OsdSet,
}

impl World {
    pub(crate) fn new(disks: usize) -> World {
        World { disks: vec![Disk::default(); disks], ..World::default() }
    }

    /// The owner that creates the first map.
    pub(crate) fn create(&mut self, holders: OsdSet) -> Owner {
        let commit = MapCommit::create(holders);
        Owner { commit, newest: None, history: Vec::new(), epoch: 0, holders }
    }

    /// An owner that starts with the disks of `present`; `None` if it is refused.
    pub(crate) fn start(
        &mut self,
        present: OsdSet,
        rules: Rules,
    ) -> Result<Option<Owner>, Diverged> {
        let found: Vec<FoundDisk> =
            present.iter().filter_map(|osd| self.found(osd, rules)).collect();
        let Ok(Some(chosen)) = choose(&found) else { return Ok(None) };
        let Chosen { map, on, .. } = chosen;
        let source = on.iter().next().expect("somebody has the newest map");
        let record = self.disks[usize::from(source)].record.clone().expect("it was found");
        if !record.history.starts_with(&self.committed) {
            return Err(Diverged);
        }
        let mut commit = MapCommit::start(&chosen);
        if !rules.promise {
            present.iter().for_each(|osd| {
                commit.promised(osd);
            });
        }
        let (history, epoch) = (record.history, map.stamp.epoch);
        Ok(Some(Owner { commit, newest: None, history, epoch, holders: map.holders.now }))
    }

    fn found(&self, osd: OsdId, rules: Rules) -> Option<FoundDisk> {
        let Disk { mut promised, record } = self.disks[usize::from(osd)].clone();
        let mut map = record?.map;
        if !rules.terms {
            promised = Term(0);
            map.stamp = Stamp { term: Term(0), ..map.stamp };
        }
        if !rules.before {
            map.holders = Holders::first(map.holders.now);
        }
        Some(FoundDisk { osd, promised, map })
    }

    /// The promise reaches a disk.
    pub(crate) fn promise(&mut self, owner: &mut Owner, osd: OsdId) {
        self.disks[usize::from(osd)].promised = owner.commit.term();
        owner.commit.promised(osd);
    }

    /// The owner begins its next map, with one more change.
    pub(crate) fn begin(&mut self, owner: &mut Owner, holders: Option<OsdSet>) {
        if owner.commit.committed().is_some() {
            self.changes += 1;
            owner.history.push(self.changes);
            owner.holders = holders.unwrap_or(owner.holders);
        }
        owner.epoch += 1;
        let map = owner.commit.begin(owner.epoch, owner.holders);
        owner.newest = Some(Record { map, history: owner.history.clone() });
    }

    /// The newest map becomes durable on a disk; the owner does not know it yet.
    pub(crate) fn save(&mut self, owner: &Owner, osd: OsdId) {
        self.disks[usize::from(osd)].record = owner.newest.clone();
    }

    /// The owner hears of it.
    pub(crate) fn hear(&mut self, owner: &mut Owner, osd: OsdId) -> Result<(), Diverged> {
        if owner.commit.saved(osd, owner.epoch) {
            if !owner.history.starts_with(&self.committed) {
                return Err(Diverged);
            }
            self.created = true;
            self.committed = owner.history.clone();
        }
        Ok(())
    }
}
