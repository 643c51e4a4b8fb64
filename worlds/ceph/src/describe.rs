//! A cluster as it may be mailed: everything that advice and simulation need, and no name of its owner's.

use crate::answers::{PgStat, read_pgs};
use crate::connection::{CephConnection, CephError, CommandTarget, tell};
use crate::look::ClusterLook;
use loadline_base::json_in_words;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The form of a description. Another number is another form.
const FORM: u32 = 1;

/// A cluster without names: hosts and pools are numbered, its own identity is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedCluster {
    /// Which form this is.
    pub form: u32,
    /// Releases of its OSDs.
    pub releases: Vec<String>,
    /// Its OSDs.
    pub osds: Vec<DescribedOsd>,
    /// Its pools.
    pub pools: Vec<DescribedPool>,
    /// Its placement groups: where each is, as it is given.
    pub groups: Vec<DescribedGroup>,
    /// Flags of the whole cluster.
    pub flags: Vec<String>,
}

/// An OSD.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedOsd {
    /// Its number.
    pub id: u32,
    /// Its host's number, counted from 0 in the order of the OSDs.
    pub host: u32,
    /// `ssd`, `hdd` or an operator's word.
    pub class: String,
    /// Whether the kernel takes its disk for a rotating one.
    pub rotational: bool,
    /// Whether its database has a disk of its own.
    pub has_database_disk: bool,
    /// Bytes of its disk.
    pub size: u64,
    /// Of them taken.
    pub used: u64,
    /// Whether data is placed on it.
    pub is_in: bool,
    /// Options of QoS in force.
    pub options: BTreeMap<String, String>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedPool {
    /// Its number.
    pub id: u64,
    /// Copies, or chunks.
    pub size: u64,
    /// Without so many it does not serve.
    pub min_size: u64,
    /// Placement groups.
    pub groups: u64,
    /// Whether its objects are cut into coded chunks.
    pub is_erasure_coded: bool,
    /// Whether it is the manager's own, which every cluster has, and not its owner's.
    #[serde(default)]
    pub is_of_manager: bool,
    /// Objects that it holds.
    #[serde(default)]
    pub objects: u64,
    /// Their bytes, each object once.
    #[serde(default)]
    pub bytes: u64,
}

/// A placement group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedGroup {
    /// POOL.NUMBER.
    pub name: String,
    /// Where the map wants it.
    pub up: Vec<i64>,
    /// Objects.
    pub objects: u64,
    /// Bytes, each object once.
    pub bytes: u64,
}

impl DescribedCluster {
    /// Reads a description from its file's text.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<DescribedCluster, String> {
        #[derive(Deserialize)]
        struct Form {
            form: u32,
        }
        let told = |error: serde_json::Error| {
            let reason = json_in_words(&error.to_string());
            format!("this is no description by `loadline ceph facts`: {reason}")
        };
        let Form { form } = serde_json::from_str(text).map_err(told)?;
        if form != FORM {
            return Err(format!(
                "this is a description of form {form}, and this program reads form {FORM}: make it anew with `loadline ceph facts`"
            ));
        }
        let described: DescribedCluster = serde_json::from_str(text).map_err(told)?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = described.osds.iter().find(|osd| !seen.insert(osd.id)) {
            return Err(format!("osd.{} is there twice", twice.id));
        }
        Ok(described)
    }
}

impl DescribedGroup {
    /// The number of its pool.
    pub fn pool(&self) -> Option<u64> {
        self.name.split_once('.')?.0.parse().ok()
    }

    /// What those of a pool hold together, of what is asked of each.
    pub fn held(groups: &[DescribedGroup], pool: u64, of: impl Fn(&DescribedGroup) -> u64) -> u64 {
        let of_pool = groups.iter().filter(|group| group.pool() == Some(pool));
        of_pool.map(of).fold(0, u64::saturating_add)
    }

    /// Its number inside the pool.
    pub fn number(&self) -> Option<u32> {
        u32::from_str_radix(self.name.split_once('.')?.1, 16).ok()
    }
}

/// Describes what was looked at; the groups are asked for anew.
///
/// # Errors
/// [`CephError`] if the groups cannot be had.
pub fn describe(
    on: &dyn CephConnection,
    look: &ClusterLook,
) -> Result<DescribedCluster, CephError> {
    let command = json!({"prefix": "pg dump", "dumpcontents": ["pgs"]});
    let output = tell(on, &CommandTarget::Manager, &command)?;
    let mut groups = Vec::new();
    let told = read_pgs(&output, |group: PgStat| {
        groups.push(DescribedGroup {
            name: group.pgid,
            up: group.up,
            objects: group.stat_sum.num_objects as u64,
            bytes: group.stat_sum.num_bytes as u64,
        });
    });
    told.map_err(|error| CephError::Garbled {
        target: CommandTarget::Manager,
        prefix: "pg dump".to_owned(),
        reason: error.to_string(),
    })?;
    let mut hosts: Vec<String> = Vec::new();
    let osds = look.osds.iter().map(|osd| {
        let disk = osd.metadata.clone().unwrap_or_default();
        let host = hosts.iter().position(|name| *name == disk.hostname).unwrap_or_else(|| {
            hosts.push(disk.hostname.clone());
            hosts.len() - 1
        });
        DescribedOsd {
            id: osd.id,
            host: host as u32,
            class: osd.usage.device_class.clone(),
            rotational: disk.rotational,
            has_database_disk: disk.bluefs_dedicated_db,
            size: osd.usage.kb << 10,
            used: osd.usage.kb_used << 10,
            is_in: osd.is_in,
            options: osd.options.clone(),
        }
    });
    let pools = look.map.pools.iter().map(|pool| DescribedPool {
        id: pool.pool,
        is_of_manager: pool.application_metadata.contains_key("mgr"),
        objects: DescribedGroup::held(&groups, pool.pool, |group| group.objects),
        bytes: DescribedGroup::held(&groups, pool.pool, |group| group.bytes),
        size: pool.size,
        min_size: pool.min_size,
        groups: pool.pg_num,
        is_erasure_coded: pool.is_erasure_coded(),
    });
    let pools = pools.collect();
    Ok(DescribedCluster {
        form: FORM,
        releases: look.releases.of_osds(),
        osds: osds.collect(),
        pools,
        groups,
        flags: look.map.flags_set.clone(),
    })
}
