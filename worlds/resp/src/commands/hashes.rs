//! Hashes.

use super::call::{KeyCall, integer, several};
use super::float::float_sum;
use crate::glob::Glob;
use crate::refusal::RespRefusal;
use loadline_wire::resp::RespReply;

/// A field of the first key's hash.
fn field_of<'k>(call: &'k mut KeyCall<'_>, field: &[u8]) -> Result<Option<&'k [u8]>, RespRefusal> {
    Ok(call.keys.hash(call.key(), 1)?.get(field))
}

/// Sets a field of the first key's hash, and says whether it is new.
fn set_field(call: &mut KeyCall<'_>, field: &[u8], value: &[u8]) -> Result<bool, RespRefusal> {
    call.keys.change_hash(call.key(), 1, |fields| fields.set(field, value))
}

pub(super) fn get(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let field = call.string(2);
    Ok(RespReply::bulk_or_null(field_of(call, field)?.map(<[u8]>::to_vec)))
}

pub(super) fn get_several(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let names = call.strings(2);
    let room = call.room;
    let fields = call.keys.hash(call.key(), call.request.len())?;
    several(names.map(|field| Ok(fields.get(field))), room)
}

pub(super) fn exists(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let field = call.string(2);
    Ok(RespReply::Integer(field_of(call, field)?.is_some().into()))
}

pub(super) fn length(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let field = call.string(2);
    Ok(RespReply::Integer(field_of(call, field)?.map_or(0, <[u8]>::len) as i64))
}

pub(super) fn count(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(call.keys.hash(call.key(), 0)?.len() as i64))
}

/// Refuses to tell all fields of the first key's hash where there is no room for that: short ones are many parts.
fn check_all(call: &mut KeyCall<'_>) -> Result<(), RespRefusal> {
    let fields = call.keys.hash(call.key(), 0)?;
    let (parts, bytes) = (2 * fields.len(), fields.bytes());
    call.check_room(parts, bytes)
}

pub(super) fn all(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    check_all(call)?;
    let fields = call.keys.hash(call.key(), 0)?.iter();
    let pairs = fields.map(|(field, value)| (RespReply::bulk(field), RespReply::bulk(value)));
    Ok(RespReply::Map(pairs.collect()))
}

pub(super) fn fields(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    check_all(call)?;
    let fields = call.keys.hash(call.key(), 0)?.iter();
    Ok(RespReply::Array(fields.map(|(field, _)| RespReply::bulk(field)).collect()))
}

pub(super) fn values(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    check_all(call)?;
    let fields = call.keys.hash(call.key(), 0)?.iter();
    Ok(RespReply::Array(fields.map(|(_, value)| RespReply::bulk(value)).collect()))
}

/// Sets the fields that stand behind the key, and answers how many are new.
fn set_fields(call: &mut KeyCall<'_>, command: &str) -> Result<i64, RespRefusal> {
    if !call.request.len().is_multiple_of(2) {
        return Err(RespRefusal::Arity(command.to_owned()));
    }
    let mut strings = call.strings(2);
    call.keys.change_hash(call.key(), call.request.len() / 2, |fields| {
        let mut new = 0;
        while let (Some(field), Some(value)) = (strings.next(), strings.next()) {
            new += i64::from(fields.set(field, value));
        }
        new
    })
}

pub(super) fn set(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(set_fields(call, "hset")?))
}

pub(super) fn set_plainly(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_fields(call, "hmset")?;
    Ok(RespReply::OK)
}

pub(super) fn set_new(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let field = call.string(2);
    if field_of(call, field)?.is_some() {
        return Ok(RespReply::Integer(0));
    }
    set_field(call, field, call.string(3))?;
    Ok(RespReply::Integer(1))
}

pub(super) fn remove(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let (mut names, lookups) = (call.strings(2), call.request.len());
    let fields = call.keys.hash(call.key(), lookups)?;
    // A hash that loses nothing is not changed.
    if !names.any(|field| fields.get(field).is_some()) {
        return Ok(RespReply::Integer(0));
    }
    let names = call.strings(2);
    let removed = call
        .keys
        .change_hash(call.key(), 0, |fields| names.filter(|field| fields.remove(field)).count())?;
    Ok(RespReply::Integer(removed as i64))
}

