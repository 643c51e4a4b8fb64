//! When a placement group was served last, and by whom.

use loadline_osd::{IntervalId, OsdSet};

/// The last interval in which somebody served a placement group. It stays what it is while nobody does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastServed {
    /// Never, if the group is new. Whoever took part in it and lacked nothing has every write that was ever acknowledged; nobody else is known
    /// to.
    pub interval: IntervalId,
    /// Who served in it, but for those that are OSDs no more: what no other has may come back with one of them alone. Nobody, where no map tells.
    pub by: OsdSet,
}
