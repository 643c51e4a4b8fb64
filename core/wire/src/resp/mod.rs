//! RESP, the protocol of Redis, versions 2 and 3: a client's bytes become [`RespRequest`]s, a [`RespReply`] becomes bytes.
//!
//! Nothing here knows commands: a request is a list of byte strings, however it was sent. What is accepted follows the
//! protocol's specification (redis.io, "Redis serialization protocol"): arrays of bulk strings, and lines typed by a person
//! (*inline commands*) with words in quotes.

mod reply;
mod request;

pub use reply::{RespReply, RespVersion};
pub use request::{ComingRequest, RespFault, RespLimits, RespReader, RespRequest};
