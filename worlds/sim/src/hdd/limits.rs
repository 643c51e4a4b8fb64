//! A command under its descriptor: which of its times runs, when it has run out, and what follows (cdl.md 1.1, 1.4).

use super::ending::Ending;
use loadline_base::{Span, Time};
use loadline_device::cdl::{DESCRIPTORS, Descriptor, Limits, TimeoutPolicy};
use std::sync::Arc;

/// What is left of a command's limits.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitWatch {
    /// The set that was in force when the command arrived; `None` without any limit.
    set: Option<Arc<Limits>>,
    /// The descriptor that the command named, and the one whose guideline counts now, from 0.
    named: usize,
    current: usize,
    /// Whether a guideline still counts.
    guided: bool,
}

/// When a command is ended for its time, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Expiry {
    pub(super) at: Time,
    pub(super) ending: Ending,
}

/// Times of a descriptor that a command did not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) inactive: bool,
    pub(super) active: bool,
    pub(super) guideline: bool,
}

impl LimitWatch {
    /// Under descriptor `index` of a set; without limit if that one limits nothing.
    pub(super) fn new(set: &Arc<Limits>, index: u8) -> LimitWatch {
        if set.of(index).is_none() {
            return LimitWatch::default();
        }
        let named = usize::from(index) - 1;
        LimitWatch { set: Some(Arc::clone(set)), named, current: named, guided: true }
    }

    /// The descriptor that the command named, from 1; `None` without limit.
    pub(super) fn index(&self) -> Option<usize> {
        self.set.as_ref().map(|_| self.named + 1)
    }

    fn named(&self) -> Option<&Descriptor> {
        self.set.as_ref().map(|set| &set.descriptors[self.named])
    }

    /// The guideline that counts now.
    pub(super) fn guideline(&self) -> Option<Span> {
        let set = self.set.as_ref().filter(|_| self.guided)?;
        let descriptor = &set.descriptors[self.current];
        descriptor.span(descriptor.guideline)
    }

    fn guideline_policy(&self) -> TimeoutPolicy {
        self.set.as_ref().map_or(TimeoutPolicy::CompleteEarliest, |set| {
            set.descriptors[self.current].guideline.policy
        })
    }

    /// Goes over to what follows a guideline that has passed silently.
    pub(super) fn pass(&mut self, age: Span) {
        while self.guideline().is_some_and(|guideline| age >= guideline) {
            match self.guideline_policy() {
                TimeoutPolicy::ContinueNextLimit if self.current + 1 < DESCRIPTORS => {
                    self.current += 1
                }
                TimeoutPolicy::ContinueNoLimit => self.guided = false,
                _ => return,
            }
        }
    }

    /// When a queued command is ended, if nothing else happens.
    pub(super) fn queued_expiry(&self, arrived: Time) -> Option<Expiry> {
        let named = self.named()?;
        let inactive = ends(named.inactive.policy, Ending::AbortedBefore)
            .zip(named.span(named.inactive))
            .map(|(ending, span)| Expiry { at: arrived + span, ending });
        inactive.into_iter().chain(self.guideline_expiry(arrived, Ending::AbortedBefore)).min()
    }

    /// When a command that is carried out is ended, if it is not done by then. `recovery` tells when the firmware begins
    /// to try again, if it does.
    pub(super) fn active_expiry(
        &self,
        arrived: Time,
        begun: Time,
        recovery: Option<Time>,
    ) -> Option<Expiry> {
        let named = self.named()?;
        let active = named.span(named.active).and_then(|span| {
            let at = begun + span;
            let recovering =
                recovery.map(|from| Expiry { at: at.max(from), ending: Ending::AbortedInRecovery });
            match named.active.policy {
                TimeoutPolicy::AbortRecovery => recovering,
                policy => ends(policy, stage(at, recovery)).map(|ending| Expiry { at, ending }),
            }
        });
        let guideline = self.guideline_expiry(arrived, Ending::AbortedDuring).map(|expiry| {
            let aborted = expiry.ending == Ending::AbortedDuring;
            let ending = if aborted { stage(expiry.at, recovery) } else { expiry.ending };
            Expiry { ending, ..expiry }
        });
        active.into_iter().chain(guideline).min()
    }

    /// When the chain of guidelines ends a command, if it does.
    fn guideline_expiry(&self, arrived: Time, aborted: Ending) -> Option<Expiry> {
        let (mut later, mut span) = (self.clone(), Span::ZERO);
        loop {
            // The next guideline may be shorter than the one that it follows.
            span = span.max(later.guideline()?);
            let policy = later.guideline_policy();
            if let Some(ending) = ends(policy, aborted) {
                return Some(Expiry { at: arrived + span, ending });
            }
            let before = (later.current, later.guided);
            later.pass(span);
            if (later.current, later.guided) == before {
                return None;
            }
        }
    }

    /// Which of its times a command has not kept that was queued and carried out for so long. One that is ended at the
    /// instant when its time is over has not kept it.
    pub(super) fn missed(&self, queued: Span, active: Span) -> Missed {
        let Some(named) = self.named() else { return Missed::default() };
        let over = |limit, took: Span| named.span(limit).is_some_and(|span| took >= span);
        Missed {
            inactive: over(named.inactive, queued),
            active: over(named.active, active),
            guideline: over(named.guideline, queued + active),
        }
    }
}

/// How a policy ends a command, if it does.
fn ends(policy: TimeoutPolicy, aborted: Ending) -> Option<Ending> {
    match policy {
        TimeoutPolicy::CompleteUnavailable => Some(Ending::DataUnavailable),
        TimeoutPolicy::Abort => Some(aborted),
        _ => None,
    }
}

/// What an abort during the work is called.
fn stage(at: Time, recovery: Option<Time>) -> Ending {
    let recovering = recovery.is_some_and(|from| at >= from);
    if recovering { Ending::AbortedInRecovery } else { Ending::AbortedDuring }
}
