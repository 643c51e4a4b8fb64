//! The four service classes of an OSD.

use crate::ClassId;
use core::fmt;

/// What kind of service a piece of work gets (qos.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceClass {
    /// Strict and uncharged: peering, and whatever a preset lets pass.
    Immediate,
    /// Client operations.
    Client,
    /// Recovery of objects that lack copies; in the first eras all of recovery and backfill.
    Recovery,
    /// Scrub, snapshot trim, PG deletion; from E2 on also backfill of misplaced objects.
    BestEffort,
}

impl ServiceClass {
    /// Every class, in the order of the class table.
    pub const ALL: [ServiceClass; 4] = [
        ServiceClass::Immediate,
        ServiceClass::Client,
        ServiceClass::Recovery,
        ServiceClass::BestEffort,
    ];

    /// The classes that have a reservation, a weight and a limit.
    pub const SHARED: [ServiceClass; 3] =
        [ServiceClass::Client, ServiceClass::Recovery, ServiceClass::BestEffort];

    /// The row of this class in the class table.
    pub const fn id(self) -> ClassId {
        ClassId::new(self as u32)
    }

    /// The class in row `id`, if there is such a row.
    pub fn from_id(id: ClassId) -> Option<ServiceClass> {
        ServiceClass::ALL.get(usize::from(id)).copied()
    }

    /// The name as settings spell it.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceClass::Immediate => "immediate",
            ServiceClass::Client => "client",
            ServiceClass::Recovery => "background_recovery",
            ServiceClass::BestEffort => "background_best_effort",
        }
    }
}

impl From<ServiceClass> for ClassId {
    fn from(class: ServiceClass) -> ClassId {
        class.id()
    }
}

impl fmt::Display for ServiceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_lead_back() {
        for (row, class) in ServiceClass::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(class.id()), row);
            assert_eq!(ServiceClass::from_id(class.id()), Some(class));
        }
        assert_eq!(ServiceClass::from_id(ClassId::new(4)), None);
    }
}
