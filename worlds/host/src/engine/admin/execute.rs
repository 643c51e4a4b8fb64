//! Which command is carried out where.

use super::desk::{CommandOutcome, DONE, Executed, Ticket, now};
use crate::ConnId;
use crate::admin::api::{AdminRefusal, Command, SnapshotName};
use crate::engine::Engine;
use crate::engine::host_node::HostNode;
use loadline_osd::OsdId;

impl HostNode {
    /// An OSD of this node.
    pub(super) fn known_osd(&self, osd: OsdId) -> Result<OsdId, AdminRefusal> {
        match self.node.cluster().map().is_removed(osd) {
            false => self.known_number(osd),
            true => Err(AdminRefusal::not_found(format!("{osd} was removed"))
                .wants("another OSD, or a disk for this number")),
        }
    }

    /// The number of an OSD, also of one that was removed.
    pub(super) fn known_number(&self, osd: OsdId) -> Result<OsdId, AdminRefusal> {
        let osds = self.node.cluster().map().osds();
        match osds.get(osd) {
            Some(_) => Ok(osd),
            None => Err(AdminRefusal::not_found(format!("there is no {osd}"))
                .wants(format!("one of osd.0 to osd.{}", osds.len() - 1))),
        }
    }

    /// Why no change of the map can be kept now, if that is so.
    pub(super) fn without_quorum(&self) -> Option<AdminRefusal> {
        let missing = self.node.cluster().missing_holders();
        let names: Vec<String> = missing.iter().map(|osd| osd.to_string()).collect();
        (!missing.is_empty()).then(|| {
            AdminRefusal::unavailable(format!(
                "no change of the map can be kept: of its holders too few are up, and {} must come back",
                names.join(" or ")
            ))
        })
    }

    /// Refuses a change that could not be kept.
    pub(super) fn take_changes(&self) -> Result<(), AdminRefusal> {
        self.without_quorum().map_or(Ok(()), Err)
    }

    /// Refuses a change that makes the map larger where it has no room to.
    pub(super) fn take_growth(&self) -> Result<(), AdminRefusal> {
        self.take_changes()?;
        let full = self.node.cluster().without_room_for_map();
        let names: Vec<String> = full.iter().map(|osd| osd.to_string()).collect();
        match full.is_empty() {
            true => Ok(()),
            false => Err(AdminRefusal::unavailable(format!(
                "no room for a larger map: {} full",
                match &names[..] {
                    [one] => format!("{one} is"),
                    many => format!("{} are", many.join(", ")),
                }
            ))
            .wants("room first: trim or remove images or snapshots, or add a disk")),
        }
    }
}

impl Engine {
    /// Carries a command out, or begins to.
    pub(super) fn execute(&mut self, ticket: Ticket, command: &Command) -> Executed {
        if let Command::Meant(meant) = command {
            return self.carry_command_out(ticket, (**meant).clone());
        }
        if let Some(why) = self.host.unsettled(command) {
            return Ok(CommandOutcome::Busy(why));
        }
        match self.host.cost(command) {
            Some(refusal) => Err(refusal),
            None => self.carry_command_out(ticket, command.clone()),
        }
    }

    /// Refuses to take an image from under those who have it open. Who has gone has it no longer, whether or not that has been read.
    fn nobody_has_open(&self, name: &str) -> Result<(), AdminRefusal> {
        let Ok(image) = self.host.node.cluster().images().image(name) else { return Ok(()) };
        if !image.snapshots.is_empty() {
            // It stays anyway, and that is said.
            return Ok(());
        }
        let told = |conns: Vec<ConnId>, who: &str| {
            let gone = self.host.world.hung_up(&conns).len();
            match conns.len() - gone {
                0 => None,
                1 => Some(format!("1 {who} has it open")),
                count => Some(format!("{count} {who}s have it open")),
            }
        };
        let nbd = told(self.nbd_open_at(image.id), "NBD client");
        let guests = told(self.vhost_open_at(image.id), "guest");
        let all: Vec<String> = nbd.into_iter().chain(guests).collect();
        match all.is_empty() {
            true => Ok(()),
            false => {
                let error = format!("image {name} stays: {}", all.join(", "));
                Err(AdminRefusal::conflict(error).wants("them to close it first, or --force"))
            }
        }
    }

