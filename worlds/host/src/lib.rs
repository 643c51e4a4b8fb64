//! This machine as a world: files and block devices through io_uring, sockets through the same ring, real time.
//!
//! [`Loop`] is one thread's only place to wait: disks, connections, a mailbox for other threads and signals all
//! answer through it. It carries requests out and moves bytes; it may not know what a byte means, which class
//! a request belongs to beyond the priority word that it carries, or who owns a disk. This crate may not name
//! `lab/` or another world.
//!
//! Without the feature `engine` there is the loop with its disks alone, for who turns a store of its own and no node.

#![cfg_attr(
    not(feature = "engine"),
    allow(dead_code, reason = "the loop has doors that only the engine goes through")
)]

#[cfg(feature = "engine")]
pub mod admin;
mod backend;
mod clock;
mod descriptors;
mod disk;
#[cfg(feature = "engine")]
mod engine;
mod event_loop;
mod file;
mod folder;
mod handshakes;
#[cfg(feature = "engine")]
mod machine_load;
mod memory;
mod new_store;
mod special;
mod text;
mod why;

pub use clock::Clock;
pub use descriptors::raise_descriptors;
pub use disk::{
    Direct, Discards, DiskClaim, DiskKind, DiskMode, DiskOpen, DiskOpenError, DiskProblem,
    DriveFacts, Holding, OpenedDisk, StoreFiles, read_disk, wipe_ends,
};
#[cfg(feature = "engine")]
pub use engine::{
    BootError, ClientImages, DirectAnswer, DirectAsk, DirectClient, DirectCounts, DirectEnd,
    DirectImage, DirectModes, DirectOp, DirectServices, DiskSpec, DoorLimits, Engine, EngineConfig,
    FormerDisks, ImagePattern, ImageSpec, Mail, MemoryPlan, NbdAccess, NbdSpec, NodeGone,
    NotDurable, PageSpec, TooLittleMemory, VhostSpec,
};
pub use event_loop::{
    BackendChoice, ConnId, Disconnect, DiskId, ListenAt, ListenError, ListenerId, Loop, LoopError,
    LoopEvent, LoopOptions, Mailbox, Mode, Peer, ReadinessId, Signal, check_free,
    check_socket_path, listen_at, outlives_its_terminal, prepare_tcp,
};
pub use file::{
    check_named, check_own_file, check_own_folder, check_own_place, draft_of, has_name,
    make_own_folder, open_named, open_own, read_own, write_whole,
};
pub use folder::{MadeFolders, folder_of, in_folder, make_folder, may_make_in, plain_path};
pub use handshakes::{HandshakeLine, NextHandshake};
pub use memory::ProgramMemory;
pub use new_store::{NewStoreError, new_store_id, write_empty_store, write_new_store, write_store};
pub use special::special_at;
pub use text::read_text;
pub use why::{in_words, is_refused_again, why};
