//! What images and snapshots may be called.

use super::error::ImageError;
use super::image::NAME_CHARS_MAX;

/// Whether `name` may be given to an image or a snapshot. `.` and `..` are folders to whoever makes a path of a name, and nobody
/// sees in a table where a name with spaces at its ends begins.
pub fn may_be_named(name: &str) -> bool {
    is_name(name) && !matches!(name, "." | "..") && name.trim() == name
}

/// Whether `name` may be an image's or a snapshot's in a table: earlier versions gave out the names of folders too.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c != '@' && c != '/' && !c.is_control();
    (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(allowed)
}

pub(super) fn check(name: &str) -> Result<(), ImageError> {
    if may_be_named(name) { Ok(()) } else { Err(ImageError::BadName(name.to_owned())) }
}

/// Splits `image@snapshot`.
pub(super) fn snapshot(name: &str) -> Result<(&str, &str), ImageError> {
    name.split_once('@').ok_or_else(|| ImageError::NotASnapshot(name.to_owned()))
}
