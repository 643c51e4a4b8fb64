//! TLS over a stream, for who has tasks that wait.

use crate::TlsServer;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// Sealed bytes that the stream below has not taken, before whoever writes has to wait: a record.
const UNTAKEN_BYTES: usize = 16 << 10;

impl TlsServer {
    /// Lets a client in over a stream: what is read of the answer, and written to it, went and goes through TLS. Beside what its owner
    /// has it keeps a record of each way at most, 64 KiB while it begins.
    ///
    /// # Errors
    /// The stream's, or with what is wrong with the client, which has been told.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Unpin + use<S>> {
        let acceptor = TlsAcceptor::from(self.config());
        acceptor.accept_with(stream, |talk| talk.set_buffer_limit(Some(UNTAKEN_BYTES))).await
    }
}
