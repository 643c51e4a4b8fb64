//! What a cluster is set to, for whoever wants to know afterwards whether it is as it was.

use loadline_ceph::answers::{OsdMapDump, StoredOption};
use loadline_ceph::{CephConnection, CephError, CommandTarget, ask};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Options, flags, pools, OSDs and balancer, each a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterState(BTreeSet<String>);

impl ClusterState {
    pub(super) fn ask(on: &dyn CephConnection) -> Result<ClusterState, CephError> {
        use CommandTarget::{Manager, Monitor};
        let stored: Vec<StoredOption> = ask(on, &Monitor, &json!({"prefix": "config dump"}))?;
        let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
        let balancer: Value = ask(on, &Manager, &json!({"prefix": "balancer status"}))?;
        let options = stored.iter().map(|it| format!("{}/{} = {}", it.who(), it.name, it.value));
        let flags = map.flags_set.iter().map(|flag| format!("flag {flag}"));
        let pools = map.pools.iter().map(|pool| format!("pool {}", pool.pool_name));
        let osds = map.osds.iter().map(|osd| {
            let state = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
            format!(
                "osd.{} {} {}",
                osd.id,
                state(osd.up, "up", "down"),
                state(osd.is_in, "in", "out")
            )
        });
        let balancer = format!("balancer active: {}", balancer["active"]);
        Ok(ClusterState(options.chain(flags).chain(pools).chain(osds).chain([balancer]).collect()))
    }

    /// What is there now and was not, and what was and is no more.
    pub(super) fn differs(&self, now: &ClusterState) -> Vec<String> {
        let gone = self.0.difference(&now.0).map(|line| format!("{line} (no more)"));
        let new = now.0.difference(&self.0).map(|line| format!("{line} (new)"));
        gone.chain(new).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_and_what_is_gone_are_told() {
        let state =
            |lines: &[&str]| ClusterState(lines.iter().map(|&line| line.to_owned()).collect());
        let (before, after) = (state(&["flag a", "pool p"]), state(&["pool p", "flag b"]));
        assert_eq!(before.differs(&after), ["flag a (no more)", "flag b (new)"]);
        assert!(before.differs(&before).is_empty());
    }
}
