//! Any bytes as commands of a host, and what must hold of every answer. The fuzz target `scsi_cdb` runs this too.

use loadline_base::Span;
use loadline_device::cdl::DescriptorPage;
use loadline_scsi::{
    CDB_BYTES, Capability, Cdb, DiskAnswer, DiskIdentity, MediumKind, ScsiDisk, TRANSFER_BLOCKS_MAX,
};

const BLOCKS: u64 = 1_000_000;

/// The first byte settles what the disk claims; then come commands: a CDB, the number of its parameter bytes, and those.
pub(crate) fn commands(bytes: &[u8]) {
    let Some((claims, mut rest)) = bytes.split_first() else { return };
    let capability = match claims % 5 {
        0 => Capability::DurationLimits,
        1 => Capability::None,
        2 => Capability::OldVersion,
        3 => Capability::NoCommandPage,
        _ => Capability::OwnWay,
    };
    let mut disk = fresh(capability);
    while let Some((cdb, behind)) = rest.split_first_chunk::<CDB_BYTES>() {
        let Some((length, behind)) = behind.split_first() else { return };
        let (parameters, behind) = behind.split_at(behind.len().min(usize::from(*length)));
        one(&mut disk, Cdb(*cdb), parameters);
        rest = behind;
    }
}

fn fresh(capability: Capability) -> ScsiDisk {
    let identity = DiskIdentity {
        vendor: "V".to_owned(),
        product: "P".to_owned(),
        revision: "R".to_owned(),
        serial: String::new(),
        world_wide: u64::MAX,
        blocks: BLOCKS,
        rpm: 7200,
        write_cache: true,
    };
    ScsiDisk::new(identity, capability, Span::from_nanos(500)..=Span::from_secs(32_767))
}

fn one(disk: &mut ScsiDisk, cdb: Cdb, parameters: &[u8]) {
    let before = disk.limits();
    let announced = ScsiDisk::parameter_bytes(&cdb);
    assert!(announced <= usize::from(u16::MAX), "a host cannot ask for more memory than this");
    match disk.command(&cdb, parameters) {
        DiskAnswer::Medium(command) => {
            assert!(command.block + command.blocks <= BLOCKS, "{command:?} lies outside");
            assert!(command.blocks <= TRANSFER_BLOCKS_MAX && command.descriptor < 8);
            let moves = command.kind != MediumKind::Flush;
            assert_eq!(command.blocks > 0, moves, "{command:?} gives the medium nothing to do");
        }
        DiskAnswer::Data(data) => assert!(data.len() < 4096, "{} bytes", data.len()),
        DiskAnswer::Refused(sense) => assert!(sense.is_check_condition()),
        DiskAnswer::NewLimits => {
            assert_ne!(disk.limits(), before);
            pages_are_sound(disk);
            return;
        }
    }
    assert_eq!(disk.limits(), before, "{cdb:?} changed what it did not say");
}

/// What holds can be read back, and is the same.
fn pages_are_sound(disk: &mut ScsiDisk) {
    let limits = disk.limits();
    for (subpage, wanted) in [(7, limits.0), (8, limits.1)] {
        let mut cdb = Cdb([0; CDB_BYTES]);
        cdb.0[..10].copy_from_slice(&[0x5a, 0x08, 0x0a, subpage, 0, 0, 0, 2, 0, 0]);
        let DiskAnswer::Data(data) = disk.command(&cdb, &[]) else { panic!("a page is missing") };
        let page = DescriptorPage::from_mode_page(&data[8..]).expect("a disk keeps sound pages");
        assert_eq!(*page.limits(), wanted);
    }
}
