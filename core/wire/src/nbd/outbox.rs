//! What a session wants done.

use super::{Close, ExportCommand};

/// Below this length, bytes are copied behind the last buffer of the queue: that costs less than one more buffer.
const COPY_MAX: usize = 1024;

/// What a new buffer has room for at least: the longest head of an answer, which is put in two parts.
const HEAD: usize = 32;

/// What a session wants its owner to do. The owner empties it after each call; the session only appends.
#[derive(Debug, Default)]
pub struct SessionOutbox {
    /// Bytes for the client, in order. Long payloads are buffers of their own and were not copied.
    pub send: Vec<Vec<u8>>,
    /// Commands to carry out.
    pub commands: Vec<ExportCommand>,
    /// Set when the connection shall be closed after what stands in `send`.
    pub close: Option<Close>,
    /// How many bytes were ever put into `send`.
    put: u64,
}

impl SessionOutbox {
    /// Queues some bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.put += bytes.len() as u64;
        match self.send.last_mut() {
            Some(last) if last.len() + bytes.len() <= COPY_MAX => last.extend_from_slice(bytes),
            _ => {
                let mut buffer = Vec::with_capacity(bytes.len().max(HEAD));
                buffer.extend_from_slice(bytes);
                self.send.push(buffer);
            }
        }
    }

    /// Queues a payload, without copying it unless it is small.
    pub(super) fn put_payload(&mut self, payload: Vec<u8>) {
        let fits = self.send.last().is_some_and(|last| last.len() + payload.len() <= COPY_MAX);
        if fits {
            self.put(&payload);
        } else {
            self.put += payload.len() as u64;
            self.send.push(payload);
        }
    }

    /// How many bytes were ever queued: the difference around a call is what the call queued.
    pub(super) fn queued(&self) -> u64 {
        self.put
    }
}
