//! Histories in which one disk at a time is not what it should be: put back from the past, another OSD's copy, rotten, with writes
//! lost or gone astray, without room, slow. Nothing that was flushed is lost, nothing wrong is read, and the node comes back to
//! three good copies by itself, or when an operator does what the fault asks for.

use crate::judge::{BLOCK, Judged, OSDS, first_page, fresh_disk, is_whole};
use loadline_base::{Rng, Span};
use loadline_osd::{DiskFault, OsdId};
use loadline_sim::disk::{CutStyle, SimDisk};
use loadline_store::paged::LogMode;

const ROUNDS: u64 = 5;

/// What is wrong with a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lie {
    /// It is what it was a life ago.
    Stale,
    /// Another OSD's disk was copied onto it.
    Copied,
    /// Bits of the live log have rotted while it was at rest.
    RottenLog,
    /// So have pages.
    RottenPages,
    /// Some writes were answered and never done.
    LostWrites,
    /// Some went elsewhere.
    StrayWrites,
    /// For a while there is no room.
    NoRoom,
    /// For a while nothing is answered.
    Slow,
}

impl Lie {
    const ALL: [Lie; 8] = [
        Lie::Stale,
        Lie::Copied,
        Lie::RottenLog,
        Lie::RottenPages,
        Lie::LostWrites,
        Lie::StrayWrites,
        Lie::NoRoom,
        Lie::Slow,
    ];

    /// Whether damage may be left that nobody has met yet. One disk at a time lies, so such a one is replaced.
    fn lingers(self) -> bool {
        matches!(self, Lie::RottenPages | Lie::LostWrites | Lie::StrayWrites | Lie::RottenLog)
    }
}

/// What was done about it.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    healed: u32,
    replaced: u32,
}

/// One history.
struct History {
    judged: Judged,
    /// The disks as they were when the life before this one ended.
    past: Vec<SimDisk>,
    done: Done,
}

impl History {
    fn new(seed: u64) -> History {
        let mode = LogMode::ALL[seed as usize % 4];
        History { judged: Judged::new(seed, mode, 0), past: Vec::new(), done: Done::default() }
    }

    fn load(&mut self, ops: u64) {
        for _ in 0..ops {
            self.judged.issue();
            let steps = self.judged.rng.below(12);
            self.judged.steps(steps);
        }
    }

    /// The node dies; its disks are changed at rest, and it starts again.
    fn reboot(&mut self, change: impl FnOnce(&mut Vec<SimDisk>, &mut Rng)) {
        let power = match self.judged.rng.below(3) {
            0 => None,
            1 => Some(CutStyle::Random),
            _ => Some(CutStyle::AllLost),
        };
        let past = &mut self.past;
        self.judged.crash_and(power, |disks, rng| {
            past.clone_from(disks);
            change(disks, rng);
        });
    }

    fn lie(&mut self, lie: Lie, victim: OsdId) {
        let at = victim.get() as usize;
        let past = self.past.get(at).cloned();
        match lie {
            Lie::Stale => self.reboot(|disks, _| {
                disks[at] = past.expect("there was a life before");
                disks[at].set_full(false);
            }),
            Lie::Copied => {
                let mut copy = 0;
                self.reboot(|disks, rng| {
                    // Two of four are a quorum with the lowest of them: without it the node does not start, and says so.
                    let (from, to) = [(1, 2), (2, 3), (3, 1)][rng.below(3) as usize];
                    disks[to] = disks[from].clone();
                    copy = to;
                });
                // Both are refused until the copy is gone.
                let seed = self.judged.rng.next_u64();
                self.reboot(|disks, _| disks[copy] = fresh_disk(seed));
            }
            Lie::RottenLog => self.reboot(|disks, rng| {
                for _ in 0..3 {
                    let place = 16384 + rng.below(first_page() - 16384);
                    disks[at].rot(place..place + 1);
                }
            }),
            Lie::RottenPages => self.reboot(|disks, rng| {
                let pages = disks[at].spec().size.get() / u64::from(BLOCK);
                for _ in 0..40 {
                    let first = first_page() / u64::from(BLOCK);
                    let page = (first + rng.below((pages - first) / 4)) * u64::from(BLOCK);
                    disks[at].rot(page..page + 1);
                }
            }),
            Lie::LostWrites | Lie::StrayWrites => {
                for _ in 0..3 {
                    let nth = 1 + self.judged.rng.below(60);
                    let to = first_page() + self.judged.rng.below(1000) * u64::from(BLOCK);
                    let disk = self.judged.node().disk(victim);
                    match lie {
                        Lie::LostWrites => disk.lose_write(nth),
                        _ => disk.misdirect_write(nth, to),
                    }
                }
                self.load(40);
                // What no flush has covered may be on this disk alone after a crash, and then be lost with it.
                self.judged.flush();
                self.reboot(|_, _| {});
            }
            Lie::NoRoom => {
                self.judged.node().disk(victim).set_full(true);
                self.load(40);
                self.judged.steps(400);
                match self.judged.rng.below(2) {
                    // A start that needs room waits for it.
                    0 => self.reboot(|disks, _| disks[at].set_full(false)),
                    _ => self.judged.node().disk(victim).set_full(false),
                }
            }
            Lie::Slow => {
                let until = self.judged.node().now() + Span::from_secs(20);
                self.judged.node().disk(victim).hold_until(until);
                self.load(40);
            }
        }
    }

