//! What happens when something does not happen.

use crate::Boot;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that is never answered holds no other up. Linux waits for it for ever (`virtscsi_eh_timed_out` sets its timer anew) until
/// somebody resets the disk; then it is tried again, until six times its timeout are over.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn what_is_never_answered_ends_with_a_reset() {
    let Some(boot) = Boot::new() else { return };
    let script = "echo 1 > /sys/block/sda/device/timeout
        at() { dd if=/dev/sda of=/dev/null bs=4k count=1 skip=$1 iflag=direct 2> said.$1; }
        at 1000 & waits=$!
        at 9000; echo other $?
        for turn in {1..60}; do sg_reset -d /dev/sda > reset 2>&1; sleep 1; kill -0 $waits || break; done 2> /dev/null
        wait $waits; echo silent $?
        at 9000; echo after $?";
    let booted = boot.with("--silent=8000+8").script(script).succeeded();
    let found = ["other", "silent", "after"].map(|name| booted.finding(name));
    assert_eq!(found, ["0", "1", "0"], "{}", booted.text());
    let counts = &booted.drive()["counts"];
    assert!(counts["reads"][0]["aborted"].as_u64() > Some(1), "it was tried again: {counts}");
    assert!(counts["task_functions"].as_u64() > Some(1), "{counts}");
}

/// Where nobody resets it, the guest has its limit.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_guest_that_waits_for_ever_ends_after_its_time() {
    let Some(boot) = Boot::new() else { return };
    let booted = boot.with("--silent=8000+8").with("--time-limit=20s").run(&[
        "dd",
        "if=/dev/sda",
        "of=/dev/null",
        "bs=4k",
        "count=1",
        "skip=1000",
        "iflag=direct",
    ]);
    let said = booted.error();
    assert!(said.contains("after its time limit of 20 s"), "{said}");
}

/// A drive that dies under load takes the guest along, at once and with a sentence; by itself the guest would never end.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_drive_that_dies_is_the_end() {
    let Some(boot) = Boot::new() else { return };
    let mut command = boot.command();
    let reads = "fio --name=r --filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=32 --rw=randread --bs=128k \
        --norandommap --time_based --runtime=100";
    command.args(["--", "bash", "-c", &format!("touch begun; {reads}")]);
    let child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (begun, parent) = (boot.results().join("begun"), child.id());
    wait(|| begun.exists());
    let drive =
        Command::new("pgrep").args(["-P", &parent.to_string(), "loadline"]).output().unwrap();
    let drive = String::from_utf8(drive.stdout).unwrap();
    let killed = Command::new("kill").args(["-KILL", drive.trim()]).status().unwrap();
    assert!(killed.success(), "process `{}`", drive.trim());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the drive's process has gone"), "{said}");
}

#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_command_that_fails_says_so() {
    let Some(boot) = Boot::new() else { return };
    let booted = boot.run(&["bash", "-c", "echo one; echo two; exit 3"]);
    assert_eq!(booted.text(), "one\ntwo\n");
    assert!(booted.error().contains("the command ended with 3"), "{}", booted.error());
}

/// A user's path has no folder of programs that are for root.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_users_path_is_enough() {
    let Some(boot) = Boot::new() else { return };
    let mut command = boot.command();
    let output = command.env("PATH", "/usr/bin:/bin").args(["--", "true"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
