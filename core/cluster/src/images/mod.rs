//! Images and their snapshots as a table: names, sizes, parents, and what remains to be done in the background. Pure
//! data, no I/O.
//!
//! An object's number says whose it is:
//!
//! | bits | meaning |
//! |---|---|
//! | 48 to 63 | the image's family |
//! | 32 to 47 | the image inside its family |
//! | 0 to 31 | the block: byte offset in the image / object size |
//!
//! A clone is a member of its parent's family and has its object size, so parent and clone keep a block in one placement
//! group. A clone has only the objects that were written since; every other block is its parent's ([`View::behind`]).
//!
//! What an OSD keeps of an object, so that snapshots show what they should:
//!
//! - The head and each clone say after which snapshot they were born: the newest one when the object was created; no
//!   snapshot up to that one shows them.
//! - Before a change of the head, if its birth and every label are older than [`View::newest`], it is cloned under that
//!   label. So the clone labelled c holds the contents for all live snapshots in (p, c], p being the label before it.
//! - A read at s takes the clone with the smallest label ≥ s, else the head; if that was born at s or later, the object
//!   does not exist there, and what stands behind it is read.
//! - When a snapshot is removed, what its label names is trimmed by the OSDs, of which this table asks nothing: if the newest
//!   live snapshot before it is newer than the label before and than the clone's birth, the label becomes that one, for it still shows the
//!   clone; or else nobody reads the clone any more, and it goes.

mod check;
mod error;
mod ids;
mod image;
mod jobs;
mod kept;
mod lineages;
mod name;
mod qos;
mod queries;
mod table;
mod view;

pub use error::{ImageError, Numbers};
pub use ids::{ImageId, JobId, MEMBER_BITS, SnapshotId};
pub use image::{
    Image, NAME_CHARS_MAX, OBJECT_BYTES_DEFAULT, OBJECT_BYTES_MAX, OBJECT_BYTES_MIN, Parent,
    Snapshot,
};
pub use jobs::{JobWork, PendingJob};
pub(crate) use kept::KeptImages;
pub use name::may_be_named;
pub use qos::ImageQos;
pub use queries::Displaced;
pub use table::{Family, Images};
pub use view::{AncestorObject, ImageAncestor, Piece, View, split};

#[cfg(test)]
mod tests;
