//! A talk from a client's side, which is rustls' own: who is let in, by which name, and what bytes of any kind do.

#![cfg(feature = "rustls")]

mod authority;
mod bytes;
mod client;
mod files;
mod handshakes;
