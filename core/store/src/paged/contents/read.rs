//! Reading: values, lists, attributes, and which pages an object's bytes are on.

use super::cells::{Pairs, attributes_from, decode_meta};
use super::kv;
use super::object::visit_extents;
use super::step::{DataPage, Miss};
use super::survey::Survey;
use crate::objects::{CollectionId, ObjectMeta, ObjectNo};
use crate::paged::api::{NOTE, ObjectDigest, ObjectId, ScanBounds};
use crate::paged::extent::Extent;
use crate::paged::keys;
use crate::paged::space::Space;
use crate::paged::tree::Missing;
use std::ops::Range;

/// What a query has found so far. It stays when a page is missing, so that the query can go on behind it.
#[derive(Clone, Debug, Default)]
pub struct QueryFindings {
    /// The first pieces of a value.
    value: Vec<u8>,
    keys: Vec<Vec<u8>>,
    /// All keys are found, and their values are next.
    is_listed: bool,
    pairs: Pairs,
    objects: Vec<(ObjectId, ObjectMeta)>,
    own: PageList,
    base: PageList,
    /// Of a transaction that will go in steps.
    pub survey: Survey,
}

/// The pages of an object up to a page index.
#[derive(Clone, Debug, Default)]
struct PageList {
    pages: Vec<DataPage>,
    next: u64,
}

impl QueryFindings {
    /// Grows with everything that is found.
    pub fn measure(&self) -> u64 {
        let listed = self.keys.len() + self.pairs.len() + self.objects.len();
        let pages = self.own.next + self.base.next;
        let found = (self.value.len() + listed) as u64 + u64::from(self.is_listed) + pages;
        found + self.survey.measure()
    }
}

/// The value of a user's key.
pub fn value(
    space: &Space,
    key: &[u8],
    found: &mut QueryFindings,
) -> Result<Option<Vec<u8>>, Miss> {
    kv::get(space, key, &mut found.value)
}

/// Keys from `from` on with their values.
pub fn scan(
    space: &Space,
    from: &[u8],
    most: ScanBounds,
    found: &mut QueryFindings,
) -> Result<Pairs, Miss> {
    let QueryFindings { keys, is_listed, .. } = found;
    if !*is_listed {
        let behind = keys.last().map(|last| [last, &[0][..]].concat());
        let mut buffer = keys::KeyBuffer::default();
        let from = buffer.user(behind.as_deref().unwrap_or(from));
        space.tree.visit(&space.pages, from, |key, _| {
            let user = kv::user_key(key).filter(|_| keys.len() < most.keys);
            keys.extend(user.map(<[u8]>::to_vec));
            user.is_some()
        })?;
        *is_listed = true;
    }
    with_values(space, most, found)
}

/// Keys below `until` with their values, the greatest first.
pub fn scan_back(
    space: &Space,
    until: &[u8],
    most: ScanBounds,
    found: &mut QueryFindings,
) -> Result<Pairs, Miss> {
    let QueryFindings { keys, is_listed, .. } = found;
    if !*is_listed {
        let last = keys.last().cloned();
        let mut buffer = keys::KeyBuffer::default();
        let until = buffer.user(last.as_deref().unwrap_or(until));
        space.tree.visit_back(&space.pages, until, |key, _| {
            let user = kv::user_key(key).filter(|_| keys.len() < most.keys);
            keys.extend(user.map(<[u8]>::to_vec));
            user.is_some()
        })?;
        *is_listed = true;
    }
    with_values(space, most, found)
}

/// The keys that were found, each with its value, until that is enough.
fn with_values(space: &Space, most: ScanBounds, found: &mut QueryFindings) -> Result<Pairs, Miss> {
    let QueryFindings { keys, pairs, value, .. } = found;
    let mut bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
    for key in &mut keys[pairs.len()..] {
        if bytes >= most.bytes && !pairs.is_empty() {
            break;
        }
        let of_key = kv::get(space, key, value)?.unwrap_or_default();
        bytes += key.len() + of_key.len();
        pairs.push((std::mem::take(key), of_key));
    }
    Ok(std::mem::take(pairs))
}

/// All attributes of an object.
pub fn attributes(
    space: &Space,
    id: ObjectId,
    found: &mut QueryFindings,
) -> Result<Pairs, Missing> {
    let from = found.pairs.last().map(|(last, _)| [last, &[0][..]].concat()).unwrap_or_default();
    attributes_from(space, id, &from, usize::MAX, &mut found.pairs)?;
    Ok(std::mem::take(&mut found.pairs))
}

