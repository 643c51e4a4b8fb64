//! The keys under which an OSD keeps what it knows, beside the objects themselves, and the bytes of the values.
//!
//! ```text
//! i                              who this disk is: cluster (16), OSD (4), and the owner's term it promised (8)
//! m                              the map, as the owner of the map writes it
//! g  placement group             interval it took part in last (4), flags (1), end of what the log forgot (8)
//! k  placement group             objects that may not be here as the log tells (8 each)
//! l  placement group  version    an entry of the log: object (8)
//! ```
//! Numbers in keys are big-endian, so that they sort; numbers in values are little-endian.

use crate::ids::{OpId, OsdId, PgId};
use crate::message::Data;
use crate::pg_log::LogEntry;
use loadline_base::SlotId;
use loadline_store::paged::Edit;
use loadline_store::{ObjectNo, Version};

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

/// Where the identity stands.
pub(crate) const IDENTITY: &[u8] = b"i";
/// Where the map stands.
pub(crate) const MAP: &[u8] = b"m";
/// First letter of the keys of placement groups' states.
pub(crate) const GROUPS: u8 = b'g';
/// First letter of the keys of what placement groups lack.
pub(crate) const LACKS: u8 = b'k';
/// First letter of the keys of log entries.
pub(crate) const LOGS: u8 = b'l';

impl Identity {
    /// The edit that writes it down.
    pub(crate) fn edit(&self) -> Edit {
        Edit::Put { key: IDENTITY.to_vec(), value: self.encode() }
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

/// What the disk says of a copy, without its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRecord {
    pub active_in: u32,
    pub gaps: bool,
    pub filling: bool,
    /// The version just before the first entry of the log.
    pub tail: Version,
}

impl GroupRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.gaps) | u8::from(self.filling) << 1;
        [&self.active_in.to_le_bytes()[..], &[flags], &self.tail.0.to_le_bytes()].concat()
    }

    pub(crate) fn decode(value: &[u8]) -> Option<GroupRecord> {
        let (active_in, rest) = value.split_at_checked(4)?;
        let (flags, tail) = rest.split_first()?;
        let active_in = u32::from_le_bytes(active_in.try_into().ok()?);
        let tail = Version(u64::from_le_bytes(tail.try_into().ok()?));
        let (gaps, filling) = (flags & 1 == 1, flags & 2 == 2);
        (*flags < 4).then_some(GroupRecord { active_in, gaps, filling, tail })
    }
}

/// The edit that keeps a map.
pub(crate) fn map_edit(map: Data) -> Edit {
    Edit::Put { key: MAP.to_vec(), value: map.into_vec() }
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
    let object = ObjectNo(u64::from_le_bytes(value.try_into().ok()?));
    Some(LogEntry { version, object, op: OpId { slot: SlotId::new(u32::MAX), number: 0 } })
}

/// A list of objects as bytes.
pub(crate) fn encode_objects<'a>(objects: impl IntoIterator<Item = &'a ObjectNo>) -> Vec<u8> {
    objects.into_iter().flat_map(|object| object.0.to_le_bytes()).collect()
}

/// The objects of such a list.
pub(crate) fn decode_objects(value: &[u8]) -> Option<Vec<ObjectNo>> {
    let (words, rest) = value.as_chunks::<8>();
    let objects = words.iter().map(|word| ObjectNo(u64::from_le_bytes(*word))).collect();
    rest.is_empty().then_some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let identity = Identity { cluster: u128::MAX / 3, osd: OsdId::new(7), term: 9 };
        assert_eq!(Identity::decode(&identity.encode()), Some(identity));
        let record =
            GroupRecord { active_in: 9, gaps: true, filling: false, tail: Version(1 << 40) };
        assert_eq!(GroupRecord::decode(&record.encode()), Some(record));
        let objects = [ObjectNo(1), ObjectNo(u64::MAX)];
        assert_eq!(decode_objects(&encode_objects(&objects)), Some(objects.to_vec()));
        let key = entry_key(PgId::new(3), Version(5));
        let (pg, rest) = group_of(LOGS, &key).expect("a log key");
        let entry = entry_of(rest, &9u64.to_le_bytes()).expect("an entry");
        assert_eq!((pg, entry.version, entry.object), (PgId::new(3), Version(5), ObjectNo(9)));
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        assert_eq!(GroupRecord::decode(&[1, 2, 3]), None);
        assert_eq!(GroupRecord::decode(&[0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Identity::decode(&[0; 27]), None);
        assert_eq!(decode_objects(&[0; 9]), None);
        assert_eq!(group_of(GROUPS, b"g\0\0"), None);
    }
}
