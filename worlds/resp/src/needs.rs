//! How much memory a request takes from its beginning to its answer, as far as that is known before its keys are looked at.

use crate::commands::{KeyCommand, KeyStrings, NamedStrings};
use loadline_wire::resp::{ComingRequest, RespRequest};

/// What a key takes that a request names, beside its bytes: its places in the request, in the line of whoever changes it, among what was read of it and among what it
/// is made to, here and at the database. Measured with requests of some ten to some hundred thousand keys.
const KEY: u64 = 520;
/// The same of a field of a hash: its place in the list of fields, and in the table of where they are.
const FIELD: u64 = 240;
/// How often the bytes of a request are there at a time: as they came, with what a list that grows has to spare, as the value that is kept, in the database's transaction and in its log;
/// of a key as often in the places above. Measured too.
const COPIES: u64 = 7;

/// More than any key has that a database takes.
const KEY_BYTES_MAX: usize = 1 << 10;

/// Of a whole request.
pub(crate) fn of_request(command: &KeyCommand, request: &RespRequest) -> u64 {
    of_strings(Some(command.keys), request.len(), request.bytes())
}

/// Of one that is coming, as far as it is known; and if it becomes as long as one of so many bytes.
pub(crate) fn of_coming(coming: &ComingRequest<'_>, bytes_max: usize) -> (u64, u64) {
    let name = coming.name.unwrap_or_default().to_ascii_lowercase();
    let name = String::from_utf8_lossy(&name);
    let keys = KeyCommand::named(&name).map(|command| command.keys);
    let string_bytes = if keys == Some(KeyStrings::All) { KEY_BYTES_MAX } else { bytes_max };
    let to_come = coming.to_come.saturating_mul(string_bytes);
    let most = coming.bytes.saturating_add(to_come).min(bytes_max.max(coming.bytes));
    let of = |bytes| of_strings(keys, coming.strings, bytes);
    (of(coming.bytes), of(most))
}

fn of_strings(keys: Option<KeyStrings>, strings: usize, bytes: usize) -> u64 {
    let Some(named) = keys else { return bytes as u64 };
    let NamedStrings { keys, fields } = named.count(strings);
    keys as u64 * KEY + fields as u64 * FIELD + bytes as u64 * COPIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_request_is_never_more_than_what_it_may_become() {
        let coming =
            |name, strings, to_come, bytes| ComingRequest { name, strings, to_come, bytes };
        let set = of_coming(&coming(Some(b"SeT"), 3, 0, 1000), 8 << 20);
        assert_eq!(set, (KEY + 7000, KEY + 7000));
        let (known, most) = of_coming(&coming(Some(b"mset"), 1001, 900, 1000), 8 << 20);
        assert_eq!((known, most), (500 * KEY + 7000, 500 * KEY + 7 * (8 << 20)));
        let (known, most) = of_coming(&coming(Some(b"del"), 1001, 10, 1000), 8 << 20);
        assert_eq!((known, most), (1000 * KEY + 7000, 1000 * KEY + 7 * (1000 + 10 * 1024)));
        assert_eq!(of_coming(&coming(None, 1001, 900, 1000), 2000), (1000, 2000));
    }
}
