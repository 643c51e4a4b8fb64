//! A client, and both sides of a talk without anything between them.

use crate::authority::{Authority, Signed};
use loadline_tls::{TlsFault, TlsFiles, TlsServer, TlsTalk};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A CA that a server and its clients have in common.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) authority: Authority,
    pub(crate) server: Signed,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let authority = Authority::new(folder.path(), "own");
        let server = authority.sign("server", &["node.example"], 2120);
        Place { folder, authority, server }
    }

    pub(crate) fn files(&self, client_ca: Option<&str>) -> TlsFiles {
        TlsFiles {
            certificate: self.server.certificate.clone(),
            key: self.server.key.clone(),
            client_ca: client_ca.map(|name| self.folder.path().join(name)),
        }
    }

    /// A server that asks clients for certificates by this CA.
    pub(crate) fn server(&self) -> TlsServer {
        TlsServer::open(&self.files(Some("own-ca.pem")), |path| File::open(path)).unwrap()
    }
}

/// A client that trusts this CA and shows this certificate.
pub(crate) fn client(ca: &Path, own: Option<&Signed>, is_old: bool) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let versions = if is_old { &[&TLS12] } else { &[&TLS13] };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let chain = vec![CertificateDer::from_pem_file(&own.certificate).unwrap()];
            let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let name = ServerName::try_from("node.example").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    client.set_buffer_limit(None);
    client
}

/// Both sides, and what of the client's has come out of the server's.
pub(crate) struct Pair {
    pub(crate) talk: TlsTalk,
    pub(crate) client: ClientConnection,
    pub(crate) plain: Vec<u8>,
    /// Bytes of one piece of what the client sends.
    piece: usize,
}

impl Pair {
    pub(crate) fn new(server: &TlsServer, client: ClientConnection, piece: usize) -> Pair {
        Pair { talk: server.begin(), client, plain: Vec::new(), piece }
    }

    /// Carries everything that either side has, until both are silent.
    pub(crate) fn carry(&mut self) -> Result<(), TlsFault> {
        loop {
            let mut said = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut said).unwrap();
            }
            let mut out = Vec::new();
            let mut ended = Ok(());
            for piece in said.chunks(self.piece) {
                ended = self.talk.receive(piece, &mut self.plain, &mut out);
                if ended.is_err() {
                    break;
                }
            }
            self.hear(&out);
            ended?;
            if said.is_empty() && out.is_empty() {
                return Ok(());
            }
        }
    }

    /// Gives the client what the server sends. What it thinks of that, it says with its next words.
    pub(crate) fn hear(&mut self, mut out: &[u8]) {
        while !out.is_empty() {
            self.client.read_tls(&mut out).unwrap();
            let _ = self.client.process_new_packets();
        }
    }

    pub(crate) fn say(&mut self, plain: &[u8]) {
        self.client.writer().write_all(plain).unwrap();
        self.carry().unwrap();
    }

    /// What the client reads of what the server seals.
    pub(crate) fn answer(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.talk.seal(plain, &mut out).unwrap();
        let mut heard = Vec::new();
        let mut rest = &out[..];
        while !rest.is_empty() {
            self.client.read_tls(&mut rest).unwrap();
            let state = self.client.process_new_packets().unwrap();
            let start = heard.len();
            heard.resize(start + state.plaintext_bytes_to_read(), 0);
            self.client.reader().read_exact(&mut heard[start..]).unwrap();
        }
        heard
    }
}
