//! On what terms each service class's requests go to the device: an I/O priority, and a duration limit by the descriptor
//! that stands for it.

use loadline_base::Span;
use loadline_device::cdl::Limits;
use loadline_device::{Priority, PriorityClass, Request, RequestKind};
use loadline_qos::ServiceClass;

/// What one class asks of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms {
    /// The priority of all its requests; it names no descriptor.
    pub priority: Priority,
    /// The limit of its reads.
    pub reads: Option<ChosenLimit>,
    /// The limit of its writes.
    pub writes: Option<ChosenLimit>,
}

/// A duration limit and the descriptor of the drive that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenLimit {
    /// How long a request may take.
    pub limit: Span,
    /// 1 to 7.
    pub descriptor: u8,
}

/// What every class asks of the device. Work that is strict in its scheduler (class *immediate*) asks nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTerms {
    classes: [ClassTerms; ServiceClass::ALL.len()],
}

impl DeviceTerms {
    /// The same, with other terms for one class.
    pub fn with(mut self, class: ServiceClass, terms: ClassTerms) -> DeviceTerms {
        self.classes[class as usize] = terms;
        self
    }

    /// The terms of one class.
    pub fn of(&self, class: ServiceClass) -> ClassTerms {
        self.classes[class as usize]
    }

    /// The request as it goes to the device.
    pub(crate) fn apply(&self, request: Request) -> Request {
        let terms = &self.classes[usize::from(request.class.0)];
        let limit = match request.kind {
            RequestKind::Read => terms.reads,
            RequestKind::Write => terms.writes,
            // The command sets have no limit for either.
            RequestKind::Flush | RequestKind::Discard => None,
        };
        let descriptor = limit.map_or(0, |limit| limit.descriptor);
        Request {
            priority: terms.priority.with_descriptor(descriptor),
            duration_limit: limit.map(|limit| limit.limit),
            ..request
        }
    }
}

impl DeviceTerms {
    /// A write or a flush of the store's log as it goes to the device. Ops of every class end with it, so it is as urgent
    /// as the most urgent class, and no class overtakes what its own ops wait for. No limit ends it: it would only be asked
    /// for again.
    pub(crate) fn apply_to_log(&self, request: Request) -> Request {
        let priorities = self.classes.iter().map(|terms| terms.priority);
        let priority = priorities.min_by_key(|priority| urgency(*priority)).unwrap_or_default();
        Request { priority, duration_limit: None, ..request }
    }

    /// A checkpoint's request as it goes to the device. However little its class may ask for, it is never idle: a device
    /// that always has better to do would let the log fill up, and then every write waits for the checkpoint.
    pub(crate) fn apply_to_checkpoint(&self, request: Request) -> Request {
        let request = self.apply(request);
        let Request { priority, .. } = request;
        if priority.class() != PriorityClass::Idle {
            return request;
        }
        let last = Priority::new(PriorityClass::BestEffort, LEVEL_LAST);
        Request { priority: last.with_descriptor(priority.descriptor()), ..request }
    }
}

/// The level of a request that asks for nothing, and the last one of a class (ioprio_set(2)).
const LEVEL_NORMAL: u8 = 4;
const LEVEL_LAST: u8 = 7;

/// The less the more urgent. What asks for nothing is of the normal level of best effort.
fn urgency(priority: Priority) -> (u8, u8) {
    match priority.class() {
        PriorityClass::RealTime => (0, priority.level()),
        PriorityClass::BestEffort => (1, priority.level()),
        PriorityClass::None => (1, LEVEL_NORMAL),
        PriorityClass::Idle => (2, priority.level()),
    }
}

/// The request as it goes to the device again, after the device ended it for time: this time it may take what it takes.
pub(crate) fn without_limit(request: Request) -> Request {
    Request { priority: request.priority.with_descriptor(0), duration_limit: None, ..request }
}

/// The descriptor for a limit: the one with the longest guideline that the limit allows, the first of equal ones. `None`
/// if every guideline is longer.
pub fn descriptor_for(limits: &Limits, limit: Span) -> Option<u8> {
    let fitting = guidelines(limits).filter(|(_, guideline)| *guideline <= limit);
    fitting.min_by_key(|(index, guideline)| (std::cmp::Reverse(*guideline), *index)).map(|(i, _)| i)
}

/// The descriptors of a set that have a guideline, with it.
pub fn guidelines(limits: &Limits) -> impl Iterator<Item = (u8, Span)> {
    (1..)
        .zip(&limits.descriptors)
        .filter_map(|(index, descriptor)| Some((index, descriptor.span(descriptor.guideline)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_device::cdl::{Descriptor, Limit, TimeoutPolicy, Unit};

    fn limits(guidelines_ms: [u16; 3]) -> Limits {
        let mut limits = Limits::default();
        for (descriptor, ms) in limits.descriptors.iter_mut().zip(guidelines_ms) {
            let guideline = Limit { time: ms / 10, policy: TimeoutPolicy::CompleteEarliest };
            *descriptor =
                Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
        }
        limits
    }

    #[test]
    fn the_longest_guideline_within_the_limit_stands_for_it() {
        let check = |of: [u16; 3], limit_ms, expected| {
            assert_eq!(descriptor_for(&limits(of), Span::from_millis(limit_ms)), expected);
        };
        check([50, 100, 300], 100, Some(2));
        check([50, 100, 300], 299, Some(2));
        check([300, 50, 50], 70, Some(2));
        check([0, 50, 300], 1_000, Some(3));
        check([50, 100, 300], 40, None);
        check([0, 0, 0], 40, None);
    }
}
