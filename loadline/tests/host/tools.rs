//! Programs that judge the node: each with a limit of time, each answer with what it printed.

use crate::node::PATIENCE;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// What a program printed, and how it ended.
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end, however it ends; a program that hangs ends with code 124.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg(program).args(arguments).stdin(Stdio::null());
    let output = command.output().expect("`timeout` is part of every Debian");
    let missing = output.status.code() == Some(127);
    assert!(!missing, "`{program}` is missing; `scripts/setup` installs it");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Output { status: output.status, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Runs a program that has to succeed, and returns what it printed.
pub(crate) fn succeed(program: &str, arguments: &[&str]) -> String {
    let done = output(program, arguments);
    let printed = [done.stdout.as_str(), done.stderr.as_str()].concat();
    assert!(done.status.success(), "{program} {arguments:?}: {}\n{printed}", done.status);
    done.stdout
}

/// Runs a program that has to fail by its own judgement, and returns what it complains about.
pub(crate) fn fail(program: &str, arguments: &[&str]) -> String {
    let done = output(program, arguments);
    let code = done.status.code();
    let own = code.is_some_and(|code| code != 0 && code != 124);
    assert!(own, "{program} {arguments:?} should fail: {}\n{}", done.status, done.stdout);
    done.stderr
}

/// The path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder has a plain name")
}

/// A file that no compression and no zero detection makes smaller.
pub(crate) fn noise_file(path: &Path, bytes: usize, seed: u64) {
    let mut random = loadline_base::Rng::new(seed);
    let noise: Vec<u8> = (0..bytes / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    std::fs::write(path, noise).expect("a temporary folder can be written");
}
