//! One life of a store: it opens, is read back and judged, takes ops, and comes to an end.

use super::SoakRow;
use super::faults::{FaultKind, FaultsByKind, Planned};
use super::lane::{collection, prefix};
use super::ledger::Ledger;
use super::model::{ModelObject, Values};
use super::outcome::SoakFailure;
use super::recovered::Recovered;
use super::rows::row_of;
use super::scenario::Scenario;
use crate::{SimStore, StoreDisks};
use loadline_base::{Rng, Time};
use loadline_device::{ClassTag, RequestKind};
use loadline_store::ObjectNo;
use loadline_store::paged::layout::Layout;
use loadline_store::paged::{Answer, Ask, Fault, ObjectId, Op, OpError, OpLane, ScanBounds};
use loadline_store::paged::{CheckpointStep, Options};
use std::collections::BTreeMap;

/// The token of ops by which the judge reads a store back.
const JUDGE: u64 = 0;
/// The class of ops.
const CLIENT: ClassTag = ClassTag(9);
/// Events without an answer after which a store is taken to run in circles.
const EVENTS_MAX: u64 = 200_000;
/// Seconds of virtual time after which an op is taken to be stuck: no disk of a scenario is busy for so long.
const SECONDS_MAX: u64 = 600;

/// What happened last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LifeEvent {
    /// A request went to its disk.
    Sent,
    /// A disk answered, or a time came.
    Answered,
    /// Nothing, and nothing ever will by itself.
    Nothing,
}

/// A store at work.
pub(super) struct Life<'a> {
    pub(super) host: SimStore,
    pub(super) ledger: &'a mut Ledger,
    layout: Layout,
    /// Faults that wait for their moment.
    faults: Vec<Planned>,
    rng: Rng,
    pub(super) events: u64,
    /// The event and the time at which something was answered last.
    progress: (u64, Time),
    /// The checkpoint's step before the last event.
    before: Option<CheckpointStep>,
    judged: Option<Result<Answer, OpError>>,
    lies: FlushLies,
    muted: Option<FaultKind>,
    pub(super) struck: Struck,
}

/// Flushes that are answered and not carried out.
#[derive(Clone, Copy, Debug, Default)]
struct FlushLies {
    /// Every one of this number.
    nth: Option<u64>,
    flushes: u64,
}

/// The faults that have struck.
#[derive(Clone, Debug, Default)]
pub(super) struct Struck {
    pub(super) faults: FaultsByKind,
    /// One of them may have damaged the log.
    pub(super) log: bool,
}

