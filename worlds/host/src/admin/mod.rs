//! The admin protocol: what one may ask of a running node, over HTTP/1.1 and JSON on a Unix socket.
//!
//! [`api`] says what is asked and answered; `route` is the one table that maps a command to a request and back; [`HttpSession`]
//! is a connection's server side without the socket, [`Client`] the command line's side with it. What carries
//! commands out is not here: the owner of the engine takes a [`Command`](api::Command) and gives an [`AdminAnswer`](api::AdminAnswer).

pub mod api;
mod client;
mod exposition;
mod head;
mod http;
mod page;
mod patience;
mod response;
mod route;

pub use client::{Client, ClientError};
pub use exposition::{Exposition, MetricsForm};
pub(crate) use exposition::{Label, MetricKind};
pub use http::{HttpOutbox, HttpRequestId, HttpSession, UNSENT_MAX};
pub use page::Audience;
pub(crate) use patience::{PATIENCE, WORK_PATIENCE, patience_with};
pub(crate) use route::change;

#[cfg(test)]
mod tests;
