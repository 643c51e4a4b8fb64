//! The NBD session from a client's side: a naive client that knows nothing of the session's code, and a toy disk.

mod arbitrary;
mod changes;
mod client;
mod commands;
mod conversation;
mod disk;
mod feed;
mod limits;
mod options;
mod parts;
mod refusals;
mod talk;
mod tls;
