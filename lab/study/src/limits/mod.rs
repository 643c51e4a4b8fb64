//! Studies of duration limits: what the scheduler before a drive, the limits inside it, and both together do for clients
//! that read beside background work.
//!
//! One OSD stands on a mechanical drive. A client reads in one loop, background work of class *best effort* in another;
//! both pass the OSD's queue and the window before the drive. Nothing is published to compare with.

mod conclude;
mod file;
mod keys;
mod record;
mod run;
mod setup;
mod study;
mod summary;

pub use keys::LIMITS_KEYS;
pub use record::{
    LimitsRecord, LimitsResult, LimitsSeries, LimitsSetupResult, StreamRepeat, StreamResult,
};
pub use setup::LimitsSetup;
pub use study::{LimitsSteps, LimitsStudy};
pub use summary::limits_json;
