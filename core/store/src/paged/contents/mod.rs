//! What the tree and the pages mean: keys with values, and objects.
//!
//! Each kind of change has two halves in one file: `plan` finds every page that it needs resident and counts what it takes,
//! and changes nothing; `apply` changes pages and never waits. Between the two nothing else happens.

mod kv;
mod object;
mod object_plan;
mod read;
mod shared;

pub use read::{
    DataPage, attributes, digest_attributes, list, read_plan, scan, sparse_plan, value,
};

use super::api::ObjectId;
use super::change::Change;
use super::ids::{Child, PageNo, PageSize};
use super::space::Space;
use super::tree::{Footprint, Missing};

/// A page that must be read before an op can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A page with a header, as its parent knows it.
    Structure(Child),
    /// A page of object data.
    Data(DataPage),
}

impl From<Missing> for Miss {
    fn from(missing: Missing) -> Miss {
        Miss::Structure(missing.0)
    }
}

/// What a transaction needs before it may be applied. Kept from one transaction to the next, so that a steady load
/// allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Tree pages that may be edited, and how many may be new.
    pub footprint: Footprint,
    /// Pages of object data that will be edited and are resident.
    pub data: Vec<PageNo>,
    /// Frames for pages of object data that are overwritten whole.
    pub adopted: u32,
    /// New pages of object data.
    pub new_data: u32,
    /// Whether pages may be given back.
    pub frees: bool,
    /// The leaf of the last planned put, if it has room there whatever else the transaction does.
    leaf: Option<PageNo>,
    /// Objects that earlier changes of the transaction are about.
    named: Vec<ObjectId>,
    /// Objects that an earlier change of the transaction clones, and what each is made into.
    cloned: Vec<(ObjectId, ObjectId)>,
    /// The change being planned finds objects as an earlier clone leaves them: every page may be shared by then.
    after_clone: bool,
    /// The change being planned is about an object that an earlier one may have taken pages away from.
    again: bool,
}

impl Needs {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.footprint.clear();
        self.data.clear();
        (self.adopted, self.new_data, self.frees) = (0, 0, false);
        self.leaf = None;
        self.cloned.clear();
        self.named.clear();
    }

    /// Pages that may be given out.
    pub fn new_pages(&self, page: PageSize) -> u32 {
        self.footprint.new_pages(page) + self.new_data
    }

    /// Frames that may be taken.
    pub fn new_frames(&self, page: PageSize) -> u32 {
        self.new_pages(page) + self.adopted
    }

    /// Pages that may be edited.
    pub fn touched(&self) -> impl Iterator<Item = PageNo> + '_ {
        self.footprint.touched.iter().chain(&self.data).copied()
    }
}

/// An upper bound of the bytes that a change's puts insert into the tree: a leaf with so much room cannot split.
pub fn slack(space: &Space, change: &Change<'_>) -> usize {
    match change {
        Change::Put { key, value } => kv::slack(space, key, value),
        Change::Delete { .. } | Change::Remove { .. } | Change::RemoveAttribute { .. } => 0,
        Change::SetAttribute { name, value, .. } => object::attribute_slack(name, value),
        // How many cells a clone copies is seen only in the plan: no leaf is taken to have room.
        Change::Clone { .. } => usize::MAX / 4096,
        Change::Write { data, .. } => object::slack(space, data.len() as u64, 0),
        Change::Place { runs, .. } => object::slack(space, 0, runs.len()),
        Change::Punch { .. } | Change::Truncate { .. } => object::slack(space, 0, 0),
    }
}

/// Plans one change of a transaction whose puts insert at most `slack` bytes.
///
/// Every change is planned on the state before the transaction. Where an earlier change of the same transaction makes
/// a difference, the plan covers both: after a clone, an object is planned as itself and as what it was made from, and
/// where an object is changed again, its pages are counted as there and as new.
pub fn plan(
    space: &Space,
    change: &Change<'_>,
    slack: usize,
    needs: &mut Needs,
) -> Result<(), Miss> {
    let object = object_of(change);
    needs.after_clone =
        needs.cloned.iter().any(|(from, to)| object == Some(*from) || object == Some(*to));
    needs.again = object.is_some_and(|object| needs.named.contains(&object));
    plan_one(space, change, slack, needs)?;
    for at in 0..needs.cloned.len() {
        let (from, to) = needs.cloned[at];
        if object == Some(to) {
            plan_one(space, &with_object(change, from), slack, needs)?;
        }
    }
    if let Change::Clone { from, to } = change {
        needs.cloned.push((*from, *to));
        needs.named.push(*to);
    }
    needs.named.extend(object.filter(|_| !needs.again));
    Ok(())
}

