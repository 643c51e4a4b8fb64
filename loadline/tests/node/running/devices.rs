//! Block devices that held something before: another life of this node, another node, a file system, nothing.

use super::clients::Client;
use super::node::Node;
use std::fs::File;
use std::os::unix::fs::FileExt;

#[path = "../../../../worlds/host/tests/support/loop_devices.rs"]
mod loop_devices;

/// The devices of a node.
struct Devices(loop_devices::LoopDevices);

impl std::ops::Deref for Devices {
    type Target = loop_devices::LoopDevices;

    fn deref(&self) -> &loop_devices::LoopDevices {
        &self.0
    }
}

impl Devices {
    fn new(folder: &std::path::Path, count: usize, mib: u64) -> Option<Devices> {
        loop_devices::LoopDevices::new(folder, count, mib).map(Devices)
    }

    /// A node's file with all of them.
    fn config(&self) -> String {
        self.config_of(self.paths.len())
    }

    fn config_of(&self, count: usize) -> String {
        let osds: Vec<String> =
            self.paths[..count].iter().map(|path| format!("{{ path = \"{path}\" }}")).collect();
        format!(
            "dir = \"node\"\nosds = [{}]\npgs = 8\nprotection = \"log\"\nlog_mode = \"fsync\"\n\
             [settings.osd]\nosd_mclock_max_capacity_iops_ssd = 20000\n",
            osds.join(", ")
        )
    }
}

/// Writes through an image, so that every disk gets log and pages, and looks that nothing of an earlier life is in it.
fn use_it(node: &Node, round: u8) {
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert!(client.read(0, 8 << 20).iter().all(|byte| *byte == 0), "round {round}: it is new");
    for at in 0..400_u64 {
        client.write(at * 20_480 % (8 << 20), &[round; 4096]);
    }
    assert_eq!(client.read(20_480, 4096), [round; 4096]);
}

/// Four devices were formatted, served, used, stopped, formatted again, and the node did not start: "osd.0: the log is damaged
/// at log position 0: it was durable beyond". The new log was empty, and a record of the earlier life stood behind.
#[test]
fn devices_that_were_used_are_formatted_and_used_again() {
    let mut node = Node::without_disks();
    let Some(devices) = Devices::new(node.folder(), 4, 72) else { return };
    let shapes: [&[&str]; 5] = [
        &[],
        &["--log", "4MiB"],
        &["--log", "16MiB", "--segment", "256KiB"],
        &["--page", "8KiB", "--recovery", "4MiB"],
        &[],
    ];
    for (shape, round) in shapes.into_iter().zip(1..) {
        for device in &devices.paths {
            let again = ["store", "format", device];
            if round > 1 {
                node.refuses(&again, 2, &format!("{device}: holds a store; --force overwrites it"));
            }
            node.says(&[&again[..], &["--force"], shape].concat());
        }
        node.start_from(&devices.config());
        use_it(&node, round);
        match round % 2 {
            0 => node.kill(),
            _ => node.stop(),
        }
        for device in &devices.paths {
            node.says(&["inspect", device, "check"]);
        }
    }
}

#[test]
fn a_new_node_makes_stores_of_empty_devices_if_it_is_told_to() {
    let mut node = Node::without_disks();
    let Some(devices) = Devices::new(node.folder(), 2, 64) else { return };
    std::fs::write(node.folder().join("node.toml"), devices.config()).unwrap();
    let serve = ["serve", "--config", "node.toml", "--log", "error"];
    let told = [&serve[..], &["--format-empty"]].concat();
    let [first, second] = &devices.paths[..] else { unreachable!("two were made") };
    let says = format!("{first} holds nothing: `loadline store format {first}` makes it a store");
    node.refuses(&serve, 2, &says);
    // One that holds something is not empty, and then nothing is written onto the others either.
    let disk = File::options().write(true).open(second).unwrap();
    disk.write_all_at(&[0x53, 0xef], 0x438).unwrap();
    let says = "holds an ext2, ext3 or ext4 file system and is left alone";
    node.refuses(&told, 2, says);
    node.refuses(&serve, 2, &format!("`loadline store format --force {second}` write over it"));
    disk.write_all_at(&[0, 0], 0x438).unwrap();
    disk.write_all_at(&[1], (64 << 20) - 1).unwrap();
    node.refuses(&told, 2, "holds something that is no store and is left alone");
    disk.write_all_at(&[0], (64 << 20) - 1).unwrap();
    drop(disk);
    node.start_with(&["--config", "node.toml", "--format-empty"]);
    use_it(&node, 1);
    node.stop();
    node.start_with(&["--config", "node.toml"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert_eq!(client.read(20_480, 4096), [1; 4096]);
}

#[test]
fn devices_with_an_earlier_life_are_added_and_put_in_place_of_others() {
    let mut node = Node::without_disks();
    let Some(devices) = Devices::new(node.folder(), 5, 72) else { return };
    let [.., fourth, fifth] = &devices.paths[..] else { unreachable!("five were made") };
    // An earlier life on all of them.
    devices.paths.iter().for_each(|device| drop(node.says(&["store", "format", device])));
    node.start_from(&devices.config());
    use_it(&node, 1);
    node.stop();
    for device in &devices.paths[..3] {
        node.says(&["store", "format", device, "--force", "--log", "4MiB"]);
    }
    node.start_from(&devices.config_of(3));
    use_it(&node, 2);
    // What belongs to the earlier node is nobody's prey.
    node.refuses(&["osd", "add", fourth], 2, "the disk belongs to another cluster");
    let disk = File::options().write(true).open(fifth).unwrap();
    let zeros = vec![0; 1 << 20];
    disk.write_all_at(&zeros, 0).unwrap();
    // Its superblocks at the other end are still there.
    node.refuses(&["osd", "add", fifth], 2, "the disk belongs to another cluster");
    // Whoever looked at it has opened the store, which repairs its superblocks at this end.
    disk.write_all_at(&zeros, 0).unwrap();
    disk.write_all_at(&zeros, 71 << 20).unwrap();
    drop(disk);
    node.says(&["store", "format", fourth, "--force", "--page", "8KiB"]);
    node.done(&["osd", "add", fourth], &format!("osd.3 is made on {fourth}"));
    node.await_clean();
    node.says(&["osd", "down", "1"]);
    node.done(&["osd", "replace", "1", fifth], &format!("osd.1 begins anew on {fifth}"));
    node.await_clean();
    node.says(&["osd", "down", "0"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert_eq!(client.read(20_480, 4096), [2; 4096]);
    // The disk that osd.1 had before comes back for another.
    let first = &devices.paths[0];
    node.says(&["store", "format", &devices.paths[1], "--force", "--log", "16MiB"]);
    node.says(&["osd", "replace", "0", &devices.paths[1]]);
    node.await_clean();
    assert_eq!(client.read(20_480, 4096), [2; 4096]);
    node.stop();
    for device in devices.paths.iter().filter(|device| *device != first) {
        node.says(&["inspect", device, "check"]);
    }
}
