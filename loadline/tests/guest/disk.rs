//! A node's image as a guest's disk (docs/vhost-blk.md): what a real kernel writes is there after a kill of the node.

use crate::Boot;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A node that serves `vol0` at a path. Dropped, it is killed.
struct Node {
    child: Child,
}

impl Node {
    fn start(folder: &Path) -> Node {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_loadline"));
        serve.arg("serve").arg("--dir").arg(folder.join("node"));
        serve.args(["--osds", "2", "--copies", "2", "--size", "256MiB", "--image", "vol0=64MiB"]);
        serve.arg("--vhost").arg(format!("vol0={}", socket(folder).display()));
        let mut child = serve.stderr(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with(" ready")), "the node is not ready");
        // A pipe that nobody empties would stop it.
        #[expect(clippy::disallowed_methods, reason = "another process writes by its own time")]
        std::thread::spawn(move || lines.for_each(drop));
        Node { child }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("vol0.sock")
}

fn boot(folder: &Path, script: &str) -> Option<crate::Booted> {
    let disk = format!("--vhost-blk={}", socket(folder).display());
    let boot = Boot::new()?.with(&disk).with("--time-limit=5min");
    Some(boot.script(script).succeeded())
}

const FIO: &str = "fio --name=blocks --filename=/dev/vda --ioengine=libaio --direct=1 --iodepth=16 --rw=randwrite \
    --bsrange=4k-64k --size=32m --verify=crc32c --verify_fatal=1";

/// The guest is user-mode Linux, which cannot connect again: it is booted anew.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn what_a_guest_has_written_is_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let node = Node::start(folder);
    let script = format!(
        "cd /sys/block/vda; echo size $(cat size); echo serial $(cat serial)
         echo cache $(cat queue/write_cache); echo blocks $(cat queue/physical_block_size)
         {FIO} > /results/write.log 2>&1; echo write $?
         printf %65536s x | tr ' ' y > /tmp/piece
         dd if=/tmp/piece of=/dev/vda bs=64k seek=800 oflag=direct conv=fsync 2> /dev/null; echo fsync $?
         blkdiscard -o 50m -l 32k /dev/vda; echo discard $?
         echo left $(dd if=/dev/vda iflag=direct bs=64k skip=800 count=1 2> /dev/null | tr -d '\\0' | wc -c)"
    );
    let Some(booted) = boot(folder, &script) else { return };
    let found = |names: &[&str]| names.iter().map(|name| booted.finding(name)).collect::<Vec<_>>();
    assert_eq!(
        found(&["size", "serial", "cache", "blocks"]),
        ["131072", "vol0", "write back", "4096"]
    );
    assert_eq!(found(&["write", "fsync", "discard", "left"]), ["0", "0", "0", "32768"]);
    // SIGKILL, behind the guest's last flush.
    drop(node);
    let _node = Node::start(folder);
    let script = format!(
        "{FIO} --verify_only > /results/verify.log 2>&1; echo verify $?
         echo left $(dd if=/dev/vda iflag=direct bs=64k skip=800 count=1 2> /dev/null | tr -d '\\0' | wc -c)"
    );
    let booted = boot(folder, &script).expect("it has booted before");
    assert_eq!(booted.finding("verify"), "0", "{}", booted.text());
    assert_eq!(booted.finding("left"), "32768");
}
