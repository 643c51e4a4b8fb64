//! Why a command is not carried out, in the original's words where it has some.

use loadline_kv::{DbError, UPDATE_BYTES_MAX};
use loadline_wire::resp::RespReply;

/// See [above](self).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RespRefusal {
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NoInteger,
    #[error("ERR value is not a valid float")]
    NoFloat,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR increment would produce NaN or Infinity")]
    NotFinite,
    #[error("ERR hash value is not an integer")]
    NoHashInteger,
    #[error("ERR offset is out of range")]
    Offset,
    #[error("ERR no such key")]
    NoKey,
    #[error("ERR invalid expire time in '{0}' command")]
    ExpireTime(&'static str),
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(String),
    #[error("ERR unknown command '{0}'; COMMAND LIST names those that this server has")]
    Unknown(String),
    #[error("ERR unknown subcommand '{1}' of {0}; there are {2}")]
    Subcommand(&'static str, String, &'static str),
    #[error("ERR a value of this key was not written by this server, and it has no type")]
    Foreign,
    #[error("ERR DB index is out of range: 0 to 15")]
    DbIndex,
    #[error("ERR the cursor is none that is kept; begin again with 0")]
    Cursor,
    #[error("ERR MULTI calls can not be nested")]
    Nested,
    #[error("ERR {0} without MULTI")]
    NoMulti(&'static str),
    #[error("ERR WATCH inside MULTI is not allowed")]
    WatchInside,
    #[error("ERR the keys that one connection watches have at most {0} bytes")]
    WatchedBytes(usize),
    #[error("ERR the patterns of a command have at most {0} bytes")]
    PatternBytes(usize),
    #[error("ERR a connection's name has at most {0} bytes")]
    ClientName(usize),
    #[error("ERR the memory for requests and answers is used up; ask again")]
    Memory,
    /// The same for now: who waits gets it.
    #[error("ERR the memory for requests and answers is used up; ask again")]
    Room,
    #[error(
        "ERR {what} takes {bytes} bytes of memory, and a request may have {most} of --memory; name fewer keys at a time, or give it more"
    )]
    Needs { what: String, bytes: u64, most: u64 },
    #[error("ERR {0} is not allowed inside MULTI")]
    NotInside(&'static str),
    #[error("EXECABORT Transaction discarded because of previous errors.")]
    Aborted,
    #[error("ERR a transaction has at most {0} bytes of commands")]
    MultiBytes(usize),
    #[error(
        "ERR the keys of one command or transaction hold more than {0} bytes; ask for fewer at a time, or walk with SCAN"
    )]
    AnswerBytes(u64),
    #[error("NOAUTH Authentication required.")]
    NoAuth,
    #[error("WRONGPASS invalid username-password pair or user is disabled.")]
    WrongPass,
    #[error(
        "NOPERM {0} is for administrators, since it holds for all users; the file of --users says who is one (administrator = true)"
    )]
    NoPermission(&'static str),
    #[error("NOPROTO unsupported protocol version")]
    NoProto,
    #[error(
        "ERR {0} cannot be set while the server runs, or not to this; CONFIG GET * shows what there is"
    )]
    Config(String),
    #[error("{}", db_error(.0))]
    Db(DbError),
}

/// The original's codes where they say the same.
fn db_error(error: &DbError) -> String {
    match error {
        DbError::Full => "OOM the database is full; reads and removals go on".to_owned(),
        DbError::UpdateBytes => RespRefusal::AnswerBytes(UPDATE_BYTES_MAX as u64).to_string(),
        other => format!("ERR {other}"),
    }
}

impl From<DbError> for RespRefusal {
    fn from(error: DbError) -> RespRefusal {
        RespRefusal::Db(error)
    }
}

impl From<RespRefusal> for RespReply {
    fn from(refusal: RespRefusal) -> RespReply {
        RespReply::Error(refusal.to_string())
    }
}
