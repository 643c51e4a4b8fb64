//! The words for the policies.

use crate::paged::word::ParseWordError;
use std::fmt;
use std::str::FromStr;

/// How updates are slowed down; see the table of the module above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThrottlePolicy {
    /// Not at all.
    None,
    /// Exponential back-off while the buffer is nearly full (checkpoint.md 11.3).
    Exponential,
    /// By a target for the share of dirty pages (11.5).
    TargetRatio,
    /// By the speeds of checkpoint and updates (11.6).
    Speed,
    /// By how far the buffer's fill is ahead of the checkpoint (11.4).
    FillRate,
    /// Loadline's own: at the pace that the checkpoint's measured progress allows.
    Paced,
}

impl ThrottlePolicy {
    /// All policies.
    pub const ALL: [ThrottlePolicy; 6] = [
        ThrottlePolicy::None,
        ThrottlePolicy::Exponential,
        ThrottlePolicy::TargetRatio,
        ThrottlePolicy::Speed,
        ThrottlePolicy::FillRate,
        ThrottlePolicy::Paced,
    ];

    /// Whether a sleep is the wait for one's turn among all updates, whose charges stand whenever they go on. Then what an update has
    /// waited for those before it in its lane is part of its sleep. Otherwise updates of the lane in which most
    /// stand would sleep one after the other, each as long as one that has a lane to itself.
    pub fn is_turn(self) -> bool {
        self == ThrottlePolicy::Paced
    }
}

impl fmt::Display for ThrottlePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ThrottlePolicy::None => "none",
            ThrottlePolicy::Exponential => "exponential",
            ThrottlePolicy::TargetRatio => "target-ratio",
            ThrottlePolicy::Speed => "speed",
            ThrottlePolicy::FillRate => "fill-rate",
            ThrottlePolicy::Paced => "paced",
        })
    }
}

impl FromStr for ThrottlePolicy {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<ThrottlePolicy, ParseWordError> {
        let wanted = "`none`, `exponential`, `target-ratio`, `speed`, `fill-rate` or `paced`";
        let found = ThrottlePolicy::ALL.into_iter().find(|policy| policy.to_string() == text);
        found.ok_or(ParseWordError { wanted })
    }
}