/// The object that a change is about.
fn object_of(change: &Change<'_>) -> Option<ObjectId> {
    match change {
        Change::Put { .. } | Change::Delete { .. } => None,
        Change::Clone { from: object, .. }
        | Change::Write { object, .. }
        | Change::Place { object, .. }
        | Change::Punch { object, .. }
        | Change::Truncate { object, .. }
        | Change::Remove { object }
        | Change::SetAttribute { object, .. }
        | Change::RemoveAttribute { object, .. } => Some(*object),
    }
}

/// The same change of another object.
fn with_object<'a>(change: &Change<'a>, other: ObjectId) -> Change<'a> {
    let mut change = change.clone();
    match &mut change {
        Change::Put { .. } | Change::Delete { .. } => {}
        Change::Clone { from: object, .. }
        | Change::Write { object, .. }
        | Change::Place { object, .. }
        | Change::Punch { object, .. }
        | Change::Truncate { object, .. }
        | Change::Remove { object }
        | Change::SetAttribute { object, .. }
        | Change::RemoveAttribute { object, .. } => *object = other,
    }
    change
}

fn plan_one(
    space: &Space,
    change: &Change<'_>,
    slack: usize,
    needs: &mut Needs,
) -> Result<(), Miss> {
    if let Change::Write { .. }
    | Change::Place { .. }
    | Change::Punch { .. }
    | Change::Truncate { .. } = change
    {
        needs.footprint.insert(self::slack(space, change));
    }
    match change {
        Change::Put { key, value } => kv::plan_put(space, key, value, slack, needs),
        Change::Delete { key } => kv::plan_delete(space, key, needs),
        Change::Write { object, offset, data, .. } => {
            object_plan::write(space, *object, *offset, data.len() as u64, needs)
        }
        Change::Place { object, index, runs, .. } => {
            object_plan::place(space, *object, *index, runs, needs)
        }
        Change::Punch { object, from, to, .. } => {
            object_plan::punch(space, *object, *from, *to, needs)
        }
        Change::Truncate { object, length, .. } => {
            object_plan::truncate(space, *object, *length, needs)
        }
        Change::Remove { object } => object_plan::remove(space, *object, needs),
        Change::Clone { from, to } => object_plan::clone(space, *from, *to, needs),
        Change::SetAttribute { object, name, value } => {
            object_plan::set_attribute(space, *object, name, value, slack, needs)
        }
        Change::RemoveAttribute { object, name } => {
            object_plan::remove_attribute(space, *object, name, needs)
        }
    }
}

/// Carries a transaction out that was planned with these needs.
pub fn apply(space: &mut Space, changes: &[Change<'_>], needs: &Needs) {
    if let ([Change::Put { key, value }], Some(leaf)) = (changes, needs.leaf) {
        return kv::put_in_leaf(space, leaf, key, value);
    }
    let mut removed = Vec::new();
    for change in changes {
        apply_one(space, change, &mut removed);
    }
    for key in removed {
        space.tree.settle(&mut space.pages, &key);
    }
}

/// Carries one change out. Keys that it removes are appended to `removed`, to be settled at the end.
fn apply_one(space: &mut Space, change: &Change<'_>, removed: &mut Vec<Vec<u8>>) {
    match change {
        Change::Put { key, value } => kv::put(space, key, value, removed),
        Change::Delete { key } => kv::delete(space, key, removed),
        Change::Write { object, version, offset, data } => {
            object::write(space, *object, *version, *offset, data, removed);
        }
        Change::Place { object, version, index, runs } => {
            object::place(space, *object, *version, *index, runs, removed);
        }
        Change::Punch { object, version, from, to } => {
            object::punch(space, *object, *version, *from..*to, removed);
        }
        Change::Truncate { object, version, length } => {
            object::truncate(space, *object, *version, *length, removed);
        }
        Change::Remove { object } => object::remove(space, *object, removed),
        Change::Clone { from, to } => object::clone(space, *from, *to, removed),
        Change::SetAttribute { object, name, value } => {
            object::set_attribute(space, *object, name, value);
        }
        Change::RemoveAttribute { object, name } => {
            object::remove_attribute(space, *object, name, removed);
        }
    }
}

/// Length and version of an object, if it exists.
pub fn meta(space: &Space, id: ObjectId) -> Result<Option<crate::ObjectMeta>, Missing> {
    let value = space.tree.get(&space.pages, &super::keys::object(id))?;
    Ok(value.and_then(object::decode_meta))
}
