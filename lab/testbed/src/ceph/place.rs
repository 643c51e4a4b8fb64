//! A Ceph cluster that somebody lets a study change: which, how far, and what was found there before anything.

use loadline_ceph::answers::{OsdMapDump, Releases};
use loadline_ceph::guard::{OsdHook, UNKNOWN_QUEUE, queue_of};
use loadline_ceph::{CephConnection, CephError, CephPlace, CommandTarget, ask};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How a study runs on a Ceph cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CephTestPlace {
    /// The way there.
    pub cluster: CephPlace,
    /// What begins and ends an OSD's process, if anything does.
    pub restart: Option<OsdHook>,
    /// What was found when the study was asked for.
    pub found: CephFound,
    /// The fsid of the cluster that may be changed. It is of the sitting and not of the study.
    #[serde(skip)]
    pub allowed: Option<String>,
    /// Where the journal goes; of the sitting, too.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// What results depend on, and what decides which setups can run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CephFound {
    /// The cluster.
    pub fsid: String,
    /// The release of its OSDs, such as `18.2.7`.
    pub release: String,
    /// The queue that its OSDs run with; [`UNKNOWN_QUEUE`] if they answer and none tells.
    pub queue: String,
    /// Its OSDs, by number.
    pub osds: Vec<u32>,
}

impl CephFound {
    /// Asks a cluster; nothing is changed.
    ///
    /// # Errors
    /// [`CephError`] if it does not answer.
    pub fn ask(on: &dyn CephConnection) -> Result<CephFound, CephError> {
        use CommandTarget::Monitor;
        let releases: Releases = ask(on, &Monitor, &json!({"prefix": "versions"}))?;
        let status: Value = ask(on, &Monitor, &json!({"prefix": "status"}))?;
        let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
        let osds: Vec<u32> = map.osds.iter().map(|osd| osd.id as u32).collect();
        let queues: Vec<String> = osds.iter().map(|osd| queue_of(on, *osd)).collect();
        // One that tells is heard before those that do not.
        let told = queues.iter().filter(|queue| !queue.is_empty());
        let queue = told.clone().find(|queue| *queue != UNKNOWN_QUEUE).or(told.clone().next());
        Ok(CephFound {
            fsid: status["fsid"].as_str().unwrap_or_default().to_owned(),
            release: releases.of_osds().last().cloned().unwrap_or_default(),
            queue: queue.cloned().unwrap_or_default(),
            osds,
        })
    }

    /// Whether none of its OSDs tells with which queue it runs.
    pub fn hides_queue(&self) -> bool {
        self.queue == UNKNOWN_QUEUE
    }

    /// In which class this release brings copies that are merely on the wrong OSD, as an OSD's return leaves them (Ceph's pull request 49975).
    pub fn backfill_class(&self) -> &'static str {
        let numbers = release_numbers(&self.release);
        if numbers.as_slice() >= [17, 2, 6].as_slice() {
            "background_best_effort"
        } else {
            "background_recovery"
        }
    }
}

impl CephTestPlace {
    /// The journal of all that is changed.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("ceph-journal.jsonl")
    }

    /// What results depend on, as text.
    pub fn identity(&self) -> String {
        let stops = self.restart.as_ref().is_some_and(OsdHook::can_stop);
        format!("ceph {} {} {stops}", self.found.fsid, self.found.release)
    }
}

/// A release's numbers, from `18.2.7` 18, 2 and 7; later releases are greater.
pub fn release_numbers(release: &str) -> Vec<u32> {
    release.split('.').map_while(|it| it.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_backfill_is_that_of_the_release() {
        let check = |release: &str, class: &str| {
            let found = CephFound { release: release.to_owned(), ..CephFound::default() };
            assert_eq!(found.backfill_class(), class, "{release}");
        };
        check("18.2.7", "background_best_effort");
        check("17.2.6", "background_best_effort");
        check("17.2.5", "background_recovery");
        check("16.2.15", "background_recovery");
        check("", "background_recovery");
    }
}
