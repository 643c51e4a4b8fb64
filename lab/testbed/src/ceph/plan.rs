//! Whether a study may change a cluster, and what it would do there. Reads only.

use super::client;
use super::place::CephTestPlace;
use crate::{MachineFacts, Stop, TestImage};
use loadline_base::{Bytes, Span};
use loadline_ceph::answers::{OsdMetadata, StoredOption};
use loadline_ceph::guard::{self, ClusterPlan, WantedRoom};
use loadline_ceph::{CephConnection, CephError, CommandTarget, Librados, ask};
use loadline_osd::OsdId;
use serde_json::json;

/// What a study does on a cluster.
#[derive(Clone, Debug)]
pub struct CephSpec {
    /// Which cluster, and how far.
    pub place: CephTestPlace,
    /// Copies of each object.
    pub copies: u32,
    /// Placement groups of each pool.
    pub pgs: u32,
    /// Size of each object of the images.
    pub object_size: Bytes,
    /// What is written beside the images, each object and each clone once.
    pub beside: Bytes,
    /// The images with their clients.
    pub images: Vec<TestImage>,
    /// Options as Ceph takes them, in the order in which they are set.
    pub settings: Vec<(String, String)>,
    /// The OSD that goes and returns, if one does.
    pub victim: Option<OsdId>,
    /// When fio ends if nobody ends it.
    pub limit: Span,
}

impl CephSpec {
    /// What the cluster, the pools and other runs know it by.
    pub(super) fn run(&self) -> String {
        let folder = self.place.folder.file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        format!("{}-{}", std::process::id(), folder.chars().map(plain).collect::<String>())
    }

    fn room(&self) -> WantedRoom {
        let images: u64 = self.images.iter().map(|image| image.load.image.get()).sum();
        WantedRoom {
            bytes: images + self.beside.get(),
            copies: self.copies,
            victim: self.victim.map(OsdId::get),
        }
    }
}

fn found(spec: &CephSpec, on: &dyn CephConnection) -> Result<ClusterPlan, CephError> {
    guard::plan(on, Some(spec.room()))
}

/// Every condition of the cluster itself that is not met.
pub(super) fn refusals(spec: &CephSpec, on: &dyn CephConnection) -> Result<Vec<String>, CephError> {
    let found = found(spec, on)?;
    let mut refusals = found.refusals;
    refusals.extend(guard::stored_beside(on, &spec.settings)?);
    if found.fsid != spec.place.found.fsid {
        refusals
            .push(format!("it is the cluster {}, and not {}", found.fsid, spec.place.found.fsid));
    }
    if !Librados::is_installed() && on.describe() != "recorded answers" {
        refusals.push(
            "objects and images need librados and librbd on this machine: apt-get install librados2 librbd1".to_owned(),
        );
    }
    Ok(refusals)
}

/// The cluster and what is in the way, as lines.
///
/// # Errors
/// Why there is no answer.
pub fn plan(spec: &CephSpec) -> Result<String, String> {
    let told = |error: CephError| error.to_string();
    let on = spec.place.cluster.connect().map_err(told)?;
    let found = found(spec, &*on).map_err(told)?;
    let mut text = String::new();
    for (name, value) in &found.facts {
        text += &format!("{name:<10}{value}\n");
    }
    for other in &found.others {
        text += &format!("{:<10}{other}\n", "others");
    }
    for refusal in in_the_way(spec, &*on).map_err(told)? {
        text += &format!("in the way: {refusal}\n");
    }
    Ok(text)
}

fn in_the_way(spec: &CephSpec, on: &dyn CephConnection) -> Result<Vec<String>, CephError> {
    let mut all = refusals(spec, on)?;
    all.extend(client::check(&spec.images).err());
    all.extend(spec.place.journal().exists().then(|| open_journal(spec)).flatten());
    Ok(all)
}

/// A journal whose changes were not all put back.
fn open_journal(spec: &CephSpec) -> Option<String> {
    let path = spec.place.journal();
    let journal = guard::RunJournal::open(&path);
    let is_open = journal.map_or(true, |journal| journal.is_open());
    is_open.then(|| {
        format!(
            "{} has changes that were not put back: `loadline ceph undo {} --on {}` does that",
            path.display(),
            spec.place.folder.display(),
            spec.place.cluster
        )
    })
}

/// Refuses what cannot, or may not, be done.
///
/// # Errors
/// Every condition that is not met, as sentences.
pub fn check(spec: &CephSpec) -> Result<(), String> {
    let told = |error: CephError| error.to_string();
    let on = spec.place.cluster.connect().map_err(told)?;
    let mut refusals = in_the_way(spec, &*on).map_err(told)?;
    let fsid = &spec.place.found.fsid;
    if spec.place.allowed.as_ref() != Some(fsid) {
        refusals.push(format!(
            "nothing is changed without a word: say --yes-i-may-hurt-this-cluster={fsid} to do this on this cluster"
        ));
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals.join("\n")) }
}

/// What it stands on.
pub(super) fn facts(spec: &CephSpec, on: &dyn CephConnection) -> Result<MachineFacts, Stop> {
    use CommandTarget::Monitor;
    let mut facts = MachineFacts::default();
    let found = &spec.place.found;
    let disks: Vec<OsdMetadata> = ask(on, &Monitor, &json!({"prefix": "osd metadata"}))?;
    let mut kinds: Vec<String> = disks
        .iter()
        .map(|disk| {
            format!("{} of {}", disk.bluestore_bdev_type, Bytes::new(disk.bluestore_bdev_size))
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    facts.know(
        "Cluster",
        format!("Ceph {}, {} OSDs, by {}", found.release, found.osds.len(), on.describe()),
    );
    facts.know("Drive", kinds.join("; "));
    facts.know("Clients", "fio's rbd engine without a cache, on this machine".to_owned());
    if spec.victim.is_some() {
        facts.know(
            "An OSD that goes",
            match spec.place.restart.as_ref().is_some_and(guard::OsdHook::can_stop) {
                true => "is stopped and out".to_owned(),
                false => "is out, and goes on running".to_owned(),
            },
        );
        facts.know("What returns with it moves as", found.backfill_class().to_owned());
        facts.know("Log of each group during the runs", "1 entry".to_owned());
    }
    let stored: Vec<StoredOption> = ask(on, &Monitor, &json!({"prefix": "config dump"}))?;
    let is_capacity = |it: &&StoredOption| it.name.starts_with("osd_mclock_max_capacity_iops");
    facts.capacities =
        stored.iter().filter(is_capacity).filter_map(|it| it.value.parse().ok()).collect();
    Ok(facts)
}
