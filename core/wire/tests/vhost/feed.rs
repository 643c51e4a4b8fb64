//! Any bytes as a machine that talks vhost-user, and what must hold. The fuzz target `vhost_user` runs this too.

use loadline_wire::vhost::{
    CONTROL_BYTES, ControlRequest, DeviceConfig, HEADER_BYTES, MessageHead, PAYLOAD_BYTES_MAX,
    REQUEST_BYTES, ScsiRequest, VhostRequest, reply,
};

const CONFIG: DeviceConfig = DeviceConfig { segments_max: 126, sectors_max: 4096, queue_depth: 32 };

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
            let answer = reply(request, &CONFIG.reply(offset, bytes));
            assert!(answer.len() <= HEADER_BYTES + 12 + CONFIG.bytes().len());
        }
        Ok(_) => {}
        // A refusal is a sentence.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
