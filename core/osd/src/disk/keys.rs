//! The keys under which an OSD keeps what it knows, beside the objects themselves, and the bytes of the values.
//!
//! ```text
//! f                              the format of all this (4); not there where a program wrote that knew only the first
//! i                              who this disk is: cluster (16), OSD (4), and the owner's term it promised (8)
//! m                              the map, as the owner of the map writes it, if it is no larger than a value may be
//! n                              the map in pieces ([`KeptMap`](super::map::KeptMap)): which set (1), how many (4), bytes of all (8)
//! n  set  piece                  a piece of a map
//! g  placement group             interval it took part in last (4), flags (1), end of what the log forgot (8), term of
//!                                the owner that began that interval (8; not there where an older program wrote)
//! k  placement group  object     a byte of 0: this object may not be here as the log tells; of 2, or nothing, as an older program wrote:
//!                                it is not, and what is here may be no former state of it either; of 1: it is, and has lost pages;
//!                                of 3: it is not, and is, if it has this version (8), but for these bytes, the first (4) and how
//!                                many (4), as it was with the write of this version (8)
//! k  placement group             objects of which the same is said (8 each): an older program wrote them here
//! l  placement group  version    an entry of the log: object (8); of its bytes those that are changed, first (4) and how many (4), or nothing
//!                                for all
//! h  placement group  object     its past: version of its removal (8), birth (4), then label and birth (4 each) of each
//!                                former state
//! s  placement group             its scrubs: when they were, what the last one found, how far one has come
//! u  client's key                nothing of ours: its value
//! ```
//! Numbers in keys are big-endian, so that they sort; numbers in values are little-endian.

use crate::damage::Astray;
use crate::ids::{IntervalId, OpId, OsdId, PgId};
use crate::pg_log::{ChangedBytes, Divergence, LogEntry};
use crate::snapshots::{FormerState, ObjectHistory, SnapshotNo};
use loadline_store::paged::{Edit, LossNote, ObjectId, OwnPages};
use loadline_store::{ObjectMeta, ObjectNo, Version};

/// Who a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The cluster that it belongs to.
    pub cluster: u128,
    /// Which of its OSDs it is.
    pub osd: OsdId,
    /// The last term of an owner of the map that was promised to it.
    pub term: u64,
}

/// Where the format stands.
pub(crate) const FORMAT: &[u8] = b"f";
/// The format that this program writes: in the second one an entry of a log may tell which bytes its write changed.
const WRITTEN: u32 = 2;
/// Where the identity stands.
pub(crate) const IDENTITY: &[u8] = b"i";
/// First letter of the keys of placement groups' states.
pub(crate) const GROUPS: u8 = b'g';
/// First letter of the keys of what placement groups lack.
pub(crate) const LACKS: u8 = b'k';
/// First letter of the keys of log entries.
pub(crate) const LOGS: u8 = b'l';
/// First letter of the keys of objects' pasts.
pub(crate) const HISTORIES: u8 = b'h';
/// First letter of the keys of what is known of scrubs.
pub(crate) const SCRUBS: u8 = b's';
/// First letter of the keys that clients put here.
const OWN_KEYS: u8 = b'u';

impl Identity {
    /// The edits that write it down, and in which format what the OSD keeps is from then on.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let put = |key: &[u8], value| Edit::Put { key: key.to_vec(), value };
        vec![put(FORMAT, WRITTEN.to_le_bytes().to_vec()), put(IDENTITY, self.encode())]
    }

    fn encode(&self) -> Vec<u8> {
        let osd = self.osd.get().to_le_bytes();
        [&self.cluster.to_le_bytes()[..], &osd, &self.term.to_le_bytes()].concat()
    }

    pub(crate) fn decode(value: &[u8]) -> Option<Identity> {
        let (cluster, rest) = value.split_at_checked(16)?;
        let (osd, term) = rest.split_at_checked(4)?;
        let cluster = u128::from_le_bytes(cluster.try_into().ok()?);
        let osd = OsdId::new(u32::from_le_bytes(osd.try_into().ok()?));
        Some(Identity { cluster, osd, term: u64::from_le_bytes(term.try_into().ok()?) })
    }
}

/// The format of what an OSD keeps, if this program cannot read it, as the disk tells it.
pub(crate) fn newer_format(value: Option<&[u8]>) -> Option<u32> {
    let format = value?.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
    (format > WRITTEN).then_some(format)
}

/// What the disk says of a copy, without its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRecord {
    pub active_in: IntervalId,
    pub gaps: bool,
    pub filling: bool,
    /// The version just before the first entry of the log.
    pub tail: Version,
}

