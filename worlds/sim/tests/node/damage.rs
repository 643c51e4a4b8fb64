//! Disks with blocks that cannot be read or have rotted, under clients, recovery and backfill. No block is bad on two disks, though copies
//! of one object may have a bad one each: so everything must read as it was written, and no OSD goes because of an object.

use crate::judge::{
    BLOCK, Judged, OSDS, config, contents, first_page, fresh_disk, is_whole, settings, stores,
    target,
};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::{PoolId, PoolSpec};
use loadline_osd::{DamageCounts, Data, DiskFault, OpKind, OsdId};
use loadline_sim::Sim;
use loadline_sim::disk::{CutStyle, Trouble};
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;
use std::collections::{BTreeMap, BTreeSet};

const OBJECTS: u64 = 12;
const OBJECT_BYTES: u64 = 64 << 10;
const PAGE: usize = BLOCK as usize;

/// What was seen of damage.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    damage: DamageCounts,
    /// Disks that had to be replaced, because the damage was in the way of a restart.
    replaced: u32,
}

impl Seen {
    fn add(&mut self, node: &mut Sim) {
        for osd in (0..OSDS).map(OsdId::new) {
            let DamageCounts { found, repaired, failed_ops } = node.node_mut().damage(osd);
            self.damage.found += found;
            self.damage.repaired += repaired;
            self.damage.failed_ops += failed_ops;
        }
    }
}

/// Makes pages that a disk has unreadable for some reads or for good, or lets them rot, where their contents say so.
fn spoil(node: &mut Sim, rng: &mut Rng, osd: OsdId, mut is_meant: impl FnMut(&[u8]) -> bool) {
    let disk = node.disk(osd);
    let image = disk.image();
    let first = first_page() as usize / PAGE;
    let places = image.chunks(PAGE).enumerate().skip(first);
    for (at, _) in places.filter(|(_, chunk)| is_meant(chunk)) {
        let range = (at * PAGE) as u64..((at + 1) * PAGE) as u64;
        match rng.below(3) {
            0 => disk.rot(range),
            1 => disk.fail_reads(range, Trouble::Times(1 + rng.below(3) as u32)),
            _ => disk.fail_reads(range, Trouble::Always),
        }
    }
}

/// Gives OSDs that cannot start from their disks other ones.
fn replace_broken(node: &mut Sim, rng: &mut Rng) -> u32 {
    let mut replaced = 0;
    for osd in (0..OSDS).map(OsdId::new) {
        if let Some(fault) = node.cluster().fault(osd) {
            // It is the store that gives up, and it says why; what an OSD wrote is what it reads.
            assert!(matches!(fault, DiskFault::Store(_)), "{osd}: {fault}");
            node.replace(osd, fresh_disk(rng.next_u64()));
            node.open(osd);
            replaced += 1;
        }
    }
    replaced
}

/// Waits until every copy is in its place.
fn heal(node: &mut Sim, rng: &mut Rng) -> u32 {
    let mut replaced = 0;
    for _ in 0..3 {
        if node.wait_until(is_whole) {
            return replaced;
        }
        replaced += replace_broken(node, rng);
    }
    panic!("it does not heal");
}

/// A node whose ops are waited for one by one, and what each object must hold.
struct Exact {
    rng: Rng,
    node: Option<Sim>,
    objects: Vec<Vec<u8>>,
    victim: OsdId,
    /// Several copies of few objects get bad pages, instead of one disk.
    is_apart: bool,
    /// Which disk has each page bad that was ever made bad.
    bad: BTreeMap<Vec<u8>, OsdId>,
    down: Option<OsdId>,
    mode: LogMode,
    seen: Seen,
}

impl Exact {
    fn new(seed: u64) -> Exact {
        Exact::in_mode(seed, LogMode::LogOnly)
    }

