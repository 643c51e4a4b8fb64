//! The fields of a hash, in the order of their setting.

use std::collections::BTreeMap;

/// So often a field is looked for among all others. A request, or a transaction, that looks for more has a table of them made first: else one of some thousand fields
/// would be compared with a large hash field by field, on the thread that everybody waits for.
const LOOKED_THROUGH_MAX: usize = 4;

type HashField = (Vec<u8>, Vec<u8>);

/// See [above](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct HashFields {
    /// None of them twice. One that was removed leaves its place.
    fields: Vec<Option<HashField>>,
    count: usize,
    /// Bytes that they have in the database.
    bytes: usize,
    /// How many were looked for so far.
    lookups: usize,
    /// Where each stands, once that is worth its making.
    places: Option<BTreeMap<Vec<u8>, usize>>,
}

impl PartialEq for HashFields {
    fn eq(&self, other: &HashFields) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for HashFields {}

impl HashFields {
    /// No fields.
    pub(crate) const fn new() -> HashFields {
        HashFields { fields: Vec::new(), count: 0, bytes: 0, lookups: 0, places: None }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that they have in the database, each with its length and that of its value.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of them with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().flatten().map(|(field, value)| (&field[..], &value[..]))
    }

    /// So many will be looked for.
    pub(crate) fn expect_lookups(&mut self, lookups: usize) {
        self.lookups = self.lookups.saturating_add(lookups);
        if self.lookups > LOOKED_THROUGH_MAX && self.places.is_none() {
            let names = self.fields.iter().enumerate();
            let names = names.filter_map(|(at, field)| Some((field.as_ref()?.0.clone(), at)));
            self.places = Some(names.collect());
        }
    }

    /// The value of a field.
    pub(crate) fn get(&self, field: &[u8]) -> Option<&[u8]> {
        let (_, value) = self.fields[self.place(field)?].as_ref()?;
        Some(value)
    }

    /// Sets a field, and says whether it is new.
    pub(crate) fn set(&mut self, field: &[u8], value: &[u8]) -> bool {
        let place = self.place(field);
        match place.and_then(|at| self.fields[at].as_mut()) {
            Some((_, old)) => {
                self.bytes = self.bytes - old.len() + value.len();
                *old = value.to_vec();
                false
            }
            None => {
                self.push(field, value);
                true
            }
        }
    }

    /// Sets one that is not there.
    pub(crate) fn push(&mut self, field: &[u8], value: &[u8]) {
        if let Some(places) = &mut self.places {
            places.insert(field.to_vec(), self.fields.len());
        }
        self.fields.push(Some((field.to_vec(), value.to_vec())));
        self.count += 1;
        self.bytes += bytes_of(field, value);
    }

    /// Removes a field, and says whether it was there.
    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        let Some(at) = self.place(field) else { return false };
        if let Some(places) = &mut self.places {
            places.remove(field);
        }
        let removed = self.fields[at].take();
        self.bytes -= removed.map_or(0, |(field, value)| bytes_of(&field, &value));
        self.count -= 1;
        true
    }

    fn place(&self, field: &[u8]) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(field).copied(),
            None => {
                let is_it =
                    |own: &Option<HashField>| own.as_ref().is_some_and(|own| own.0 == field);
                self.fields.iter().position(is_it)
            }
        }
    }
}

/// Both, each behind its length.
fn bytes_of(field: &[u8], value: &[u8]) -> usize {
    field.len() + value.len() + 2 * size_of::<u32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;

    /// With a table of its fields and without one a hash is what a list of pairs is.
    #[test]
    fn a_hash_keeps_the_order_of_setting() {
        for lookups in [0, LOOKED_THROUGH_MAX + 1] {
            let (mut fields, mut model) = (HashFields::new(), Vec::<HashField>::new());
            fields.expect_lookups(lookups);
            let mut rng = Rng::new(lookups as u64);
            for step in 0..2000_u64 {
                let field = [rng.below(20) as u8];
                let at = model.iter().position(|(name, _)| name[..] == field);
                if rng.below(3) == 0 {
                    at.into_iter().for_each(|at| drop(model.remove(at)));
                    assert_eq!(fields.remove(&field), at.is_some());
                } else {
                    let value = step.to_be_bytes().to_vec();
                    assert_eq!(fields.set(&field, &value), at.is_none());
                    match at {
                        Some(at) => model[at].1 = value,
                        None => model.push((field.to_vec(), value)),
                    }
                }
                let all = model.iter().map(|(field, value)| (&field[..], &value[..]));
                assert!(fields.iter().eq(all) && fields.len() == model.len());
                let bytes: usize = model.iter().map(|(field, value)| bytes_of(field, value)).sum();
                assert_eq!(fields.bytes(), bytes);
                let found = model.iter().find(|(name, _)| name[..] == field);
                assert_eq!(fields.get(&field), found.map(|(_, value)| &value[..]));
            }
            assert_eq!(fields.places.is_some(), lookups > 0);
        }
    }
}
