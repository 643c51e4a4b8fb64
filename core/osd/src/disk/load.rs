//! Reading back what an OSD knew: who the disk is, the map, each placement group's state and log, and which objects
//! there are. One question at a time, asked of the store as soon as it is open.

use super::keys::{self, GROUPS, GroupRecord, HISTORIES, Identity, LACKS, LOGS, SCRUBS};
use super::map::{KeptMap, MAP, PIECES};
use crate::damage::Astray;
use crate::ids::PgId;
use crate::pg_log::LogEntry;
use crate::scrub::ScrubRecord;
use crate::snapshots::{ObjectHistories, ObjectHistory};
use loadline_store::paged::{Answer, Ask, ObjectId, ScanBounds};
use loadline_store::{ObjectMeta, ObjectNo, Version};
use std::collections::{BTreeMap, BTreeSet};

/// Keys or objects asked for at a time.
const BATCH: usize = 1024;

/// A placement group's copy as the disk tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedGroup {
    pub record: GroupRecord,
    pub lacks: BTreeSet<ObjectNo>,
    /// Some of them stand in a list that an older program wrote.
    pub has_list: bool,
    /// Objects that have lost pages.
    pub damaged: BTreeSet<ObjectNo>,
    /// Objects of which what is here is none of their states; they lack, too.
    pub astray: BTreeMap<ObjectNo, Astray>,
    pub entries: Vec<LogEntry>,
    pub objects: Vec<(ObjectNo, ObjectMeta)>,
    pub kept: ObjectHistories,
    /// What is known of its scrubs.
    pub scrubs: ScrubRecord,
    /// What the first half of an update left in the store whose second half never happened.
    pub halves: Vec<ObjectId>,
    histories: BTreeMap<ObjectNo, ObjectHistory>,
}

/// What is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LoadPart {
    #[default]
    Format,
    Identity,
    Map,
    MapPieces,
    Groups,
    Lacks,
    Logs,
    Histories,
    Scrubs,
    Objects(ListingCursor),
}

/// How far the list of a placement group's objects is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListingCursor {
    pg: PgId,
    /// The first object that was asked for.
    from: ObjectNo,
    /// How many states of objects were asked for.
    most: usize,
}

/// What has been read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskLoad {
    part: LoadPart,
    pub(crate) identity: Option<Identity>,
    pub(crate) map: Option<Vec<u8>>,
    pub(crate) kept_map: KeptMap,
    map_pieces: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) groups: BTreeMap<PgId, LoadedGroup>,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextLoad {
    /// Another question.
    Ask(Ask),
    /// Everything is read.
    Done,
    /// What stands under a key is not what an OSD writes.
    Unreadable,
    /// It is of a format that this program does not know yet.
    Newer(u32),
}

impl DiskLoad {
    /// The first question.
    pub(crate) fn first() -> Ask {
        Ask::Get(keys::FORMAT.to_vec())
    }

    /// Takes an answer.
    pub(crate) fn answered(&mut self, answer: Answer) -> NextLoad {
        match answer {
            Answer::Value(value) => self.value(value),
            Answer::Pairs(pairs) => self.pairs(&pairs).unwrap_or(NextLoad::Unreadable),
            Answer::Objects(found) => {
                let LoadPart::Objects(listing) = self.part else { return NextLoad::Unreadable };
                self.objects(listing, &found).unwrap_or(NextLoad::Unreadable)
            }
            _ => NextLoad::Unreadable,
        }
    }

    fn value(&mut self, value: Option<Vec<u8>>) -> NextLoad {
        match self.part {
            LoadPart::Format => match keys::newer_format(value.as_deref()) {
                Some(format) => NextLoad::Newer(format),
                None => {
                    self.part = LoadPart::Identity;
                    NextLoad::Ask(Ask::Get(keys::IDENTITY.to_vec()))
                }
            },
            LoadPart::Identity => {
                self.identity = value.as_deref().and_then(Identity::decode);
                self.part = LoadPart::Map;
                NextLoad::Ask(Ask::Get(MAP.to_vec()))
            }
            _ => {
                self.map = value;
                self.part = LoadPart::MapPieces;
                scan(vec![PIECES])
            }
        }
    }

