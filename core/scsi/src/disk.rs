//! The disk: commands in, answers out.

use crate::cdb::{Cdb, DiskCommand, MediumCommand, MediumKind, ModeForm};
use crate::fields::put;
use crate::identity::DiskIdentity;
use crate::mode::ModePages;
use crate::opcodes::{Declares, report};
use crate::select::wanted_limits;
use crate::sense::SenseCode;
use crate::{BLOCK_BYTES, vpd};
use loadline_base::Span;
use loadline_device::cdl::Limits;
use std::ops::RangeInclusive;

/// What a disk claims of duration limits, so that software can be tried against each claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capability {
    /// It has them and says so.
    #[default]
    DurationLimits,
    /// It has none: no pages, and commands that may have no limit.
    None,
    /// It has the pages and says so, under a version of the primary commands that has none (SPC-4).
    OldVersion,
    /// It has the pages, and its commands say that they may have no limit (CDLP 0).
    NoCommandPage,
    /// It says that it supports limited commands in its own way, not as the standard has it (SUPPORT 5).
    OwnWay,
}

/// What a disk answers to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskAnswer {
    /// GOOD, with these bytes for the host; none for most commands.
    Data(Vec<u8>),
    /// GOOD, and other limits hold for commands that arrive from now on.
    NewLimits,
    /// CHECK CONDITION.
    Refused(SenseCode),
    /// The medium has to do something; the answer is up to it.
    Medium(MediumCommand),
}

/// A disk as a host sees it, but for its sectors.
#[derive(Clone, Debug)]
pub struct ScsiDisk {
    identity: DiskIdentity,
    capability: Capability,
    /// The times that its descriptors may have.
    times: RangeInclusive<Span>,
    pages: ModePages,
}

impl ScsiDisk {
    /// A disk whose descriptors limit nothing yet. `times` are the shortest and the longest limit that it keeps.
    pub fn new(
        identity: DiskIdentity,
        capability: Capability,
        times: RangeInclusive<Span>,
    ) -> ScsiDisk {
        let pages = ModePages::new(identity.write_cache, capability != Capability::None);
        ScsiDisk { identity, capability, times, pages }
    }

    /// The descriptors in force, of reads and of writes; none that limits anything if the disk has none.
    pub fn limits(&self) -> (Limits, Limits) {
        self.pages
            .limits()
            .map_or_else(Default::default, |pages| (*pages.reads.limits(), *pages.writes.limits()))
    }

    /// Does what a reset of the disk does: what was saved of the mode pages is in force.
    pub fn reset(&mut self) {
        self.pages.restore();
    }

    /// Takes a command with the parameters that came with it; data of a write is none of them.
    pub fn command(&mut self, cdb: &Cdb, parameters: &[u8]) -> DiskAnswer {
        let answer = cdb.kind().and_then(|kind| self.carry_out(kind, parameters));
        answer.unwrap_or_else(DiskAnswer::Refused)
    }

    /// Bytes of parameters that a command announces, which the host has to hand over with it.
    pub fn parameter_bytes(cdb: &Cdb) -> usize {
        match cdb.kind() {
            Ok(DiskCommand::ModeSelect { length, .. }) => length,
            _ => 0,
        }
    }

