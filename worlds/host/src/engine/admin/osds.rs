//! OSDs: what they are, and steps in the map.

use super::desk::Is;
use super::desk::{CommandOutcome, Ticket};
use super::desk::{DONE, Executed, now};
use crate::Direct;
use crate::admin::api::{AdminAnswer, AdminRefusal, OkToStop, OsdMove, OsdRow, Osds};
use crate::engine::Engine;
use crate::engine::disk_table::NextDisk;
use crate::engine::host_node::HostNode;
use loadline_base::Bytes;
use loadline_cluster::OsdState;
use loadline_cluster::settings::Scope;
use loadline_osd::{DiskSpace, OsdId, PgId};
use loadline_store::paged::LogMode;

/// How a disk is opened whose file system has no direct I/O.
pub(super) const BUFFERED: &str = "buffered (no direct I/O there)";

impl HostNode {
    pub(super) fn osd_list(&mut self) -> AdminAnswer {
        AdminAnswer::Osds(Osds { osds: self.shown_osds() })
    }

    pub(super) fn shown_osds(&mut self) -> Vec<OsdRow> {
        self.note_changes();
        let map = self.node.cluster().map();
        let ids = self.disks.of.ids().filter(|osd| !map.is_removed(*osd)).collect::<Vec<_>>();
        ids.into_iter().map(|osd| self.shown_osd(osd)).collect()
    }

    fn shown_osd(&mut self, osd: OsdId) -> OsdRow {
        let OsdState { up, is_in } = self.node.cluster().map().osds()[osd];
        let space = self.node.osd(osd).space();
        let pages =
            |of: fn(DiskSpace) -> u64| space.map_or(0, |space| of(space) * space.page_bytes);
        let disk = &self.disks.of[osd];
        OsdRow {
            osd: osd.get(),
            up,
            is_in,
            path: disk.path.display().to_string(),
            size_bytes: space.map_or(disk.bytes.get(), |_| pages(|space| space.total)),
            used_bytes: pages(|space| space.total - space.free),
            pgs: self.node.pgs_on(osd),
            log_mode: log_mode(self.config.log_mode).to_owned(),
            disk_mode: self.disk_mode(osd).to_owned(),
            capacity_iops: Some(self.settings.levels.benchmark(osd).current_iops),
            uptime_ns: up.then(|| self.now.since(disk.since).nanos()),
            failure: self.why_down(osd),
        }
    }

    fn disk_mode(&self, osd: OsdId) -> &'static str {
        let Some(open) = self.disks.of[osd].open else { return "not there" };
        match (open.direct, self.config.direct) {
            (true, _) => "direct",
            (false, Direct::No) => "buffered",
            (false, _) => BUFFERED,
        }
    }

    fn osd_down(&mut self, osd: OsdId) {
        self.disks.of[osd].next = NextDisk::None;
        if self.node.cluster().map().osds()[osd].up || self.is_coming_up(osd) {
            self.node.change(self.now, |cluster, fx| cluster.take_down(osd, fx));
        }
    }

    fn place(&mut self, osd: OsdId, is_in: bool) -> Executed {
        self.take_changes()?;
        self.node.change(self.now, |cluster, fx| cluster.place_osd(osd, is_in, fx));
        Ok(CommandOutcome::WhenKept(DONE))
    }

    /// Whether OSDs could stop at once.
    pub(super) fn ok_to_stop(&mut self, osds: &[OsdId]) -> Executed {
        for osd in osds {
            self.known_osd(*osd)?;
        }
        let outage = self.node.outage(osds.iter().copied().collect());
        let names = |pgs: &[PgId]| pgs.iter().map(|pg| self.node.cluster().pg_name(*pg)).collect();
        let bad = outage.already_inactive.len() + outage.become_inactive.len();
        let ok = outage.become_degraded.len() + outage.become_more_degraded.len();
        now(AdminAnswer::OkToStop(OkToStop {
            ok_to_stop: outage.is_harmless(),
            osds: osds.iter().map(|osd| osd.get()).collect(),
            num_ok_pgs: ok,
            num_not_ok_pgs: bad,
            bad_already_inactive: names(&outage.already_inactive),
            bad_become_inactive: names(&outage.become_inactive),
            ok_become_degraded: names(&outage.become_degraded),
            ok_become_more_degraded: names(&outage.become_more_degraded),
        }))
    }

    /// Forgets an OSD that was added and could not come up. Returns whether that was possible.
    pub(super) fn take_back_osd(&mut self, osd: OsdId) -> bool {
        let is_idle = self.is_at_rest(osd);
        let taken =
            is_idle && self.node.change(self.now, |cluster, fx| cluster.take_back_osd(osd, fx));
        if taken {
            self.forget_osd(osd);
        }
        taken
    }

    /// The cluster has one OSD less, whose disk has nothing in flight. Numbers at the end go with it.
    fn forget_osd(&mut self, osd: OsdId) {
        drop(self.take_back(osd));
        let path = self.disks.of[osd].path.display();
        tracing::debug!(%osd, %path, "is none any more; its disk is left as it is");
        self.settings.levels.forget_osd(osd);
        self.settings.left_out.retain(|left_out| left_out.scope != Scope::Osd(osd));
        self.node.forget_osd(osd);
        while self.disks.of.len() > self.node.cluster().map().osds().len() {
            self.disks.of.pop();
            self.settings.levels.remove_last_osd();
        }
    }
}

