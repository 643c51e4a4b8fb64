//! The commands that a disk knows, once, for itself and for REPORT SUPPORTED OPERATION CODES.

use crate::cdb::ReportedCommands;
use crate::sense::SenseCode;

/// Where the duration limits of a command stand, if it may have any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationLimitPage {
    /// It has none.
    None,
    /// In page T2A (RWCDLP 1, CDLP 01b).
    T2A,
    /// In page T2B (RWCDLP 1, CDLP 10b).
    T2B,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedCommand {
    /// Its operation code.
    pub opcode: u8,
    /// Its service action, if it has one.
    pub action: Option<u16>,
    /// A one for each bit of the CDB that the disk looks at; the first byte is the operation code.
    pub usage: &'static [u8],
    /// Where its duration limits stand.
    pub limits: DurationLimitPage,
}

const fn plain(opcode: u8, usage: &'static [u8]) -> SupportedCommand {
    SupportedCommand { opcode, action: None, usage, limits: DurationLimitPage::None }
}

const fn with_action(opcode: u8, action: u16, usage: &'static [u8]) -> SupportedCommand {
    SupportedCommand { opcode, action: Some(action), usage, limits: DurationLimitPage::None }
}

/// Every command, by rising operation code.
pub const COMMANDS: [SupportedCommand; 19] = [
    plain(0x00, &[0x00, 0, 0, 0, 0, 0]),
    plain(0x03, &[0x03, 0, 0, 0, 0xff, 0]),
    plain(0x12, &[0x12, 0x01, 0xff, 0xff, 0xff, 0]),
    plain(0x15, &[0x15, 0x11, 0, 0, 0xff, 0]),
    plain(0x1a, &[0x1a, 0x08, 0xff, 0xff, 0xff, 0]),
    plain(0x1b, &[0x1b, 0, 0, 0, 0, 0]),
    plain(0x25, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    plain(0x28, &[0x28, 0xe0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(0x2a, &[0x2a, 0xe0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(0x35, &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    plain(0x4d, &[0x4d, 0, 0x3f, 0xff, 0, 0, 0, 0xff, 0xff, 0]),
    plain(0x55, &[0x55, 0x11, 0, 0, 0, 0, 0, 0xff, 0xff, 0]),
    plain(0x5a, &[0x5a, 0x08, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0]),
    SupportedCommand { limits: DurationLimitPage::T2A, ..plain(0x88, &LONG_TRANSFER_USAGE) },
    SupportedCommand {
        limits: DurationLimitPage::T2B,
        ..plain(
            0x8a,
            &[
                0x8a, 0xe1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xc0, 0,
            ],
        )
    },
    plain(0x91, &[0x91, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    with_action(0x9e, 0x10, &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(0xa0, &[0xa0, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    with_action(0xa3, 0x0c, &[0xa3, 0x1f, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
];

/// READ(16): protection and DLD2 in byte 1, the range, DLD1 and DLD0 in byte 14.
const LONG_TRANSFER_USAGE: [u8; 16] =
    [0x88, 0xe1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc0, 0];

/// How a disk declares its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declares {
    /// Whether reads and writes may have duration limits.
    pub(crate) limits: bool,
    /// What it says of the support of a command that may have some: 3 for as the standard has it, 5 for in its own way.
    pub(crate) limited_support: u8,
}

/// What REPORT SUPPORTED OPERATION CODES answers.
pub(crate) fn report(
    commands: ReportedCommands,
    timeouts: bool,
    declares: Declares,
) -> Result<Vec<u8>, SenseCode> {
    let named = |opcode: u8| COMMANDS.iter().filter(move |command| command.opcode == opcode);
    let (opcode, action) = match commands {
        ReportedCommands::All => return Ok(list(timeouts, declares)),
        ReportedCommands::Plain(opcode) => {
            if named(opcode).any(|command| command.action.is_some()) {
                return Err(SenseCode::CDB_FIELD);
            }
            (opcode, 0)
        }
        ReportedCommands::WithAction(opcode, action) => {
            if named(opcode).any(|command| command.action.is_none()) {
                return Err(SenseCode::CDB_FIELD);
            }
            (opcode, action)
        }
        ReportedCommands::Either(opcode, action) => (opcode, action),
    };
    let found = named(opcode).find(|command| command.action.is_none_or(|own| own == action));
    Ok(found.map_or(vec![0, NOT_SUPPORTED, 0, 0], |command| one(command, timeouts, declares)))
}

const NOT_SUPPORTED: u8 = 1;
const SUPPORTED: u8 = 3;

/// RWCDLP and CDLP of a command.
fn limit_bits(command: &SupportedCommand, declares: Declares) -> (u8, u8) {
    match command.limits {
        DurationLimitPage::T2A if declares.limits => (1, 0b01),
        DurationLimitPage::T2B if declares.limits => (1, 0b10),
        _ => (0, 0b00),
    }
}

/// A timeout descriptor that names no time.
const TIMEOUTS: [u8; 12] = [0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn one(command: &SupportedCommand, timeouts: bool, declares: Declares) -> Vec<u8> {
    let (rw, page) = limit_bits(command, declares);
    let limited = command.limits != DurationLimitPage::None;
    let support = if limited { declares.limited_support } else { SUPPORTED };
    let mut data = vec![rw, u8::from(timeouts) << 7 | page << 3 | support];
    data.extend((command.usage.len() as u16).to_be_bytes());
    data.extend(command.usage);
    if timeouts {
        data.extend(TIMEOUTS);
    }
    data
}

fn list(timeouts: bool, declares: Declares) -> Vec<u8> {
    let mut data = vec![0; 4];
    for command in &COMMANDS {
        let (rw, page) = limit_bits(command, declares);
        data.extend([command.opcode, 0]);
        data.extend(command.action.unwrap_or(0).to_be_bytes());
        let action = u8::from(command.action.is_some());
        data.extend([0, rw << 6 | page << 2 | u8::from(timeouts) << 1 | action]);
        data.extend((command.usage.len() as u16).to_be_bytes());
        if timeouts {
            data.extend(TIMEOUTS);
        }
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    data
}
