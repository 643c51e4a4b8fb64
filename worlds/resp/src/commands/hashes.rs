//! Hashes.

use super::call::{KeyCall, float_sum, integer, several};
use crate::glob;
use crate::refusal::RespRefusal;
use crate::value::HashFields;
use loadline_wire::resp::RespReply;

/// A field of the first key's hash.
fn field_of<'k>(call: &'k KeyCall<'_>, field: &[u8]) -> Result<Option<&'k [u8]>, RespRefusal> {
    let fields = call.keys.hash(call.key())?;
    let found = fields.iter().find(|(name, _)| name == field);
    Ok(found.map(|(_, value)| &value[..]))
}

/// The first key's fields, to change.
fn fields_of(call: &KeyCall<'_>) -> Result<HashFields, RespRefusal> {
    Ok(call.keys.hash(call.key())?.to_vec())
}

/// Sets a field, and says whether it is new.
fn set_field(fields: &mut HashFields, field: &[u8], value: &[u8]) -> bool {
    match fields.iter_mut().find(|(name, _)| name == field) {
        Some((_, old)) => {
            *old = value.to_vec();
            false
        }
        None => {
            fields.push((field.to_vec(), value.to_vec()));
            true
        }
    }
}

pub(super) fn get(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::bulk_or_null(field_of(call, call.string(2))?.map(<[u8]>::to_vec)))
}

pub(super) fn get_several(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    several(call.strings(2).map(|field| field_of(call, field)))
}

pub(super) fn exists(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(field_of(call, call.string(2))?.is_some().into()))
}

pub(super) fn length(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(field_of(call, call.string(2))?.map_or(0, <[u8]>::len) as i64))
}

pub(super) fn count(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(call.keys.hash(call.key())?.len() as i64))
}

pub(super) fn all(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let fields = call.keys.hash(call.key())?.iter();
    let pairs = fields.map(|(field, value)| (RespReply::bulk(field), RespReply::bulk(value)));
    Ok(RespReply::Map(pairs.collect()))
}

pub(super) fn fields(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let fields = call.keys.hash(call.key())?.iter();
    Ok(RespReply::Array(fields.map(|(field, _)| RespReply::bulk(field)).collect()))
}

pub(super) fn values(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let fields = call.keys.hash(call.key())?.iter();
    Ok(RespReply::Array(fields.map(|(_, value)| RespReply::bulk(value)).collect()))
}

/// Sets the fields that stand behind the key, and answers how many are new.
fn set_fields(call: &mut KeyCall<'_>, command: &str) -> Result<i64, RespRefusal> {
    if !call.request.len().is_multiple_of(2) {
        return Err(RespRefusal::Arity(command.to_owned()));
    }
    let mut fields = fields_of(call)?;
    let (mut strings, mut new) = (call.strings(2), 0);
    while let (Some(field), Some(value)) = (strings.next(), strings.next()) {
        new += i64::from(set_field(&mut fields, field, value));
    }
    call.keys.put_hash(call.key(), fields);
    Ok(new)
}

pub(super) fn set(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(set_fields(call, "hset")?))
}

pub(super) fn set_plainly(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_fields(call, "hmset")?;
    Ok(RespReply::OK)
}

pub(super) fn set_new(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    if field_of(call, call.string(2))?.is_some() {
        return Ok(RespReply::Integer(0));
    }
    let mut fields = fields_of(call)?;
    fields.push((call.string(2).to_vec(), call.string(3).to_vec()));
    call.keys.put_hash(call.key(), fields);
    Ok(RespReply::Integer(1))
}

pub(super) fn remove(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let mut fields = fields_of(call)?;
    let before = fields.len();
    fields.retain(|(name, _)| call.strings(2).all(|field| field != name));
    let removed = before - fields.len();
    if removed > 0 {
        call.keys.put_hash(call.key(), fields);
    }
    Ok(RespReply::Integer(removed as i64))
}

pub(super) fn increment_by(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let more = call.integer(3)?;
    let old = field_of(call, call.string(2))?.map_or(Some(0), integer);
    let sum =
        old.ok_or(RespRefusal::NoHashInteger)?.checked_add(more).ok_or(RespRefusal::Overflow)?;
    let mut fields = fields_of(call)?;
    set_field(&mut fields, call.string(2), sum.to_string().as_bytes());
    call.keys.put_hash(call.key(), fields);
    Ok(RespReply::Integer(sum))
}

pub(super) fn increment_by_float(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let sum = float_sum(field_of(call, call.string(2))?, call.string(3))?;
    let mut fields = fields_of(call)?;
    set_field(&mut fields, call.string(2), &sum);
    call.keys.put_hash(call.key(), fields);
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
    let fields = call.keys.hash(call.key())?.iter();
    let matching = fields.filter(|(field, _)| glob::matches(pattern, field));
    let told = matching.flat_map(|(field, value)| {
        let value = (!is_bare).then(|| RespReply::bulk(value));
        std::iter::once(RespReply::bulk(field)).chain(value)
    });
    Ok(RespReply::Array(vec![RespReply::bulk("0"), RespReply::Array(told.collect())]))
}
