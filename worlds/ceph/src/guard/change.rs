//! One change of a cluster: what is sent for it.

use crate::connection::CommandTarget;
use crate::guard::held::{APPLICATION, LOCK_KEY};
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
    /// A pool is made, and labelled with the run.
    Pool {
        /// Its name.
        name: String,
        /// Placement groups.
        groups: u32,
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
            ClusterChange::Pool { name, groups, run } => vec![
                (
                    Monitor,
                    json!({"prefix": "osd pool create", "pool": name, "pg_num": groups, "pgp_num": groups}),
                ),
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
            ClusterChange::Out { .. } => 1,
            ClusterChange::Pool { .. } => 2,
            ClusterChange::Flag { .. } => 3,
            ClusterChange::Balancer => 4,
            ClusterChange::Lock { .. } => 5,
        }
    }

    /// For people.
    pub(crate) fn in_words(&self) -> String {
        match self {
            ClusterChange::Lock { .. } => "the lock in the cluster".to_owned(),
            ClusterChange::Setting { who, name, value } => format!("{name} = {value} at {who}"),
            ClusterChange::Flag { flag } => format!("the flag {flag}"),
            ClusterChange::Out { osd } => format!("osd.{osd} out"),
            ClusterChange::Pool { name, .. } => format!("the pool {name}"),
            ClusterChange::Balancer => "the balancer's rest".to_owned(),
        }
    }
}
