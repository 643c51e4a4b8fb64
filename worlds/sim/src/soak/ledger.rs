//! Every op that was asked, every answer that came, and whether the two fit.

use super::history::LaneHistory;
use super::lane::{counter, prefix};
use super::model::{Contents, Values};
use loadline_store::ObjectMeta;
use loadline_store::paged::{
    Answer, Ask, Bound, Completion, Damage, Edit, LogMode, ObjectId, OpError, Ranges, Reread,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// Two of the largest pages: a write's ragged ends go through the log, and in the smallest log that may be too much.
const TWO_PAGES: u64 = 32 << 10;

/// What an answer is compared with.
#[derive(Clone, Debug)]
enum Expectation {
    Transaction {
        lane: u32,
        number: u64,
        nature: Nature,
    },
    Query {
        lane: u32,
        after: u64,
        ask: Ask,
    },
    /// Sync or checkpoint: what it will have made durable, by lane.
    Barrier {
        is_checkpoint: bool,
        promised: Vec<u64>,
    },
}

/// Which errors a transaction must never end with.
#[derive(Clone, Copy, Debug)]
struct Nature {
    /// It only gives space back.
    gives_back: bool,
    /// It is one edit.
    is_single: bool,
}

/// Which errors the faults of this life excuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Excuses {
    /// A write or flush was made to fail: the store may stop.
    pub(super) stop: bool,
    /// Something was damaged at rest, or reads fail.
    pub(super) damage: bool,
    /// Reads fail for a while.
    pub(super) passing: bool,
    /// An op's own data could not be written.
    pub(super) own_data: bool,
    /// A request was never answered: nothing may happen any more.
    pub(super) hang: bool,
    /// Part of the log is damaged: it may end early.
    pub(super) log: bool,
    /// A write of the log stands elsewhere: what an earlier life had left in its place may be read instead.
    pub(super) astray: bool,
}

/// How many ops ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCounts {
    /// Transactions carried out.
    pub transactions: u64,
    /// Questions answered.
    pub queries: u64,
    /// Those of them that asked where an object holds data, or differs from another.
    pub sparse: u64,
    /// Syncs and checkpoints.
    pub barriers: u64,
    /// Refused for want of space.
    pub no_space: u64,
    /// Refused because too large for this store.
    pub too_large: u64,
    /// Refused because of damage or unreadable places.
    pub damaged: u64,
    /// Refused because the store had stopped.
    pub stopped: u64,
}

impl OpCounts {
    /// Adds another count.
    pub fn add(&mut self, other: &OpCounts) {
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.sparse += other.sparse;
        self.barriers += other.barriers;
        self.no_space += other.no_space;
        self.too_large += other.too_large;
        self.damaged += other.damaged;
        self.stopped += other.stopped;
    }
}

/// The ops of all lanes.
pub(super) struct Ledger {
    pub(super) lanes: Vec<LaneHistory>,
    asked: BTreeMap<u64, Expectation>,
    next_token: u64,
    pub(super) mode: LogMode,
    pub(super) excuses: Excuses,
    pub(super) counts: OpCounts,
    /// Parts of objects that were reported as damaged, to be repaired.
    pub(super) damaged: Vec<(ObjectId, Range<u64>)>,
}

impl Ledger {
    pub(super) fn new(lanes: u32) -> Ledger {
        Ledger {
            lanes: (0..lanes).map(|lane| LaneHistory::new(counter(lane))).collect(),
            asked: BTreeMap::new(),
            next_token: 0,
            mode: LogMode::Fsync,
            excuses: Excuses::default(),
            counts: OpCounts::default(),
            damaged: Vec::new(),
        }
    }

    /// How many ops have no answer yet.
    pub(super) fn open(&self) -> usize {
        self.asked.len()
    }

    /// Notes an op of a lane that is about to be submitted; answers its token.
    pub(super) fn submitted(&mut self, lane: u32, ask: &Ask) -> u64 {
        let history = &mut self.lanes[lane as usize];
        let after = history.next();
        let asked = match ask {
            Ask::Transaction(edits) => {
                history.submitted(edits.clone());
                Expectation::Transaction { lane, number: after, nature: Nature::of(edits) }
            }
            Ask::Sync | Ask::Checkpoint => Expectation::Barrier {
                is_checkpoint: *ask == Ask::Checkpoint,
                promised: self.lanes.iter().map(LaneHistory::done).collect(),
            },
            _ => Expectation::Query { lane, after, ask: ask.clone() },
        };
        self.next_token += 1;
        self.asked.insert(self.next_token, asked);
        self.next_token
    }