pub(super) fn increment_by(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let field = call.string(2);
    let more = call.integer(3)?;
    let old = field_of(call, field)?.map_or(Some(0), integer);
    let sum =
        old.ok_or(RespRefusal::NoHashInteger)?.checked_add(more).ok_or(RespRefusal::Overflow)?;
    set_field(call, field, sum.to_string().as_bytes())?;
    Ok(RespReply::Integer(sum))
}

pub(super) fn increment_by_float(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let (field, more) = (call.string(2), call.string(3));
    let sum = float_sum(field_of(call, field)?, more)?;
    set_field(call, field, &sum)?;
    Ok(RespReply::Bulk(sum))
}

/// All fields at once, as the original answers for a small hash: the cursor that follows is always 0.
pub(super) fn scan(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let mut pattern = &b"*"[..];
    let mut is_bare = false;
    let mut options = call.strings(3);
    while let Some(option) = options.next() {
        match &option.to_ascii_uppercase()[..] {
            b"NOVALUES" => is_bare = true,
            b"MATCH" => pattern = options.next().ok_or(RespRefusal::Syntax)?,
            b"COUNT" => {
                let count = options.next().and_then(integer).ok_or(RespRefusal::NoInteger)?;
                if count < 1 {
                    return Err(RespRefusal::Syntax);
                }
            }
            _ => return Err(RespRefusal::Syntax),
        }
    }
    let pattern = Glob::new(pattern)?;
    check_all(call)?;
    let fields = call.keys.hash(call.key(), 0)?.iter();
    let matching = fields.filter(|(field, _)| pattern.matches(field));
    let told = matching.flat_map(|(field, value)| {
        let value = (!is_bare).then(|| RespReply::bulk(value));
        std::iter::once(RespReply::bulk(field)).chain(value)
    });
    Ok(RespReply::Array(vec![RespReply::bulk("0"), RespReply::Array(told.collect())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::KeyCommand;
    use crate::keys::KeyTable;
    use loadline_wire::resp::{RespLimits, RespReader, RespRequest};

    fn request(strings: impl Iterator<Item = String>) -> RespRequest {
        let strings: Vec<String> = strings.collect();
        let mut sent = format!("*{}\r\n", strings.len());
        strings.iter().for_each(|it| sent.push_str(&format!("${}\r\n{it}\r\n", it.len())));
        let most = 8 << 20;
        let limits = RespLimits { string_bytes: most, request_bytes: most, strings: 1 << 17 };
        let mut reader = RespReader::new(limits);
        reader.push(sent.as_bytes());
        reader.next_request().expect("it is whole").expect("it is there")
    }

    /// Each field that a request named was compared with every field there was: of a request and a hash of some ten thousand each that were billions, on the one thread that
    /// all wait for, and this test would take that long.
    #[test]
    fn a_request_of_many_fields_is_no_walk_over_all_for_each() {
        const COUNT: usize = 60_000;
        let mut keys = KeyTable::default();
        let mut run = |name: &str, strings: &mut dyn Iterator<Item = String>| {
            let command = KeyCommand::named(name).expect("there is one");
            let request = request([name.to_owned(), "h".to_owned()].into_iter().chain(strings));
            (command.run)(&mut KeyCall {
                request: &request,
                keys: &mut keys,
                now_ms: 0,
                room: u64::MAX,
            })
        };
        let field = |number| format!("f{number}");
        let set = run("hset", &mut (0..COUNT).flat_map(|it| [field(it), it.to_string()]));
        assert_eq!(set, Ok(RespReply::Integer(COUNT as i64)));
        let Ok(RespReply::Array(found)) = run("hmget", &mut (0..COUNT).rev().map(field)) else {
            panic!("an array");
        };
        assert_eq!((found.len(), &found[0]), (COUNT, &RespReply::bulk((COUNT - 1).to_string())));
        for number in 0..COUNT {
            let sum = run("hincrby", &mut [field(number), "1".to_owned()].into_iter());
            assert_eq!(sum, Ok(RespReply::Integer(number as i64 + 1)));
        }
        let gone = run("hdel", &mut (0..2 * COUNT - 1).map(field).rev());
        assert_eq!(gone, Ok(RespReply::Integer(COUNT as i64)));
        assert!(keys.get(b"h").is_none(), "it is gone with its last field");
    }
}
