//! Disks that are given up: how a node starts without them, and what its blocks may hold then.

use super::{BLOCKS, Judged, OBJECTS, OSDS, config, settings, stores};
use loadline_base::Rng;
use loadline_cluster::{PoolId, StartError};
use loadline_osd::{OsdId, OsdSet, PgId};
use loadline_sim::Sim;
use loadline_sim::disk::{CutStyle, SimDisk};
use loadline_store::ObjectNo;

impl Judged {
    /// Dies, and starts with what is left: `change` takes disks away and says whose, which are given up. Answers the disks as they were before.
    pub(crate) fn crash_giving_up(
        &mut self,
        power: Option<CutStyle>,
        change: impl FnOnce(&mut Vec<SimDisk>, &mut Rng) -> OsdSet,
    ) -> Vec<SimDisk> {
        self.take_replies();
        let node = self.node.take().expect("the node runs");
        let now = node.now();
        let before = node.crash(power, &mut self.rng);
        let mut disks = before.clone();
        let lost = change(&mut disks, &mut self.rng);
        self.forget_under_way();
        self.lose(power.is_some());
        let config = config(&settings());
        let start = |given_up: OsdSet| {
            let disks = disks.clone();
            Sim::start_without(now, &config, stores(self.mode), disks, given_up)
                .map_err(|(error, _)| error)
        };
        match start(OsdSet::EMPTY) {
            Ok(_) => {}
            Err(StartError::NoQuorum { lost: named, .. }) => assert_eq!(named, lost),
            Err(error) => panic!("no start: {error}"),
        }
        for osd in lost.iter().filter(|_| lost.len() > 1) {
            let too_few = lost.iter().filter(|other| *other != osd).collect();
            let refused = start(too_few).map(drop).expect_err("too few are named");
            assert_eq!(refused, StartError::NotGivenUp([osd].into_iter().collect()));
        }
        for good in (0..OSDS).map(OsdId::new).filter(|osd| !lost.contains(*osd)) {
            let too_many = lost.iter().chain([good]).collect();
            let refused = start(too_many).map(drop).expect_err("a good one is named");
            assert_eq!(refused, StartError::NotLost(good));
        }
        self.node = Some(start(lost).unwrap_or_else(|error| panic!("no start: {error}")));
        self.down.clear();
        before
    }

    /// The node has said that writes to some placement groups may be missing: what is there may hold anything that was ever written.
    pub(crate) fn may_be_older(&mut self, is_named: impl Fn(PgId) -> bool) {
        for object in 0..OBJECTS {
            let pg = self.node().cluster().map().pg_of(PoolId::new(0), ObjectNo(object));
            if !is_named(pg) {
                continue;
            }
            for block in (0..BLOCKS).map(|block| (object, block)) {
                let issued = self.issued.get(&block).cloned().unwrap_or_default();
                let known = self.known.entry(block).or_default();
                known.maybe.extend(issued);
                known.maybe.insert(0);
            }
        }
    }
}