    fn in_mode(seed: u64, mode: LogMode) -> Exact {
        let mut rng = Rng::new(seed);
        let disks = (0..OSDS).map(|osd| fresh_disk(seed << 8 | u64::from(osd))).collect();
        let started = Sim::start(Time::ZERO, &config(&settings()), stores(mode), disks);
        let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
        let (name, pgs, copies) = ("p".into(), 4, 3);
        node.create_pool(PoolSpec {
            name,
            pgs,
            copies,
            object_bytes: OBJECT_BYTES,
            recovery_priority: 0,
        });
        let victim = OsdId::new(rng.below(u64::from(OSDS)) as u32);
        let objects = vec![Vec::new(); OBJECTS as usize];
        let seen = Seen::default();
        let is_apart = rng.below(2) == 0;
        let mut exact = Exact {
            rng,
            node: Some(node),
            is_apart,
            objects,
            victim,
            bad: BTreeMap::new(),
            down: None,
            mode,
            seen,
        };
        for object in 0..OBJECTS {
            let length = OBJECT_BYTES - exact.rng.below(8) * 1000;
            exact.write(object, 0, length);
        }
        exact
    }

    fn node(&mut self) -> &mut Sim {
        self.node.as_mut().expect("the node runs")
    }

    fn wait(&mut self, span: Span) {
        let until = self.node().now() + span;
        self.node().wait_until(|node| node.now() > until);
    }

    fn op(&mut self, kind: OpKind, object: u64, offset: u64, length: u64, data: Data) -> Vec<u8> {
        let target = target(kind, object, (offset as u32, length as u32));
        let id = self.node().issue(&target, data);
        let answered = |node: &Sim| node.workload().replies.iter().any(|reply| reply.op == id);
        assert!(self.node().wait_until(answered), "{kind:?} of object {object} has no reply");
        let replies = std::mem::take(&mut self.node().workload_mut().replies);
        let reply = replies.into_iter().find(|reply| reply.op == id).expect("it was found");
        let read = reply.result.unwrap_or_else(|_| panic!("{kind:?} of object {object} failed"));
        read.into_vec()
    }

    fn write(&mut self, object: u64, offset: u64, length: u64) {
        let bytes: Vec<u8> = (0..length).map(|_| self.rng.next_u64() as u8).collect();
        self.op(OpKind::Write, object, offset, length, Data::new(bytes.clone()));
        let model = &mut self.objects[object as usize];
        let (from, to) = (offset as usize, (offset + length) as usize);
        model.resize(model.len().max(to), 0);
        model[from..to].copy_from_slice(&bytes);
    }

    fn read(&mut self, object: u64, offset: u64, length: u64) {
        let mut read = self.op(OpKind::Read, object, offset, length, Data::NONE);
        let model = &self.objects[object as usize];
        let (from, to) = (offset as usize, (offset + length) as usize);
        let mut wanted = model[from.min(model.len())..to.min(model.len())].to_vec();
        wanted.resize(length as usize, 0);
        read.resize(length as usize, 0);
        assert!(read == wanted, "object {object} from {offset}, {length} bytes: wrong data");
    }

    fn random_op(&mut self) {
        let object = self.rng.below(OBJECTS);
        let offset = self.rng.below(OBJECT_BYTES - 1);
        let most = [300, 9_000, OBJECT_BYTES][self.rng.below(3) as usize];
        let length = 1 + self.rng.below(most.min(OBJECT_BYTES - offset));
        match self.rng.below(2) {
            0 => self.write(object, offset, length),
            _ => self.read(object, offset, length),
        }
    }

    fn spoil_some(&mut self) {
        // What the log tells of it is done with: a restart that needs a bad page fails.
        self.wait(Span::from_secs(1));
        let is_apart = self.is_apart;
        let objects = if is_apart { 1 + self.rng.below(3) } else { OBJECTS };
        let mut spoiled = BTreeMap::<OsdId, BTreeSet<Vec<u8>>>::new();
        for _ in 0..1 + self.rng.below(12) {
            let object = self.rng.below(objects) as usize;
            let mut page = self.objects[object].clone();
            page.resize(page.len().next_multiple_of(PAGE), 0);
            let pages = (page.len() / PAGE) as u64;
            let at = self.rng.below(pages) as usize * PAGE;
            let page = page[at..at + PAGE].to_vec();
            let disk =
                if is_apart { self.rng.below(u64::from(OSDS)) as u32 } else { self.victim.get() };
            let disk = *self.bad.entry(page.clone()).or_insert(OsdId::new(disk));
            spoiled.entry(disk).or_default().insert(page);
        }
        let node = self.node.as_mut().expect("the node runs");
        for (disk, pages) in spoiled {
            spoil(node, &mut self.rng, disk, |page| pages.contains(page));
        }
    }