    fn carry_command_out(&mut self, ticket: Ticket, command: Command) -> Executed {
        match command {
            Command::Status => now(self.status()),
            Command::NodePlaces => now(self.host.places()),
            Command::OsdList => now(self.host.osd_list()),
            Command::OsdMove { osd, step } => self.osd_move(ticket, osd, step),
            Command::OsdAdd { disk } => self.osd_add(ticket, disk),
            Command::OsdReplace { osd, disk } => self.osd_replace(ticket, osd, disk),
            Command::OsdRemove { osd } => self.osd_remove(osd),
            Command::OsdOkToStop { osds } => self.host.ok_to_stop(&osds),
            Command::OsdBench { osd, shape } => {
                self.host.known_osd(osd)?;
                self.begin_osd_bench(ticket, osd, &shape)
            }
            Command::OsdQueues { osd } => self.host.queues(osd),
            Command::Profile => now(self.host.profile()),
            Command::Metrics => now(self.metrics()),
            Command::Live => now(self.live()),
            Command::Ops => now(self.host.ops_in_flight()),
            Command::OpHistory => now(self.host.op_history()),
            Command::ImageWhy { image, seconds, traced } => {
                self.watch(ticket, &image, seconds, traced)?;
                Ok(CommandOutcome::Later)
            }
            Command::PoolList => now(self.host.pool_list()),
            Command::PoolCreate { pool } => self.host.pool_create(pool),
            Command::PoolRemove { pool } => self.host.pool_remove(&pool),
            Command::PgListUnfound { pg } => self.host.pg_list_unfound(&pg),
            Command::PgMarkUnfoundLost { pg } => self.host.pg_mark_unfound_lost(&pg),
            Command::Scrub { how, what } => self.host.scrub(how, &what),
            Command::ScrubList => now(self.host.scrub_list()),
            Command::InconsistentList { pg } => self.host.inconsistent_list(&pg),
            Command::ImageList => now(self.host.image_list()),
            Command::ImageInfo { image } => now(self.host.image_info(&image)?),
            Command::ImageCreate { asked } => self.host.image_create(&asked),
            Command::ImageResize { image, to } => {
                self.host.image_change(|images| images.resize(&image, to.size_bytes).map(drop))
            }
            Command::ImageQos { image, to } => self.host.image_qos(&image, &to),
            Command::ImageRename { image, to } => {
                self.host.image_change(|images| images.rename(&image, &to.name))
            }
            Command::ImageRemove { image } => {
                self.nobody_has_open(&image)?;
                self.host.image_change(|images| images.remove(&image).map(drop))
            }
            Command::ImageRemoveOpen { image } => {
                self.host.image_change(|images| images.remove(&image).map(drop))
            }
            Command::SnapshotList { image } => now(self.host.snapshot_list(&image)?),
            Command::SnapshotCreate { image, snapshot } => {
                self.host.take_growth()?;
                self.host.image_change(|images| images.snapshot_create(&image, &snapshot).map(drop))
            }
            Command::SnapshotRemove { image, snapshot } => {
                self.host.image_change(|images| images.snapshot_remove(&image, &snapshot).map(drop))
            }
            Command::ImageClone { image, snapshot, to } => {
                self.host.take_growth()?;
                let from = SnapshotName { image, snapshot }.to_string();
                self.host.image_change(|images| images.clone_image(&from, &to.name).map(drop))
            }
            Command::ConfigDump => now(self.host.config_show(None)?),
            Command::ConfigShow { who } => now(self.host.config_show(Some(who))?),
            Command::ConfigGet { who, option } => now(self.host.config_get(who, &option)?),
            Command::ConfigSet { who, option, to } => {
                self.host.config_set(who, &option, &to.value, to.level)
            }
            Command::ConfigRemove { who, option, level } => {
                self.host.config_remove(who, &option, level)
            }
            Command::Shutdown => {
                self.begin_stop();
                now(DONE)
            }
            Command::Meant(_) => Err(AdminRefusal::bad("a command is meant once")),
        }
    }
}
