//! Patterns of keys: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what stands for itself.
//!
//! A pattern is a row of signs, each of which takes one byte of the text, with stars between them. A text is compared with all of it at once: a bit for
//! each place in the row says whether the text so far may have come to it. So what a comparison costs is known before, whatever the two are.

use crate::refusal::RespRefusal;

/// Bytes of a pattern at most. A byte of the text is compared with 64 of its signs at a time, and the longest text is a hash's field of a mebibyte: some ten milliseconds, for which all others
/// wait.
pub(crate) const PATTERN_BYTES_MAX: usize = 1024;

/// Words of places that the longest pattern has: one place more than there are signs, which is the end.
const WORDS_MAX: usize = PATTERN_BYTES_MAX / 64 + 1;

/// See [above](self).
pub(crate) struct Glob {
    /// What all of its texts begin with.
    prefix: Vec<u8>,
    /// How many signs it has.
    signs: usize,
    /// For each byte, of which places the sign takes it: as many words as `stars` has.
    takes: Vec<u64>,
    /// The places at which there is a star.
    stars: Vec<u64>,
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is longer than [`PATTERN_BYTES_MAX`].
    pub(crate) fn new(pattern: &[u8]) -> Result<Glob, RespRefusal> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(RespRefusal::PatternBytes(PATTERN_BYTES_MAX));
        }
        // One place more than there are signs: the end.
        let words = pattern.len() / 64 + 1;
        let (prefix, takes, stars) = (Vec::new(), vec![0; 256 * words], vec![0; words]);
        let mut glob = Glob { prefix, signs: 0, takes, stars };
        let (mut rest, mut is_plain) = (pattern, true);
        while let Some((sign, length)) = first_part(rest) {
            rest = &rest[length..];
            match sign {
                None => {
                    is_plain = false;
                    glob.stars[glob.signs / 64] |= 1 << (glob.signs % 64);
                }
                Some(sign) => {
                    is_plain = is_plain && glob.begins_with(&sign);
                    glob.push(&sign);
                }
            }
        }
        Ok(glob)
    }

    /// What all of its texts begin with.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whether a text is one of the pattern's.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let words = self.stars.len();
        let mut places = [0; WORDS_MAX];
        let places = &mut places[..words];
        places[0] = 1;
        for byte in text {
            let takes = &self.takes[usize::from(*byte) * words..][..words];
            let (mut carried, mut is_somewhere) = (0, false);
            for ((place, takes), stars) in places.iter_mut().zip(takes).zip(&self.stars) {
                let taken = *place & takes;
                *place = taken << 1 | carried | *place & stars;
                carried = taken >> 63;
                is_somewhere |= *place != 0;
            }
            if !is_somewhere {
                return false;
            }
        }
        places[self.signs / 64] >> (self.signs % 64) & 1 == 1
    }

    fn begins_with(&mut self, sign: &Sign<'_>) -> bool {
        let Sign::Byte(byte) = sign else { return false };
        self.prefix.push(*byte);
        true
    }

    fn push(&mut self, sign: &Sign<'_>) {
        let (words, bit) = (self.stars.len(), 1 << (self.signs % 64));
        let taken = sign.taken();
        for (byte, _) in taken.iter().enumerate().filter(|(_, is_taken)| **is_taken) {
            self.takes[byte * words + self.signs / 64] |= bit;
        }
        self.signs += 1;
    }
}

/// What one byte of the text is compared with.
enum Sign<'p> {
    Byte(u8),
    Any,
    Set { is_not: bool, members: &'p [u8] },
}

impl Sign<'_> {
    /// Which bytes it takes.
    fn taken(&self) -> [bool; 256] {
        match self {
            Sign::Byte(own) => {
                let mut taken = [false; 256];
                taken[usize::from(*own)] = true;
                taken
            }
            Sign::Any => [true; 256],
            Sign::Set { is_not, members } => members_of(members).map(|is_in| is_in != *is_not),
        }
    }
}

