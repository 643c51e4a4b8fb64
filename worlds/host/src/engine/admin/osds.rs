//! OSDs: what they are, and steps in the map.

use super::execute::{DONE, Executed, now};
use super::new_disk::{Is, Wanted};
use super::{Outcome, Ticket};
use crate::Direct;
use crate::admin::api::{Answer, Osd, OsdMove, Osds, Refusal};
use crate::engine::Engine;
use loadline_base::Bytes;
use loadline_cluster::OsdState;
use loadline_cluster::settings::Scope;
use loadline_osd::{OsdId, Space};
use loadline_store::paged::LogMode;

/// How a disk is opened whose file system has no direct I/O.
pub(super) const BUFFERED: &str = "buffered (no direct I/O there)";

impl Engine {
    pub(super) fn osd_list(&mut self) -> Answer {
        Answer::Osds(Osds { osds: self.shown_osds() })
    }

    pub(super) fn shown_osds(&mut self) -> Vec<Osd> {
        self.note_changes();
        let map = self.cluster.map();
        let ids = self.disks.of.ids().filter(|osd| !map.is_removed(*osd)).collect::<Vec<_>>();
        ids.into_iter().map(|osd| self.shown_osd(osd)).collect()
    }

    fn shown_osd(&mut self, osd: OsdId) -> Osd {
        let OsdState { up, is_in } = self.cluster.map().osds()[osd];
        let space = self.cluster.osd(osd).space();
        let pages = |of: fn(Space) -> u64| space.map_or(0, |space| of(space) * space.page_bytes);
        let disk = &self.disks.of[osd];
        Osd {
            osd: osd.get(),
            up,
            is_in,
            path: disk.path.display().to_string(),
            size_bytes: space.map_or(disk.bytes.get(), |_| pages(|space| space.total)),
            used_bytes: pages(|space| space.total - space.free),
            pgs: self.cluster.pgs_on(osd),
            log_mode: log_mode(self.config.log_mode).to_owned(),
            disk_mode: self.disk_mode(osd).to_owned(),
            capacity_iops: Some(self.settings.levels.benchmark(osd).current_iops),
            uptime_ns: up.then(|| self.now.since(disk.since).nanos()),
            failure: self.why_down(osd),
        }
    }

    /// Why an OSD is down, if nobody took it down.
    pub(in crate::engine) fn why_down(&self, osd: OsdId) -> Option<String> {
        let missing = || "its disk is not there".to_owned();
        let fault = self.cluster.fault(osd).map(|fault| fault.to_string());
        fault.or_else(|| self.disks.of[osd].disk.is_none().then(missing))
    }

    fn disk_mode(&self, osd: OsdId) -> &'static str {
        let Some(disk) = self.disks.of[osd].disk else { return "not there" };
        match (self.world.disk(disk).mode().direct, self.config.direct) {
            (true, _) => "direct",
            (false, Direct::No) => "buffered",
            (false, _) => BUFFERED,
        }
    }

    /// A step that an OSD has taken already is done.
    pub(super) fn osd_move(&mut self, ticket: Ticket, osd: OsdId, step: OsdMove) -> Executed {
        self.known_osd(osd)?;
        let state = self.cluster.map().osds()[osd];
        match step {
            OsdMove::Down => {
                self.osd_down(osd);
                // The last ones that go down leave no quorum, and there is nothing about it to keep.
                now(DONE)
            }
            OsdMove::Up if state.up => now(DONE),
            OsdMove::Up => self.osd_up(ticket, osd),
            OsdMove::Out => self.place_on(osd, OsdState { is_in: false, ..state }),
            OsdMove::In => self.place_on(osd, OsdState { is_in: true, ..state }),
        }
    }

    fn osd_down(&mut self, osd: OsdId) {
        self.disks.of[osd].reopen = false;
        if self.cluster.map().osds()[osd].up || self.cluster.osd(osd).is_opening() {
            tracing::info!(%osd, "taken down");
            self.cluster.take_down(self.now, osd, &mut self.effects);
        }
    }

    fn osd_up(&mut self, ticket: Ticket, osd: OsdId) -> Executed {
        match self.disks.of[osd].disk {
            Some(_) => {
                self.await_osd(osd, ticket, Is::There);
                self.reopen(osd);
            }
            // It was not there at the start, or could not be opened.
            None => {
                let path = self.disks.of[osd].path.clone();
                self.prepare_disk(Some(osd), path, Wanted::Own, ticket)?;
            }
        }
        Ok(Outcome::Later)
    }

    fn place_on(&mut self, osd: OsdId, state: OsdState) -> Executed {
        self.take_changes()?;
        self.disks.of[osd].taken_out = false;
        tracing::info!(%osd, used = state.is_in, "placement");
        self.cluster.set_osd(self.now, osd, state, &mut self.effects);
        Ok(Outcome::WhenKept(DONE))
    }

    /// Forgets an OSD. Its disk is left as it is.
    pub(super) fn osd_remove(&mut self, osd: OsdId) -> Executed {
        self.known_osd(osd)?;
        let refused = |error: loadline_cluster::RemoveError| Refusal::conflict(error.to_string());
        self.cluster.may_remove_osd(osd).map_err(refused)?;
        self.take_changes()?;
        let disk = &self.disks.of[osd];
        if disk.in_flight > 0 || disk.reopen || self.is_joining(osd) {
            return Err(Refusal::unavailable(format!("{osd}'s disk is busy: ask again")));
        }
        self.cluster.remove_osd(self.now, osd, &mut self.effects).map_err(refused)?;
        self.forget_osd(osd);
        Ok(Outcome::WhenKept(DONE))
    }

    /// Forgets an OSD that was added and could not come up. Returns whether that was possible.
    pub(super) fn take_back_osd(&mut self, osd: OsdId) -> bool {
        let is_idle = self.disks.of[osd].in_flight == 0;
        let taken = is_idle && self.cluster.take_back_osd(self.now, osd, &mut self.effects);
        if taken {
            self.forget_osd(osd);
        }
        taken
    }

    /// The cluster has one OSD less, whose disk has nothing in flight. Numbers at the end go with it.
    fn forget_osd(&mut self, osd: OsdId) {
        if let Some(disk) = self.disks.of[osd].disk.take() {
            self.world.remove_disk(disk);
        }
        let path = self.disks.of[osd].path.display();
        tracing::info!(%osd, %path, "is none any more; its disk is left as it is");
        self.settings.levels.forget_osd(osd);
        self.settings.left_out.retain(|left_out| left_out.scope != Scope::Osd(osd));
        self.due.retain(|(of, _)| *of != osd);
        self.timers.forget_osd(osd);
        while self.disks.of.len() > self.cluster.map().osds().len() {
            self.disks.of.pop();
            self.settings.levels.remove_last_osd();
        }
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
pub(super) fn size_of(size_bytes: Option<u64>) -> Result<Option<Bytes>, Refusal> {
    match size_bytes {
        Some(bytes) if bytes % 4096 != 0 => {
            Err(Refusal::bad(format!("a disk of {bytes} bytes cannot be made"))
                .wants("a multiple of 4096"))
        }
        size => Ok(size.map(Bytes::new)),
    }
}
