//! The messages of the control socket.

use std::fmt;

/// Bytes of a message's head: request, flags, bytes that follow; each 32 bits, little-endian.
pub const HEADER_BYTES: usize = 12;

/// Most bytes that may follow: 32 regions of memory are under 2 KiB.
pub const PAYLOAD_BYTES_MAX: usize = 4096;

/// Most regions of a machine's memory.
const REGIONS_MAX: usize = 32;

const VERSION: u32 = 0x1;
const REPLY: u32 = 0x4;
const NEED_REPLY: u32 = 0x8;

/// Bytes of one region in a memory table.
const REGION_BYTES: usize = 32;

/// Set in a descriptor message's number where no descriptor comes with it.
const NO_DESCRIPTOR: u64 = 0x100;

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Its number.
    pub request: u32,
    /// Whether its sender wants to know how it went.
    pub need_reply: bool,
    /// How many bytes follow.
    pub payload_bytes: usize,
}

/// A region of a machine's memory, which lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRegion {
    /// Where it lies for the machine.
    pub guest_address: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// Where it lies for the process that runs the machine: addresses of rings are given so.
    pub user_address: u64,
    /// Where it begins in its file.
    pub file_offset: u64,
}

/// Where a ring's parts lie, for the process that runs the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingAddresses {
    /// The table of descriptors.
    pub descriptors: u64,
    /// What the device has answered.
    pub used: u64,
    /// What the machine offers.
    pub available: u64,
}

/// What a message means for the requests that are under way when it comes. Their data and their answers go into the machine's memory when they
/// end, so that must still be theirs then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEffect {
    /// Nothing.
    None,
    /// The memory in which they lie becomes another; the rings go on.
    OtherMemory,
    /// This ring stands still, or all do. What lies there later is another driver's, or none's.
    RingEnds(Option<usize>),
}

/// What a machine asks of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VhostRequest {
    /// Which features of virtio there are.
    GetFeatures,
    /// Which of them are used.
    SetFeatures(u64),
    /// The session begins.
    SetOwner,
    /// The session begins anew.
    ResetOwner,
    /// The machine's memory; a descriptor comes with each region.
    SetMemory(Vec<MemoryRegion>),
    /// How many descriptors a ring has.
    SetRingSize {
        /// Which ring.
        ring: usize,
        /// How many.
        size: u32,
    },
    /// Where a ring lies.
    SetRingAddresses {
        /// Which ring.
        ring: usize,
        /// Where its parts are.
        addresses: RingAddresses,
    },
    /// With which request a ring goes on.
    SetRingBase {
        /// Which ring.
        ring: usize,
        /// The number of that request.
        next: u32,
    },
    /// A ring stands still from now on; the answer is with which request it would go on.
    StopRing {
        /// Which ring.
        ring: usize,
    },
    /// By what the machine says that a ring has something new.
    SetKick {
        /// Which ring.
        ring: usize,
    },
    /// By what the device says that a ring has something new.
    SetCall {
        /// Which ring.
        ring: usize,
    },
    /// By what the device says that a ring is broken.
    SetError {
        /// Which ring.
        ring: usize,
    },
    /// A ring runs, or stands still.
    EnableRing {
        /// Which ring.
        ring: usize,
        /// Whether it runs.
        enabled: bool,
    },
    /// Which features of vhost-user there are.
    GetProtocolFeatures,
    /// Which of them are used.
    SetProtocolFeatures(u64),
    /// How many rings there may be.
    GetQueueCount,
    /// By what the device asks something of the machine.
    SetBackendChannel,
    /// A part of the device's configuration.
    GetConfig {
        /// Its first byte.
        offset: usize,
        /// How many bytes.
        bytes: usize,
    },
    /// Another value for a part of it, which no disk takes.
    SetConfig,
    /// A ring has something new, said in band.
    Kick {
        /// Which ring.
        ring: usize,
    },
    /// Memory for what is under way, which outlives the device's process: the device makes it, the machine keeps it.
    GetInflight {
        /// How many rings there are.
        rings: u16,
        /// How many descriptors each has.
        size: u16,
    },
    /// That memory, handed back with a descriptor: what stands in it was under way when the last session ended.
    SetInflight(InflightArea),
}

