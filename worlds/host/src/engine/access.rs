//! What NBD clients may do with images: each client by its names, and all of them.

use loadline_tls::ClientNames;
use std::collections::BTreeMap;
use std::str::FromStr;

/// What an operator lets NBD clients do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NbdAccess {
    /// Images that nobody writes through NBD.
    pub read_only: Vec<ImagePattern>,
    /// What clients may do that TLS knows by a certificate, each by a name in it. Without a word about any, all of them may do all.
    pub clients: BTreeMap<String, ClientImages>,
}

/// The images of one client. Others are not there for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientImages {
    /// Those that it may read.
    pub read: Vec<ImagePattern>,
    /// Those that it may write as well.
    pub write: Vec<ImagePattern>,
}

/// What a client may do with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ImageRight {
    Read,
    Write,
}

impl NbdAccess {
    /// What may be done with the image of this name by a client: one of whom nobody has asked who it is, who came by a socket of this
    /// machine or at an operator's risk, or one that TLS knows. Where several of its names are known, the most that one of them may.
    pub(super) fn right(&self, client: Option<&ClientNames>, image: &str) -> Option<ImageRight> {
        let right = match client {
            Some(names) if !self.clients.is_empty() => {
                let own = self.clients.iter().filter(|(name, _)| names.has(name));
                own.filter_map(|(_, images)| images.right(image)).max()?
            }
            _ => ImageRight::Write,
        };
        let is_read_only = covers(&self.read_only, image);
        Some(if is_read_only { ImageRight::Read } else { right })
    }
}

impl ClientImages {
    fn right(&self, image: &str) -> Option<ImageRight> {
        match covers(&self.write, image) {
            true => Some(ImageRight::Write),
            false => covers(&self.read, image).then_some(ImageRight::Read),
        }
    }
}

fn covers(patterns: &[ImagePattern], image: &str) -> bool {
    patterns.iter().any(|pattern| pattern.covers(image))
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
        let name = text.strip_suffix('*').unwrap_or(text);
        match text.is_empty() || name.contains(['@', '/', '*']) {
            true => Err("expected an image's name such as `vol0`, or a beginning such as `vm-*`"),
            false => Ok(ImagePattern(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<ImagePattern> {
        texts.iter().map(|text| text.parse().expect("it is a pattern")).collect()
    }

    #[test]
    fn a_client_has_what_one_of_its_names_may_and_nobody_writes_what_is_read_only() {
        let client = |read: &[&str], write: &[&str]| ClientImages {
            read: patterns(read),
            write: patterns(write),
        };
        let access = NbdAccess {
            read_only: patterns(&["gold"]),
            clients: BTreeMap::from([
                ("backup".to_owned(), client(&["*"], &[])),
                ("vm7".to_owned(), client(&["tools"], &["vol7*", "gold"])),
            ]),
        };
        let check = |names: &[&str], image: &str, right: Option<ImageRight>| {
            let names = ClientNames::new(names.iter().map(|name| (*name).to_owned()));
            assert_eq!(access.right(Some(&names), image), right, "{names:?}, {image}");
        };
        let (read, write) = (Some(ImageRight::Read), Some(ImageRight::Write));
        check(&["backup"], "vol7", read);
        check(&["vm7"], "vol7-data", write);
        check(&["vm7"], "tools", read);
        check(&["vm7"], "other", None);
        check(&["vm7", "backup"], "other", read);
        check(&["vm7", "backup"], "vol7", write);
        check(&["vm7"], "gold", read);
        for nobody in [&[][..], &["vm8"]] {
            check(nobody, "vol7", None);
        }
        assert_eq!(access.right(None, "vol7"), write, "who was not asked");
        assert_eq!(access.right(None, "gold"), read);
        let all = NbdAccess { clients: BTreeMap::new(), ..access };
        assert_eq!(all.right(Some(&ClientNames::default()), "vol7"), write);
    }

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
