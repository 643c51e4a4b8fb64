//! A store read as a whole, in the simulated world: every key, attribute and byte, as sums.

use crate::{SimStore, StoreDisks};
use loadline_base::Time;
use loadline_device::ClassTag;
use loadline_store::paged::{Answer, Ask, Fault, ObjectId, Op, OpError, Options, ScanBounds};
use loadline_store::{CollectionId, ObjectMeta, ObjectNo};

/// Keys of one scan.
const SCAN: usize = 32;
/// Objects of one list; no object of a list has as many snapshots.
const LIST: usize = 1000;
/// Bytes of one read.
const PIECE: u64 = 256 << 10;

/// Length and CRC of something that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    length: u64,
    crc: u32,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadObject {
    meta: ObjectMeta,
    /// By pieces.
    bytes: Vec<Option<Sum>>,
    attributes: Option<Sum>,
}

/// What a store holds. `None` is what an error that names damage kept from being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreFindings {
    keys: Vec<(Vec<u8>, Option<Sum>)>,
    objects: Vec<(ObjectId, Option<ReadObject>)>,
    /// Questions that were answered with an error that names damage.
    pub(super) named: u64,
}

/// Why reading ended before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadStop {
    /// The store has stopped, or never opened.
    Fault(Fault),
    /// Nothing happens any more, or too much.
    Hang(String),
    /// An answer that is none.
    Answer(String),
}

/// A store that is read.
pub(super) struct StoreReader {
    host: SimStore,
    /// Steps so far, and how many there may be.
    pub(super) steps: u64,
    steps_max: u64,
}

impl StoreReader {
    /// Opens a store. So many steps are more than it ever needs.
    pub(super) fn open(
        disks: StoreDisks,
        options: Options,
        steps_max: u64,
    ) -> Result<StoreReader, ReadStop> {
        let host = SimStore::open(Time::ZERO, options, disks);
        let mut reader = StoreReader { host, steps: 0, steps_max };
        while !reader.host.store().is_open() {
            reader.step()?;
        }
        Ok(reader)
    }

    fn step(&mut self) -> Result<(), ReadStop> {
        if let Some(fault) = self.host.store().fault() {
            return Err(ReadStop::Fault(fault));
        }
        self.steps += 1;
        let restart = self.host.store().restart_progress();
        let waits = self.host.store().waits();
        let hang =
            |what| ReadStop::Hang(format!("{what}: restart {restart:?}, ops wait for {waits:?}"));
        if self.steps > self.steps_max {
            return Err(hang("it runs in circles"));
        }
        if self.host.step() { Ok(()) } else { Err(hang("nothing happens any more")) }
    }

    /// Asks and waits for the answer.
    pub(super) fn ask(&mut self, ask: Ask) -> Result<Result<Answer, OpError>, ReadStop> {
        self.host.submit(Op { ask, lane: None, class: ClassTag(9), token: 0 });
        loop {
            if let Some(done) = self.host.ended_mut().pop() {
                return match done.result {
                    Err(OpError::Stopped) => {
                        let fault = self.host.store().fault();
                        Err(fault.map_or(
                            ReadStop::Answer("stopped without a fault".into()),
                            ReadStop::Fault,
                        ))
                    }
                    result => Ok(result),
                };
            }
            self.step()?;
        }
    }

    /// The disks, when the store is gone.
    pub(super) fn into_disks(self) -> StoreDisks {
        self.host.into_disks()
    }

    /// Reads everything in these collections. Where an answer is an error that names damage, `guide` says what else to
    /// ask for.
    pub(super) fn read(
        &mut self,
        collections: &[CollectionId],
        guide: &StoreFindings,
    ) -> Result<StoreFindings, ReadStop> {
        let mut found = StoreFindings::default();
        self.read_keys(guide, &mut found)?;
        for collection in collections {
            self.read_collection(*collection, guide, &mut found)?;
        }
        Ok(found)
    }

