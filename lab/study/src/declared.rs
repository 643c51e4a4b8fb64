//! What a kind of study declares, beside its figures and its script.

use crate::input::{InputError, Source};
use crate::inputs::{Inputs, NamedFiles};
use crate::overrides::Override;
use crate::shelf::Shelf;
use crate::study::Study;

/// A key of the study's file with what `--quick` sets it to.
pub(crate) type QuickKey = Result<(&'static str, String), InputError>;

/// What a kind declares, beside its script.
pub(crate) struct Declared {
    /// Where its drives lie.
    pub drives: Shelf,
    pub read: fn(&Inputs) -> Result<Study, InputError>,
    /// The files that a study file asks for.
    pub named_in: fn(&Source, &[Override]) -> Result<NamedFiles, InputError>,
    /// What `--quick` sets: a part of what is done without it in the same place.
    pub quick: fn(&Inputs) -> QuickKey,
    /// A study file to begin with: sound as it stands, with a comment on every field, and `NAME` for its title.
    pub template: &'static str,
    /// Why it does not run on real disks, if it does not.
    pub not_on_disks: Option<&'static str>,
    /// Why it does not run on a Ceph cluster, if it does not.
    pub not_on_ceph: Option<&'static str>,
    /// Why its ops cannot be traced, if they cannot.
    pub not_traced: Option<&'static str>,
}
