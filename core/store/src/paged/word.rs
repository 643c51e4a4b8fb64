//! Words that stand for values of options.

use std::fmt;

/// A word was none of those that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseWordError {
    /// What would have been right.
    pub wanted: &'static str,
}

impl fmt::Display for ParseWordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.wanted)
    }
}

impl std::error::Error for ParseWordError {}
