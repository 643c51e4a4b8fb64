//! Sockets, mail, signals and time through the loop, with both backends, against plain blocking peers in other
//! threads.

#![allow(clippy::disallowed_methods, reason = "blocking peers need threads of their own")]

mod ends;
mod peers;
mod server;
mod traffic;
mod waking;
