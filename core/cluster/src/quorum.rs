//! Which map counts: dynamic voting over the OSDs that hold it.
//!
//! Each record of the map names its holders, and those of the last committed map before it. A record is committed when
//! it is durable on a quorum of both. Whoever starts reads the records of all disks that are there and takes the newest,
//! if a quorum of its holders, now and before, is there; so it sees every committed map, because two quorums of one
//! set share a member.
//!
//! Newest is not the highest epoch. An owner may die after it has put epoch 6 on one disk; the next one starts
//! without that disk, commits another epoch 6 on the others, and one day the first disk is back. So each owner has a
//! term of its own, and a record of a later term is newer whatever its epoch. The term is promised to a quorum before
//! the first record of the term is written, so that no two owners that wrote anything had the same one; and the owner
//! commits what it found once more in its own term before it changes anything (Ongaro and Ousterhout 2014, whose
//! elections this is for an owner that has no rivals, only predecessors).
//!
//! ```text
//! choose → promise the term (promised) → save what was found (begin, saved) → serve
//!                                        then for each change: begin, saved …, committed
//! ```
//!
//! A disk that becomes a holder must hold a map before it is named, and one that has lost its map is not there.

use loadline_osd::{OsdId, OsdSet};
use std::fmt;

/// Which owner wrote a record, in the order of their starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

impl Term {
    /// What no disk has: the map says it of an OSD whose disk was given up, so that whatever is found of it is old.
    pub const GIVEN_UP: Term = Term(u64::MAX);

    /// So many terms lie between the last one that the disks which are left know of and that of the owner that gives the others up. They may have
    /// gone on alone; nobody starts a node so often.
    const MISSED_MAX: u64 = 1 << 32;
}

/// A record's age: the later term is newer, inside one the higher epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Who wrote it.
    pub term: Term,
    /// The map's epoch.
    pub epoch: u32,
}

/// Who votes on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holders {
    /// The OSDs that are to hold this map.
    pub now: OsdSet,
    /// Those of the last committed map before it.
    pub before: OsdSet,
}

/// What is to be known of a record to compare it with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its age.
    pub stamp: Stamp,
    /// Its voters.
    pub holders: Holders,
}

/// What was found on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundDisk {
    /// Whose disk.
    pub osd: OsdId,
    /// The last term promised to it; 0 if none was.
    pub promised: Term,
    /// Its map.
    pub map: Summary,
}

/// The map that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub map: Summary,
    /// The disks that have it.
    pub on: OsdSet,
    /// The term of the owner that starts with it.
    pub term: Term,
}

/// Too few holders of the newest map are there: it may have been followed by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoQuorum {
    /// The newest map that was found.
    pub epoch: u32,
    /// Its holders that are not there.
    pub missing: OsdSet,
    /// At least so many of them are wanted.
    pub wanted: u32,
}

/// Whether `present` contains a quorum of `of`: more than half, or exactly half with the lowest numbered member. Any two
/// quorums of one set share a member. The empty set has none.
pub fn is_quorum(of: OsdSet, present: OsdSet) -> bool {
    let twice = 2 * common(of, present);
    let decides = of.iter().next().is_some_and(|lowest| present.contains(lowest));
    twice > of.len() || twice == of.len() && decides
}

fn common(a: OsdSet, b: OsdSet) -> u32 {
    a.iter().filter(|osd| b.contains(*osd)).count() as u32
}

impl Holders {
    /// The holders of the first map of all.
    pub const fn first(osds: OsdSet) -> Holders {
        Holders { now: osds, before: osds }
    }

    /// Whether `present` contains a quorum of the holders now and before.
    pub fn have_quorum(self, present: OsdSet) -> bool {
        is_quorum(self.now, present) && is_quorum(self.before, present)
    }

    /// Everybody who is to get the record.
    pub fn all(self) -> OsdSet {
        self.now.iter().chain(self.before.iter()).collect()
    }
}

/// The map that counts among those that were found, each with whole and valid contents; `None` if there are none.
///
/// # Errors
/// [`NoQuorum`] if it cannot be known that nothing newer was committed.
pub fn choose(found: &[FoundDisk]) -> Result<Option<Chosen>, NoQuorum> {
    let Some(newest) = found.iter().map(|found| found.map).max_by_key(|map| map.stamp) else {
        return Ok(None);
    };
    let present: OsdSet = found.iter().map(|found| found.osd).collect();
    if !newest.holders.have_quorum(present) {
        return Err(NoQuorum::of(&newest, present));
    }
    let holds = |found: &&FoundDisk| found.map.stamp == newest.stamp;
    let last = found.iter().map(|found| found.promised.max(found.map.stamp.term)).max();
    Ok(Some(Chosen {
        map: newest,
        on: found.iter().filter(holds).map(|found| found.osd).collect(),
        term: Term(last.unwrap_or_default().0 + 1),
    }))
}

/// The newest map among those that were found, where an operator says that every other holder's disk is lost: from here on those
/// that are left are its holders. Its owner's term is later than any that the lost disks can have seen, so that none of their
/// maps is ever the newest. `None` if there are no maps.
pub fn choose_what_is_left(found: &[FoundDisk]) -> Option<Chosen> {
    let left = Holders::first(found.iter().map(|found| found.osd).collect());
    let as_if_all =
        |found: &FoundDisk| FoundDisk { map: Summary { holders: left, ..found.map }, ..*found };
    let found: Vec<FoundDisk> = found.iter().map(as_if_all).collect();
    let chosen = choose(&found).expect("all holders are here")?;
    Some(Chosen { term: Term(chosen.term.0 + Term::MISSED_MAX), ..chosen })
}

