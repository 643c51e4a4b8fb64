//! The drive: takes commands, carries them out one after the other, and answers them.

mod ends;
mod intake;
mod parts;

pub use parts::Feature;

use crate::hdd::access::{Mechanics, Position};
use crate::hdd::command::{FinishedCommand, HddCommand};
use crate::hdd::ending::Ending;
use crate::hdd::faults::{Faults, Finds};
use crate::hdd::geometry::Geometry;
use crate::hdd::order::{ChoiceMoment, MeanAge};
use crate::hdd::spec::{HddSpec, SECTOR};
use crate::hdd::statistics::Statistics;
use loadline_base::{Rng, Time};
use loadline_device::Request;
use loadline_device::cdl::Limits;
use parts::{HddAnswers, HddCache, HddHead, HddTags, HddTerms};
use std::ops::Range;
use std::sync::Arc;

/// A mechanical hard disk in virtual time. Its model and its faults stand at the head of [this module](super).
#[derive(Clone, Debug)]
pub struct Hdd {
    spec: HddSpec,
    head: HddHead,
    terms: HddTerms,
    now: Time,
    tags: HddTags,
    cache: HddCache,
    /// Commands that the firmware sees, or will see when they arrive.
    waiting: Vec<HddCommand>,
    /// How long such commands wait on average.
    ages: MeanAge,
    /// Settled to be carried out next.
    next: Option<HddCommand>,
    current: Option<Current>,
    answers: HddAnswers,
    statistics: Statistics,
}

/// The command that is carried out.
#[derive(Clone, Debug)]
struct Current {
    command: HddCommand,
    begun: Time,
    /// When it ends, and how.
    ends: Time,
    ending: Ending,
}

impl Hdd {
    /// An idle drive with nothing but zeros for limits. The seed settles where the arm rests.
    pub fn new(spec: HddSpec, seed: u64) -> Hdd {
        let geometry = Geometry::new(&spec);
        let mechanics = Mechanics::new(&spec, &geometry);
        let rest = Rng::new(seed).below(spec.sectors);
        Hdd {
            head: HddHead {
                position: Position::after(&geometry.place(rest, 1)),
                mechanics,
                geometry,
                faults: Faults::default(),
            },
            terms: HddTerms::none(),
            now: Time::ZERO,
            tags: HddTags::default(),
            cache: HddCache::default(),
            waiting: Vec::new(),
            ages: MeanAge::default(),
            next: None,
            current: None,
            answers: HddAnswers::default(),
            statistics: Statistics::default(),
            spec,
        }
    }

    /// The time to which it was brought last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What it is.
    pub fn spec(&self) -> &HddSpec {
        &self.spec
    }

    /// Sets the descriptors of reads and of writes, for commands that arrive afterwards.
    pub fn set_limits(&mut self, reads: Limits, writes: Limits) {
        (self.terms.reads, self.terms.writes) = (Arc::new(reads), Arc::new(writes));
        self.terms.bound_loss();
    }

    /// Sets what priority words mean, for commands that arrive afterwards.
    ///
    /// # Panics
    /// If duration limits are wanted of a drive without them.
    pub fn set_feature(&mut self, feature: Feature) {
        let limits = feature == Feature::DurationLimits;
        assert!(!limits || self.spec.limits.is_some(), "{} knows no limits", self.spec.name);
        self.terms.feature = feature;
        self.terms.bound_loss();
    }

    /// Makes reads that touch these sectors take so many turns more.
    pub fn make_slow(&mut self, sectors: Range<u64>, turns: u32) {
        self.head.faults.make_slow(sectors, turns);
    }

    /// Makes these sectors unreadable until they are written.
    pub fn make_unreadable(&mut self, sectors: Range<u64>) {
        self.head.faults.make_unreadable(sectors);
    }

