//! On what terms each class's requests go to the disk: the options, what a drive must hold for them, and the terms that
//! an OSD is given.

use super::levels::View;
use super::option::{OptionSpec, Role};
use super::refused::Refused;
use super::{Settings, Value};
use loadline_base::Span;
use loadline_device::cdl::Limits;
use loadline_device::{Priority, PriorityClass};
use loadline_osd::{ChosenLimit, ClassTerms, DeviceTerms, OsdId, descriptor_for, guidelines};
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
struct Names {
    class: ServiceClass,
    priority_class: &'static str,
    level: &'static str,
    limit: &'static str,
}

/// Immediate work has none: it is strict in the scheduler, and its kinds have too little in common for one limit.
const NAMES: [Names; 3] = [
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
const PRIORITY_CLASSES: [(&str, PriorityClass); 4] = [
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

impl Settings {
    /// Tells which descriptors an OSD's drive holds. Limits are judged by them when they are set.
    pub fn set_drive_limits(&mut self, osd: OsdId, limits: DriveLimits) {
        self.levels.each[osd].drive_limits = limits;
    }

    /// The options of a class, in the order of the option table: I/O priority class, level, duration limit.
    pub fn device_options_of(class: ServiceClass) -> Option<[&'static str; 3]> {
        let names = NAMES.iter().find(|names| names.class == class)?;
        Some([names.priority_class, names.level, names.limit])
    }

    /// On what terms each class's requests of an OSD go to its disk.
    pub(super) fn device_terms(&self, osd: OsdId) -> DeviceTerms {
        let terms =
            |terms: DeviceTerms, names: &Names| terms.with(names.class, self.terms_of(osd, names));
        NAMES.iter().fold(DeviceTerms::default(), terms)
    }

    fn terms_of(&self, osd: OsdId, names: &Names) -> ClassTerms {
        let view = self.view();
        let DriveLimits { reads, writes } = self.levels.each[osd].drive_limits;
        let (word, _) = self.effective(osd, self.named(names.priority_class));
        let class = PRIORITY_CLASSES.iter().find(|(name, _)| word == Value::Choice(name));
        let (_, class) = class.expect("the option takes these names only");
        let limit = Span::from_secs_f64(view.number(osd, names.limit));
        let chosen = |set: &Limits| {
            let descriptor = descriptor_for(set, limit)?;
            Some(ChosenLimit { limit, descriptor })
        };
        ClassTerms {
            priority: match class {
                PriorityClass::None => Priority::default(),
                class => Priority::new(*class, view.number(osd, names.level) as u8),
            },
            reads: chosen(&reads),
            writes: chosen(&writes),
        }
    }
}

/// Whether an OSD's drive has no descriptor for a limit. Only reads have to have one: many drives are given none for
/// writes, which then go without a limit.
pub(super) fn unfit(
    view: View<'_>,
    osd: OsdId,
    option: &'static str,
    limit: Value,
) -> Option<Refused> {
    let Value::Time(span) = limit else { unreachable!("a limit is a time, not {limit}") };
    let limits = &view.levels.each[osd].drive_limits;
    if span == Span::ZERO || descriptor_for(&limits.reads, span).is_some() {
        return None;
    }
    Some(match guidelines(&limits.reads).map(|(_, guideline)| guideline).min() {
        Some(shortest) => Refused::LimitTooShort { option, osd, limit: span, shortest },
        None => Refused::NoDriveLimits { option, osd },
    })
}
