//! What is wrong with a drive, as a kernel meets it. Times are the model's own, whatever this machine does meanwhile.

use crate::Boot;
use crate::limits::upload;

/// Blocks that cannot be read are an I/O error until they are written; their neighbours are read.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn bad_blocks_fail_until_they_are_written() {
    let Some(boot) = Boot::new() else { return };
    let script = "at() { dd if=/dev/sda of=/dev/null bs=4k count=1 skip=$1 iflag=direct 2> said; echo $2 $?; }
        at 2000 before; at 2001 beside
        dd if=/dev/zero of=/dev/sda bs=4k count=1 seek=2000 oflag=direct 2> said; echo written $?
        at 2000 after";
    // The firmware tries for seven seconds before it gives a block up.
    let booted = boot.with("--unreadable=16000+8").script(script).succeeded();
    let found = ["before", "beside", "written", "after"].map(|name| booted.finding(name));
    assert_eq!(found, ["1", "0", "0", "0"]);
    let drive = booted.drive();
    let failed = drive["counts"]["reads"][0]["failed"].as_u64().unwrap();
    assert!(failed > 0, "{drive}");
    assert_eq!(drive["model"]["unreadable"], failed, "each failed at the medium");
}

/// An active time with policy Eh ends a read whose sector is tried again, and no other.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_read_that_is_tried_again_ends_with_its_active_time() {
    let Some(boot) = Boot::new() else { return };
    // Twelve turns are 100 ms; the active time is 40 ms, in which any read is done that is not tried again.
    let script = format!(
        "{}read() {{ fio --name=r --filename=/dev/sda --direct=1 --ioengine=libaio --rw=read --bs=4k --offset=$1 --number_ios=1 \
            --prioclass=2 --priohint=1 > said 2>&1; grep -c 'Timer expired' said; }}
         echo bad $(read 8192000); echo good $(read 8388608)",
        upload(4, 6, 0x0e, 4)
    );
    let booted = boot.with("--slow-blocks=16000+8:12").script(&script);
    assert_ne!(booted.finding("bad"), "0", "{}", booted.text());
    assert_eq!(booted.finding("good"), "0", "{}", booted.text());
    let drive = booted.drive();
    assert_eq!(drive["counts"]["reads"][1]["ended"], 1, "{drive}");
    assert_eq!(drive["model"]["reads"][0]["active_missed"], 1, "{drive}");
}

/// A slow drive and one that fades take longer for the same reads by the model's own account.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_slow_drive_and_a_fading_one_take_longer() {
    let mean_ms = |flag: &str| {
        let boot = Boot::new()?;
        let script = "fio --name=r --filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=1 --rw=randread --bs=4k \
            --norandommap --number_ios=100";
        let drive = boot.with(flag).script(script).succeeded().drive();
        let busy = drive["model"]["busy_ns"].as_f64().unwrap();
        Some(busy / 1e6 / drive["model"]["medium_commands"].as_f64().unwrap())
    };
    let Some(usual) = mean_ms("--seed=1") else { return };
    let (slow, fading) = (mean_ms("--slow=3").unwrap(), mean_ms("--fading=0s:5").unwrap());
    // A mean read seeks for 6.7 ms, turns for 4.2 and thinks for 0.3; a hundred of them keep their mean to a millisecond.
    assert!(slow > usual + 8.0, "{slow} ms, else {usual} ms");
    // Five turns are 41.7 ms.
    assert!((fading - usual - 41.7).abs() < 5.0, "{fading} ms, else {usual} ms");
}
