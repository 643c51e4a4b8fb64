//! The network block device protocol, server side, as of its fixed newstyle (`docs/nbd.md` lists what is supported).
//!
//! One [`NbdSession`] is one connection. Its owner
//!
//! 1. makes it with [`NbdSession::new`], which greets the client through the [`SessionOutbox`];
//! 2. gives it what it received with [`NbdSession::receive`] as long as [`NbdSession::want`] is not 0;
//! 3. carries out the commands in [`SessionOutbox::commands`] in any order and answers each one with [`NbdSession::finish`];
//!    one that is under way when the connection ends still holds its memory;
//! 4. sends the buffers in [`SessionOutbox::send`] in order and tells with [`NbdSession::sent`] how much went out;
//! 5. closes the connection when [`SessionOutbox::close`] is set and what stands in the queue has gone out.

// In reading order: what the owner sees, the session, its two phases, messages.
mod api;
mod close;
mod exports;
mod outbox;

mod session;

mod handshake;
mod option_reply;
mod terms;

mod reply;
mod request;
mod serve;

mod bytes;
mod numbers;

pub use api::{
    ChangeExtent, CommandKind, ConnectionLimits, ExportCommand, NbdError, NbdFailure, NbdReply,
    ReadPiece, ReplyPayload, StatusExtent,
};
pub use close::{Close, Violation};
pub use exports::{ExportId, ExportInfo, ExportName, Exports};
pub use outbox::SessionOutbox;
pub use session::NbdSession;

/// The longest payload of one read or write, 32 MiB: what the protocol asks every server to accept.
pub const PAYLOAD_MAX: u32 = 32 << 20;

/// The longest data of one option. Longer ones are skipped and refused. Sixteen names of the longest kind fit.
pub const OPTION_MAX: u32 = 64 << 10;

/// The longest string of the protocol: names, queries, messages.
pub const STRING_MAX: usize = 4096;

/// The most extents in one answer to a block status, and the most pieces in one to a read. An owner that has
/// more extents need not collect them: the client asks again from where the answer ends.
pub const EXTENTS_MAX: usize = 1024;
