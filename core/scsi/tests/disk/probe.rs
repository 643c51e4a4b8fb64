//! What Linux 6.12 asks from the probe to the first read, in its order (spec of the field: sd.c, scsi.c, scsi_scan.c).

use crate::{data, disk, refusal};
use loadline_scsi::Capability;

#[test]
fn a_kernel_finds_a_disk_with_limits() {
    let mut disk = disk(Capability::DurationLimits);
    let inquiry = data(&mut disk, &[0x12, 0, 0, 0, 36, 0]);
    assert_eq!(inquiry.len(), 36, "no more than there is room for");
    assert_eq!(inquiry[..8], [0, 0, 0x07, 0x12, 91, 0, 0, 2]);
    assert_eq!(&inquiry[8..36], b"LOADLINEhdd-22tb-cdl    0001");
    assert_eq!(
        data(&mut disk, &[0x12, 1, 0, 0, 36, 0]),
        [0, 0, 0, 6, 0, 0x80, 0x83, 0xb0, 0xb1, 0xb2]
    );
    assert_eq!(data(&mut disk, &[0x12, 1, 0x80, 0, 4, 0]), [0, 0x80, 0, 12]);
    let limits = data(&mut disk, &[0x12, 1, 0xb0, 0, 64, 0]);
    assert_eq!(limits[6..12], [0, 8, 0, 0, 0x40, 0], "granularity 8, transfers of 16384 blocks");
    let characteristics = data(&mut disk, &[0x12, 1, 0xb1, 0, 64, 0]);
    assert_eq!((&characteristics[4..6], characteristics[7]), (&[0x1c, 0x20][..], 2));
    assert_eq!(refusal(&mut disk, &[0x12, 1, 0x89, 0, 64, 0], &[]), [5, 0x24, 0]);
    let capacity = data(&mut disk, &[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32]);
    assert_eq!(capacity[..8], 42_970_644_479u64.to_be_bytes());
    assert_eq!((&capacity[8..12], capacity[13]), (&[0, 0, 2, 0][..], 3));
    assert_eq!(data(&mut disk, &[0x1a, 8, 0x3f, 0, 4, 0])[2], 0x10, "DPO and FUA");
    assert_eq!(data(&mut disk, &[0x1a, 8, 8, 0, 24, 0])[4..6], [0x08, 0x12]);
    assert_eq!(data(&mut disk, &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16])[..8], [0, 0, 0, 8, 0, 0, 0, 0]);
    for (refused, wanted) in [
        (&[0x5a, 0, 0x0a, 5, 0, 0, 0, 2, 0, 0][..], [5, 0x24, 0]),
        (&[0x4d, 0, 0x19, 0x21, 0, 0, 0, 8, 0, 0], [5, 0x24, 0]),
        (&[0x85; 16], [5, 0x20, 0]),
        (&[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 0x20, 0]),
        (&[0x7f, 0, 0, 0, 0, 0, 0, 0x18, 0, 9], [5, 0x20, 0]),
        (&[0x28, 0x20, 0, 0, 0, 0, 0, 0, 1, 0], [5, 0x24, 0]),
        (&[0x88, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], [5, 0x21, 0]),
    ] {
        assert_eq!(refusal(&mut disk, refused, &[]), wanted, "{refused:02x?}");
    }
}

/// What Linux makes `cdl_supported` of: the version, then SUPPORT 3 with a CDLP that is not 0.
#[test]
fn every_claim_says_what_it_is_for() {
    let check = |capability, version, read: [u8; 2], write: [u8; 2]| {
        let mut disk = disk(capability);
        assert_eq!(data(&mut disk, &[0x12, 0, 0, 0, 36, 0])[2], version, "{capability:?}");
        for (opcode, wanted) in [(0x88, read), (0x8a, write)] {
            let one = data(&mut disk, &[0xa3, 0x0c, 1, opcode, 0, 0, 0, 0, 0, 20]);
            assert_eq!((&one[..2], &one[2..4]), (&wanted[..], &[0, 16][..]), "{capability:?}");
        }
        let none = data(&mut disk, &[0xa3, 0x0c, 3, 0x7f, 0, 9, 0, 0, 2, 0]);
        assert_eq!(none, [0, 1, 0, 0], "READ(32) is for disks with protection of type 2");
    };
    check(Capability::DurationLimits, 7, [1, 0x0b], [1, 0x13]);
    check(Capability::OldVersion, 6, [1, 0x0b], [1, 0x13]);
    check(Capability::NoCommandPage, 7, [0, 3], [0, 3]);
    check(Capability::None, 7, [0, 3], [0, 3]);
    check(Capability::OwnWay, 7, [1, 0x0d], [1, 0x15]);
}

#[test]
fn the_list_of_commands_has_descriptors_of_eight_bytes() {
    let mut disk = disk(Capability::DurationLimits);
    let list = data(&mut disk, &[0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 0x20, 0]);
    let length = u32::from_be_bytes([list[0], list[1], list[2], list[3]]) as usize;
    assert_eq!(length, list.len() - 4);
    let of = |opcode: u8| list[4..].chunks_exact(8).find(|one| one[0] == opcode).unwrap().to_vec();
    assert_eq!(of(0x88), [0x88, 0, 0, 0, 0, 0x44, 0, 16], "RWCDLP 1, CDLP 01b");
    assert_eq!(of(0x8a)[5], 0x48);
    assert_eq!(of(0xa3), [0xa3, 0, 0, 0x0c, 0, 0x01, 0, 12]);
    let timed = data(&mut disk, &[0xa3, 0x0c, 0x80, 0, 0, 0, 0, 0, 0x20, 0]);
    assert_eq!((timed.len() - 4) % 20, 0, "and of twenty with timeouts");
    assert_eq!(refusal(&mut disk, &[0xa3, 0x0c, 1, 0x9e, 0, 0, 0, 0, 0, 20], &[]), [5, 0x24, 0]);
    assert_eq!(refusal(&mut disk, &[0xa3, 0x0c, 2, 0x88, 0, 0, 0, 0, 0, 20], &[]), [5, 0x24, 0]);
}
