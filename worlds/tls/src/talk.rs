//! One connection, from the client's first word to the end.

use crate::{ClientNames, TlsFault};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use rustls::{AlertDescription, CertificateError, Error, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// What may stand there of a message that has begun: the longest one of a handshake with its records' heads, or one record of data.
const INCOMING_MAX: usize = 128 << 10;
/// What a record of data adds to 16 KiB of it, in either version of the protocol.
const OVERHEAD: usize = 64;
/// Data of one record.
const RECORD: usize = 16 << 10;

/// The server's side of one connection. The bytes may arrive in pieces of any size.
pub struct TlsTalk {
    connection: UnbufferedServerConnection,
    /// What came and is no whole message yet.
    incoming: Vec<u8>,
    client: ClientNames,
    is_open: bool,
    has_ended: bool,
    /// Why nothing goes through it any more.
    failed: Option<TlsFault>,
}

impl fmt::Debug for TlsTalk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TlsTalk");
        shown.field("client", &self.client).field("is_open", &self.is_open).finish_non_exhaustive()
    }
}

impl TlsTalk {
    pub(crate) fn new(config: Arc<ServerConfig>) -> TlsTalk {
        let connection = UnbufferedServerConnection::new(config)
            .expect("only a shortest record that is too short is refused, and nobody set one");
        TlsTalk {
            connection,
            incoming: Vec::new(),
            client: ClientNames::default(),
            is_open: false,
            has_ended: false,
            failed: None,
        }
    }

    fn check(&self) -> Result<(), TlsFault> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Takes what came from the client: what it means goes to `plain`, and what the client is to be sent for it to `out`, also where that
    /// is why it has failed.
    ///
    /// # Errors
    /// [`TlsFault`]: the connection is to be closed when `out` is sent.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TlsFault> {
        self.check()?;
        self.incoming.extend_from_slice(bytes);
        let mut taken = 0;
        let ended = loop {
            let UnbufferedStatus { discard, state, .. } =
                self.connection.process_tls_records(&mut self.incoming[taken..]);
            taken += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        match record {
                            Ok(record) => {
                                taken += record.discard;
                                plain.extend_from_slice(record.payload);
                            }
                            Err(_) => unreachable!("a record was decrypted before it is told of"),
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, out),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(_) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if let Err(error) = ended {
            self.tell_why(out);
            self.incoming = Vec::new();
            self.failed = Some(fault(&error));
            return self.check();
        }
        self.incoming.drain(..taken);
        self.incoming.shrink_to(RECORD);
        if self.incoming.len() > INCOMING_MAX {
            self.failed = Some(TlsFault("it sent a message longer than any".to_owned()));
            return self.check();
        }
        if !self.is_open && !self.connection.is_handshaking() {
            self.is_open = true;
            let shown = self.connection.peer_certificates().and_then(|shown| shown.first());
            self.client = shown.map(ClientNames::of).unwrap_or_default();
        }
        Ok(())
    }

    /// What the client is told when TLS with it has come to nothing.
    fn tell_why(&mut self, out: &mut Vec<u8>) {
        // One alert, and before it what of the handshake had not been asked for yet. Asked for more than that the library would look
        // at what came once more, and stop the program for telling two alerts.
        while self.connection.wants_write() {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, out),
                Ok(ConnectionState::ReadTraffic(mut unheard)) => {
                    while unheard.next_record().is_some() {}
                }
                _ => break,
            }
        }
    }

    /// Appends what carries `plain` to the client. Nothing is carried before the handshake has [ended](TlsTalk::is_open).
    ///
    /// # Errors
    /// [`TlsFault`]: the connection has come to its end.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFault> {
        assert!(self.is_open, "nothing is told to a client before it is known");
        self.check()?;
        let state = self.connection.process_tls_records(&mut self.incoming).state;
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else {
            return Err(TlsFault("its connection has ended".to_owned()));
        };
        let at = out.len();
        let mut room = plain.len() + plain.len().div_ceil(RECORD) * OVERHEAD;
        loop {
            out.resize(at + room, 0);
            match traffic.encrypt(plain, &mut out[at..]) {
                Ok(written) => {
                    out.truncate(at + written);
                    return Ok(());
                }
                // New keys are announced in the same go.
                Err(EncryptError::InsufficientSize(needs)) => room = needs.required_size,
                Err(EncryptError::EncryptExhausted) => {
                    out.truncate(at);
                    return Err(TlsFault("its keys have carried what they may".to_owned()));
                }
            }
        }
    }

    /// Appends that nothing more will come.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if self.failed.is_some() {
            return;
        }
        let state = self.connection.process_tls_records(&mut self.incoming).state;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            let at = out.len();
            out.resize(at + 2 * OVERHEAD, 0);
            let written = traffic.queue_close_notify(&mut out[at..]).unwrap_or(0);
            out.truncate(at + written);
        }
    }

    /// Whether the handshake has ended well: the client is who it says, as far as it was asked.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the client has said that nothing more will come.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Who the client is, once the handshake has ended.
    pub fn client(&self) -> &ClientNames {
        &self.client
    }

    /// Bytes that are kept of what came.
    pub fn held(&self) -> usize {
        self.incoming.capacity()
    }
}

fn encode(mut data: EncodeTlsData<'_, rustls::server::ServerConnectionData>, out: &mut Vec<u8>) {
    let at = out.len();
    let mut room = 0;
    loop {
        out.resize(at + room, 0);
        match data.encode(&mut out[at..]) {
            Ok(written) => return out.truncate(at + written),
            Err(EncodeError::InsufficientSize(needs)) => room = needs.required_size,
            Err(EncodeError::AlreadyEncoded) => return out.truncate(at),
        }
    }
}

/// What is said of the client.
fn fault(error: &Error) -> TlsFault {
    let says = match error {
        Error::NoCertificatesPresented => "it showed no certificate".to_owned(),
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired".to_owned(),
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet".to_owned(),
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => "its certificate is by none of the CAs that clients' must be by".to_owned(),
        Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown),
        ) => format!("it does not accept the certificate of this server ({alert:?})"),
        Error::InvalidMessage(_) => format!("what it said is not TLS ({error})"),
        other => other.to_string(),
    };
    TlsFault(says)
}
