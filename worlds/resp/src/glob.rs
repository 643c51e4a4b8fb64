//! Patterns of keys: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what stands for itself.

/// Whether a text is one of a pattern's, in time of at most both lengths multiplied.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut here) = (0, 0);
    // Behind the last star, and up to where it has taken the text.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, here));
            at += 1;
            continue;
        }
        match (text.get(here), one(&pattern[at..])) {
            (None, None) => return true,
            (Some(byte), Some((sign, length))) if sign.takes(*byte) => {
                at += length;
                here += 1;
            }
            (None, Some(_)) => return false,
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                (at, here) = (behind, taken + 1);
            }
        }
    }
}

/// What all texts of a pattern begin with.
pub(crate) fn prefix(pattern: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    let mut rest = pattern;
    while let Some((Sign::Byte(byte), length)) = one(rest).filter(|_| rest[0] != b'*') {
        prefix.push(byte);
        rest = &rest[length..];
    }
    prefix
}

/// What one byte of the text is compared with.
enum Sign<'p> {
    Byte(u8),
    Any,
    Set { is_not: bool, members: &'p [u8] },
}

impl Sign<'_> {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Sign::Byte(own) => *own == byte,
            Sign::Any => true,
            Sign::Set { is_not, members } => is_member(members, byte) != *is_not,
        }
    }
}

/// The first sign of a pattern, and its length; a star is not looked for.
fn one(pattern: &[u8]) -> Option<(Sign<'_>, usize)> {
    Some(match pattern {
        [] => return None,
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
    })
}

fn is_member(mut members: &[u8], byte: u8) -> bool {
    loop {
        members = match members {
            [] => return false,
            [b'\\', own, rest @ ..] | [own, rest @ ..]
                if *own == byte && rest.first() != Some(&b'-') =>
            {
                return true;
            }
            [b'\\', _, rest @ ..] => rest,
            [low, b'-', high, rest @ ..] => {
                if (*low.min(high)..=*low.max(high)).contains(&byte) {
                    return true;
                }
                rest
            }
            [own, rest @ ..] => {
                if *own == byte {
                    return true;
                }
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("[abc", "b", true),
            ("a[", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), is_match, "{pattern} {text}");
        }
        let hard = [b"a*".repeat(60), b"b".to_vec()].concat();
        assert!(!matches(&hard, &[b'a'; 10_000]));
        assert_eq!(prefix(b"user:\\*1[0-9]*"), b"user:*1");
        assert_eq!(prefix(b"*"), b"");
    }
}
