//! A command descriptor block: which command, and what it asks for.

use crate::TRANSFER_BLOCKS_MAX;
use crate::fields::{u16_at, u32_at, u64_at};
use crate::sense::SenseCode;

/// Bytes of the longest CDB that a transport hands over; shorter ones are followed by zeros.
pub const CDB_BYTES: usize = 32;

/// A CDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cdb(pub [u8; CDB_BYTES]);

/// What a command does to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediumKind {
    /// Transfers blocks to the host.
    Read,
    /// Transfers blocks from the host.
    Write,
    /// Brings what a write cache holds to the medium.
    Flush,
}

/// A command for the medium, inside the disk and of a length that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumCommand {
    /// What it does.
    pub kind: MediumKind,
    /// Its first block.
    pub block: u64,
    /// How many blocks; none for a flush, and for no other.
    pub blocks: u64,
    /// The duration limit descriptor that it names (DLD), 1 to 7; 0 for none.
    pub descriptor: u8,
}

/// Which pages, of a MODE SENSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SensedPages {
    pub(crate) page: u8,
    pub(crate) subpage: u8,
    pub(crate) control: PageControl,
    pub(crate) block_descriptor: bool,
}

/// Which values of a page (PC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageControl {
    Current,
    Changeable,
    Default,
    Saved,
}

/// Which commands REPORT SUPPORTED OPERATION CODES is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportedCommands {
    All,
    /// Without a service action.
    Plain(u8),
    /// With one.
    WithAction(u8, u16),
    /// Whether it has one or not.
    Either(u8, u16),
}

/// Six or ten bytes: mode commands exist in both forms, with headers of 4 and 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeForm {
    Six,
    Ten,
}

/// A CDB, understood. Lengths are those that the host has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskCommand {
    TestUnitReady,
    StartStop,
    RequestSense { room: usize },
    Inquiry { room: usize },
    VitalProductData { page: u8, room: usize },
    ModeSense { form: ModeForm, pages: SensedPages, room: usize },
    ModeSelect { form: ModeForm, save: bool, length: usize },
    LogSense { page: u8, subpage: u8, room: usize },
    ReportLuns { well_known_only: bool, room: usize },
    ReadCapacity10,
    ReadCapacity16 { room: usize },
    ReportOpcodes { commands: ReportedCommands, timeouts: bool, room: usize },
    Medium(MediumCommand),
}

impl Cdb {
    fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    fn bit(&self, at: usize, bit: u8) -> bool {
        self.0[at] >> bit & 1 == 1
    }

    fn u16(&self, at: usize) -> usize {
        usize::from(u16_at(&self.0, at))
    }

    fn u32(&self, at: usize) -> usize {
        u32_at(&self.0, at) as usize
    }

    /// Its operation code.
    pub fn opcode(&self) -> u8 {
        self.byte(0)
    }

    /// The service action, of commands that have one.
    pub(crate) fn service_action(&self) -> u16 {
        if self.opcode() == 0x7f { u16_at(&self.0, 8) } else { u16::from(self.byte(1) & 0x1f) }
    }

    /// What it asks for.
    pub(crate) fn kind(&self) -> Result<DiskCommand, SenseCode> {
        Ok(match (self.opcode(), self.service_action()) {
            (0x00, _) => DiskCommand::TestUnitReady,
            (0x03, _) => DiskCommand::RequestSense { room: self.byte(4).into() },
            (0x12, _) => self.inquiry()?,
            (0x15, _) => self.mode_select(ModeForm::Six, self.byte(4).into())?,
            (0x1a, _) => self.mode_sense(ModeForm::Six, self.byte(4).into()),
            (0x1b, _) => DiskCommand::StartStop,
            (0x25, _) => DiskCommand::ReadCapacity10,
            (0x28, _) => self.transfer(MediumKind::Read, self.short_range(), 0)?,
            (0x2a, _) => self.transfer(MediumKind::Write, self.short_range(), 0)?,
            (0x35 | 0x91, _) => DiskCommand::Medium(MediumCommand::FLUSH),
            (0x4d, _) => DiskCommand::LogSense {
                page: self.byte(2) & 0x3f,
                subpage: self.byte(3),
                room: self.u16(7),
            },
            (0x55, _) => self.mode_select(ModeForm::Ten, self.u16(7))?,
            (0x5a, _) => self.mode_sense(ModeForm::Ten, self.u16(7)),
            (0x88, _) => self.transfer(MediumKind::Read, self.long_range(), self.descriptor())?,
            (0x8a, _) => self.transfer(MediumKind::Write, self.long_range(), self.descriptor())?,
            (0x9e, 0x10) => DiskCommand::ReadCapacity16 { room: self.u32(10) },
            (0xa0, _) => self.report_luns()?,
            (0xa3, 0x0c) => self.report_opcodes()?,
            (0x9e | 0xa3, _) => return Err(SenseCode::CDB_FIELD),
            _ => return Err(SenseCode::OPCODE),
        })
    }