impl GroupRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.gaps) | u8::from(self.filling) << 1;
        let IntervalId { term, epoch } = self.active_in;
        let (epoch, term) = (epoch.to_le_bytes(), term.to_le_bytes());
        [&epoch[..], &[flags], &self.tail.0.to_le_bytes(), &term].concat()
    }

    pub(crate) fn decode(value: &[u8]) -> Option<GroupRecord> {
        let (epoch, rest) = value.split_at_checked(4)?;
        let (flags, rest) = rest.split_first()?;
        let (tail, term) = rest.split_at_checked(8)?;
        let tail = Version(u64::from_le_bytes(tail.try_into().ok()?));
        let epoch = u32::from_le_bytes(epoch.try_into().ok()?);
        let term = if term.is_empty() { 0 } else { u64::from_le_bytes(term.try_into().ok()?) };
        let active_in = IntervalId { term, epoch };
        let (gaps, filling) = (flags & 1 == 1, flags & 2 == 2);
        (*flags < 4).then_some(GroupRecord { active_in, gaps, filling, tail })
    }
}

/// Where the keys of a placement group are, beside its objects: for who reads them again.
pub(crate) fn pages_of_group(pg: PgId) -> impl Iterator<Item = OwnPages> {
    let behind = |mut key: Vec<u8>| {
        while key.pop_if(|last| *last == u8::MAX).is_some() {}
        *key.last_mut().expect("a letter is the first of it") += 1;
        key
    };
    let of_letter = move |letter| {
        let first = of_group(letter, pg);
        OwnPages::Keys(first.clone()..behind(first))
    };
    [GROUPS, HISTORIES, LACKS, LOGS, SCRUBS].into_iter().map(of_letter)
}

/// All pages of a store that hold nothing of a placement group: the format, who the disk is, the map, clients' keys, and what the store keeps for
/// itself.
pub(crate) fn pages_of_disk() -> [OwnPages; 5] {
    let of_letter = |letter: u8| OwnPages::Keys(vec![letter]..vec![letter + 1]);
    [
        of_letter(FORMAT[0]),
        of_letter(IDENTITY[0]),
        OwnPages::Keys(b"m".to_vec()..b"o".to_vec()),
        of_letter(OWN_KEYS),
        OwnPages::Rest,
    ]
}

/// The edit that keeps what is known of a placement group's scrubs.
pub(crate) fn keep_scrubs(pg: PgId, value: Vec<u8>) -> Edit {
    Edit::Put { key: of_group(SCRUBS, pg), value }
}

/// A client's key among an OSD's own.
pub(crate) fn own_key(key: &[u8]) -> Vec<u8> {
    [&[OWN_KEYS], key].concat()
}

/// The key of something that a placement group has one of.
pub(crate) fn of_group(letter: u8, pg: PgId) -> Vec<u8> {
    let mut key = vec![letter];
    key.extend_from_slice(&pg.get().to_be_bytes());
    key
}

/// The placement group that a key is about, and the rest of the key.
pub(crate) fn group_of(letter: u8, key: &[u8]) -> Option<(PgId, &[u8])> {
    let (pg, rest) = key.strip_prefix(&[letter])?.split_at_checked(4)?;
    Some((PgId::new(u32::from_be_bytes(pg.try_into().ok()?)), rest))
}

/// The key of a log entry.
pub(crate) fn entry_key(pg: PgId, version: Version) -> Vec<u8> {
    let mut key = of_group(LOGS, pg);
    key.extend_from_slice(&version.0.to_be_bytes());
    key
}

/// A log entry as it was read back. Ops are numbered anew in each life of the server, so none is known by its number.
pub(crate) fn entry_of(rest: &[u8], value: &[u8]) -> Option<LogEntry> {
    let version = Version(u64::from_be_bytes(rest.try_into().ok()?));
    let (object, changed) = value.split_first_chunk()?;
    let object = ObjectNo(u64::from_le_bytes(*object));
    let changed = match changed {
        // As an older program wrote them all.
        [] => ChangedBytes::ALL,
        changed => decode_changed(changed)?,
    };
    Some(LogEntry { version, object, op: OpId::NOBODYS, changed })
}

/// What stands under an entry's key.
pub(crate) fn entry_value(entry: &LogEntry) -> Vec<u8> {
    let mut value = entry.object.0.to_le_bytes().to_vec();
    if entry.changed != ChangedBytes::ALL {
        value.extend_from_slice(&encode_changed(entry.changed));
    }
    value
}

fn encode_changed(changed: ChangedBytes) -> [u8; 8] {
    (u64::from(changed.length) << 32 | u64::from(changed.offset)).to_le_bytes()
}

fn decode_changed(value: &[u8]) -> Option<ChangedBytes> {
    let both = u64::from_le_bytes(value.try_into().ok()?);
    Some(ChangedBytes { offset: both as u32, length: (both >> 32) as u32 })
}

