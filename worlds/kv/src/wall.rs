//! The calendar: keys expire by it, since a time to live goes on while nobody has the database open.

use loadline_base::Span;
use std::time::{SystemTime, UNIX_EPOCH};

/// The calendar by which keys expire: milliseconds since 1970. A clock that stands before that reads zero, and nothing expires by it.
#[expect(
    clippy::disallowed_methods,
    reason = "a world of its own: this is where its calendar comes from"
)]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// When something expires that lives so long from now on.
pub(crate) fn expires_ms(lives: Span) -> u64 {
    now_ms().saturating_add(lives.nanos().div_ceil(1_000_000))
}
