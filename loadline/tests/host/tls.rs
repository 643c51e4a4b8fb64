//! NBD through TLS, as libnbd's tools and QEMU's speak it: who comes in, what it may do, and what becomes of who fails at it.

use crate::authority::{Authority, Signed};
use crate::node::{Node, PATIENCE, SMALL};
use crate::tools::{fail, noise_file, output, succeed, text};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with certificates, and a node in it that serves NBD by TCP through TLS alone.
struct Place {
    folder: TempDir,
    authority: Authority,
    node: Node,
}

/// Images of several owners.
const IMAGES: [&str; 4] = ["--image", "vol7=8MiB", "--image", "gold=8MiB"];

impl Place {
    /// `more` goes on behind the first flags.
    fn start(more: &[&str]) -> Place {
        let folder = TempDir::new().unwrap();
        let (authority, server) = certified(folder.path());
        let ca = folder.path().join("own-ca.pem");
        let tls = [
            "--nbd-tcp",
            "127.0.0.1:0",
            "--tls-certificate",
            text(&server.certificate),
            "--tls-key",
            text(&server.key),
            "--tls-client-ca",
            text(&ca),
        ];
        let dir = folder.path().join("node");
        let node = Node::start(&dir, &[&SMALL[..], &IMAGES, &tls, more].concat());
        Place { folder, authority, node }
    }

    /// The folder of a client's files, as libnbd and QEMU want them named.
    fn client(&self, name: &str, own: Option<&Signed>, ca: &str) -> PathBuf {
        let dir = self.folder.path().join(format!("of-{name}"));
        fs::create_dir(&dir).unwrap();
        fs::copy(self.folder.path().join(ca), dir.join("ca-cert.pem")).unwrap();
        if let Some(own) = own {
            fs::copy(&own.certificate, dir.join("client-cert.pem")).unwrap();
            fs::copy(&own.key, dir.join("client-key.pem")).unwrap();
        }
        dir
    }

    /// A client that the CA knows by this name.
    fn named(&self, name: &str) -> PathBuf {
        let own = self.authority.sign(name, &[], 2120);
        self.client(name, Some(&own), "own-ca.pem")
    }

    fn uri(&self, export: &str, client: &Path) -> String {
        format!("nbds://{}/{export}?tls-certificates={}", self.address(), text(client))
    }

    /// By the name in the server's certificate.
    fn address(&self) -> String {
        self.node.tcp().replace("127.0.0.1", "localhost")
    }

    /// An export as QEMU's tools are told of it.
    fn qemu(&self, export: &str, client: &Path) -> [String; 3] {
        let address = self.address();
        let (host, port) = address.split_once(':').expect("a host and a port");
        let object = format!("tls-creds-x509,id=tls0,endpoint=client,dir={}", text(client));
        let image = format!("driver=nbd,host={host},port={port},export={export},tls-creds=tls0");
        [object, image, "--image-opts".to_owned()]
    }
}

/// A CA, and what it has signed for the node.
fn certified(folder: &Path) -> (Authority, Signed) {
    let authority = Authority::new(folder, "own");
    let server = authority.sign("node", &["localhost", "127.0.0.1"], 2120);
    (authority, server)
}

#[test]
fn tools_copy_through_tls_and_bring_back_what_they_took_in() {
    let place = Place::start(&[]);
    let backup = place.named("backup");
    let [source, copy, qcow] =
        ["source", "copy", "copy.qcow2"].map(|at| place.folder.path().join(at));
    noise_file(&source, 64 << 20, 1);
    let uri = place.uri("vol0", &backup);
    let info = succeed("nbdinfo", &["--json", &uri]);
    let info: serde_json::Value = serde_json::from_str(&info).expect("it is JSON");
    assert_eq!((info["TLS"].as_bool(), info["structured"].as_bool()), (Some(true), Some(true)));
    let many = ["--connections=4", "--requests=32", "--request-size=1048576"];
    succeed("nbdcopy", &[&many[..], &[text(&source), &uri]].concat());
    succeed("nbdcopy", &[&uri, text(&copy)]);
    succeed("cmp", &[text(&source), text(&copy)]);
    let largest = ["--request-size=33554432", "--requests=2"];
    succeed("nbdcopy", &[&largest[..], &[&uri, text(&copy)]].concat());
    succeed("cmp", &[text(&source), text(&copy)]);
    let [object, image, options] = place.qemu("vol0", &backup);
    let convert = ["convert", "--object", &object, &options, &image, "-O", "qcow2", text(&qcow)];
    succeed("qemu-img", &convert);
    succeed("qemu-img", &["compare", "-f", "qcow2", "-F", "raw", text(&qcow), text(&source)]);
    // By the Unix socket as ever, whose rights say who comes.
    succeed(
        "qemu-img",
        &["compare", "-f", "raw", "-F", "raw", text(&source), &place.node.uri("vol0")],
    );
    place.node.stop();
}

