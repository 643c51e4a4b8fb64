//! Ops in few words, for stories.

use loadline_store::paged::{Ask, Edit, ObjectId, OwnPages, Payload, ScanBounds};

fn of_bounds(most: ScanBounds) -> String {
    match most {
        ScanBounds { keys, bytes: usize::MAX } => keys.to_string(),
        ScanBounds { keys, bytes } => format!("{keys} or {bytes} bytes"),
    }
}

/// An op in few words.
pub(super) fn of_ask(ask: &Ask) -> String {
    match ask {
        Ask::Transaction(edits) => {
            let edits: Vec<String> = edits.iter().map(of_edit).collect();
            edits.join(", ")
        }
        Ask::Get(key) => format!("get {}", of_key(key)),
        Ask::Scan { from, most } => format!("scan {} from {}", of_bounds(*most), of_key(from)),
        Ask::ScanBack { until, most } => {
            format!("scan {} back from {}", of_bounds(*most), of_key(until))
        }
        Ask::Read { object, offset, length } => {
            format!("read {} {offset}+{length}", of_object(*object))
        }
        Ask::Sparse { object, base, .. } => {
            format!("ranges of {} apart from {base:?}", of_object(*object))
        }
        Ask::Stat(object) => format!("stat {}", of_object(*object)),
        Ask::Attribute(object, name) => {
            format!("attribute {} {}", of_object(*object), of_key(name))
        }
        Ask::Attributes(object) => format!("attributes {}", of_object(*object)),
        Ask::List { from, most, .. } => format!("list {most} from {}", from.0),
        Ask::Digest(object) => format!("digest {}", of_object(*object)),
        Ask::Reread(OwnPages::Objects(collection, objects)) => {
            let (first, last) = (objects.start().0, objects.end().0);
            format!("pages of {}/{first} to {last} again", collection.get())
        }
        Ask::Reread(OwnPages::Keys(keys)) => {
            format!("pages of {} to {} again", of_key(&keys.start), of_key(&keys.end))
        }
        Ask::Reread(OwnPages::Rest) => "the other pages again".to_owned(),
        Ask::Sync => "sync".to_owned(),
        Ask::Checkpoint => "checkpoint".to_owned(),
    }
}

fn of_edit(edit: &Edit) -> String {
    match edit {
        Edit::Put { key, value } => format!("put {} ({} bytes)", of_key(key), value.len()),
        Edit::Delete { key } => format!("delete {}", of_key(key)),
        Edit::Write { object, offset, data, .. } => {
            let kind = if matches!(data, Payload::Bytes(_)) { "write" } else { "pattern" };
            format!("{kind} {} {offset}+{}", of_object(*object), data.length())
        }
        Edit::Punch { object, range, .. } => {
            format!("punch {} {}..{}", of_object(*object), range.start, range.end)
        }
        Edit::Truncate { object, length, .. } => {
            format!("truncate {} to {length}", of_object(*object))
        }
        Edit::Remove { object } => format!("remove {}", of_object(*object)),
        Edit::Clone { from, to } => format!("clone {} to {}", of_object(*from), of_object(*to)),
        Edit::SetAttribute { object, name, value } => {
            let (object, name) = (of_object(*object), of_key(name));
            format!("set {object} {name} ({} bytes)", value.len())
        }
        Edit::RemoveAttribute { object, name } => {
            format!("unset {} {}", of_object(*object), of_key(name))
        }
    }
}

fn of_object(id: ObjectId) -> String {
    format!("{}/{}.{}", id.collection.get(), id.object.0, id.snapshot)
}

fn of_key(key: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(key).chars().take(8).collect();
    if text.len() < key.len() { format!("{text}..") } else { text }
}
