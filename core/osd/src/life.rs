//! Which life of an OSD this is. A crash ends one.

use crate::directive::DiskRoom;
use loadline_base::Time;

/// The present life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OsdLife {
    /// How often the OSD has crashed.
    pub(crate) number: u32,
    /// Whether it hears others.
    pub(crate) takes_part: bool,
    /// The room on its disk, as the owner of the map was told.
    pub(crate) room: DiskRoom,
    /// Until when what is owed waits for room on it, as a timer was set.
    pub(crate) full_until: Option<Time>,
}

impl OsdLife {
    /// The first one.
    pub(crate) fn first(takes_part: bool) -> OsdLife {
        OsdLife { number: 0, takes_part, room: DiskRoom::default(), full_until: None }
    }

    /// The one after a crash.
    pub(crate) fn next(self) -> OsdLife {
        OsdLife { number: self.number.wrapping_add(1), ..OsdLife::first(false) }
    }
}
