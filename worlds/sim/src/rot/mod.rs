//! Stores that are damaged at rest, one copy after the other, and what comes of each: a judge for everything that a
//! store says about damage.
//!
//! A [`Sound`] store is read once as a whole: that is the truth. Each [`Case`] is a copy of its disks with one damage,
//! which costs a pointer per MiB and the damaged blocks. The copy is opened, every key, attribute and byte is read, and
//! the checker looks at it. What may come of it:
//!
//! - **healed**: everything is as it was; the damage was mended, or met what nobody needs;
//! - **named**: it opens, some answers are errors that name damage, and every other one is right;
//! - **refused**: it does not open, and says why;
//! - **cut**: it is as after an earlier transaction, and no proof on the disks says that the later ones were durable;
//!   no store can tell that from a power cut. What ends with an answered sync has no such transactions;
//! - **wrong**, **unseen** (reading met damage and the checker calls the copy clean), **panic**, **hang**: defects.
//!
//! Reading order: `region` says what stands where; `damage` draws and does it; `reader` reads a store as a whole; `judge`
//! compares; `own` makes stores to damage, and `further` lets a given one live on.

mod damage;
mod further;
mod judge;
mod own;
mod reader;
mod region;

pub use damage::{Case, DamageKind, ParseCaseError};
pub use judge::{CaseOutcome, CaseVerdict, Sound};
pub use own::OwnStore;
pub use region::{Region, Regions};
