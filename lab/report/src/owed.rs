//! What a promise owes, in the words that every sentence about it uses.

use loadline_draw::number::plain;
use loadline_study::PromiseResult;

/// What is owed, and from which part of it on a second counts as kept.
pub(crate) fn owed(promise: &PromiseResult) -> String {
    format!(
        "{} IOPS owed, kept from {} on",
        plain(promise.owed_iops),
        plain(promise.kept_from_iops)
    )
}
