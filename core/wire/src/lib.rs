//! What clients speak: bytes in, commands out; answers in, bytes out.
//!
//! A protocol here is a state machine per connection that is fed by its owner. This crate may not know sockets,
//! images, OSDs or worlds, reads no clock and depends on nothing but `loadline-base`. Whatever a client sends, it
//! neither panics nor takes more memory than its limits state.

pub mod calendar;
pub mod nbd;
pub mod request_room;
pub mod resp;
pub mod vhost;