/// Where in its file memory for what is under way lies, and for what it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflightArea {
    /// How many bytes it has.
    pub bytes: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// How many rings it is for.
    pub rings: u16,
    /// How many descriptors each has.
    pub size: u16,
}

/// Why a message cannot be understood; the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VhostError {
    /// Of another version of the protocol.
    Version {
        /// The flags of the head.
        flags: u32,
    },
    /// More bytes than any message has.
    Long {
        /// How many are announced.
        bytes: u32,
    },
    /// A request that the device does not know.
    Unknown {
        /// Its number.
        request: u32,
    },
    /// Fewer bytes than the request needs, or fields that do not fit.
    Malformed {
        /// Its number.
        request: u32,
    },
    /// Another number of descriptors than the request needs.
    Descriptors {
        /// Its number.
        request: u32,
        /// How many came.
        found: usize,
    },
}

impl fmt::Display for VhostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VhostError::Version { flags } => {
                write!(f, "flags {flags:#x} of a message: only version 1 of vhost-user is known")
            }
            VhostError::Long { bytes } => {
                write!(f, "a message of {bytes} bytes; none has more than {PAYLOAD_BYTES_MAX}")
            }
            VhostError::Unknown { request } => write!(f, "request {request} is not known"),
            VhostError::Malformed { request } => write!(f, "request {request} is malformed"),
            VhostError::Descriptors { request, found } => {
                write!(f, "request {request} came with {found} descriptors")
            }
        }
    }
}

impl std::error::Error for VhostError {}

impl MessageHead {
    /// Reads a head.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<MessageHead, VhostError> {
        let word = |at: usize| u32_at(bytes, at).expect("a head has three words");
        let (request, flags, length) = (word(0), word(4), word(8));
        if flags & 0x3 != VERSION {
            return Err(VhostError::Version { flags });
        }
        let payload_bytes = usize::try_from(length).unwrap_or(usize::MAX);
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(VhostError::Long { bytes: length });
        }
        Ok(MessageHead { request, need_reply: flags & NEED_REPLY != 0, payload_bytes })
    }
}

/// A message that answers `request`.
pub fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
    for word in [request, VERSION | REPLY, payload.len() as u32] {
        message.extend(word.to_le_bytes());
    }
    message.extend(payload);
    message
}

