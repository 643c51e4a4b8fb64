//! Bits that somebody flips in the files of a node that rests: whatever they hit, the node finds it when everything is scrubbed, has it from the other
//! copies again, and never gives a client anything that was not written. The judge is a plain copy of every image, and a checker that knows stores
//! and no node.

use super::clients::Client;
use super::node::Node;
use super::scrub::{PAGE, await_scrubs, errors, rot, scrub};
use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::check::{StoreFinding, check};
use loadline_store::paged::{Ask, Op, Options};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const OSDS: usize = 3;
const IMAGE_BYTES: usize = 1 << 20;

/// A node with images, snapshots and clones, and what each must read as.
struct Judged {
    node: Node,
    rng: Rng,
    images: BTreeMap<String, Vec<u8>>,
    named: u32,
}

fn osd(number: usize) -> String {
    format!("osd.{number}")
}

impl Judged {
    fn new(seed: u64) -> Judged {
        println!("seed {seed}");
        let node = Node::with_osds(OSDS as u32);
        let mut judged = Judged { node, rng: Rng::new(seed), images: BTreeMap::new(), named: 0 };
        judged.create();
        judged
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    fn name(&mut self) -> String {
        self.named += 1;
        format!("i{}", self.named)
    }

    fn create(&mut self) -> String {
        let name = self.name();
        self.node.says(&["image", "create", &name, "--size", "1MiB", "--object-size", "64KiB"]);
        self.images.insert(name.clone(), vec![0; IMAGE_BYTES]);
        name
    }

    fn client(&self, image: &str) -> Client {
        Client::connect(&self.node.file("nbd.sock"), image)
    }

    /// Any image, or any snapshot.
    fn any(&mut self, is_snapshot: bool) -> Option<String> {
        let named = self.images.keys().filter(|name| name.contains('@') == is_snapshot);
        let named: Vec<String> = named.cloned().collect();
        (!named.is_empty()).then(|| named[self.below(named.len())].clone())
    }

    fn write(&mut self, image: &str, at: usize, length: usize) {
        let mut bytes = vec![0; length];
        bytes.fill_with(|| self.rng.below(256) as u8);
        self.client(image).write(at as u64, &bytes);
        self.images.get_mut(image).unwrap()[at..at + length].copy_from_slice(&bytes);
    }

    /// What clients and operators do.
    fn load(&mut self) {
        for _ in 0..14 {
            let image = self.any(false).expect("there is an image");
            let at = self.below(IMAGE_BYTES);
            let most = (IMAGE_BYTES - at).min(100_000);
            let length = 1 + self.below(most);
            self.write(&image, at, length);
        }
        if self.images.len() < 9 {
            let image = self.any(false).expect("there is an image");
            let snapshot = format!("{image}@{}", self.name());
            self.node.says(&["image", "snapshot", "create", &snapshot]);
            self.images.insert(snapshot, self.images[&image].clone());
        }
        if self.images.len() < 9 {
            let snapshot = self.any(true).expect("one was made");
            let clone = self.name();
            self.node.says(&["image", "clone", &snapshot, &clone]);
            self.images.insert(clone, self.images[&snapshot].clone());
        }
        let clones_of = |node: &Node, snapshot: &str| {
            let images = node.json(&["image", "list"])["images"].take();
            images.as_array().unwrap().iter().any(|image| image["parent"] == snapshot)
        };
        if self.images.len() > 6
            && let Some(snapshot) = self.any(true)
            && !clones_of(&self.node, &snapshot)
        {
            self.node.says(&["image", "snapshot", "remove", &snapshot, "--yes"]);
            self.images.remove(&snapshot);
        }
    }

    /// Everything is as it was written, as far as it is served.
    fn check(&self) {
        for (name, bytes) in &self.images {
            let found = self.client(name).read(0, bytes.len());
            let differs = found.iter().zip(bytes).position(|(found, wanted)| found != wanted);
            assert_eq!(differs, None, "{name}");
        }
    }

    /// Each OSD in turn is away, so that every copy is read.
    fn check_every_copy(&self) {
        for away in 0..OSDS {
            self.node.says(&["osd", "down", &away.to_string()]);
            self.check();
            self.node.says(&["osd", "up", &away.to_string()]);
            self.node.await_clean();
        }
    }

    /// What a checker has to say of a disk while the node rests.
    fn findings(&self, of: usize) -> Vec<Value> {
        let file = self.node.file(&osd(of));
        let ran = self.node.run(&["inspect", file.to_str().unwrap(), "check", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
        let findings = report["findings"].as_array().unwrap().clone();
        assert_eq!(report["clean"], findings.is_empty());
        findings
    }

    /// What a checker has to say of a copy of a disk whose store has opened and made a checkpoint. Of the disk itself it knows the checkpoint before, and
    /// the log's records: both may name pages that were bad and are replaced since.
    fn findings_of_now(&self, of: usize) -> Vec<StoreFinding> {
        let image = fs::read(self.node.file(&osd(of))).unwrap();
        let size = Bytes::new(image.len() as u64);
        let spec = SimDiskSpec { size, sector: 4096, write_cache: false, timing: Timing::FREE };
        let disks = StoreDisks { data: SimDisk::from_image(spec, &image, 1), log: None };
        let mut store = SimStore::open(Time::ZERO, Options::default(), disks);
        store.wait_until(|it| it.store().is_open() || it.store().fault().is_some());
        assert_eq!(store.store().fault(), None, "{} opens", osd(of));
        store.submit(Op { ask: Ask::Checkpoint, lane: None, class: ClassTag(0), token: 0 });
        store.wait_until(|it| !it.ended().is_empty());
        assert!(store.ended()[0].result.is_ok(), "{}: {:?}", osd(of), store.ended());
        check(store.disks()).findings
    }

    /// Flips so many bits of what a disk holds, wherever that is. Whether the checker sees it.
    fn flip(&mut self, of: usize, many: usize) -> bool {
        let path = self.node.file(&osd(of));
        let bytes = fs::read(&path).unwrap();
        let is_used = |at: &usize| bytes[*at..*at + PAGE].iter().any(|byte| *byte > 0);
        let used: Vec<usize> = (0..bytes.len()).step_by(PAGE).filter(is_used).collect();
        let file = File::options().write(true).open(path).unwrap();
        for _ in 0..many {
            let at = used[self.below(used.len())] + self.below(PAGE);
            file.write_all_at(&[bytes[at] ^ 1 << self.below(8)], at as u64).unwrap();
        }
        !self.findings(of).is_empty()
    }

    /// Every copy is where it should be, whatever scrubs have found, and no disk is to be filled again.
    fn await_whole(&self) {
        self.node.await_ok(&["status"], |text| {
            let pgs =
                text.lines().find_map(|line| line.strip_prefix("PGs:")).expect("a line of PGs");
            let is_whole = pgs.split(',').all(|state| state.contains("active+clean"));
            is_whole && !text.contains(" down") && !text.contains("bad on its disk")
        });
    }

    /// A repair of everything, and all that follows from it, is over.
    fn repair(&self) {
        self.await_whole();
        scrub(&self.node, &["repair"]);
        self.await_whole();
        await_scrubs(&self.node);
    }

    /// A node that was flipped at is as it was.
    fn is_healed(&mut self) {
        assert_eq!(errors(&self.node), [], "it is healed");
        self.check();
        self.node.stop();
        for of in 0..OSDS {
            let bad = self.findings_of_now(of);
            assert!(bad.is_empty(), "{}: {bad:?}: {}", osd(of), self.node.log());
        }
        self.node.start(&[]);
        self.node.await_clean();
        scrub(&self.node, &["scrub", "deep"]);
        assert_eq!(errors(&self.node), [], "it stays so");
        self.check_every_copy();
    }

    /// Bits of one copy flip, anywhere. Whether they hit anything that counts.
    fn one_copy(&mut self, many: usize) -> bool {
        self.load();
        self.node.await_clean();
        self.node.stop();
        let of = self.below(OSDS);
        let is_seen = self.flip(of, many);
        self.node.start(&[]);
        self.node.await_clean();
        self.check();
        self.repair();
        self.is_healed();
        is_seen
    }

    /// A page of an image that is on the disks as it is, nowhere twice.
    fn pages(&mut self, image: &str) -> Vec<Vec<u8>> {
        let at = self.below(IMAGE_BYTES / (64 << 10)) * (64 << 10);
        self.write(image, at, 64 << 10);
        let object = &self.images[image][at..at + (64 << 10)];
        object.chunks(PAGE).map(<[u8]>::to_vec).collect()
    }

    /// So many copies of an object are bad, each in other pages.
    fn apart(&mut self, copies: usize) {
        let image = self.create();
        let pages = self.pages(&image);
        self.node.await_clean();
        self.node.stop();
        for copy in 0..copies {
            for page in pages.iter().skip(copy).step_by(OSDS) {
                assert!(rot(&self.node.file(&osd(copy)), page) > 0, "it is on the disk");
            }
        }
        self.node.start(&[]);
        self.node.await_clean();
        scrub(&self.node, &["scrub", "deep"]);
        let found: u64 = errors(&self.node).iter().map(|(_, _, deep)| deep).sum();
        assert_eq!(found, copies as u64);
        self.repair();
        self.is_healed();
        self.node.says(&["image", "remove", &image, "--yes"]);
        self.images.remove(&image);
    }

    /// A page of an object is bad on every copy: that is said until it is written again, and everything else is there.
    fn alike(&mut self) {
        let image = self.create();
        let pages = self.pages(&image);
        self.node.await_clean();
        self.node.stop();
        for of in 0..OSDS {
            assert!(rot(&self.node.file(&osd(of)), &pages[3]) > 0, "it is on the disk");
        }
        self.node.start(&[]);
        self.node.await_clean();
        self.repair();
        let found = errors(&self.node);
        assert!(matches!(&found[..], [(_, 0, 3)]), "{found:?}");
        let health = self.node.says(&["health"]);
        assert!(health.contains("repair has failed for want of a good copy"), "{health}");
        let at = self.images[&image].windows(PAGE).step_by(PAGE).position(|it| it == pages[3]);
        self.write(&image, at.expect("it is a page") * PAGE, PAGE);
        self.repair();
        self.is_healed();
        self.node.says(&["image", "remove", &image, "--yes"]);
        self.images.remove(&image);
    }
}

fn search(seeds: std::ops::Range<u64>, rounds: u32, many: usize) -> u32 {
    let mut seen = 0;
    for seed in seeds {
        let mut judged = Judged::new(seed);
        for round in 0..rounds {
            println!("seed {seed} round {round}");
            seen += u32::from(judged.one_copy(many));
        }
        judged.apart(2);
        judged.apart(3);
        judged.alike();
    }
    seen
}

#[test]
fn flipped_bits_are_found_and_healed_and_nothing_wrong_is_served() {
    assert!(search(1..2, 1, 24) > 0, "something that counts is hit");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn two_thousand_flipped_bits_are_found_and_healed() {
    assert!(search(100..110, 10, 20) > 50, "something that counts is hit");
}
