//! fio: which version is here, and one job of it.

use super::order::WorkloadStep;
use super::real_error::RealError;
use super::{BenchError, Stopped};
use crate::folder::{FIO_LOG, READ_LINE, create, unusable};
use loadline_host::draft_of;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// fio's version, as far as it decides about options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FioVersion(u32, u32);

/// The first fio whose options can name a duration limit.
pub(super) const HINT_SINCE: FioVersion = FioVersion(3, 36);

/// How often a running fio is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs fio in a step's folder; its output becomes the step's `fio.log` when it has ended well. `input` is its standard
/// input, of which it reads nothing.
pub(super) fn run(
    step: &WorkloadStep<'_>,
    place: &Path,
    input: Stdio,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<(), BenchError> {
    let log = place.join(FIO_LOG);
    let unfinished = draft_of(&log);
    let cannot = |source: io::Error| unusable(&unfinished, source);
    let mut output = create(&unfinished)?;
    writeln!(output, "{}\n", step.fio_command()).map_err(cannot)?;
    let errors = output.try_clone().map_err(cannot)?;
    let child = Command::new("fio")
        .args(step.fio_arguments())
        .current_dir(place)
        .stdin(input)
        .stdout(output)
        .stderr(errors)
        // Ctrl-C is for the benchmark, which ends fio itself.
        .process_group(0)
        .spawn();
    let child = child.map_err(|error| RealError::NoFio(error.to_string()))?;
    let seconds = step.order.ramp_seconds + step.order.run_seconds;
    let status = RunningFio { child, ended: false }.wait(Duration::from_secs(seconds), watch)?;
    let text = fs::read_to_string(&unfinished).map_err(cannot)?;
    if !status.success() || !text.contains(READ_LINE) {
        let mut said = text.lines().skip(2).filter(|line| !line.trim().is_empty());
        // What is wrong stands behind the job in words, and its first line where fio does not begin it by its name.
        let said = said.clone().find(|line| line.starts_with("fio: ")).or_else(|| said.next());
        return Err(BenchError::Real(RealError::Fio {
            status: status.to_string(),
            depth: step.depth,
            why: said.unwrap_or("it said nothing").to_owned(),
            log: unfinished.display().to_string(),
        }));
    }
    Ok(fs::rename(&unfinished, &log).map_err(|source| unusable(&log, source))?)
}

/// fio under way. Dropping it ends it.
struct RunningFio {
    child: Child,
    /// Its number may be another's by now.
    ended: bool,
}

impl RunningFio {
    #[expect(clippy::disallowed_methods, reason = "a real drive runs in real time")]
    fn wait(
        mut self,
        lasts: Duration,
        watch: &mut dyn FnMut(f64) -> bool,
    ) -> Result<ExitStatus, BenchError> {
        let began = Instant::now();
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.map_err(|error| RealError::NoFio(error.to_string()))? {
                self.ended = true;
                return Ok(status);
            }
            let share = began.elapsed().as_secs_f64() / lasts.as_secs_f64();
            if !watch(share.min(1.0)) {
                return Err(BenchError::Stopped(Stopped));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for RunningFio {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // fio's jobs are processes of their own, which would read on without the first one. A group that has ended already
        // cannot be killed, which is as good.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl FioVersion {
    /// That of the fio that would run.
    pub(super) fn installed() -> Result<FioVersion, RealError> {
        let asked = Command::new("fio").arg("--version").output();
        let asked = asked.map_err(|error| RealError::NoFio(error.to_string()))?;
        let text = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        FioVersion::parse(&text)
            .ok_or_else(|| RealError::NoFio(format!("`fio --version` says \"{text}\"")))
    }

    /// As `fio-3.33` or `fio-3.36-12-gabcdef`.
    pub(super) fn parse(text: &str) -> Option<FioVersion> {
        let (major, rest) = text.strip_prefix("fio-")?.split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(FioVersion(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl std::fmt::Display for FioVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_fio_are_ordered() {
        let parsed = |text| FioVersion::parse(text).expect("a version");
        assert!(parsed("fio-3.33") < HINT_SINCE);
        assert_eq!(parsed("fio-3.36-12-gabcdef"), HINT_SINCE);
        assert!(parsed("fio-4.0") > HINT_SINCE);
        assert_eq!(FioVersion::parse("3.36"), None);
    }
}
