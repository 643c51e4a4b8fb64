//! By which files clients come through TLS, as they are typed.

use clap::Args;
use loadline_host::open_named;
use loadline_tls::{TlsFile, TlsFileFault, TlsFiles, TlsServer};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The files by which TLS goes.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TlsTyped {
    /// Let clients come by TCP through TLS alone: the server's certificate in PEM, with those between it and its CA behind it
    #[arg(long = "tls-certificate", value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// The key of that certificate, which not everybody may read
    #[arg(long = "tls-key", value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Let those in alone whose certificates are by one of these CAs
    #[arg(long = "tls-client-ca", value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
}

/// Which of the fields is not what it should be, and why.
#[derive(Debug)]
pub(crate) struct TlsTypedFault {
    pub(crate) field: &'static str,
    pub(crate) reason: String,
}

impl TlsTyped {
    /// The server that the files make, if any is named; relative paths begin in `folder`.
    pub(crate) fn open(&self, folder: &Path) -> Result<Option<TlsServer>, TlsTypedFault> {
        let fault = |field, reason: String| TlsTypedFault { field, reason };
        let TlsTyped { certificate, key, client_ca } = self;
        let (certificate, key) = match (certificate, key) {
            (Some(certificate), Some(key)) => (folder.join(certificate), folder.join(key)),
            (None, None) if client_ca.is_none() => return Ok(None),
            (None, _) => return Err(fault("certificate", "TLS takes a certificate".to_owned())),
            (_, None) => {
                return Err(fault("key", "TLS takes the key of its certificate".to_owned()));
            }
        };
        let client_ca = client_ca.as_ref().map(|path| folder.join(path));
        let files = TlsFiles { certificate, key, client_ca };
        TlsServer::open(&files, open_named).map(Some).map_err(|TlsFileFault { file, problem }| {
            let field = match file {
                TlsFile::Certificate => "certificate",
                TlsFile::Key => "key",
                TlsFile::ClientCa => "client_ca",
            };
            fault(field, problem.to_string())
        })
    }
}
