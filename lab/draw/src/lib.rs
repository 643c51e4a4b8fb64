//! What every drawing of the lab is made of: SVG elements, scales with round ticks, numbers as people read them.
//!
//! This crate may not know what is drawn: no study, no benchmark, no colours.

mod canvas;
pub mod number;
mod scale;

pub use canvas::{Anchor, Canvas, FONT, escape, text_width, with_style};
pub use scale::Scale;
