//! Reading back what an OSD knew: who the disk is, the map, each placement group's state and log, and which objects
//! there are. One question at a time, asked of the store as soon as it is open.

use super::keys::{self, GROUPS, GroupRecord, Identity, LACKS, LOGS};
use crate::ids::PgId;
use crate::pg_log::LogEntry;
use loadline_store::paged::{Answer, Ask};
use loadline_store::{ObjectMeta, ObjectNo};
use std::collections::{BTreeMap, BTreeSet};

/// Keys or objects asked for at a time.
const BATCH: usize = 1024;

/// A placement group's copy as the disk tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedGroup {
    pub record: GroupRecord,
    pub lacks: BTreeSet<ObjectNo>,
    pub entries: Vec<LogEntry>,
    pub objects: Vec<(ObjectNo, ObjectMeta)>,
}

/// What is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Identity,
    Map,
    Groups,
    Lacks,
    Logs,
    Objects(PgId),
}

/// What has been read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    part: Part,
    pub(crate) identity: Option<Identity>,
    pub(crate) map: Option<Vec<u8>>,
    pub(crate) groups: BTreeMap<PgId, LoadedGroup>,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Another question.
    Ask(Ask),
    /// Everything is read.
    Done,
    /// What stands under a key is not what an OSD writes.
    Unreadable,
}

impl Load {
    /// The first question.
    pub(crate) fn first() -> Ask {
        Ask::Get(keys::IDENTITY.to_vec())
    }

    /// Takes an answer.
    pub(crate) fn answered(&mut self, answer: Answer) -> Next {
        match answer {
            Answer::Value(value) => self.value(value),
            Answer::Pairs(pairs) => self.pairs(&pairs).unwrap_or(Next::Unreadable),
            Answer::Objects(found) => {
                let Part::Objects(pg) = self.part else { return Next::Unreadable };
                let found: Vec<(ObjectNo, ObjectMeta)> = found
                    .iter()
                    .filter(|(id, _)| id.snapshot == 0)
                    .map(|(id, meta)| (id.object, *meta))
                    .collect();
                self.objects(pg, found)
            }
            _ => Next::Unreadable,
        }
    }

    fn value(&mut self, value: Option<Vec<u8>>) -> Next {
        match self.part {
            Part::Identity => {
                self.identity = value.as_deref().and_then(Identity::decode);
                self.part = Part::Map;
                Next::Ask(Ask::Get(keys::MAP.to_vec()))
            }
            _ => {
                self.map = value;
                self.part = Part::Groups;
                scan(vec![GROUPS])
            }
        }
    }

    /// Takes a batch of keys. `None` if one is not what an OSD writes.
    fn pairs(&mut self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<Next> {
        let letter = match self.part {
            Part::Groups => GROUPS,
            Part::Lacks => LACKS,
            _ => LOGS,
        };
        let ours = pairs.iter().take_while(|(key, _)| key.first() == Some(&letter));
        let mut taken = 0;
        for (key, value) in ours {
            let (pg, rest) = keys::group_of(letter, key)?;
            self.take(pg, rest, value)?;
            taken += 1;
        }
        Some(match pairs.last() {
            Some((last, _)) if taken == BATCH => scan([last.as_slice(), &[0]].concat()),
            _ => self.next_part(),
        })
    }

    fn take(&mut self, pg: PgId, rest: &[u8], value: &[u8]) -> Option<()> {
        if self.part == Part::Groups {
            let record = GroupRecord::decode(value)?;
            let (lacks, entries, objects) = (BTreeSet::new(), Vec::new(), Vec::new());
            self.groups.insert(pg, LoadedGroup { record, lacks, entries, objects });
            return Some(());
        }
        // Keys of a placement group that was deleted in between belong to nobody.
        let Some(group) = self.groups.get_mut(&pg) else { return Some(()) };
        match self.part {
            Part::Lacks => group.lacks = keys::decode_objects(value)?.into_iter().collect(),
            _ => group.entries.push(keys::entry_of(rest, value)?),
        }
        Some(())
    }

    fn next_part(&mut self) -> Next {
        match self.part {
            Part::Groups => {
                self.part = Part::Lacks;
                scan(vec![LACKS])
            }
            Part::Lacks => {
                self.part = Part::Logs;
                scan(vec![LOGS])
            }
            _ => self.group_after(None),
        }
    }

    fn objects(&mut self, pg: PgId, found: Vec<(ObjectNo, ObjectMeta)>) -> Next {
        let group = self.groups.get_mut(&pg).expect("its objects were asked for");
        let known = group.objects.last().map(|(object, _)| *object);
        let new = found.into_iter().filter(|(object, _)| known.is_none_or(|last| *object > last));
        let before = group.objects.len();
        group.objects.extend(new);
        match group.objects.last() {
            Some((last, _)) if group.objects.len() > before => list(pg, *last),
            _ => self.group_after(Some(pg)),
        }
    }

    fn group_after(&mut self, pg: Option<PgId>) -> Next {
        let mut ids = self.groups.keys().copied();
        match ids.find(|id| pg.is_none_or(|pg| *id > pg)) {
            Some(next) => {
                self.part = Part::Objects(next);
                list(next, ObjectNo(0))
            }
            None => Next::Done,
        }
    }
}

fn scan(from: Vec<u8>) -> Next {
    Next::Ask(Ask::Scan { from, most: BATCH })
}

fn list(pg: PgId, from: ObjectNo) -> Next {
    Next::Ask(Ask::List { collection: pg.collection(), from, most: BATCH })
}
