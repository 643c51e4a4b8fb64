//! What a drive is made of: the head over its medium, what priority words mean, tags, and answers on their way.

use crate::hdd::access::{Mechanics, Position};
use crate::hdd::command::FinishedCommand;
use crate::hdd::ending::Ending;
use crate::hdd::faults::Faults;
use crate::hdd::geometry::Geometry;
use crate::hdd::loss::Favours;
use loadline_base::Time;
use loadline_device::Request;
use loadline_device::cdl::Limits;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// What the drive makes of a command's priority word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Feature {
    /// Nothing.
    #[default]
    None,
    /// It names a duration limit descriptor.
    DurationLimits,
    /// Commands of the real-time class have high NCQ priority.
    NcqPriority {
        /// How much of its throughput the drive may give up for them, in percent.
        loss_percent: u32,
    },
}

/// The arm with its head, and the medium below.
#[derive(Clone, Debug)]
pub(super) struct HddHead {
    pub geometry: Geometry,
    pub mechanics: Mechanics,
    pub faults: Faults,
    pub position: Position,
}

/// What priority words mean, for commands that arrive from now on.
#[derive(Clone, Debug)]
pub(super) struct HddTerms {
    pub feature: Feature,
    pub reads: Arc<Limits>,
    pub writes: Arc<Limits>,
    /// What favours cost; the bound follows from the feature and the limits.
    pub loss: Favours,
}

impl HddTerms {
    pub(super) fn none() -> HddTerms {
        HddTerms {
            feature: Feature::None,
            reads: Arc::default(),
            writes: Arc::default(),
            loss: Favours::allowing(0.0),
        }
    }

    /// Has favours cost no more than is allowed now.
    pub(super) fn bound_loss(&mut self) {
        self.loss = Favours::allowing(match self.feature {
            Feature::None => 0.0,
            Feature::DurationLimits => self.reads.allowed_loss.percent(),
            Feature::NcqPriority { loss_percent } => f64::from(loss_percent),
        });
    }
}

/// Commands of the host by their tags.
#[derive(Clone, Debug, Default)]
pub(super) struct HddTags {
    /// How many are taken.
    pub taken: u32,
    /// How many commands have taken one so far.
    pub arrivals: u64,
    /// Commands for which none is free.
    pub backlog: VecDeque<(u64, Request)>,
}

/// What waits for the write cache.
#[derive(Clone, Debug, Default)]
pub(super) struct HddCache {
    /// Writes that were answered from it and are not on the medium.
    pub unwritten: u32,
    /// Flushes, each with the number of its arrival.
    pub flushes: Vec<(u64, u64)>,
}

/// HddAnswers on their way to the host, in the order of their times and then of their making.
#[derive(Clone, Debug, Default)]
pub(super) struct HddAnswers {
    pending: BinaryHeap<Reverse<(Time, u64, u64, Ending)>>,
    made: u64,
}

impl HddAnswers {
    /// A command is answered, and the host has it at `at`.
    pub(super) fn push(&mut self, at: Time, id: u64, ending: Ending) {
        self.made += 1;
        self.pending.push(Reverse((at, self.made, id, ending)));
    }

    /// When the host has the next one.
    pub(super) fn next(&self) -> Option<Time> {
        self.pending.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next one that the host has by now.
    pub(super) fn pop_until(&mut self, now: Time) -> Option<FinishedCommand> {
        self.next().filter(|at| *at <= now)?;
        let Reverse((at, _, id, outcome)) = self.pending.pop()?;
        Some(FinishedCommand { id, at, outcome })
    }
}
