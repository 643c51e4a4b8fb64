//! Ctrl-C, as soon as the program hears it.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Child;
use std::time::Duration;

/// Sends SIGINT to a process once it is told of it, which ends it before.
pub(crate) fn interrupt(process: &Child) {
    wait_until_caught(process);
    kill_process(Pid::from_child(process), Signal::INT).expect("it is told");
}

#[expect(clippy::disallowed_methods, reason = "another process takes its time")]
fn wait_until_caught(process: &Child) {
    for _ in 0..15_000 {
        let path = format!("/proc/{}/status", process.id());
        let status = fs::read_to_string(path).expect("it is not waited for yet");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(mask.expect("the kernel tells it").trim(), 16);
        if mask.expect("hexadecimal digits") >> (Signal::INT.as_raw() - 1) & 1 == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("signals are not caught within 300 s");
}
