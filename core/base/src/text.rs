//! Text as a sentence repeats it.

use alloc::borrow::Cow;
use alloc::format;

/// As long as a name of anything here may be: what is longer is none, and a sentence needs no more of it.
const CHARS_MAX: usize = 64;

/// What somebody has typed for a name, as a sentence repeats it: whole, or where it is longer than any name, how it begins.
///
/// ```
/// use loadline_base::in_short;
/// assert_eq!(in_short("vol0"), "vol0");
/// assert_eq!(in_short(&"ä".repeat(90_000)), "ä".repeat(64) + "…");
/// ```
pub fn in_short(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(CHARS_MAX) {
        None => Cow::Borrowed(name),
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name of 90,000 bytes was repeated whole.
    #[test]
    fn a_sentence_repeats_no_more_than_a_name() {
        let longest = "ä".repeat(CHARS_MAX);
        assert_eq!(in_short(&longest), longest);
        assert_eq!(in_short(&format!("{longest}x")), format!("{longest}…"));
        assert_eq!(in_short(""), "");
    }
}
