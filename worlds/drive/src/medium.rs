//! When a command is done, and how it ends: the mechanical model by the real clock, or a medium that takes no time.

use loadline_base::{Bytes, Span, Time};
use loadline_device::cdl::Limits;
use loadline_device::{ClassTag, Priority, PriorityClass, Request, RequestKind};
use loadline_scsi::{BLOCK_BYTES, MediumCommand, MediumKind};
use loadline_sim::hdd::{Ending, Feature, FinishedCommand, Hdd, Statistics};
use std::collections::VecDeque;
use std::ops::Range;

/// Something that is wrong with a drive, by blocks of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumFault {
    /// Reads of these blocks fail after all that the firmware tries, until they are written.
    Unreadable(Range<u64>),
    /// Reads that touch these blocks take so many turns more.
    Slow {
        /// Which blocks.
        blocks: Range<u64>,
        /// How many turns.
        turns: u32,
    },
    /// Commands that touch these blocks are never answered.
    Silent(Range<u64>),
    /// From this time on every read takes so many turns more.
    Fading {
        /// From when on, counted from the start.
        after: Span,
        /// How many turns.
        turns: u32,
    },
}

/// What carries commands out.
#[derive(Debug)]
pub struct DriveMedium {
    work: MediumWork,
    silent: Vec<Range<u64>>,
    /// When every read becomes slower, and by how many turns.
    fading: Option<(Time, u32)>,
}

#[derive(Debug)]
enum MediumWork {
    Mechanical(Box<Hdd>),
    /// Answers that are due at once.
    Instant(VecDeque<u64>),
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediumEnd {
    pub(crate) id: u64,
    pub(crate) ending: Ending,
}

impl DriveMedium {
    /// A drive of the model.
    pub fn mechanical(hdd: Hdd) -> DriveMedium {
        DriveMedium::of(MediumWork::Mechanical(Box::new(hdd)))
    }

    /// A medium that takes no time, by which the path to it is measured.
    pub fn instant() -> DriveMedium {
        DriveMedium::of(MediumWork::Instant(VecDeque::new()))
    }

    fn of(work: MediumWork) -> DriveMedium {
        DriveMedium { work, silent: Vec::new(), fading: None }
    }

    /// Makes something wrong with it; what takes no time can only be silent.
    pub fn damage(&mut self, fault: MediumFault) {
        match (&mut self.work, fault) {
            (_, MediumFault::Silent(blocks)) => self.silent.push(blocks),
            (_, MediumFault::Fading { after, turns }) => {
                self.fading = Some((Time::ZERO + after, turns))
            }
            (MediumWork::Mechanical(hdd), MediumFault::Unreadable(blocks)) => {
                hdd.make_unreadable(blocks)
            }
            (MediumWork::Mechanical(hdd), MediumFault::Slow { blocks, turns }) => {
                hdd.make_slow(blocks, turns);
            }
            (MediumWork::Instant(_), _) => {}
        }
    }

    /// Puts descriptors in force for commands that arrive from now on.
    pub(crate) fn set_limits(&mut self, (reads, writes): (Limits, Limits)) {
        if let MediumWork::Mechanical(hdd) = &mut self.work
            && hdd.spec().limits.is_some()
        {
            hdd.set_limits(reads, writes);
            hdd.set_feature(Feature::DurationLimits);
        }
    }

    /// Whether a command never ends by itself.
    pub(crate) fn is_silent_about(&self, command: &MediumCommand) -> bool {
        let blocks = command.block..command.block + command.blocks;
        let touches = |silent: &Range<u64>| silent.start < blocks.end && blocks.start < silent.end;
        self.silent.iter().any(touches)
    }

    /// Hands a command over; time never runs backwards.
    pub(crate) fn submit(&mut self, now: Time, id: u64, command: &MediumCommand) {
        if self.is_silent_about(command) {
            return;
        }
        match &mut self.work {
            MediumWork::Mechanical(hdd) => hdd.submit(now, id, &request(command)),
            MediumWork::Instant(due) => due.push_back(id),
        }
    }

    /// Takes a command back. One that is carried out already goes on, and its end is told all the same.
    pub(crate) fn take_back(&mut self, now: Time, id: u64) {
        match &mut self.work {
            MediumWork::Mechanical(hdd) => hdd.take_back(now, id),
            MediumWork::Instant(due) => due.retain(|other| *other != id),
        }
    }

    /// When something happens next; [`DriveMedium::advance`] is due then.
    pub(crate) fn next_event(&self) -> Option<Time> {
        let next = match &self.work {
            MediumWork::Mechanical(hdd) => hdd.next_event(),
            MediumWork::Instant(due) => (!due.is_empty()).then_some(Time::ZERO),
        };
        next.into_iter().chain(self.fading.map(|(at, _)| at)).min()
    }

    /// Brings it to `now`; what has ended by then is added.
    pub(crate) fn advance(&mut self, now: Time, ended: &mut Vec<MediumEnd>) {
        let fades = self.fading.take_if(|(at, _)| *at <= now);
        match &mut self.work {
            MediumWork::Mechanical(hdd) => {
                if let Some((_, turns)) = fades {
                    hdd.make_slow(0..hdd.spec().sectors, turns);
                }
                let mut finished = Vec::new();
                hdd.advance(now, &mut finished);
                let end = |command: FinishedCommand| MediumEnd {
                    id: command.id,
                    ending: command.outcome,
                };
                ended.extend(finished.into_iter().map(end));
            }
            MediumWork::Instant(due) => {
                ended.extend(due.drain(..).map(|id| MediumEnd { id, ending: Ending::Good }));
            }
        }
    }

    /// What the model has counted; `None` where there is no model.
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        match &self.work {
            MediumWork::Mechanical(hdd) => Some(hdd.statistics()),
            MediumWork::Instant(_) => None,
        }
    }
}

fn request(command: &MediumCommand) -> Request {
    Request {
        kind: match command.kind {
            MediumKind::Read => RequestKind::Read,
            MediumKind::Write => RequestKind::Write,
            MediumKind::Flush => RequestKind::Flush,
        },
        offset: command.block * BLOCK_BYTES,
        length: Bytes::new(command.blocks * BLOCK_BYTES),
        class: ClassTag(0),
        priority: Priority::new(PriorityClass::BestEffort, 0).with_descriptor(command.descriptor),
        duration_limit: None,
    }
}
