//! What the owner offers, as the protocol needs to know it.

/// The owner's name for an export; the session hands it back in each command and never looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExportId(pub u64);

/// What a session may ask of its owner while a client negotiates.
pub trait Exports {
    /// The exports in the order in which a client shall see them.
    fn list(&self) -> Vec<ExportName>;

    /// The export of this name. The empty name asks for the default export, if there is one.
    fn find(&self, name: &str) -> Option<ExportInfo>;

    /// What an export can be compared with: what changes since then are called, and the owner's name for it.
    fn comparable(&self, export: ExportId) -> Vec<(String, ExportId)> {
        let _ = export;
        Vec::new()
    }
}

/// One line of the list of exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportName {
    /// What a client asks for; at most [`STRING_MAX`](super::STRING_MAX) bytes.
    pub name: String,
    /// For a person to read; may be empty.
    pub description: String,
}

/// An export. A client learns it once, when it chooses the export: NBD cannot tell it of a later change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// The owner's own name for it.
    pub id: ExportId,
    /// Its name in the list, which may differ from the one that was asked for.
    pub name: String,
    /// For a person to read; may be empty.
    pub description: String,
    /// Its size in bytes. Requests need no alignment.
    pub size: u64,
    /// The length in bytes from which aligned requests are efficient: a power of two from 512 to 32 MiB.
    pub preferred_block: u32,
    /// Whether writing commands are refused.
    pub read_only: bool,
    /// Whether the medium rotates.
    pub rotational: bool,
    /// Whether a flush on one connection covers what was answered on every other connection.
    pub multi_conn: bool,
    /// Whether the cache command does anything; if not, it is refused.
    pub cache: bool,
    /// Whether a client may ask for zeroes that are either fast or refused with [`NotSupported`].
    ///
    /// [`NotSupported`]: super::NbdError::NotSupported
    pub fast_zero: bool,
}
