//! What an op waits for outside of every queue.

use std::fmt;

/// A reason why an op is in no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsideFor {
    /// No OSD serves its placement group.
    Serving,
    /// Its placement group ends its interval, and the next one begins with it.
    Interval,
    /// An OSD of its placement group is full.
    Room,
    /// What was sent before it and has no answer may fill an OSD of its placement group.
    RoomOfSent,
    /// A write of its placement group that came before it waits for room.
    RoomOfEarlier,
    /// The object that it needs is recovered first.
    Recovery,
    /// The same, and an OSD has no room for that object.
    RecoveryRoom,
    /// Its object is in a chunk that a scrub compares.
    Scrub,
}

impl AsideFor {
    const ALL: [AsideFor; 8] = [
        AsideFor::Serving,
        AsideFor::Interval,
        AsideFor::Room,
        AsideFor::RoomOfSent,
        AsideFor::RoomOfEarlier,
        AsideFor::Recovery,
        AsideFor::RecoveryRoom,
        AsideFor::Scrub,
    ];

    const fn phrase(self) -> &'static str {
        match self {
            AsideFor::Serving => "an OSD that serves its PG",
            AsideFor::Interval => "the next interval of its PG",
            AsideFor::Room => "room on a full OSD",
            AsideFor::RoomOfSent => "writes under way that may fill an OSD",
            AsideFor::RoomOfEarlier => "an earlier write of its PG that waits for room",
            AsideFor::Recovery => "recovery of its object",
            AsideFor::RecoveryRoom => "room on an OSD for what recovery brings",
            AsideFor::Scrub => "a scrub of its object",
        }
    }
}

/// All that an op was put aside for, one after the other, until it came to a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aside(u8);

impl Aside {
    /// It went straight to its queue.
    pub const NONE: Aside = Aside(0);

    /// Of one reason.
    pub const fn of(reason: AsideFor) -> Aside {
        Aside(1 << reason as u8)
    }

    /// One more.
    pub fn add(&mut self, reason: AsideFor) {
        self.0 |= Aside::of(reason).0;
    }
}

/// `recovery of its object and room on an OSD for what recovery brings`; an op that nothing has put aside is on its way.
impl fmt::Display for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = |reason: &AsideFor| self.0 & Aside::of(*reason).0 != 0;
        let mut reasons = AsideFor::ALL.into_iter().filter(is_one).map(AsideFor::phrase);
        f.write_str(reasons.next().unwrap_or("the way of its message to the primary"))?;
        reasons.try_for_each(|reason| write!(f, " and {reason}"))
    }
}
