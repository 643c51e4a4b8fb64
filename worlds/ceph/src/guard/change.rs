//! One change of a cluster: what is sent for it.

use crate::connection::CommandTarget;
use crate::guard::held::{APPLICATION, LOCK_KEY};
use crate::guard::hook::OsdHook;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A change that a run may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClusterChange {
    /// This run holds the cluster. `version` is the configuration's before anything else.
    Lock {
        /// The run.
        run: String,
        /// The configuration's newest version before.
        version: u64,
    },
    /// An option is stored.
    Setting {
        /// The section.
        who: String,
        /// The option.
        name: String,
        /// Its value.
        value: String,
    },
    /// A flag of the whole cluster is set.
    Flag {
        /// Such as `noscrub`.
        flag: String,
    },
    /// An OSD is out.
    Out {
        /// Its number.
        osd: u32,
    },
    /// An OSD's process is begun anew by the operator's hook, so that it runs with another queue.
    Restarted {
        /// Its number.
        osd: u32,
        /// The hook.
        hook: OsdHook,
        /// The queue that it ran with before.
        queue: String,
    },
    /// An OSD's process is ended by the operator's hook.
    Stopped {
        /// Its number.
        osd: u32,
        /// The hook.
        hook: OsdHook,
        /// The map in which that process came up; absent if it did not run, or nobody asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        up_from: Option<u64>,
    },
    /// A pool is made, and labelled with the run.
    Pool {
        /// Its name.
        name: String,
        /// Placement groups.
        groups: u32,
        /// Copies of each object; the cluster's default where nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copies: Option<u32>,
        /// The run.
        run: String,
    },
    /// The balancer rests.
    Balancer,
}

impl ClusterChange {
    /// What the cluster is told for it, in order.
    pub(crate) fn commands(&self) -> Vec<(CommandTarget, Value)> {
        use CommandTarget::{Manager, Monitor};
        match self {
            ClusterChange::Lock { run, .. } => {
                vec![(Monitor, json!({"prefix": "config-key set", "key": LOCK_KEY, "val": run}))]
            }
            ClusterChange::Setting { who, name, value } => {
                vec![(
                    Monitor,
                    json!({"prefix": "config set", "who": who, "name": name, "value": value}),
                )]
            }
            ClusterChange::Flag { flag } => {
                vec![(Monitor, json!({"prefix": "osd set", "key": flag}))]
            }
            ClusterChange::Out { osd } => {
                vec![(Monitor, json!({"prefix": "osd out", "ids": [osd.to_string()]}))]
            }
            // The hook is no command of the cluster's.
            ClusterChange::Restarted { .. } | ClusterChange::Stopped { .. } => Vec::new(),
            ClusterChange::Pool { name, groups, copies, run } => vec![
                (Monitor, create_pool(name, *groups, *copies)),
                (
                    Monitor,
                    json!({"prefix": "osd pool application enable", "pool": name, "app": APPLICATION}),
                ),
                (
                    Monitor,
                    json!({
                        "prefix": "osd pool application set", "pool": name, "app": APPLICATION, "key": "run", "value": run,
                    }),
                ),
            ],
            ClusterChange::Balancer => vec![(Manager, json!({"prefix": "balancer off"}))],
        }
    }

    /// In which order changes are undone: the smallest first.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            ClusterChange::Setting { .. } => 0,
            ClusterChange::Stopped { .. } => 1,
            ClusterChange::Out { .. } => 2,
            ClusterChange::Pool { .. } => 3,
            // With the options that are stored by then, and with nothing of ours to copy.
            ClusterChange::Restarted { .. } => 4,
            ClusterChange::Flag { .. } => 5,
            ClusterChange::Balancer => 6,
            ClusterChange::Lock { .. } => 7,
        }
    }

    /// For people.
    pub(crate) fn in_words(&self) -> String {
        match self {
            ClusterChange::Lock { .. } => "the lock in the cluster".to_owned(),
            ClusterChange::Setting { who, name, value } => format!("{name} = {value} at {who}"),
            ClusterChange::Flag { flag } => format!("the flag {flag}"),
            ClusterChange::Out { osd } => format!("osd.{osd} out"),
            ClusterChange::Restarted { osd, queue, .. } => {
                format!("osd.{osd} begun anew with another queue than {queue}")
            }
            ClusterChange::Stopped { osd, .. } => format!("osd.{osd} stopped"),
            ClusterChange::Pool { name, .. } => format!("the pool {name}"),
            ClusterChange::Balancer => "the balancer's rest".to_owned(),
        }
    }
}

fn create_pool(name: &str, groups: u32, copies: Option<u32>) -> Value {
    let mut command = json!({
        "prefix": "osd pool create", "pool": name, "pg_num": groups, "pgp_num": groups, "autoscale_mode": "off",
    });
    if let Some(copies) = copies {
        command["size"] = json!(copies);
    }
    command
}
