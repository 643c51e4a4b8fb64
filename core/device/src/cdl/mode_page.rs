//! The mode pages in which a SCSI drive holds its descriptors (cdl.md 1.2 and 1.3), bit by bit.
//!
//! Reserved bits are written as zeros and not looked at; reserved codes are refused, as a drive must.

use super::{
    AllowedLoss, Column, DESCRIPTORS, Descriptor, DescriptorPage, Limit, Limits, ModePage,
    PageError, TimeoutPolicy, Unit,
};
use std::fmt;

/// Bytes of a page T2A or T2B.
pub const T2_PAGE_BYTES: usize = 232;

/// Bytes of a page A or B.
pub const SIMPLE_PAGE_BYTES: usize = 36;

/// Control mode page, with a subpage (SPF).
const PAGE_CODE: u8 = 0x0a;
const SUBPAGE_FORMAT: u8 = 0x40;

/// Page code, subpage code and length, then four bytes of which only one nibble means something.
const HEAD_BYTES: usize = 8;
const T2_DESCRIPTOR_BYTES: usize = 32;
const SIMPLE_DESCRIPTOR_BYTES: usize = 4;

/// Why bytes are no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePageError {
    /// Fewer or more bytes than the page has.
    Length {
        /// How many there are.
        found: usize,
    },
    /// The first two bytes name another page.
    Code {
        /// The first two bytes.
        found: [u8; 2],
    },
    /// The page length field is not that of its page.
    LengthField {
        /// What it says.
        found: u16,
    },
    /// The code of the allowed loss is reserved.
    Loss {
        /// The code.
        code: u8,
    },
    /// The code of a unit is reserved.
    Unit {
        /// 1 to 7.
        descriptor: usize,
        /// The code.
        code: u8,
    },
    /// The code of a policy is reserved.
    Policy {
        /// 1 to 7.
        descriptor: usize,
        /// Of which time.
        column: Column,
        /// The code.
        code: u8,
    },
    /// The page cannot hold what it holds.
    Page(PageError),
}

impl fmt::Display for ModePageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModePageError::Length { found } => write!(
                f,
                "{found} bytes, but a page T2A or T2B has {T2_PAGE_BYTES} and a page A or B {SIMPLE_PAGE_BYTES}"
            ),
            ModePageError::Code { found: [page, subpage] } => write!(
                f,
                "byte 0: page {page:02x}h/{subpage:02x}h, but duration limits stand in 4Ah/03h, 04h, 07h or 08h"
            ),
            ModePageError::LengthField { found } => {
                write!(f, "byte 2: the page length {found:04x}h is not that of this page")
            }
            ModePageError::Loss { code } => {
                write!(f, "byte 7: {code:x}h is reserved; an allowed loss is 0h to Ch")
            }
            ModePageError::Unit { descriptor, code } => {
                write!(f, "descriptor {descriptor}: the unit {code:x}h is reserved")
            }
            ModePageError::Policy { descriptor, column, code } => {
                write!(
                    f,
                    "descriptor {descriptor}: the policy {code:x}h of the {column} is reserved"
                )
            }
            ModePageError::Page(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ModePageError {}

impl Unit {
    /// The unit of a code in a page A or B; `None` if it is reserved.
    pub(super) fn from_simple_code(code: u8) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.simple_code() == Some(code))
    }

    /// Its code in a page A or B (CDLUNIT); `None` if those do not have it.
    pub(super) fn simple_code(self) -> Option<u8> {
        match self {
            Unit::None => Some(0),
            Unit::HalfMicrosecond => None,
            Unit::Microsecond => Some(4),
            Unit::TenMilliseconds => Some(5),
            Unit::HalfSecond => Some(6),
        }
    }
}

impl ModePage {
    /// How many bytes the mode page has.
    pub fn mode_page_bytes(self) -> usize {
        if self.is_simple() { SIMPLE_PAGE_BYTES } else { T2_PAGE_BYTES }
    }
}

impl DescriptorPage {
    /// The mode page as MODE SELECT takes it, without a mode parameter header.
    pub fn to_mode_page(&self) -> Vec<u8> {
        let mut page = vec![0; self.kind().mode_page_bytes()];
        let length = page.len() as u16 - 4;
        page[0] = SUBPAGE_FORMAT | PAGE_CODE;
        page[1] = self.kind().subpage();
        page[2..4].copy_from_slice(&length.to_be_bytes());
        page[7] = self.limits().allowed_loss.code() << 4;
        for (index, descriptor) in self.limits().descriptors.iter().enumerate() {
            if self.kind().is_simple() {
                encode_simple(field(&mut page, index), descriptor);
            } else {
                encode_t2(field(&mut page, index), descriptor);
            }
        }
        page
    }

