//! The front door: what one may ask of a loop, and what may happen. No algorithms.

mod connections;
mod disks;
mod events;
mod listeners;
mod mailbox;
mod options;
mod readiness;
mod run;
mod signals;

use connections::Connections;
use disks::LoopDisks;
use events::CallPurpose;
pub use events::{ConnId, Disconnect, DiskId, ListenerId, LoopEvent, Peer, ReadinessId, Signal};
use listeners::Listeners;
pub use listeners::{check_free, check_socket_path, listen_at, prepare_tcp};
use mailbox::Inbox;
pub use mailbox::Mailbox;
pub(crate) use mailbox::{new_bell, ring_bell, silence};
pub use options::{BackendChoice, ListenAt, ListenError, LoopError, LoopOptions, Mode};
use readiness::Readiness;
pub use run::Loop;
use signals::Signals;
pub use signals::outlives_its_terminal;
