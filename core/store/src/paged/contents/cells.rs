//! Single cells of the tree: what every kind of change and of reading needs.

use super::step::StepUnderWay;
use crate::objects::{ObjectMeta, Version};
use crate::paged::api::ObjectId;
use crate::paged::keys;
use crate::paged::space::Space;
use crate::paged::tree::{FoundCell, Missing};

/// Sets a cell of the tree.
pub(super) fn put(space: &mut Space, key: &[u8], value: &[u8]) -> Result<(), Missing> {
    if let Some(place) = space.tree.place_with_room(&space.pages, (key, value.len()), |_| true)? {
        space.tree.put_in_place(&mut space.pages, place, key, value);
        return Ok(());
    }
    space.tree.reach(&space.pages, key)?;
    space.tree.put(&mut space.pages, key, value, |_| ());
    Ok(())
}

/// Takes a cell out of the tree, if it is there.
pub(super) fn remove_key(
    space: &mut Space,
    key: &[u8],
    step: &mut StepUnderWay,
) -> Result<(), Missing> {
    if let Some((place, _)) = space.tree.find(&space.pages, key)? {
        remove_at(space, (key, place), step);
    }
    Ok(())
}

/// Takes the cell of a key out that was just found at this place.
pub(super) fn remove_at(
    space: &mut Space,
    (key, place): (&[u8], FoundCell),
    step: &mut StepUnderWay,
) {
    space.tree.remove(&mut space.pages, key, place);
    step.removed.push(key.to_vec());
}

/// Length and version of an object, if it exists.
pub fn meta(space: &Space, id: ObjectId) -> Result<Option<crate::ObjectMeta>, Missing> {
    let value = space.tree.get(&space.pages, &keys::object(id))?;
    Ok(value.and_then(decode_meta))
}

/// Reads an object's cell.
pub(super) fn decode_meta(value: &[u8]) -> Option<ObjectMeta> {
    let (length, version) = value.split_at_checked(8)?;
    Some(ObjectMeta {
        length: u64::from_le_bytes(length.try_into().ok()?),
        version: Version(u64::from_le_bytes(version.try_into().ok()?)),
    })
}

/// A key with its value, or a name.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// Adds up to `most` attributes of an object, from name `from` on.
pub(super) fn attributes_from(
    space: &Space,
    id: ObjectId,
    from: &[u8],
    most: usize,
    found: &mut Pairs,
) -> Result<(), Missing> {
    // The first key behind every attribute of the object.
    let mut end = keys::attribute(id, &[]);
    for byte in end.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    let bounds = (&keys::attribute(id, from)[..], &end[..]);
    let mut left = most;
    space.tree.visit_range(&space.pages, bounds, |key, value| {
        found.extend(keys::read_object(key).map(|(_, name)| (name.to_vec(), value.to_vec())));
        left -= 1;
        left > 0
    })
}

/// The first attribute of an object from name `from` on.
pub(super) fn next_attribute(
    space: &Space,
    id: ObjectId,
    from: &[u8],
) -> Result<Option<Pair>, Missing> {
    let mut found = Vec::new();
    attributes_from(space, id, from, 1, &mut found)?;
    Ok(found.pop())
}

/// Several of them, in order.
pub(super) type Pairs = Vec<Pair>;
