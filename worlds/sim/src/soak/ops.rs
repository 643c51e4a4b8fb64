//! What is asked next.

use super::draw::Draw;
use super::history::LaneHistory;
use super::lane::{collection, counter, prefix};
use super::ledger::Ledger;
use super::scenario::Scenario;
use loadline_base::Rng;
use loadline_store::paged::StoreLimits;
use loadline_store::paged::{Ask, Edit, NOTE, ObjectId, OwnPages, Payload, ScanBounds};
use loadline_store::{ObjectNo, Version};
use std::ops::Range;

/// Draws ops for a scenario.
#[derive(Clone, Debug)]
pub(super) struct OpSource {
    scenario: Scenario,
    limits: StoreLimits,
    page: u64,
    version: u64,
    /// Where it is drawn which reads are sparse ones, if any are.
    sparse: Option<Rng>,
}

impl OpSource {
    pub(super) fn new(scenario: &Scenario) -> OpSource {
        let page = scenario.format.page.bytes() as u64;
        OpSource {
            scenario: scenario.clone(),
            limits: scenario.limits(),
            page,
            version: 0,
            sparse: None,
        }
    }

    /// Half of the questions for objects' bytes ask where they differ from another object's.
    pub(super) fn with_sparse_reads(self, seed: u64) -> OpSource {
        OpSource { sparse: Some(Rng::for_purpose(seed, 8)), ..self }
    }

    /// The next op, and its lane.
    pub(super) fn draw(&mut self, lanes: &[LaneHistory], rng: &mut Rng) -> (u32, Ask) {
        let lane = rng.below(lanes.len() as u64) as u32;
        let history = &lanes[lane as usize];
        let load = &self.scenario.load;
        let ask = if rng.one_in(load.one_barrier_in) {
            if rng.one_in(2) { Ask::Sync } else { Ask::Checkpoint }
        } else if rng.one_in(load.one_query_in) {
            let ask = self.query(lane, history, rng);
            self.sparse(ask)
        } else {
            Ask::Transaction(self.transaction(lane, history.next(), rng))
        };
        (lane, ask)
    }

    /// The same question, or one for what is other than in another state of the object, or in another object, or than nothing.
    fn sparse(&mut self, ask: Ask) -> Ask {
        let Some(rng) = &mut self.sparse else { return ask };
        match ask {
            Ask::Read { object, offset, length } if rng.one_in(2) => {
                let other = ObjectNo(rng.below(self.scenario.load.objects));
                let snapshot = rng.below(3);
                let base = match rng.below(4) {
                    0 => None,
                    1 => Some(ObjectId { object: other, snapshot, ..object }),
                    _ => Some(ObjectId { snapshot, ..object }),
                };
                Ask::Sparse { object, base, offset, length, with_bytes: true }
            }
            ask => ask,
        }
    }

    /// A transaction that writes damaged bytes of an object again, as a replica would bring them.
    pub(super) fn repair(
        &mut self,
        ledger: &Ledger,
        (object, range): (ObjectId, Range<u64>),
    ) -> Option<(u32, Ask)> {
        let lane = object.collection.get();
        let wanted = ledger.lanes[lane as usize].object(&object).filter(|_| !range.is_empty())?;
        let bytes = wanted.read(range.start, range.end - range.start);
        let (data, version) = (Payload::Bytes(bytes), self.next_version());
        let write = Edit::Write { object, offset: range.start, data, version };
        Some((lane, Ask::Transaction(vec![write])))
    }

    /// A transaction of a lane, which will be its `number`th.
    fn transaction(&mut self, lane: u32, number: u64, rng: &mut Rng) -> Vec<Edit> {
        let mut edits = Vec::new();
        if !rng.one_in(4) {
            let value = (number + 1).to_le_bytes().to_vec();
            edits.push(Edit::Put { key: counter(lane), value });
        }
        let mut room = self.limits.transaction_bytes as u64 * 3 / 4;
        for _ in 0..rng.between(1, self.scenario.load.edits_max) {
            let edit = self.edit(lane, rng);
            let bytes = match &edit {
                Edit::Put { key, value } => key.len() as u64 + value.len() as u64,
                Edit::Write { data, .. } => data.length(),
                _ => 64,
            };
            if bytes > room && !edits.is_empty() {
                break;
            }
            room = room.saturating_sub(bytes);
            edits.push(edit);
        }
        edits
    }

    fn edit(&mut self, lane: u32, rng: &mut Rng) -> Edit {
        let weights = self.scenario.load.weights;
        let mut draw = rng.below(weights.iter().sum());
        let kind = weights.iter().position(|weight| {
            let here = draw < *weight;
            draw = draw.saturating_sub(*weight);
            here
        });
        match kind.expect("one of them is drawn") {
            0 => self.put(lane, rng),
            1 => self.write_small(lane, rng),
            2 => self.write_large(lane, rng),
            3 => Edit::Delete { key: self.key(lane, rng) },
            4 => Edit::Punch {
                object: self.object(lane, rng),
                range: self.range(rng),
                version: self.next_version(),
            },
            5 => Edit::Truncate {
                object: self.object(lane, rng),
                length: rng.below(self.scenario.load.object_span + 1),
                version: self.next_version(),
            },
            6 => Edit::Remove { object: self.object(lane, rng) },
            7 => Edit::Clone { from: self.object(lane, rng), to: self.object(lane, rng) },
            8 => Edit::SetAttribute {
                object: self.object(lane, rng),
                name: attribute(rng),
                value: bytes(rng, self.limits.attribute_bytes as u64 / 2),
            },
            9 => Edit::RemoveAttribute { object: self.object(lane, rng), name: attribute(rng) },
            10 => self.put_long(lane, rng),
            _ => self.write_pages(lane, rng),
        }
    }