    /// Takes a batch of keys. `None` if one is not what an OSD writes.
    fn pairs(&mut self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<NextLoad> {
        let letter = match self.part {
            LoadPart::MapPieces => PIECES,
            LoadPart::Groups => GROUPS,
            LoadPart::Lacks => LACKS,
            LoadPart::Logs => LOGS,
            LoadPart::Scrubs => SCRUBS,
            _ => HISTORIES,
        };
        let ours = pairs.iter().take_while(|(key, _)| key.first() == Some(&letter));
        let mut taken = 0;
        for (key, value) in ours {
            taken += 1;
            if letter == PIECES {
                self.map_pieces.insert(key.clone(), value.clone());
                continue;
            }
            let (pg, rest) = keys::group_of(letter, key)?;
            self.take(pg, rest, value)?;
        }
        Some(match pairs.last() {
            Some((last, _)) if taken == BATCH => scan([last.as_slice(), &[0]].concat()),
            _ => self.next_part()?,
        })
    }

    fn take(&mut self, pg: PgId, rest: &[u8], value: &[u8]) -> Option<()> {
        if self.part == LoadPart::Groups {
            let record = GroupRecord::decode(value)?;
            self.groups.insert(pg, LoadedGroup::new(record));
            return Some(());
        }
        // Keys of a placement group that was deleted in between belong to nobody.
        let Some(group) = self.groups.get_mut(&pg) else { return Some(()) };
        match self.part {
            LoadPart::Lacks if rest.is_empty() => {
                let objects = keys::decode_objects(value)?;
                group.astray.extend(objects.iter().map(|object| (*object, Astray::Patchy)));
                group.lacks.extend(objects);
                group.has_list = true;
            }
            LoadPart::Lacks if value == keys::HAS_LOST_PAGES => {
                group.damaged.insert(keys::object_of(rest)?);
            }
            LoadPart::Lacks => {
                let object = keys::object_of(rest)?;
                group.astray.extend(keys::astray_of(value).map(|astray| (object, astray)));
                group.lacks.insert(object);
            }
            LoadPart::Logs => group.take_entry(keys::entry_of(rest, value)?)?,
            // What cannot be read is as if there had been none: a scrub tells it again.
            LoadPart::Scrubs => group.scrubs = ScrubRecord::decode(value).unwrap_or_default(),
            _ => group.histories.extend([keys::history_of(rest, value)?]),
        }
        Some(())
    }

    /// `None` if the pieces of a map are not whole.
    fn next_part(&mut self) -> Option<NextLoad> {
        Some(match self.part {
            LoadPart::MapPieces => {
                let (whole, pieces) = (self.map.take(), std::mem::take(&mut self.map_pieces));
                (self.map, self.kept_map) = KeptMap::read(whole, pieces)?;
                self.part = LoadPart::Groups;
                scan(vec![GROUPS])
            }
            LoadPart::Groups => {
                self.part = LoadPart::Lacks;
                scan(vec![LACKS])
            }
            LoadPart::Lacks => {
                self.part = LoadPart::Logs;
                scan(vec![LOGS])
            }
            LoadPart::Logs => {
                self.part = LoadPart::Histories;
                scan(vec![HISTORIES])
            }
            LoadPart::Histories => {
                self.part = LoadPart::Scrubs;
                scan(vec![SCRUBS])
            }
            _ => self.group_after(None),
        })
    }

    /// Takes a batch of the objects of a placement group. `None` if the store has not what an OSD keeps.
    fn objects(
        &mut self,
        listing: ListingCursor,
        found: &[(ObjectId, ObjectMeta)],
    ) -> Option<NextLoad> {
        let ListingCursor { pg, from, most } = listing;
        let group = self.groups.get_mut(&pg).expect("its objects were asked for");
        let is_last = found.len() < most;
        let last = found.last().map_or(from, |(id, _)| id.object);
        // The last object of a full batch may have more states: it is listed again, whole.
        let whole = found.iter().filter(|(id, _)| is_last || id.object != last);
        for (id, meta) in whole {
            group.take_state(*id, *meta);
        }
        if is_last {
            group.finish()?;
            return Some(self.group_after(Some(pg)));
        }
        let most = if last == from { 2 * most } else { BATCH };
        Some(self.list(ListingCursor { pg, from: last, most }))
    }

    fn list(&mut self, listing: ListingCursor) -> NextLoad {
        let ListingCursor { pg, from, most } = listing;
        self.part = LoadPart::Objects(listing);
        NextLoad::Ask(Ask::List { collection: pg.collection(), from, most })
    }

    fn group_after(&mut self, pg: Option<PgId>) -> NextLoad {
        let mut ids = self.groups.keys().copied();
        match ids.find(|id| pg.is_none_or(|pg| *id > pg)) {
            Some(pg) => self.list(ListingCursor { pg, from: ObjectNo(0), most: BATCH }),
            None => NextLoad::Done,
        }
    }
}

fn scan(from: Vec<u8>) -> NextLoad {
    NextLoad::Ask(Ask::Scan { from, most: ScanBounds::keys(BATCH) })
}

impl LoadedGroup {
    /// Takes the next entry of its log. `None` if it does not follow the one before it, as a log's keys do.
    fn take_entry(&mut self, entry: LogEntry) -> Option<()> {
        let follows = self.entries.last().is_none_or(|last| last.version < entry.version);
        follows.then(|| self.entries.push(entry))
    }