    fn restart(&mut self) {
        self.restart_after(None);
    }

    fn restart_after(&mut self, power: Option<CutStyle>) {
        self.start_after(power);
        self.heal();
    }

    /// The same, and nobody waits until every copy is whole.
    fn start_after(&mut self, power: Option<CutStyle>) {
        let mut node = self.node.take().expect("the node runs");
        self.seen.add(&mut node);
        let now = node.now();
        let disks = node.crash(power, &mut self.rng);
        let started = Sim::start(now, &config(&settings()), stores(self.mode), disks);
        self.node = Some(started.unwrap_or_else(|(error, _)| panic!("no start: {error}")));
        self.down = None;
    }

    fn heal(&mut self) {
        if let Some(osd) = self.down.take() {
            self.node().open(osd);
        }
        let node = self.node.as_mut().expect("the node runs");
        self.seen.replaced += heal(node, &mut self.rng);
    }

    fn take_down(&mut self, osd: OsdId) {
        self.heal();
        self.node().take_down(osd);
        self.down = Some(osd);
    }

    fn happen(&mut self) {
        let osd = OsdId::new(self.rng.below(u64::from(OSDS)) as u32);
        match self.rng.below(6) {
            0 => self.take_down(osd),
            1 => self.heal(),
            2 => {
                // What comes from the disk again, instead of from memory, may be bad.
                self.take_down(self.victim);
                self.heal();
            }
            3 => self.restart(),
            4 if osd != self.victim || self.is_apart => {
                self.take_down(osd);
                let disk = fresh_disk(self.rng.next_u64());
                self.down = None;
                self.node().replace(osd, disk);
                self.node().open(osd);
            }
            _ => {}
        }
    }

    fn check_all(&mut self) {
        self.heal();
        (0..OBJECTS).for_each(|object| self.read(object, 0, OBJECT_BYTES));
        for osd in (0..OSDS).map(OsdId::new) {
            self.take_down(osd);
            (0..OBJECTS).for_each(|object| self.read(object, 0, OBJECT_BYTES));
        }
        self.heal();
        let differing = self.node().copies_that_differ();
        assert!(differing.is_empty(), "copies differ: {differing:?}");
    }
}

fn exact(seed: u64) -> Seen {
    let mut exact = Exact::new(seed);
    for _ in 0..10 {
        for _ in 0..exact.rng.below(20) {
            exact.random_op();
        }
        exact.spoil_some();
        exact.happen();
    }
    exact.check_all();
    let mut seen = exact.seen;
    seen.add(exact.node());
    seen
}

/// A copy that could not read what stood around a write lacked all of the object from then on. Another one had another block bad and the third
/// was down, so the other block was nowhere, though the first copy had it. Now a bad block makes no more missing than itself.
#[test]
fn a_write_around_a_bad_block_costs_no_other_block() {
    for (place, is_last) in (0..3).flat_map(|place| [(place, false), (place, true)]) {
        let mut exact = settled(7, LogMode::LogOnly);
        let map = exact.node().cluster().map();
        let mut copies = map.pg(map.pg_of(PoolId::new(0), ObjectNo(0))).acting.clone();
        copies.rotate_left(place);
        exact.take_down(copies[2]);
        let length = exact.objects[0].len();
        let (bad, bad_elsewhere) = if is_last { ((length - 1) / PAGE, 5) } else { (3, 5) };
        for (copy, page) in [(copies[0], bad), (copies[1], bad_elsewhere)] {
            let from = page * PAGE;
            let wanted = exact.objects[0][from..length.min(from + PAGE)].to_vec();
            let disk = exact.node().disk(copy);
            let image = disk.image();
            let pages = image.chunks(PAGE).enumerate().skip(first_page() as usize / PAGE);
            let places: Vec<usize> =
                pages.filter(|(_, page)| page.starts_with(&wanted)).map(|(at, _)| at).collect();
            assert!(!places.is_empty(), "it is there");
            for at in places {
                let range = (at * PAGE) as u64..((at + 1) * PAGE) as u64;
                disk.fail_reads(range, Trouble::Always);
            }
        }
        exact.write(0, (bad * PAGE) as u64 + 100, 300);
        exact.read(0, 0, OBJECT_BYTES);
        let mut seen = Seen::default();
        seen.add(exact.node());
        assert_eq!(seen.damage.failed_ops, 0);
        assert!(seen.damage.repaired > 0, "{seen:?}");
        exact.check_all();
    }
}