#[test]
fn who_is_not_known_is_turned_away_with_a_reason_and_others_are_served() {
    let place = Place::start(&[]);
    let folder = place.folder.path();
    let other = Authority::new(folder, "other");
    let good = place.named("good");
    let foreign = place.client("foreign", Some(&other.sign("foreign", &[], 2120)), "own-ca.pem");
    let expired = place.authority.sign("expired", &[], 2021);
    let expired = place.client("expired", Some(&expired), "own-ca.pem");
    let nobody = place.client("nobody", None, "own-ca.pem");
    let deceived = place.authority.sign("deceived", &[], 2120);
    let deceived = place.client("deceived", Some(&deceived), "other-ca.pem");
    for client in [&foreign, &expired, &nobody, &deceived] {
        // Tools show no certificate of another CA, or past its day: they are asked for one of ours.
        let refused = fail("nbdinfo", &[&place.uri("vol0", client)]);
        assert!(!refused.is_empty());
        succeed("nbdinfo", &[&place.uri("vol0", &good)]);
    }
    let refused = fail("nbdinfo", &[&place.node.tcp_uri("nbd", "vol0")]);
    assert!(!refused.is_empty(), "who does not begin with TLS is told nothing");
    place.node.wait_until("the log does not tell of them", |node| {
        let log = node.log();
        log.contains("TLS with the NBD client at 127.0.0.1 has come to nothing: ")
    });
    place.node.stop();
}

#[test]
fn a_client_has_its_own_images_and_others_are_not_there() {
    let folder = TempDir::new().unwrap();
    let (authority, server) = certified(folder.path());
    let dir = folder.path().join("node");
    let file = folder.path().join("node.toml");
    let toml = format!(
        r#"
        dir = "node"
        osds = [{{ path = "osd.0", size = "128 MiB" }}]
        images = [{{ name = "vol7", size = "8 MiB" }}, {{ name = "gold", size = "8 MiB" }}]
        cache = "8 MiB"
        [nbd]
        tcp = "127.0.0.1:0"
        read_only = ["gold"]
        [nbd.tls]
        certificate = "{}"
        key = "{}"
        client_ca = "own-ca.pem"
        [nbd.clients.backup]
        read = ["*"]
        [nbd.clients."vm7.example"]
        write = ["vol7*", "gold"]
        "#,
        server.certificate.file_name().and_then(|name| name.to_str()).unwrap(),
        server.key.file_name().and_then(|name| name.to_str()).unwrap(),
    );
    fs::write(&file, toml).unwrap();
    let node = Node::start_by(&file, &dir);
    let place = Place { folder, authority, node };
    let backup = place.named("backup");
    // By a DNS name as well as by its common one.
    let vm7 = place.authority.sign("seven", &["vm7.example"], 2120);
    let vm7 = place.client("seven", Some(&vm7), "own-ca.pem");
    let stranger = place.named("stranger");
    let listed = |client: &Path| {
        let list = succeed("nbdinfo", &["--list", "--json", &place.uri("", client)]);
        let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
        let exports = list["exports"].as_array().expect("the exports").clone();
        let one = |one: serde_json::Value| {
            let name = one["export-name"].as_str().expect("a name").to_owned();
            (name, one["is_read_only"].as_bool().expect("a flag"))
        };
        exports.into_iter().map(one).collect::<Vec<_>>()
    };
    let is = |name: &str, read_only| (name.to_owned(), read_only);
    place.node.tell(&["image", "snapshot", "create", "vol7@one"]);
    assert_eq!(listed(&backup), [is("gold", true), is("vol7", true), is("vol7@one", true)]);
    assert_eq!(listed(&vm7), [is("gold", true), is("vol7", false), is("vol7@one", true)]);
    let nothing = output("nbdinfo", &["--list", "--json", &place.uri("", &stranger)]);
    assert!(!nothing.stdout.contains("vol7"), "{}", nothing.stdout);
    fail("nbdinfo", &[&place.uri("vol7", &stranger)]);
    let write = |client: &Path| {
        let [object, image, options] = place.qemu("vol7", client);
        output("qemu-io", &["--object", &object, &options, "-c", "write -P 7 0 1M", &image])
    };
    assert!(!write(&backup).status.success(), "it may read alone");
    assert!(!write(&stranger).status.success(), "it has no image");
    let written = write(&vm7);
    assert!(written.status.success(), "{}", written.stderr);
    place.node.stop();
}

