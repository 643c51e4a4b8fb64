//! How a command that takes long is told to stop: Ctrl-C, a request to end, the end of its terminal.

use crate::failure::Failure;
use loadline_host::outlives_its_terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that each of these signals sets, so that what is under way is left in order.
pub(crate) fn interruptible() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && outlives_its_terminal() {
            continue;
        }
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| Failure::Environment(format!("cannot listen for signals: {error}")))?;
    }
    Ok(flag)
}

/// A write past a limit of file sizes (`ulimit -f`) fails, as on a full disk, and is told like that. Unheard, the signal ends the process.
pub(crate) fn outlive_file_limits() {
    // Where it cannot be heard, it is as it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}
