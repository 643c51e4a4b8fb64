//! On what terms each class's requests go to the disk: the terms that an OSD is given.

use super::device_options::{DriveLimits, NAMES, Names, PRIORITY_CLASSES};
use super::{Settings, Value};
use loadline_base::Span;
use loadline_device::cdl::Limits;
use loadline_device::{Priority, PriorityClass};
use loadline_osd::{ChosenLimit, ClassTerms, DeviceTerms, OsdId, descriptor_for};
use loadline_qos::ServiceClass;

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
