//! The longest wait of an op from its issue to its reply, wherever that was.

use crate::aside::Aside;
use crate::delay::{Delay, OpDelay};
use crate::event::Reply;
use crate::ids::OsdId;
use crate::waits::Stage;
use loadline_base::{Span, Time};
use std::fmt;

/// The longest wait of an op that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpWait {
    /// Before it came to a queue, for so long: an op in flight may still be there.
    Before {
        /// How long.
        span: Span,
        /// What it was put aside for.
        aside: Aside,
    },
    /// On its primary.
    Primary(Delay),
    /// For another copy, for so long, which was kept by this if anything is known of it.
    Replica {
        /// From its own end to the last answer.
        span: Span,
        /// What kept the last one.
        delay: Option<Delay>,
    },
    /// For the processor, for so long: what its world's loop did in the turn in which it was answered.
    Loop(Span),
}

impl OpWait {
    /// Of an op that was issued then and has this answer.
    pub fn longest(issued: Time, reply: &Reply) -> OpWait {
        let OpDelay { primary, replica, aside } = reply.delay;
        let before = reply.admitted.since(issued);
        let replicas = reply.replied.since(reply.committed);
        let turn = reply.answered.since(reply.replied);
        if turn > before.max(primary.span).max(replicas) {
            OpWait::Loop(turn)
        } else if before > primary.span.max(replicas) {
            OpWait::Before { span: before, aside }
        } else if replicas > primary.span {
            OpWait::Replica { span: replicas, delay: replica }
        } else {
            OpWait::Primary(primary)
        }
    }

    /// How long.
    pub fn span(&self) -> Span {
        match self {
            OpWait::Before { span, .. } | OpWait::Replica { span, .. } => *span,
            OpWait::Loop(span) => *span,
            OpWait::Primary(delay) => delay.span,
        }
    }

    /// The stage in which it was.
    pub fn stage(&self) -> &'static str {
        match self {
            OpWait::Before { .. } => "before",
            OpWait::Primary(delay) => delay.stage.name(),
            OpWait::Replica { .. } => Stage::Replicas.name(),
            OpWait::Loop(_) => "loop",
        }
    }

    /// The OSD that kept it, if one did.
    pub fn osd(&self) -> Option<OsdId> {
        match self {
            OpWait::Before { .. } | OpWait::Replica { delay: None, .. } | OpWait::Loop(_) => None,
            OpWait::Primary(delay) | OpWait::Replica { delay: Some(delay), .. } => Some(delay.osd),
        }
    }

    /// The reason without its numbers, for whoever sums reasons up.
    pub fn summary(&self) -> String {
        match self {
            OpWait::Before { aside, .. } => aside.to_string(),
            OpWait::Primary(delay) | OpWait::Replica { delay: Some(delay), .. } => {
                delay.cause.summary()
            }
            OpWait::Replica { delay: None, .. } => "the answers of the other copies".to_owned(),
            OpWait::Loop(_) => "the node's processor".to_owned(),
        }
    }
}

/// `replica, store of osd.1: checkpoint throttle`, and of the primary as [`Delay`] says.
impl fmt::Display for OpWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpWait::Primary(delay) => delay.fmt(f),
            OpWait::Replica { delay: Some(delay), .. } => write!(f, "replica, {delay}"),
            OpWait::Before { .. } | OpWait::Replica { delay: None, .. } | OpWait::Loop(_) => {
                f.write_str(&self.summary())
            }
        }
    }
}
