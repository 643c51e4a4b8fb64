//! What machine this is, as far as it says so itself.

use crate::facts::Host;
use loadline_base::{Bytes, mix64};
use loadline_host::ProgramMemory;
use std::fs;

impl Host {
    /// This machine. What it does not tell stays empty or zero.
    pub fn here() -> Host {
        Host {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            kernel: kernel(),
            memory_bytes: ProgramMemory::here().total.map_or(0, Bytes::get),
        }
    }
}

/// Names the program that is running: its version, and a hash of its file. Runs of another build are not
/// taken for this one's.
pub fn build_id(version: &str) -> String {
    let program = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    let words = program.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let hash = words.fold(program.len() as u64, |hash, word| mix64(hash ^ word));
    format!("{version}-{hash:016x}")
}

fn kernel() -> String {
    let part = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    format!("{} {}", part("ostype"), part("osrelease")).trim().to_owned()
}

/// The value of the first line `name : value` of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
