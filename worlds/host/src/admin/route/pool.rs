//! Requests about pools.

use super::{Asked, Method, Request};
use crate::admin::api::{PoolCommand, Refusal};

pub(super) fn request(command: &PoolCommand) -> Request {
    match command {
        PoolCommand::List => Request::plain(Method::Get, &["pool"]),
        PoolCommand::Create(asked) => Request::with(Method::Post, &["pool"], asked),
        PoolCommand::Remove(pool) => Request::plain(Method::Delete, &["pool", pool]),
    }
}

pub(super) fn command(asked: &Asked<'_>, path: &[&str]) -> Result<PoolCommand, Refusal> {
    match (asked.method, path) {
        (Method::Get, []) => asked.plain(PoolCommand::List),
        (Method::Post, []) => asked.body().map(PoolCommand::Create),
        (Method::Delete, [pool]) => asked.plain(PoolCommand::Remove((*pool).into())),
        _ => Err(asked.unknown()),
    }
}
