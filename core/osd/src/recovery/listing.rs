//! A copy's objects as comparisons of copies list them: those that exist, and those of which only former states do.

use crate::ids::PgId;
use crate::osd::Osd;
use loadline_store::{ObjectMeta, ObjectNo};

impl Osd {
    /// How many objects a copy has.
    pub(crate) fn count(&mut self, pg: PgId) -> u64 {
        let bare = self.pg(pg).map_or(0, |here| here.kept.bare());
        (self.store.objects(pg).len() + bare) as u64
    }

    /// Up to `most` objects after `after`, in order.
    pub(crate) fn list_after(
        &mut self,
        pg: PgId,
        after: Option<ObjectNo>,
        most: usize,
    ) -> Vec<(ObjectNo, ObjectMeta)> {
        let mut listed = self.store.objects(pg).list_after(after, most);
        if let Some(here) = self.pg(pg).filter(|here| here.kept.bare() > 0) {
            let last = listed.last().map(|(object, _)| *object).filter(|_| listed.len() == most);
            listed.extend(here.kept.bare_in(after, last).take(most));
            listed.sort_unstable_by_key(|(object, _)| *object);
            listed.truncate(most);
        }
        listed
    }

    /// The objects after `after` up to and including `last`, in order.
    pub(crate) fn list_range(
        &mut self,
        pg: PgId,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> Vec<(ObjectNo, ObjectMeta)> {
        let mut listed = self.store.objects(pg).list_range(after, last);
        if let Some(here) = self.pg(pg).filter(|here| here.kept.bare() > 0) {
            listed.extend(here.kept.bare_in(after, last));
            listed.sort_unstable_by_key(|(object, _)| *object);
        }
        listed
    }
}
