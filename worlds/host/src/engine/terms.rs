//! On what terms requests go to the disks here: what of priorities and duration limits the system or a drive does not carry
//! out, for the log and for `status`.

use super::host_node::HostNode;
use crate::Mode;
use loadline_osd::{DeviceTerms, OsdId};

impl HostNode {
    /// How disks and sockets are reached, and what that way cannot do.
    pub(super) fn io_mode(&self) -> String {
        match self.world.mode() {
            mode @ Mode::Threads { .. } => {
                format!("{mode}, without priorities and duration limits")
            }
            mode => mode.to_string(),
        }
    }

    /// What is left out of the terms that are set, one sentence each.
    pub(super) fn terms_left_out(&self) -> Vec<&'static str> {
        let own = (self.world.real_time_refused(), self.world.limits_refused());
        let (real_time, limits) = self.racks.all().fold(own, |(real_time, limits), rack| {
            (real_time || rack.refused.0, limits || rack.refused.1)
        });
        let is_threads = matches!(self.world.mode(), Mode::Threads { .. });
        [
            (
                is_threads && self.asks_for_terms(),
                "threads carry the requests to the disks and can give them no priority and no duration limit: those that are set have no effect",
            ),
            (
                real_time,
                "the system refuses real-time priority to this process, and such requests go without it: it takes CAP_SYS_NICE or CAP_SYS_ADMIN",
            ),
            (
                limits,
                "the system or a drive refuses duration limits, and requests go without them: they take Linux 6.5 and a drive with the feature switched on",
            ),
        ]
        .into_iter()
        .filter_map(|(is_so, sentence)| is_so.then_some(sentence))
        .collect()
    }

    fn asks_for_terms(&self) -> bool {
        let terms = |osd: OsdId| self.settings.options(osd).device;
        self.disks.of.ids().any(|osd| terms(osd) != DeviceTerms::default())
    }

    /// Tells the log what is left out, each thing once.
    pub(super) fn tell_terms(&mut self) {
        for sentence in self.terms_left_out() {
            if !self.told.contains(&sentence) {
                tracing::warn!("{sentence}");
                self.told.push(sentence);
            }
        }
    }

    /// How many requests the disks have ended for their duration limit.
    pub(super) fn over_limit(&mut self) -> u64 {
        let osds: Vec<OsdId> = self.disks.of.ids().collect();
        osds.into_iter().map(|osd| self.node.osd(osd).over_limit()).sum()
    }
}
