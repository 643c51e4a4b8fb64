//! The disk through its front door: what a kernel, `cdladm` and `sg3_utils` ask, and what they must be told.

mod feed;
mod limits;
mod probe;

use loadline_base::Span;
use loadline_scsi::{CDB_BYTES, Capability, Cdb, DiskAnswer, DiskIdentity, ScsiDisk};

fn identity() -> DiskIdentity {
    DiskIdentity {
        vendor: "LOADLINE".to_owned(),
        product: "hdd-22tb-cdl".to_owned(),
        revision: "0001".to_owned(),
        serial: "LL0000000001".to_owned(),
        world_wide: 1,
        blocks: 42_970_644_480,
        rpm: 7200,
        write_cache: false,
    }
}

pub(crate) fn disk(capability: Capability) -> ScsiDisk {
    ScsiDisk::new(identity(), capability, Span::from_millis(20)..=Span::from_secs(4294))
}

/// A CDB of these bytes, the rest zeros.
pub(crate) fn cdb(bytes: &[u8]) -> Cdb {
    let mut cdb = Cdb([0; CDB_BYTES]);
    cdb.0[..bytes.len()].copy_from_slice(bytes);
    cdb
}

/// The data of a command that has to succeed.
pub(crate) fn data(disk: &mut ScsiDisk, bytes: &[u8]) -> Vec<u8> {
    match disk.command(&cdb(bytes), &[]) {
        DiskAnswer::Data(data) => data,
        other => panic!("{bytes:02x?} is answered with {other:?}"),
    }
}

/// Key, code and qualifier of a command that has to be refused.
pub(crate) fn refusal(disk: &mut ScsiDisk, bytes: &[u8], parameters: &[u8]) -> [u8; 3] {
    match disk.command(&cdb(bytes), parameters) {
        DiskAnswer::Refused(sense) => {
            let fixed = sense.fixed();
            [fixed[2], fixed[12], fixed[13]]
        }
        other => panic!("{bytes:02x?} is answered with {other:?}"),
    }
}

/// SBC lets a command ask for no blocks at all: nothing moves, no matter of the medium's, and that is no error. Its first block has
/// to be one all the same.
#[test]
fn a_transfer_of_no_blocks_is_nothing_for_the_medium() {
    let mut disk = disk(Capability::DurationLimits);
    for opcode in [0x28, 0x2a, 0x88, 0x8a] {
        assert_eq!(data(&mut disk, &[opcode]), [0; 0], "{opcode:02x}h");
    }
    let outside = [0x88, 0, 0xff, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(refusal(&mut disk, &outside, &[]), [5, 0x21, 0]);
}

#[test]
fn no_bytes_break_a_disk() {
    use proptest::prelude::*;
    proptest!(ProptestConfig::with_cases(2000), |(bytes in prop::collection::vec(any::<u8>(), 0..400))| {
        feed::commands(&bytes);
    });
}

/// Random bytes name a known command once in thirteen times, and hardly ever a page: these do.
#[test]
fn no_fields_break_a_known_command() {
    use proptest::prelude::*;
    let opcodes: Vec<u8> = loadline_scsi::COMMANDS.iter().map(|command| command.opcode).collect();
    let one = (
        prop::sample::select(opcodes),
        prop::collection::vec(any::<u8>(), 31),
        prop::collection::vec(any::<u8>(), 0..255),
    );
    proptest!(|(commands in prop::collection::vec(one, 1..8))| {
        let mut bytes = vec![0];
        for (opcode, fields, parameters) in commands {
            bytes.push(opcode);
            bytes.extend(fields);
            bytes.push(parameters.len() as u8);
            bytes.extend(parameters);
        }
        feed::commands(&bytes);
    });
}
