//! What machine this is, as far as it says so itself.

use crate::facts::Host;
use loadline_base::{Bytes, mix64};
use loadline_host::ProgramMemory;
use std::fs::{self, File};
use std::io::{self, Read};

/// So much of a program is read at a time (bytes): whole words, and few enough for a processor's own memory.
const HASHED_PART: usize = 256 << 10;

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
    let hash = std::env::current_exe().and_then(File::open).and_then(hash_of).unwrap_or_default();
    format!("{version}-{hash:016x}")
}

/// A part at a time: with its debug information a program is larger than all that some runs have in memory.
fn hash_of(mut file: File) -> io::Result<u64> {
    let mut hash = file.metadata()?.len();
    let mut part = Vec::with_capacity(HASHED_PART);
    loop {
        part.clear();
        let length = file.by_ref().take(HASHED_PART as u64).read_to_end(&mut part)?;
        let words = part.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        hash = words.fold(hash, |hash, word| mix64(hash ^ word));
        if length < HASHED_PART {
            return Ok(hash);
        }
    }
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
