//! What operators change leaves one line in the log: who, what, and how it was before and after.

use super::desk::{Changing, Ticket};
use crate::admin::api::{Command, Who};
use crate::admin::change;
use crate::engine::Engine;
use crate::engine::host_node::HostNode;
use loadline_base::Bytes;
use loadline_cluster::images::ImageQos;
use loadline_osd::OsdId;

impl HostNode {
    fn osd_state(&self, osd: OsdId) -> String {
        if self.known_osd(osd).is_err() {
            return NONE.to_owned();
        }
        let state = self.node.cluster().map().osds()[osd];
        let (up, is_in) =
            (if state.up { "up" } else { "down" }, if state.is_in { "in" } else { "out" });
        format!("{up}, {is_in}, {}", self.disks.of[osd].path.display())
    }

    fn pool_state(&self, name: &str) -> String {
        let Ok(pool) = self.pool_of(name) else { return NONE.to_owned() };
        let spec = &self.node.cluster().map().pools()[&pool].spec;
        format!("{} PGs, {} copies", spec.pgs, spec.copies)
    }

    fn image_state(&self, name: &str) -> String {
        let Ok(image) = self.node.cluster().images().image(name) else { return NONE.to_owned() };
        let snapshots: Vec<&str> =
            image.snapshots.iter().map(|taken| taken.name.as_str()).collect();
        match snapshots.is_empty() {
            true => Bytes::new(image.size).to_string(),
            false => format!("{}, snapshots {}", Bytes::new(image.size), snapshots.join(", ")),
        }
    }

    fn qos_state(&self, name: &str) -> String {
        let Ok(image) = self.node.cluster().images().image(name) else { return NONE.to_owned() };
        let ImageQos { reservation, limit, burst, .. } = image.qos;
        let weight = image.qos.weight();
        format!(
            "reservation {reservation} IOPS, limit {limit} IOPS, burst {burst}, weight {weight}"
        )
    }

    fn option_state(&self, who: Who, option: &str) -> String {
        let Ok(crate::admin::api::AdminAnswer::Explained(found)) = self.config_get(who, option)
        else {
            return NONE.to_owned();
        };
        let set = found.levels.iter().filter_map(|row| Some((&row.level, row.value.as_ref()?)));
        set.map(|(level, value)| format!("{level}: {value}")).collect::<Vec<_>>().join(", ")
    }
}

impl Engine {
    /// Notes how it is before a command changes it.
    pub(super) fn begin_change(&mut self, ticket: Ticket, command: &Command) {
        let Some(what) = change(command) else { return };
        let of = match command {
            Command::Meant(meant) => (**meant).clone(),
            plain => plain.clone(),
        };
        let who = self.doors.peer(ticket.conn).to_string();
        let before = self.state_before_and_after(&of);
        self.admin.changing.push((ticket, Changing { who, what, of, before }));
    }

    /// Tells what a command has changed, unless it was refused.
    pub(super) fn end_change(&mut self, ticket: Ticket, is_done: bool) {
        let at = self.admin.changing.iter().position(|(of, _)| *of == ticket);
        let Some(at) = at else { return };
        let (_, Changing { who, what, of, before }) = self.admin.changing.swap_remove(at);
        if is_done {
            let after = self.state_before_and_after(&of);
            tracing::info!(who, what, before, after, "changed");
        }
    }

    /// What a command is about, in few words.
    fn state_before_and_after(&mut self, command: &Command) -> String {
        match command {
            Command::OsdMove { osd, .. }
            | Command::OsdReplace { osd, .. }
            | Command::OsdRemove { osd } => self.host.osd_state(*osd),
            Command::OsdBench { osd, .. } if self.host.known_osd(*osd).is_ok() => {
                format!("{:.0} IOPS", self.host.settings.levels.benchmark(*osd).current_iops)
            }
            Command::OsdBench { .. } => NONE.to_owned(),
            Command::OsdAdd { .. } => {
                let map = self.host.node.cluster().map();
                let osds = map.osds().ids().filter(|osd| !map.is_removed(*osd)).count();
                format!("{osds} OSDs")
            }
            Command::PoolCreate { pool } => self.host.pool_state(&pool.name),
            Command::PoolRemove { pool } => self.host.pool_state(pool),
            Command::PgMarkUnfoundLost { pg } => self.host.unfound_state(pg),
            Command::ImageCreate { asked } => self.host.image_state(&asked.name),
            Command::ImageClone { to, .. } => self.host.image_state(&to.name),
            Command::ImageQos { image, .. } => self.host.qos_state(image),
            Command::ImageResize { image, .. }
            | Command::ImageRemove { image }
            | Command::ImageRemoveOpen { image }
            | Command::SnapshotCreate { image, .. }
            | Command::SnapshotRemove { image, .. } => self.host.image_state(image),
            Command::ImageRename { image, to } => [image, &to.name]
                .map(|name| format!("{name}: {}", self.host.image_state(name)))
                .join("; "),
            Command::ConfigSet { who, option, .. } | Command::ConfigRemove { who, option, .. } => {
                self.host.option_state(*who, option)
            }
            Command::Shutdown if self.is_stopping() => "stops".to_owned(),
            _ => "runs".to_owned(),
        }
    }
}

/// What is not there.
const NONE: &str = "none";
