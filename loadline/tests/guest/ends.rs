//! What happens when something does not happen.

use crate::Boot;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that is never answered is aborted after the kernel's timeout, and the disk goes on.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn the_kernel_aborts_what_is_never_answered() {
    let Some(boot) = Boot::new() else { return };
    let script = "echo 1 > /sys/block/sda/device/timeout
        dd if=/dev/sda of=/dev/null bs=4k count=1 skip=1000 iflag=direct 2> said; echo silent $?
        dd if=/dev/sda of=/dev/null bs=4k count=1 skip=9000 iflag=direct 2> said; echo other $?";
    let booted = boot.with("--silent=8000+8").script(script).succeeded();
    assert_eq!((booted.finding("silent"), booted.finding("other")), ("1".into(), "0".into()));
    let counts = &booted.drive()["counts"];
    assert!(counts["reads"][0]["aborted"].as_u64() > Some(0), "{counts}");
    assert!(counts["task_functions"].as_u64() > Some(0), "{counts}");
}

/// A drive that dies takes the guest along, at once and with a sentence; by itself the guest would never end.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_drive_that_dies_is_the_end() {
    let Some(boot) = Boot::new() else { return };
    let mut command = boot.command();
    command.args(["--", "sleep", "100"]);
    let child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (log, parent) = (boot.results().join("console.log"), child.id());
    wait(|| std::fs::read_to_string(&log).is_ok_and(|log| log.contains("loadline-guest: begin")));
    let drive =
        Command::new("pgrep").args(["-P", &parent.to_string(), "loadline"]).output().unwrap();
    let drive = String::from_utf8(drive.stdout).unwrap();
    let killed = Command::new("kill").args(["-KILL", drive.trim()]).status().unwrap();
    assert!(killed.success(), "process `{}`", drive.trim());
    let begun = now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the drive's process has gone"), "{said}");
}

#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_guest_ends_after_its_time() {
    let Some(boot) = Boot::new() else { return };
    let booted = boot.with("--time-limit=8s").run(&["sleep", "100"]);
    let said = booted.error();
    assert!(said.contains("after its time limit of 8 s"), "{said}");
}

#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_command_that_fails_says_so() {
    let Some(boot) = Boot::new() else { return };
    let booted = boot.run(&["bash", "-c", "echo one; echo two; exit 3"]);
    assert_eq!(booted.text(), "one\ntwo\n");
    assert!(booted.error().contains("the command ended with 3"), "{}", booted.error());
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "guests have limits in real time")]
    Instant::now()
}

fn wait(mut is_so: impl FnMut() -> bool) {
    let begun = now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not come to be");
        #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
        std::thread::sleep(Duration::from_millis(50));
    }
}