/// One owner's way to durable maps.
#[derive(Clone, Debug)]
pub struct MapCommit {
    term: Term,
    promised: OsdSet,
    /// Whether enough have promised. That stays so when the holders change: a record of the term promises it too.
    may_begin: bool,
    /// The map that this owner found, until one of its own is committed; then the last of those.
    base: Summary,
    /// The newest map that was begun.
    begun: Option<Summary>,
    /// Who has it.
    saved: OsdSet,
}

impl MapCommit {
    /// The owner that creates the first map of all on `holders`. No promise is needed. If it dies before that map is
    /// committed, [`choose`] may refuse the disks for ever; nobody was served yet, so they are created again.
    pub fn create(holders: OsdSet) -> MapCommit {
        let stamp = Stamp { term: Term(1), epoch: 0 };
        let base = Summary { stamp, holders: Holders::first(holders) };
        MapCommit { may_begin: true, ..MapCommit::with(Term(1), base) }
    }

    /// The owner that starts with a map that was found.
    pub fn start(chosen: &Chosen) -> MapCommit {
        MapCommit::with(chosen.term, chosen.map)
    }

    fn with(term: Term, base: Summary) -> MapCommit {
        let (promised, saved) = (OsdSet::EMPTY, OsdSet::EMPTY);
        MapCommit { term, promised, may_begin: false, base, begun: None, saved }
    }

    /// This owner's term, to be promised to every disk that is there.
    pub fn term(&self) -> Term {
        self.term
    }

    /// The promise is durable on `osd`. Returns whether enough have it, so that maps may be begun.
    pub fn promised(&mut self, osd: OsdId) -> bool {
        self.promised.insert(osd);
        self.may_begin = self.may_begin || self.base.holders.have_quorum(self.promised);
        self.may_begin
    }

    /// Whether maps may be begun.
    pub fn may_begin(&self) -> bool {
        self.may_begin
    }

    /// Begins the next map, for these holders. An unfinished one is superseded: it is committed with this one. The
    /// record must carry the answer, and go to [`Holders::all`].
    ///
    /// # Panics
    /// If the promise has no quorum, if the epoch does not grow, or if an owner's first map changes the holders that it
    /// found: it does not know yet which of them count.
    pub fn begin(&mut self, epoch: u32, holders: OsdSet) -> Summary {
        assert!(self.may_begin, "{:?} is not promised to a quorum", self.term);
        let before = self.begun.unwrap_or(self.base).stamp.epoch;
        assert!(epoch > before, "epoch {epoch} does not follow {before}");
        let stamp = Stamp { term: self.term, epoch };
        let holders = match self.is_own() {
            true => Holders { now: holders, before: self.base.holders.now },
            false => {
                assert_eq!(holders, self.base.holders.now, "a start keeps its holders");
                self.base.holders
            }
        };
        let begun = Summary { stamp, holders };
        (self.begun, self.saved) = (Some(begun), OsdSet::EMPTY);
        begun
    }

    /// The map of this epoch is durable on `osd`. Returns whether the newest map is committed by that, now for the first
    /// time. What is said of superseded maps is of no use.
    pub fn saved(&mut self, osd: OsdId, epoch: u32) -> bool {
        let Some(begun) = self.begun.filter(|begun| begun.stamp.epoch == epoch) else {
            return false;
        };
        self.saved.insert(osd);
        let first = self.base != begun && begun.holders.have_quorum(self.saved);
        if first {
            self.base = begun;
        }
        first
    }

    /// Whether the newest map is committed.
    pub fn is_committed(&self) -> bool {
        self.begun == Some(self.base)
    }

    /// The newest map of this owner that is committed. Before there is one, nobody may be served.
    pub fn committed(&self) -> Option<Summary> {
        self.is_own().then_some(self.base)
    }

    /// Who has the newest map.
    pub fn on(&self) -> OsdSet {
        self.saved
    }

    /// Whether the OSDs that are no longer holders may go: the newest map is committed, and does not ask for them any
    /// more. After a change of holders that takes one map more.
    pub fn is_settled(&self) -> bool {
        self.is_committed() && self.base.holders.now == self.base.holders.before
    }

    /// Whether this owner has committed a map.
    fn is_own(&self) -> bool {
        self.base.stamp.term == self.term && self.base.stamp.epoch > 0
    }
}

impl NoQuorum {
    fn of(newest: &Summary, present: OsdSet) -> NoQuorum {
        let Holders { now, before } = newest.holders;
        let wanted = |of: OsdSet| match is_quorum(of, present) {
            true => 0,
            false => of.len().div_ceil(2).saturating_sub(common(of, present)).max(1),
        };
        let missing = newest.holders.all().iter().filter(|osd| !present.contains(*osd)).collect();
        let (epoch, wanted) = (newest.stamp.epoch, wanted(now).max(wanted(before)));
        NoQuorum { epoch, missing, wanted }
    }
}

impl fmt::Display for NoQuorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing: Vec<String> = self.missing.iter().map(|osd| osd.to_string()).collect();
        write!(
            f,
            "too few disks with the map are here to know that epoch {} is the last: at least {} of {} must come back",
            self.epoch,
            self.wanted,
            missing.join(", ")
        )
    }
}

impl std::error::Error for NoQuorum {}
