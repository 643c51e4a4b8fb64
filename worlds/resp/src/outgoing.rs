//! What a connection is to be sent.

use crate::budget::{Budget, HeldBytes};
use loadline_wire::resp::{RespReply, RespVersion};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Bytes of answers that are sent before more is read.
const ANSWERS_BYTES: usize = 256 << 10;
/// Bytes that a connection which waits keeps at its disposal.
const IDLE_BYTES: usize = 16 << 10;
/// Who takes less than that in so long is closed.
const STANDSTILL: Duration = Duration::from_secs(30);

/// Answers, and the way that they go.
pub(crate) struct Outgoing<S> {
    stream: S,
    answers: Vec<u8>,
    held: HeldBytes,
}

impl<S> Outgoing<S> {
    pub(crate) fn new(stream: S, budget: &Rc<Budget>) -> Outgoing<S> {
        Outgoing { stream, answers: Vec::new(), held: HeldBytes::new(budget, 0) }
    }

    /// The connection, to read from.
    pub(crate) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Puts an answer down.
    pub(crate) fn put(&mut self, reply: &RespReply, version: RespVersion) {
        reply.encode(version, &mut self.answers);
        self.held.set(self.answers.len());
    }

    /// Whether more has come together than is kept.
    pub(crate) fn is_long(&self) -> bool {
        self.answers.len() > ANSWERS_BYTES
    }
}

impl<S: AsyncWrite + Unpin> Outgoing<S> {
    /// Sends what is there.
    ///
    /// # Errors
    /// The connection's, or that nothing was taken for long.
    pub(crate) async fn send(&mut self) -> io::Result<()> {
        for part in self.answers.chunks(ANSWERS_BYTES) {
            tokio::time::timeout(STANDSTILL, self.stream.write_all(part)).await??;
        }
        self.answers.clear();
        self.answers.shrink_to(IDLE_BYTES);
        self.held.set(0);
        self.stream.flush().await
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// The connection's.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }
}
