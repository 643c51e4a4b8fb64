//! Reading: values, lists, attributes, and which pages an object's bytes are on.

use super::object::extents;
use super::{Miss, kv};
use crate::objects::{CollectionId, ObjectMeta, ObjectNo};
use crate::paged::api::ObjectId;
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::space::Space;
use crate::paged::tree::Missing;
use std::ops::Range;

/// A page of object data, and how to tell that it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPage {
    /// Which page.
    pub number: PageNo,
    /// CRC-32C of its bytes.
    pub sum: u32,
    /// Whose page it is.
    pub object: ObjectId,
    /// Which of the object's pages.
    pub index: u64,
}

/// Keys with values, or names with values, in order.
pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The value of a user's key.
pub fn value(space: &Space, key: &[u8]) -> Result<Option<Vec<u8>>, Miss> {
    kv::get(space, key)
}

/// Up to `most` keys from `from` on with their values.
pub fn scan(space: &Space, from: &[u8], most: usize) -> Result<Pairs, Miss> {
    let mut keys = Vec::new();
    let mut buffer = keys::KeyBuffer::default();
    space.tree.visit(&space.pages, buffer.user(from), |key, _| {
        let Some(user) = kv::user_key(key).filter(|_| keys.len() < most) else { return false };
        keys.push(user.to_vec());
        true
    })?;
    let pair = |key: Vec<u8>| Ok((kv::get(space, &key)?.unwrap_or_default(), key));
    keys.into_iter().map(|key| pair(key).map(|(value, key)| (key, value))).collect()
}

/// All attributes of an object.
pub fn attributes(space: &Space, id: ObjectId) -> Result<Pairs, Missing> {
    attributes_from(space, id, &[], usize::MAX)
}

/// Up to `most` attributes of an object, from name `from` on.
pub(super) fn attributes_from(
    space: &Space,
    id: ObjectId,
    from: &[u8],
    most: usize,
) -> Result<Pairs, Missing> {
    let mut found = Vec::new();
    // The first key behind every attribute of the object.
    let mut end = keys::attribute(id, &[]);
    for byte in end.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    let bounds = (&keys::attribute(id, from)[..], &end[..]);
    space.tree.visit_range(&space.pages, bounds, |key, value| {
        found.extend(keys::read_object(key).map(|(_, name)| (name.to_vec(), value.to_vec())));
        found.len() < most
    })?;
    Ok(found)
}

/// Up to `most` objects of a collection from `from` on.
pub fn list(
    space: &Space,
    collection: CollectionId,
    from: ObjectNo,
    most: usize,
) -> Result<Vec<(ObjectId, ObjectMeta)>, Miss> {
    let first = ObjectId { collection, object: from, snapshot: 0 };
    let mut found = Vec::new();
    space.tree.visit(&space.pages, &keys::object(first), |key, value| {
        let id = keys::read_object(key).map(|(id, _)| id);
        let id = id.filter(|id| key[0] == keys::OBJECTS && id.collection == collection);
        let Some(id) = id.filter(|_| found.len() < most) else { return false };
        found.extend(super::object::decode_meta(value).map(|meta| (id, meta)));
        true
    })?;
    Ok(found)
}

/// The pages on which bytes of an object are, in order. What is not covered reads as zeros.
pub fn read_plan(space: &Space, id: ObjectId, range: Range<u64>) -> Result<Vec<DataPage>, Miss> {
    let page = space.pages.layout().page.bytes() as u64;
    let indices = range.start / page..range.end.div_ceil(page);
    let mut pages = Vec::new();
    for extent in extents(space, id, indices.clone(), usize::MAX)? {
        let from = extent.index.max(indices.start);
        let to = extent.range().end.min(indices.end);
        for index in from..to {
            let (number, sum) = extent.page(index);
            pages.push(DataPage { number, sum, object: id, index });
        }
    }
    Ok(pages)
}

/// The pages of an object that are others than those of `base`, and the page indices at which it has none and `base` has one,
/// each in order.
pub fn sparse_plan(
    space: &Space,
    id: ObjectId,
    base: Option<ObjectId>,
    range: Range<u64>,
) -> Result<(Vec<DataPage>, Vec<u64>), Miss> {
    let mut pages = read_plan(space, id, range.clone())?;
    let theirs = base.map_or(Ok(Vec::new()), |base| read_plan(space, base, range))?;
    let at = |pages: &[DataPage], index| {
        pages.binary_search_by_key(&index, |page: &DataPage| page.index).ok()
    };
    let only_theirs = theirs.iter().map(|page| page.index);
    let holes = only_theirs.filter(|index| at(&pages, *index).is_none()).collect();
    pages.retain(|page| at(&theirs, page.index).is_none_or(|at| theirs[at].number != page.number));
    Ok((pages, holes))
}

/// Adds an object's attributes to a digest of its bytes.
pub fn digest_attributes(digest: u32, attributes: &[(Vec<u8>, Vec<u8>)]) -> u32 {
    attributes.iter().fold(digest, |digest, (name, value)| {
        let digest = crc32c::crc32c_append(digest, name);
        crc32c::crc32c_append(crc32c::crc32c_append(digest, &[0]), value)
    })
}