/// What the device asks of the machine in band: to look into a ring. It wants an answer, whose head comes with a number of
/// 64 bits, 0 for good.
pub fn ring_call(ring: usize) -> Vec<u8> {
    const VRING_CALL: u32 = 4;
    let words = [VRING_CALL, VERSION | NEED_REPLY, 8, ring as u32, 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What the device tells the machine: its configuration has changed.
pub fn config_changed() -> Vec<u8> {
    const CONFIG_CHANGE: u32 = 2;
    [CONFIG_CHANGE, VERSION, 0].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The answer to [`VhostRequest::GetConfig`], of a device whose configuration is `own`: offset, length, flags, bytes; without any
/// bytes if they are not there.
pub fn config_reply(own: &[u8], offset: usize, bytes: usize) -> Vec<u8> {
    let part = offset.checked_add(bytes).and_then(|end| own.get(offset..end)).unwrap_or(&[]);
    let mut payload = Vec::new();
    for word in [offset as u32, part.len() as u32, 0] {
        payload.extend(word.to_le_bytes());
    }
    payload.extend(part);
    payload
}

impl InflightArea {
    fn decode(payload: &[u8]) -> Option<InflightArea> {
        let half =
            |at: usize| payload.get(at..)?.first_chunk().map(|field| u16::from_le_bytes(*field));
        Some(InflightArea {
            bytes: u64_at(payload, 0)?,
            offset: u64_at(payload, 8)?,
            rings: half(16)?,
            size: half(18)?,
        })
    }

    /// The answer to [`VhostRequest::GetInflight`], beside which its descriptor travels: as long as C lays it out.
    pub fn reply(&self) -> Vec<u8> {
        let halves = [self.rings, self.size, 0, 0];
        let words = [self.bytes, self.offset].into_iter().flat_map(u64::to_le_bytes);
        words.chain(halves.into_iter().flat_map(u16::to_le_bytes)).collect()
    }
}

impl VhostRequest {
    /// What it means for the requests that are under way.
    pub fn effect(&self) -> MessageEffect {
        match self {
            VhostRequest::SetMemory(_) => MessageEffect::OtherMemory,
            VhostRequest::ResetOwner => MessageEffect::RingEnds(None),
            // Linux in user mode stops its rings by nothing but the second, and sets them up anew after it.
            VhostRequest::StopRing { ring } | VhostRequest::EnableRing { ring, enabled: false } => {
                MessageEffect::RingEnds(Some(*ring))
            }
            _ => MessageEffect::None,
        }
    }

    /// Reads what follows a head; `descriptors` is how many came with the message.
    pub fn decode(
        request: u32,
        payload: &[u8],
        descriptors: usize,
    ) -> Result<VhostRequest, VhostError> {
        let malformed = VhostError::Malformed { request };
        let decoded = VhostRequest::decode_payload(request, payload)?.ok_or(malformed)?;
        if descriptors != decoded.descriptors_due(payload) {
            return Err(VhostError::Descriptors { request, found: descriptors });
        }
        Ok(decoded)
    }

    /// `None` for fields that do not fit.
    fn decode_payload(request: u32, payload: &[u8]) -> Result<Option<VhostRequest>, VhostError> {
        let number = || u64_at(payload, 0);
        let state = || Some((u32_at(payload, 0)? as usize, u32_at(payload, 4)?));
        let ring = || number().map(|number| (number & 0xff) as usize);
        Ok(match request {
            1 => Some(VhostRequest::GetFeatures),
            2 => number().map(VhostRequest::SetFeatures),
            3 => Some(VhostRequest::SetOwner),
            4 => Some(VhostRequest::ResetOwner),
            5 => memory_table(payload).map(VhostRequest::SetMemory),
            8 => state().map(|(ring, size)| VhostRequest::SetRingSize { ring, size }),
            9 => ring_addresses(payload),
            10 => state().map(|(ring, next)| VhostRequest::SetRingBase { ring, next }),
            11 => state().map(|(ring, _)| VhostRequest::StopRing { ring }),
            12 => ring().map(|ring| VhostRequest::SetKick { ring }),
            13 => ring().map(|ring| VhostRequest::SetCall { ring }),
            14 => ring().map(|ring| VhostRequest::SetError { ring }),
            15 => Some(VhostRequest::GetProtocolFeatures),
            16 => number().map(VhostRequest::SetProtocolFeatures),
            17 => Some(VhostRequest::GetQueueCount),
            18 => {
                state().map(|(ring, value)| VhostRequest::EnableRing { ring, enabled: value != 0 })
            }
            21 => Some(VhostRequest::SetBackendChannel),
            24 => state()
                .map(|(offset, bytes)| VhostRequest::GetConfig { offset, bytes: bytes as usize }),
            25 => Some(VhostRequest::SetConfig),
            31 => InflightArea::decode(payload)
                .map(|InflightArea { rings, size, .. }| VhostRequest::GetInflight { rings, size }),
            32 => InflightArea::decode(payload).map(VhostRequest::SetInflight),
            35 => state().map(|(ring, _)| VhostRequest::Kick { ring }),
            _ => return Err(VhostError::Unknown { request }),
        })
    }

    /// How many descriptors have to come with it.
    fn descriptors_due(&self, payload: &[u8]) -> usize {
        match self {
            VhostRequest::SetMemory(regions) => regions.len(),
            VhostRequest::SetBackendChannel | VhostRequest::SetInflight(_) => 1,
            VhostRequest::SetKick { .. }
            | VhostRequest::SetCall { .. }
            | VhostRequest::SetError { .. } => {
                let without = u64_at(payload, 0).is_some_and(|number| number & NO_DESCRIPTOR != 0);
                usize::from(!without)
            }
            _ => 0,
        }
    }
}

/// Linux 6.12 in user mode announces one region in a message that has room for two: what stands behind the announced ones
/// is no mistake.
fn memory_table(payload: &[u8]) -> Option<Vec<MemoryRegion>> {
    let count = u32_at(payload, 0)? as usize;
    if count > REGIONS_MAX {
        return None;
    }
    let region = |index: usize| {
        let start = 8 + index * REGION_BYTES;
        Some(MemoryRegion {
            guest_address: u64_at(payload, start)?,
            bytes: u64_at(payload, start + 8)?,
            user_address: u64_at(payload, start + 16)?,
            file_offset: u64_at(payload, start + 24)?,
        })
    };
    (0..count).map(region).collect()
}

/// Ring, flags, and four addresses, of which that of the log of changed pages is not used.
fn ring_addresses(payload: &[u8]) -> Option<VhostRequest> {
    let addresses = RingAddresses {
        descriptors: u64_at(payload, 8)?,
        used: u64_at(payload, 16)?,
        available: u64_at(payload, 24)?,
    };
    Some(VhostRequest::SetRingAddresses { ring: u32_at(payload, 0)? as usize, addresses })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|field| u32::from_le_bytes(*field))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|field| u64::from_le_bytes(*field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// As virtio_uml of Linux 6.12 sends it: 8 + 2 x 32 bytes for one region.
    #[test]
    fn a_memory_table_may_be_longer_than_its_regions() {
        let table = message(&[1, 0, 0x2000_0000, 0x6000_0000, 0, 7, 7, 7, 7]);
        assert_eq!(table.len(), 72);
        let region = MemoryRegion {
            guest_address: 0,
            bytes: 0x2000_0000,
            user_address: 0x6000_0000,
            file_offset: 0,
        };
        let decoded = VhostRequest::decode(5, &table, 1);
        assert_eq!(decoded, Ok(VhostRequest::SetMemory(vec![region])));
        let short = VhostRequest::decode(5, &table[..16], 1);
        assert_eq!(short, Err(VhostError::Malformed { request: 5 }));
        let without = VhostRequest::decode(5, &table, 0);
        assert_eq!(without, Err(VhostError::Descriptors { request: 5, found: 0 }));
    }

    #[test]
    fn a_ring_may_be_polled() {
        let decoded = VhostRequest::decode(12, &message(&[0x102]), 0);
        assert_eq!(decoded, Ok(VhostRequest::SetKick { ring: 2 }));
    }

    #[test]
    fn rings_are_kicked_and_called_in_band() {
        let decoded = VhostRequest::decode(35, &message(&[2]), 0);
        assert_eq!(decoded, Ok(VhostRequest::Kick { ring: 2 }));
        let call = ring_call(2);
        let head = MessageHead::decode(call.first_chunk().unwrap()).unwrap();
        assert_eq!(head, MessageHead { request: 4, need_reply: true, payload_bytes: 8 });
        assert_eq!(call[HEADER_BYTES..], 2u64.to_le_bytes());
    }

    #[test]
    fn heads_of_other_versions_and_lengths_are_refused() {
        let head = |words: [u32; 3]| {
            let mut bytes = [0; HEADER_BYTES];
            let places = bytes.chunks_exact_mut(4);
            places.zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
            MessageHead::decode(&bytes)
        };
        let good = MessageHead { request: 5, need_reply: true, payload_bytes: 72 };
        assert_eq!(head([5, 0x9, 72]), Ok(good));
        assert_eq!(head([5, 0x2, 72]), Err(VhostError::Version { flags: 2 }));
        assert_eq!(head([5, 0x1, 5000]), Err(VhostError::Long { bytes: 5000 }));
    }

    #[test]
    fn memory_for_what_is_under_way_goes_there_and_back() {
        let area = InflightArea { bytes: 4096, offset: 0, rings: 2, size: 128 };
        let reply = area.reply();
        assert_eq!(reply.len(), 24, "C pads it to eight bytes");
        let asked = VhostRequest::decode(31, &reply, 0);
        assert_eq!(asked, Ok(VhostRequest::GetInflight { rings: 2, size: 128 }));
        let back = VhostRequest::decode(32, &reply, 1);
        assert_eq!(back, Ok(VhostRequest::SetInflight(area)));
        let without = VhostRequest::decode(32, &reply, 0);
        assert_eq!(without, Err(VhostError::Descriptors { request: 32, found: 0 }));
    }

    #[test]
    fn a_configuration_is_told_in_parts() {
        let own: Vec<u8> = (0..36).collect();
        assert_eq!(config_reply(&own, 8, 4)[12..], [8, 9, 10, 11]);
        assert_eq!(config_reply(&own, 34, 4).len(), 12, "beyond the end there is nothing");
        assert_eq!(config_reply(&own, usize::MAX, 4).len(), 12);
    }
}
