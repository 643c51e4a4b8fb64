//! Signals as bytes in a socket: the handler writes one, the loop receives it.

use super::events::{CallPurpose, Signal};
use crate::backend::{Backend, Call};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The signals that ask a process to stop, while they are watched.
#[derive(Debug, Default)]
pub(super) struct Signals {
    watched: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    signal: Signal,
    handler: SigId,
    socket: Arc<OwnedFd>,
}

impl Signals {
    /// Watches them, but for an end of the terminal that this process is to outlive; a second call has no effect.
    pub(super) fn watch(&mut self, backend: &mut Backend<CallPurpose>) -> io::Result<()> {
        if !self.watched.is_empty() {
            return Ok(());
        }
        for (signal, number) in
            [(Signal::Terminate, SIGTERM), (Signal::Interrupt, SIGINT), (Signal::HangUp, SIGHUP)]
        {
            if signal == Signal::HangUp && outlives_its_terminal() {
                continue;
            }
            let (ours, handlers) = UnixStream::pair()?;
            let handler = pipe::register(number, handlers)?;
            let socket = Arc::new(OwnedFd::from(ours));
            self.watched.push(Watched { signal, handler, socket });
            self.receive(signal, backend);
        }
        Ok(())
    }

    /// Waits for the next of a kind.
    pub(super) fn receive(&self, signal: Signal, backend: &mut Backend<CallPurpose>) {
        let watched = self.watched.iter().find(|watched| watched.signal == signal);
        let socket = watched.expect("only watched signals come").socket.clone();
        let bytes = Vec::with_capacity(16);
        backend.begin(CallPurpose::Signal(signal), Call::Receive { socket, bytes });
    }
}

/// Whether this process was started to go on when its terminal ends, as `nohup` does: with SIGHUP switched off. Where the kernel does
/// not tell, it was not.
pub fn outlives_its_terminal() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

impl Drop for Signals {
    fn drop(&mut self) {
        for watched in &self.watched {
            unregister(watched.handler);
        }
    }
}
