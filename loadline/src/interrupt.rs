//! How a command that takes long is told to stop: Ctrl-C, a request to end, the end of its terminal.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that each of these signals sets, so that what is under way is left in order.
pub(crate) fn interruptible() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // `nohup` asks for a command that outlives its terminal.
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| Failure::Environment(format!("cannot listen for signals: {error}")))?;
    }
    Ok(flag)
}

/// Whether this process was started with the signal switched off. Where the kernel does not tell, it counts as not.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
