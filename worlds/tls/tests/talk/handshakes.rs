//! Who is let in, and what is said of who is not.

use crate::authority::Authority;
use crate::client::{Pair, Place, client};
use loadline_tls::TlsServer;
use std::fs::File;

#[test]
fn a_client_is_known_by_the_names_in_its_certificate() {
    let place = Place::new();
    let ca = place.folder.path().join("own-ca.pem");
    let own = place.authority.sign("backup", &["vm7.example", "vm8.example"], 2120);
    for is_old in [false, true] {
        for piece in [1, 7, 1000, 1 << 20] {
            let mut pair = Pair::new(&place.server(), client(&ca, Some(&own), is_old), piece);
            assert!(!pair.talk.is_open());
            pair.carry().unwrap();
            assert!(pair.talk.is_open() && !pair.talk.has_ended());
            for (name, has) in [("backup", true), ("vm8.example", true), ("vm9.example", false)] {
                assert_eq!(pair.talk.client().has(name), has, "{name}");
            }
            assert_eq!(pair.talk.client().first(), Some("backup"));
            assert!(pair.talk.held() < 32 << 10, "a handshake that is over holds nothing");
        }
    }
}

#[test]
fn what_is_said_comes_through_both_ways() {
    let place = Place::new();
    let ca = place.folder.path().join("own-ca.pem");
    let own = place.authority.sign("backup", &[], 2120);
    for is_old in [false, true] {
        let mut pair = Pair::new(&place.server(), client(&ca, Some(&own), is_old), 1000);
        pair.carry().unwrap();
        let long: Vec<u8> = (0..100_000u32).map(|number| (number / 7) as u8).collect();
        for length in [1, 16_384, 16_385, long.len()] {
            pair.say(&long[..length]);
            assert!(std::mem::take(&mut pair.plain) == long[..length], "{length}");
            assert!(pair.answer(&long[..length]) == long[..length], "{length}");
        }
        let mut out = Vec::new();
        pair.talk.seal(&[], &mut out).unwrap();
        assert_eq!(out, [], "nothing is carried by nothing");
        pair.talk.close(&mut out);
        pair.hear(&out);
        pair.client.send_close_notify();
        pair.carry().unwrap();
        assert!(pair.talk.has_ended());
    }
}

/// New keys are announced in the midst of what is sealed, and by a client that asks for the server's.
#[test]
fn keys_may_be_made_anew() {
    let place = Place::new();
    let ca = place.folder.path().join("own-ca.pem");
    let own = place.authority.sign("backup", &[], 2120);
    let mut pair = Pair::new(&place.server(), client(&ca, Some(&own), false), 1000);
    pair.carry().unwrap();
    for _ in 0..3 {
        pair.client.refresh_traffic_keys().unwrap();
        pair.say(b"after new keys");
        assert_eq!(pair.answer(b"and so say we"), b"and so say we");
    }
    assert_eq!(pair.plain, b"after new keys".repeat(3));
}

#[test]
fn who_is_not_let_in_is_told_why_and_so_is_the_log() {
    let place = Place::new();
    let folder = place.folder.path();
    let ca = folder.join("own-ca.pem");
    let other = Authority::new(folder, "other");
    let foreign = other.sign("foreign", &[], 2120);
    let expired = place.authority.sign("expired", &[], 2021);
    let good = place.authority.sign("good", &[], 2120);
    let strangers = folder.join("other-ca.pem");
    let check = |own, trusted: &std::path::Path, says: &str| {
        for is_old in [false, true] {
            let mut pair = Pair::new(&place.server(), client(trusted, own, is_old), 1000);
            let fault = pair.carry().unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} instead of {says}");
            assert!(!pair.talk.is_open() && pair.plain.is_empty());
        }
    };
    check(None, &ca, "it showed no certificate");
    check(Some(&foreign), &ca, "its certificate is by none of the CAs");
    check(Some(&expired), &ca, "its certificate has expired");
    check(Some(&good), &strangers, "it does not accept the certificate of this server (UnknownCA)");
    // The client hears it by an alert.
    let mut pair = Pair::new(&place.server(), client(&ca, None, false), 1000);
    pair.carry().unwrap_err();
    let heard = pair.client.process_new_packets().unwrap_err().to_string();
    assert!(heard.contains("CertificateRequired"), "{heard}");
}

#[test]
fn a_server_without_a_ca_asks_nobody_who_he_is() {
    let place = Place::new();
    let ca = place.folder.path().join("own-ca.pem");
    let server = TlsServer::open(&place.files(None), |path| File::open(path)).unwrap();
    let mut pair = Pair::new(&server, client(&ca, None, false), 1000);
    pair.carry().unwrap();
    assert!(pair.talk.is_open());
    assert_eq!(pair.talk.client().first(), None);
}
