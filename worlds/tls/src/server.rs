//! A server as its files make it.

use crate::{OpenFile, SecretFile, TlsFile, TlsFileFault, TlsFiles, TlsProblem, TlsTalk};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// All CAs of a system are some hundred KiB.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Who the server is, and whose clients it lets in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TlsServer {
    config: Arc<ServerConfig>,
    asks_clients: bool,
}

impl TlsServer {
    /// Reads the files, which must fit each other, each opened by `open`: what is opened at all is the caller's to know.
    ///
    /// # Errors
    /// [`TlsFileFault`], which names the file.
    pub fn open(files: &TlsFiles, open: OpenFile) -> Result<TlsServer, TlsFileFault> {
        let provider = Arc::new(default_provider());
        let of = |file| move |problem| TlsFileFault { file, problem };
        let chain = certificates(&files.certificate, open).map_err(of(TlsFile::Certificate))?;
        let key = private_key(&files.key, open).map_err(of(TlsFile::Key))?;
        let versions = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&files.certificate, error.to_string()))
            .map_err(of(TlsFile::Certificate))?;
        let asking = match &files.client_ca {
            None => versions.with_no_client_auth(),
            Some(path) => {
                let verifier = clients_by(path, open, provider).map_err(of(TlsFile::ClientCa))?;
                versions.with_client_cert_verifier(verifier)
            }
        };
        let mut config = asking.with_single_cert(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let whose = files.certificate.display();
                of(TlsFile::Key)(unusable(&files.key, format!("it is not the key of {whose}")))
            }
            other => of(TlsFile::Certificate)(unusable(&files.certificate, other.to_string())),
        })?;
        // Clients come for long: nothing is kept of one for the next time.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(TlsServer { config: Arc::new(config), asks_clients: files.client_ca.is_some() })
    }

    /// Whether clients are let in by their certificates alone.
    pub fn asks_clients(&self) -> bool {
        self.asks_clients
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// A connection on which the client begins.
    pub fn begin(&self) -> TlsTalk {
        TlsTalk::new(self.config())
    }
}

fn unusable(path: &Path, why: String) -> TlsProblem {
    TlsProblem::Unusable { path: path.into(), why }
}

/// Lets clients in whose certificates are by one of the CAs of a file.
fn clients_by(
    path: &Path,
    open: OpenFile,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsProblem> {
    let mut roots = RootCertStore::empty();
    for root in certificates(path, open)? {
        roots.add(root).map_err(|error| unusable(path, error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
    verifier.build().map_err(|error| unusable(path, error.to_string()))
}

/// At least one certificate.
fn certificates(path: &Path, open: OpenFile) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let unreadable = |error| TlsProblem::Unreadable { path: path.into(), error };
    let text = open(path).and_then(read).map_err(unreadable)?;
    let read: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    match read {
        Ok(certificates) if certificates.is_empty() => {
            Err(TlsProblem::Without { path: path.into(), what: "certificate" })
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(path, in_words(&error))),
    }
}

/// A key that not everybody may read.
fn private_key(path: &Path, open: OpenFile) -> Result<PrivateKeyDer<'static>, TlsProblem> {
    let unreadable = |error| TlsProblem::Unreadable { path: path.into(), error };
    let file = open(path).and_then(SecretFile::read).map_err(unreadable)?;
    if file.is_open {
        return Err(TlsProblem::OpenKey { path: path.into() });
    }
    PrivateKeyDer::from_pem_slice(&file.bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            TlsProblem::Without { path: path.into(), what: "private key without a password" }
        }
        other => unusable(path, in_words(&other)),
    })
}

/// All of a file; of one that has no end, so much as certificates never have.
fn read(file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(TEXT_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// What the reader of PEM says, which puts the letters of a mark into numbers.
fn in_words(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => {
            "it ends within a part of it: it was cut".to_owned()
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line that begins a part of it is damaged".to_owned()
        }
        other => other.to_string(),
    }
}
