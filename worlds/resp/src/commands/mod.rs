//! Commands on keys: a function each, from what its keys hold to an answer and what they hold afterwards. So one text serves a command
//! that stands alone and one inside a transaction, and needs no database to be tested.

mod call;
mod expiry;
mod float;
mod hashes;
mod keys;
mod strings;

pub(crate) use call::{KeyCall, answer_fits, integer};

use crate::keys::ANSWER_BYTES_MAX;
use crate::refusal::RespRefusal;
use loadline_wire::resp::{RespReply, RespRequest};

/// Which of a command's strings are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyStrings {
    /// The first behind the name.
    First,
    /// The same, and all others are its fields.
    Fields,
    /// The same, and all others are its fields, each with its value.
    FieldPairs,
    /// The first two.
    Two,
    /// All.
    All,
    /// Every second one, each with its value.
    Pairs,
}

/// How many of a command's strings are keys, and how many fields, without their values.
pub(crate) struct NamedStrings {
    pub(crate) keys: usize,
    pub(crate) fields: usize,
}

impl KeyStrings {
    /// Of a request with so many strings, the command's name among them.
    pub(crate) fn count(self, strings: usize) -> NamedStrings {
        let behind = strings.saturating_sub(1);
        let further = behind.saturating_sub(1);
        let (keys, fields) = match self {
            KeyStrings::First => (1, 0),
            KeyStrings::Two => (2, 0),
            KeyStrings::All => (behind, 0),
            KeyStrings::Pairs => (behind / 2, 0),
            KeyStrings::Fields => (1, further),
            KeyStrings::FieldPairs => (1, further / 2),
        };
        NamedStrings { keys, fields }
    }
}

/// Whether a command has to know what its keys hold.
#[derive(Clone, Copy)]
pub(crate) enum KeyReading {
    /// Always; it changes nothing.
    Only,
    /// Always, before it changes something.
    Before,
    /// Never.
    Never,
    /// Unless none of the strings behind the second says something that depends on it.
    Options,
}

/// How long a command's answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAnswer {
    /// A number, or a word.
    Short,
    /// As long as what one key holds.
    Value,
    /// The same, in as many parts as a hash has fields.
    Fields,
    /// As long as a value for each key, or field, that it names.
    Values,
}

/// By how much fields of a byte are longer where each is a part of an answer than where they stand one behind the other.
const PARTS_OF_FIELDS: u64 = 16;

/// A command on keys.
pub(crate) struct KeyCommand {
    /// In lower case.
    pub(crate) name: &'static str,
    /// How many strings it has with its name; negative: so many at least.
    pub(crate) arity: i32,
    pub(crate) keys: KeyStrings,
    pub(crate) reading: KeyReading,
    pub(crate) answer: KeyAnswer,
    pub(crate) run: fn(&mut KeyCall<'_>) -> Result<RespReply, RespRefusal>,
}

impl KeyCommand {
    /// The command of this name.
    pub(crate) fn named(name: &str) -> Option<&'static KeyCommand> {
        let at = COMMANDS.binary_search_by(|command| command.name.cmp(name));
        at.ok().map(|at| &COMMANDS[at])
    }

    /// Refuses a request with too few strings, or too many.
    pub(crate) fn check(&self, request: &RespRequest) -> Result<(), RespRefusal> {
        let pairs = self.keys == KeyStrings::Pairs && request.len().is_multiple_of(2);
        match has_arity(self.arity, request) && !pairs {
            true => Ok(()),
            false => Err(RespRefusal::Arity(self.name.to_owned())),
        }
    }

    /// The keys that a request names.
    pub(crate) fn keys_of<'r>(&self, request: &'r RespRequest) -> Vec<&'r [u8]> {
        let strings = request.iter().skip(1);
        match self.keys {
            KeyStrings::First | KeyStrings::Fields | KeyStrings::FieldPairs => {
                strings.take(1).collect()
            }
            KeyStrings::Two => strings.take(2).collect(),
            KeyStrings::All => strings.collect(),
            KeyStrings::Pairs => strings.step_by(2).collect(),
        }
    }

    /// How many commands a request counts as where it has to wait for its turn: one for each key, or field, that it names.
    pub(crate) fn cost(&self, request: &RespRequest) -> u32 {
        let NamedStrings { keys, fields } = self.keys.count(request.len());
        let named = if fields > 0 { fields } else { keys };
        u32::try_from(named.max(1)).unwrap_or(u32::MAX)
    }

    /// What a request may have in memory at most of values of so many bytes each, read for it and answered. What an update reads is the database's matter.
    pub(crate) fn longest(&self, request: &RespRequest, is_update: bool, value_bytes: u64) -> u64 {
        let read = match is_update || self.writes() {
            true => 0,
            false => self.keys.count(request.len()).keys as u64,
        };
        let answered = match self.answer {
            KeyAnswer::Short => 0,
            KeyAnswer::Value => self.reads(request).into(),
            // What is answered here has what more it needs if that is there.
            KeyAnswer::Fields => {
                if is_update {
                    PARTS_OF_FIELDS
                } else {
                    1
                }
            }
            KeyAnswer::Values => self.cost(request).into(),
        };
        let of = |values: u64| (values * value_bytes).min(ANSWER_BYTES_MAX as u64);
        of(read) + of(answered)
    }

    /// Whether it may change something.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.reading, KeyReading::Only)
    }

    /// Whether a request has to know what its keys hold.
    pub(crate) fn reads(&self, request: &RespRequest) -> bool {
        match self.reading {
            KeyReading::Only | KeyReading::Before => true,
            KeyReading::Never => false,
            KeyReading::Options => strings::depends(request),
        }
    }
}

