//! Descriptors: read, uploaded, saved, refused.

use crate::{cdb, data, disk, refusal};
use loadline_device::cdl::{DescriptorPage, Limits};
use loadline_scsi::{Capability, DiskAnswer, ScsiDisk};

/// MODE SENSE(10) of a page as `cdladm` asks for it: no block descriptors, 512 bytes.
fn page(disk: &mut ScsiDisk, control: u8, subpage: u8) -> Vec<u8> {
    data(disk, &[0x5a, 0x08, control << 6 | 0x0a, subpage, 0, 0, 0, 2, 0, 0])
}

/// MODE SELECT(10) of what a page was read as: mode data length and PS are cleared.
fn upload(disk: &mut ScsiDisk, parameters: &[u8], save: bool) -> DiskAnswer {
    let length = (parameters.len() as u16).to_be_bytes();
    let saves = u8::from(save);
    let select = [0x55, 0x10 | saves, 0, 0, 0, 0, 0, length[0], length[1], 0];
    disk.command(&cdb(&select), parameters)
}

fn parameters(page: &DescriptorPage) -> Vec<u8> {
    [vec![0; 8], page.to_mode_page()].concat()
}

#[test]
fn pages_have_the_layout_that_cdladm_reads() {
    let mut disk = disk(Capability::DurationLimits);
    for subpage in [7, 8] {
        let read = page(&mut disk, 0, subpage);
        assert_eq!(read.len(), 8 + 232);
        assert_eq!(read[..12], [0, 0xee, 0, 0x10, 0, 0, 0, 0, 0xca, subpage, 0, 0xe4]);
        let changeable = page(&mut disk, 1, subpage);
        assert_eq!(changeable[15], if subpage == 7 { 0xf0 } else { 0 });
        assert_eq!(
            changeable[16..32],
            [0xf, 0, 255, 255, 255, 255, 255, 0, 0, 0, 255, 255, 0, 0, 0xf, 0]
        );
    }
}

#[test]
fn what_is_uploaded_is_what_is_read() {
    let mut disk = disk(Capability::DurationLimits);
    for set in [DescriptorPage::BENCHMARK_T2A, DescriptorPage::BENCHMARK_T2B] {
        assert_eq!(upload(&mut disk, &parameters(&set), false), DiskAnswer::NewLimits);
        let subpage = set.kind().subpage();
        let mut read = page(&mut disk, 0, subpage);
        let held = DescriptorPage::from_mode_page(&read[8..]).unwrap();
        assert_eq!(held, set);
        read[..2].fill(0);
        read[3] = 0;
        read[8] &= 0x7f;
        assert_eq!(upload(&mut disk, &read, false), DiskAnswer::Data(Vec::new()), "nothing new");
        assert_eq!(page(&mut disk, 0, subpage)[9..], read[9..]);
        assert!(
            page(&mut disk, 3, subpage)[16..].iter().all(|byte| *byte == 0),
            "nothing is saved"
        );
    }
    let (reads, writes) = disk.limits();
    assert_eq!((reads.allowed_loss.code(), writes.allowed_loss.code()), (0xc, 0));
}

/// A power cut keeps what was saved; what was only in force is gone.
#[test]
fn saved_pages_survive_a_reset() {
    let mut disk = disk(Capability::DurationLimits);
    upload(&mut disk, &parameters(&DescriptorPage::BENCHMARK_T2A), true);
    upload(&mut disk, &parameters(&DescriptorPage::BENCHMARK_T2B), false);
    disk.reset();
    assert_eq!(disk.limits().0, *DescriptorPage::BENCHMARK_T2A.limits());
    // T2B went out of force, and SP had saved all pages as they were then.
    assert_eq!(disk.limits().1, Limits::default());
}