/// The first sign of a pattern, or the star that is there instead, and its length.
fn first_part(pattern: &[u8]) -> Option<(Option<Sign<'_>>, usize)> {
    let (sign, length) = match pattern {
        [] => return None,
        [b'*', ..] => return Some((None, 1)),
        [b'?', ..] => (Sign::Any, 1),
        [b'\\', byte, ..] => (Sign::Byte(*byte), 2),
        [b'[', rest @ ..] => {
            let (is_not, inner) = match rest {
                [b'^', inner @ ..] => (true, inner),
                inner => (false, inner),
            };
            // Without an end it goes to the end of the pattern, as the original has it.
            let mut end = 0;
            while end < inner.len() && inner[end] != b']' {
                end += if inner[end] == b'\\' && end + 1 < inner.len() { 2 } else { 1 };
            }
            let length = 1 + usize::from(is_not) + (end + 1).min(inner.len());
            (Sign::Set { is_not, members: &inner[..end] }, length)
        }
        [byte, ..] => (Sign::Byte(*byte), 1),
    };
    Some((Some(sign), length))
}

/// The bytes that are in a set.
fn members_of(mut members: &[u8]) -> [bool; 256] {
    let mut are_in = [false; 256];
    loop {
        let (low, high, rest) = match members {
            [] => return are_in,
            [b'\\', own, rest @ ..] => (own, own, rest),
            [low, b'-', high, rest @ ..] => (low.min(high), low.max(high), rest),
            [own, rest @ ..] => (own, own, rest),
        };
        are_in[usize::from(*low)..=usize::from(*high)].fill(true);
        members = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &[u8], text: &[u8]) -> bool {
        Glob::new(pattern).expect("it is short").matches(text)
    }

    #[test]
    fn patterns_match_as_the_original_s_do() {
        for (pattern, text, is_match) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*a*b*", "xxaxxbx", true),
            ("h?llo", "hallo", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hello", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("h[a-c]llo", "hdllo", false),
            ("h[\\]x]llo", "h]llo", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("h[\\]x]llo", "h\\llo", false),
            ("h[\\a-b]llo", "hallo", true),
            ("[abc", "b", true),
            ("a[", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), is_match, "{pattern} {text}");
        }
        for (pattern, prefix) in [("user:\\*1[0-9]*", "user:*1"), ("*", ""), ("a*b", "a")] {
            let glob = Glob::new(pattern.as_bytes()).expect("it is short");
            assert_eq!(glob.prefix(), prefix.as_bytes());
        }
    }

    /// A pattern was compared from each place of the text again, and a set was read again for each byte: a pattern of a request's length had all others wait for minutes,
    /// and so would this test.
    #[test]
    fn no_pattern_takes_long() {
        let long = [&b"*["[..], &[b'b'; PATTERN_BYTES_MAX], b"]"].concat();
        let refused = Glob::new(&long).err();
        assert_eq!(refused, Some(RespRefusal::PatternBytes(PATTERN_BYTES_MAX)));
        let hard = [&b"*"[..], &[b'a'; PATTERN_BYTES_MAX - 2], b"b"].concat();
        let mut text = vec![b'a'; 1 << 20];
        assert!(!matches(&hard, &text));
        text.push(b'b');
        assert!(matches(&hard, &text));
    }

    /// What a pattern means, without a thought of what it costs.
    fn means(pattern: &[u8], text: &[u8]) -> bool {
        match (first_part(pattern), text) {
            (None, _) => text.is_empty(),
            (Some((None, length)), _) => {
                let mut rests = (0..=text.len()).map(|taken| &text[taken..]);
                rests.any(|rest| means(&pattern[length..], rest))
            }
            (Some((Some(sign), length)), [byte, rest @ ..]) => {
                sign.taken()[usize::from(*byte)] && means(&pattern[length..], rest)
            }
            (Some((Some(_), _)), []) => false,
        }
    }

    #[test]
    fn a_pattern_matches_what_it_means() {
        let mut rng = loadline_base::Rng::new(1);
        for long in [0, 62, 130] {
            for _ in 0..2000 {
                // Its last signs stand where one word of places meets the next.
                let mut pattern = vec![b'a'; long];
                let mut text = pattern.clone();
                pattern.extend((0..rng.below(6)).map(|_| b"ab*?"[rng.below(4) as usize]));
                text.extend((0..rng.below(6)).map(|_| b"ab"[rng.below(2) as usize]));
                assert_eq!(
                    matches(&pattern, &text),
                    means(&pattern, &text),
                    "{pattern:?} {text:?}"
                );
            }
        }
    }
}