/// Writes of less than a page among them: what stands around them must be read first.
#[test]
fn everything_reads_as_it_was_written_from_disks_with_bad_blocks() {
    let mut sum = Seen::default();
    for seed in 0..40 {
        println!("seed {seed}");
        let Seen { damage, replaced } = exact(seed);
        assert_eq!(damage.failed_ops, 0, "there is always a good copy");
        sum.damage.found += damage.found;
        sum.damage.repaired += damage.repaired;
        sum.replaced += replaced;
    }
    println!("{sum:?}");
    assert!(sum.damage.repaired > 100, "bad objects are found and replaced: {sum:?}");
    assert!(sum.replaced < 40, "few disks are lost for it: {sum:?}");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn everything_reads_as_it_was_written_from_many_more_disks_with_bad_blocks() {
    for seed in 1_000..3_000 {
        println!("seed {seed}");
        assert_eq!(exact(seed).damage.failed_ops, 0);
    }
}

/// Many ops at once, on one disk with bad blocks.
fn under_load(seed: u64) -> Seen {
    let mode = if seed.is_multiple_of(2) { LogMode::Fsync } else { LogMode::LogOnly };
    let mut judged = Judged::new(seed, mode, 0);
    let victim = OsdId::new(judged.rng.below(u64::from(OSDS)) as u32);
    let mut seen = Seen::default();
    for _ in 0..8 {
        for _ in 0..judged.rng.below(60) {
            judged.issue();
            let steps = judged.rng.below(12);
            judged.steps(steps);
        }
        let known = judged.known.iter().map(|((object, block), known)| {
            (known.acked > 0).then(|| contents(*object, *block, known.acked))
        });
        let every_third = judged.rng.below(3) as usize;
        let spoiled: BTreeSet<Vec<u8>> = known.flatten().skip(every_third).step_by(3).collect();
        let node = judged.node.as_mut().expect("the node runs");
        spoil(node, &mut judged.rng, victim, |page| spoiled.contains(page));
        match judged.rng.below(3) {
            0 => {
                judged.node().take_down(victim);
                judged.node().open(victim);
            }
            1 => {
                // A write that only the bad disk had begun would be on no other one.
                judged.finish_ops();
                seen.add(judged.node());
                judged.crash(None);
            }
            _ => judged.steps(300),
        }
        let mut rng = Rng::new(seed);
        seen.replaced += replace_broken(judged.node(), &mut rng);
    }
    let mut rng = Rng::new(seed);
    seen.replaced += heal(judged.node(), &mut rng);
    judged.settle_and_check();
    seen.add(judged.node());
    seen
}

#[test]
fn nothing_acknowledged_is_lost_from_a_disk_with_bad_blocks_under_load() {
    let mut repaired = 0;
    for seed in 0..20 {
        println!("seed {seed}");
        repaired += under_load(seed).damage.repaired;
    }
    assert!(repaired > 50, "bad objects are found and replaced: {repaired}");
}

/// How a page is made bad.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Badness {
    Rots,
    IsUnreadable(Trouble),
}

/// Makes this page of an object bad on these disks.
fn spoil_page(exact: &mut Exact, place: (usize, usize), osds: &[u32]) {
    spoil_page_by(exact, place, osds, Badness::IsUnreadable(Trouble::Always));
}