#[test]
fn what_is_reserved_is_refused_and_changes_nothing() {
    let mut disk = disk(Capability::DurationLimits);
    upload(&mut disk, &parameters(&DescriptorPage::BENCHMARK_T2A), false);
    let before = disk.limits();
    let good = parameters(&DescriptorPage::BENCHMARK_T2A);
    let of_writes = parameters(&DescriptorPage::BENCHMARK_T2B);
    let refused = |disk: &mut ScsiDisk, good: &[u8], at: usize, byte: u8| {
        let mut bad = good.to_vec();
        bad[at] = byte;
        refusal(disk, &[0x55, 0x10, 0, 0, 0, 0, 0, 0, bad.len() as u8, 0], &bad)
    };
    let check = |disk: &mut ScsiDisk, at: usize, byte: u8, wanted: [u8; 3], why: &str| {
        assert_eq!(refused(disk, &good, at, byte), wanted, "{why}");
    };
    check(&mut disk, 16, 0x7, [5, 0x26, 0], "a reserved unit");
    check(&mut disk, 22, 0x30, [5, 0x26, 0], "a reserved policy of the inactive time");
    check(&mut disk, 22, 0x01, [5, 0x26, 0], "a policy of guidelines for an active time");
    check(&mut disk, 30, 0xe, [5, 0x26, 0], "a policy of active times for a guideline");
    check(&mut disk, 15, 0xd0, [5, 0x26, 0], "a reserved allowed loss");
    check(&mut disk, 27, 0x1, [5, 0x26, 0], "10 ms, where the drive keeps 20 at least");
    check(&mut disk, 9, 0x5, [5, 0x26, 0], "a page that there is not");
    check(&mut disk, 11, 0xe3, [5, 0x26, 0], "a page length that is not this page's");
    check(&mut disk, 11, 0xe5, [5, 0x1a, 0], "a page longer than the parameters");
    check(&mut disk, 7, 8, [5, 0x26, 0], "a block descriptor of other blocks");
    for (at, byte, why) in [
        (15, 0xc1, "bits beside the allowed loss"),
        (12, 0x01, "a reserved byte of the head"),
        (16, 0x1a, "bits beside a unit"),
        (17, 0x01, "a reserved byte of a descriptor"),
        (30, 0x10, "bits beside a policy"),
    ] {
        check(&mut disk, at, byte, [5, 0x26, 0], why);
        let found = refused(&mut disk, &of_writes, at, byte);
        assert_eq!(found, [5, 0x26, 0], "{why}, of writes");
    }
    for loss in [0x10, 0xc0, 0xd0] {
        let found = refused(&mut disk, &of_writes, 15, loss);
        assert_eq!(found, [5, 0x26, 0], "an allowed loss, which T2B has no place for: {loss:#x}");
    }
    let cut = refusal(&mut disk, &[0x55, 0x10, 0, 0, 0, 0, 0, 1, 0, 0], &good);
    assert_eq!(cut, [5, 0x1a, 0], "fewer parameters than announced");
    let no_format = refusal(&mut disk, &[0x55, 0, 0, 0, 0, 0, 0, 0, 240, 0], &good);
    assert_eq!(no_format, [5, 0x24, 0], "no page format");
    assert_eq!(disk.limits(), before);
}

/// Nothing of the other pages can be changed; what they are may be written.
#[test]
fn other_pages_take_what_they_are() {
    let mut disk = disk(Capability::DurationLimits);
    let mut caching = data(&mut disk, &[0x5a, 0x08, 0x08, 0, 0, 0, 0, 2, 0, 0]);
    caching[..2].fill(0);
    caching[3] = 0;
    let select = [0x55, 0x10, 0, 0, 0, 0, 0, 0, caching.len() as u8, 0];
    assert_eq!(disk.command(&cdb(&select), &caching), DiskAnswer::Data(Vec::new()));
    caching[10] = 0x04;
    assert_eq!(refusal(&mut disk, &select, &caching), [5, 0x26, 0], "the cache stays off");
}

#[test]
fn a_disk_without_limits_has_no_pages_of_them() {
    let mut disk = disk(Capability::None);
    assert_eq!(refusal(&mut disk, &[0x5a, 0x08, 0x0a, 7, 0, 0, 0, 2, 0, 0], &[]), [5, 0x24, 0]);
    let DiskAnswer::Medium(read) =
        disk.command(&cdb(&[0x88, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 1, 0, 0xc0, 0]), &[])
    else {
        panic!("a read is for the medium")
    };
    assert_eq!(read.descriptor, 0, "the bits of a descriptor mean nothing to it");
}
