//! Result files in; a terminal table, CSV series, SVG charts and one self-contained page out.
//!
//! This crate may know what a study concluded (`StudyResult`, `CheckpointResult`,
//! `LimitsResult`, `RunFacts`) and how people read it.
//! It may not run anything, draw a conclusion that is not in the result or computed from its
//! repeats by `loadline-stats`, or refer to anything outside the page that it writes.

mod charts;
mod checkpoint;
mod column;
mod csv;
mod headline;
mod limits;
mod page;
mod palette;
mod repeats;
mod reservation;
mod svg;
mod terminal;
mod write;

pub use checkpoint::{checkpoint_table, write_checkpoint_report};
pub use limits::{limits_table, write_limits_report};
pub use reservation::reservation_text;
pub use terminal::terminal_table;
pub use write::{ReportError, write_report};
