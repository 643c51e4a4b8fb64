//! Scrubs that an operator asks for.

use crate::cluster::{Cluster, OwnerEffects};
use loadline_osd::{Directive, OsdSet, PgId, ScrubRequest};

impl Cluster {
    /// Has the primary of a placement group compare its copies. False if nobody serves it now: the request would be known to nobody.
    pub fn scrub(&self, pg: PgId, request: ScrubRequest, fx: &mut OwnerEffects) -> bool {
        let primary = self.map.pg(pg).serving();
        if let Some(primary) = primary {
            fx.direct(primary, Directive::Scrub(pg, request));
        }
        primary.is_some()
    }

    /// These copies of a placement group are bad in something, its primary says. It stays so in later intervals until their primary says otherwise.
    pub(crate) fn found_bad(&mut self, pg: PgId, interval: u32, osds: OsdSet) {
        if self.is_interval(pg, interval) {
            self.map.pg_mut(pg).found_bad = osds;
        }
    }
}
