//! The device contract on a file with direct I/O, on one in memory, and on a block device, with both backends.

use crate::driven::{Driven, LoopDevice, backends, folder, memory_folder};
use loadline_base::Bytes;
use loadline_device::contract;
use loadline_host::{Direct, DiskKind, DiskOpen, LoopOptions};

fn check(open: &DiskOpen, direct: bool, kind: DiskKind) {
    for backend in backends() {
        let disk = open.open().expect("the disk opens");
        assert_eq!((disk.mode().direct, disk.kind()), (direct, kind));
        let options = LoopOptions { backend, ..LoopOptions::default() };
        let mut driven = Driven::new(options, disk);
        contract::check(&mut driven);
        contract::refuses_part_of_a_sector(&mut driven);
    }
}

#[test]
fn a_file_with_direct_io_keeps_the_contract() {
    let folder = folder();
    let open = DiskOpen {
        direct: Direct::Yes,
        ..DiskOpen::or_create(folder.path().join("disk"), Bytes::from_mib(4))
    };
    check(&open, true, DiskKind::File);
}

#[test]
fn a_file_in_the_page_cache_keeps_the_contract() {
    let folder = folder();
    let open = DiskOpen {
        direct: Direct::No,
        ..DiskOpen::or_create(folder.path().join("disk"), Bytes::from_mib(4))
    };
    check(&open, false, DiskKind::File);
}

#[test]
fn a_file_in_memory_is_buffered_and_keeps_the_contract() {
    let Some(folder) = memory_folder() else {
        return println!("not tested: there is no /dev/shm");
    };
    let open = DiskOpen::or_create(folder.path().join("disk"), Bytes::from_mib(4));
    check(&open, false, DiskKind::File);
}

#[test]
fn a_block_device_keeps_the_contract() {
    let folder = folder();
    let file = DiskOpen::or_create(folder.path().join("disk"), Bytes::from_mib(4));
    drop(file.open().expect("the file is made"));
    match LoopDevice::new(&file.path) {
        Ok(device) => check(&DiskOpen::existing(&device.path), true, DiskKind::BlockDevice),
        Err(reason) => println!("not tested: a loop device needs root: {reason}"),
    }
}