/// The key that says that a copy lacks an object.
pub(crate) fn lack_key(pg: PgId, object: ObjectNo) -> [u8; 13] {
    let mut key = [LACKS; 13];
    key[1..5].copy_from_slice(&pg.get().to_be_bytes());
    key[5..].copy_from_slice(&object.0.to_be_bytes());
    key
}

/// What stands under that key where nothing more is known of it.
pub(crate) const LACKS_OBJECT: &[u8] = &[0];

/// What stands under that key where the object is here and has lost pages. An older program takes it for lacking.
pub(crate) const HAS_LOST_PAGES: &[u8] = &[1];

/// What stands under that key where a write was missed. An older program takes it for any lacking.
pub(crate) const IS_PATCHY: &[u8] = &[2];

/// First of what stands under that key where writes were carried out that were undone. An older program takes it for a missed write.
const HAS_DIVERGED: u8 = 3;

/// What stands under that key where the object lacks.
pub(crate) fn lack_value(astray: Option<Astray>) -> Vec<u8> {
    match astray {
        None => LACKS_OBJECT.to_vec(),
        Some(Astray::Patchy) => IS_PATCHY.to_vec(),
        Some(Astray::Diverged(Divergence { version, since, changed })) => [
            &[HAS_DIVERGED][..],
            &version.0.to_le_bytes(),
            &encode_changed(changed),
            &since.0.to_le_bytes(),
        ]
        .concat(),
    }
}

/// What it says of the state that is here. What an older program wrote does not tell, nor what is not understood.
pub(crate) fn astray_of(value: &[u8]) -> Option<Astray> {
    let diverged = || {
        let (first, rest) = value.split_first()?;
        let (version, rest) = rest.split_first_chunk()?;
        let (changed, since) = rest.split_at_checked(8)?;
        let (version, changed) = (Version(u64::from_le_bytes(*version)), decode_changed(changed)?);
        let since = Version(u64::from_le_bytes(since.try_into().ok()?));
        (*first == HAS_DIVERGED).then_some(Divergence { version, since, changed })
    };
    match value {
        LACKS_OBJECT => None,
        _ => Some(diverged().map_or(Astray::Patchy, Astray::Diverged)),
    }
}

/// The objects of a list of what a copy lacks, as an older program wrote it.
pub(crate) fn decode_objects(value: &[u8]) -> Option<Vec<ObjectNo>> {
    let (words, rest) = value.as_chunks::<8>();
    let objects = words.iter().map(|word| ObjectNo(u64::from_le_bytes(*word))).collect();
    rest.is_empty().then_some(objects)
}

/// The object at a key's end.
pub(crate) fn object_of(rest: &[u8]) -> Option<ObjectNo> {
    Some(ObjectNo(u64::from_be_bytes(rest.try_into().ok()?)))
}

/// An object, or a former state of it, in the store.
pub(crate) fn object_id(pg: PgId, object: ObjectNo, label: SnapshotNo) -> ObjectId {
    ObjectId { collection: pg.collection(), object, snapshot: u64::from(label.0) }
}

/// What is noted of an object of which the disk loses a page as it starts, in whichever of its states.
pub(crate) fn note_of_loss(of: ObjectId) -> LossNote {
    let pg = PgId::new(of.collection.get());
    LossNote::new(&lack_key(pg, of.object), HAS_LOST_PAGES)
}

/// The edit that keeps what is known of an object's past; nothing, if it has none.
pub(crate) fn keep_history(pg: PgId, object: ObjectNo, history: Option<&ObjectHistory>) -> Edit {
    let mut key = of_group(HISTORIES, pg);
    key.extend_from_slice(&object.0.to_be_bytes());
    match history {
        Some(history) => Edit::Put { key, value: encode_history(history) },
        None => Edit::Delete { key },
    }
}

fn encode_history(history: &ObjectHistory) -> Vec<u8> {
    let removed = history.removed.unwrap_or_default();
    let mut value = removed.0.to_le_bytes().to_vec();
    value.extend_from_slice(&history.born.0.to_le_bytes());
    for state in &history.states {
        value.extend_from_slice(&state.label.0.to_le_bytes());
        value.extend_from_slice(&state.born.0.to_le_bytes());
    }
    value
}

