//! What becomes of a measured capacity (qos.md 6.1): it is believed within the thresholds, and kept for its OSD.

use super::host_node::HostNode;
use crate::admin::api::BenchResult;
use loadline_base::Span;
use loadline_cluster::settings::{LevelTarget, Refused, Scope, SettingsChange};
use loadline_osd::{BenchShape, OsdId};
use loadline_qos::{CapacityVerdict, judge_capacity};

/// What to do about a figure that is not believed.
const ADVICE: &str = "measure the drive with `loadline drive measure` or fio, and set the capacity by `loadline config set`";

impl HostNode {
    /// Judges what an OSD did, and keeps it if it is to be kept.
    pub(super) fn take_capacity(
        &mut self,
        osd: OsdId,
        shape: &BenchShape,
        took: Span,
        keep: bool,
    ) -> BenchResult {
        let seconds = took.as_secs_f64().max(1e-9);
        let iops = (f64::from(shape.writes) / seconds).round().max(1.0);
        let verdict = self.judge(osd, iops);
        let mut words = in_words(verdict);
        if shape.objects < BenchShape::OBJECTS_MAX {
            words += &format!("; written to {} objects, since there is little room", shape.objects);
        }
        if keep && let Err(refused) = self.keep_capacity(osd, iops, verdict) {
            words += &format!("; it cannot be stored: {refused}");
        } else if !keep {
            words += "; not stored";
        }
        match verdict {
            CapacityVerdict::Accepted(_) => tracing::info!(%osd, iops, "capacity: {words}"),
            _ => tracing::warn!(%osd, iops, "capacity: {words}"),
        }
        let total_bytes = u64::from(shape.writes) * u64::from(shape.block_bytes);
        BenchResult {
            osd: osd.get(),
            total_bytes,
            block_bytes: u64::from(shape.block_bytes),
            elapsed_ns: took.nanos(),
            iops,
            bytes_per_s: total_bytes as f64 / seconds,
            verdict: words,
        }
    }

    /// Forgets what is stored of an OSD's capacity: it gets another disk.
    pub(super) fn forget_capacity(&mut self, osd: OsdId) {
        let (capacity, rejected) = self.settings.levels.capacity_options(osd);
        let scope = Scope::Osd(osd);
        let stored = self.node.cluster().stored_settings();
        let is_stored = |option: &&str| stored.contains_key(&(scope, (*option).to_owned()));
        let options: Vec<&str> = [capacity, rejected].into_iter().filter(is_stored).collect();
        let change = options.iter().fold(SettingsChange::default(), |change, option| {
            change.and_remove(LevelTarget::Stored(scope), option)
        });
        if let Err(refused) = self.settings.levels.apply(&change) {
            return tracing::warn!(%osd, "the capacity of its former disk stays: {refused}");
        }
        for option in options {
            tracing::info!(%osd, option, "measured on its former disk: taken away");
            self.settings.stored(scope, option);
            self.node
                .change(self.now, |cluster, fx| cluster.store_setting(scope, option, None, fx));
        }
        self.node.change(self.now, |cluster, fx| cluster.note_measured_on(osd, 0, fx));
    }

    fn judge(&self, osd: OsdId, iops: f64) -> CapacityVerdict {
        let levels = &self.settings.levels;
        let thresholds = levels.capacity_thresholds(osd);
        judge_capacity(iops, levels.benchmark(osd).current_iops, &thresholds)
    }

    /// Stores a capacity that is believed; of another one that it was measured, so that no start measures it again.
    fn keep_capacity(
        &mut self,
        osd: OsdId,
        iops: f64,
        verdict: CapacityVerdict,
    ) -> Result<(), Refused> {
        let (capacity, rejected) = self.settings.levels.capacity_options(osd);
        let measured = Some(iops.to_string());
        let values = match verdict {
            CapacityVerdict::Accepted(_) => vec![(capacity, measured), (rejected, None)],
            _ => vec![(rejected, measured)],
        };
        let target = LevelTarget::Stored(Scope::Osd(osd));
        let change =
            values.iter().fold(SettingsChange::default(), |change, (option, value)| match value {
                Some(value) => change.and_set(target, option, value),
                None => change.and_remove(target, option),
            });
        self.settings.levels.apply(&change)?;
        for (option, value) in values {
            let scope = Scope::Osd(osd);
            self.settings.stored(scope, option);
            self.node
                .change(self.now, |cluster, fx| cluster.store_setting(scope, option, value, fx));
        }
        let disk = &self.disks.of[osd];
        self.node.change(self.now, |cluster, fx| cluster.note_measured_on(osd, disk.drive, fx));
        self.configure_osds();
        Ok(())
    }

    /// Writes into the log what OSDs have found of their capacities.
    pub(super) fn tell_capacities(&mut self) {
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            let found = self.node.capacity(osd).found_iops();
            if std::mem::replace(&mut self.disks.of[osd].capacity_found, found) == found {
                continue;
            }
            match self.capacity_misfit(osd) {
                Some(sentence) => tracing::warn!("{sentence}"),
                None => tracing::info!(%osd, "serves as its capacity says"),
            }
        }
    }

    /// What is wrong with an OSD's capacity, in one sentence with the remedy.
    pub(super) fn capacity_misfit(&self, osd: OsdId) -> Option<String> {
        let capacity = self.settings.levels.benchmark(osd).current_iops;
        let measured_on = self.node.cluster().measured_on(osd);
        let tracked = self.node.capacity(osd);
        let what = match tracked.found_iops() {
            _ if is_another(measured_on, self.disks.of[osd].drive) => {
                "was measured on another drive than the one that it stands on".to_owned()
            }
            Some(found) => {
                let is = if found > capacity {
                    "little: it serves"
                } else {
                    "much: it serves no more than"
                };
                let goes_by = if tracked.is_followed {
                    "promises go by that until it is told right"
                } else {
                    "what is promised means something else than it says"
                };
                format!("is too {is} {found:.0} writes of 4 KiB per second, and {goes_by}")
            }
            None => return None,
        };
        Some(format!(
            "{osd}'s capacity of {capacity:.0} IOPS {what}; measure it by `loadline tell {osd} bench --store`, or set it by `loadline config set {osd} {} IOPS`",
            self.settings.levels.capacity_options(osd).0
        ))
    }
}

/// Whether two drives are known to be two. Numbers of 0 are not known.
fn is_another(one: u64, other: u64) -> bool {
    one != 0 && other != 0 && one != other
}

fn in_words(verdict: CapacityVerdict) -> String {
    match verdict {
        CapacityVerdict::Accepted(_) => "within the thresholds".to_owned(),
        CapacityVerdict::ImplausiblyHigh { kept, threshold } => format!(
            "above {threshold} IOPS, so probably a cache's; the capacity stays {kept} IOPS: {ADVICE}"
        ),
        CapacityVerdict::ImplausiblyLow { kept, threshold } => format!(
            "below {threshold} IOPS, so probably a disturbance; the capacity stays {kept} IOPS: {ADVICE}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drives_that_are_known_can_differ() {
        assert!(is_another(3, 4));
        assert!(!is_another(3, 3) && !is_another(0, 3) && !is_another(3, 0));
    }
}
