//! Keys, changes and edits in a few words.

use crate::paged::api::ObjectId;
use crate::paged::change::Change;
use crate::paged::edit::PageEdit;
use crate::paged::keys;

/// Bytes of a text that are shown.
const SHOWN: usize = 40;

/// A byte string: as text where it is text, else as hex; cut where it is long.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let rest = if shown.len() < bytes.len() { "..." } else { "" };
    if shown.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return format!("'{}'{rest}", String::from_utf8_lossy(shown));
    }
    let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{hex}{rest}")
}

/// An object as collection/object/snapshot, which is also how it is typed.
pub(super) fn object(id: ObjectId) -> String {
    format!("{}/{}/{}", id.collection.get(), id.object.0, id.snapshot)
}

/// A key of the tree.
pub(super) fn key(key: &[u8]) -> String {
    let known = match key.first() {
        Some(&keys::USER) => Some(format!("key {}", bytes(&key[1..]))),
        Some(&keys::PIECE) => piece(&key[1..]),
        Some(&keys::OBJECTS) => {
            keys::read_object(key).map(|(id, _)| format!("object {}", object(id)))
        }
        Some(&keys::ATTRIBUTE) => keys::read_object(key)
            .map(|(id, name)| format!("attribute {} of {}", bytes(name), object(id))),
        Some(&keys::EXTENT) => keys::read_extent(key)
            .map(|(id, index)| format!("extent of {} at its page {index}", object(id))),
        Some(_) if key == keys::PROGRESS => Some("how far a transaction is".to_owned()),
        Some(&keys::SHARED) => {
            keys::read_shared(key).map(|first| format!("shared range at {first}"))
        }
        None => Some("before all keys".to_owned()),
        _ => None,
    };
    known.unwrap_or_else(|| bytes(key))
}

fn piece(rest: &[u8]) -> Option<String> {
    let (key, number) = rest.get(2..)?.split_last_chunk()?;
    Some(format!("piece {} of {}", u32::from_be_bytes(*number), bytes(key)))
}

/// A change of a transaction.
pub(super) fn change(change: &Change<'_>) -> String {
    match change {
        Change::Put { key, value } => format!("put {} {} bytes", bytes(key), value.len()),
        Change::Delete { key } => format!("delete {}", bytes(key)),
        Change::Write { object: id, offset, data, .. } => {
            format!("write {} {} bytes at {offset}", object(*id), data.len())
        }
        Change::Place { object: id, index, runs, .. } => {
            let runs: Vec<String> =
                runs.iter().map(|run| format!("{}+{}", run.first.0, run.sums.len())).collect();
            format!("place {} at its page {index}: pages {}", object(*id), runs.join(" "))
        }
        Change::Punch { object: id, from, to, .. } => format!("punch {} {from}..{to}", object(*id)),
        Change::Truncate { object: id, length, .. } => {
            format!("truncate {} to {length}", object(*id))
        }
        Change::Remove { object: id } => format!("remove {}", object(*id)),
        Change::Clone { from, to } => format!("clone {} to {}", object(*from), object(*to)),
        Change::SetAttribute { object: id, name, value } => {
            format!("set attribute {} of {} {} bytes", bytes(name), object(*id), value.len())
        }
        Change::RemoveAttribute { object: id, name } => {
            format!("remove attribute {} of {}", bytes(name), object(*id))
        }
    }
}

/// An edit of a page.
pub(super) fn edit(edit: &PageEdit<'_>) -> String {
    match *edit {
        PageEdit::Init { kind } => format!("init {kind:?}"),
        PageEdit::InitRaw => "init data".to_owned(),
        PageEdit::Insert { at, key, value } => {
            format!("insert {at}: {} {} bytes", self::key(key), value.len())
        }
        PageEdit::Replace { at, value } => format!("replace {at}: {} bytes", value.len()),
        PageEdit::Patch { at, offset, bytes } => {
            format!("patch {at}: {} bytes at {offset}", bytes.len())
        }
        PageEdit::Remove { at } => format!("remove {at}"),
        PageEdit::Truncate { from } => format!("truncate from {from}"),
        PageEdit::Bits { first, count, used } => {
            format!("{count} pages from bit {first} {}", if used { "used" } else { "free" })
        }
        PageEdit::Bytes { offset, data } => format!("{} bytes at {offset}", data.len()),
    }
}
