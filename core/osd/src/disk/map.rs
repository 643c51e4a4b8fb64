//! The map on a disk: one value while it is no larger than a value may be, and pieces beyond that.
//!
//! Where `m` stands, that is the map. Else `n` says which of two sets of pieces is, how many they are and how long they are together. Pieces are
//! put into the set that is not the map; the transaction that makes it the map is the last, and takes away whatever else there is. So a crash
//! between any two transactions leaves the map before, whole.

use loadline_store::paged::Edit;
use std::collections::BTreeMap;

/// Where a map of one value stands.
pub(crate) const MAP: &[u8] = b"m";
/// Where it stands which pieces are the map: set (1), pieces (4) and bytes of all (8). Their keys begin with it.
pub(crate) const PIECES: u8 = b'n';

/// What of maps is on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptMap {
    /// The set of pieces that is the map, if it is one in pieces.
    set: Option<u8>,
    /// The keys of all pieces that are there, also of those that are no map, as a crash leaves them.
    pieces: Vec<Vec<u8>>,
}

/// The edits that make another map the one that counts.
#[derive(Debug)]
pub(crate) struct MapEdits {
    /// In as many transactions as it takes.
    pub before: Vec<Edit>,
    /// In one, after those.
    pub last: Vec<Edit>,
}

impl KeptMap {
    /// The next map, in values of so many bytes at most.
    pub(crate) fn replace(&mut self, map: Vec<u8>, value_bytes: usize) -> MapEdits {
        let is_small = map.len() <= value_bytes;
        let set = (!is_small).then(|| self.set.map_or(0, |set| 1 - set));
        let before: Vec<Edit> = set.map_or(Vec::new(), |set| {
            let pieces = map.chunks(value_bytes).enumerate();
            pieces.map(|(at, piece)| put(key_of(set, at as u32), piece.to_vec())).collect()
        });
        let new: Vec<Vec<u8>> = before.iter().filter_map(put_key).collect();
        let mut last = match set {
            None => vec![put(MAP.to_vec(), map)],
            Some(set) => {
                let (pieces, bytes) = (new.len() as u32, map.len() as u64);
                let head = [&[set][..], &pieces.to_le_bytes(), &bytes.to_le_bytes()];
                vec![put(vec![PIECES], head.concat())]
            }
        };
        match self.set {
            None if set.is_some() => last.push(delete(MAP.to_vec())),
            Some(_) if set.is_none() => last.push(delete(vec![PIECES])),
            _ => {}
        }
        let gone = std::mem::take(&mut self.pieces).into_iter().filter(|key| !new.contains(key));
        last.extend(gone.map(delete));
        *self = KeptMap { set, pieces: new };
        MapEdits { before, last }
    }

