//! What images and snapshots may be called.

use super::error::ImageError;

/// Most characters of a name.
pub const NAME_CHARS_MAX: usize = 64;

/// Whether `name` may be an image's or a snapshot's.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c != '@' && c != '/' && !c.is_control();
    (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(allowed)
}

pub(super) fn check(name: &str) -> Result<(), ImageError> {
    if is_name(name) { Ok(()) } else { Err(ImageError::BadName(name.to_owned())) }
}

/// Splits `image@snapshot`.
pub(super) fn snapshot(name: &str) -> Result<(&str, &str), ImageError> {
    name.split_once('@').ok_or_else(|| ImageError::NotASnapshot(name.to_owned()))
}
