//! How a command ends.

use loadline_device::Outcome;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Carried out whole.
    Good,
    /// Its time ran out under policy Dh: good status, no data.
    DataUnavailable,
    /// Its time ran out while it was queued.
    AbortedBefore,
    /// Its time ran out while it was carried out.
    AbortedDuring,
    /// Its time ran out while the firmware tried again to read a sector.
    AbortedInRecovery,
    /// A sector cannot be read.
    MediaError,
}

/// Sense key, additional sense code and its qualifier.
pub type Sense = (u8, u8, u8);

impl Ending {
    /// What a SCSI drive adds to its status (cdl.md 1.4); `None` for nothing.
    pub fn sense(self) -> Option<Sense> {
        match self {
            Ending::Good => None,
            Ending::DataUnavailable => Some((0x0f, 0x55, 0x0a)),
            Ending::AbortedBefore => Some((0x0b, 0x2e, 0x01)),
            Ending::AbortedDuring => Some((0x0b, 0x2e, 0x02)),
            Ending::AbortedInRecovery => Some((0x0b, 0x2e, 0x03)),
            Ending::MediaError => Some((0x03, 0x11, 0x00)),
        }
    }
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Outcome {
        match ending {
            Ending::Good => Outcome::Done,
            Ending::MediaError => Outcome::Failed,
            Ending::DataUnavailable
            | Ending::AbortedBefore
            | Ending::AbortedDuring
            | Ending::AbortedInRecovery => Outcome::OverLimit,
        }
    }
}
