//! Objects that nobody can give, and an operator who gives them up.

use crate::cluster::{Cluster, OwnerEffects};
use loadline_osd::{Directive, OsdId, OsdSet, PgId};
use loadline_store::ObjectNo;
use std::fmt;

/// Why the unfound objects of a placement group are not given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLost {
    /// There are none.
    NoneUnfound,
    /// These are down, and may have them.
    MayComeBack(OsdSet),
    /// Some were when the last interval ended, and its primary looks for them: a moment, and it is known.
    LookedFor,
    /// Some were, and nobody can lead the group and look for them: what all OSDs have that run is not enough.
    NobodyServes,
}

impl fmt::Display for NotLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotLost::NoneUnfound => f.write_str("no object of it is unfound"),
            NotLost::LookedFor => f.write_str("what was unfound is looked for once more"),
            NotLost::NobodyServes => f.write_str(
                "nobody serves it: every OSD is there, and none has a copy that may lead, so there is nothing that what is unfound could become",
            ),
            NotLost::MayComeBack(osds) => {
                let osds: Vec<String> = osds.iter().map(|osd| osd.to_string()).collect();
                write!(
                    f,
                    "{} may have what is unfound: bring it back, or give it another disk with `loadline osd replace`, or forget it with `loadline osd remove`",
                    osds.join(", ")
                )
            }
        }
    }
}

impl Cluster {
    /// The objects of a placement group that some OSD should get and that can be read on no other.
    pub fn unfound_objects(&self, pg: PgId) -> &[ObjectNo] {
        &self.map.pg(pg).unfound
    }

    /// Whether the unfound objects of a placement group may be given up.
    ///
    /// # Errors
    /// [`NotLost`].
    pub fn may_give_up_unfound(&self, pg: PgId) -> Result<(), NotLost> {
        let is_known = !self.unfound_objects(pg).is_empty();
        if !is_known && !self.map.pg(pg).had_unfound {
            return Err(NotLost::NoneUnfound);
        }
        let away = self.away();
        let nobody_serves = self.map.pg(pg).acting.is_empty() && !self.is_peering(pg);
        match away.is_empty() {
            false => Err(NotLost::MayComeBack(away)),
            true if is_known => Ok(()),
            true if nobody_serves => Err(NotLost::NobodyServes),
            true => Err(NotLost::LookedFor),
        }
    }

    /// Who is down, and may come back with what it has.
    pub(crate) fn away(&self) -> OsdSet {
        self.osds.ids().filter(|osd| self.may_come_back(*osd)).collect()
    }

    /// Whether an OSD is down, and may come back with what its disk has.
    pub(crate) fn may_come_back(&self, osd: OsdId) -> bool {
        !self.map.is_removed(osd) && !self.map.osds()[osd].up && !self.is_given_up(osd)
    }

    /// Gives up the unfound objects of a placement group: each is looked for once more, and becomes the newest that is left of it if
    /// nobody gives it.
    ///
    /// # Errors
    /// [`NotLost`]; nothing has changed then.
    pub fn give_up_unfound(&self, pg: PgId, fx: &mut OwnerEffects) -> Result<(), NotLost> {
        self.may_give_up_unfound(pg)?;
        let primary = *self.map.pg(pg).acting.first().expect("somebody knows of them");
        fx.direct(primary, Directive::GiveUpUnfound(pg));
        Ok(())
    }
}
