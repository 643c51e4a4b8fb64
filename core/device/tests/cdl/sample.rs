//! Descriptors to test with, and any descriptors.

use loadline_device::cdl::{
    AllowedLoss, Column, Descriptor, DescriptorPage, Limit, Limits, ModePage, TimeoutPolicy, Unit,
};
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) const fn limit(time: u16, policy: TimeoutPolicy) -> Limit {
    Limit { time, policy }
}

/// A descriptor whose every field differs from zero and from the others.
pub(crate) const BUSY: Descriptor = Descriptor {
    unit: Unit::HalfSecond,
    inactive: limit(0x0102, TimeoutPolicy::CompleteUnavailable),
    active: limit(0x0304, TimeoutPolicy::AbortRecovery),
    guideline: limit(0x0506, TimeoutPolicy::ContinueNoLimit),
};

/// A page with that descriptor in one place.
pub(crate) fn with(kind: ModePage, number: usize, descriptor: Descriptor) -> DescriptorPage {
    let mut limits = Limits::default();
    limits.descriptors[number - 1] = descriptor;
    DescriptorPage::new(kind, limits).unwrap()
}

fn any_limit(column: Column) -> impl Strategy<Value = Limit> {
    let policies = TimeoutPolicy::ALL.into_iter().filter(move |policy| column.allows(*policy));
    (any::<u16>(), select(policies.collect::<Vec<_>>()))
        .prop_map(|(time, policy)| Limit { time, policy })
}

fn any_full() -> impl Strategy<Value = Descriptor> {
    let limits =
        (any_limit(Column::Inactive), any_limit(Column::Active), any_limit(Column::Guideline));
    (select(&Unit::ALL[..]), limits).prop_map(|(unit, (inactive, active, guideline))| Descriptor {
        unit,
        inactive,
        active,
        guideline,
    })
}

fn simple_of(full: Descriptor) -> Descriptor {
    let unit = if full.unit == Unit::HalfMicrosecond { Unit::None } else { full.unit };
    let guideline = limit(full.guideline.time, TimeoutPolicy::default());
    Descriptor { unit, guideline, ..Descriptor::default() }
}

/// Any page that there can be.
pub(crate) fn any_page() -> impl Strategy<Value = DescriptorPage> {
    let kind = select(&ModePage::ALL[..]);
    let loss = select(AllowedLoss::all().collect::<Vec<_>>());
    (kind, loss, prop::array::uniform7(any_full())).prop_map(|(kind, loss, full)| {
        let allowed_loss = if kind == ModePage::T2A { loss } else { AllowedLoss::default() };
        let descriptors = if kind.is_simple() { full.map(simple_of) } else { full };
        DescriptorPage::new(kind, Limits { allowed_loss, descriptors }).expect("made for its kind")
    })
}
