//! Objects' former states, which snapshots show, and objects that a clone of an image reads from its parent.
//!
//! A copy knows of each object with a past: after which snapshot its present state was born, and which former states it
//! keeps under which label. A state labelled c shows what the object was for all live snapshots after the label before it
//! up to c; no snapshot up to its own birth shows it. The store has the present state as snapshot 0 of the object and
//! each other one as the snapshot of its label; they share pages.
//!
//! The primary decides what an update does to the past, and tells the other copies ([`Before`](crate::message::Before)), so that all of them do
//! the same. An update that needs a clone is two transactions in the store: the clone first, then everything else
//! together with the log's entry and the object's past under its key. What a crash leaves of the first without the
//! second is told by no key, or has version 0, and is removed when the disk is opened again.

mod before;
mod change;
mod find;
mod kept;
mod mapper;
mod view;

pub(crate) use before::Decision;
pub(crate) use change::{Changed, ObjectChange};
pub use kept::{FormerState, STATES_MAX};
pub(crate) use kept::{ObjectHistories, ObjectHistory};
pub(crate) use mapper::SnapshotKey;
pub(crate) use view::Behind;
pub use view::{Ancestor, Lineage, SnapshotNo, Views, image_of};
