//! Copies that were to be made whole from others which are given up now: what is here is all that will ever be.

use crate::ids::{IntervalId, PgId};
use crate::osd::Osd;
use loadline_store::ObjectNo;

impl Osd {
    /// A copy that others would have made whole is all that is left: what is here counts as everything from this interval on. Its log
    /// forgets what was written, so that every other copy is compared with it object by object.
    pub(crate) fn take_as_whole(&mut self, id: PgId, interval: IntervalId) {
        let pg = self.pg_mut(id).expect("there is a copy");
        pg.log.append_forgotten(interval.epoch, 1);
        (pg.active_in, pg.gaps, pg.filling) = (interval, None, false);
        for object in std::mem::take(&mut pg.lacks) {
            pg.disk.damage.end_stray(object);
        }
    }

    /// What a copy lacks of these objects will never come: they count as they are here.
    pub(crate) fn take_as_here(&mut self, id: PgId, objects: &[ObjectNo]) {
        let pg = self.pg_mut(id).expect("there is a copy");
        pg.lacks.retain(|object| !objects.contains(object));
        objects.iter().for_each(|object| pg.disk.damage.end_stray(*object));
    }
}
