//! Files that make no server: each is refused by its name and with a reason.

use crate::client::Place;
use loadline_tls::{TlsFiles, TlsServer};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn files_that_make_no_server_are_named() {
    let place = Place::new();
    let folder = place.folder.path();
    let good = place.files(Some("own-ca.pem"));
    let check = |change: &dyn Fn(&mut TlsFiles), file: &str, says: &str| {
        let mut files = good.clone();
        change(&mut files);
        let refused = TlsServer::open(&files, |path| File::open(path)).expect_err(says).to_string();
        assert!(
            refused.starts_with(&format!("{}: {says}", folder.join(file).display())),
            "{refused}"
        );
    };
    let at = |name: &str| folder.join(name);
    fs::write(at("junk.pem"), "no PEM").unwrap();
    let cut = fs::read_to_string(&good.certificate).unwrap().replace("END", "ENDE");
    fs::write(at("cut.pem"), cut).unwrap();
    check(&|files| files.certificate = at("none.pem"), "none.pem", "cannot be read: No such file");
    check(&|files| files.certificate = at("junk.pem"), "junk.pem", "there is no certificate in it");
    check(&|files| files.certificate = at("cut.pem"), "cut.pem", "cannot be used: ");
    check(&|files| files.client_ca = Some(at("junk.pem")), "junk.pem", "there is no certificate");
    check(&|files| files.key = files.certificate.clone(), "server-cert.pem", "everybody");
    fs::set_permissions(at("server-cert.pem"), Permissions::from_mode(0o600)).unwrap();
    check(
        &|files| files.key = files.certificate.clone(),
        "server-cert.pem",
        "there is no private key",
    );
    let other = place.authority.sign("other", &[], 2120);
    check(
        &|files| files.key = other.key.clone(),
        "other-key.pem",
        "cannot be used: it is not the key of",
    );
    fs::set_permissions(&good.key, Permissions::from_mode(0o644)).unwrap();
    check(&|_| {}, "server-key.pem", "everybody on this machine may read this key");
    fs::set_permissions(&good.key, Permissions::from_mode(0o640)).unwrap();
    TlsServer::open(&good, |path| File::open(path)).expect("a group may read it");
}