fn spoil_page_by(exact: &mut Exact, (object, page): (usize, usize), osds: &[u32], by: Badness) {
    let model = &exact.objects[object];
    let page = model[page * PAGE..model.len().min((page + 1) * PAGE)].to_vec();
    for osd in osds {
        let disk = exact.node.as_mut().expect("the node runs").disk(OsdId::new(*osd));
        let image = disk.image();
        for (at, _) in image.chunks(PAGE).enumerate().filter(|(_, it)| it.starts_with(&page)) {
            let range = (at * PAGE) as u64..((at + 1) * PAGE) as u64;
            match by {
                Badness::Rots => disk.rot(range),
                Badness::IsUnreadable(trouble) => disk.fail_reads(range, trouble),
            }
        }
    }
}

/// Nothing of it is in memory, and the log is done with.
fn settled(seed: u64, mode: LogMode) -> Exact {
    let mut exact = Exact::in_mode(seed, mode);
    exact.wait(Span::from_secs(1));
    exact.restart();
    exact
}

/// Writes into a page, which may be refused. Whether it was carried out.
fn try_write(exact: &mut Exact, object: u64, (offset, length): (u64, u64)) -> bool {
    let bytes: Vec<u8> = (0..length).map(|_| exact.rng.next_u64() as u8).collect();
    let target = target(OpKind::Write, object, (offset as u32, length as u32));
    let id = exact.node().issue(&target, Data::new(bytes.clone()));
    exact.node().wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id));
    let replies = std::mem::take(&mut exact.node().workload_mut().replies);
    let is_done = replies.iter().any(|reply| reply.op == id && reply.result.is_ok());
    if is_done {
        exact.objects[object as usize][offset as usize..][..length as usize]
            .copy_from_slice(&bytes);
    }
    is_done
}

/// A page cannot be read on any disk for a moment, or on some, and is rotten on others. A write into a part of it waits until the moment is over, or is refused if no
/// copy has what stands around it even then, and what stood there is there. (Each copy lost the page at once: for good, and all of them.)
#[test]
fn what_no_disk_reads_for_a_moment_is_lost_by_no_write() {
    let moment = Badness::IsUnreadable(Trouble::Times(3));
    let always = Badness::IsUnreadable(Trouble::Always);
    for (case, by) in [
        [Some(moment); 3],
        [Some(moment), Some(moment), Some(Badness::Rots)],
        [Some(Badness::Rots), Some(moment), Some(always)],
        [Some(moment), None, Some(moment)],
        [None, Some(always), Some(Badness::Rots)],
    ]
    .into_iter()
    .enumerate()
    {
        for first in 0..3 {
            let mut exact = settled(80, LogMode::LogOnly);
            let map = exact.node().cluster().map();
            let acting = map.pg(map.pg_of(PoolId::new(0), ObjectNo(3))).acting.clone();
            for (at, by) in by.iter().enumerate() {
                let osd = acting[(at + first) % acting.len()];
                if let Some(by) = by {
                    spoil_page_by(&mut exact, (3, 4), &[osd.get()], *by);
                }
            }
            let is_done = try_write(&mut exact, 3, (4 * u64::from(BLOCK) + 300, 700));
            assert!(is_done || !by.contains(&None), "{case}, {first}");
            exact.read(3, 0, OBJECT_BYTES);
            exact.wait(Span::from_secs(5));
            exact.check_all();
        }
    }
}

