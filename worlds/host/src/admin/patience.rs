//! How long a command is waited for, on both sides. The node answers each within its time: with what came of it, or with what it waits for. So who asks knows
//! that a node which says nothing for longer is held up or stopped.

use loadline_base::Span;
use std::time::Duration;

/// How long a command waits for what passes by itself, and what it has changed until it is kept.
pub(crate) const PATIENCE: Span = Span::from_secs(60);
/// How long a question waits for what passes by itself.
pub(crate) const QUESTION_PATIENCE: Span = Span::from_secs(20);
/// How long a command waits for work that it has begun: a disk that is opened, and brought up to date from its log, or measured. That takes minutes on the
/// slowest; a disk that answers nothing takes for ever.
pub(crate) const WORK_PATIENCE: Span = Span::from_secs(600);

/// After so long a question has no answer.
pub(super) const QUESTION_LIMIT: Duration = Duration::from_secs(30);
/// After so long anything else has none, but what is watched for a time of its own.
pub(super) const DEED_LIMIT: Duration = Duration::from_secs(900);

const _: () = {
    assert!(QUESTION_PATIENCE.nanos() < QUESTION_LIMIT.as_nanos() as u64);
    let deed = PATIENCE.nanos() + WORK_PATIENCE.nanos() + PATIENCE.nanos();
    assert!(deed < DEED_LIMIT.as_nanos() as u64, "it begins, ends and is kept");
};
