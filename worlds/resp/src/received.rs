//! Where bytes of connections arrive: one place for all of them, so that a thousand that say nothing have none.

use loadline_wire::resp::RespReader;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that are received at once.
const RECEIVED_BYTES: usize = 64 << 10;

/// See [above](self).
pub(crate) struct ReceivingBuffer {
    bytes: RefCell<Vec<u8>>,
}

impl Default for ReceivingBuffer {
    fn default() -> ReceivingBuffer {
        ReceivingBuffer { bytes: RefCell::new(vec![0; RECEIVED_BYTES]) }
    }
}

impl ReceivingBuffer {
    /// Waits for something of a connection, and hands it to its reader. Answers how many bytes came; 0 at the connection's end.
    ///
    /// # Errors
    /// The connection's.
    pub(crate) async fn receive(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        reader: &mut RespReader,
    ) -> io::Result<usize> {
        poll_fn(|cx| {
            let mut bytes = self.bytes.borrow_mut();
            let mut came = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut came))?;
            reader.push(came.filled());
            Poll::Ready(Ok(came.filled().len()))
        })
        .await
    }
}
