//! What an operator changes of a cluster on disks: images, stored settings, OSDs. Every change is in the next map.

use crate::cluster::Cluster;
use crate::images::{ImageError, ImageId, Images, JobId, Piece, SnapshotId, View};
use crate::map::{OsdState, PoolId};
use crate::settings::Scope;
use loadline_base::Time;
use loadline_osd::{Effects, Options, Osd, OsdId, PgId, Policy, SnapshotNo};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;

impl Cluster {
    /// The images.
    pub fn images(&self) -> &Images {
        &self.durable.as_ref().expect("the OSDs have disks").images
    }

    /// Changes the table of images, if the change is allowed, and keeps it.
    ///
    /// # Errors
    /// What `change` answers.
    pub fn change_images<T>(
        &mut self,
        now: Time,
        fx: &mut Effects,
        change: impl FnOnce(&mut Images) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let changed = change(&mut self.durable().images)?;
        self.durable().kept_images.note_change();
        self.save_map(now, fx);
        Ok(changed)
    }

    /// Makes an image in the first pool, unless there is one of this name.
    ///
    /// # Errors
    /// A bad name or size.
    pub fn ensure_image(
        &mut self,
        now: Time,
        name: &str,
        size: u64,
        fx: &mut Effects,
    ) -> Result<(), ImageError> {
        if self.images().image(name).is_ok() {
            return Ok(());
        }
        let (&pool, of_pool) = self.map.pools().first_key_value().expect("the last pool stays");
        let object_bytes = of_pool.spec.object_bytes;
        self.change_images(now, fx, |images| {
            images.create(name, pool, size, object_bytes).map(drop)
        })
    }

    /// The image of this number, or one of its snapshots, as ops need it; `None` if it has gone.
    pub fn view_of(&self, image: ImageId, snapshot: SnapshotId) -> Option<View> {
        let images = self.kept_images();
        let found = images.get(image)?;
        if snapshot == SnapshotId::HEAD {
            return images.find(&found.name).ok();
        }
        let taken = found.snapshots.iter().find(|taken| taken.id == snapshot)?;
        images.find(&format!("{}@{}", found.name, taken.name)).ok()
    }

    /// Notes that the blocks of a job before `next` are done.
    pub fn image_job_advanced(&mut self, now: Time, job: JobId, next: u64, fx: &mut Effects) {
        if self.durable().images.advance(job, next) {
            self.save_map(now, fx);
        }
    }

    /// Whether a part of an image, or of a snapshot, may hold data, as far as its primary knows; without a primary it may.
    pub fn may_hold_data(&mut self, view: &View, piece: &Piece) -> bool {
        let (object, read_at) = (piece.object, SnapshotNo(view.read_at.0));
        match self.primary_of(view.pool, object) {
            Some((pg, primary)) => primary.may_hold_data(pg, object, read_at, piece.offset),
            None => true,
        }
    }

    /// Whether anything may be kept of an object, now or for a snapshot.
    pub fn may_hold_any(&mut self, pool: PoolId, object: ObjectNo) -> bool {
        let primary = self.primary_of(pool, object);
        primary.is_none_or(|(pg, primary)| primary.may_hold_any(pg, object))
    }

    /// Bytes of an image from `from` on that were ever written and not removed, at most: what the objects reach to, as far as
    /// the primaries that run know.
    pub fn written_bytes(&mut self, image: ImageId, from: u64) -> u64 {
        let Some(found) = self.images().get(image) else { return 0 };
        let (pool, object_bytes) = (found.pool, found.object_bytes);
        let mut sum = 0;
        for pg in self.map.pgs_of(pool) {
            let Some(&primary) = self.map.pg(pg).acting.first() else { continue };
            let objects = self.osds[primary].objects(pg);
            let first = image.object((from / object_bytes) as u32);
            let last = image.object(u32::MAX);
            for (object, meta) in objects.range(first..=last) {
                let (_, block) = ImageId::of(object);
                let begin = u64::from(block) * object_bytes;
                sum += (begin + meta.length).saturating_sub(from.max(begin));
            }
        }
        sum
    }

    fn primary_of(&mut self, pool: PoolId, object: ObjectNo) -> Option<(PgId, &mut Osd)> {
        let pg = self.map.pg_of(pool, object);
        let primary = *self.map.pg(pg).acting.first()?;
        Some((pg, &mut self.osds[primary]))
    }

    /// The settings that are kept with the map, as text.
    pub fn stored_settings(&self) -> &BTreeMap<(Scope, String), String> {
        &self.durable.as_ref().expect("the OSDs have disks").settings
    }

    /// Keeps a setting, or keeps it no longer.
    pub fn store_setting(
        &mut self,
        now: Time,
        scope: Scope,
        option: &str,
        value: Option<String>,
        fx: &mut Effects,
    ) {
        let key = (scope, option.to_owned());
        let settings = &mut self.durable().settings;
        match value {
            Some(value) => settings.insert(key, value),
            None => settings.remove(&key),
        };
        self.save_map(now, fx);
    }

    /// A number for the drive that an OSD's capacity was measured on; 0 if none was, or none is known.
    pub fn measured_on(&self, osd: OsdId) -> u64 {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        durable.measured_on.get(&osd).copied().unwrap_or(0)
    }

    /// Keeps on which drive an OSD's capacity was measured.
    pub fn note_measured_on(&mut self, now: Time, osd: OsdId, drive: u64, fx: &mut Effects) {
        self.durable().measured_on.insert(osd, drive);
        self.save_map(now, fx);
    }

    /// New settings for one OSD, between two events.
    pub fn configure_osd(
        &mut self,
        now: Time,
        osd: OsdId,
        policy: &Policy,
        options: Options,
        fx: &mut Effects,
    ) {
        self.osds[osd].configure(now, policy.clone(), options, fx);
        self.settle(now, fx);
    }

    /// Stops an OSD as a crash does; its disk may then be opened again.
    pub fn take_down(&mut self, now: Time, osd: OsdId, fx: &mut Effects) {
        let state = OsdState { up: false, ..self.map.osds()[osd] };
        self.osds[osd].crash(now);
        self.set_osd(now, osd, state, fx);
    }
}
