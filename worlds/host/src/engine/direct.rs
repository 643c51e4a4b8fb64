//! What the client in this process asks of the node, and what it is told.

use super::Engine;
use super::Stopping;
use super::client_ops::{Ended, Waiter};
use super::direct_client::{
    DirectAnswer, DirectAsk, DirectClient, DirectCounts, DirectDesk, DirectEnd, DirectImage,
    DirectModes, DirectOp, DirectServices,
};
use super::host_node::HostNode;
use super::image_ops::NewOp;
use super::mail::Mail;
use crate::Mailbox;
use loadline_cluster::OsdState;
use loadline_cluster::PoolId;
use loadline_cluster::images::{ImageError, ImageId, Images};
use loadline_osd::{OsdId, ScrubKind, ScrubRequest};

/// The name of the snapshot that a client in this process takes.
const SNAPSHOT: &str = "kept";

impl HostNode {
    fn direct_counts(&mut self) -> DirectCounts {
        let osds = self.disks.of.ids();
        let fault = |osd: OsdId| Some((osd, self.node.cluster().fault(osd)?.to_string()));
        DirectCounts {
            at: self.now,
            faults: osds.filter_map(fault).collect(),
            progress: self.node.progress(),
            received: self.node.received().objects,
            clean: self.node.cluster().is_clean(),
            device_requests: self.device_requests(),
        }
    }

    /// Makes an image, unless it is there, and says what it is promised and allowed.
    fn direct_image(&mut self, of: &DirectImage) -> Result<ImageId, ImageError> {
        let DirectImage { name, pool, size, object_size, qos } = of;
        self.node.change(self.now, |cluster, fx| {
            cluster.change_images(fx, |images| {
                let id = match images.image(name) {
                    Ok(image) => image.id,
                    Err(_) => images.create(name, *pool, size.get(), object_size.get())?,
                };
                images.set_qos(name, *qos).map(|()| id)
            })
        })
    }

    fn direct_scrub(&mut self, pool: PoolId) -> Result<(), String> {
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
        for pg in self.node.cluster().map().pgs_of(pool).collect::<Vec<_>>() {
            if !self.node.change(self.now, |cluster, fx| cluster.scrub(pg, request, fx)) {
                return Err(format!("nobody serves PG {}", self.node.cluster().pg_name(pg)));
            }
        }
        Ok(())
    }

    /// An option that does not exist has no values.
    fn values_in_force(&self, option: &str) -> Vec<String> {
        let levels = &self.settings.levels;
        let Ok(option) = levels.option(option) else { return Vec::new() };
        levels.osds().map(|osd| levels.effective(osd, option).0.to_string()).collect()
    }
}

impl Engine {
    /// A client in this process; one that was made before hears nothing more.
    pub fn direct_client(&mut self) -> DirectClient {
        let (desk, client) = DirectDesk::open(self.host.world.mailbox());
        self.direct = desk;
        client
    }

    /// A mailbox of the node, for those who end it.
    pub fn mailbox(&self) -> Mailbox<Mail> {
        self.host.world.mailbox()
    }

