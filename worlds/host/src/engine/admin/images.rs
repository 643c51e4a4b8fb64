//! Images and their snapshots: the table's answers and refusals in the protocol's words.

use super::desk::CommandOutcome;
use super::desk::{DONE, Executed};
use crate::admin::api::{
    AdminAnswer, AdminRefusal, ClassRow, ImageAsked, ImageRow, ImageRows, ImageUse, OsdPromises,
    ProfileInForce, QosAsked, QosRow, RefusalKind, SnapshotRow, Snapshots,
};
use crate::engine::host_node::HostNode;
use loadline_base::Span;
use loadline_cluster::PoolId;
use loadline_cluster::images::{self, ImageError, ImageId, ImageQos, Parent};
use loadline_osd::OsdId;
use loadline_qos::{ClassFigures, CostModel, MclockForm, SchedulerKind, ServiceClass, ShardPlan};

impl HostNode {
    pub(super) fn image_list(&self) -> AdminAnswer {
        let images = self.node.cluster().images().list().map(|image| self.shown(image)).collect();
        AdminAnswer::Images(ImageRows { images })
    }

    pub(super) fn image_info(&self, name: &str) -> Result<AdminAnswer, AdminRefusal> {
        Ok(AdminAnswer::Image(self.shown(self.node.cluster().images().image(name)?)))
    }

    pub(super) fn snapshot_list(&self, name: &str) -> Result<AdminAnswer, AdminRefusal> {
        let image = self.node.cluster().images().image(name)?;
        let ImageId { family, member } = image.id;
        Ok(AdminAnswer::Snapshots(Snapshots {
            image_id: format!("{family}.{member}"),
            cluster_id: format!("{:032x}", self.node.cluster().id()),
            snapshots: self.shown(image).snapshots,
        }))
    }

    fn shown(&self, image: &images::Image) -> ImageRow {
        let table = self.node.cluster().images();
        let snapshot = |taken: &images::Snapshot| SnapshotRow {
            name: taken.name.clone(),
            id: taken.id.0,
            size_bytes: taken.size,
            clones: table.clones(image.id, taken.id),
        };
        ImageRow {
            name: image.name.clone(),
            pool: self.node.cluster().map().pools()[&image.pool].spec.name.clone(),
            size_bytes: image.size,
            object_bytes: image.object_bytes,
            parent: image.parent.and_then(|parent| self.shown_parent(parent)),
            qos: shown_qos(&image.qos),
            snapshots: image.snapshots.iter().map(snapshot).collect(),
        }
    }

    /// The images that are promised or allowed something, with what they were served lately.
    pub(super) fn image_uses(&self) -> Vec<ImageUse> {
        let shown = |image: &images::Image| {
            let qos = shown_qos(&image.qos)?;
            let (served, seconds) = self.health.of_image(image.id);
            let mean_ns = served.took.nanos().checked_div(served.ops).unwrap_or(0);
            Some(ImageUse {
                name: image.name.clone(),
                qos,
                ops_per_s: served.ops as f64 / seconds as f64,
                mean_ns,
                longest_ns: served.longest.nanos(),
                seconds: self.health.seconds(),
                seconds_short: self.health.seconds_short(image.id, image.qos.reservation),
            })
        };
        self.node.cluster().images().list().filter_map(shown).collect()
    }

    /// Says what an image is promised and allowed, if it can be kept.
    pub(super) fn image_qos(&mut self, name: &str, asked: &QosAsked) -> Executed {
        if let Some(refusal) = self.without_tenants() {
            return Err(refusal);
        }
        let image = self.node.cluster().images().image(name)?;
        let weight = |weight: f64| (weight * 100.0).round().clamp(0.0, f64::from(u32::MAX)) as u32;
        let before = image.qos;
        let qos = ImageQos {
            reservation: asked.reservation_iops.unwrap_or(before.reservation),
            limit: asked.limit_iops.unwrap_or(before.limit),
            burst: asked.burst_ns.map_or(before.burst, Span::from_nanos),
            weight_percent: asked.weight.map_or(before.weight_percent, weight),
        };
        let (pool, id) = (image.pool, image.id);
        if qos.reservation > before.reservation {
            let copies = self.copies_in(pool);
            let left = self.reserved_for_clients() - self.promised_to_images(|other| other != id);
            if f64::from(qos.reservation) * copies > left {
                let most = (left / copies).max(0.0).floor();
                return Err(AdminRefusal::conflict(format!(
                    "image {name} cannot be promised {} IOPS: each takes {copies} writes of what is reserved for clients, and {:.0} of these are left",
                    qos.reservation,
                    left.max(0.0)
                ))
                .wants(format!("at most {most:.0} IOPS")));
            }
        }
        self.image_change(|images| images.set_qos(name, qos))
    }

