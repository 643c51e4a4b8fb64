//! The commands that are not on keys, and what is told of all commands.

use crate::commands::COMMANDS;
use crate::refusal::RespRefusal;
use loadline_wire::resp::RespReply;

/// Commands that are not on keys: name, arity as the protocol has it, and the name for people.
pub(super) const SESSION_COMMANDS: &[(&str, i32, &str)] = &[
    ("auth", -2, "AUTH"),
    ("bgsave", -1, "BGSAVE"),
    ("client", -2, "CLIENT"),
    ("command", -1, "COMMAND"),
    ("config", -2, "CONFIG"),
    ("dbsize", 1, "DBSIZE"),
    ("discard", 1, "DISCARD"),
    ("echo", 2, "ECHO"),
    ("exec", 1, "EXEC"),
    ("flushall", -1, "FLUSHALL"),
    ("flushdb", -1, "FLUSHDB"),
    ("hello", -1, "HELLO"),
    ("info", -1, "INFO"),
    ("keys", 2, "KEYS"),
    ("multi", 1, "MULTI"),
    ("ping", -1, "PING"),
    ("quit", -1, "QUIT"),
    ("reset", 1, "RESET"),
    ("save", 1, "SAVE"),
    ("scan", -2, "SCAN"),
    ("select", 2, "SELECT"),
    ("time", 1, "TIME"),
    ("unwatch", 1, "UNWATCH"),
    ("watch", -2, "WATCH"),
];

/// What `COMMAND` tells: the names and how many strings each has; nothing where a client asks for documentation.
pub(super) fn commands_told(subcommand: &[u8]) -> Result<RespReply, RespRefusal> {
    let on_keys = COMMANDS.iter().map(|command| (command.name, command.arity));
    let all = on_keys.chain(SESSION_COMMANDS.iter().map(|command| (command.0, command.1)));
    match &subcommand.to_ascii_uppercase()[..] {
        b"COUNT" => Ok(RespReply::Integer(all.count() as i64)),
        b"DOCS" => Ok(RespReply::Map(Vec::new())),
        b"LIST" => Ok(RespReply::Array(all.map(|(name, _)| RespReply::bulk(name)).collect())),
        b"" | b"INFO" => {
            let told = all.map(|(name, arity)| {
                RespReply::Array(vec![RespReply::bulk(name), RespReply::Integer(arity.into())])
            });
            Ok(RespReply::Array(told.collect()))
        }
        other => Err(RespRefusal::Subcommand(
            "COMMAND",
            String::from_utf8_lossy(other).into_owned(),
            "COUNT, DOCS, INFO and LIST",
        )),
    }
}
