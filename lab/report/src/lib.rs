//! Result files in; a terminal table, CSV series, SVG charts and one self-contained page out.
//!
//! This crate may know what a study concluded (`StudyResult`, `RunFacts`), its kind's figures, and how people read them.
//! It may not run anything, draw a conclusion that is not in the result or computed from its
//! repeats by `loadline-stats`, or refer to anything outside the page that it writes.

mod admission;
mod answer;
mod beside;
mod beside_table;
mod charts;
mod csv;
mod frontier;
mod named;
mod owed;
mod page;
mod palette;
#[cfg(feature = "parquet")]
mod parquet;
mod repeats;
mod reservation;
mod sheet;
mod svg;
mod tables;
mod terminal;
mod wrap;
mod write;

pub use answer::{answer_for_programs, answer_text};
#[cfg(feature = "parquet")]
pub use parquet::parquet_files;
pub use reservation::reservation_text;
pub use terminal::{terminal_table, told};
pub use write::{ReportError, write_report};
