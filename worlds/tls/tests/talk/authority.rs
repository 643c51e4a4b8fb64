//! Certificates as an operator has them made, for a day of any test.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A CA, with a folder for what it signs.
pub(crate) struct Authority {
    folder: PathBuf,
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
pub(crate) struct Signed {
    /// The certificate.
    pub(crate) certificate: PathBuf,
    /// The key.
    pub(crate) key: PathBuf,
}

fn params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params
}

impl Authority {
    /// A new one, which writes to `folder`: its certificate is `NAME-ca.pem` there.
    pub(crate) fn new(folder: &Path, name: &str) -> Authority {
        let mut params = params(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = params.self_signed(&key).expect("it signs");
        let authority =
            Authority { folder: folder.to_owned(), certificate, issuer: Issuer::new(params, key) };
        fs::write(folder.join(format!("{name}-ca.pem")), authority.certificate.pem())
            .expect("the folder can be written");
        authority
    }

    /// Signs a certificate for a common name, of `names`, until the first day of the year `until`.
    pub(crate) fn sign(&self, common_name: &str, names: &[&str], until: i32) -> Signed {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = params(common_name);
        params.not_after = date_time_ymd(until, 1, 1);
        params.subject_alt_names = CertificateParams::new(names).expect("names").subject_alt_names;
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = params.signed_by(&key, &self.issuer).expect("it signs");
        let file = |kind: &str, text: String| {
            let path = self.folder.join(format!("{common_name}-{kind}.pem"));
            fs::write(&path, text).expect("the folder can be written");
            let mode = if kind == "key" { 0o600 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
            path
        };
        Signed {
            certificate: file("cert", certificate.pem()),
            key: file("key", key.serialize_pem()),
        }
    }
}
