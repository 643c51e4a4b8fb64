//! How a command that takes long is told to stop: Ctrl-C, a request to end, the end of its terminal.

use crate::failure::Failure;
use loadline_host::outlives_its_terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
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
