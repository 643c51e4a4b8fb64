//! What the map's owner knows of its OSDs: what it has told them, and what they have told it since.

use loadline_osd::DiskRoom;

/// How far an OSD is with its disk, where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiskPhase {
    #[default]
    Closed,
    Opening,
    Open,
}

/// One OSD, as far as its owner goes by it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownOsd {
    /// How often it was told to crash. What it has said in an earlier life is void.
    life: u32,
    disk: DiskPhase,
    room: DiskRoom,
}

impl KnownOsd {
    /// Whether this is said in its present life.
    pub(crate) fn is_in_life(&self, life: u32) -> bool {
        self.life == life
    }

    /// Whether its disk is being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.disk == DiskPhase::Opening
    }

    /// Whether its disk is open.
    pub(crate) fn is_open(&self) -> bool {
        self.disk == DiskPhase::Open
    }

    /// It is told to crash, which ends its life.
    pub(crate) fn end_life(&mut self) {
        *self = KnownOsd { life: self.life.wrapping_add(1), ..KnownOsd::default() };
    }

    /// It is told to open its disk.
    pub(crate) fn note_opening(&mut self) {
        self.disk = DiskPhase::Opening;
    }

    /// Its disk is open.
    pub(crate) fn note_open(&mut self) {
        self.disk = DiskPhase::Open;
    }

    /// The room on its disk.
    pub(crate) fn room(&self) -> &DiskRoom {
        &self.room
    }

    /// So much room is on its disk.
    pub(crate) fn note_room(&mut self, room: DiskRoom) {
        self.room = room;
    }
}
