//! Charts as SVG text, one file per kind of chart.
//!
//! Colours and fonts come from classes, so that the same drawing follows the page's ground when it
//! stands in one, and carries its own style sheet when it stands in a file.

mod alone;
mod bars;
mod dot_names;
mod dots;
mod frame;
mod frontier;
mod labels;
mod lines;
mod stacks;

pub(crate) use alone::{GROUND, SHAPES, standalone};
pub(crate) use bars::{Bar, BarChart, Mark};
pub(crate) use dots::{DotChart, DotRow};
pub(crate) use frontier::{FrontierAxis, FrontierChart, FrontierPoint};
pub(crate) use lines::{LineChart, SetupLine};
pub(crate) use stacks::{StackChart, StackRow};

/// Width below which a chart is drawn for a phone: labels above the data instead of beside it.
const NARROW: f64 = 480.0;