/// A write into a part of a rotten page is acknowledged, because the other disks have it. The power fails at some moment between that and the mending of the
/// copy that lost the page: it is mended all the same, without anybody who reads it, before the others lose it too. (Nothing on a disk told of it but the page
/// itself, so only who read it found out.)
#[test]
fn a_lost_page_is_mended_through_a_loss_of_power_at_any_moment() {
    let mut cut_before_mending = 0;
    for steps in 0..40 {
        let mut exact = settled(81, LogMode::Fsync);
        let map = exact.node().cluster().map();
        let acting = map.pg(map.pg_of(PoolId::new(0), ObjectNo(3))).acting.clone();
        let loser = acting[steps % acting.len()].get();
        let all = acting.iter().map(|osd| osd.get());
        let others: Vec<u32> = all.filter(|osd| *osd != loser).collect();
        let by =
            if steps % 2 == 0 { Badness::Rots } else { Badness::IsUnreadable(Trouble::Always) };
        spoil_page_by(&mut exact, (3, 4), &[loser], by);
        assert!(try_write(&mut exact, 3, (4 * u64::from(BLOCK) + 300, 700)));
        for _ in 0..steps {
            exact.node().step();
        }
        let mended: u64 =
            (0..OSDS).map(|osd| exact.node().node_mut().damage(OsdId::new(osd)).repaired).sum();
        cut_before_mending += u32::from(mended == 0);
        let style = if steps % 3 == 0 { CutStyle::AllLost } else { CutStyle::Random };
        exact.restart_after(Some(style));
        exact.wait(Span::from_secs(5));
        exact.restart();
        spoil_page(&mut exact, (3, 4), &others);
        exact.read(3, 0, OBJECT_BYTES);
    }
    assert!(cut_before_mending > 10, "{cut_before_mending}");
}

/// Three copies have a bad page each, and another one all of them. (No copy is whole, so all of the object was an error.)
#[test]
fn what_each_copy_can_read_of_an_object_is_put_together() {
    let mut exact = settled(78, LogMode::LogOnly);
    let all: Vec<u32> = (0..OSDS).collect();
    for osd in &all {
        spoil_page(&mut exact, (3, 2 * *osd as usize), &[*osd]);
    }
    exact.read(3, 0, OBJECT_BYTES);
    for osd in &all {
        spoil_page(&mut exact, (5, 2 * *osd as usize), &[*osd]);
    }
    spoil_page(&mut exact, (5, 9), &all);
    let target = target(OpKind::Read, 5, (0, OBJECT_BYTES as u32));
    let id = exact.node().issue(&target, Data::NONE);
    exact.node().wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id));
    let replies = std::mem::take(&mut exact.node().workload_mut().replies);
    assert!(replies.iter().any(|reply| reply.op == id && reply.result.is_err()), "{replies:?}");
    let cluster = exact.node().cluster();
    let unfound: Vec<_> =
        cluster.map().pgs().flat_map(|(pg, _)| cluster.unfound_objects(pg)).collect();
    assert_eq!(unfound, [&target.object], "it was told before");
    exact.read(5, 0, 9 * u64::from(BLOCK));
    exact.read(5, 10 * u64::from(BLOCK), OBJECT_BYTES - 10 * u64::from(BLOCK));
    exact.write(5, 9 * u64::from(BLOCK), u64::from(BLOCK));
    let map = exact.node().map();
    assert!(map.pgs().all(|(_, state)| state.unfound.is_empty()), "that page alone was lost");
    exact.read(5, 0, OBJECT_BYTES);
    exact.check_all();
}

/// A write into a part of a page that cannot be read makes nothing more bad than that page, also where every copy has another bad one. (Each copy
/// lacked the whole object from then on: the third such write was an error, and so was every read.)
#[test]
fn a_write_into_a_bad_page_leaves_the_rest_of_its_copy_good() {
    let mut exact = settled(79, LogMode::LogOnly);
    let page = u64::from(BLOCK);
    for osd in 0..OSDS {
        spoil_page(&mut exact, (3, 3 * osd as usize + 1), &[osd]);
    }
    // Inside one, from the one before, into the one behind; nothing is mended in between.
    let writes = [(page + 300, 700), (4 * page - 100, 200), (8 * page - 50, 70)];
    let mut ids = Vec::new();
    for (offset, length) in writes {
        let bytes: Vec<u8> = (0..length).map(|_| exact.rng.next_u64() as u8).collect();
        let model = &mut exact.objects[3];
        model[offset as usize..(offset + length) as usize].copy_from_slice(&bytes);
        let target = target(OpKind::Write, 3, (offset as u32, length as u32));
        ids.push(exact.node().issue(&target, Data::new(bytes)));
    }
    exact.node().wait_until(|node| node.workload().replies.len() == ids.len());
    let replies = std::mem::take(&mut exact.node().workload_mut().replies);
    assert!(replies.iter().all(|reply| reply.result.is_ok()), "{replies:?}");
    exact.read(3, 0, OBJECT_BYTES);
    let mut seen = exact.seen;
    seen.add(exact.node());
    assert!(seen.damage.found >= 3, "{seen:?}");
    exact.check_all();
}