/// Whether a request has as many strings as an arity says.
pub(crate) fn has_arity(arity: i32, request: &RespRequest) -> bool {
    let least = arity.unsigned_abs() as usize;
    if arity < 0 { request.len() >= least } else { request.len() == least }
}

/// All of them, by name.
pub(crate) const COMMANDS: &[KeyCommand] = {
    use KeyAnswer::{Fields as ByField, Short, Value, Values};
    use KeyReading::{Before, Never, Only, Options};
    use KeyStrings::{All, FieldPairs, Fields, First, Pairs, Two};
    const fn command(
        name: &'static str,
        arity: i32,
        keys: KeyStrings,
        reading: KeyReading,
        answer: KeyAnswer,
        run: fn(&mut KeyCall<'_>) -> Result<RespReply, RespRefusal>,
    ) -> KeyCommand {
        KeyCommand { name, arity, keys, reading, answer, run }
    }
    &[
        command("append", 3, First, Before, Short, strings::append),
        command("copy", -3, Two, Before, Short, keys::copy),
        command("decr", 2, First, Before, Short, strings::decrement),
        command("decrby", 3, First, Before, Short, strings::decrement_by),
        command("del", -2, All, Before, Short, keys::remove),
        command("exists", -2, All, Only, Short, keys::count),
        command("expire", -3, First, Before, Short, expiry::expire),
        command("expireat", -3, First, Before, Short, expiry::expire_at),
        command("expiretime", 2, First, Only, Short, expiry::expires),
        command("get", 2, First, Only, Value, strings::get),
        command("getdel", 2, First, Before, Value, strings::get_and_remove),
        command("getex", -2, First, Before, Value, strings::get_and_expire),
        command("getrange", 4, First, Only, Value, strings::get_range),
        command("getset", 3, First, Before, Value, strings::get_and_set),
        command("hdel", -3, Fields, Before, Short, hashes::remove),
        command("hexists", 3, First, Only, Short, hashes::exists),
        command("hget", 3, First, Only, Value, hashes::get),
        command("hgetall", 2, First, Only, ByField, hashes::all),
        command("hincrby", 4, First, Before, Short, hashes::increment_by),
        command("hincrbyfloat", 4, First, Before, Short, hashes::increment_by_float),
        command("hkeys", 2, First, Only, ByField, hashes::fields),
        command("hlen", 2, First, Only, Short, hashes::count),
        command("hmget", -3, Fields, Only, Values, hashes::get_several),
        command("hmset", -4, FieldPairs, Before, Short, hashes::set_plainly),
        command("hscan", -3, First, Only, ByField, hashes::scan),
        command("hset", -4, FieldPairs, Before, Short, hashes::set),
        command("hsetnx", 4, First, Before, Short, hashes::set_new),
        command("hstrlen", 3, First, Only, Short, hashes::length),
        command("hvals", 2, First, Only, ByField, hashes::values),
        command("incr", 2, First, Before, Short, strings::increment),
        command("incrby", 3, First, Before, Short, strings::increment_by),
        command("incrbyfloat", 3, First, Before, Short, strings::increment_by_float),
        command("mget", -2, All, Only, Values, strings::get_several),
        command("mset", -3, Pairs, Never, Short, strings::set_several),
        command("msetnx", -3, Pairs, Before, Short, strings::set_several_new),
        command("persist", 2, First, Before, Short, expiry::persist),
        command("pexpire", -3, First, Before, Short, expiry::expire_ms),
        command("pexpireat", -3, First, Before, Short, expiry::expire_at_ms),
        command("pexpiretime", 2, First, Only, Short, expiry::expires_ms),
        command("psetex", 4, First, Never, Short, strings::set_for_ms),
        command("pttl", 2, First, Only, Short, expiry::left_ms),
        command("rename", 3, Two, Before, Short, keys::rename),
        command("renamenx", 3, Two, Before, Short, keys::rename_new),
        command("set", -3, First, Options, Value, strings::set),
        command("setex", 4, First, Never, Short, strings::set_for),
        command("setnx", 3, First, Before, Short, strings::set_new),
        command("setrange", 4, First, Before, Short, strings::set_range),
        command("strlen", 2, First, Only, Short, strings::length),
        command("substr", 4, First, Only, Value, strings::get_range),
        command("touch", -2, All, Only, Short, keys::count),
        command("ttl", 2, First, Only, Short, expiry::left),
        command("type", 2, First, Only, Short, keys::kind),
        command("unlink", -2, All, Before, Short, keys::remove),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_stand_by_name() {
        assert!(COMMANDS.is_sorted_by(|one, next| one.name < next.name));
        assert!(KeyCommand::named("get").is_some() && KeyCommand::named("gets").is_none());
    }
}
