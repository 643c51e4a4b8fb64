//! virtio-scsi: what stands in the request queue and in the control queue.

/// Bytes of a request before its data: LUN 8, tag 8, attribute, priority, CRN, CDB 32.
pub const REQUEST_BYTES: usize = 51;

/// Bytes of a response before its data: sense length, residual, qualifier, status, response, sense 96.
pub const RESPONSE_BYTES: usize = 108;

/// Bytes of a request in the control queue, the longer of its two kinds.
pub const CONTROL_BYTES: usize = 24;

/// Bytes of sense data at most.
const SENSE_BYTES: usize = 96;

/// The configuration of a virtio-scsi device with one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiConfig {
    /// Segments of a command's data at most.
    pub segments_max: u32,
    /// Blocks of a command at most.
    pub sectors_max: u32,
    /// Commands at the disk at most.
    pub queue_depth: u32,
}

impl ScsiConfig {
    /// Its bytes: one request queue, events of 16 bytes, sense of 96, CDBs of 32, and LUN 0 of target 0 alone.
    pub fn bytes(&self) -> [u8; 36] {
        let mut bytes = [0; 36];
        let words = [1, self.segments_max, self.sectors_max, self.queue_depth, 16, 96, 32, 0, 0];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiRequest {
    /// Whom it is for.
    pub lun: [u8; 8],
    /// Its name, by which it can be aborted.
    pub tag: u64,
    /// The command descriptor block.
    pub cdb: [u8; 32],
}

/// Whether LUN 0 of target 0 is meant, the one disk of a device: `01 00 40 00` or, in the older form, `01 00 00 00`.
fn is_the_disk(lun: &[u8; 8]) -> bool {
    matches!(lun, [1, 0, 0x40 | 0x00, 0, 0, 0, 0, 0])
}

impl ScsiRequest {
    /// Reads one.
    pub fn decode(bytes: &[u8; REQUEST_BYTES]) -> ScsiRequest {
        ScsiRequest { lun: field(bytes, 0), tag: tag(bytes, 8), cdb: field(bytes, 19) }
    }

    /// Whether it is for the device's one disk.
    pub fn is_for_disk(&self) -> bool {
        is_the_disk(&self.lun)
    }
}

/// How a device got on with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceResponse {
    /// It was carried out, and has a status.
    Done = 0,
    /// Its command transfers more than it has room for, or brings.
    Overrun = 1,
    /// A task management function ended it.
    Aborted = 2,
    /// There is no such disk.
    BadTarget = 3,
    /// A reset ended it.
    Reset = 4,
    /// The device did not get what it needs.
    Failure = 9,
}

/// What stands before the data of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiResponse<'a> {
    /// How the device got on.
    pub response: DeviceResponse,
    /// The SCSI status: 00h GOOD, 02h CHECK CONDITION, 28h TASK SET FULL.
    pub status: u8,
    /// Sense data; of more than 96 bytes the first.
    pub sense: &'a [u8],
    /// Room for data less what was transferred, exactly.
    pub residual: u32,
}

impl ScsiResponse<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> [u8; RESPONSE_BYTES] {
        let mut bytes = [0; RESPONSE_BYTES];
        let sense = &self.sense[..self.sense.len().min(SENSE_BYTES)];
        bytes[..4].copy_from_slice(&(sense.len() as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.residual.to_le_bytes());
        bytes[10] = self.status;
        bytes[11] = self.response as u8;
        bytes[12..12 + sense.len()].copy_from_slice(sense);
        bytes
    }
}

/// What the control queue asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// A task management function on commands of the device's one disk.
    Task(TaskFunction),
    /// The same for a disk that is not there.
    OtherDisk,
    /// Which events can be told, or are to be.
    Events,
    /// Neither.
    Unknown,
}

/// A task management function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFunction {
    /// Ends the command of this tag.
    Abort {
        /// Which command.
        tag: u64,
    },
    /// Ends all commands.
    AbortAll,
    /// Ends all commands and starts the disk anew.
    Reset,
    /// Whether the command of this tag is at the disk.
    Query {
        /// Which command.
        tag: u64,
    },
    /// Whether any command is.
    QueryAny,
    /// None that the device knows.
    Unknown,
}

impl ControlRequest {
    /// Reads one: type, subtype, LUN 8, tag; the second kind has a LUN at 4 and no tag.
    pub fn decode(bytes: &[u8; CONTROL_BYTES]) -> ControlRequest {
        let word = |at| u32::from_le_bytes(field(bytes, at));
        match (word(0), word(4)) {
            (0, _) if !is_the_disk(&field(bytes, 8)) => ControlRequest::OtherDisk,
            (0, function) => ControlRequest::Task(match function {
                0 => TaskFunction::Abort { tag: tag(bytes, 16) },
                1 | 3 => TaskFunction::AbortAll,
                4 | 5 => TaskFunction::Reset,
                6 => TaskFunction::Query { tag: tag(bytes, 16) },
                7 => TaskFunction::QueryAny,
                _ => TaskFunction::Unknown,
            }),
            (1 | 2, _) => ControlRequest::Events,
            _ => ControlRequest::Unknown,
        }
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the request has a fixed length")
}

fn tag(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_its_fields_where_linux_looks() {
        let sense = [0x70; 18];
        let response = ScsiResponse {
            response: DeviceResponse::Done,
            status: 2,
            sense: &sense,
            residual: 0x0102,
        };
        let bytes = response.bytes();
        assert_eq!(bytes[..12], [18, 0, 0, 0, 2, 1, 0, 0, 0, 0, 2, 0]);
        assert_eq!((bytes[29], bytes[30]), (0x70, 0));
    }

    #[test]
    fn the_configuration_has_the_bytes_that_linux_reads() {
        let config = ScsiConfig { segments_max: 126, sectors_max: 4096, queue_depth: 32 };
        assert_eq!(config.bytes()[8..12], 4096u32.to_le_bytes());
    }

    #[test]
    fn functions_are_known_by_their_numbers() {
        let mut bytes = [0; CONTROL_BYTES];
        bytes[8..12].copy_from_slice(&[1, 0, 0x40, 0]);
        bytes[16] = 9;
        let decoded = ControlRequest::decode(&bytes);
        assert_eq!(decoded, ControlRequest::Task(TaskFunction::Abort { tag: 9 }));
        bytes[4] = 5;
        assert_eq!(ControlRequest::decode(&bytes), ControlRequest::Task(TaskFunction::Reset));
        bytes[9] = 3;
        assert_eq!(ControlRequest::decode(&bytes), ControlRequest::OtherDisk);
    }
}
