//! Who sends what when, and what the senders saw: closed and open loops over the objects of an image, and over the keys
//! of a store.
//!
//! A load is described by a [`LoadSpec`], which a study file holds, and becomes a [`Load`], which drives a
//! world and records every completion without allocating. This crate may not know studies, setups or
//! reports, reads no clock, and draws all its randomness from the seed that it is given.

mod address;
mod load;
mod loads;
mod mix;
mod pace;
pub mod puts;
pub mod quantity;
mod recorder;
mod spec;

pub use address::BlockImage;
pub use load::Load;
pub use loads::Loads;
pub use pace::Arrivals;
pub use recorder::LoadRecord;
pub use spec::{Block, LoadSpec, Pattern, SpecProblem};
