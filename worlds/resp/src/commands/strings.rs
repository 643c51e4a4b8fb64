//! Strings.

use super::call::{KeyCall, integer, several};
use super::expiry::TimeForm;
use super::float::float_sum;
use crate::refusal::RespRefusal;
use crate::value::Stored;
use loadline_wire::resp::{RespReply, RespRequest};

/// Bytes that a string may be made long at once by writing behind its end: as many as one may be sent with.
const LENGTH_MAX: usize = 8 << 20;

pub(super) fn get(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    text_now(call)
}

/// The first key's string, or nothing.
fn text_now(call: &KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::bulk_or_null(call.keys.text(call.key())?.map(<[u8]>::to_vec)))
}

/// Whether a `SET` says something that depends on what is there. What is no option is found later.
pub(super) fn depends(request: &RespRequest) -> bool {
    let options = request.iter().skip(3);
    options
        .map(<[u8]>::to_ascii_uppercase)
        .any(|option| matches!(&option[..], b"NX" | b"XX" | b"GET" | b"KEEPTTL"))
}

/// What may stand behind the value of a `SET`.
#[derive(Default)]
struct SetOptions {
    is_new_only: bool,
    is_old_only: bool,
    answers_old: bool,
    keeps_time: bool,
    expires_ms: Option<u64>,
}

impl SetOptions {
    fn read(call: &KeyCall<'_>) -> Result<SetOptions, RespRefusal> {
        let mut options = SetOptions::default();
        let mut strings = call.strings(3);
        while let Some(option) = strings.next() {
            match &option.to_ascii_uppercase()[..] {
                b"NX" => options.is_new_only = true,
                b"XX" => options.is_old_only = true,
                b"GET" => options.answers_old = true,
                b"KEEPTTL" => options.keeps_time = true,
                other => {
                    let form = TimeForm::of(other).ok_or(RespRefusal::Syntax)?;
                    let time = strings.next().ok_or(RespRefusal::Syntax)?;
                    if options.expires_ms.is_some() {
                        return Err(RespRefusal::Syntax);
                    }
                    options.expires_ms = Some(form.coming(time, call.now_ms, "set")?);
                }
            }
        }
        let has_two_times = options.keeps_time && options.expires_ms.is_some();
        match (options.is_new_only && options.is_old_only) || has_two_times {
            true => Err(RespRefusal::Syntax),
            false => Ok(options),
        }
    }
}

pub(super) fn set(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let options = SetOptions::read(call)?;
    let key = call.key();
    let old = match options.answers_old {
        true => text_now(call)?,
        false => RespReply::Null,
    };
    let is_there = call.keys.get(key).is_some();
    if (options.is_new_only && is_there) || (options.is_old_only && !is_there) {
        return Ok(old);
    }
    let mut stored = Stored::text(call.string(2));
    stored.expires_ms = match options.keeps_time {
        true => call.keys.get(key).and_then(|stored| stored.expires_ms),
        false => options.expires_ms,
    };
    call.keys.put(key, stored);
    Ok(if options.answers_old { old } else { RespReply::OK })
}

pub(super) fn set_for(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_timed(call, TimeForm::EX, "setex")
}

pub(super) fn set_for_ms(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_timed(call, TimeForm::PX, "psetex")
}

fn set_timed(
    call: &mut KeyCall<'_>,
    form: TimeForm,
    command: &'static str,
) -> Result<RespReply, RespRefusal> {
    let mut stored = Stored::text(call.string(3));
    stored.expires_ms = Some(form.coming(call.string(2), call.now_ms, command)?);
    call.keys.put(call.key(), stored);
    Ok(RespReply::OK)
}

pub(super) fn set_new(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    if call.keys.get(call.key()).is_some() {
        return Ok(RespReply::Integer(0));
    }
    call.keys.put(call.key(), Stored::text(call.string(2)));
    Ok(RespReply::Integer(1))
}

pub(super) fn get_and_set(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let old = text_now(call)?;
    call.keys.put(call.key(), Stored::text(call.string(2)));
    Ok(old)
}

