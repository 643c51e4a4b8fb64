//! Histories in which disks are gone for good, any of them and as many as leave one, and an operator gives them up. Whatever is not named
//! as older reads as it was written; what is reads as something that was written; and the disks that were given up change nothing
//! when they come back.

use crate::judge::{Judged, OSDS, fresh_disk, is_whole};
use loadline_base::Span;
use loadline_cluster::Loss;
use loadline_osd::{DiskFault, OsdId, OsdSet};
use loadline_sim::disk::{CutStyle, SimDisk};
use loadline_store::paged::LogMode;

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    unproven: u32,
    older: u32,
    unfinished: u32,
    empty: u32,
    untouched: u32,
}

struct History {
    judged: Judged,
    past: Vec<SimDisk>,
}

impl History {
    fn load(&mut self, ops: u64) {
        for _ in 0..ops {
            self.judged.issue();
            let steps = self.judged.rng.below(12);
            self.judged.steps(steps);
        }
    }

    fn wait(&mut self, span: Span) {
        let limit = self.judged.node().now() + span;
        self.judged.node().wait_until(|node| is_whole(node) || node.now() > limit);
        self.judged.take_replies();
    }

    /// OSDs go and come under a load, one at a time and then perhaps more, so that copies know of different intervals.
    fn stir(&mut self) {
        for _ in 0..self.judged.rng.below(4) {
            let osd = self.judged.rng.below(u64::from(OSDS)) as u32;
            match self.judged.down.remove(&osd) {
                true => self.judged.node().open(OsdId::new(osd)),
                false if self.judged.down.len() < 2 => {
                    self.judged.take_down(OsdId::new(osd));
                    self.judged.down.insert(osd);
                }
                false => {}
            }
            let ops = self.judged.rng.below(40);
            self.load(ops);
            if self.judged.rng.below(2) == 0 {
                self.wait(Span::from_secs(2));
            }
        }
    }

    fn power(&mut self) -> Option<CutStyle> {
        (self.judged.rng.below(2) == 0).then_some(CutStyle::Random)
    }

    /// Disks are lost, empty or from the past. Answers whose, what the node says of it, and the disks before.
    fn lose(&mut self) -> (OsdSet, Loss, Vec<SimDisk>) {
        let power = self.power();
        let past = std::mem::take(&mut self.past);
        let mut lost = OsdSet::EMPTY;
        let before = self.judged.crash_giving_up(power, |disks, rng| {
            let many = 1 + rng.below(u64::from(OSDS) - 1) as u32;
            while lost.len() < many {
                lost.insert(OsdId::new(rng.below(u64::from(OSDS)) as u32));
            }
            for osd in lost.iter() {
                let at = osd.get() as usize;
                disks[at] = match rng.below(2) {
                    0 => fresh_disk(rng.next_u64()),
                    _ => past[at].clone(),
                };
            }
            lost
        });
        let loss = self.judged.node().cluster().loss().expect("disks were given up").clone();
        assert_eq!(loss.given_up, lost);
        (lost, loss, before)
    }
}

fn history(seed: u64, seen: &mut Seen) {
    let mode = LogMode::ALL[seed as usize % 4];
    let mut history = History { judged: Judged::new(seed, mode, 0), past: Vec::new() };
    history.load(60);
    history.judged.flush();
    let power = history.power();
    let mut past = Vec::new();
    history.judged.crash_and(power, |disks, _| past.clone_from(disks));
    history.past = past;
    history.wait(Span::from_secs(60));
    history.judged.flush();
    history.stir();
    history.judged.take_replies();
    let (lost, loss, before) = history.lose();
    println!("seed {seed}: {:?}", history.judged.node().cluster().loss_in_words());
    seen.unproven += u32::from(!loss.is_last);
    seen.older += loss.older.len() as u32;
    seen.unfinished += loss.unfinished.len() as u32;
    seen.empty += loss.empty.len() as u32;
    let named = [&loss.older, &loss.unfinished, &loss.empty];
    seen.untouched += u32::from(loss.is_last && named.iter().all(|pgs| pgs.is_empty()));
    history.judged.may_be_older(|pg| !loss.is_last || named.iter().any(|pgs| pgs.contains(&pg)));
    history.load(20);
    // The disks that were given up come back, as new as they ever were.
    let power = history.power();
    history.judged.crash_and(power, |disks, _| {
        lost.iter().for_each(|osd| disks[osd.get() as usize] = before[osd.get() as usize].clone());
    });
    history.load(20);
    for osd in lost.iter() {
        assert_eq!(history.judged.node().cluster().fault(osd), Some(DiskFault::GivenUp(osd)));
        history.judged.node().cluster().expect_new_disk(osd);
        history.judged.node().open(osd);
        let node = history.judged.node();
        node.wait_until(|node| node.waits_for_disk(osd) == (0, false));
        assert_eq!(node.cluster().fault(osd), Some(DiskFault::GivenUp(osd)), "it was meant");
        let seed = history.judged.rng.next_u64();
        history.judged.node().replace(osd, fresh_disk(seed));
        history.judged.node().open(osd);
    }
    history.load(20);
    history.judged.settle_and_check();
}

#[test]
fn what_is_left_is_served_when_disks_are_given_up() {
    let mut seen = Seen::default();
    (0..200).for_each(|seed| history(seed, &mut seen));
    println!("{seen:?}");
    assert!(seen.unproven > 5 && seen.untouched > 5 && seen.older > 5, "{seen:?}");
    assert!(seen.unfinished > 0 && seen.empty > 5, "{seen:?}");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn what_is_left_is_served_in_many_more_histories() {
    let mut seen = Seen::default();
    (1_000..4_000).for_each(|seed| history(seed, &mut seen));
    println!("{seen:?}");
}
