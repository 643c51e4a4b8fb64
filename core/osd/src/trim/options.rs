//! The bounds of trims, which settings decide.

use loadline_base::Span;

/// What an OSD's trims work within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimOptions {
    /// Placement groups that are trimmed at once, of those that the OSD leads (`osd_max_trimming_pgs`).
    pub pgs_max: usize,
    /// Objects of a group that are trimmed at once (`osd_pg_max_concurrent_snap_trims`).
    pub objects_max: usize,
    /// The pause after them (`osd_snap_trim_sleep` and its forms).
    pub sleep: Span,
    /// Nothing is trimmed (`nosnaptrim`).
    pub is_off: bool,
}