    fn read_keys(
        &mut self,
        guide: &StoreFindings,
        found: &mut StoreFindings,
    ) -> Result<(), ReadStop> {
        let mut from = Vec::new();
        let mut most = SCAN;
        loop {
            let pairs =
                match self.ask(Ask::Scan { from: from.clone(), most: ScanBounds::keys(most) })? {
                    Ok(Answer::Pairs(pairs)) => pairs,
                    // Long values: fewer at once.
                    Err(error) if most > 1 && !is_damage(&error) => {
                        most = 1;
                        continue;
                    }
                    other => {
                        named(other, found)?;
                        let first = guide.keys.partition_point(|(key, _)| *key < from);
                        let asked = &guide.keys[first..guide.keys.len().min(first + most)];
                        for (key, _) in asked {
                            let answer = self.ask(Ask::Get(key.clone()))?;
                            match answer {
                                Ok(Answer::Value(Some(value))) => {
                                    found.keys.push((key.clone(), Some(Sum::of(&value))));
                                }
                                Ok(Answer::Value(None)) => {}
                                other => {
                                    named(other, found)?;
                                    found.keys.push((key.clone(), None));
                                }
                            }
                        }
                        let Some((last, _)) = asked.last() else { return Ok(()) };
                        from.clone_from(last);
                        from.push(0);
                        continue;
                    }
                };
            let is_last = pairs.len() < most;
            if let Some((last, _)) = pairs.last() {
                from.clone_from(last);
                from.push(0);
            }
            let sums = pairs.into_iter().map(|(key, value)| (key, Some(Sum::of(&value))));
            found.keys.extend(sums);
            if is_last {
                return Ok(());
            }
            most = SCAN;
        }
    }

    fn read_collection(
        &mut self,
        collection: CollectionId,
        guide: &StoreFindings,
        found: &mut StoreFindings,
    ) -> Result<(), ReadStop> {
        let (mut from, mut listed) = (ObjectNo(0), Vec::new());
        loop {
            match self.ask(Ask::List { collection, from, most: LIST })? {
                Ok(Answer::Objects(part)) => {
                    let is_last = part.len() < LIST;
                    from = part.last().map_or(from, |(id, _)| id.object);
                    listed.extend(part.into_iter().map(|(id, meta)| (id, Some(meta))));
                    if is_last {
                        break;
                    }
                }
                other => {
                    named(other, found)?;
                    let known = guide.objects.iter().map(|(id, _)| *id);
                    let rest = known.filter(|id| id.collection == collection && id.object >= from);
                    for id in rest.collect::<Vec<_>>() {
                        match self.ask(Ask::Stat(id))? {
                            Ok(Answer::Meta(Some(meta))) => listed.push((id, Some(meta))),
                            Ok(Answer::Meta(None)) => {}
                            other => {
                                named(other, found)?;
                                listed.push((id, None));
                            }
                        }
                    }
                    break;
                }
            }
        }
        listed.dedup_by_key(|(id, _)| *id);
        for (id, meta) in listed {
            let object = meta.map(|meta| self.read_object(id, meta, found)).transpose()?;
            found.objects.push((id, object));
        }
        Ok(())
    }

    fn read_object(
        &mut self,
        id: ObjectId,
        meta: ObjectMeta,
        found: &mut StoreFindings,
    ) -> Result<ReadObject, ReadStop> {
        let mut bytes = Vec::new();
        for offset in (0..meta.length).step_by(PIECE as usize) {
            let answer = self.ask(Ask::Read { object: id, offset, length: PIECE })?;
            bytes.push(match answer {
                Ok(Answer::Bytes(Some(bytes))) => Some(Sum::of(&bytes)),
                other => {
                    named(other, found)?;
                    None
                }
            });
        }
        let attributes = match self.ask(Ask::Attributes(id))? {
            Ok(Answer::Pairs(pairs)) => {
                let mut all = Vec::new();
                for (name, value) in pairs {
                    all.extend_from_slice(&(name.len() as u64).to_le_bytes());
                    all.extend(name);
                    all.extend_from_slice(&(value.len() as u64).to_le_bytes());
                    all.extend(value);
                }
                Some(Sum::of(&all))
            }
            other => {
                named(other, found)?;
                None
            }
        };
        Ok(ReadObject { meta, bytes, attributes })
    }
}