    fn inquiry(&self) -> Result<DiskCommand, SenseCode> {
        let (page, room) = (self.byte(2), self.u16(3));
        match (self.bit(1, 0), page) {
            (true, page) => Ok(DiskCommand::VitalProductData { page, room }),
            (false, 0) => Ok(DiskCommand::Inquiry { room }),
            (false, _) => Err(SenseCode::CDB_FIELD),
        }
    }

    fn mode_sense(&self, form: ModeForm, room: usize) -> DiskCommand {
        let control = match self.byte(2) >> 6 {
            0 => PageControl::Current,
            1 => PageControl::Changeable,
            2 => PageControl::Default,
            _ => PageControl::Saved,
        };
        let pages = SensedPages {
            page: self.byte(2) & 0x3f,
            subpage: self.byte(3),
            control,
            block_descriptor: !self.bit(1, 3),
        };
        DiskCommand::ModeSense { form, pages, room }
    }

    /// The page format bit (PF) says that pages follow, and nothing else is known here.
    fn mode_select(&self, form: ModeForm, length: usize) -> Result<DiskCommand, SenseCode> {
        if !self.bit(1, 4) {
            return Err(SenseCode::CDB_FIELD);
        }
        Ok(DiskCommand::ModeSelect { form, save: self.bit(1, 0), length })
    }

    fn report_luns(&self) -> Result<DiskCommand, SenseCode> {
        match self.byte(2) {
            0..=2 => Ok(DiskCommand::ReportLuns {
                well_known_only: self.byte(2) == 1,
                room: self.u32(6),
            }),
            _ => Err(SenseCode::CDB_FIELD),
        }
    }

    fn report_opcodes(&self) -> Result<DiskCommand, SenseCode> {
        let (opcode, action) = (self.byte(3), u16_at(&self.0, 4));
        let commands = match self.byte(2) & 0x7 {
            0 => ReportedCommands::All,
            1 => ReportedCommands::Plain(opcode),
            2 => ReportedCommands::WithAction(opcode, action),
            3 => ReportedCommands::Either(opcode, action),
            _ => return Err(SenseCode::CDB_FIELD),
        };
        Ok(DiskCommand::ReportOpcodes { commands, timeouts: self.bit(2, 7), room: self.u32(6) })
    }

    fn short_range(&self) -> (u64, u64) {
        (u64::from(u32_at(&self.0, 2)), u64::from(u16_at(&self.0, 7)))
    }

    fn long_range(&self) -> (u64, u64) {
        (u64_at(&self.0, 2), u64::from(u32_at(&self.0, 10)))
    }

    /// DLD2 is the lowest bit of byte 1, DLD1 and DLD0 the highest of byte 14 (cdl.md 1.5).
    fn descriptor(&self) -> u8 {
        (self.byte(1) & 1) << 2 | self.byte(14) >> 6
    }

    /// Protection information (bits 7 to 5 of byte 1) may not be asked of a disk that has none.
    fn transfer(
        &self,
        kind: MediumKind,
        (block, blocks): (u64, u64),
        descriptor: u8,
    ) -> Result<DiskCommand, SenseCode> {
        if self.byte(1) >> 5 != 0 || blocks > TRANSFER_BLOCKS_MAX {
            return Err(SenseCode::CDB_FIELD);
        }
        Ok(DiskCommand::Medium(MediumCommand { kind, block, blocks, descriptor }))
    }
}

impl MediumCommand {
    const FLUSH: MediumCommand =
        MediumCommand { kind: MediumKind::Flush, block: 0, blocks: 0, descriptor: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor_of(bytes: [u8; 16]) -> u8 {
        let mut cdb = Cdb([0; CDB_BYTES]);
        cdb.0[..16].copy_from_slice(&bytes);
        match cdb.kind() {
            Ok(DiskCommand::Medium(command)) => command.descriptor,
            other => panic!("{other:?} is no transfer"),
        }
    }

    /// As they were seen on the wire (cdl.md 1.5).
    #[test]
    fn the_descriptor_of_a_command_stands_in_two_bytes() {
        for (first, last, wanted) in
            [(0, 0x00, 0), (0, 0x40, 1), (0, 0xc0, 3), (1, 0x00, 4), (1, 0x40, 5), (1, 0xc0, 7)]
        {
            for opcode in [0x88, 0x8a] {
                let cdb = [opcode, first, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 1, 0, last, 0];
                assert_eq!(descriptor_of(cdb), wanted, "{opcode:02x}h {first:02x}h {last:02x}h");
            }
        }
        assert_eq!(descriptor_of([0x28, 1, 0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0xc0, 0]), 0);
    }
}
