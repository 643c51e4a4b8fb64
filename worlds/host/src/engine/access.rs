//! What NBD clients may do with images, whoever they are.

use std::str::FromStr;

/// What an operator lets NBD clients do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NbdAccess {
    /// Images that nobody writes through NBD.
    pub read_only: Vec<ImagePattern>,
}

impl NbdAccess {
    /// Whether the image of this name may be read alone.
    pub(super) fn is_read_only(&self, image: &str) -> bool {
        self.read_only.iter().any(|pattern| pattern.covers(image))
    }
}

/// The name of an image, or what the names of some begin with and a `*`. A snapshot goes with its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePattern(String);

impl ImagePattern {
    fn covers(&self, image: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => image.starts_with(beginning),
            None => self.0 == image,
        }
    }
}

impl FromStr for ImagePattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<ImagePattern, &'static str> {
        match text.is_empty() || text.contains(['@', '/']) {
            true => Err("expected an image's name such as `vol0`, or a beginning such as `vm-*`"),
            false => Ok(ImagePattern(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_how_names_begin() {
        let check = |pattern: &str, image: &str, covers: bool| {
            let pattern: ImagePattern = pattern.parse().expect("it is a pattern");
            assert_eq!(pattern.covers(image), covers, "{pattern:?}, {image}");
        };
        check("vol0", "vol0", true);
        check("vol0", "vol01", false);
        check("vol*", "vol01", true);
        check("vol*", "vol", true);
        check("vol*", "other", false);
        check("*", "any", true);
        for wrong in ["", "vol0@one", "a/b"] {
            assert!(wrong.parse::<ImagePattern>().is_err(), "{wrong}");
        }
    }
}
