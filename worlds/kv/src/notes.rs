//! Notes of when to look at keys, of which those that nobody needs any more go before their time.
//!
//! A note goes when its time has come. What removes a key without a look at it, or gives it another time, leaves the note behind until then: that keeps such changes
//! as cheap as others, and costs room. Whoever has removed many keys at once can have their notes looked over.

use crate::keyspace::Keyspace;
use crate::record;

/// How far the notes of some keyspaces are looked over: [`Db::drop_notes_later`](crate::Db::drop_notes_later).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteWalk {
    keyspaces: Vec<Keyspace>,
    /// The first note that was not looked at.
    from: Vec<u8>,
    /// The last one of when the walk began, once it has: others may come for ever.
    last: Option<Vec<u8>>,
}

impl NoteWalk {
    /// Over all notes of these keyspaces that there are when it begins.
    pub fn of(keyspaces: impl IntoIterator<Item = Keyspace>) -> NoteWalk {
        let keyspaces = keyspaces.into_iter().collect();
        NoteWalk { keyspaces, from: record::first_expiry(), last: None }
    }

    /// Whether it knows its end.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// It ends with this note.
    pub(crate) fn begin(&mut self, last: Vec<u8>) {
        self.last = Some(last);
    }

    /// The first note to look at.
    pub(crate) fn from(&self) -> Vec<u8> {
        self.from.clone()
    }

    /// Whether a note is before the walk's end.
    pub(crate) fn comes_to(&self, note: &[u8]) -> bool {
        self.last.as_deref().is_some_and(|last| note <= last)
    }

    /// The key and the time of a note of its keyspaces.
    pub(crate) fn look(&self, note: &[u8]) -> Option<(Vec<u8>, u64)> {
        let (at, key) = record::read_expiry(note)?;
        self.keyspaces.iter().any(|keyspace| keyspace.has(key)).then(|| (key.to_vec(), at))
    }

    /// The walk behind this note, if it goes on there.
    pub(crate) fn behind(mut self, note: Vec<u8>) -> Option<NoteWalk> {
        if self.last.as_ref() == Some(&note) {
            return None;
        }
        self.from = note;
        self.from.push(0);
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_looks_at_its_own_keyspaces_and_ends_where_it_has_begun_to() {
        let [own, longer] = ["n", "nn"].map(|name| Keyspace::new(name).expect("a name"));
        let note = |keyspace: &Keyspace, at| record::expiry_entry(at, &keyspace.key(b"k"));
        let mut walk = NoteWalk::of([own.clone()]);
        assert!(!walk.comes_to(&note(&own, 1)), "it has not begun");
        walk.begin(note(&longer, 2));
        assert_eq!(walk.look(&note(&own, 1)), Some((own.key(b"k"), 1)));
        assert_eq!(walk.look(&note(&longer, 1)), None);
        assert!(walk.comes_to(&note(&longer, 2)) && !walk.comes_to(&note(&own, 3)));
        let walk = walk.behind(note(&own, 1)).expect("there is more");
        assert!(walk.from() > note(&own, 1) && walk.from() < note(&longer, 1));
        assert_eq!(walk.behind(note(&longer, 2)), None);
    }
}