    /// What it has counted since it was made.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Hands a command over. The answer carries its `id`. Commands beyond the drive's tags wait for one.
    ///
    /// # Panics
    /// If it does not lie on the drive in whole sectors.
    pub fn submit(&mut self, now: Time, id: u64, request: &Request) {
        assert!(now >= self.now, "time does not run backwards");
        let ends = request.offset.checked_add(request.length.get());
        let inside = ends.is_some_and(|end| end <= self.spec.capacity().get());
        assert!(inside, "a request beyond the end of {}", self.spec.name);
        let whole = (request.offset | request.length.get()).is_multiple_of(SECTOR);
        assert!(whole, "a request of whole sectors");
        if self.tags.taken == self.spec.tags {
            self.tags.backlog.push_back((id, *request));
        } else {
            self.accept(now, id, request);
        }
    }

    /// The next time at which something happens inside; [`Hdd::advance`] is due then at the latest.
    pub fn next_event(&self) -> Option<Time> {
        self.answers.next().into_iter().chain(self.next_step()).min()
    }

    /// Brings the drive to `now` and adds every answer that the host has by then.
    pub fn advance(&mut self, now: Time, done: &mut Vec<FinishedCommand>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            self.now = at;
            self.deliver(done);
            self.end_current();
            self.end_expired();
            self.go_on();
        }
        self.now = now;
    }

    /// Every write that the cache has answered and that is not on the medium.
    fn unwritten(&self) -> impl Iterator<Item = &HddCommand> {
        let current = self.current.iter().map(|current| &current.command);
        let inside = self.waiting.iter().chain(&self.next).chain(current);
        inside.filter(|command| command.id.is_none())
    }

    /// When the arm or the firmware has something to do.
    fn next_step(&self) -> Option<Time> {
        let queued = self.waiting.iter().chain(&self.next);
        let expires = queued.filter_map(|command| Some(command.expiry?.at));
        let seen = self.waiting.iter().map(|command| command.arrived);
        let seen = seen.filter(|_| self.next.is_none()).min();
        let ends = self.current.as_ref().map(|current| current.ends);
        ends.into_iter().chain(expires).chain(seen).min()
    }

    /// Begins what is settled and settles what comes after it.
    fn go_on(&mut self) {
        self.settle_next();
        if self.current.is_none()
            && let Some(command) = self.next.take()
        {
            self.current = Some(self.begin(command));
            self.settle_next();
        }
    }

    fn settle_next(&mut self) {
        if self.next.is_some() {
            return;
        }
        for command in &mut self.waiting {
            command.watch.pass(self.now.since(command.arrived));
        }
        let (free, from) = match &self.current {
            Some(current) => (current.ends, Position::after(&current.command.place)),
            None => (self.now, self.head.position),
        };
        let moment = ChoiceMoment { now: self.now, free, from };
        let chosen = self.spec.ordering.choose(
            &self.waiting,
            &self.head.mechanics,
            moment,
            &mut self.ages,
            &mut self.terms.loss,
        );
        self.next = chosen.map(|index| self.waiting.swap_remove(index));
    }

    /// The arm sets out for a command; everything that will happen to it is known now.
    fn begin(&self, command: HddCommand) -> Current {
        let begun = self.now;
        let writes = command.writes();
        let access = self.head.mechanics.access(begun, self.head.position, &command.place, writes);
        let first_pass = begun + access;
        let finds = if writes { Finds::Good } else { self.head.faults.read(&command.sectors()) };
        let (ends, ending) = match finds {
            Finds::Good => (first_pass, Ending::Good),
            Finds::Slow(turns) => {
                (first_pass + self.head.mechanics.turn() * u64::from(turns), Ending::Good)
            }
            Finds::Unreadable => (first_pass + self.spec.recovery, Ending::MediaError),
        };
        let recovery = (ends > first_pass).then_some(first_pass);
        let expiry = command.watch.active_expiry(command.arrived, begun, recovery);
        let (ends, ending) = match expiry.filter(|expiry| expiry.at < ends) {
            Some(expiry) => (expiry.at.max(begun), expiry.ending),
            None => (ends, ending),
        };
        Current { command, begun, ends, ending }
    }
}
