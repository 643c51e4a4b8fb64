//! The words of the command line, before anything is made of them.

/// The words of the command as they were typed, for people to read: a part that is no text is replaced, as no command hangs on it.
pub(crate) fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// Whether the answer is for a program. Asked also where the rest of the line cannot be understood.
pub(crate) fn wants_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}