impl<'a> Life<'a> {
    /// Begins to open a store.
    pub(super) fn open(
        scenario: &Scenario,
        options: Options,
        disks: StoreDisks,
        ledger: &'a mut Ledger,
        rng: Rng,
    ) -> Life<'a> {
        ledger.mode = options.log_mode;
        Life {
            host: SimStore::open_held(Time::ZERO, options, disks),
            ledger,
            layout: scenario.layout(),
            faults: Vec::new(),
            rng,
            events: 0,
            progress: (0, Time::ZERO),
            before: None,
            judged: None,
            lies: FlushLies::default(),
            muted: None,
            struck: Struck::default(),
        }
    }

    /// Lets these faults happen.
    pub(super) fn with_faults(mut self, faults: Vec<Planned>) -> Life<'a> {
        self.faults = faults;
        self
    }

    /// Lets faults of this kind strike and excuse nothing.
    pub(super) fn muted(mut self, kind: Option<FaultKind>) -> Life<'a> {
        self.muted = kind;
        self
    }

    /// Lets every `nth` flush be answered without being carried out.
    pub(super) fn with_lies(mut self, nth: Option<u64>) -> Life<'a> {
        self.lies.nth = nth;
        self
    }

    /// The row in which a crash now would fall.
    pub(super) fn row(&self) -> SoakRow {
        row_of(&self.host, self.before)
    }

    /// Lets one thing happen: the next request goes to its disk, or an answer comes.
    pub(super) fn advance(&mut self) -> Result<LifeEvent, SoakFailure> {
        self.before = self.host.store().checkpoint_step();
        self.events += 1;
        if self.host.next_request().is_some() {
            self.send();
            return Ok(LifeEvent::Sent);
        }
        if !self.host.step() {
            return Ok(LifeEvent::Nothing);
        }
        self.absorb()?;
        self.look_for_progress()?;
        Ok(LifeEvent::Answered)
    }

    fn send(&mut self) {
        let (events, layout, muted) = (self.events, self.layout, self.muted);
        let (host, rng, ledger) = (&mut self.host, &mut self.rng, &mut *self.ledger);
        let (mut struck, mut log_damaged) = (FaultsByKind::default(), false);
        self.faults.retain(|planned| {
            let strikes = struck.total() == 0
                && planned.from <= events
                && planned.fault.strike(host, &layout, rng);
            if strikes {
                let is_muted = muted == Some(planned.fault.kind());
                if !is_muted {
                    planned.fault.excuses(&mut ledger.excuses);
                }
                log_damaged |= planned.fault.damages_log() && !is_muted;
                struck.hit(planned.fault.kind());
            }
            !strikes
        });
        self.struck.faults.add(&struck);
        self.struck.log |= log_damaged;
        let is_flush = host.next_request().is_some_and(|io| io.request.kind == RequestKind::Flush);
        self.lies.flushes += u64::from(is_flush);
        if is_flush && self.lies.nth.is_some_and(|nth| self.lies.flushes.is_multiple_of(nth)) {
            self.host.lose();
        } else {
            self.host.send();
        }
    }

    /// Takes the answers that have come.
    fn absorb(&mut self) -> Result<(), SoakFailure> {
        for done in std::mem::take(self.host.ended_mut()) {
            self.progress = (self.events, self.host.now());
            if done.token == JUDGE {
                self.judged = Some(done.result);
                continue;
            }
            self.ledger.answered(done).map_err(SoakFailure::Answer)?;
        }
        Ok(())
    }

    fn look_for_progress(&mut self) -> Result<(), SoakFailure> {
        let idle = self.ledger.open() == 0 || !self.host.store().is_open();
        if idle || self.host.store().fault().is_some() {
            self.progress = (self.events, self.host.now());
        }
        let (event, time) = self.progress;
        let waited = self.host.now().since(time).nanos() / 1_000_000_000;
        // Where a request hangs, there is no point in waiting for long.
        let events_max = if self.ledger.excuses.hang { EVENTS_MAX / 100 } else { EVENTS_MAX };
        if self.events - event > events_max || waited > SECONDS_MAX {
            return Err(self.stuck());
        }
        Ok(())
    }

    /// Ops wait, and nothing happens.
    pub(super) fn stuck(&self) -> SoakFailure {
        SoakFailure::Stuck(self.waits())
    }

    fn waits(&self) -> String {
        let store = self.host.store();
        format!(
            "{} ops wait for {:?}; restart at {:?}, checkpoint at {:?}, {:?}, {} pages free and {} returning",
            self.ledger.open(),
            store.waits(),
            store.restart_progress(),
            store.checkpoint_step(),
            store.space().pages.counts(),
            store.space().pages.allocator.free(),
            store.space().pages.allocator.returning(),
        )
    }

    /// Whether the store has stopped, and why.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.host.store().fault()
    }

    /// Submits an op of a lane.
    pub(super) fn submit(&mut self, lane: u32, ask: Ask) -> Result<(), SoakFailure> {
        let token = self.ledger.submitted(lane, &ask);
        self.host.submit(Op { ask, lane: Some(OpLane(lane)), class: CLIENT, token });
        self.absorb()
    }

    /// Asks what the judge wants to know and waits for the answer.
    pub(super) fn ask(&mut self, ask: Ask) -> Result<Result<Answer, OpError>, SoakFailure> {
        self.host.submit(Op { ask, lane: None, class: CLIENT, token: JUDGE });
        self.absorb()?;
        for _ in 0..EVENTS_MAX {
            if let Some(result) = self.judged.take() {
                return Ok(result);
            }
            if self.advance()? == LifeEvent::Nothing {
                break;
            }
        }
        Err(self.stuck())
    }

    /// Asks for something whose answer is nobody's.
    pub(super) fn ask_unheard(&mut self, ask: Ask) {
        self.host.submit(Op { ask, lane: None, class: CLIENT, token: JUDGE });
        self.host.ended_mut().clear();
    }

    /// Takes a checkpoint and waits for its end.
    pub(super) fn checkpoint(&mut self) -> Result<(), SoakFailure> {
        match self.ask(Ask::Checkpoint)? {
            Ok(_) => Ok(()),
            Err(error) => Err(SoakFailure::Answer(format!("a checkpoint ended with {error:?}"))),
        }
    }

    /// Reads a lane back.
    pub(super) fn read_back(&mut self, lane: u32) -> Result<Recovered, SoakFailure> {
        Ok(Recovered { keys: self.read_keys(lane)?, objects: self.read_objects(lane)? })
    }

    fn read_keys(&mut self, lane: u32) -> Result<Option<Values>, SoakFailure> {
        let (own, mut most) = (prefix(lane), 32);
        let mut from = own.clone();
        let mut keys = Values::new();
        loop {
            let found =
                match self.ask(Ask::Scan { from: from.clone(), most: ScanBounds::keys(most) })? {
                    Ok(Answer::Pairs(found)) => found,
                    Err(OpError::Exceeds(_)) if most > 1 => {
                        most /= 4;
                        most = most.max(1);
                        continue;
                    }
                    other => return self.unreadable(other),
                };
            let is_last = found.len() < most;
            for (key, value) in found {
                if !key.starts_with(&own) {
                    return Ok(Some(keys));
                }
                from.clone_from(&key);
                from.push(0);
                keys.insert(key, value.into());
            }
            if is_last {
                return Ok(Some(keys));
            }
        }
    }

    /// An answer that is none, which only a fault excuses.
    fn unreadable<T>(&self, answer: Result<Answer, OpError>) -> Result<Option<T>, SoakFailure> {
        let excuses = self.ledger.excuses;
        let excused = match &answer {
            Err(OpError::Damaged(_)) => excuses.damage,
            Err(OpError::Unreadable) => excuses.damage || excuses.passing,
            Err(OpError::Stopped) => excuses.stop,
            _ => false,
        };
        if excused {
            return Ok(None);
        }
        Err(SoakFailure::Answer(format!("reading back after the restart: {answer:?}")))
    }

    fn read_objects(
        &mut self,
        lane: u32,
    ) -> Result<Option<BTreeMap<ObjectId, Option<ModelObject>>>, SoakFailure> {
        let list = Ask::List { collection: collection(lane), from: ObjectNo(0), most: 1000 };
        let listed = match self.ask(list)? {
            Ok(Answer::Objects(listed)) => listed,
            other => return self.unreadable(other),
        };
        let mut objects = BTreeMap::new();
        for (id, meta) in listed {
            let object = self.read_object(id, meta)?;
            objects.insert(id, object);
        }
        Ok(Some(objects))
    }

    fn read_object(
        &mut self,
        object: ObjectId,
        meta: loadline_store::ObjectMeta,
    ) -> Result<Option<ModelObject>, SoakFailure> {
        let bytes = match self.ask(Ask::Read { object, offset: 0, length: meta.length })? {
            Ok(Answer::Bytes(Some(bytes))) => bytes,
            other => return self.unreadable(other),
        };
        if bytes.len() as u64 != meta.length {
            let text = format!("{object:?}: {} bytes read of {meta:?}", bytes.len());
            return Err(SoakFailure::Answer(text));
        }
        match self.ask(Ask::Attributes(object))? {
            Ok(Answer::Pairs(pairs)) => {
                let attributes = pairs.into_iter().map(|(name, value)| (name, value.into()));
                Ok(Some(ModelObject::new(meta.version, &bytes, attributes.collect())))
            }
            other => self.unreadable(other),
        }
    }
}
