//! An application's hint, the drive's count, and what comes back.

use crate::{Boot, Booted};
use serde_json::Value;

/// Uploads a page of reads for a descriptor 1 with one time of so many units of 10 ms: `time_at` is where it stands in the
/// descriptor, `policy` the byte for its policy at `policy_at`. Then limits are switched on.
pub(crate) fn upload(time_at: usize, policy_at: usize, policy: u8, units: u8) -> String {
    let mut page = vec![0u8; 240];
    page[8..12].copy_from_slice(&[0x4a, 0x07, 0x00, 0xe4]);
    page[15] = 0xc0;
    page[16] = 0xa;
    page[16 + time_at + 1] = units;
    page[16 + policy_at] = policy;
    let bytes: String = page.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!(
        "printf '{bytes}' > page; sg_raw -s 240 -i page /dev/sg0 55 10 00 00 00 00 00 00 f0 00 2> upload || cat upload
         echo 1 > /sys/block/sda/device/cdl_enable\n"
    )
}

/// Uploads the benchmark's pages, as the refusal of `cdl bench` says it.
pub(crate) const UPLOAD_BENCHMARK: &str = "for page in T2A T2B; do
    loadline cdl encode /share/cdl/$page.cdl --as t2 -o $page > /dev/null
    (head -c 8 /dev/zero; cat $page) | sg_raw -s 240 /dev/sda 55 10 0 0 0 0 0 0 f0 0 > upload 2>&1 || cat upload
    done";

/// How many commands with a descriptor have arrived.
pub(crate) fn hinted(set: &Value, descriptor: usize) -> u64 {
    set[descriptor]["commands"].as_u64().expect("a count")
}

/// Random reads at depth 32, a part of which names descriptor 1.
const FIO: &str = "fio --name=r --filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=32 --rw=randread --bs=128k \
    --norandommap --cmdprio_percentage=50 --cmdprio_class=2 --cmdprio_hint=1 --output-format=json --output=fio.json";

fn fio(booted: &Booted) -> Value {
    booted.json("fio.json")["jobs"][0].clone()
}

/// Every hint that fio sends arrives in a command, and no other.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn descriptors_that_arrive_are_those_that_were_sent() {
    let Some(boot) = Boot::new() else { return };
    let script = format!("{}{FIO} --number_ios=400", upload(10, 14, 0, 2));
    let booted = boot.script(&script).succeeded();
    let (job, drive) = (fio(&booted), booted.drive());
    let limited = job["read"]["prios"]
        .as_array()
        .expect("two priorities have reads")
        .iter()
        .find(|prio| prio["priohint"] == 1)
        .expect("some reads have the hint")["clat_ns"]["N"]
        .clone();
    let reads = &drive["counts"]["reads"];
    assert_eq!(reads[1]["commands"], limited, "{drive}");
    assert_eq!(reads[1]["bytes"].as_u64(), limited.as_u64().map(|reads| reads << 17), "not split");
    let met = reads[1]["met"].as_u64().unwrap() + reads[1]["missed"].as_u64().unwrap();
    assert_eq!(Some(met), limited.as_u64(), "each has kept its guideline or not");
    for descriptor in 2..8 {
        assert_eq!(reads[descriptor]["commands"], 0);
    }
}

/// Reads of 1280 KiB, the longest that Linux makes by itself, in many pieces each: as many are at the drive as fio wants there. What
/// waits in the machine has no limit, and the drive cannot choose it.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn long_reads_are_at_the_drive_together() {
    let Some(boot) = Boot::new() else { return };
    let long = FIO.replace("--bs=128k", "--bs=1280k").replace("--cmdprio_percentage=50", "");
    let long = long.replace("--cmdprio_class=2 --cmdprio_hint=1", "");
    let booted = boot.script(&format!("{long} --number_ios=200")).succeeded();
    let (job, drive) = (fio(&booted), booted.drive());
    let reads = &drive["counts"]["reads"][0];
    assert!(reads["bytes"].as_u64() >= Some(200 * (1280 << 10)), "{drive}");
    let [times, requests] = ["mean", "N"].map(|name| job["read"]["lat_ns"][name].as_f64().unwrap());
    let at_drive = reads["done_ns"].as_f64().unwrap() / (times * requests);
    assert!(at_drive > 0.7, "the drive had them for {at_drive} of the time that fio waited");
}

/// Inactive time, active time and guideline of 20 ms, each with the policies that end a command (ETIME) and those that do not. Reads
/// at depth 32 wait longer than that; carried out they take so long only where a drive fades.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn policies_that_end_a_command_come_back_as_etime() {
    const FADING: &str = "--fading=0s:5";
    const USUAL: &str = "--seed=1";
    for (name, time_at, policy_at, policy, drive, ends) in [
        ("inactive Fh", 2, 6, 0xf0, USUAL, true),
        ("inactive Dh", 2, 6, 0xd0, USUAL, true),
        ("inactive 0h", 2, 6, 0x00, USUAL, false),
        ("active Fh", 4, 6, 0x0f, FADING, true),
        ("active Dh", 4, 6, 0x0d, FADING, true),
        ("active 0h", 4, 6, 0x00, FADING, false),
        ("guideline Fh", 10, 14, 0x0f, USUAL, true),
        ("guideline Dh", 10, 14, 0x0d, USUAL, true),
        ("guideline 0h", 10, 14, 0x00, USUAL, false),
        ("guideline 1h", 10, 14, 0x01, USUAL, false),
        ("guideline 2h", 10, 14, 0x02, USUAL, false),
    ] {
        let Some(boot) = Boot::new() else { return };
        let script = format!(
            "{}{FIO} --number_ios=200 --continue_on_error=io --ignore_error=62,62 2>&1 | head -2
             echo log $(dmesg | grep -c -i 'i/o error')",
            upload(time_at, policy_at, policy, 2)
        );
        let booted = boot.with(drive).script(&script);
        let (job, drive) = (fio(&booted), booted.drive());
        let reads = &drive["counts"]["reads"];
        let ended = reads[1]["ended"].as_u64().unwrap();
        assert!(hinted(reads, 1) > 50, "{name}: reads have the hint: {drive}");
        assert_eq!(job["total_err"].as_u64(), Some(ended), "{name}: {}", booted.text());
        assert_eq!(ended > 0, ends, "{name}: {ended} ended");
        assert_eq!(reads[0]["ended"], 0, "{name}: reads without a hint have no limit");
        if ends {
            assert_eq!(job["first_error"], 62, "{name}: ETIME");
        }
        assert_eq!(booted.finding("log"), "0", "{name}: the kernel says nothing of it");
    }
}
