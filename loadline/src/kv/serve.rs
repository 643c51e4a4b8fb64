//! `loadline kv serve`: a database behind Redis' protocol.

use super::args::KvServeArgs;
use super::size::{check_size, size_if_new};
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::{notify, show};
use loadline_base::in_short;
use loadline_kv::{Db, DbOptions};
use loadline_resp::{RespError, RespOptions, Users, UsersError, promise_of};
use std::path::Path;
use std::time::Duration;

pub(super) fn serve(args: KvServeArgs) -> Result<(), Failure> {
    let KvServeArgs {
        dir,
        size,
        cache,
        socket,
        tcp,
        tls,
        appendfsync,
        users,
        clients,
        memory,
        idle,
    } = args;
    let promise = promise_of(&appendfsync).ok_or_else(|| {
        let typed = in_short(&appendfsync);
        Failure::Input(format!("--appendfsync {typed}: it is always, everysec or no"))
    })?;
    let users = match &users {
        None => Users::default(),
        Some(path) => Users::open(path).map_err(|error| match error {
            UsersError::Unreadable(error) => Failure::unreadable(path, &error),
            other => Failure::Input(format!("{}: {other}", path.display())),
        })?,
    };
    let tls = tls.open(Path::new("")).map_err(|fault| {
        Failure::Input(format!("--tls-{}: {}", fault.field.replace('_', "-"), fault.reason))
    })?;
    let idle = idle.map(|idle| Duration::from_nanos(idle.nanos()));
    let options = RespOptions { socket, tcp, tls, clients, idle, memory, promise };
    // A database would be made, and stay.
    options.check(&users, Some(&dir))?;
    let stop = interruptible()?;
    let file = DbOptions { size: size_if_new(size), ..DbOptions::default() };
    let db = Db::open(&dir, DbOptions { cache, log_mode: promise, ..file })?;
    check_size(&db, size)?;
    let listens = options.clone();
    loadline_resp::serve(
        db,
        users,
        &options,
        |listening| {
            let socket = listens.socket.map(|socket| socket.display().to_string());
            let sealed = if listens.tls.is_some() { "TLS on " } else { "" };
            let tcp = listening.tcp.map(|tcp| format!("{sealed}{tcp}"));
            let places: Vec<String> = socket.into_iter().chain(tcp).collect();
            // Whoever has closed this end reads it in the log.
            drop(show::text(&format!("serving {} at {}\n", dir.display(), places.join(" and "))));
            notify::ready();
        },
        &stop,
    )?;
    Ok(())
}

impl From<RespError> for Failure {
    fn from(error: RespError) -> Failure {
        match error {
            RespError::Nowhere
            | RespError::TlsNowhere
            | RespError::NoTls(_)
            | RespError::NoPassword(_)
            | RespError::Memory(_)
            | RespError::NoMemory { .. }
            | RespError::NoClients
            | RespError::Idle(_)
            | RespError::Terms(_) => Failure::Input(error.to_string()),
            RespError::Listen(error) => error.into(),
            RespError::Descriptors { .. } | RespError::Runtime(_) | RespError::NotDurable(_) => {
                Failure::Environment(error.to_string())
            }
        }
    }
}
