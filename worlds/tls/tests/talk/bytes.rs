//! Bytes of any kind in place of a client's: refused, and never more kept of them than one message takes.

use crate::client::{Pair, Place, client};
use loadline_tls::{TlsServer, TlsTalk};
use std::fs::File;
use std::path::Path;

/// A small generator, so that what is tried is the same each time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Says bytes in pieces, as long as the talk goes on; whether it did to the end.
fn say(talk: &mut TlsTalk, bytes: &[u8], piece: usize) -> bool {
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        if talk.receive(piece, &mut plain, &mut out).is_err() {
            return false;
        }
        assert!(talk.held() < 512 << 10, "{} bytes are kept", talk.held());
        assert!(plain.is_empty() && !talk.is_open());
    }
    true
}

/// What a client says first.
fn hello(ca: &Path) -> Vec<u8> {
    let mut said = Vec::new();
    client(ca, None, false).write_tls(&mut said).unwrap();
    said
}

#[test]
fn what_is_no_tls_is_refused_at_once() {
    let place = Place::new();
    let server = place.server();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"IHAVEOPT\0\0\0\x03\0\0\0\0", &[0; 64]] {
        assert!(!say(&mut server.begin(), bytes, 5), "{bytes:?}");
    }
}

/// A flipped bit anywhere in the client's first words, or an end of them anywhere: refused, or waited for.
#[test]
fn a_first_word_that_is_damaged_or_cut_opens_nothing() {
    let place = Place::new();
    let server = place.server();
    let said = hello(&place.folder.path().join("own-ca.pem"));
    for at in 0..said.len() {
        let mut flipped = said.clone();
        flipped[at] ^= 1 << (at % 8);
        say(&mut server.begin(), &flipped, 100);
        assert!(say(&mut server.begin(), &said[..at], 100), "it may still come");
    }
}

#[test]
fn noise_behind_a_good_beginning_opens_nothing() {
    let place = Place::new();
    let server = place.server();
    let said = hello(&place.folder.path().join("own-ca.pem"));
    let mut noise = Noise(1);
    for _ in 0..300 {
        let mut bytes = said.clone();
        bytes.extend((0..noise.next() % 300).map(|_| noise.next() as u8));
        say(&mut server.begin(), &bytes, 1 + (noise.next() % 200) as usize);
        // Records of each kind with noise in them.
        let mut records = said.clone();
        for _ in 0..1 + noise.next() % 4 {
            let length = noise.next() % 64;
            records.extend([20 + (noise.next() % 5) as u8, 3, 3, 0, length as u8]);
            records.extend((0..length).map(|_| noise.next() as u8));
        }
        say(&mut server.begin(), &records, 50);
    }
}

/// A message that never ends is not kept.
#[test]
fn a_message_longer_than_any_is_refused() {
    let place = Place::new();
    let server = place.server();
    // A client hello of 16 MiB, in records of one byte and of many.
    for length in [1u16, 16_000] {
        let mut bytes = vec![22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff];
        for _ in 0..400_000 / (usize::from(length) + 5) {
            bytes.extend([22, 3, 1, (length >> 8) as u8, length as u8]);
            bytes.resize(bytes.len() + usize::from(length), 7);
        }
        assert!(!say(&mut server.begin(), &bytes, 4096), "{length}");
    }
}

/// What was sealed for one talk is nothing to another, and nothing a second time.
#[test]
fn a_record_counts_once_and_where_it_was_meant() {
    let place = Place::new();
    let ca = place.folder.path().join("own-ca.pem");
    let server = TlsServer::open(&place.files(None), |path| File::open(path)).unwrap();
    let open = || {
        let mut pair = Pair::new(&server, client(&ca, None, false), 1000);
        pair.carry().unwrap();
        pair
    };
    let (mut one, mut other) = (open(), open());
    let mut record = Vec::new();
    std::io::Write::write_all(&mut one.client.writer(), b"once").unwrap();
    one.client.write_tls(&mut record).unwrap();
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    other.talk.receive(&record, &mut plain, &mut out).unwrap_err();
    one.talk.receive(&record, &mut plain, &mut out).unwrap();
    one.talk.receive(&record, &mut plain, &mut out).unwrap_err();
    assert_eq!(plain, b"once");
}
