//! Which kind of study, and the figures that its runs count.

use crate::figure::Figure;
use crate::{checkpoint, limits, recovery, services};
use serde::{Deserialize, Serialize};

/// Which steps a study takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StudyKind {
    /// An OSD returns after its absence, and is filled beside the clients (qos.md 13.1).
    #[default]
    Recovery,
    /// Clients put keys while a store makes checkpoints (checkpoint.md 14).
    Checkpoint,
    /// Clients read beside background work on a drive with duration limits (cdl.md).
    Limits,
    /// Clients write while OSDs scrub, trim, delete or recover (scrub.md 8).
    Services,
}

impl StudyKind {
    /// Every figure, in the order of the tables.
    pub fn figures(self) -> &'static [Figure] {
        match self {
            StudyKind::Recovery => &recovery::figures::FIGURES,
            StudyKind::Checkpoint => &checkpoint::figures::FIGURES,
            StudyKind::Limits => &limits::figures::FIGURES,
            StudyKind::Services => &services::figures::FIGURES,
        }
    }

    /// The figure of this key.
    pub fn figure(self, key: &str) -> Option<&'static Figure> {
        self.figures().iter().find(|figure| figure.key == key)
    }

    /// The figures that tell a run in a few words.
    pub fn chief(self) -> impl Iterator<Item = &'static Figure> {
        let keys: &[&str] = match self {
            StudyKind::Recovery => &recovery::figures::CHIEF,
            StudyKind::Checkpoint => &checkpoint::figures::CHIEF,
            StudyKind::Limits => &limits::figures::CHIEF,
            StudyKind::Services => &services::figures::CHIEF,
        };
        keys.iter().filter_map(move |key| self.figure(key))
    }
}