/// Up to `most` objects of a collection from `from` on.
pub fn list(
    space: &Space,
    collection: CollectionId,
    from: ObjectNo,
    most: usize,
    found: &mut QueryFindings,
) -> Result<Vec<(ObjectId, ObjectMeta)>, Miss> {
    let objects = &mut found.objects;
    let first = keys::object(ObjectId { collection, object: from, snapshot: 0 });
    let from = objects.last().map_or(first, |(last, _)| [&keys::object(*last)[..], &[0]].concat());
    space.tree.visit(&space.pages, &from, |key, value| {
        let id = keys::read_object(key).map(|(id, _)| id);
        let id = id.filter(|id| key[0] == keys::OBJECTS && id.collection == collection);
        let Some(id) = id.filter(|_| objects.len() < most) else { return false };
        objects.extend(decode_meta(value).map(|meta| (id, meta)));
        true
    })?;
    Ok(std::mem::take(objects))
}

/// One page of an object, if one look at the tree tells where it is and that the object goes on behind it: an extent begins before the object's end,
/// so where the next one is of the same object all of the page is inside, and how long the object is need not be looked for. None says nothing.
pub fn page_inside(space: &Space, object: ObjectId, index: u64) -> Result<Option<DataPage>, Miss> {
    let key = keys::extent_key(object, index);
    let Some(((here, value), (next, _))) = space.tree.pair_at(&space.pages, &key)? else {
        return Ok(None);
    };
    let of_object = |key: &[u8]| keys::read_extent(key).filter(|(of, _)| *of == object);
    let found = of_object(here).and_then(|(_, first)| Extent::look_up(first, value, index));
    Ok(found.and_then(|(number, sum, has_more)| {
        let goes_on = has_more || of_object(next).is_some();
        goes_on.then_some(DataPage { number, sum, object, index })
    }))
}

/// The pages on which bytes of an object are, in order. What is not covered reads as zeros.
pub fn read_plan(
    space: &Space,
    id: ObjectId,
    range: Range<u64>,
    found: &mut QueryFindings,
) -> Result<Vec<DataPage>, Miss> {
    list_pages(space, id, range, &mut found.own)?;
    Ok(std::mem::take(&mut found.own.pages))
}

fn list_pages(
    space: &Space,
    object: ObjectId,
    range: Range<u64>,
    list: &mut PageList,
) -> Result<(), Missing> {
    let page = space.pages.layout().page.bytes() as u64;
    let indices = (range.start / page).max(list.next)..range.end.div_ceil(page);
    visit_extents(space, object, indices.clone(), |extent| {
        let inside = extent.index.max(indices.start)..extent.range().end.min(indices.end);
        list.next = inside.end;
        list.pages.extend(inside.map(|index| {
            let (number, sum) = extent.page(index);
            DataPage { number, sum, object, index }
        }));
        true
    })?;
    list.next = list.next.max(indices.end);
    Ok(())
}

/// The pages of an object that are others than those of `base`, and the page indices at which it has none and `base` has one,
/// each in order.
pub fn sparse_plan(
    space: &Space,
    (id, base): (ObjectId, Option<ObjectId>),
    range: Range<u64>,
    found: &mut QueryFindings,
) -> Result<(Vec<DataPage>, Vec<u64>), Miss> {
    list_pages(space, id, range.clone(), &mut found.own)?;
    if let Some(base) = base {
        list_pages(space, base, range, &mut found.base)?;
    }
    let mut pages = std::mem::take(&mut found.own.pages);
    let theirs = std::mem::take(&mut found.base.pages);
    let at = |pages: &[DataPage], index| {
        pages.binary_search_by_key(&index, |page: &DataPage| page.index).ok()
    };
    let only_theirs = theirs.iter().map(|page| page.index);
    let holes = only_theirs.filter(|index| at(&pages, *index).is_none()).collect();
    pages.retain(|page| at(&theirs, page.index).is_none_or(|at| theirs[at].number != page.number));
    Ok((pages, holes))
}

/// Adds an object's attributes to a CRC-32C of its bytes.
pub fn digest_attributes(sum: u32, attributes: Vec<(Vec<u8>, Vec<u8>)>) -> ObjectDigest {
    let (notes, own): (Vec<_>, Vec<_>) =
        attributes.into_iter().partition(|(name, _)| name.first() == Some(&NOTE));
    let sum = own.iter().fold(sum, |sum, (name, value)| {
        let sum = crc32c::crc32c_append(sum, name);
        crc32c::crc32c_append(crc32c::crc32c_append(sum, &[0]), value)
    });
    ObjectDigest { sum, notes }
}