    fn next_version(&mut self) -> Version {
        self.version += 1;
        Version(self.version)
    }

    fn put(&self, lane: u32, rng: &mut Rng) -> Edit {
        let most = *rng.pick(&[16, 200, self.page / 3]).min(&(self.limits.value_bytes as u64));
        Edit::Put { key: self.key(lane, rng), value: bytes(rng, most) }
    }

    fn put_long(&self, lane: u32, rng: &mut Rng) -> Edit {
        let most = self.limits.value_bytes.min(self.limits.transaction_bytes / 2) as u64;
        Edit::Put { key: self.key(lane, rng), value: bytes(rng, most) }
    }

    fn write_small(&mut self, lane: u32, rng: &mut Rng) -> Edit {
        let length = rng.between(0, 300);
        self.write(lane, self.offset(rng), length, rng)
    }

    fn write_pages(&mut self, lane: u32, rng: &mut Rng) -> Edit {
        let offset = self.offset(rng) / self.page * self.page;
        let length = self.page * rng.between(1, 4);
        self.write(lane, offset, length, rng)
    }

    fn write_large(&mut self, lane: u32, rng: &mut Rng) -> Edit {
        let range = self.range(rng);
        self.write(lane, range.start, range.end - range.start, rng)
    }

    fn write(&mut self, lane: u32, offset: u64, length: u64, rng: &mut Rng) -> Edit {
        let pattern = Payload::Pattern { seed: rng.next_u64(), offset: rng.below(64), length };
        let data = match rng.below(2) {
            0 => pattern,
            _ => Payload::Bytes(pattern.into_bytes()),
        };
        Edit::Write { object: self.object(lane, rng), offset, data, version: self.next_version() }
    }

    fn offset(&self, rng: &mut Rng) -> u64 {
        rng.below(self.scenario.load.object_span)
    }

    fn range(&self, rng: &mut Rng) -> Range<u64> {
        let (a, b) = (self.offset(rng), self.offset(rng));
        let align = if rng.one_in(3) { self.page } else { 1 };
        a.min(b) / align * align..a.max(b) / align * align
    }

    fn key(&self, lane: u32, rng: &mut Rng) -> Vec<u8> {
        let mut key = prefix(lane);
        key.extend_from_slice(format!("k{:04}", rng.below(self.scenario.load.keys)).as_bytes());
        if self.scenario.load.long_keys {
            let length = self.limits.key_bytes - (key[5] as usize % 7);
            key.resize(length.max(key.len()), b'.');
        }
        key
    }

    fn object(&self, lane: u32, rng: &mut Rng) -> ObjectId {
        let object = ObjectNo(rng.below(self.scenario.load.objects));
        let snapshot = if rng.one_in(4) { rng.between(1, 2) } else { 0 };
        ObjectId { collection: collection(lane), object, snapshot }
    }

    /// Something that changes nothing.
    fn query(&self, lane: u32, history: &LaneHistory, rng: &mut Rng) -> Ask {
        let object = self.object(lane, rng);
        match rng.below(9) {
            0 | 1 => Ask::Get(self.key(lane, rng)),
            2 => {
                let (key, keys) = (self.key(lane, rng), rng.between(1, 8) as usize);
                // Some end with the first long value.
                let bytes = if keys > 5 { 4096 } else { usize::MAX };
                let most = ScanBounds { keys, bytes };
                match keys % 2 {
                    0 => Ask::ScanBack { until: key, most },
                    _ => Ask::Scan { from: key, most },
                }
            }
            3 => {
                let range = self.range(rng);
                Ask::Read { object, offset: range.start, length: range.end - range.start }
            }
            4 => {
                let length = history.object(&object).map_or(1, |object| object.meta.length);
                let offset = rng.below(length + 1);
                Ask::Read { object, offset, length: rng.between(0, 3 * self.page) }
            }
            5 => Ask::Stat(object),
            6 if rng.one_in(2) => Ask::Attribute(object, attribute(rng)),
            6 => Ask::Attributes(object),
            7 => Ask::List {
                collection: collection(lane),
                from: ObjectNo(rng.below(self.scenario.load.objects)),
                most: rng.between(1, 6) as usize,
            },
            _ if object.object.0.is_multiple_of(2) => Ask::Digest(object),
            _ => Ask::Reread(match object.object.0 % 3 {
                0 => OwnPages::Objects(collection(lane), ObjectNo(0)..=object.object),
                1 => OwnPages::Keys(prefix(lane)..self.key(lane, rng)),
                _ => OwnPages::Rest,
            }),
        }
    }
}

/// The name of an attribute; some are notes.
fn attribute(rng: &mut Rng) -> Vec<u8> {
    let number = rng.below(6);
    let mut name = format!("name{number}").into_bytes();
    if number == 5 {
        name[0] = NOTE;
    }
    name
}

/// Up to `most` bytes, some of them easy to compress and some not.
fn bytes(rng: &mut Rng, most: u64) -> Vec<u8> {
    let length = rng.below(most + 1);
    if rng.one_in(2) {
        vec![rng.next_u64() as u8; length as usize]
    } else {
        Payload::Pattern { seed: rng.next_u64(), offset: 0, length }.into_bytes()
    }
}
