//! What a profile is: nine numbers as published, and what they mean on a given capacity.

use crate::{Capacity, CostUnit, LimitPolicy, Params, ParamsError, ServiceClass};
use loadline_base::round;

/// A reservation or a limit as a profile states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Part of the OSD's capacity; above 1 for limits that expensive items made necessary.
    Fraction(f64),
    /// Mixed units per second and shard, whatever the capacity.
    Units(u32),
    /// As little as can be said: 1 unit/s in the first eras, nothing from E2 on.
    Min,
    /// No limit in effect: 999999 units/s in the first eras, none from E2 on.
    Max,
}

/// Reservation, weight and limit of one class as a profile states them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassProfile {
    /// Guaranteed rate.
    pub reservation: Rate,
    /// Share of the rest.
    pub weight: f64,
    /// Highest rate.
    pub limit: Rate,
    /// What happens at the limit.
    pub limit_policy: LimitPolicy,
}

/// One profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Its name as `osd_mclock_profile` takes it.
    pub name: &'static str,
    /// Client operations.
    pub client: ClassProfile,
    /// Recovery.
    pub recovery: ClassProfile,
    /// Scrub, trim, deletion.
    pub best_effort: ClassProfile,
}

/// The profiles of one source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileTable {
    /// Its name.
    pub name: &'static str,
    /// Where the figures come from.
    pub source: &'static str,
    /// The unit that the values are resolved in.
    pub unit: CostUnit,
    /// The profile in force if nothing else is said.
    pub default_profile: &'static str,
    /// The profiles.
    pub profiles: &'static [Profile],
}

/// Reservation, weight and limit as the options hold them: units per second and shard in the first eras;
/// from E2 on fractions of the OSD, where 0 means no reservation and no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassValues {
    /// `osd_mclock_scheduler_*_res`
    pub reservation: f64,
    /// `osd_mclock_scheduler_*_wgt`
    pub weight: f64,
    /// `osd_mclock_scheduler_*_lim`
    pub limit: f64,
    /// What happens at the limit.
    pub limit_policy: LimitPolicy,
}

/// The nine numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileValues {
    /// Client operations.
    pub client: ClassValues,
    /// Recovery.
    pub recovery: ClassValues,
    /// Scrub, trim, deletion.
    pub best_effort: ClassValues,
}

/// The first eras' encoding of "no limit".
const MAX_UNITS: f64 = 999_999.0;

impl Rate {
    /// The value as the options hold it (qos.md 5.1 and 5.3).
    pub fn value(self, unit: CostUnit, capacity: &Capacity) -> f64 {
        match (self, unit) {
            (Rate::Fraction(part), CostUnit::Mixed) => {
                round(part * capacity.iops_per_shard()) as f64
            }
            (Rate::Fraction(part), CostUnit::Bytes) => part,
            (Rate::Units(units), CostUnit::Mixed) => f64::from(units),
            (Rate::Units(units), CostUnit::Bytes) => f64::from(units) / capacity.iops_per_shard(),
            (Rate::Min, CostUnit::Mixed) => 1.0,
            (Rate::Max, CostUnit::Mixed) => MAX_UNITS,
            (Rate::Min | Rate::Max, CostUnit::Bytes) => 0.0,
        }
    }
}

impl ClassProfile {
    /// The values as the options hold them.
    pub fn values(&self, unit: CostUnit, capacity: &Capacity) -> ClassValues {
        ClassValues {
            reservation: self.reservation.value(unit, capacity),
            weight: self.weight,
            limit: self.limit.value(unit, capacity),
            limit_policy: self.limit_policy,
        }
    }
}

impl ClassValues {
    /// The compiled-in values of the custom profile (qos.md 5.4).
    pub const fn compiled(unit: CostUnit) -> ClassValues {
        let (reservation, limit) = match unit {
            CostUnit::Mixed => (1.0, MAX_UNITS),
            CostUnit::Bytes => (0.0, 0.0),
        };
        ClassValues { reservation, weight: 1.0, limit, limit_policy: LimitPolicy::Hard }
    }

    /// What one shard's scheduler is told, in cost units per second.
    ///
    /// # Errors
    /// [`ParamsError`] for values that cannot be scheduled.
    pub fn params(&self, unit: CostUnit, capacity: &Capacity) -> Result<Params, ParamsError> {
        let scale = match unit {
            CostUnit::Mixed => 1.0,
            CostUnit::Bytes => capacity.bandwidth_per_shard(),
        };
        let params = Params::new(self.reservation * scale, self.weight, self.limit * scale)?;
        Ok(params.with_limit_policy(self.limit_policy))
    }
}

impl Profile {
    /// What the profile says of a class; `None` for the immediate class, which has no parameters.
    pub fn of(&self, class: ServiceClass) -> Option<&ClassProfile> {
        match class {
            ServiceClass::Immediate => None,
            ServiceClass::Client => Some(&self.client),
            ServiceClass::Recovery => Some(&self.recovery),
            ServiceClass::BestEffort => Some(&self.best_effort),
        }
    }

    /// The nine numbers as the options hold them.
    pub fn values(&self, unit: CostUnit, capacity: &Capacity) -> ProfileValues {
        ProfileValues {
            client: self.client.values(unit, capacity),
            recovery: self.recovery.values(unit, capacity),
            best_effort: self.best_effort.values(unit, capacity),
        }
    }
}

impl ProfileValues {
    /// The values of a class; `None` for the immediate class.
    pub fn of(&self, class: ServiceClass) -> Option<&ClassValues> {
        match class {
            ServiceClass::Immediate => None,
            ServiceClass::Client => Some(&self.client),
            ServiceClass::Recovery => Some(&self.recovery),
            ServiceClass::BestEffort => Some(&self.best_effort),
        }
    }

    /// The values of a class, to change; `None` for the immediate class.
    pub fn of_mut(&mut self, class: ServiceClass) -> Option<&mut ClassValues> {
        match class {
            ServiceClass::Immediate => None,
            ServiceClass::Client => Some(&mut self.client),
            ServiceClass::Recovery => Some(&mut self.recovery),
            ServiceClass::BestEffort => Some(&mut self.best_effort),
        }
    }
}

impl ProfileTable {
    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The names of its profiles.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.profiles.iter().map(|profile| profile.name)
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
