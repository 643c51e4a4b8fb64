//! Sense data: what a disk says about a command beside its status.

/// Bytes of sense data in the fixed form.
pub const FIXED_SENSE_BYTES: usize = 18;

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SenseKey {
    /// Nothing to say.
    NoSense = 0x0,
    /// The medium has lost something.
    MediumError = 0x3,
    /// The command, or what came with it, makes no sense.
    IllegalRequest = 0x5,
    /// The disk ended the command.
    AbortedCommand = 0xb,
    /// The command ended well, and yet there is something to say.
    Completed = 0xf,
}

/// A sense key with its additional code and qualifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SenseCode {
    /// What kind.
    pub key: SenseKey,
    /// Additional sense code (ASC).
    pub code: u8,
    /// Its qualifier (ASCQ).
    pub qualifier: u8,
}

impl SenseCode {
    /// Nothing to say.
    pub const NONE: SenseCode = SenseCode::new(SenseKey::NoSense, 0x00, 0x00);
    /// What was written is nowhere.
    pub const UNWRITTEN: SenseCode = SenseCode::new(SenseKey::MediumError, 0x0c, 0x00);
    /// Read after all retries: the sector is lost.
    pub const UNREADABLE: SenseCode = SenseCode::new(SenseKey::MediumError, 0x11, 0x00);
    /// Fewer bytes of parameters than they announce.
    pub const LIST_LENGTH: SenseCode = SenseCode::new(SenseKey::IllegalRequest, 0x1a, 0x00);
    /// No such command.
    pub const OPCODE: SenseCode = SenseCode::new(SenseKey::IllegalRequest, 0x20, 0x00);
    /// A block beyond the end.
    pub const OUT_OF_RANGE: SenseCode = SenseCode::new(SenseKey::IllegalRequest, 0x21, 0x00);
    /// A field of the CDB.
    pub const CDB_FIELD: SenseCode = SenseCode::new(SenseKey::IllegalRequest, 0x24, 0x00);
    /// A field of the parameters.
    pub const LIST_FIELD: SenseCode = SenseCode::new(SenseKey::IllegalRequest, 0x26, 0x00);
    /// A duration limit ended it before it was begun.
    pub const LIMIT_BEFORE: SenseCode = SenseCode::new(SenseKey::AbortedCommand, 0x2e, 0x01);
    /// A duration limit ended it while it was carried out.
    pub const LIMIT_DURING: SenseCode = SenseCode::new(SenseKey::AbortedCommand, 0x2e, 0x02);
    /// A duration limit ended it while a sector was tried again.
    pub const LIMIT_IN_RECOVERY: SenseCode = SenseCode::new(SenseKey::AbortedCommand, 0x2e, 0x03);
    /// A duration limit ended it, with good status and without data.
    pub const UNAVAILABLE: SenseCode = SenseCode::new(SenseKey::Completed, 0x55, 0x0a);

    const fn new(key: SenseKey, code: u8, qualifier: u8) -> SenseCode {
        SenseCode { key, code, qualifier }
    }

    /// Whether the command has the status CHECK CONDITION; what completed has GOOD.
    pub fn is_check_condition(self) -> bool {
        !matches!(self.key, SenseKey::NoSense | SenseKey::Completed)
    }

    /// The fixed form: response code 70h, key, and ten more bytes of which the codes are two.
    pub fn fixed(self) -> [u8; FIXED_SENSE_BYTES] {
        let mut bytes = [0; FIXED_SENSE_BYTES];
        bytes[0] = 0x70;
        bytes[2] = self.key as u8;
        bytes[7] = 0x0a;
        bytes[12] = self.code;
        bytes[13] = self.qualifier;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sense_of_an_ended_command_is_that_of_the_standard() {
        let bytes = SenseCode::LIMIT_BEFORE.fixed();
        assert_eq!(bytes, [0x70, 0, 0xb, 0, 0, 0, 0, 0xa, 0, 0, 0, 0, 0x2e, 1, 0, 0, 0, 0]);
        assert!(SenseCode::LIMIT_BEFORE.is_check_condition());
        assert!(!SenseCode::UNAVAILABLE.is_check_condition(), "its status is GOOD");
    }
}
