//! The key-value store behind Redis' protocol.
//!
//! One thread has all connections (`session`) and what they share (`service`); the database has its own. A command on keys is a function from
//! what its keys hold to an answer and what they hold afterwards (`commands`), so that it is the same alone and in a transaction. `gate` says
//! whose command goes next: a connection's user is a tenant with a reservation and a limit. `docs/kv.md` tells what is
//! supported and what is promised.
//!
//! This crate may not know nodes, OSDs or studies; of the database it uses its front door.

mod budget;
mod commands;
mod cursors;
mod fields;
mod gate;
mod glob;
mod info;
mod keys;
mod needs;
mod outgoing;
mod received;
mod refusal;
mod scan;
mod server;
mod service;
mod session;
mod strangers;
mod timer;
mod users;
mod value;
mod watch;

pub use info::promise_of;
pub use server::{Listening, RespError, RespOptions, serve};
pub use users::{DEFAULT_USER, UserTerms, Users, UsersError};
