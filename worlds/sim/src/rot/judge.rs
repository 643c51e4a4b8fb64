//! A sound store, and what comes of its damaged copies.

use super::damage::{Case, DamageKind, Droppable, damage};
use super::further::{live_on, settle};
use super::reader::{ReadStop, StoreFindings, StoreReader};
use super::region::{Region, Regions};
use crate::StoreDisks;
use crate::disk::Written;
use loadline_store::CollectionId;
use loadline_store::paged::check::{LogReader, Remark, check, newest};
use loadline_store::paged::inspect::Inspector;
use loadline_store::paged::log::RecordKind;
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{Answer, Ask, Edit, Fault, Options};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// So many times the steps that the sound store takes are a hang.
const STEPS_FACTOR: u64 = 20;
/// And so many more, for a copy that reads what the sound one does not.
const STEPS_MORE: u64 = 100_000;
/// Transactions without proof of which is known what the store is like without them.
const TAIL_MAX: usize = 256;
/// One healed copy in so many takes another write and a checkpoint, and is opened again.
const SECOND_LIFE: u64 = 8;
/// The key of that write.
const SECOND_KEY: &[u8] = b"\xffwritten after the damage";

/// What came of a damaged copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseVerdict {
    /// Everything is as it was.
    Healed,
    /// Some answers name damage, and all others are right.
    Named,
    /// It does not open, and says why.
    Refused(String),
    /// It is as after an earlier transaction, and nothing proves that later ones were durable.
    Cut,
    /// The damage would have changed nothing.
    Nothing,
    /// Something else than was there, without a word.
    Wrong(String),
    /// Reading met damage, and the checker finds none.
    Unseen(String),
    /// A bug's assertion.
    Panic(String),
    /// It never ends.
    Hang(String),
}

/// A damaged copy and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    /// Where it was damaged.
    pub region: Option<Region>,
    /// What was done, in words.
    pub story: String,
    /// What came of it.
    pub verdict: CaseVerdict,
}

/// A store that is as it should be, and everything that is in it.
pub struct Sound {
    disks: StoreDisks,
    options: Options,
    superblock: Superblock,
    regions: Regions,
    droppable: Droppable,
    collections: Vec<CollectionId>,
    truth: StoreFindings,
    steps: u64,
    /// States without the last transactions; `None` where all of them were promised.
    tail: Option<OnceLock<Vec<StoreFindings>>>,
}

impl CaseVerdict {
    /// The names of all of them, the defects last.
    pub const NAMES: [&str; 9] =
        ["healed", "named", "refused", "cut", "no change", "WRONG", "UNSEEN", "PANIC", "HANG"];

    /// Its name in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            CaseVerdict::Healed => "healed",
            CaseVerdict::Named => "named",
            CaseVerdict::Refused(_) => "refused",
            CaseVerdict::Cut => "cut",
            CaseVerdict::Nothing => "no change",
            CaseVerdict::Wrong(_) => "WRONG",
            CaseVerdict::Unseen(_) => "UNSEEN",
            CaseVerdict::Panic(_) => "PANIC",
            CaseVerdict::Hang(_) => "HANG",
        }
    }

    /// Whether no store may do that.
    pub const fn is_defect(&self) -> bool {
        matches!(
            self,
            CaseVerdict::Wrong(_)
                | CaseVerdict::Unseen(_)
                | CaseVerdict::Panic(_)
                | CaseVerdict::Hang(_)
        )
    }

    /// What there is to say beside the name.
    pub fn detail(&self) -> &str {
        match self {
            CaseVerdict::Refused(text)
            | CaseVerdict::Wrong(text)
            | CaseVerdict::Unseen(text)
            | CaseVerdict::Panic(text)
            | CaseVerdict::Hang(text) => text,
            _ => "",
        }
    }
}

impl Sound {
    /// A store at rest, of whose last transactions only those were promised that the log proves to be durable. Of the writes
    /// that were noted before it came to rest any may be lost. The error says why it is not sound.
    pub fn new(
        disks: StoreDisks,
        options: Options,
        written: Vec<Written>,
    ) -> Result<Sound, String> {
        let report = check(&disks);
        if let Some(finding) = report.findings.first() {
            return Err(format!("the checker finds {} things: {finding}", report.findings.len()));
        }
        let superblock = newest(&disks).map_err(|finding| finding.to_string())?;
        let (collections, steps) = collections(&disks, options)?;
        let mut reader = StoreReader::open(disks.clone(), options, u64::MAX).map_err(in_words)?;
        let truth = reader.read(&collections, &StoreFindings::default()).map_err(in_words)?;
        if truth.named > 0 {
            return Err("it cannot be read as a whole".to_owned());
        }
        Ok(Sound {
            regions: Regions::of(&disks, &superblock),
            droppable: Droppable::of(&disks, &superblock.layout, written),
            steps: (steps + reader.steps) * STEPS_FACTOR + STEPS_MORE,
            disks,
            options,
            superblock,
            collections,
            truth,
            tail: Some(OnceLock::new()),
        })
    }

