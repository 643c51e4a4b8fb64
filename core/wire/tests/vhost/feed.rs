//! Any bytes as a machine that talks vhost-user, and what must hold. The fuzz target `vhost_user` runs this too.

use loadline_wire::vhost::{
    BLK_HEADER_BYTES, BLK_ZERO_BYTES_MAX, BlkCommand, BlkDisk, BlkHeader, BlkShape, CONTROL_BYTES,
    ControlRequest, HEADER_BYTES, MessageHead, PAYLOAD_BYTES_MAX, REQUEST_BYTES, ScsiConfig,
    ScsiRequest, VhostRequest, config_reply, reply,
};

const CONFIG: ScsiConfig = ScsiConfig { segments_max: 126, sectors_max: 4096, queue_depth: 32 };

/// Reads message after message, as a session does, and every piece of the bytes as what stands in a ring.
pub(crate) fn machine(bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((head, behind)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let Ok(head) = MessageHead::decode(head) else { break };
        assert!(head.payload_bytes <= PAYLOAD_BYTES_MAX);
        let (payload, behind) = behind.split_at(behind.len().min(head.payload_bytes));
        for descriptors in [0, 1, 2] {
            message(head.request, payload, descriptors);
        }
        rest = behind;
    }
    for request in bytes.windows(REQUEST_BYTES).filter_map(|bytes| bytes.first_chunk()) {
        let request = ScsiRequest::decode(request);
        assert_eq!(
            request.is_for_disk(),
            request.lun[0] == 1
                && request.lun[1] == 0
                && request.lun[2] & 0xbf == 0
                && request.lun[3..] == [0; 5]
        );
    }
    for request in bytes.windows(CONTROL_BYTES).filter_map(|bytes| bytes.first_chunk()) {
        let _ = ControlRequest::decode(request);
    }
}

fn message(request: u32, payload: &[u8], descriptors: usize) {
    match VhostRequest::decode(request, payload, descriptors) {
        Ok(VhostRequest::SetMemory(regions)) => assert_eq!(regions.len(), descriptors),
        Ok(VhostRequest::GetConfig { offset, bytes }) => {
            let answer = reply(request, &config_reply(&CONFIG.bytes(), offset, bytes));
            assert!(answer.len() <= HEADER_BYTES + 12 + CONFIG.bytes().len());
        }
        Ok(_) => {}
        // A refusal is a sentence.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

const DISK: BlkDisk = BlkDisk { bytes: 1 << 30, read_only: false, transfer_max: 32 << 20 };

/// Reads the bytes as requests of a guest's disk: a head, how much the request brings and has room for, and the ranges that it may say.
/// Whatever is to be done lies inside the disk.
pub(crate) fn guest(bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((header, behind)) = rest.split_first_chunk::<BLK_HEADER_BYTES>() {
        let Some((sizes, behind)) = behind.split_first_chunk::<8>() else { break };
        let size = |at: usize| u64::from(u32::from_le_bytes(*sizes[at..].first_chunk().unwrap()));
        let shape = BlkShape { brings: size(0), room: size(4) };
        let header = BlkHeader::decode(header);
        let ranges = &behind[..header.range_bytes(shape.brings).min(behind.len())];
        let inside = |offset: u64, length: u64| {
            offset.checked_add(length).is_some_and(|end| end <= DISK.bytes)
        };
        match BlkCommand::read(header, shape, ranges, &DISK) {
            Ok(BlkCommand::Read(range)) => {
                assert!(inside(range.offset, range.length) && range.length == shape.room);
            }
            Ok(BlkCommand::Write(range)) => {
                assert!(inside(range.offset, range.length) && range.length == shape.brings);
            }
            Ok(BlkCommand::Zero(ranges)) => {
                assert!(!ranges.is_empty() && ranges.len() <= 16);
                assert!(ranges.iter().all(|range| inside(range.offset, range.length)));
                let all: u64 = ranges.iter().map(|range| range.length).sum();
                assert!(all <= BLK_ZERO_BYTES_MAX);
            }
            Ok(BlkCommand::Flush | BlkCommand::Id) | Err(_) => {}
        }
        rest = behind;
    }
}
