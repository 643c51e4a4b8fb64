//! What chance alone may move a figure by, where one run cannot tell.

/// Less than this is within what another run moves a setup by.
pub const MARGIN: f64 = 0.05;

/// What helps where chance leaves something open, at the end of the reason.
pub(crate) const ADD_REPEATS: &str = "add repeats";
const ADD_THREE: &str = "add --repeat 3";

/// Whether it is chance that leaves something open for this reason.
pub(crate) fn is_of_chance(reason: &str) -> bool {
    reason.ends_with(ADD_REPEATS) || reason.ends_with(ADD_THREE)
}

/// Whether another run could lie on the other side of a bound.
pub(crate) fn is_close(value: f64, bound: f64) -> bool {
    (value - bound).abs() < bound.abs() * MARGIN
}

/// Why one run of a real disk that is so close to its bound decides nothing.
pub(crate) fn one_run_is_close() -> String {
    let margin = MARGIN * 100.0;
    format!("one run each, and within {margin} % of its bound: {ADD_THREE}")
}
