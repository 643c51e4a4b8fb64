//! Stores that the tool makes itself, with everything that was written to them noted.

use super::damage::ParseCaseError;
use super::further::settle;
use super::judge::Sound;
use crate::soak::Resting;
use loadline_store::paged::{LogMode, Protection};
use std::fmt;
use std::str::FromStr;

/// Ops of a store's load.
const OPS: u64 = 260;

/// A store of the tool's own. Written `MODE/PROTECTION/SEED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnStore {
    /// When its transactions were answered.
    pub log_mode: LogMode,
    /// Where its images are.
    pub protection: Protection,
    /// What its load is drawn from. Every other one has a device for its log; every fourth dies in the middle of a
    /// checkpoint.
    pub seed: u64,
}

impl OwnStore {
    /// The store after its load and a last answered sync, at rest.
    pub fn make(&self) -> Result<Sound, String> {
        let resting = Resting {
            seed: self.seed,
            log_mode: self.log_mode,
            protection: self.protection,
            has_log_device: self.seed % 2 == 1,
            dies_in_checkpoint: self.seed % 4 >= 2,
            ops: OPS,
        };
        let (mut disks, options) = resting.make().map_err(|failure| failure.to_string())?;
        let written = disks.data.take_written();
        settle(&mut disks, self.seed);
        Ok(Sound::new(disks, options, written)?.all_promised())
    }
}

impl OwnStore {
    /// Every log mode with every protection.
    pub fn kinds() -> impl Iterator<Item = (LogMode, Protection)> {
        let both = [Protection::Log, Protection::Checkpoint];
        LogMode::ALL.into_iter().flat_map(move |mode| both.map(|protection| (mode, protection)))
    }
}

impl fmt::Display for OwnStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.log_mode, self.protection, self.seed)
    }
}

impl FromStr for OwnStore {
    type Err = ParseCaseError;

    fn from_str(text: &str) -> Result<OwnStore, ParseCaseError> {
        let parts: Vec<&str> = text.split('/').collect();
        let [mode, protection, seed] = parts[..] else { return Err(ParseCaseError) };
        Ok(OwnStore {
            log_mode: mode.parse().map_err(|_| ParseCaseError)?,
            protection: protection.parse().map_err(|_| ParseCaseError)?,
            seed: seed.parse().map_err(|_| ParseCaseError)?,
        })
    }
}