    /// The same, but a sync was answered after the last transaction: no copy may be without it.
    pub fn all_promised(mut self) -> Sound {
        self.tail = None;
        self
    }

    /// The store after it has lived on for a while and written over much of what it holds; what it wrote then is known,
    /// and may be lost.
    pub fn live_on(&self) -> Result<Sound, String> {
        live_on(self.disks.clone(), self.options, &self.truth).map_err(in_words)
    }

    /// Keys and objects that are in it.
    pub fn count(&self) -> (usize, usize) {
        self.truth.count()
    }

    /// Whether anything is known that may be dropped or go astray.
    pub fn may_drop(&self) -> bool {
        !self.droppable.is_empty()
    }

    /// Damages a copy and says what comes of it.
    pub fn run(&self, case: Case) -> CaseOutcome {
        let mut disks = self.disks.clone();
        let page = self.superblock.layout.page.bytes() as u64;
        let done = damage(case, &mut disks, &self.regions, &self.droppable, page);
        let Some(done) = done else {
            let story = "nothing changes".to_owned();
            return CaseOutcome { region: None, story, verdict: CaseVerdict::Nothing };
        };
        let goes_on =
            case.kind != DamageKind::Truncation && case.number.is_multiple_of(SECOND_LIFE);
        let verdict = self.judge_safely(disks, goes_on.then_some(case.number));
        CaseOutcome { region: done.region, story: done.story, verdict }
    }

    /// What comes of a copy to which this was done.
    pub fn spoiled(&self, spoil: impl FnOnce(&mut StoreDisks)) -> CaseVerdict {
        let mut disks = self.disks.clone();
        spoil(&mut disks);
        self.judge_safely(disks, None)
    }

