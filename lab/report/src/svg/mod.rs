//! Charts as SVG text: a small writer, scales, and one file per kind of chart.
//!
//! Colours and fonts come from classes, so that the same drawing follows the page's ground when it
//! stands in one, and carries its own style sheet when it stands in a file.

mod bars;
mod canvas;
mod dots;
mod frame;
mod labels;
mod lines;
mod scale;
mod stacks;

pub(crate) use bars::{Bar, BarChart, Mark};
pub(crate) use canvas::{SHAPES, standalone};
pub(crate) use dots::{DotChart, DotRow};
pub(crate) use lines::{Line, LineChart};
pub(crate) use stacks::{StackChart, StackRow};

/// Width below which a chart is drawn for a phone: labels above the data instead of beside it.
const NARROW: f64 = 480.0;
