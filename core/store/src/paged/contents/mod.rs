//! What the tree and the pages mean: keys with values, and objects.
//!
//! Each kind of change is stated once. A transaction is carried out on a [draft](crate::paged::space), which counts what it takes
//! and notes what it misses; only one that has everything is kept.

mod cells;
mod kv;
mod losses;
mod object;
mod placed;
mod read;
mod shared;
mod step;
mod survey;

pub use cells::meta;
pub use kv::{KeyChange, get_together, place_for, places_together, run_of};
pub use losses::{LoadFault, NoteOfLoss, READS, ReplayLosses};
pub use placed::each_run;
pub use read::{
    QueryFindings, attributes, digest_attributes, list, page_inside, read_plan, scan, scan_back,
    sparse_plan, value,
};
pub use step::{Carried, DataPage, Miss, StepUnderWay};
pub use survey::{Survey, survey};

use super::change::Change;
use super::keys;
use super::space::Space;
use super::tree::{Missing, ValuePlace};
use cells::{put, remove_key};
use step::ChangeStop;

/// Drafts a transaction from where the step begins. The draft may be kept if the step has [missed](StepUnderWay::misses) nothing and is not
/// [over](StepUnderWay::is_over). Answers whether it leads to the transaction's end.
pub fn draft(space: &mut Space, changes: &[Change<'_>], step: &mut StepUnderWay) -> bool {
    let is_whole = run(space, changes, step);
    if !step.misses().is_empty() || step.is_over() {
        return false;
    }
    let result = match is_whole {
        _ if !step.is_noted() => Ok(()),
        true if step.is_begun() => remove_key(space, keys::PROGRESS, step),
        true => Ok(()),
        false => put(space, keys::PROGRESS, &step.progress().encode()),
    };
    match result {
        Ok(()) => {
            for key in std::mem::take(&mut step.removed) {
                space.tree.settle(&mut space.pages, &key);
            }
        }
        Err(missing) => drop(step.note(missing.into())),
    }
    is_whole
}

/// Carries changes out until they are done or the step is over. Answers whether they are done.
fn run(space: &mut Space, changes: &[Change<'_>], step: &mut StepUnderWay) -> bool {
    for change in &changes[step.progress().change as usize..] {
        match apply(space, change, step).and_then(|()| step.next_change(space)) {
            Ok(()) => {}
            Err(ChangeStop::Miss(miss)) if step.note(miss) => step.skip_change(),
            Err(_) => break,
        }
    }
    step.progress().change == changes.len() as u64
}

/// Carries one change out.
fn apply(
    space: &mut Space,
    change: &Change<'_>,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    match change {
        Change::Put { key, value } => kv::put(space, key, value, step),
        Change::Delete { key } => kv::delete(space, key, step),
        Change::Write { object, version, offset, data } => {
            object::write(space, *object, *version, *offset, data, step)
        }
        Change::Place { object, version, index, runs } => {
            object::place(space, *object, *version, *index, runs, step)
        }
        Change::Punch { object, version, from, to } => {
            object::punch(space, *object, *version, *from..*to, step)
        }
        Change::Truncate { object, version, length } => {
            object::truncate(space, *object, *version, *length, step)
        }
        Change::Remove { object } => object::remove(space, *object, step),
        Change::Clone { from, to } => object::clone(space, *from, *to, step),
        Change::SetAttribute { object, name, value } => {
            object::set_attribute(space, *object, name, value)
        }
        Change::RemoveAttribute { object, name } => {
            Ok(remove_key(space, &keys::attribute(*object, name), step)?)
        }
    }
}

/// Carries out a transaction that puts one value into a [place](place_for) with room for it.
pub fn put_in_place(space: &mut Space, changes: &[Change<'_>], place: ValuePlace) {
    let [Change::Put { key, value }] = changes else { unreachable!("it was one put") };
    kv::put_in_place(space, place, key, value);
}

/// How far the transaction is that was under way when the tree was written home.
pub fn progress(space: &Space) -> Result<Option<Carried>, Missing> {
    let value = space.tree.get(&space.pages, keys::PROGRESS)?;
    Ok(value.and_then(Carried::decode))
}