pub(super) fn get_and_remove(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let old = text_now(call)?;
    if old != RespReply::Null {
        call.keys.remove(call.key());
    }
    Ok(old)
}

pub(super) fn get_and_expire(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let key = call.key();
    let value = text_now(call)?;
    let expires_ms = match (call.request.len(), call.string(2)) {
        (2, _) => return Ok(value),
        (3, option) if option.eq_ignore_ascii_case(b"PERSIST") => None,
        (4, option) => {
            let form = TimeForm::of(option).ok_or(RespRefusal::Syntax)?;
            Some(form.coming(call.string(3), call.now_ms, "getex")?)
        }
        _ => return Err(RespRefusal::Syntax),
    };
    if call.keys.get(key).is_some() {
        call.keys.expire(key, expires_ms);
    }
    Ok(value)
}

pub(super) fn get_several(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    // What is no string is not there, as the original has it.
    several(call.strings(1).map(|key| Ok(call.keys.text(key).ok().flatten())), call.room)
}

pub(super) fn set_several(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let mut strings = call.strings(1);
    while let (Some(key), Some(value)) = (strings.next(), strings.next()) {
        call.keys.put(key, Stored::text(value));
    }
    Ok(RespReply::OK)
}

pub(super) fn set_several_new(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    if call.strings(1).step_by(2).any(|key| call.keys.get(key).is_some()) {
        return Ok(RespReply::Integer(0));
    }
    set_several(call)?;
    Ok(RespReply::Integer(1))
}

pub(super) fn increment(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    add(call, Some(1))
}

pub(super) fn decrement(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    add(call, Some(-1))
}

pub(super) fn increment_by(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let more = call.integer(2)?;
    add(call, Some(more))
}

pub(super) fn decrement_by(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let less = call.integer(2)?;
    add(call, less.checked_neg())
}

fn add(call: &mut KeyCall<'_>, more: Option<i64>) -> Result<RespReply, RespRefusal> {
    let old = call.keys.text(call.key())?.map_or(Some(0), integer).ok_or(RespRefusal::NoInteger)?;
    let sum = more.and_then(|more| old.checked_add(more)).ok_or(RespRefusal::Overflow)?;
    call.keys.change_text(call.key(), |text| *text = sum.to_string().into_bytes())?;
    Ok(RespReply::Integer(sum))
}

pub(super) fn increment_by_float(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let sum = float_sum(call.keys.text(call.key())?, call.string(2))?;
    call.keys.change_text(call.key(), |text| text.clone_from(&sum))?;
    Ok(RespReply::Bulk(sum))
}

pub(super) fn append(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let more = call.string(2);
    call.keys.change_text(call.key(), |text| text.extend_from_slice(more))?;
    length(call)
}

pub(super) fn length(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Integer(call.keys.text(call.key())?.map_or(0, <[u8]>::len) as i64))
}

pub(super) fn get_range(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let text = call.keys.text(call.key())?.unwrap_or_default();
    let length = text.len() as i64;
    // Negative ones count from the end.
    let place = |index: i64| if index < 0 { (length + index).max(0) } else { index };
    let (start, last) = (place(call.integer(2)?), call.integer(3)?);
    let end = if last < 0 { length + last } else { last.min(length - 1) } + 1;
    let range = start.min(length) as usize..end.max(0) as usize;
    Ok(RespReply::bulk(text.get(range).unwrap_or_default()))
}

pub(super) fn set_range(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let offset = usize::try_from(call.integer(2)?).map_err(|_| RespRefusal::Offset)?;
    let piece = call.string(3);
    if piece.is_empty() {
        return length(call);
    }
    let end = offset.checked_add(piece.len()).filter(|end| *end <= LENGTH_MAX);
    let end = end.ok_or(RespRefusal::Offset)?;
    call.keys.change_text(call.key(), |text| {
        text.resize(text.len().max(end), 0);
        text[offset..end].copy_from_slice(piece);
    })?;
    length(call)
}
