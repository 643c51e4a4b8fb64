//! The log page 18h in which an ATA drive holds the descriptors of reads and of writes (cdl.md 1.7), bit by bit.
//!
//! ATA counts microseconds in 32 bits where SCSI has a unit and 16 bits, so a log says more than two mode pages; it is
//! kept as it is, and translated on request.

use super::{
    AllowedLoss, Column, DESCRIPTORS, Descriptor, DescriptorPage, Limit, Limits, ModePage,
    TimeoutPolicy, Unit,
};
use std::fmt;

/// Bytes of the log page.
pub const ATA_LOG_BYTES: usize = 512;

const READS_AT: usize = 64;
const WRITES_AT: usize = 288;
const DESCRIPTOR_BYTES: usize = 32;

/// What the log page holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtaLimits {
    /// How much of its throughput the drive may give up for guidelines.
    pub allowed_loss: AllowedLoss,
    /// Of reads; descriptor 1 is the first.
    pub reads: [AtaDescriptor; DESCRIPTORS],
    /// Of writes.
    pub writes: [AtaDescriptor; DESCRIPTORS],
}

/// One descriptor; a time of 0 is switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtaDescriptor {
    /// Max inactive time, microseconds.
    pub inactive_us: u32,
    /// What happens then.
    pub inactive_policy: TimeoutPolicy,
    /// Max active time, microseconds.
    pub active_us: u32,
    /// What happens then.
    pub active_policy: TimeoutPolicy,
    /// Duration guideline, microseconds.
    pub guideline_us: u32,
    /// What happens then.
    pub guideline_policy: TimeoutPolicy,
    /// What the drive counts for this descriptor in its statistics A and B; 0 for nothing.
    pub selectors: [u8; 2],
}

/// Why bytes are no such log, or descriptors have no place in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtaError {
    /// Fewer or more bytes than the log has.
    Length {
        /// How many there are.
        found: usize,
    },
    /// The code of the allowed loss is reserved.
    Loss {
        /// The code.
        code: u8,
    },
    /// A policy is reserved, or stands where ATA has none of that code.
    Policy {
        /// Whose.
        place: AtaPlace,
        /// The code.
        code: u8,
    },
    /// A time is no whole number of microseconds, or more than 32 bits hold.
    Time {
        /// Whose.
        place: AtaPlace,
    },
    /// Descriptors of reads where those of writes belong, or of the short form.
    Page {
        /// Which page was given.
        found: ModePage,
        /// Which belongs there.
        wanted: ModePage,
    },
}

/// A time of a descriptor in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtaPlace {
    /// Of which set: T2A for reads, T2B for writes.
    pub set: ModePage,
    /// 1 to 7.
    pub descriptor: usize,
    /// Which of its times.
    pub column: Column,
}

impl fmt::Display for AtaPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = if self.set == ModePage::T2A { "read" } else { "write" };
        write!(f, "{set} descriptor {}: the {}", self.descriptor, self.column)
    }
}

impl fmt::Display for AtaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtaError::Length { found } => {
                write!(f, "{found} bytes, but the log page has {ATA_LOG_BYTES}")
            }
            AtaError::Loss { code } => {
                write!(f, "byte 0: {code:x}h is reserved; an allowed loss is 0h to Ch")
            }
            AtaError::Policy { place, code } => {
                write!(f, "{place} cannot have the policy {code:x}h on an ATA drive")
            }
            AtaError::Time { place } => {
                write!(f, "{place} is no whole number of microseconds below 2^32")
            }
            AtaError::Page { found, wanted } => {
                write!(f, "page {found} where page {wanted} belongs")
            }
        }
    }
}

impl std::error::Error for AtaError {}

impl AtaLimits {
    /// The log of a page T2A for reads and a page T2B for writes.
    pub fn from_pages(
        reads: &DescriptorPage,
        writes: &DescriptorPage,
    ) -> Result<AtaLimits, AtaError> {
        Ok(AtaLimits {
            allowed_loss: reads.limits().allowed_loss,
            reads: from_page(reads, ModePage::T2A)?,
            writes: from_page(writes, ModePage::T2B)?,
        })
    }

    /// The two pages of this log, of reads and of writes, in units of 10 ms as the kernel's translation gives them: what
    /// is not a whole number of units is rounded down, and 65535 units stand for all that is longer.
    pub fn to_pages(&self) -> (DescriptorPage, DescriptorPage) {
        let page = |kind, allowed_loss, descriptors: &[AtaDescriptor; DESCRIPTORS]| {
            let descriptors = descriptors.each_ref().map(AtaDescriptor::translate);
            let limits = Limits { allowed_loss, descriptors };
            DescriptorPage::new(kind, limits).expect("what ATA allows, a T2 page allows")
        };
        (
            page(ModePage::T2A, self.allowed_loss, &self.reads),
            page(ModePage::T2B, AllowedLoss::default(), &self.writes),
        )
    }

