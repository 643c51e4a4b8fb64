//! Why a connection ends.

use super::NbdFailure;
use std::fmt;

/// Why the owner shall close the connection, once the queued buffers have gone out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// The client asked for it, and everything before has been answered.
    Asked,
    /// The client broke the protocol in a way that no reply can mend.
    Violated(Violation),
    /// A read failed whose first part had gone out as good, in a form of answer that has no place for an error behind it.
    CutShort(NbdFailure),
}

/// What a client did that ends its connection. Displays as a sentence for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Its first word has flags that were not offered.
    ClientFlags(u32),
    /// What should be an option does not begin as one.
    OptionMagic(u64),
    /// An option that only the fixed newstyle has, from a client that did not agree to it.
    NotFixed(u32),
    /// The old way of choosing an export, which has no room for an error, named none that exists.
    UnknownExport(String),
    /// The same, with a name that is no string of the protocol.
    ExportName,
    /// The old way of choosing an export, before TLS where that comes first.
    BeforeTls,
    /// What should be a request does not begin as one.
    RequestMagic(u32),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::ClientFlags(flags) => {
                write!(f, "the client's flags {flags:#x} hold some that were not offered (0x3)")
            }
            Violation::OptionMagic(magic) => {
                write!(f, "an option began with {magic:#018x} instead of IHAVEOPT")
            }
            Violation::NotFixed(option) => {
                write!(f, "option {option} came from a client that is not of the fixed newstyle")
            }
            Violation::UnknownExport(name) => {
                write!(f, "the client asked for the export {name:?}, which does not exist")
            }
            Violation::ExportName => {
                write!(f, "an export's name was no UTF-8 without NUL of at most 4096 bytes")
            }
            Violation::BeforeTls => {
                write!(
                    f,
                    "the client chose an export in the old way before TLS, which comes first here"
                )
            }
            Violation::RequestMagic(magic) => {
                write!(f, "a request began with {magic:#010x} instead of 0x25609513")
            }
        }
    }
}
