//! What a client chooses for its connection: a database, a version of the protocol, a name.

use crate::commands::integer;
use crate::refusal::RespRefusal;
use crate::service::DATABASES;
use loadline_wire::resp::RespVersion;

/// What a connection may be called with.
const NAME_BYTES_MAX: usize = 256;

/// See [above](self).
pub(super) struct ClientChoices {
    database: u8,
    version: RespVersion,
    name: Vec<u8>,
}

impl ClientChoices {
    /// What holds where nothing is chosen.
    pub(super) fn none() -> ClientChoices {
        ClientChoices { database: 0, version: RespVersion::Two, name: Vec::new() }
    }

    pub(super) fn database(&self) -> u8 {
        self.database
    }

    /// Chooses the database that a string names by its number.
    pub(super) fn select(&mut self, number: &[u8]) -> Result<(), RespRefusal> {
        let number = integer(number).and_then(|number| u8::try_from(number).ok());
        self.database = number.filter(|number| *number < DATABASES).ok_or(RespRefusal::DbIndex)?;
        Ok(())
    }

    pub(super) fn version(&self) -> RespVersion {
        self.version
    }

    pub(super) fn set_version(&mut self, version: RespVersion) {
        self.version = version;
    }

    /// The version as the protocol counts it.
    pub(super) fn version_number(&self) -> u8 {
        if self.version == RespVersion::Three { 3 } else { 2 }
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// It is kept as long as the connection, beside what all of them may keep.
    pub(super) fn set_name(&mut self, name: &[u8]) -> Result<(), RespRefusal> {
        if name.len() > NAME_BYTES_MAX {
            return Err(RespRefusal::ClientName(NAME_BYTES_MAX));
        }
        self.name = name.to_vec();
        Ok(())
    }
}