    /// Reads a mode page as MODE SENSE gives it, without a mode parameter header.
    pub fn from_mode_page(page: &[u8]) -> Result<DescriptorPage, ModePageError> {
        let kind = kind_of(page)?;
        let mut limits = Limits::default();
        if kind == ModePage::T2A {
            let code = page[7] >> 4;
            let loss = AllowedLoss::from_code(code);
            limits.allowed_loss = loss.ok_or(ModePageError::Loss { code })?;
        }
        for index in 0..DESCRIPTORS {
            limits.descriptors[index] = if kind.is_simple() {
                decode_simple(index + 1, at(page, index))?
            } else {
                decode_t2(index + 1, at(page, index))?
            };
        }
        DescriptorPage::new(kind, limits).map_err(ModePageError::Page)
    }
}

/// Which page the head announces; its length is checked.
fn kind_of(page: &[u8]) -> Result<ModePage, ModePageError> {
    let [code, subpage, length_high, length_low, ..] = *page else {
        return Err(ModePageError::Length { found: page.len() });
    };
    // Bit 7 says whether the drive can save the page (PS) and belongs to no kind.
    let known = code & 0x7f == SUBPAGE_FORMAT | PAGE_CODE;
    let kind = ModePage::ALL.into_iter().find(|kind| known && kind.subpage() == subpage);
    let kind = kind.ok_or(ModePageError::Code { found: [code, subpage] })?;
    if page.len() != kind.mode_page_bytes() {
        return Err(ModePageError::Length { found: page.len() });
    }
    let found = u16::from_be_bytes([length_high, length_low]);
    if usize::from(found) != page.len() - 4 {
        return Err(ModePageError::LengthField { found });
    }
    Ok(kind)
}

/// The bytes of a descriptor, which all have one size.
fn at<const N: usize>(page: &[u8], index: usize) -> &[u8; N] {
    let start = HEAD_BYTES + index * N;
    page[start..].first_chunk().expect("the page's length was checked")
}

fn field<const N: usize>(page: &mut [u8], index: usize) -> &mut [u8; N] {
    let start = HEAD_BYTES + index * N;
    page[start..].first_chunk_mut().expect("the page was made for its kind")
}

fn encode_t2(bytes: &mut [u8; T2_DESCRIPTOR_BYTES], descriptor: &Descriptor) {
    let Descriptor { unit, inactive, active, guideline } = descriptor;
    bytes[0] = unit.code();
    bytes[2..4].copy_from_slice(&inactive.time.to_be_bytes());
    bytes[4..6].copy_from_slice(&active.time.to_be_bytes());
    bytes[6] = inactive.policy.code() << 4 | active.policy.code();
    bytes[10..12].copy_from_slice(&guideline.time.to_be_bytes());
    bytes[14] = guideline.policy.code();
}

fn decode_t2(
    descriptor: usize,
    bytes: &[u8; T2_DESCRIPTOR_BYTES],
) -> Result<Descriptor, ModePageError> {
    let code = bytes[0] & 0xf;
    let unit = Unit::from_code(code).ok_or(ModePageError::Unit { descriptor, code })?;
    let limit = |column, time_at: usize, code: u8| {
        let time = u16::from_be_bytes([bytes[time_at], bytes[time_at + 1]]);
        let policy = TimeoutPolicy::from_code(code);
        let policy = policy.ok_or(ModePageError::Policy { descriptor, column, code })?;
        Ok(Limit { time, policy })
    };
    Ok(Descriptor {
        unit,
        inactive: limit(Column::Inactive, 2, bytes[6] >> 4)?,
        active: limit(Column::Active, 4, bytes[6] & 0xf)?,
        guideline: limit(Column::Guideline, 10, bytes[14] & 0xf)?,
    })
}

fn encode_simple(bytes: &mut [u8; SIMPLE_DESCRIPTOR_BYTES], descriptor: &Descriptor) {
    let code = descriptor.unit.simple_code().expect("a page A or B has none but such units");
    bytes[0] = code << 5;
    bytes[2..4].copy_from_slice(&descriptor.guideline.time.to_be_bytes());
}

fn decode_simple(
    descriptor: usize,
    bytes: &[u8; SIMPLE_DESCRIPTOR_BYTES],
) -> Result<Descriptor, ModePageError> {
    let code = bytes[0] >> 5;
    let unit = Unit::from_simple_code(code).ok_or(ModePageError::Unit { descriptor, code })?;
    let time = u16::from_be_bytes([bytes[2], bytes[3]]);
    Ok(Descriptor { unit, guideline: Limit { time, ..Limit::default() }, ..Descriptor::default() })
}
