//! The options that say on what terms requests go to the disk, and what a drive must hold for them.

use super::option::{OptionSpec, Role};
use loadline_device::PriorityClass;
use loadline_device::cdl::Limits;
use loadline_qos::ServiceClass;

/// The duration limit descriptors that a drive holds. They are uploaded by an operator (`cdladm upload`); here it is only
/// told which they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveLimits {
    /// Those of reads.
    pub reads: Limits,
    /// Those of writes.
    pub writes: Limits,
}

/// A class with the names of its options.
pub(super) struct Names {
    pub(super) class: ServiceClass,
    pub(super) priority_class: &'static str,
    pub(super) level: &'static str,
    pub(super) limit: &'static str,
}

/// Immediate work has none: it is strict in the scheduler, and its kinds have too little in common for one limit.
pub(super) const NAMES: [Names; 3] = [
    Names {
        class: ServiceClass::Client,
        priority_class: "osd_device_client_prioclass",
        level: "osd_device_client_prio",
        limit: "osd_device_client_limit",
    },
    Names {
        class: ServiceClass::Recovery,
        priority_class: "osd_device_background_recovery_prioclass",
        level: "osd_device_background_recovery_prio",
        limit: "osd_device_background_recovery_limit",
    },
    Names {
        class: ServiceClass::BestEffort,
        priority_class: "osd_device_background_best_effort_prioclass",
        level: "osd_device_background_best_effort_prio",
        limit: "osd_device_background_best_effort_limit",
    },
];

/// The kernel's priority classes as fio calls them.
pub(super) const PRIORITY_CLASSES: [(&str, PriorityClass); 4] = [
    ("none", PriorityClass::None),
    ("rt", PriorityClass::RealTime),
    ("be", PriorityClass::BestEffort),
    ("idle", PriorityClass::Idle),
];

/// Three options for each class that has a share of the scheduler.
pub(super) fn device_options() -> Vec<OptionSpec> {
    let source = "Loadline's own, cdl.md 2";
    let of_class = |names: Names| {
        [
            OptionSpec::choice(
                names.priority_class,
                "none",
                PRIORITY_CLASSES.map(|(name, _)| name).to_vec(),
                "I/O priority class of the class's requests to the disk",
                source,
            ),
            OptionSpec::count(
                names.level,
                0,
                0..=7,
                "I/O priority level, 0 the highest; none without an I/O priority class",
                source,
            ),
            OptionSpec::time(
                names.limit,
                0.0,
                "how long the disk may take for a request, by a descriptor of its own; 0: as long as it takes",
                source,
            )
            .under(Role::DeviceLimit),
        ]
    };
    NAMES.into_iter().flat_map(of_class).collect()
}
