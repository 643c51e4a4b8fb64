//! When keys are gone.

use super::call::{KeyCall, integer};
use crate::refusal::RespRefusal;
use loadline_wire::resp::RespReply;

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeForm {
    /// Milliseconds of its unit.
    unit_ms: i64,
    /// Whether it counts from now on, or from 1970 on.
    is_from_now: bool,
}

impl TimeForm {
    pub(super) const EX: TimeForm = TimeForm { unit_ms: 1000, is_from_now: true };
    pub(super) const PX: TimeForm = TimeForm { unit_ms: 1, is_from_now: true };
    pub(super) const EXAT: TimeForm = TimeForm { unit_ms: 1000, is_from_now: false };
    pub(super) const PXAT: TimeForm = TimeForm { unit_ms: 1, is_from_now: false };

    /// The form that an option names.
    pub(super) fn of(option: &[u8]) -> Option<TimeForm> {
        Some(match &option.to_ascii_uppercase()[..] {
            b"EX" => TimeForm::EX,
            b"PX" => TimeForm::PX,
            b"EXAT" => TimeForm::EXAT,
            b"PXAT" => TimeForm::PXAT,
            _ => return None,
        })
    }

    /// Milliseconds since 1970; a time before that is 0.
    fn time(self, text: &[u8], now_ms: u64, command: &'static str) -> Result<u64, RespRefusal> {
        let number = integer(text).ok_or(RespRefusal::NoInteger)?;
        let from = if self.is_from_now { i64::try_from(now_ms).unwrap_or(i64::MAX) } else { 0 };
        let time = number.checked_mul(self.unit_ms).and_then(|ms| ms.checked_add(from));
        let time = time.ok_or(RespRefusal::ExpireTime(command))?;
        Ok(u64::try_from(time).unwrap_or(0))
    }

    /// The same for what is set now, which must not be gone already.
    pub(super) fn coming(
        self,
        text: &[u8],
        now_ms: u64,
        command: &'static str,
    ) -> Result<u64, RespRefusal> {
        let number = integer(text).ok_or(RespRefusal::NoInteger)?;
        if number <= 0 {
            return Err(RespRefusal::ExpireTime(command));
        }
        self.time(text, now_ms, command)
    }
}

pub(super) fn expire(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_time(call, TimeForm::EX, "expire")
}

pub(super) fn expire_ms(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_time(call, TimeForm::PX, "pexpire")
}

pub(super) fn expire_at(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_time(call, TimeForm::EXAT, "expireat")
}

pub(super) fn expire_at_ms(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    set_time(call, TimeForm::PXAT, "pexpireat")
}

fn set_time(
    call: &mut KeyCall<'_>,
    form: TimeForm,
    command: &'static str,
) -> Result<RespReply, RespRefusal> {
    let key = call.key();
    let time = form.time(call.string(2), call.now_ms, command)?;
    let Some(stored) = call.keys.get(key) else { return Ok(RespReply::Integer(0)) };
    // One that stays expires after every time.
    let old = stored.expires_ms.unwrap_or(u64::MAX);
    for option in call.strings(3) {
        let holds = match &option.to_ascii_uppercase()[..] {
            b"NX" => stored.expires_ms.is_none(),
            b"XX" => stored.expires_ms.is_some(),
            b"GT" => time > old,
            b"LT" => time < old,
            _ => return Err(RespRefusal::Syntax),
        };
        if !holds {
            return Ok(RespReply::Integer(0));
        }
    }
    if time <= call.now_ms {
        call.keys.remove(key);
    } else {
        call.keys.expire(key, Some(time));
    }
    Ok(RespReply::Integer(1))
}

pub(super) fn persist(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let key = call.key();
    let expires = call.keys.get(key).is_some_and(|stored| stored.expires_ms.is_some());
    if expires {
        call.keys.expire(key, None);
    }
    Ok(RespReply::Integer(expires.into()))
}

pub(super) fn left(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let now_ms = call.now_ms;
    Ok(time_of(call, |at| (at.saturating_sub(now_ms) + 500) / 1000))
}

pub(super) fn left_ms(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    let now_ms = call.now_ms;
    Ok(time_of(call, |at| at.saturating_sub(now_ms)))
}

pub(super) fn expires(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(time_of(call, |at| at / 1000))
}

pub(super) fn expires_ms(call: &mut KeyCall<'_>) -> Result<RespReply, RespRefusal> {
    Ok(time_of(call, |at| at))
}

/// -2 where there is no key, -1 where it stays, as the original has it.
fn time_of(call: &KeyCall<'_>, told: impl Fn(u64) -> u64) -> RespReply {
    RespReply::Integer(match call.keys.get(call.key()) {
        None => -2,
        Some(stored) => stored.expires_ms.map_or(-1, |at| told(at) as i64),
    })
}