/// Counts an error that names damage; anything else is no answer.
fn named(answer: Result<Answer, OpError>, found: &mut StoreFindings) -> Result<(), ReadStop> {
    match answer {
        Err(error) if is_damage(&error) => {
            found.named += 1;
            Ok(())
        }
        other => Err(ReadStop::Answer(format!("{other:?}"))),
    }
}

fn is_damage(error: &OpError) -> bool {
    matches!(error, OpError::Damaged(_) | OpError::Unreadable)
}

impl Sum {
    fn of(bytes: &[u8]) -> Sum {
        Sum { length: bytes.len() as u64, crc: crc32c::crc32c(bytes) }
    }
}

impl StoreFindings {
    /// How much there is: keys and objects.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.keys.len(), self.objects.len())
    }

    /// One of the keys.
    pub(super) fn key(&self, at: usize) -> &[u8] {
        &self.keys[at].0
    }

    /// One of the objects, and how long it is.
    pub(super) fn object(&self, at: usize) -> (ObjectId, u64) {
        let (id, object) = &self.objects[at];
        (*id, object.as_ref().map_or(0, |object| object.meta.length))
    }

    /// Takes a key out that nobody but the judge has put there. False if it is not there.
    pub(super) fn take_key(&mut self, key: &[u8]) -> bool {
        let before = self.keys.len();
        self.keys.retain(|(found, _)| found != key);
        self.keys.len() < before
    }

    /// What is different from the truth, as far as it could be read.
    pub(super) fn difference(&self, truth: &StoreFindings) -> Option<String> {
        self.different_key(truth).or_else(|| self.different_object(truth))
    }

    fn different_key(&self, truth: &StoreFindings) -> Option<String> {
        for (at, (key, wanted)) in truth.keys.iter().enumerate() {
            let shown = String::from_utf8_lossy(key);
            match self.keys.get(at) {
                Some((found, sum)) if found == key => {
                    if sum.is_some_and(|sum| Some(sum) != *wanted) {
                        return Some(format!("key {shown:?} is {sum:?}, should be {wanted:?}"));
                    }
                }
                _ => return Some(format!("key {shown:?} is missing, or another stands before it")),
            }
        }
        let more = self.keys.get(truth.keys.len())?;
        Some(format!("key {:?} should not exist", String::from_utf8_lossy(&more.0)))
    }

    fn different_object(&self, truth: &StoreFindings) -> Option<String> {
        for (at, (id, wanted)) in truth.objects.iter().enumerate() {
            let wanted = wanted.as_ref().expect("the truth is whole");
            let found = match self.objects.get(at) {
                Some((found, object)) if found == id => object,
                _ => return Some(format!("{id:?} is missing, or another stands before it")),
            };
            let Some(found) = found else { continue };
            if found.meta != wanted.meta {
                return Some(format!("{id:?} is {:?}, should be {:?}", found.meta, wanted.meta));
            }
            let mut pieces = found.bytes.iter().zip(&wanted.bytes);
            if let Some(at) = pieces.position(|(a, b)| a.is_some() && a != b) {
                return Some(format!("{id:?} has other bytes in its piece {at} of {PIECE}"));
            }
            if found.attributes.is_some() && found.attributes != wanted.attributes {
                return Some(format!("{id:?} has other attributes"));
            }
        }
        let more = self.objects.get(truth.objects.len())?;
        Some(format!("{:?} should not exist", more.0))
    }
}
