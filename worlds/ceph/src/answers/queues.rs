//! `dump_recovery_reservations` and `dump_scrubs`: who waits for a slot, and which scrub is due.

use crate::lenient;
use serde::Deserialize;

/// An OSD's slots for recovery and backfill.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Reservations {
    /// Of groups that it serves.
    pub local_reservations: ReservationSide,
    /// Of groups that it receives.
    pub remote_reservations: ReservationSide,
}

/// The slots of one side.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReservationSide {
    /// Slots.
    #[serde(deserialize_with = "lenient::whole")]
    pub max_allowed: u64,
    /// Who waits, by priority.
    pub queues: Vec<ReservationQueue>,
    /// Who has one.
    pub in_progress: Vec<ReservationItem>,
}

/// Who waits with one priority.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReservationQueue {
    /// The groups.
    pub items: Vec<ReservationItem>,
}

/// A group that waits or has a slot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReservationItem {
    /// Its name.
    pub item: String,
}

impl ReservationSide {
    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.items.len()).sum()
    }
}

/// One scrub that is due some time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ScheduledScrub {
    /// The group.
    pub pgid: String,
    /// When it may begin; a plain number if somebody has asked for it.
    #[serde(deserialize_with = "lenient::text")]
    pub sched_time: String,
    /// Until when it must have begun.
    #[serde(deserialize_with = "lenient::text")]
    pub deadline: String,
    /// Whether somebody has asked for it.
    #[serde(deserialize_with = "lenient::flag")]
    pub forced: bool,
}
