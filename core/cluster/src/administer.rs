//! What an operator changes of a cluster on disks: images, stored settings, OSDs. Every change is in the next map.

use crate::cluster::{Cluster, OwnerEffects};
use crate::images::{ImageError, ImageId, Images, JobId, SnapshotId, View};
use crate::map::OsdState;
use crate::settings::Scope;
use loadline_osd::{Directive, OsdId, OsdOptions, Policy};
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
        fx: &mut OwnerEffects,
        change: impl FnOnce(&mut Images) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let changed = change(&mut self.durable().images)?;
        self.durable().kept_images.note_change();
        self.save_map(fx);
        Ok(changed)
    }

    /// Makes an image in the first pool, unless there is one of this name.
    ///
    /// # Errors
    /// A bad name or size.
    pub fn ensure_image(
        &mut self,
        name: &str,
        size: u64,
        fx: &mut OwnerEffects,
    ) -> Result<(), ImageError> {
        if self.images().image(name).is_ok() {
            return Ok(());
        }
        let (&pool, of_pool) = self.map.pools().first_key_value().expect("the last pool stays");
        let object_bytes = of_pool.spec.object_bytes;
        self.change_images(fx, |images| images.create(name, pool, size, object_bytes).map(drop))
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

    /// The cluster's number, which no other one has.
    pub fn id(&self) -> u128 {
        self.durable.as_ref().expect("the OSDs have disks").cluster
    }

    /// Notes that the blocks of a job before `next` are done.
    pub fn image_job_advanced(&mut self, job: JobId, next: u64, fx: &mut OwnerEffects) {
        if self.durable().images.advance(job, next) {
            self.save_map(fx);
        }
    }

    /// The settings that are kept with the map, as text.
    pub fn stored_settings(&self) -> &BTreeMap<(Scope, String), String> {
        &self.durable.as_ref().expect("the OSDs have disks").settings
    }

    /// Keeps a setting, or keeps it no longer.
    pub fn store_setting(
        &mut self,
        scope: Scope,
        option: &str,
        value: Option<String>,
        fx: &mut OwnerEffects,
    ) {
        let key = (scope, option.to_owned());
        let settings = &mut self.durable().settings;
        match value {
            Some(value) => settings.insert(key, value),
            None => settings.remove(&key),
        };
        self.save_map(fx);
    }

    /// A number for the drive that an OSD's capacity was measured on; 0 if none was, or none is known.
    pub fn measured_on(&self, osd: OsdId) -> u64 {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        durable.disks.measured_on.get(&osd).copied().unwrap_or(0)
    }

    /// Keeps on which drive an OSD's capacity was measured.
    pub fn note_measured_on(&mut self, osd: OsdId, drive: u64, fx: &mut OwnerEffects) {
        self.durable().disks.measured_on.insert(osd, drive);
        self.save_map(fx);
    }

    /// New settings for one OSD.
    pub fn configure_osd(
        &mut self,
        osd: OsdId,
        policy: &Policy,
        options: OsdOptions,
        fx: &mut OwnerEffects,
    ) {
        fx.direct(osd, Directive::Configure(Box::new((policy.clone(), options))));
    }

    /// Takes an OSD out that has been away for long. That is in the map: whoever starts next knows that nobody has asked for it, and
    /// that it is to be used again as soon as it is up.
    pub fn take_out(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        self.map.note_taken_out(osd);
        let state = OsdState { is_in: false, ..self.map.osds()[osd] };
        self.set_osd(osd, state, fx);
    }

    /// Lets placement use an OSD or not by somebody's word, which holds whatever happens to it.
    pub fn place_osd(&mut self, osd: OsdId, is_in: bool, fx: &mut OwnerEffects) {
        if self.map.forget_taken_out(osd) {
            self.save_map(fx);
        }
        let state = OsdState { is_in, ..self.map.osds()[osd] };
        self.set_osd(osd, state, fx);
    }

    /// Stops an OSD as a crash does; its disk may then be opened again.
    pub fn take_down(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        let state = OsdState { up: false, ..self.map.osds()[osd] };
        self.crash(osd, fx);
        self.set_osd(osd, state, fx);
    }
}
