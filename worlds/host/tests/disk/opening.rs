//! Opening a disk, and each reason not to, in the words that a user reads.

use crate::driven::{LoopDevice, folder, memory_folder};
use loadline_base::Bytes;
use loadline_host::{Direct, DiskOpen, DiskOpenError};
use std::fs;
use std::path::Path;

const SIZE: Bytes = Bytes::from_mib(2);

/// Opening must fail with this sentence, which names the path first.
fn refused(open: &DiskOpen, sentence: &str) {
    let error: DiskOpenError = open.open().map(drop).expect_err("this is refused");
    assert_eq!(error.to_string(), format!("{}: {sentence}", open.path.display()));
}

fn file(path: &Path, bytes: u64) -> DiskOpen {
    fs::File::create(path).and_then(|file| file.set_len(bytes)).expect("the file is made");
    DiskOpen::existing(path)
}

#[test]
fn a_new_file_has_its_blocks_and_an_old_one_keeps_its_own() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    let open = DiskOpen::or_create(folder.path().join("disk"), SIZE);
    let created = open.open().expect("it is made");
    assert!(created.was_created());
    assert_eq!(created.size(), SIZE);
    assert!(fs::metadata(&open.path).expect("it is there").blocks() * 512 >= SIZE.get());
    drop(created);
    let larger = DiskOpen { create: Some(Bytes::from_mib(4)), ..open };
    let opened = larger.open().expect("it is there");
    assert!(!opened.was_created());
    assert_eq!(opened.size(), SIZE);
}

#[test]
fn what_is_no_disk_is_refused_in_one_sentence() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    refused(&DiskOpen::existing(at("nothing")), "there is no such file or device");
    let deep = DiskOpen::or_create(at("nothing/disk"), SIZE);
    refused(&deep, "there is no such file or device");
    let wanted = "this is a folder; a disk is a regular file or a block device";
    refused(&DiskOpen::existing(folder.path()), wanted);
    let wanted = "this is a character device; a disk is a regular file or a block device";
    refused(&DiskOpen::existing("/dev/zero"), wanted);
    refused(&file(&at("empty"), 0), "it holds 0 B, and a disk has at least 1 MiB");
    let wanted = "its 2097153 bytes are not a multiple of 4096; it was cut or was never a disk";
    refused(&file(&at("crooked"), SIZE.get() + 1), wanted);
    let short = DiskOpen { size: Some(SIZE), ..file(&at("short"), 1 << 20) };
    let wanted = "it holds 1 MiB (1048576 bytes) instead of 2 MiB (2097152 bytes); \
                  it was cut or is another's, or else its size is to be left out";
    refused(&short, wanted);
}

#[test]
fn a_file_that_finds_no_room_is_not_left_behind() {
    let folder = folder();
    let open = DiskOpen::or_create(folder.path().join("disk"), Bytes::from_mib(1 << 30));
    refused(&open, "its file system has no room for 1024 TiB");
    assert!(!open.path.exists());
}

/// A user other than root, since root may open everything.
#[test]
fn without_permission_it_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let open = file(&folder.path().join("disk"), SIZE.get());
    let none = fs::Permissions::from_mode(0o000);
    fs::set_permissions(&open.path, none).expect("the mode can be changed");
    if fs::OpenOptions::new().read(true).open(&open.path).is_ok() {
        return println!("not tested: this user may open everything");
    }
    refused(&open, "no permission to read and write it");
}

#[test]
fn a_disk_has_one_owner() {
    let folder = folder();
    let open = DiskOpen::or_create(folder.path().join("disk"), SIZE);
    let owner = open.open().expect("it is made");
    refused(&open, "another process uses it; a disk has one owner at a time");
    let looking_on = DiskOpen { exclusive: false, ..open.clone() };
    drop(looking_on.open().expect("looking on takes no lock"));
    drop(owner);
    drop(open.open().expect("it is free again"));
}

#[test]
fn a_block_device_has_one_owner() {
    let folder = folder();
    let file = DiskOpen::or_create(folder.path().join("disk"), SIZE);
    drop(file.open().expect("the file is made"));
    let device = match LoopDevice::new(&file.path) {
        Ok(device) => device,
        Err(reason) => return println!("not tested: a loop device needs root: {reason}"),
    };
    let open = DiskOpen::existing(&device.path);
    let owner = open.open().expect("the device opens");
    assert_eq!(owner.size(), SIZE);
    refused(&open, "another process uses it; a disk has one owner at a time");
    drop(owner);
    drop(open.open().expect("it is free again"));
}

#[test]
fn direct_io_where_there_is_none_is_refused_when_insisted_on() {
    let Some(folder) = memory_folder() else {
        return println!("not tested: there is no /dev/shm");
    };
    let insisting =
        DiskOpen { direct: Direct::Yes, ..DiskOpen::or_create(folder.path().join("disk"), SIZE) };
    let wanted = "its file system has no direct I/O; allow buffered I/O or choose another place";
    refused(&insisting, wanted);
}