    /// Why images cannot share as they are promised and allowed, if they cannot.
    fn without_tenants(&self) -> Option<AdminRefusal> {
        let lacks = |osd: OsdId| {
            let plan = self.settings.levels.plan(osd);
            plan.scheduler != SchedulerKind::Mclock || plan.preset.mclock != MclockForm::Loadline
        };
        let osd = self.disks.of.ids().find(|osd| lacks(*osd))?;
        Some(
            AdminRefusal::conflict(format!(
                "{osd} has no scheduler that knows images: preset {} with {} serves classes only",
                self.settings.levels.preset().name,
                self.settings.levels.plan(osd).scheduler.name()
            ))
            .wants("a node with preset loadline and osd_op_queue mclock_scheduler"),
        )
    }

    fn copies_in(&self, pool: PoolId) -> f64 {
        f64::from(self.node.cluster().map().pools()[&pool].spec.copies)
    }

    /// What is promised: to each OSD's classes, and to images.
    pub(super) fn profile(&self) -> AdminAnswer {
        let osds = self.node.cluster().map().osds().iter().filter(|(_, state)| state.up);
        AdminAnswer::Profile(ProfileInForce {
            osds: osds.map(|(osd, _)| self.osd_promises(osd)).collect(),
            images: self.image_uses(),
            promised_writes_per_s: self.promised_to_images(|_| true),
            reserved_writes_per_s: self.reserved_for_clients(),
        })
    }

    fn osd_promises(&self, osd: OsdId) -> OsdPromises {
        let plan = self.plan_in_force(osd);
        let class = |of: ClassFigures| ClassRow {
            class: of.class.name().to_owned(),
            reservation_iops: of.reservation.map(|rate| rate.iops_per_osd),
            weight: of.weight,
            limit_iops: of.limit.map(|rate| rate.iops_per_osd),
        };
        let is_shared = plan.scheduler == SchedulerKind::Mclock;
        let figures = if is_shared { plan.figures().unwrap_or_default() } else { Vec::new() };
        OsdPromises {
            osd: osd.get(),
            preset: plan.preset.name.to_owned(),
            scheduler: plan.scheduler.name().to_owned(),
            profile: self.settings.levels.profile(osd),
            capacity_iops: plan.capacity.iops,
            classes: figures.into_iter().map(class).collect(),
        }
    }

    /// The names of the profiles there are.
    pub(super) fn profile_names(&self) -> Vec<String> {
        self.config.preset.profiles.names().map(str::to_owned).collect()
    }

    /// A cost in units of an OSD's scheduler as a number of small ops, writes of 4 KiB.
    pub(in crate::engine) fn small_ops(&self, osd: OsdId, cost: f64) -> f64 {
        match self.settings.levels.plan(osd).cost_model {
            CostModel::Time { .. } => cost,
            CostModel::Bytes { per_io, .. } => cost / per_io,
        }
    }

    /// What an OSD's promises go by, with the capacity that is believed.
    fn plan_in_force(&self, osd: OsdId) -> ShardPlan {
        let capacity = self.node.capacity(osd).in_force();
        ShardPlan { capacity, ..self.settings.levels.plan(osd) }
    }