    /// Compares an answer with what it should be.
    pub(super) fn answered(&mut self, done: Completion<u64>) -> Result<(), String> {
        let asked = self.asked.remove(&done.token).ok_or("an op was answered twice")?;
        let error = match done.result {
            Ok(Answer::Reread(Reread { lost, .. })) if !lost.is_empty() => {
                OpError::Damaged(Damage::Structure(lost[0]))
            }
            Ok(Answer::Reread(Reread { rewritten: 1.., .. })) => OpError::Unreadable,
            Ok(answer) => return self.fits(asked, answer),
            Err(error) => error,
        };
        self.count_error(&error);
        if let OpError::Damaged(Damage::Object(object, range)) = &error {
            self.damaged.push((*object, range.clone()));
        }
        if !self.is_excused(&asked, &error) {
            return Err(format!("{error:?} without a reason, for {}", asked.in_words()));
        }
        match (asked, error) {
            // Whether it was carried out the restart will show.
            (_, OpError::Stopped) => {}
            (Expectation::Transaction { lane, number, .. }, _) => {
                self.lanes[lane as usize].answered(number, false);
            }
            (Expectation::Query { .. } | Expectation::Barrier { .. }, _) => {}
        }
        Ok(())
    }

    fn fits(&mut self, asked: Expectation, answer: Answer) -> Result<(), String> {
        match asked {
            Expectation::Transaction { lane, number, .. } => {
                self.counts.transactions += 1;
                let history = &mut self.lanes[lane as usize];
                history.answered(number, true);
                if self.mode <= LogMode::LogOnly {
                    history.promise.kill = history.promise.kill.max(number + 1);
                }
                if self.mode == LogMode::Fsync {
                    history.promise.cut = history.promise.cut.max(number + 1);
                }
                if answer == Answer::Done {
                    Ok(())
                } else {
                    Err(format!("{answer:?} for a transaction"))
                }
            }
            Expectation::Query { lane, after, ask } => {
                self.counts.queries += 1;
                self.counts.sparse += u64::from(matches!(ask, Ask::Sparse { .. }));
                let history = &self.lanes[lane as usize];
                let fits = check(lane, &ask, &answer, &history.at(after));
                fits.map_err(|wanted| {
                    format!(
                        "lane {lane} after {after}: {ask:?} gave {}, should be {wanted}",
                        short(&answer)
                    )
                })
            }
            Expectation::Barrier { promised, .. } => {
                self.counts.barriers += 1;
                for (history, promised) in self.lanes.iter_mut().zip(promised) {
                    history.promise.cut = history.promise.cut.max(promised);
                    history.promise.kill = history.promise.kill.max(promised);
                }
                Ok(())
            }
        }
    }

    fn count_error(&mut self, error: &OpError) {
        let counts = &mut self.counts;
        *match error {
            OpError::NoSpace => &mut counts.no_space,
            OpError::Exceeds(_) => &mut counts.too_large,
            OpError::Damaged(_) | OpError::Unreadable | OpError::Unwritable => &mut counts.damaged,
            OpError::Stopped => &mut counts.stopped,
        } += 1;
    }

    fn is_excused(&self, asked: &Expectation, error: &OpError) -> bool {
        let nature = match asked {
            Expectation::Transaction { nature, .. } => Some(nature),
            _ => None,
        };
        match error {
            OpError::NoSpace => nature.is_some_and(|nature| !nature.gives_back),
            // The one bound that whoever asks does not know before: what several edits take of the log.
            OpError::Exceeds(exceeded) => {
                let is_small = exceeded.most <= TWO_PAGES;
                exceeded.bound == Bound::TransactionBytes
                    && nature.is_some_and(|nature| !nature.is_single || is_small)
            }
            OpError::Damaged(_) => self.excuses.damage,
            OpError::Unreadable => self.excuses.damage || self.excuses.passing,
            OpError::Unwritable => self.excuses.own_data,
            OpError::Stopped => self.excuses.stop,
        }
    }

    /// Forgets states to which no crash leads back any more.
    pub(super) fn settle(&mut self) {
        self.lanes.iter_mut().for_each(LaneHistory::settle);
    }

    /// The store is gone, and with it every op without an answer.
    pub(super) fn crashed(&mut self) {
        self.asked.clear();
        self.damaged.clear();
    }
}

impl Nature {
    fn of(edits: &[Edit]) -> Nature {
        let gives_back = |edit: &Edit| {
            matches!(edit, Edit::Delete { .. } | Edit::Remove { .. } | Edit::RemoveAttribute { .. })
        };
        Nature { gives_back: edits.iter().all(gives_back), is_single: edits.len() <= 1 }
    }
}

impl Expectation {
    fn in_words(&self) -> String {
        match self {
            Expectation::Transaction { lane, number, nature } => {
                format!("transaction {number} of lane {lane}, {nature:?}")
            }
            Expectation::Query { lane, after, ask } => {
                format!("lane {lane} after {after}: {ask:?}")
            }
            Expectation::Barrier { is_checkpoint: true, .. } => "a checkpoint".to_owned(),
            Expectation::Barrier { .. } => "a sync".to_owned(),
        }
    }
}

