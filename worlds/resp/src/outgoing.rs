//! What a connection is to be sent.

use crate::budget::{ConnectionMemory, HeldBytes};
use loadline_wire::resp::{RespReply, RespVersion};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

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
    pub(crate) fn new(stream: S, memory: &Rc<ConnectionMemory>) -> Outgoing<S> {
        Outgoing { stream, answers: Vec::new(), held: memory.note(0) }
    }

    /// The connection, to read from.
    pub(crate) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Puts an answer down.
    pub(crate) fn put(&mut self, reply: &RespReply, version: RespVersion) {
        reply.encode(version, &mut self.answers);
        self.held.set(self.answers.len() as u64);
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
            timeout(STANDSTILL, self.stream.write_all(part)).await??;
        }
        self.answers.clear();
        self.answers.shrink_to(IDLE_BYTES);
        self.held.set(0);
        // What TLS has sealed it keeps, and writes it here.
        timeout(STANDSTILL, self.stream.flush()).await?
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// The connection's, or that its end was not taken for long.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        timeout(STANDSTILL, self.stream.shutdown()).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// A connection that takes what it is given, and does not get it through: TLS whose socket is full.
    struct Stuck;

    impl AsyncWrite for Stuck {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    /// Only what was written was waited for with an end: who came through TLS and read nothing kept its place for ever.
    #[test]
    fn who_takes_nothing_is_not_waited_for_whoever_keeps_it() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(async {
            let mut out = Outgoing::new(Stuck, &Budget::new(1, 1, 1).connection());
            let day = Duration::from_secs(24 * 3600);
            out.put(&RespReply::OK, RespVersion::Two);
            let sent = timeout(day, out.send()).await.expect("it is given up");
            assert_eq!(sent.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
            let closed = timeout(day, out.close()).await.expect("it is given up");
            assert_eq!(closed.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        });
    }
}