    /// Lets the node heal itself; where it asks for an operator, gives it a new disk.
    fn mend(&mut self, victim: OsdId) {
        for _ in 0..12 {
            // A device is asked for room again after a second at most, and a real node looks how full it is every second.
            let second = self.judged.node().now() + Span::from_secs(1);
            self.judged.node().wait_until(|node| node.now() > second);
            self.judged.node().check_fullness();
            let limit = self.judged.node().now() + Span::from_secs(60);
            self.judged.node().wait_until(|node| is_whole(node) || node.now() > limit);
            self.judged.take_replies();
            let held = self.judged.node().cluster().held_writes();
            if is_whole(self.judged.node()) && held == 0 {
                return;
            }
            let seed = self.judged.rng.next_u64();
            let healed = self.judged.node().heal_damaged(|_| fresh_disk(seed));
            self.done.healed += healed.len() as u32;
            if healed.is_empty() && held == 0 && !self.replace_faulty() && self.has_unfound() {
                // The last write before a crash was on this disk alone, which cannot read it: the state before that write is the
                // last, with the disk or without it.
                if seed.is_multiple_of(2) {
                    self.replace(victim);
                } else {
                    self.judged.node().give_up_unfound();
                }
            }
        }
        panic!("it is not mended: {}", self.judged.state());
    }

    fn has_unfound(&mut self) -> bool {
        let cluster = self.judged.node().cluster();
        cluster.map().pgs().any(|(pg, _)| !cluster.unfound_objects(pg).is_empty())
    }

    /// A new disk for who needs one, if anybody does. Of two disks that say the same the node has taken neither: the wrong one is
    /// taken away, and the node started again.
    fn replace_faulty(&mut self) -> bool {
        for osd in (0..OSDS).map(OsdId::new) {
            let fault = self.judged.node().cluster().fault(osd);
            if fault.is_none() || matches!(fault, Some(DiskFault::Twice(_))) {
                continue;
            }
            self.replace(osd);
            return true;
        }
        false
    }

    fn replace(&mut self, osd: OsdId) {
        let disk = fresh_disk(self.judged.rng.next_u64());
        self.judged.node().take_down(osd);
        self.judged.node().replace(osd, disk);
        self.judged.node().open(osd);
        self.done.replaced += 1;
    }
}

fn history(seed: u64) -> (Done, Vec<Lie>) {
    let mut history = History::new(seed);
    let mut told = Vec::new();
    history.load(60);
    history.judged.flush();
    history.reboot(|_, _| {});
    for round in 0..ROUNDS {
        let ops = 10 + history.judged.rng.below(60);
        history.load(ops);
        let lie = Lie::ALL[history.judged.rng.below(Lie::ALL.len() as u64) as usize];
        let victim = OsdId::new(history.judged.rng.below(u64::from(OSDS)) as u32);
        history.mend(victim);
        history.judged.flush();
        println!("seed {seed}, round {round}: {victim} {lie:?}");
        history.lie(lie, victim);
        let ops = history.judged.rng.below(30);
        history.load(ops);
        history.mend(victim);
        if lie.lingers() {
            history.replace(victim);
            history.mend(victim);
        }
        told.push(lie);
    }
    history.judged.settle_and_check();
    (history.done, told)
}

#[test]
fn nothing_is_lost_when_one_disk_at_a_time_lies() {
    let mut told = Vec::new();
    let mut healed = 0;
    for seed in 0..40 {
        let (done, lies) = history(seed);
        told.extend(lies);
        healed += done.healed;
    }
    for lie in Lie::ALL {
        let times = told.iter().filter(|it| **it == lie).count();
        assert!(times > 5, "{lie:?} was told {times} times");
    }
    assert!(healed > 3, "damaged disks are healed: {healed}");
}

/// A start's second map named all disks, and still asked for a quorum of the two that had held the first. Nothing changed the map
/// after that; when the node was killed later and one of the two had rotted, it did not start, with three good disks of four.
#[test]
fn a_map_that_all_have_needs_no_quorum_of_few() {
    history(1067);
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn nothing_is_lost_in_many_more_histories_of_disks_that_lie() {
    (1_000..3_000).for_each(|seed| drop(history(seed)));
}