    /// The log page.
    pub fn to_log(&self) -> [u8; ATA_LOG_BYTES] {
        let mut log = [0; ATA_LOG_BYTES];
        log[0] = self.allowed_loss.code();
        for (start, descriptors) in [(READS_AT, &self.reads), (WRITES_AT, &self.writes)] {
            let places = log[start..].chunks_exact_mut(DESCRIPTOR_BYTES);
            places.zip(descriptors).for_each(|(bytes, descriptor)| descriptor.encode(bytes));
        }
        log
    }

    /// Reads a log page. Reserved bits are not looked at, reserved codes are refused.
    pub fn from_log(log: &[u8]) -> Result<AtaLimits, AtaError> {
        if log.len() != ATA_LOG_BYTES {
            return Err(AtaError::Length { found: log.len() });
        }
        let code = log[0] & 0xf;
        let allowed_loss = AllowedLoss::from_code(code).ok_or(AtaError::Loss { code })?;
        let set = |set, start: usize| {
            let mut descriptors = [AtaDescriptor::default(); DESCRIPTORS];
            let places = log[start..].chunks_exact(DESCRIPTOR_BYTES);
            for (index, (descriptor, bytes)) in descriptors.iter_mut().zip(places).enumerate() {
                *descriptor = AtaDescriptor::decode(set, index + 1, bytes)?;
            }
            Ok(descriptors)
        };
        let reads = set(ModePage::T2A, READS_AT)?;
        Ok(AtaLimits { allowed_loss, reads, writes: set(ModePage::T2B, WRITES_AT)? })
    }
}

fn from_page(
    page: &DescriptorPage,
    wanted: ModePage,
) -> Result<[AtaDescriptor; DESCRIPTORS], AtaError> {
    if page.kind() != wanted {
        return Err(AtaError::Page { found: page.kind(), wanted });
    }
    let mut descriptors = [AtaDescriptor::default(); DESCRIPTORS];
    for (index, held) in page.limits().descriptors.iter().enumerate() {
        descriptors[index] = AtaDescriptor::new(wanted, index + 1, held)?;
    }
    Ok(descriptors)
}

impl AtaDescriptor {
    fn new(set: ModePage, descriptor: usize, held: &Descriptor) -> Result<Self, AtaError> {
        for (column, limit) in held.limits() {
            check_policy(AtaPlace { set, descriptor, column }, limit.policy)?;
        }
        let micros = |column, limit| {
            let nanos = held.span(limit).map_or(0, |span| span.nanos());
            let micros = u32::try_from(nanos / 1_000).ok().filter(|_| nanos.is_multiple_of(1_000));
            micros.ok_or(AtaError::Time { place: AtaPlace { set, descriptor, column } })
        };
        Ok(AtaDescriptor {
            inactive_us: micros(Column::Inactive, held.inactive)?,
            inactive_policy: held.inactive.policy,
            active_us: micros(Column::Active, held.active)?,
            active_policy: held.active.policy,
            guideline_us: micros(Column::Guideline, held.guideline)?,
            guideline_policy: held.guideline.policy,
            selectors: [0; 2],
        })
    }

    fn translate(&self) -> Descriptor {
        let limit = |micros: u32, policy| Limit {
            time: u16::try_from(micros / 10_000).unwrap_or(u16::MAX),
            policy,
        };
        Descriptor {
            unit: Unit::TenMilliseconds,
            inactive: limit(self.inactive_us, self.inactive_policy),
            active: limit(self.active_us, self.active_policy),
            guideline: limit(self.guideline_us, self.guideline_policy),
        }
    }

    fn encode(&self, bytes: &mut [u8]) {
        bytes[0] = self.active_policy.code() << 4 | self.guideline_policy.code();
        bytes[1] = self.inactive_policy.code();
        bytes[4..8].copy_from_slice(&self.active_us.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.inactive_us.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.selectors);
        bytes[16..20].copy_from_slice(&self.guideline_us.to_le_bytes());
    }

    fn decode(set: ModePage, descriptor: usize, bytes: &[u8]) -> Result<Self, AtaError> {
        let policy = |column, code| {
            let place = AtaPlace { set, descriptor, column };
            let policy = TimeoutPolicy::from_code(code).ok_or(AtaError::Policy { place, code })?;
            check_policy(place, policy)
        };
        let micros = |start: usize| {
            u32::from_le_bytes([bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3]])
        };
        Ok(AtaDescriptor {
            inactive_us: micros(8),
            inactive_policy: policy(Column::Inactive, bytes[1] & 0xf)?,
            active_us: micros(4),
            active_policy: policy(Column::Active, bytes[0] >> 4)?,
            guideline_us: micros(16),
            guideline_policy: policy(Column::Guideline, bytes[0] & 0xf)?,
            selectors: [bytes[12], bytes[13]],
        })
    }
}

/// ATA has the policies of T2 pages but the abort for recovery.
fn check_policy(place: AtaPlace, policy: TimeoutPolicy) -> Result<TimeoutPolicy, AtaError> {
    if !place.column.allows(policy) || policy == TimeoutPolicy::AbortRecovery {
        return Err(AtaError::Policy { place, code: policy.code() });
    }
    Ok(policy)
}
