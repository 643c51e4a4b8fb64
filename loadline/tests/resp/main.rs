//! `loadline kv serve` as clients of Redis' protocol meet it: `redis-cli`, `redis-benchmark`, a client library in Rust and one in Python.

#[cfg(feature = "tls")]
#[path = "../../../worlds/tls/tests/talk/authority.rs"]
mod authority;
mod commands;
mod crowds;
mod histories;
#[path = "../../../worlds/kv/tests/history/mod.rs"]
mod history;
mod kills;
mod people;
#[path = "../program/mod.rs"]
mod program;
mod programs;
mod server;
mod tenants;
#[cfg(feature = "tls")]
mod tls;
