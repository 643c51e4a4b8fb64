//! How long a command is waited for, on both sides. The node answers each within its time: with what came of it, or with what it waits for. So who asks knows
//! that a node which says nothing for longer is held up or stopped.

use super::api::Command;
use loadline_base::Span;
use std::time::Duration;

/// How long a command waits for what passes by itself, and what it has changed until it is kept.
pub(crate) const PATIENCE: Span = Span::from_secs(60);
/// How long a question waits for what passes by itself.
const QUESTION_PATIENCE: Span = Span::from_secs(20);
/// How long a command waits for work that it has begun: a disk that is opened, and brought up to date from its log, or measured. That takes minutes on the
/// slowest; a disk that answers nothing takes for ever.
pub(crate) const WORK_PATIENCE: Span = Span::from_secs(600);

/// After so long a question has no answer.
pub(super) const QUESTION_LIMIT: Duration = Duration::from_secs(30);
/// After so long anything else has none, but what is watched for a time of its own.
pub(super) const DEED_LIMIT: Duration = Duration::from_secs(900);

/// How long the node waits for what keeps a command from being carried out, and passes by itself.
pub(crate) fn patience_with(command: &Command) -> Span {
    if command.is_question() { QUESTION_PATIENCE } else { PATIENCE }
}

const _: () = {
    assert!(QUESTION_PATIENCE.nanos() < QUESTION_LIMIT.as_nanos() as u64);
    let deed = PATIENCE.nanos() + WORK_PATIENCE.nanos() + PATIENCE.nanos();
    assert!(deed < DEED_LIMIT.as_nanos() as u64, "it begins, ends and is kept");
};

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_osd::OsdId;

    /// `pg list-unfound` waited for 60 s at the node, and `loadline` gave the node up after 30.
    #[test]
    fn who_asks_outlasts_the_node() {
        let group = "0.1".to_owned();
        let questions = [Command::Status, Command::PgListUnfound { pg: group }];
        let limit = Span::from_nanos(QUESTION_LIMIT.as_nanos() as u64);
        assert!(questions.iter().all(|question| patience_with(question) < limit));
        let deed = Command::OsdRemove { osd: OsdId::new(1) };
        assert_eq!(patience_with(&deed), PATIENCE, "it may take longer than a question");
    }
}