/// An object and its past as it was read back. What the store knows of each state is still to be found out.
pub(crate) fn history_of(rest: &[u8], value: &[u8]) -> Option<(ObjectNo, ObjectHistory)> {
    let object = object_of(rest)?;
    let (removed, rest) = value.split_at_checked(8)?;
    let (born, rest) = rest.split_at_checked(4)?;
    let removed = Version(u64::from_le_bytes(removed.try_into().ok()?));
    let number = |bytes: &[u8]| Some(SnapshotNo(u32::from_le_bytes(bytes.try_into().ok()?)));
    let (pairs, rest) = rest.as_chunks::<8>();
    let state = |pair: &[u8; 8]| {
        let (label, born) = (number(&pair[..4])?, number(&pair[4..])?);
        Some(FormerState { label, born, meta: ObjectMeta::default() })
    };
    let states = pairs.iter().map(state).collect::<Option<Vec<FormerState>>>()?;
    let is_ordered = states.is_sorted_by(|a, b| a.label < b.label);
    let removed = (removed != Version::default()).then_some(removed);
    let history = ObjectHistory { born: number(born)?, removed, states, arriving: None };
    (rest.is_empty() && is_ordered).then_some((object, history))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let identity = Identity { cluster: u128::MAX / 3, osd: OsdId::new(7), term: 9 };
        assert_eq!(Identity::decode(&identity.encode()), Some(identity));
        let active_in = IntervalId { term: 1 << 33, epoch: 9 };
        let record = GroupRecord { active_in, gaps: true, filling: false, tail: Version(1 << 40) };
        assert_eq!(GroupRecord::decode(&record.encode()), Some(record));
        let before_terms = GroupRecord::decode(&record.encode()[..13]);
        let active_in = IntervalId { term: 0, epoch: 9 };
        assert_eq!(before_terms, Some(GroupRecord { active_in, ..record }));
        let objects = [ObjectNo(1), ObjectNo(u64::MAX)];
        let list = objects.map(|object| object.0.to_le_bytes()).concat();
        assert_eq!(decode_objects(&list), Some(objects.to_vec()));
        let key = lack_key(PgId::new(3), ObjectNo(9));
        let (pg, rest) = group_of(LACKS, &key).expect("a key of a lack");
        assert_eq!((pg, object_of(rest)), (PgId::new(3), Some(ObjectNo(9))));
        let key = entry_key(PgId::new(3), Version(5));
        let (pg, rest) = group_of(LOGS, &key).expect("a log key");
        assert_eq!(pg, PgId::new(3));
        for changed in [ChangedBytes::ALL, ChangedBytes { offset: 7, length: u32::MAX - 7 }] {
            let (object, op) = (ObjectNo(9), OpId::NOBODYS);
            let entry = LogEntry { version: Version(5), object, op, changed };
            assert_eq!(entry_of(rest, &entry_value(&entry)), Some(entry));
        }
        let by_older = entry_of(rest, &9u64.to_le_bytes()).expect("an entry");
        assert_eq!((by_older.object, by_older.changed), (ObjectNo(9), ChangedBytes::ALL));
        assert_eq!(entry_of(rest, &[9; 12]), None);
        let divergence = Divergence {
            version: Version(3 << 32 | 806),
            since: Version(803),
            changed: ChangedBytes { offset: 512, length: u32::MAX - 9 },
        };
        for astray in [None, Some(Astray::Patchy), Some(Astray::Diverged(divergence))] {
            assert_eq!(astray_of(&lack_value(astray)), astray);
        }
        for unknown in [&[][..], &[7], &[HAS_DIVERGED; 24], &[HAS_DIVERGED; 26]] {
            assert_eq!(astray_of(unknown), Some(Astray::Patchy), "it may be anything");
        }
        let state = |label, born| FormerState {
            label: SnapshotNo(label),
            born: SnapshotNo(born),
            meta: ObjectMeta::default(),
        };
        let states = vec![state(3, 0), state(1 << 31, 3)];
        let removed = Some(Version(8));
        let history = ObjectHistory { born: SnapshotNo(2), removed, states, arriving: None };
        let Edit::Put { key, value } = keep_history(PgId::new(3), ObjectNo(9), Some(&history))
        else {
            panic!("a past is put");
        };
        let (pg, rest) = group_of(HISTORIES, &key).expect("a key of a past");
        let found = history_of(rest, &value);
        assert_eq!((pg, found), (PgId::new(3), Some((ObjectNo(9), history))));
    }

    #[test]
    fn a_format_is_known_up_to_the_one_that_is_written() {
        assert_eq!([None, Some(&WRITTEN.to_le_bytes()[..])].map(newer_format), [None; 2]);
        assert_eq!(newer_format(Some(&3u32.to_le_bytes())), Some(3));
        assert_eq!(newer_format(Some(&[2])), Some(u32::MAX), "no number of four bytes");
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        assert_eq!(GroupRecord::decode(&[1, 2, 3]), None);
        assert_eq!(GroupRecord::decode(&[0; 20]), None);
        assert_eq!(GroupRecord::decode(&[0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Identity::decode(&[0; 27]), None);
        assert_eq!(decode_objects(&[0; 9]), None);
        assert_eq!(group_of(GROUPS, b"g\0\0"), None);
        assert_eq!(history_of(&[0; 8], &[0; 19]), None);
        assert_eq!(history_of(&[0; 7], &[0; 20]), None);
    }
}
