//! OSDs whose stores have stopped: a disk that may be good at a second look is opened once more. Those whose stores are damaged are made
//! empty and filled again, where the others have all that they had; so are those whose scrubs have found a page of the store bad.

use super::host_node::HostNode;
use super::mail::{DiskEmptied, Mail};
use crate::new_store::{new_store_id, write_store_as};
use loadline_osd::OsdId;

impl HostNode {
    /// Mends what can be mended now; to be called every second. An OSD that somebody gives a disk is left to them.
    pub(super) fn mend_disks(&mut self, is_joining: impl Fn(OsdId) -> bool) {
        self.open_again(&is_joining);
        self.take_rotten_down();
        self.heal_damaged(&is_joining);
    }

    fn take_rotten_down(&mut self) {
        let cluster = self.node.cluster();
        let may_go = |osd: &OsdId| {
            cluster.may_take_rotten_down(*osd).is_ok()
                && self.settings.levels.heals_damaged_store(*osd)
        };
        let Some((osd, page)) = cluster.rotten().find(|(osd, _)| may_go(osd)) else { return };
        tracing::warn!(%osd, %page, "a scrub has found a page of its store bad, so it is taken down to be filled again");
        self.node.change(self.now, |cluster, fx| cluster.take_rotten_down(osd, fx));
    }

    fn open_again(&mut self, is_joining: &impl Fn(OsdId) -> bool) {
        let may_pass = |osd: &OsdId| {
            self.is_idle(*osd) && !is_joining(*osd) && self.node.cluster().may_open_again(*osd)
        };
        for osd in self.disks.of.ids().filter(may_pass).collect::<Vec<_>>() {
            let why = self.node.cluster().fault(osd).map(|fault| fault.to_string());
            let (path, why) = (self.disks.of[osd].path.display(), why.unwrap_or_default());
            tracing::warn!(%osd, %path, "{why}: its disk is opened once more");
            self.node.cluster_mut().open_again(osd);
            self.open_at_path(osd);
        }
    }

    fn is_idle(&self, osd: OsdId) -> bool {
        let of = &self.disks.of[osd];
        of.open.is_some() && !of.is_to_come() && self.is_at_rest(osd)
    }

    /// Begins with the next damaged one, if there is one.
    #[expect(
        clippy::disallowed_methods,
        reason = "an empty store takes its time to be written, and clients do not wait"
    )]
    fn heal_damaged(&mut self, is_joining: &impl Fn(OsdId) -> bool) {
        let may_begin = |osd: &OsdId| {
            let may = self.node.cluster().may_heal(*osd) == Some(Ok(()));
            let is_free = self.is_idle(*osd) && !is_joining(*osd);
            may && is_free && self.settings.levels.heals_damaged_store(*osd)
        };
        let Some(osd) = self.disks.of.ids().find(may_begin) else { return };
        let why = self.node.cluster().fault(osd).map(|fault| fault.to_string()).unwrap_or_default();
        let path = self.disks.of[osd].path.clone();
        let Some(store) = self.node.cluster().expected_store(osd) else {
            // The next look finds that the map tells of it.
            return self.say_which_comes(osd);
        };
        tracing::warn!(
            %osd, path = %path.display(),
            "{why}: the other OSDs have all that it had, so its disk is made empty and filled again"
        );
        self.node.cluster_mut().heal(osd);
        let disk = self.take_back(osd).expect("it is idle, and so it is open");
        let identity = disk.identity();
        drop(disk);
        let (how, protection) = (self.config.disk_open(&path), self.config.protection);
        let mailbox = self.world.mailbox();
        std::thread::spawn(move || {
            let disk = how.open().map_err(|error| error.to_string()).and_then(|disk| {
                if disk.identity() != identity {
                    return Err("its path leads to something else by now".to_owned());
                }
                let written = write_store_as(store, &path, disk.size(), protection);
                written.map(|()| disk).map_err(|error| error.to_string())
            });
            // A node that has ended meanwhile needs no disk.
            let _ = mailbox.post(Mail::Emptied(Box::new(DiskEmptied { osd, disk })));
        });
    }

    fn say_which_comes(&mut self, osd: OsdId) {
        match new_store_id() {
            Ok(store) => {
                self.node.change(self.now, |cluster, fx| cluster.expect_store(osd, store, fx));
            }
            Err(error) => tracing::error!(%osd, "the disk cannot be made empty: {error}"),
        }
    }

    /// What keeps an OSD from everything that has to do with its disk, while that is made empty.
    pub(super) fn being_emptied(&self, osd: OsdId) -> Option<String> {
        let is_emptied = self.node.cluster().is_being_emptied(osd);
        is_emptied.then(|| format!("{osd}'s disk is being made empty"))
    }

    /// A disk is empty, or could not be made so. What nobody waits for any more is closed: its OSD may have another, or be none.
    pub(super) fn disk_emptied(&mut self, emptied: DiskEmptied) {
        let DiskEmptied { osd, disk } = emptied;
        if !self.node.cluster().is_being_emptied(osd) {
            return;
        }
        match disk {
            Ok(disk) => self.open_on(osd, disk),
            Err(error) => {
                tracing::error!(%osd, "the disk cannot be made empty: {error}");
                self.node.cluster_mut().heal_failed(osd);
            }
        }
    }

    /// Why an OSD is not filled again that serves from a store of which a page is bad.
    pub(super) fn why_not_filled_again(&self, osd: OsdId) -> String {
        match self.node.cluster().may_take_rotten_down(osd) {
            _ if !self.settings.levels.heals_damaged_store(osd) => {
                "osd_heal_damaged_store is off, so it serves on from what it can read".to_owned()
            }
            Err(obstacle) => format!("{obstacle}, and serves on from what it can read"),
            Ok(()) => "it is about to be filled again".to_owned(),
        }
    }

    /// Why a damaged OSD is not filled again, for whoever asks why it is down.
    pub(super) fn why_not_healed(&self, osd: OsdId) -> Option<String> {
        if self.node.cluster().may_open_again(osd) {
            return Some("its disk is about to be opened once more".to_owned());
        }
        let may = self.node.cluster().may_heal(osd)?;
        Some(match may {
            _ if !self.settings.levels.heals_damaged_store(osd) => {
                "osd_heal_damaged_store is off, so it is left as it is".to_owned()
            }
            Err(_) if self.disks.of[osd].path.metadata().is_err() => format!(
                "and it is not there any more: `loadline osd replace {osd} PATH` lets the others fill another"
            ),
            Err(obstacle) => obstacle.to_string(),
            Ok(()) => "it is about to be filled again".to_owned(),
        })
    }
}