/// Every copy of an object is bad. Who reads it is told so, and everything else is served; a copy that is written anew is a
/// good one.
#[test]
fn what_no_disk_can_read_is_an_error_for_who_reads_it_alone() {
    let mut exact = settled(77, LogMode::LogOnly);
    let all: Vec<u32> = (0..OSDS).collect();
    spoil_page(&mut exact, (3, 0), &all);
    let target = target(OpKind::Read, 3, (0, BLOCK));
    let id = exact.node().issue(&target, Data::NONE);
    exact.node().wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id));
    let replies = std::mem::take(&mut exact.node().workload_mut().replies);
    assert!(replies.iter().any(|reply| reply.op == id && reply.result.is_err()), "{replies:?}");
    exact.read(3, u64::from(BLOCK), u64::from(BLOCK));
    exact.read(4, 0, OBJECT_BYTES);
    let up = exact.node().cluster().map().osds().iter().filter(|(_, state)| state.up).count();
    assert_eq!(up, OSDS as usize);
    exact.write(3, 0, OBJECT_BYTES);
    exact.check_all();
}

/// Reads, which may be refused. What is answered is right.
fn try_read(exact: &mut Exact, object: u64, (offset, length): (u64, u64)) -> bool {
    let target = target(OpKind::Read, object, (offset as u32, length as u32));
    let id = exact.node().issue(&target, Data::NONE);
    let answered = |node: &Sim| node.workload().replies.iter().any(|reply| reply.op == id);
    assert!(exact.node().wait_until(answered), "a read of object {object} has no reply");
    let replies = std::mem::take(&mut exact.node().workload_mut().replies);
    let reply = replies.into_iter().find(|reply| reply.op == id).expect("it was found");
    let Ok(read) = reply.result else { return false };
    let (mut read, mut wanted) = (read.into_vec(), exact.objects[object as usize].clone());
    let range = offset as usize..(offset + length) as usize;
    wanted.resize(OBJECT_BYTES as usize, 0);
    read.resize(length as usize, 0);
    assert!(read == wanted[range], "object {object} from {offset}, {length} bytes: wrong data");
    true
}

/// Three pages of each object, of which each of its three copies may have lost any.
const LOSABLE: std::ops::RangeInclusive<usize> = 1..=3;

/// Which of them each copy has lost: three bits a copy, the primary's the lowest.
#[derive(Clone, Copy, Debug)]
struct Losses(u32);

impl Losses {
    fn has(self, copy: usize, page: usize) -> bool {
        self.0 >> (3 * copy + page - 1) & 1 == 0
    }

    fn is_somewhere(self, page: usize) -> bool {
        (0..3).any(|copy| self.has(copy, page))
    }
}

/// What comes first to an object of which copies have lost pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    Read,
    Write,
    /// A write, and the end of the power.
    WriteAndCut,
}

/// Makes these pages bad on one disk.
fn spoil_pages(exact: &mut Exact, osd: OsdId, pages: &BTreeMap<Vec<u8>, Badness>) {
    let disk = exact.node().disk(osd);
    let image = disk.image();
    for (at, page) in image.chunks(PAGE).enumerate().skip(first_page() as usize / PAGE) {
        let range = (at * PAGE) as u64..((at + 1) * PAGE) as u64;
        match pages.get(page) {
            Some(Badness::Rots) => disk.rot(range),
            Some(Badness::IsUnreadable(trouble)) => disk.fail_reads(range, *trouble),
            None => {}
        }
    }
}