    fn carry_out(&mut self, kind: DiskCommand, parameters: &[u8]) -> Result<DiskAnswer, SenseCode> {
        let (data, room) = match kind {
            DiskCommand::TestUnitReady | DiskCommand::StartStop => (Vec::new(), 0),
            DiskCommand::RequestSense { room } => (SenseCode::NONE.fixed().to_vec(), room),
            DiskCommand::Inquiry { room } => (vpd::inquiry(&self.identity, self.version()), room),
            DiskCommand::VitalProductData { page, room } => {
                (vpd::page(&self.identity, page).ok_or(SenseCode::CDB_FIELD)?, room)
            }
            DiskCommand::ModeSense { form, pages, room } => {
                (self.pages.sense(form, pages, &self.identity)?, room)
            }
            DiskCommand::ModeSelect { form, save, length } => {
                let parameters = parameters.get(..length).ok_or(SenseCode::LIST_LENGTH)?;
                return self.select(form, save, parameters);
            }
            DiskCommand::LogSense { page, subpage, room } => (log_page(page, subpage)?, room),
            DiskCommand::ReportLuns { well_known_only, room } => (luns(well_known_only), room),
            DiskCommand::ReadCapacity10 => (self.capacity10(), 8),
            DiskCommand::ReadCapacity16 { room } => (self.capacity16(), room),
            DiskCommand::ReportOpcodes { commands, timeouts, room } => {
                (report(commands, timeouts, self.declares())?, room)
            }
            DiskCommand::Medium(command) => return self.medium(command),
        };
        let mut data = data;
        data.truncate(room);
        Ok(DiskAnswer::Data(data))
    }

    /// The version of the primary commands: SPC-5, whose duration limits Linux looks for, or SPC-4.
    fn version(&self) -> u8 {
        if self.capability == Capability::OldVersion { 0x06 } else { 0x07 }
    }

    fn declares(&self) -> Declares {
        let limits = !matches!(self.capability, Capability::None | Capability::NoCommandPage);
        Declares {
            limits,
            limited_support: if self.capability == Capability::OwnWay { 5 } else { 3 },
        }
    }

    fn select(
        &mut self,
        form: ModeForm,
        save: bool,
        parameters: &[u8],
    ) -> Result<DiskAnswer, SenseCode> {
        let wanted = wanted_limits(form, parameters, &self.pages, &self.times)?;
        if let Some(current) = wanted.or(self.pages.limits()).filter(|_| save || wanted.is_some()) {
            self.pages.set_limits(current, save);
        }
        Ok(if wanted.is_some() { DiskAnswer::NewLimits } else { DiskAnswer::Data(Vec::new()) })
    }

    /// A transfer of no blocks is done when it is known to lie inside the disk. Of a disk without limits the bits of the descriptor mean nothing.
    fn medium(&self, command: MediumCommand) -> Result<DiskAnswer, SenseCode> {
        let end = command.block.checked_add(command.blocks);
        if end.is_none_or(|end| end > self.identity.blocks) {
            return Err(SenseCode::OUT_OF_RANGE);
        }
        if command.blocks == 0 && command.kind != MediumKind::Flush {
            return Ok(DiskAnswer::Data(Vec::new()));
        }
        let descriptor = if self.pages.limits().is_some() { command.descriptor } else { 0 };
        Ok(DiskAnswer::Medium(MediumCommand { descriptor, ..command }))
    }

    fn capacity10(&self) -> Vec<u8> {
        let mut data = vec![0; 8];
        let last = u32::try_from(self.identity.last_block()).unwrap_or(u32::MAX);
        put(&mut data, 0, &last.to_be_bytes());
        put(&mut data, 4, &(BLOCK_BYTES as u32).to_be_bytes());
        data
    }

    fn capacity16(&self) -> Vec<u8> {
        let mut data = vec![0; 32];
        put(&mut data, 0, &self.identity.last_block().to_be_bytes());
        put(&mut data, 8, &(BLOCK_BYTES as u32).to_be_bytes());
        // A physical sector has 2^3 blocks.
        data[13] = 0x03;
        data
    }
}

/// The list of log pages is the only log page: a disk whose duration limit statistics cannot be had says so by having
/// none of them, which `cdladm` takes for an answer where it would not take an unknown command.
fn log_page(page: u8, subpage: u8) -> Result<Vec<u8>, SenseCode> {
    match (page, subpage) {
        (0x00, 0x00) => Ok(vec![0x00, 0x00, 0x00, 0x01, 0x00]),
        _ => Err(SenseCode::CDB_FIELD),
    }
}

/// LUN 0 and no other; no well-known one.
fn luns(well_known_only: bool) -> Vec<u8> {
    if well_known_only {
        vec![0; 8]
    } else {
        let mut data = vec![0; 16];
        data[3] = 8;
        data
    }
}
