//! Scrubs that an operator asks for.

use crate::cluster::{Cluster, OwnerEffects};
use loadline_osd::{Directive, PgId, ScrubRequest};

impl Cluster {
    /// Has the primary of a placement group compare its copies. False if nobody serves it now: the request would be known to nobody.
    pub fn scrub(&self, pg: PgId, request: ScrubRequest, fx: &mut OwnerEffects) -> bool {
        let primary = self.map.pg(pg).serving();
        if let Some(primary) = primary {
            fx.direct(primary, Directive::Scrub(pg, request));
        }
        primary.is_some()
    }
}
