//! Random lives on five disks: owners with random subsets, disks that go in mid-life, maps that supersede each other,
//! holders that change, deaths at any moment.

use crate::lives::{ALL, Diverged, Owner, Rules, World, osds};
use loadline_base::Rng;
use loadline_osd::{OsdId, OsdSet};

const DISKS: u32 = 5;
const LIVES: usize = 12;

struct History {
    rng: Rng,
    world: World,
    rules: Rules,
    commits: usize,
    refusals: usize,
}

impl History {
    /// So many in a hundred.
    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn some_of(&mut self, of: &[OsdId]) -> OsdSet {
        let bits = 1 + self.rng.below((1 << of.len()) - 1);
        of.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, osd)| *osd).collect()
    }

    fn shuffled(&mut self, of: OsdSet) -> Vec<OsdId> {
        let mut list: Vec<OsdId> = of.iter().collect();
        self.rng.shuffle(&mut list);
        list
    }

    fn run(&mut self) -> Result<(), Diverged> {
        let all: Vec<OsdId> = osds(0..DISKS).iter().collect();
        let holders = self.some_of(&all);
        let owner = self.world.create(holders);
        self.live(owner, osds(0..DISKS))?;
        for _ in 0..LIVES {
            let present = all.iter().copied().filter(|_| self.chance(75)).collect();
            match self.world.start(present, self.rules)? {
                None => self.refusals += 1,
                Some(mut owner) => {
                    if self.promise(&mut owner, present) {
                        self.live(owner, present)?;
                    }
                }
            }
        }
        let starts = self.world.start(osds(0..DISKS), self.rules)?.is_some();
        assert!(starts || !self.world.created, "with every disk there: {:?}", self.world);
        Ok(())
    }

    fn promise(&mut self, owner: &mut Owner, present: OsdSet) -> bool {
        for osd in self.shuffled(present) {
            if !self.rules.promise || self.chance(10) {
                break;
            }
            self.world.promise(owner, osd);
        }
        owner.commit.may_begin()
    }

    fn live(&mut self, mut owner: Owner, mut present: OsdSet) -> Result<(), Diverged> {
        self.world.begin(&mut owner, None);
        while !self.chance(8) && !present.is_empty() {
            let osd = self.shuffled(present)[0];
            match self.rng.below(20) {
                0 => drop(present.remove(osd)),
                1..=3 if owner.commit.committed().is_some() => {
                    let holders = self.new_holders();
                    self.world.begin(&mut owner, holders);
                }
                _ => {
                    self.world.save(&owner, osd);
                    if self.chance(5) {
                        return Ok(());
                    }
                    let before = self.world.committed.len();
                    self.world.hear(&mut owner, osd)?;
                    self.commits += usize::from(self.world.committed.len() > before);
                }
            }
        }
        Ok(())
    }

    /// Holders out of the disks that have a map, sometimes.
    fn new_holders(&mut self) -> Option<OsdSet> {
        let disks = self.world.disks.iter().enumerate();
        let with_map: Vec<OsdId> = disks
            .filter(|(_, disk)| disk.record.is_some())
            .map(|(at, _)| OsdId::from(at))
            .collect();
        self.chance(50).then(|| self.some_of(&with_map))
    }
}

/// How many of the histories from these seeds go wrong; how many maps were committed, and starts refused.
fn run(seeds: u64, rules: Rules) -> (u64, usize, usize) {
    let (mut wrong, mut commits, mut refusals) = (0, 0, 0);
    for seed in 0..seeds {
        let rng = Rng::new(seed);
        let world = World::new(DISKS as usize);
        let mut history = History { rng, world, rules, commits: 0, refusals: 0 };
        if history.run().is_err() {
            wrong += 1;
        }
        commits += history.commits;
        refusals += history.refusals;
    }
    (wrong, commits, refusals)
}

#[test]
fn no_two_histories_diverge_and_nothing_committed_is_lost() {
    let (wrong, commits, refusals) = run(100_000, ALL);
    assert_eq!(wrong, 0);
    assert!(commits > 100_000 && refusals > 100_000, "{commits} commits, {refusals} refusals");
}

/// Each rule is there because without it something is lost: the judge must see that.
#[test]
fn without_any_one_of_the_rules_histories_diverge() {
    let lost = |rules| run(2_000, rules).0;
    assert!(lost(Rules { promise: false, ..ALL }) > 0, "no promise");
    assert!(lost(Rules { before: false, ..ALL }) > 0, "the holders before do not vote");
    assert!(lost(Rules { terms: false, ..ALL }) > 0, "epochs alone");
}