    pub(super) fn direct_asked(&mut self, ask: DirectAsk) {
        match ask {
            DirectAsk::Ops(ops) => ops.into_iter().for_each(|op| self.direct_op(op)),
            DirectAsk::Pool(spec) => {
                let pool = self
                    .host
                    .node
                    .change(self.host.now, |cluster, fx| cluster.create_pool(spec, fx));
                self.direct_changed(DirectAnswer::Pool(pool));
            }
            DirectAsk::Image(image) => match self.host.direct_image(&image) {
                Ok(id) => self.direct_changed(DirectAnswer::Image(Ok(id))),
                Err(error) => self.direct.tell(DirectAnswer::Image(Err(error.to_string()))),
            },
            DirectAsk::TakeSnapshot(image) => {
                self.direct_image_change(|images| {
                    images.snapshot_create(&image, SNAPSHOT).map(drop)
                });
            }
            DirectAsk::RemoveSnapshot(image) => {
                self.direct_image_change(|images| {
                    images.snapshot_remove(&image, SNAPSHOT).map(drop)
                });
            }
            DirectAsk::RemovePool(pool) => {
                let removed = self
                    .host
                    .node
                    .change(self.host.now, |cluster, fx| cluster.remove_pool(pool, fx));
                self.direct_changed(DirectAnswer::Changed(removed.map_err(|why| why.to_string())));
            }
            DirectAsk::DeepScrub(pool) => {
                let asked = self.host.direct_scrub(pool);
                self.direct_changed(DirectAnswer::Changed(asked));
            }
            DirectAsk::Services(scrubbed) => {
                let node = &mut self.host.node;
                self.direct.tell(DirectAnswer::Services(DirectServices {
                    scrub: scrubbed.map(|pool| node.pool_scrub(pool)).unwrap_or_default(),
                    to_trim: node.trim_report().objects_left,
                    to_delete: node.deletion_report().objects_left,
                }));
            }
            DirectAsk::TakeOut(osd) => {
                self.host.node.change(self.host.now, |cluster, fx| cluster.take_down(osd, fx));
                self.host.node.change(self.host.now, |cluster, fx| cluster.set_osd(osd, GONE, fx));
            }
            DirectAsk::BringBack(osd) => {
                self.host
                    .node
                    .change(self.host.now, |cluster, fx| cluster.set_osd(osd, EXPECTED, fx));
                self.direct.awaits(osd);
                self.host.open_at_path(osd);
            }
            DirectAsk::Count => {
                let counts = self.host.direct_counts();
                self.direct.tell(DirectAnswer::Counts(counts));
            }
            DirectAsk::Service => {
                let (now, osds) = (self.host.now, self.host.disks.of.ids());
                let service = osds.map(|osd| self.host.node.osd(osd).service(now)).collect();
                self.direct.tell(DirectAnswer::Service(now, service));
            }
            DirectAsk::ResetWaits => self.host.node.reset_waits(),
            DirectAsk::Waits => {
                self.direct.tell(DirectAnswer::Waits(Box::new(self.host.node.waits())));
            }
            DirectAsk::Trace(image, ops) => self.begin_direct_trace(image, ops),
            DirectAsk::Traced => {
                let traced = self.end_direct_trace();
                self.direct.tell(DirectAnswer::Traced(traced));
            }
            DirectAsk::Values(option) => {
                let values = self.host.values_in_force(&option);
                self.direct.tell(DirectAnswer::Values(values));
            }
            DirectAsk::Modes => {
                let open = self.host.disks.of.values().filter_map(|disk| disk.open);
                let direct = open.map(|open| open.direct).collect();
                let event_loop = self.host.world.mode().to_string();
                self.direct.tell(DirectAnswer::Modes(DirectModes { event_loop, direct }));
            }
            // Whoever leaves so needs nothing of what there is.
            DirectAsk::Leave => self.stopping = Stopping::Done { is_durable: true },
        }
    }

    /// Tells it when the map as it is now is kept.
    fn direct_changed(&mut self, answer: DirectAnswer) {
        self.direct.changed(self.host.node.cluster().last_change(), answer);
    }

    fn direct_image_change(&mut self, change: impl FnOnce(&mut Images) -> Result<(), ImageError>) {
        let now = self.host.now;
        let changed = self.host.node.change(now, |cluster, fx| cluster.change_images(fx, change));
        self.direct_changed(DirectAnswer::Changed(changed.map_err(|error| error.to_string())));
    }

    fn direct_op(&mut self, op: DirectOp) {
        let DirectOp { token, client, kind, pool, object, offset, length, data } = op;
        let op = NewOp { kind, pool, object, offset, length, at: 0, data };
        self.begin_command(Waiter::Direct(token), client, vec![op], None);
    }

    pub(super) fn direct_op_ended(&mut self, token: u64, ended: Ended) {
        let Ended { data, inside, .. } = ended;
        self.direct.ended(DirectEnd { token, inside, data: data.ok() });
    }
}

const GONE: OsdState = OsdState { up: false, is_in: false };
/// Down, but placement counts on it: it will be up as soon as its disk is open.
const EXPECTED: OsdState = OsdState { up: false, is_in: true };
