//! Keys of any type.

use super::call::KeyCall;
use crate::refusal::RespRefusal;
use loadline_wire::resp::RespReply;

pub(super) fn remove(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let removed = call.strings(1).filter(|key| call.keys.remove(key)).count();
    Ok(RespReply::Integer(removed as i64))
}

pub(super) fn count(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let there = call.strings(1).filter(|key| call.keys.get(key).is_some()).count();
    Ok(RespReply::Integer(there as i64))
}

pub(super) fn kind(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(RespReply::Simple(call.keys.get(call.key()).map_or("none", |stored| stored.kind())))
}

pub(super) fn rename(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    call.keys.get(call.key()).ok_or(RespRefusal::NoKey)?;
    let stored = call.keys.take(call.key()).ok_or(RespRefusal::NoKey)?;
    call.keys.put(call.string(2), stored);
    Ok(RespReply::OK)
}

pub(super) fn rename_new(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    call.keys.get(call.key()).ok_or(RespRefusal::NoKey)?;
    if call.keys.get(call.string(2)).is_some() {
        return Ok(RespReply::Integer(0));
    }
    rename(call)?;
    Ok(RespReply::Integer(1))
}

pub(super) fn copy(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let mut replaces = false;
    for option in call.strings(3) {
        match option.eq_ignore_ascii_case(b"REPLACE") {
            true => replaces = true,
            // Into another of the numbered databases it is not done.
            false => return Err(RespRefusal::Syntax),
        }
    }
    let (from, to) = (call.key(), call.string(2));
    let may_put = from != to && (replaces || call.keys.get(to).is_none());
    Ok(RespReply::Integer((may_put && call.keys.copy(from, to)).into()))
}
