//! Loadline itself in a guest: its benchmark through the kernel, and a node whose class has a limit.

use crate::Boot;
use crate::limits::{UPLOAD_BENCHMARK, hinted};
use std::fs;

const CDL: &str = concat!("--share=", env!("CARGO_MANIFEST_DIR"), "/../drives/cdl");

/// The usual drive with so few sectors. fio keeps a map of all blocks, and a kernel in user mode takes long to hand out that of a
/// large drive.
fn smaller(boot: &Boot, sectors: u64) -> String {
    let built_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../drives/hdd-22tb-cdl.toml");
    let text = fs::read_to_string(built_in).unwrap();
    let file = boot.results().join("smaller.toml");
    fs::write(&file, text.replace("42970644480", &sectors.to_string())).unwrap();
    format!("sim:{}", file.display())
}

/// The benchmark of duration limits through a real kernel, by its own fio lines: what arrives at the drive is what its logs
/// have, and its figures are made of those.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn the_benchmark_runs_through_the_kernel() {
    let Some(boot) = Boot::new() else { return };
    let script = format!(
        "loadline cdl bench --dev /dev/sda --outdir refused --cdl-single --percentage 30 --dld 1 2> refused.log
         echo refused $(grep -c 'sg_raw -s 240 /dev/sda' refused.log)
         {UPLOAD_BENCHMARK}
         loadline cdl bench --dev /dev/sda --outdir bench --qds 16 --ramptime 0 --runtime 3 \
            --cdl-single --percentage 30 --dld 1 --cdl-multi --dldsplit 2/20,4/30 --json > bench.json
         echo ended $?; echo left $(cat /sys/block/sda/device/cdl_enable)
         loadline cdl show /dev/sda > shown; echo shown $(grep -c '50 ms' shown)"
    );
    let drive = smaller(&boot, 67_108_864);
    // fio takes seconds of processor time to begin, which a busy machine makes long.
    let booted = boot.with(CDL).with("--time-limit=5min").on(&drive).script(&script);
    let found = ["refused", "ended", "left", "shown"].map(|name| booted.finding(name));
    assert_eq!(found, ["2", "0", "0", "2"], "{}\n{}", booted.text(), booted.error());
    let descriptors = fs::read_to_string(booted.file("bench/cdlsingle/cdl_descriptors")).unwrap();
    assert!(descriptors.contains("Page T2A: read descriptors"), "{descriptors}");
    let drive = booted.drive();
    let arrived = &drive["counts"]["reads"];
    let logs = ["cdlsingle", "cdlmulti"].map(|workload| {
        fs::read_to_string(booted.file(&format!("bench/{workload}/16/randread.log_lat.log")))
            .unwrap()
    });
    let logged = |descriptor: u32| {
        let word = format!("{:#06x}", 0x4000 | descriptor << 3);
        logs.iter().map(|log| log.matches(&word).count() as u64).sum::<u64>()
    };
    for descriptor in 1..8u32 {
        let arrived = &arrived[descriptor as usize]["commands"];
        assert_eq!(arrived.as_u64(), Some(logged(descriptor)), "descriptor {descriptor}: {drive}");
    }
    assert!(logged(1) > 0 && logged(2) > 0 && logged(4) > 0);
}

/// A node on the drive: a limit of the class `client` becomes the descriptor of what it reads and writes for clients, and of nothing else.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_class_of_the_scheduler_reaches_the_drive() {
    let Some(boot) = Boot::new() else { return };
    let drive = smaller(&boot, 4_194_304);
    let node = "dir = '/tmp/node'\nosds = [{ path = '/dev/sda' }]\nmedium = 'hdd'\ncache = '32 MiB'\nmemory = '320 MiB'\n\
        images = [{ name = 'a', size = '256 MiB' }]\n\
        [limits]\nreads = '/share/cdl/T2A.cdl'\nwrites = '/share/cdl/T2B.cdl'\n\
        [class.client]\nlimit = '50 ms'\n\
        [settings.osd]\nosd_mclock_skip_benchmark = true\n";
    fs::write(boot.results().join("node.toml"), node).unwrap();
    let load = |name: &str, words: &str| {
        format!(
            "fio --name={name} --ioengine=nbd --uri='nbd+unix:///a?socket=/tmp/node/nbd.sock' {words} > {name}.log 2>&1; echo {name} $?\n"
        )
    };
    let script = format!(
        "{UPLOAD_BENCHMARK}
         echo 1 > /sys/block/sda/device/cdl_enable; echo none > /sys/block/sda/queue/scheduler
         mkdir /tmp/node; loadline serve --config node.toml --format-empty > node.log 2>&1 & node=$!
         for turn in {{1..600}}; do [ -S /tmp/node/nbd.sock ] && break; sleep 0.1; done
         {}{}loadline status --dir /tmp/node --json > status.json
         loadline stop --dir /tmp/node > stop.log 2>&1; wait $node; echo node $?",
        load("fill", "--rw=write --bs=1m --size=128m"),
        load("read", "--rw=randread --bs=64k --size=128m --iodepth=8 --number_ios=300")
    );
    let backing = boot.results().join("contents");
    let boot = boot
        .with(CDL)
        .with("--memory=768MiB")
        .with("--time-limit=5min")
        .with(&format!("--backing={}", backing.display()))
        .on(&drive);
    let booted = boot.script(&script);
    let log = || fs::read_to_string(booted.file("node.log")).unwrap_or_default();
    let found = ["fill", "read", "node"].map(|name| booted.finding(name));
    assert_eq!(found, ["0", "0", "0"], "{}\n{}", booted.text(), log());
    let drive = booted.drive();
    let (reads, writes) = (&drive["counts"]["reads"], &drive["counts"]["writes"]);
    assert_eq!(hinted(reads, 1), 300, "each of the client's is one request: {drive}");
    assert!(hinted(writes, 1) > 0, "its writes have limits of their own: {drive}");
    assert!(hinted(writes, 0) > 0, "writes of the log have none: {drive}");
    for other in 2..8 {
        assert_eq!((hinted(reads, other), hinted(writes, other)), (0, 0), "{drive}");
    }
}