impl Engine {
    /// A step that an OSD has taken already is done.
    pub(super) fn osd_move(&mut self, ticket: Ticket, osd: OsdId, step: OsdMove) -> Executed {
        self.host.known_osd(osd)?;
        let state = self.host.node.cluster().map().osds()[osd];
        match step {
            OsdMove::Down => {
                self.host.osd_down(osd);
                // The last ones that go down leave no quorum, and there is nothing about it to keep.
                now(DONE)
            }
            OsdMove::Up if state.up => now(DONE),
            OsdMove::Up => self.osd_up(ticket, osd),
            OsdMove::Out => self.host.place(osd, false),
            OsdMove::In => self.host.place(osd, true),
        }
    }

    fn osd_up(&mut self, ticket: Ticket, osd: OsdId) -> Executed {
        if let Some(why) = self.host.being_emptied(osd) {
            return Ok(CommandOutcome::Busy(why));
        }
        if self.admin.is_getting_disk(osd) {
            return Ok(CommandOutcome::Busy(format!("{osd} is getting another disk")));
        }
        // One that comes up already is waited for: its disk may be being measured.
        self.host.open_at_path(osd);
        self.await_osd(osd, ticket, Is::There);
        Ok(CommandOutcome::Later)
    }

    /// Forgets an OSD. Its disk is left as it is.
    pub(super) fn osd_remove(&mut self, osd: OsdId) -> Executed {
        self.host.known_osd(osd)?;
        match self.host.node.cluster().may_remove_osd(osd) {
            // Whoever asked has been told which groups it may cost, or none.
            Err(error) if !error.may_be_meant() => {
                return Err(AdminRefusal::conflict(error.to_string()));
            }
            _ => {}
        }
        self.host.take_changes()?;
        if let Some(why) = self.busy_disk(osd) {
            return Ok(CommandOutcome::Busy(why));
        }
        // That it went down is told while it has a disk.
        self.host.note_changes();
        self.host.node.change(self.host.now, |cluster, fx| cluster.remove_osd(osd, fx));
        self.host.forget_osd(osd);
        Ok(CommandOutcome::WhenKept(DONE))
    }

    /// What keeps the disk of an OSD that is down from being given away for a moment.
    pub(super) fn busy_disk(&self, osd: OsdId) -> Option<String> {
        if let Some(why) = self.host.being_emptied(osd) {
            return Some(why);
        }
        if self.host.is_coming_up(osd) || self.admin.is_joining(osd) {
            return Some(format!("{osd}'s disk is being opened"));
        }
        (!self.host.is_at_rest(osd)).then(|| format!("requests to {osd}'s disk are under way"))
    }
}

fn log_mode(mode: LogMode) -> &'static str {
    match mode {
        LogMode::Fsync => "fsync",
        LogMode::LogOnly => "log-only",
        LogMode::Background => "background",
        LogMode::None => "none",
    }
}

/// The size of a file that is to be made.
pub(super) fn size_of(size_bytes: Option<u64>) -> Result<Option<Bytes>, AdminRefusal> {
    match size_bytes {
        Some(bytes) if bytes % 4096 != 0 => {
            Err(AdminRefusal::bad(format!("a disk of {bytes} bytes cannot be made"))
                .wants("a multiple of 4096"))
        }
        size => Ok(size.map(Bytes::new)),
    }
}