    /// The map that a disk tells of, and what is there of others, by the value of [`MAP`] and by all keys that begin with [`PIECES`].
    /// `None` if they are not what an OSD writes.
    pub(crate) fn read(
        whole: Option<Vec<u8>>,
        mut found: BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Option<(Option<Vec<u8>>, KeptMap)> {
        let head = found.remove(&[PIECES][..]);
        let pieces = found.keys().cloned().collect();
        let (Some(head), None) = (head, &whole) else {
            return Some((whole, KeptMap { set: None, pieces }));
        };
        let (set, rest) = head.split_first()?;
        let (count, bytes) = rest.split_at_checked(4)?;
        let count = u32::from_le_bytes(count.try_into().ok()?);
        let bytes = u64::from_le_bytes(bytes.try_into().ok()?);
        let mut map = Vec::new();
        for piece in 0..count {
            map.extend_from_slice(found.get(&key_of(*set, piece))?);
        }
        let is_whole = map.len() as u64 == bytes && *set < 2;
        is_whole.then_some((Some(map), KeptMap { set: Some(*set), pieces }))
    }
}

/// The key of a piece.
fn key_of(set: u8, piece: u32) -> Vec<u8> {
    [&[PIECES, set][..], &piece.to_be_bytes()].concat()
}

fn put(key: Vec<u8>, value: Vec<u8>) -> Edit {
    Edit::Put { key, value }
}

fn delete(key: Vec<u8>) -> Edit {
    Edit::Delete { key }
}

fn put_key(edit: &Edit) -> Option<Vec<u8>> {
    match edit {
        Edit::Put { key, .. } => Some(key.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::transactions;

    const VALUE: usize = 32;

    /// What a disk holds, as keys and values.
    type Held = BTreeMap<Vec<u8>, Vec<u8>>;

    fn carry_out(held: &mut Held, edits: Vec<Edit>) {
        for edit in edits {
            match edit {
                Edit::Put { key, value } => {
                    assert!(value.len() <= VALUE, "a value has its bound");
                    held.insert(key, value);
                }
                Edit::Delete { key } => drop(held.remove(&key)),
                other => unreachable!("a map is keys: {other:?}"),
            }
        }
    }

    fn read(held: &Held) -> (Option<Vec<u8>>, KeptMap) {
        let pieces = held.iter().filter(|(key, _)| key[0] == PIECES);
        let pieces = pieces.map(|(key, value)| (key.clone(), value.clone())).collect();
        KeptMap::read(held.get(MAP).cloned(), pieces).expect("it is what an OSD writes")
    }

    /// A map of so many bytes, unlike every other one.
    fn map(number: u8, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| number ^ at as u8).collect()
    }

    /// Maps of all sizes follow each other. A crash after any transaction leaves the one before or the one after, and whoever goes on
    /// from there takes away what it left.
    #[test]
    fn a_crash_leaves_one_map_or_the_other() {
        let sizes = [0, 1, VALUE, VALUE + 1, 3 * VALUE, 10 * VALUE + 7, 40, VALUE, 5 * VALUE];
        let mut crashes = 0;
        for first in sizes {
            for second in sizes {
                let (mut held, mut kept) = (Held::new(), KeptMap::default());
                let MapEdits { before, last } = kept.replace(map(1, first), VALUE);
                carry_out(&mut held, [before, last].concat());
                assert_eq!(read(&held), (Some(map(1, first)), kept.clone()));
                let MapEdits { before, last } = kept.replace(map(2, second), VALUE);
                // One edit in each transaction: more crashes than there are with larger ones.
                let mut all: Vec<Vec<Edit>> = transactions(before, 1);
                all.push(last);
                let ends = all.len();
                for (at, edits) in all.into_iter().enumerate() {
                    carry_out(&mut held, edits);
                    let (found, mut after) = read(&held);
                    let wanted = if at + 1 == ends { map(2, second) } else { map(1, first) };
                    assert_eq!(found, Some(wanted), "{first} to {second}, after {at}");
                    let mut healed = held.clone();
                    let MapEdits { before, last } = after.replace(map(3, 9), VALUE);
                    carry_out(&mut healed, [before, last].concat());
                    assert_eq!(healed.into_iter().collect::<Vec<_>>(), [(MAP.to_vec(), map(3, 9))]);
                    crashes += 1;
                }
            }
        }
        assert!(crashes > 200);
    }

    #[test]
    fn a_map_that_lacks_a_piece_is_none() {
        let mut held = Held::new();
        let MapEdits { before, last } = KeptMap::default().replace(map(1, 100), VALUE);
        carry_out(&mut held, [before, last].concat());
        let check = |change: fn(&mut Held)| {
            let mut held = held.clone();
            change(&mut held);
            let pieces = held.into_iter().filter(|(key, _)| key[0] == PIECES).collect();
            assert_eq!(KeptMap::read(None, pieces), None);
        };
        check(|held| drop(held.remove(&key_of(0, 2))));
        check(|held| drop(held.insert(key_of(0, 3), vec![1; 3])));
        check(|held| drop(held.insert(vec![PIECES], vec![0; 4])));
        check(|held| held.get_mut(&[PIECES][..]).expect("the head")[0] = 1);
        check(|held| held.get_mut(&[PIECES][..]).expect("the head")[0] = 2);
    }
}