    /// Small ops per second that the OSDs in the map together can promise to images. An image's objects are on all of them alike, and so is
    /// its promise, so each counts as the one that reserves least for clients.
    pub(super) fn reserved_for_clients(&self) -> f64 {
        let map = self.node.cluster().map();
        let of = |osd: OsdId| {
            let figures = self.plan_in_force(osd).figures().ok()?;
            let client = figures.iter().find(|figures| figures.class == ServiceClass::Client)?;
            Some(client.reservation?.iops_per_osd)
        };
        let osds = map.osds().iter().filter(|(_, state)| state.is_in);
        let each: Vec<f64> = osds.map(|(osd, _)| of(osd).unwrap_or(0.0)).collect();
        let least = each.iter().copied().reduce(f64::min);
        least.map_or(0.0, |least| least * each.len() as f64)
    }

    /// What images are promised, in writes of all their copies.
    pub(super) fn promised_to_images(&self, counts: impl Fn(ImageId) -> bool) -> f64 {
        let images = self.node.cluster().images().list().filter(|image| counts(image.id));
        images.map(|image| f64::from(image.qos.reservation) * self.copies_in(image.pool)).sum()
    }

    fn shown_parent(&self, parent: Parent) -> Option<String> {
        let image = self.node.cluster().images().get(parent.image)?;
        let taken = image.snapshots.iter().find(|taken| taken.id == parent.snapshot)?;
        Some(format!("{}@{}", image.name, taken.name))
    }

    pub(super) fn image_create(&mut self, asked: &ImageAsked) -> Executed {
        self.take_growth()?;
        let pool = self.pool_for(asked.pool.as_deref())?;
        let of_pool = self.node.cluster().map().pools()[&pool].spec.object_bytes;
        let object_bytes = asked.object_bytes.unwrap_or(of_pool);
        self.image_change(|images| {
            images.create(&asked.name, pool, asked.size_bytes, object_bytes).map(drop)
        })
    }

    /// The pool that was named, or the only one.
    fn pool_for(&self, name: Option<&str>) -> Result<PoolId, AdminRefusal> {
        let pools = self.node.cluster().map().pools();
        match (name, pools.len(), pools.keys().next()) {
            (Some(name), ..) => self.pool_of(name),
            (None, 1, Some(only)) => Ok(*only),
            (None, ..) => {
                let names: Vec<&str> = pools.values().map(|pool| pool.spec.name.as_str()).collect();
                Err(AdminRefusal::bad("the image has no pool").wants(names.join(" or ")))
            }
        }
    }

    /// Changes the table; the change is answered when it is kept.
    pub(super) fn image_change(
        &mut self,
        change: impl FnOnce(&mut images::Images) -> Result<(), ImageError>,
    ) -> Executed {
        self.take_changes()?;
        match self.node.change(self.now, |cluster, fx| cluster.change_images(fx, change)) {
            Err(error @ ImageError::BeingCut(_)) => Ok(CommandOutcome::Busy(error.to_string())),
            changed => changed.map(|()| CommandOutcome::WhenKept(DONE)).map_err(AdminRefusal::from),
        }
    }
}

fn shown_qos(qos: &ImageQos) -> Option<QosRow> {
    (*qos != ImageQos::default()).then(|| QosRow {
        reservation_iops: qos.reservation,
        limit_iops: qos.limit,
        burst_ns: qos.burst.nanos(),
        weight: qos.weight(),
    })
}

impl From<ImageError> for AdminRefusal {
    fn from(error: ImageError) -> AdminRefusal {
        let kind = match &error {
            ImageError::BadName(_)
            | ImageError::BadObjectBytes(_)
            | ImageError::BadSize { .. }
            | ImageError::BadQos(_)
            | ImageError::NotASnapshot(_) => RefusalKind::Bad,
            ImageError::NoImage(_) | ImageError::NoSnapshot { .. } => RefusalKind::NotFound,
            ImageError::Exists(_)
            | ImageError::HasSnapshots { .. }
            | ImageError::HasClones { .. }
            | ImageError::BeingCut(_)
            | ImageError::SnapshotsMax(_)
            | ImageError::NumbersUsedUp(_) => RefusalKind::Conflict,
        };
        AdminRefusal { kind, error: error.to_string(), wanted: None }
    }
}