/// As many cases as there are objects, one for each.
fn each_has_lost(seed: u64, first: First, cases: &[Losses]) {
    let mut exact = settled(seed, LogMode::Fsync);
    let mut bad = BTreeMap::<OsdId, BTreeMap<Vec<u8>, Badness>>::new();
    for (object, losses) in cases.iter().enumerate() {
        let map = exact.node().cluster().map();
        let acting = map.pg(map.pg_of(PoolId::new(0), ObjectNo(object as u64))).acting.clone();
        for (copy, page) in (0..3).flat_map(|copy| LOSABLE.map(move |page| (copy, page))) {
            let by = match (copy + page + object) % 2 {
                0 => Badness::Rots,
                _ => Badness::IsUnreadable(Trouble::Always),
            };
            if !losses.has(copy, page) {
                let page = exact.objects[object][page * PAGE..][..PAGE].to_vec();
                bad.entry(acting[copy]).or_default().insert(page, by);
            }
        }
    }
    bad.iter().for_each(|(osd, pages)| spoil_pages(&mut exact, *osd, pages));
    // It is about a part of this page, and of the one behind it if the number is odd.
    let written = |object: usize| (1 + object % 3, object % 2 == 1 && object % 3 != 2);
    let write = |exact: &mut Exact, object: usize, losses: Losses| {
        let (page, is_across) = written(object);
        let may = losses.is_somewhere(page);
        // What is refused may be done in part.
        let is_across = is_across && losses.is_somewhere(page + 1) == may;
        let from = (page * PAGE) as u64 + 300;
        let length = if is_across { PAGE as u64 } else { 700 };
        let is_done = try_write(exact, object as u64, (from, length));
        assert_eq!(is_done, may, "{first:?}, write of {length} at page {page}, {losses:?}");
    };
    let all = || cases.iter().copied().enumerate();
    if first != First::Read {
        all().for_each(|(object, losses)| write(&mut exact, object, losses));
    }
    if first == First::WriteAndCut {
        // What is nowhere is lost, and its group is not clean.
        exact.start_after(Some(CutStyle::Random));
        exact.wait(Span::from_secs(5));
        let cluster = exact.node().cluster();
        let unfound: BTreeSet<ObjectNo> =
            cluster.map().pgs().flat_map(|(pg, _)| cluster.unfound_objects(pg)).copied().collect();
        for (object, losses) in all().filter(|(at, losses)| !losses.is_somewhere(written(*at).0)) {
            let is_told = unfound.contains(&ObjectNo(object as u64));
            assert!(is_told, "object {object} is named before anybody reads it, {losses:?}");
        }
    }
    for (object, losses) in all() {
        for page in LOSABLE {
            let is_read = try_read(&mut exact, object as u64, ((page * PAGE) as u64, PAGE as u64));
            assert_eq!(is_read, losses.is_somewhere(page), "{first:?}, page {page}, {losses:?}");
        }
        let is_read = try_read(&mut exact, object as u64, (0, OBJECT_BYTES));
        let is_whole = (1..=3).all(|page| losses.is_somewhere(page));
        assert_eq!(is_read, is_whole, "{first:?}, {losses:?}");
    }
    if first == First::Read {
        all().for_each(|(object, losses)| write(&mut exact, object, losses));
    }
    // What is nowhere is written anew, and then everything is everywhere.
    for (object, losses) in all() {
        for page in LOSABLE.filter(|page| !losses.is_somewhere(*page)) {
            exact.write(object as u64, (page * PAGE) as u64, PAGE as u64);
        }
    }
    exact.check_all();
}

/// Copies of an object have lost other pages each: what one of them has is read and written into, and nothing else.
#[test]
fn what_any_copy_has_is_served_whatever_each_has_lost() {
    // From the 72nd on two copies may have lost what the primary reads without ever meeting that.
    let all: Vec<Losses> = (0..72).map(Losses).collect();
    for (at, cases) in all.chunks(OBJECTS as usize).enumerate() {
        let first = [First::Read, First::Write, First::WriteAndCut][at % 3];
        each_has_lost(at as u64, first, cases);
    }
}
