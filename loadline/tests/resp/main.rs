//! `loadline kv serve` as clients of Redis' protocol meet it: `redis-cli`, `redis-benchmark`, a client library in Rust and one in Python.

mod commands;
mod crowds;
mod histories;
#[path = "../../../worlds/kv/tests/history/mod.rs"]
mod history;
mod kills;
mod people;
mod programs;
mod server;
mod tenants;