/// A client by hand, as far as the beginning of TLS, and what it heard.
fn by_hand(place: &Place) -> TcpStream {
    let mut stream = TcpStream::connect(place.node.tcp()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(&[&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 5, 0, 0, 0, 0]].concat())
        .unwrap();
    let mut heard = [0; 18 + 20];
    stream.read_exact(&mut heard).unwrap();
    assert_eq!(heard[18 + 12..18 + 16], [0, 0, 0, 1], "the server is ready for TLS");
    stream
}

/// What the client hears until the server ends the connection, by a reset or in order.
fn until_the_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    heard
}

#[test]
fn who_says_nonsense_or_stops_half_way_harms_nobody() {
    let place = Place::start(&["--negotiation", "2s"]);
    let good = place.named("good");
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 70_000], b"IHAVEOPT\0\0\0\x03\0\0\0\0"] {
        let mut stream = by_hand(&place);
        let _ = stream.write_all(nonsense);
        until_the_end(&mut stream);
    }
    // Half a record and no more: gone at once, silent for ever, a byte at a time.
    let half = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    by_hand(&place).write_all(&half).unwrap();
    let mut silent: Vec<TcpStream> = (0..50).map(|_| by_hand(&place)).collect();
    for stream in &mut silent {
        stream.write_all(&half).unwrap();
    }
    let slow = by_hand(&place);
    let dripping = std::thread::spawn(move || {
        let mut slow = slow;
        for byte in half.iter().chain(&[0; 500]) {
            if slow.write_all(&[*byte]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    });
    succeed("nbdinfo", &[&place.uri("vol0", &good)]);
    for stream in &mut silent {
        assert!(until_the_end(stream).is_empty(), "it waits for the rest, and then for nothing");
    }
    assert!(dripping.join().unwrap(), "it is not given more time for saying something");
    succeed("nbdinfo", &[&place.uri("vol0", &good)]);
    let log = place.node.log();
    assert!(log.contains("chose no export within 2 s"), "{log}");
    assert!(log.contains("what it said is not TLS"), "{log}");
    place.node.stop();
}

/// Each client's handshake began as soon as it had asked for one: who opened thousands of connections had the node do nothing else.
#[test]
#[expect(clippy::disallowed_methods, reason = "a pace is held against real time")]
fn one_peer_has_a_pace_of_handshakes() {
    const CLIENTS: usize = 150;
    let place = Place::start(&[]);
    let began = Instant::now();
    // Flags, the wish for TLS, and no TLS behind it.
    let asks = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 5, 0, 0, 0, 0], &[b'x'; 64]].concat();
    let clients: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut client = TcpStream::connect(place.node.tcp()).expect("it listens");
            client.set_read_timeout(Some(PATIENCE)).expect("it can be set");
            client.write_all(&asks).expect("it is taken");
            client
        })
        .collect();
    let ends = clients.into_iter().map(|mut client| {
        let mut told = Vec::new();
        // It may be ended before it has taken the reason.
        drop(client.read_to_end(&mut told));
        assert!(told.len() > 38, "it is told to begin, and why that came to nothing");
    });
    assert_eq!(ends.count(), CLIENTS);
    let took = began.elapsed().as_millis();
    assert!(took >= 900, "{took} ms for 50 more than may begin at once");
    let good = place.named("good");
    succeed("nbdinfo", &[&place.uri("vol0", &good)]);
    place.node.stop();
}
