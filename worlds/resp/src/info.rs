//! `INFO` and `CONFIG`: what the server tells of itself, and the little of it that can be set.

use crate::glob::{Glob, PATTERN_BYTES_MAX};
use crate::refusal::RespRefusal;
use crate::service::Service;
use loadline_kv::LogMode;
use loadline_wire::resp::{RespReply, RespRequest};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The version of Redis whose commands these are, for clients that ask.
pub(crate) const SPOKEN_VERSION: &str = "7.2.0";

/// `appendfsync` of the original, and when a commit is answered under it.
const PROMISES: [(&str, LogMode); 3] =
    [("always", LogMode::Fsync), ("everysec", LogMode::LogOnly), ("no", LogMode::Background)];

/// The log mode that an `appendfsync` means.
pub fn promise_of(appendfsync: &str) -> Option<LogMode> {
    PROMISES.iter().find(|(name, _)| *name == appendfsync).map(|(_, promise)| *promise)
}

pub(crate) async fn info(
    service: &Service,
    request: &RespRequest,
) -> Result<RespReply, RespRefusal> {
    let db = service.db.statistics_later().await?;
    let counts = &service.counts;
    let sections: [(&str, String); 4] = [
        (
            "Server",
            format!(
                "redis_version:{SPOKEN_VERSION}\r\nloadline_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id()
            ),
        ),
        (
            "Clients",
            format!(
                "connected_clients:{}\r\nloadline_held_bytes:{}\r\n",
                counts.connected.get(),
                service.budget.held()
            ),
        ),
        (
            "Persistence",
            format!(
                "aof_enabled:1\r\nloadline_file_bytes:{}\r\nloadline_page_bytes:{}\r\nloadline_free_bytes:{}\r\nloadline_log_bytes:{}\r\n\
                 loadline_log_device_bytes:{}\r\nloadline_log_flushes:{}\r\nloadline_checkpoints:{}\r\nloadline_throttle_ms:{}\r\n",
                db.file_bytes,
                db.page_bytes,
                db.free_bytes,
                db.log_bytes,
                db.log_device_bytes,
                db.log_flushes,
                db.checkpoints,
                db.throttle_time.nanos() / 1_000_000
            ),
        ),
        (
            "Stats",
            format!(
                "total_connections_received:{}\r\nrejected_connections:{}\r\nloadline_tls_failed:{}\r\ntotal_commands_processed:{}\r\ntotal_error_replies:{}\r\n\
                 keyspace_hits:{}\r\nkeyspace_misses:{}\r\nexpired_keys:{}\r\nloadline_commits:{}\r\nloadline_conflicts:{}\r\n",
                counts.connections.get(),
                counts.refused.get(),
                counts.unsealed.get(),
                counts.commands.get(),
                counts.errors.get(),
                counts.found.get(),
                counts.missed.get(),
                db.expired,
                db.commits,
                db.conflicts
            ),
        ),
    ];
    let wanted: Vec<Vec<u8>> = request.iter().skip(1).map(<[u8]>::to_ascii_lowercase).collect();
    let is_all = |name: &Vec<u8>| matches!(&name[..], b"all" | b"default" | b"everything");
    let mut text = String::new();
    for (name, lines) in sections {
        let own = name.to_ascii_lowercase().into_bytes();
        if wanted.is_empty() || wanted.contains(&own) || wanted.iter().any(is_all) {
            let gap = if text.is_empty() { "" } else { "\r\n" };
            write!(text, "{gap}# {name}\r\n{lines}").expect("a string takes everything");
        }
    }
    Ok(RespReply::Verbatim(text))
}

/// `CONFIG GET pattern...`; for administrators `CONFIG SET appendfsync always|everysec|no`, which says how durable what everybody writes is, and `CONFIG RESETSTAT`.
pub(crate) fn config(
    service: &Service,
    user: usize,
    request: &RespRequest,
) -> Result<RespReply, RespRefusal> {
    let needs_administrator = |what| match service.users.is_administrator(user) {
        true => Ok(()),
        false => Err(RespRefusal::NoPermission(what)),
    };
    let subcommand = request.get(1).unwrap_or_default().to_ascii_lowercase();
    match (&subcommand[..], request.len()) {
        (b"get", 3..) => {
            let promise = PROMISES.iter().find(|(_, mode)| *mode == service.promise.get());
            let settings = [
                ("appendfsync", promise.map_or("no", |(name, _)| *name)),
                ("appendonly", "yes"),
                ("databases", "16"),
                ("save", ""),
            ];
            let patterns = || request.iter().skip(2);
            // Each takes others' time to be read, so all of them are no longer than one may be.
            if patterns().map(|pattern| pattern.len().max(1)).sum::<usize>() > PATTERN_BYTES_MAX {
                return Err(RespRefusal::PatternBytes(PATTERN_BYTES_MAX));
            }
            let mut told = BTreeSet::new();
            for pattern in patterns() {
                let pattern = Glob::new(&pattern.to_ascii_lowercase())?;
                told.extend(settings.iter().filter(|(name, _)| pattern.matches(name.as_bytes())));
            }
            let pairs = told.into_iter();
            let pairs = pairs.map(|(name, value)| (RespReply::bulk(name), RespReply::bulk(value)));
            Ok(RespReply::Map(pairs.collect()))
        }
        (b"set", 4) => {
            needs_administrator("CONFIG SET")?;
            let text = |index| {
                let bytes: &[u8] = request.get(index).unwrap_or_default();
                String::from_utf8_lossy(bytes).to_ascii_lowercase()
            };
            let (name, value) = (text(2), text(3));
            let promise = promise_of(&value).filter(|_| name == "appendfsync");
            service.promise.set(promise.ok_or(RespRefusal::Config(name))?);
            Ok(RespReply::OK)
        }
        (b"resetstat", 2) => {
            needs_administrator("CONFIG RESETSTAT")?;
            let counts = &service.counts;
            for counter in [&counts.commands, &counts.errors, &counts.found, &counts.missed] {
                counter.set(0);
            }
            Ok(RespReply::OK)
        }
        _ => Err(RespRefusal::Subcommand(
            "CONFIG",
            String::from_utf8_lossy(&subcommand).into_owned(),
            "GET pattern, SET appendfsync and RESETSTAT",
        )),
    }
}
