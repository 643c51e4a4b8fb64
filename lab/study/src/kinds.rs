//! The kinds of studies there are: what each declares, found by its name.

use crate::declared::Declared;
use crate::input::InputError;
use crate::inputs::Inputs;
use crate::kind::StudyKind;
use crate::study::Study;
use crate::{checkpoint, limits, recovery};

pub(crate) fn declared(kind: StudyKind) -> &'static Declared {
    match kind {
        StudyKind::Recovery => &recovery::DECLARED,
        StudyKind::Checkpoint => &checkpoint::DECLARED,
        StudyKind::Limits => &limits::DECLARED,
    }
}

impl StudyKind {
    /// Whether it runs on real disks; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn runs_on_disks(self) -> Result<(), &'static str> {
        declared(self).not_on_disks.map_or(Ok(()), Err)
    }

    /// Whether its ops can be traced; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn is_traced(self) -> Result<(), &'static str> {
        declared(self).not_traced.map_or(Ok(()), Err)
    }
}

impl Study {
    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<Study, InputError> {
        (declared(inputs.kind()?).read)(inputs)
    }
}
