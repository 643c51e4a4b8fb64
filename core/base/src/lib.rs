//! What could have been in the standard library: time, units, typed ids, an agenda, seeded randomness, fixed slots, and readers' sentences in words.
//!
//! Everything here is a plain value. This crate may not know disks, classes, OSDs or worlds, may not
//! read a clock, start a thread or draw ambient randomness, and depends on nothing.

#![no_std]

extern crate alloc;

mod agenda;
mod ids;
mod random;
mod reader;
mod slots;
mod text;
mod time;
mod units;
mod wall;

pub use agenda::Agenda;
pub use ids::IdVec;
pub use random::{Rng, mix64};
pub use reader::{TextFault, json_in_words};
pub use slots::{SlotId, Slots};
pub use text::in_short;
pub use time::{Span, Time};
pub use units::{Bytes, ParseUnitError, round};
pub use wall::{WallClock, WallTime};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