/// Compares an answer with the lane's state; what it should be is the error.
fn check(lane: u32, ask: &Ask, answer: &Answer, state: &Contents) -> Result<(), String> {
    let wanted = match ask {
        Ask::Scan { .. } | Ask::ScanBack { .. } => {
            let Answer::Pairs(found) = answer else { return Err("pairs".to_owned()) };
            let own = prefix(lane);
            // What follows belongs to another lane, of whose order nothing is known.
            let found: Vec<_> = found.iter().filter(|(key, _)| key.starts_with(&own)).collect();
            let (mut wanted, most): (Vec<_>, _) = match ask {
                Ask::ScanBack { until, most } => {
                    (state.keys.range(..until.clone()).rev().take(most.keys).collect(), most)
                }
                Ask::Scan { from, most } => {
                    (state.keys.range(from.clone()..).take(most.keys).collect(), most)
                }
                _ => unreachable!("it is a scan"),
            };
            let mut bytes = 0;
            let last = wanted.iter().position(|(key, value)| {
                bytes += key.len() + value.len();
                bytes >= most.bytes
            });
            wanted.truncate(last.map_or(wanted.len(), |last| last + 1));
            let same = found.len() == wanted.len()
                && found
                    .iter()
                    .zip(&wanted)
                    .all(|(a, (key, value))| a.0 == **key && *a.1 == ***value);
            return if same { Ok(()) } else { Err(format!("{} pairs of the lane", wanted.len())) };
        }
        Ask::Get(key) => Answer::Value(state.keys.get(key).map(|value| value.to_vec())),
        Ask::Read { object, offset, length } => {
            let object = state.objects.get(object);
            Answer::Bytes(object.map(|object| object.read(*offset, *length)))
        }
        Ask::Sparse { object, base, offset, length, .. } => {
            let read = |id: &ObjectId| state.objects.get(id).map(|o| o.read(*offset, *length));
            let from = base.as_ref().and_then(read).unwrap_or_default();
            return match (answer, read(object)) {
                (Answer::Sparse(None), None) => Ok(()),
                (Answer::Sparse(Some((ranges, bytes))), Some(wanted))
                    if applied(from, ranges, bytes, *offset, wanted.len()) == wanted =>
                {
                    Ok(())
                }
                _ => Err("ranges that make the one object the other".into()),
            };
        }
        Ask::Stat(id) => Answer::Meta(state.objects.get(id).map(|object| object.meta)),
        Ask::Attribute(id, name) => {
            let value = state.objects.get(id).and_then(|object| object.attributes.get(name));
            Answer::Value(value.map(|value| value.to_vec()))
        }
        Ask::Attributes(id) => {
            Answer::Pairs(state.objects.get(id).map_or(Vec::new(), |o| pairs(&o.attributes)))
        }
        Ask::List { collection, from, most } => {
            let first = ObjectId { collection: *collection, object: *from, snapshot: 0 };
            let listed = state.objects.range(first..).take(*most);
            let metas: Vec<(ObjectId, ObjectMeta)> =
                listed.map(|(id, object)| (*id, object.meta)).collect();
            Answer::Objects(metas)
        }
        Ask::Digest(id) => Answer::Digest(state.objects.get(id).map(|object| object.digest())),
        // What is bad was taken for an error.
        Ask::Reread(_) => answer.clone(),
        Ask::Transaction(_) | Ask::Sync | Ask::Checkpoint => unreachable!("not a question"),
    };
    if *answer == wanted { Ok(()) } else { Err(short(&wanted)) }
}

/// What the ranges make of an object's bytes from `offset` on.
fn applied(
    mut made: Vec<u8>,
    ranges: &Ranges,
    mut bytes: &[u8],
    offset: u64,
    length: usize,
) -> Vec<u8> {
    made.resize(length, 0);
    let inside =
        |range: &Range<u64>| (range.start - offset) as usize..(range.end - offset) as usize;
    for range in &ranges.data {
        let (now, rest) = bytes.split_at((range.end - range.start) as usize);
        made[inside(range)].copy_from_slice(now);
        bytes = rest;
    }
    ranges.zeros.iter().for_each(|zeros| made[inside(zeros)].fill(0));
    made
}

fn pairs(values: &Values) -> Vec<(Vec<u8>, Vec<u8>)> {
    values.iter().map(|(name, value)| (name.clone(), value.to_vec())).collect()
}

/// An answer in few words.
fn short(answer: &Answer) -> String {
    match answer {
        Answer::Value(Some(bytes)) | Answer::Bytes(Some(bytes)) => {
            let sum = crc32c::crc32c(bytes);
            format!("{} bytes {:?}.. (CRC {sum:08x})", bytes.len(), &bytes[..bytes.len().min(12)])
        }
        Answer::Pairs(pairs) => format!("{} pairs", pairs.len()),
        other => format!("{other:?}"),
    }
}