    fn judge_safely(&self, disks: StoreDisks, goes_on: Option<u64>) -> CaseVerdict {
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge(disks, goes_on)));
        judged.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            CaseVerdict::Panic(text.unwrap_or("without a word").to_owned())
        })
    }

    /// The disks of a case, as they are damaged.
    pub fn damaged(&self, case: Case) -> StoreDisks {
        let mut disks = self.disks.clone();
        let page = self.superblock.layout.page.bytes() as u64;
        damage(case, &mut disks, &self.regions, &self.droppable, page);
        disks
    }

    fn judge(&self, disks: StoreDisks, goes_on: Option<u64>) -> CaseVerdict {
        let report = check(&disks);
        // Of pages that may be torn the checker says nothing; it looks at their images.
        let has_begun = report.remarks.iter().any(|remark| matches!(remark, Remark::Begun { .. }));
        let unless_unseen = |verdict: CaseVerdict, what: &str| match report.is_clean() && !has_begun
        {
            true => CaseVerdict::Unseen(what.to_owned()),
            false => verdict,
        };
        let opened = StoreReader::open(disks, self.options, self.steps);
        let read = opened.and_then(|mut reader| {
            let found = reader.read(&self.collections, &self.truth)?;
            Ok((reader, found))
        });
        let (reader, found) = match read {
            Err(ReadStop::Fault(Fault::Restart(fault))) => {
                let text = fault.to_string();
                return unless_unseen(CaseVerdict::Refused(text.clone()), &text);
            }
            Err(ReadStop::Fault(fault)) => {
                return CaseVerdict::Wrong(format!("it stopped: {fault}"));
            }
            Err(ReadStop::Hang(text)) => return CaseVerdict::Hang(text),
            Err(ReadStop::Answer(text)) => return CaseVerdict::Wrong(text),
            Ok(read) => read,
        };
        if let Some(difference) = found.difference(&self.truth) {
            let is_cut = |state: &StoreFindings| found.difference(state).is_none();
            return match self.tail().iter().any(is_cut) {
                true => CaseVerdict::Cut,
                false => CaseVerdict::Wrong(difference),
            };
        }
        if found.named > 0 {
            return unless_unseen(CaseVerdict::Named, "an answer named damage");
        }
        goes_on.map_or(CaseVerdict::Healed, |number| {
            self.second_life(reader, number, report.is_clean() && !has_begun)
        })
    }

    /// A copy that is as it was takes a write and a checkpoint, dies, and is opened again.
    fn second_life(&self, mut reader: StoreReader, number: u64, was_clean: bool) -> CaseVerdict {
        let edit = Edit::Put { key: SECOND_KEY.to_vec(), value: number.to_le_bytes().into() };
        let mut all = vec![Ask::Transaction(vec![edit]), Ask::Sync];
        if number.is_multiple_of(2 * SECOND_LIFE) {
            all.push(Ask::Checkpoint);
        }
        let goes_on = |reader: &mut StoreReader| -> Result<Option<String>, ReadStop> {
            for ask in all {
                if let Err(error) = reader.ask(ask)? {
                    return Ok(Some(format!("afterwards a write ends with {error:?}")));
                }
            }
            Ok(None)
        };
        match goes_on(&mut reader) {
            Ok(None) => {}
            // What was not read before may be damaged.
            Ok(Some(_)) => return CaseVerdict::Named,
            Err(stop) => return CaseVerdict::Wrong(format!("afterwards: {}", in_words(stop))),
        }
        let mut disks = reader.into_disks();
        settle(&mut disks, number);
        // What only the last checkpoint still speaks of is found until there is another one. Of one that had begun the checker said
        // nothing before: the restart ended it.
        let is_checked = was_clean || number.is_multiple_of(2 * SECOND_LIFE);
        if let Some(finding) = check(&disks).findings.first().filter(|_| is_checked) {
            return CaseVerdict::Wrong(format!("after another write the checker finds: {finding}"));
        }
        let again = StoreReader::open(disks, self.options, self.steps).and_then(|mut reader| {
            let mut found = reader.read(&self.collections, &self.truth)?;
            let is_there = found.take_key(SECOND_KEY);
            Ok((found, is_there))
        });
        match again {
            Ok((_, false)) => CaseVerdict::Wrong("a later write was lost".to_owned()),
            Ok((found, true)) => match found.difference(&self.truth) {
                Some(difference) => CaseVerdict::Wrong(format!("in its next life: {difference}")),
                None => CaseVerdict::Healed,
            },
            Err(stop) => CaseVerdict::Wrong(format!("in its next life: {}", in_words(stop))),
        }
    }

    /// What the store is like without its last transactions, as far as nothing proves that they were durable.
    fn tail(&self) -> &[StoreFindings] {
        let Some(tail) = &self.tail else { return &[] };
        tail.get_or_init(|| {
            if self.superblock.begun.is_some() {
                return Vec::new();
            }
            let mut reader = LogReader::new(&self.disks, &self.superblock);
            let mut proven = self.superblock.completed.position;
            let mut transactions = Vec::new();
            reader.read(|record| {
                match record.kind {
                    RecordKind::Durable => {
                        let through = record.body.try_into().map_or(0, u64::from_le_bytes);
                        proven.0 = proven.0.max(through);
                    }
                    RecordKind::Transaction => transactions.push(record.position),
                    _ => {}
                }
                true
            });
            transactions.retain(|position| *position >= proven);
            let newest = transactions.into_iter().rev().take(TAIL_MAX);
            let without = |position| {
                let mut disks = self.disks.clone();
                let target = self.superblock.layout.log_target;
                disks.of(target).poke(reader.place(position), &[0; 24]);
                let mut reader = StoreReader::open(disks, self.options, self.steps).ok()?;
                reader.read(&self.collections, &self.truth).ok()
            };
            newest.filter_map(without).collect()
        })
    }
}

/// The collections that a store has once it has been opened, and the steps that this takes.
fn collections(disks: &StoreDisks, options: Options) -> Result<(Vec<CollectionId>, u64), String> {
    let mut reader = StoreReader::open(disks.clone(), options, u64::MAX).map_err(in_words)?;
    match reader.ask(Ask::Checkpoint).map_err(in_words)? {
        Ok(Answer::Checkpointed(_)) => {}
        other => return Err(format!("a checkpoint ends with {other:?}")),
    }
    let steps = reader.steps;
    let disks = reader.into_disks();
    let inspector = Inspector::open(&disks).map_err(|trouble| trouble.to_string())?;
    let known: BTreeSet<CollectionId> =
        inspector.collections().map_err(|trouble| trouble.to_string())?;
    Ok((known.into_iter().collect(), steps))
}

fn in_words(stop: ReadStop) -> String {
    match stop {
        ReadStop::Fault(fault) => fault.to_string(),
        ReadStop::Hang(text) => format!("it hangs: {text}"),
        ReadStop::Answer(text) => text,
    }
}