    pub(super) fn new(record: GroupRecord) -> LoadedGroup {
        LoadedGroup {
            record,
            lacks: BTreeSet::new(),
            has_list: false,
            damaged: BTreeSet::new(),
            astray: BTreeMap::new(),
            entries: Vec::new(),
            objects: Vec::new(),
            kept: ObjectHistories::default(),
            scrubs: ScrubRecord::default(),
            halves: Vec::new(),
            histories: BTreeMap::new(),
        }
    }

    /// What the copy lacks. Of an object that came in the last interval the disk says until that has ended that it may not be here, because who
    /// gave it may have lost what it was with power. But others may be made anew from it meanwhile: one that is here as the log tells is here,
    /// if the log tells of every write.
    pub(crate) fn lacks_indeed(&self) -> BTreeSet<ObjectNo> {
        if self.record.gaps || self.record.filling {
            return self.lacks.clone();
        }
        let entries = self.entries.iter().filter(|entry| self.lacks.contains(&entry.object));
        let newest: BTreeMap<ObjectNo, Version> =
            entries.map(|entry| (entry.object, entry.version)).collect();
        let is_as_told = |(object, meta): &&(ObjectNo, ObjectMeta)| {
            let is_patchy = self.astray.get(object) == Some(&Astray::Patchy);
            newest.get(object) == Some(&meta.version) && !is_patchy
        };
        let here: BTreeSet<ObjectNo> =
            self.objects.iter().filter(is_as_told).map(|(object, _)| *object).collect();
        self.lacks.difference(&here).copied().collect()
    }

    /// Takes a state of an object that the store has.
    fn take_state(&mut self, id: ObjectId, meta: ObjectMeta) {
        if id.snapshot == 0 {
            match meta.version == Version::default() {
                true => self.halves.push(id),
                false => self.objects.push((id.object, meta)),
            }
            return;
        }
        let states = self.histories.get_mut(&id.object).map(|history| &mut history.states);
        let state = states.and_then(|states| {
            states.iter_mut().find(|state| u64::from(state.label.0) == id.snapshot)
        });
        match state {
            Some(state) => state.meta = meta,
            None => self.halves.push(id),
        }
    }

    /// Everything is listed. `None` if a state that an object's past tells of is not there.
    fn finish(&mut self) -> Option<()> {
        for (object, history) in std::mem::take(&mut self.histories) {
            if history.states.iter().any(|state| state.meta.version == Version::default()) {
                return None;
            }
            self.kept.change(object, |kept| *kept = history);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{IntervalId, OpId};
    use crate::pg_log::ChangedBytes;

    /// The store gives keys in order. If it ever did not, the log would be taken for what it is not.
    #[test]
    fn entries_that_do_not_follow_one_another_cannot_be_read() {
        let entry = |version| LogEntry {
            version: Version(version),
            object: ObjectNo(1),
            op: OpId::NOBODYS,
            changed: ChangedBytes::ALL,
        };
        let pair = |version| {
            (keys::entry_key(PgId::new(3), Version(version)), keys::entry_value(&entry(version)))
        };
        let read = |versions: [u64; 2]| {
            let record = GroupRecord {
                active_in: IntervalId::default(),
                gaps: false,
                filling: false,
                tail: Version(0),
            };
            let groups = BTreeMap::from([(PgId::new(3), LoadedGroup::new(record))]);
            let mut load = DiskLoad { part: LoadPart::Logs, groups, ..DiskLoad::default() };
            load.answered(Answer::Pairs(versions.map(pair).to_vec()))
        };
        assert!(matches!(read([5, 6]), NextLoad::Ask(_)));
        assert_eq!(read([6, 5]), NextLoad::Unreadable);
        assert_eq!(read([5, 5]), NextLoad::Unreadable);
    }
}
