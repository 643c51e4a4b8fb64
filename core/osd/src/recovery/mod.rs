//! Recovery of placement groups: reservations, admission, and the life of one recovered object.

mod admission;
mod backfill;
mod delete;
mod history;
mod listing;
mod object;
mod reservation;
mod reserver;
mod room;
mod start;
mod unreadable;

pub(crate) use admission::Admission;
pub use admission::AdmissionBounds;
pub(crate) use reserver::Change;
pub use reserver::Reserver;
