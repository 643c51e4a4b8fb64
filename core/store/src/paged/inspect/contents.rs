//! What users have put into the store: keys, objects, and one object's extents.

use super::{InspectTrouble, Inspector, Part, ShownValue, describe};
use crate::paged::api::ObjectId;
use crate::paged::extent::Extent;
use crate::paged::keys;
use crate::{CollectionId, ObjectNo};
use std::collections::BTreeSet;

impl Inspector<'_> {
    /// Users' keys with the sizes of their values, at most so many.
    pub fn keys(&self, most: usize) -> Result<Vec<Part>, InspectTrouble> {
        let (mut rows, mut count) = (Vec::new(), 0);
        self.cells(&[keys::USER], &mut |key, value| {
            let Some(user) = key.strip_prefix(&[keys::USER]) else { return false };
            count += 1;
            if rows.len() < most {
                let (bytes, place) = match value {
                    [1, length @ ..] => {
                        (length.try_into().map_or(0, u32::from_le_bytes) as usize, "in pieces")
                    }
                    _ => (value.len().saturating_sub(1), "in its cell"),
                };
                rows.push(vec![describe::bytes(user).into(), (bytes as u64).into(), place.into()]);
            }
            true
        })?;
        let more = count - rows.len() as u64;
        Ok(vec![Part::table("keys", &["key", "bytes", "value"], rows, more)])
    }

    /// The collections that have objects.
    pub fn collections(&self) -> Result<BTreeSet<CollectionId>, InspectTrouble> {
        let mut found = BTreeSet::new();
        self.cells(&[keys::OBJECTS], &mut |key, _| {
            let known = keys::read_object(key).filter(|_| key[0] == keys::OBJECTS);
            found.extend(known.map(|(id, _)| id.collection));
            known.is_some()
        })?;
        Ok(found)
    }

    /// Objects with lengths and versions, of one collection or of all; at most so many.
    pub fn objects(
        &self,
        collection: Option<CollectionId>,
        most: usize,
    ) -> Result<Vec<Part>, InspectTrouble> {
        let (mut rows, mut count) = (Vec::new(), 0);
        let first = ObjectId {
            collection: collection.unwrap_or(CollectionId::new(0)),
            object: ObjectNo(0),
            snapshot: 0,
        };
        self.cells(&keys::object(first), &mut |key, value| {
            let known = keys::read_object(key).filter(|_| key[0] == keys::OBJECTS);
            let Some((id, _)) = known else { return false };
            if collection.is_some_and(|wanted| wanted != id.collection) {
                return false;
            }
            count += 1;
            if rows.len() < most {
                let (length, version) = (number(value, 0), number(value, 8));
                rows.push(vec![describe::object(id).into(), length, version]);
            }
            true
        })?;
        let more = count - rows.len() as u64;
        Ok(vec![Part::table("objects", &["object", "bytes", "version"], rows, more)])
    }

    /// An object's extents and attributes.
    pub fn object(&self, id: ObjectId) -> Result<Vec<Part>, InspectTrouble> {
        let mut extents: Vec<Vec<ShownValue>> = Vec::new();
        self.cells(&keys::extent(id, 0), &mut |key, value| {
            let at = keys::read_extent(key).filter(|(object, _)| *object == id);
            let Some((_, index)) = at else { return false };
            extents.extend(Extent::decode(index, value).map(|extent| {
                let shared = if extent.shared { "maybe" } else { "no" };
                let pages = extent.sums.len() as u64;
                vec![index.into(), extent.first.0.into(), pages.into(), shared.into()]
            }));
            true
        })?;
        let mut attributes = Vec::new();
        self.cells(&keys::attribute(id, &[]), &mut |key, value| {
            let name = keys::read_object(key).filter(|(object, _)| *object == id);
            let Some((_, name)) = name.filter(|_| key[0] == keys::ATTRIBUTE) else { return false };
            attributes.push(vec![describe::bytes(name).into(), describe::bytes(value).into()]);
            true
        })?;
        let head = &["page of the object", "first page", "pages", "shared"];
        Ok(vec![
            Part::facts("object", self.known(id)?),
            Part::table("extents", head, extents, 0),
            Part::table("attributes", &["name", "value"], attributes, 0),
        ])
    }

    fn known(&self, id: ObjectId) -> Result<Vec<(&'static str, ShownValue)>, InspectTrouble> {
        let wanted = keys::object(id);
        let mut facts: Vec<(_, ShownValue)> = vec![("object", describe::object(id).into())];
        self.cells(&wanted, &mut |key, value| {
            if key == wanted {
                facts.extend([("bytes", number(value, 0)), ("version", number(value, 8))]);
            }
            false
        })?;
        Ok(facts)
    }
}

/// The little-endian number at `at`, if it is there.
fn number(value: &[u8], at: usize) -> ShownValue {
    let bytes = value.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(ShownValue::Nothing, |bytes| ShownValue::Number(u64::from_le_bytes(*bytes)))
}
