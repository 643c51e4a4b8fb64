//! Sentences: what they list, and their lines in a terminal.

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The text in lines of at most `width` characters where words allow it.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push_str("\n ");
            column = 1;
        }
        if column > 0 {
            out.push(' ');
        }
        out.push_str(word);
        column += length + usize::from(column > 0);
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 80), "one two three\n");
        assert_eq!(wrapped("one two three", 7), "one two\n  three\n");
        assert_eq!(wrapped("one two three", 6), "one\n  two\n  three\n");
    }
}
