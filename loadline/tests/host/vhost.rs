//! Images as guests' disks by vhost-user: what a guest may ask, what one gets that lies, and how one goes on after the node's end.

use crate::guest::{FEATURES, Guest, NEXT, RING_SIZE, TABLE, USER_BASE, WRITES, ring_base, words};
use crate::node::{IMAGE_BYTES, Node, PATIENCE, PROGRAM, SMALL};
use crate::tools::{output, succeed};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A folder with a node's, and the path at which its image's guest connects.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new() -> Ground {
        Ground { folder: tempfile::tempdir().unwrap() }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("vol0.sock")
    }

    fn start(&self) -> Node {
        self.start_with("vol0")
    }

    /// Shows another image at the path.
    fn start_with(&self, image: &str) -> Node {
        let face = format!("{image}={}", self.socket().display());
        Node::start(&self.folder.path().join("node"), &[&SMALL[..], &["--vhost", &face]].concat())
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

fn range(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
    [words(&[sector]), [sectors, flags].map(u32::to_le_bytes).concat()].concat()
}

#[test]
fn a_guest_has_the_image_that_nbd_clients_have() {
    let ground = Ground::new();
    let node = ground.start();
    let rights = ground.socket().metadata().unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o600);
    let mut guest = Guest::connect(&ground.socket());
    let sectors = u64::from_le_bytes(*guest.config.first_chunk().unwrap());
    assert_eq!((sectors * 512, half(&guest.config, 34) >= 2), (IMAGE_BYTES, true));
    assert_eq!(guest.read(8, 4096), vec![0; 4096], "nothing was written");
    // Across the edge of two objects, by both rings in turn.
    let edge = (4 << 20) / 512 - 8;
    for turn in 1..5u8 {
        let bytes: Vec<u8> = (0..32 << 10).map(|at| (at / 512) as u8 ^ turn).collect();
        guest.write(edge, &bytes);
        assert_eq!(guest.read(edge, 32 << 10), bytes);
    }
    guest.write(0, &[0x5a; 64 << 10]);
    assert_eq!(guest.request((4, 0), &[], 0).status, 0, "a flush");
    let id = guest.request((8, 0), &[], 20);
    assert_eq!((id.status, &id.data[..5]), (0, &b"vol0\0"[..]));
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 0x5a 0 64k", &node.uri("vol0")]);
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 0x77 1M 64k", &node.uri("vol0")]);
    assert_eq!(guest.read(2048, 64 << 10), vec![0x77; 64 << 10]);
    let status = node.status();
    assert_eq!(status["connections"]["vhost"], 1, "{status}");
    // Given back, and written with zeros.
    assert_eq!(guest.request((11, 0), &range(0, 64, 0), 0).status, 0);
    assert_eq!(guest.request((13, 0), &range(2048, 8, 1), 0).status, 0);
    let begin = guest.read(0, 64 << 10);
    assert!(begin[..32 << 10].iter().all(|byte| *byte == 0));
    assert!(begin[32 << 10..].iter().all(|byte| *byte == 0x5a));
    assert_eq!(guest.read(2048, 8192)[4088..4104], [[0; 8], [0x77; 8]].concat());
    // What no disk does, and what this one does not.
    let end = IMAGE_BYTES / 512;
    for (what, brings, room, status) in [
        ((0, end), vec![], 512, 1),
        ((0, u64::MAX), vec![], 512, 1),
        ((1, end - 1), vec![1; 1024], 0, 1),
        ((0, 0), vec![], 100, 1),
        ((11, 0), range(end, 1, 0), 0, 1),
        ((11, 0), range(0, 1, 1), 0, 2),
        ((2, 0), vec![], 512, 2),
    ] {
        assert_eq!(guest.request(what, &brings, room).status, status, "{what:?}");
    }
    node.stop();
    assert!(guest.is_let_go());
}

#[test]
fn a_ring_is_the_guests_again_when_it_has_stopped() {
    let ground = Ground::new();
    let node = ground.start();
    let mut guest = Guest::connect(&ground.socket());
    for turn in 0..16 {
        guest.begin_request(0, (1, turn * 128), &[turn as u8 + 1; 64 << 10], 0);
    }
    let until = Instant::now() + PATIENCE;
    while guest.under_way(0) == 0 && guest.untaken(0) == 0 && Instant::now() < until {}
    let next = guest.stop_ring(0);
    assert!(next > 0);
    assert_eq!(guest.untaken(0), next, "what was taken is answered, and nothing comes behind it");
    node.stop();
}

/// Linux in user mode stops its rings by SET_VRING_ENABLE alone, and hands the same memory to its next driver.
#[test]
fn what_a_ring_has_under_way_is_answered_before_it_is_disabled() {
    let ground = Ground::new();
    let node = ground.start();
    let mut guest = Guest::connect(&ground.socket());
    node.tell(&["image", "qos", "vol0", "--limit", "8"]);
    for turn in 0..16 {
        guest.begin_request(0, (1, turn * 8), &[turn as u8 + 1; 4096], 0);
    }
    guest.answers(0, 1);
    assert!(guest.under_way(0) > 0);
    guest.tell(18, &words(&[0]), &[]);
    assert_eq!(guest.under_way(0), 0, "nothing comes behind it");
    node.stop();
}

/// What it is, and how it is put at a head's descriptors, with bytes at a place.
type Lie = (&'static str, fn(&mut Guest, u16, u64));

/// What stands in the rings is a guest's: nothing of it may harm anybody else.
#[test]
fn a_guest_that_lies_harms_itself_alone() {
    let ground = Ground::new();
    let mut node = ground.start();
    let table = ring_base(0);
    let lies: [Lie; 8] = [
        ("a list that ends nowhere", |guest, head, at| {
            guest.describe(ring_base(0), head, (at, 16), (NEXT, head));
        }),
        ("a piece that is not there", |guest, head, _| {
            guest.describe(ring_base(0), head, (u64::MAX - 8, 16), (NEXT, head + 1));
            guest.describe(ring_base(0), head + 1, (1 << 40, 1), (WRITES, 0));
        }),
        ("no room for a status", |guest, head, at| {
            guest.describe(ring_base(0), head, (at, 16), (0, 0));
        }),
        ("half a head", |guest, head, at| {
            guest.describe(ring_base(0), head, (at, 8), (NEXT, head + 1));
            guest.describe(ring_base(0), head + 1, (at + 16, 1), (WRITES, 0));
        }),
        ("a next one that no ring has", |guest, head, at| {
            guest.describe(ring_base(0), head, (at, 16), (NEXT, 9999));
        }),
        ("a table in a table", |guest, head, at| {
            guest.describe(ring_base(0), head, (at, 32), (TABLE, 0));
            guest.describe(at, 0, (at, 32), (TABLE, 0));
        }),
        ("4 GiB of data", |guest, head, at| {
            guest.put(at, &[0; 16]);
            guest.describe(ring_base(0), head, (at, 16), (NEXT, head + 1));
            guest.describe(ring_base(0), head + 1, (at, u32::MAX - 511), (NEXT | WRITES, head + 2));
            guest.describe(ring_base(0), head + 2, (at + 16, 1), (WRITES, 0));
        }),
        ("a read to where no memory is", |guest, head, at| {
            guest.put(at, &[0; 16]);
            guest.describe(ring_base(0), head, (at, 16), (NEXT, head + 1));
            guest.describe(ring_base(0), head + 1, (1 << 40, 4096), (NEXT | WRITES, head + 2));
            guest.describe(ring_base(0), head + 2, (at + 16, 1), (WRITES, 0));
        }),
    ];
    let mut guest = Guest::connect(&ground.socket());
    for (what, lie) in lies {
        let (head, at) = guest.slot();
        guest.put(at + 16, &[0xff]);
        lie(&mut guest, head, at);
        guest.offer(0, head);
        assert_eq!(guest.answers(0, 1)[0].0, head, "{what}");
        assert_ne!(guest.answer(head, 0).status, 0, "{what}");
    }
    guest.write(0, &[7; 4096]);
    // A head that no ring has, and more offered than there is room for: the guest is let go.
    guest.offer(0, RING_SIZE + 5);
    assert!(guest.is_let_go());
    let mut guest = Guest::connect(&ground.socket());
    assert_eq!(guest.read(0, 4096), [7; 4096]);
    guest.put(table + 0x1002, &[0xff, 0x7f]);
    guest.kick(0);
    assert!(guest.is_let_go());
    // The same from one that is told of no places up to which nothing is to be heard.
    let guest = Guest::connect_with(&ground.socket(), FEATURES & !(1 << 29));
    guest.put(table + 0x1002, &[0xff, 0x7f]);
    guest.kick(0);
    assert!(guest.is_let_go());
    // Messages that make no sense; the last three are about a ring that runs.
    for (request, payload) in [
        (99, vec![]),
        (5, words(&[1])),
        (8, words(&[7 << 32 | 999])),
        (8, words(&[1024 << 32])),
        (9, words(&[0, USER_BASE, USER_BASE, USER_BASE, 0])),
        (10, words(&[0])),
    ] {
        let guest = Guest::connect(&ground.socket());
        guest.send(request, 0, &payload, &[]);
        assert!(guest.is_let_go(), "request {request}");
    }
    let mut guest = Guest::connect(&ground.socket());
    assert_eq!(guest.read(0, 4096), [7; 4096]);
    node.assert_alive();
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 7 0 4k", &node.uri("vol0")]);
    node.stop();
}

/// A ring whose guest hands over another descriptor goes on as it was, and takes nothing twice.
#[test]
fn a_ring_that_runs_does_not_begin_again() {
    let ground = Ground::new();
    let node = ground.start();
    let mut guest = Guest::connect(&ground.socket());
    // As it stands while the node carries a request out.
    guest.note_under_way(0, 60, 0);
    guest.hand_over_kick(0);
    let head = guest.begin_request(0, (4, 0), &[], 0);
    assert_eq!(guest.answers(0, 1)[0].0, head);
    assert_eq!(guest.answer(head, 0).status, 0);
    assert_eq!(guest.untaken(0), 0);
    node.stop();
}

/// A guest has one place: the next one is refused while the first is there, and is let in when that has gone, with work under way or not.
#[test]
fn an_image_has_one_guest_at_a_time() {
    let ground = Ground::new();
    let node = ground.start();
    let mut guest = Guest::connect(&ground.socket());
    let second = std::os::unix::net::UnixStream::connect(ground.socket()).unwrap();
    assert_eq!(std::io::Read::read(&mut &second, &mut [0; 1]).unwrap_or(0), 0, "it is refused");
    for turn in 0..16 {
        guest.begin_request(0, (1, turn * 128), &[turn as u8 + 1; 64 << 10], 0);
    }
    guest.hang_up();
    let mut guest = Guest::connect(&ground.socket());
    guest.write(0, &[99; 64 << 10]);
    assert_eq!(guest.read(0, 64 << 10), [99; 64 << 10], "nothing of the first comes behind it");
    assert!(node.log().contains("another one is connected"), "{}", node.log());
    node.stop();
}

/// The node is ended between any two moments of a guest's work: the guest connects again, and what was under way is carried out once more.
#[test]
fn a_guest_goes_on_after_a_kill() {
    let ground = Ground::new();
    let mut guest: Option<Guest> = None;
    let mut late = [0; 3];
    for life in 1..5u8 {
        let node = ground.start();
        let guest = match &mut guest {
            Some(guest) => {
                guest.reconnect(&ground.socket());
                // What the last life left: twelve by the first ring, of which it may have taken some, and three by the second, of which the
                // last one is answered.
                assert_eq!(guest.answers(0, 12).len(), 12);
                let answers = guest.answers(1, 3);
                let heads: Vec<u16> = answers.iter().map(|(head, _)| *head).collect();
                assert_eq!(heads[0], late[2], "it was answered by the last life");
                assert_eq!([heads[1].min(heads[2]), heads[1].max(heads[2])], [late[0], late[1]]);
                assert!(heads[1..].iter().all(|head| guest.answer(*head, 0).status == 0));
                assert_eq!(guest.answer(late[2], 0).status, 0xff, "and not again");
                for turn in 0..12 {
                    assert_eq!(guest.read(turn * 8, 4096), vec![life - 1; 4096]);
                }
                assert_eq!(guest.untaken(0) + guest.untaken(1), 0, "each is answered once");
                guest
            }
            None => guest.insert(Guest::connect(&ground.socket())),
        };
        for turn in 0..12 {
            guest.begin_request(0, (1, turn * 8), &[life; 4096], 0);
        }
        node.kill();
        // Taken by a node that has come no further.
        late = [0, 1, 2].map(|number| {
            let head = guest.begin_request(1, (1, 4096 + number * 8), &[life + 100; 4096], 0);
            guest.note_under_way(1, head, number);
            head
        });
        late.sort_unstable();
        guest.answer_as_node(1, late[2]);
    }
}

/// Zeros of 64 MiB are sixteen steps where objects have 64 KiB. A stop between two of them was an I/O error for the guest, which remounts its file
/// system read-only then, though the node's next life would have carried them out. Who keeps nothing for that has its answer before the end.
#[test]
fn a_stop_in_the_midst_of_zeros_is_no_error_for_a_guest() {
    const SECTORS: u32 = 1 << 17;
    let ground = Ground::new();
    let node = Node::start(&ground.folder.path().join("node"), &SMALL);
    node.tell(&["image", "create", "many", "--size", "64MiB", "--object-size", "64KiB"]);
    node.stop();
    for (keeps, limit) in [(true, "50"), (false, "400")] {
        let node = ground.start_with("many");
        succeed("qemu-io", &["-f", "raw", "-c", "write -P 7 0 64M", &node.uri("many")]);
        let mut guest = Guest::connect(&ground.socket());
        if !keeps {
            guest.keeps_nothing();
        }
        node.tell(&["image", "qos", "many", "--limit", limit]);
        let head = guest.begin_request(0, (13, 0), &range(0, SECTORS, 0), 0);
        node.wait_until("it is under way", |node| {
            node.status()["memory"]["connections_held_bytes"].as_u64() > Some(0)
        });
        node.stop();
        assert_eq!(guest.untaken(0), u16::from(!keeps), "an answer before the end");
        let node = ground.start_with("many");
        node.tell(&["image", "qos", "many", "--limit", "0"]);
        if keeps {
            guest.reconnect(&ground.socket());
        }
        assert_eq!(guest.answers(0, 1)[0].0, head);
        assert_eq!(guest.answer(head, 0).status, 0, "it goes on after the stop: {keeps}");
        succeed("qemu-io", &["-f", "raw", "-c", "read -P 0 0 64M", &node.uri("many")]);
        node.stop();
    }
}

/// A front end asks for the size once, when its machine begins. An image that became longer while the node was not there, or before the machine
/// came again, was never told to it.
#[test]
fn a_guest_that_comes_again_is_told_what_size_its_disk_has() {
    let ground = Ground::new();
    let node = ground.start();
    let mut guest = Guest::connect(&ground.socket());
    node.stop();
    let node = ground.start();
    node.tell(&["image", "resize", "vol0", "128MiB"]);
    guest.reconnect(&ground.socket());
    guest.hears_of_its_disk();
    let config = guest.config_part(60);
    assert_eq!(u64::from_le_bytes(*config.first_chunk().unwrap()) * 512, 2 * IMAGE_BYTES);
    node.stop();
}

#[test]
fn a_snapshot_is_a_disk_that_is_not_written() {
    let ground = Ground::new();
    let node = ground.start();
    Guest::connect(&ground.socket()).write(0, &[3; 4096]);
    node.tell(&["image", "snapshot", "create", "vol0@monday"]);
    node.stop();
    let face = format!("vol0@monday={}", ground.socket().display());
    let dir = ground.folder.path().join("node");
    let node = Node::start(&dir, &[&SMALL[..], &["--vhost", &face]].concat());
    let mut guest = Guest::connect(&ground.socket());
    assert_ne!(guest.features & 1 << 5, 0, "it is said to be read-only");
    assert_eq!(guest.read(0, 4096), [3; 4096]);
    assert_eq!(guest.request((1, 0), &[4; 512], 0).status, 1);
    assert_eq!(guest.request((11, 0), &range(0, 8, 0), 0).status, 1);
    node.stop();
}

#[test]
fn what_cannot_be_a_guests_disk_is_refused() {
    let ground = Ground::new();
    let folder = ground.folder.path();
    let dir = folder.join("node");
    let dir = dir.to_str().unwrap();
    let check = |faces: &[&str], code: i32, says: &str| {
        let flags: Vec<&str> = faces.iter().flat_map(|face| ["--vhost", face]).collect();
        let serve = [&["serve", "--log", "error", "--dir", dir], &SMALL[..], &flags].concat();
        let done = output(PROGRAM, &serve);
        assert_eq!(done.status.code(), Some(code), "{faces:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "`{}` should contain `{says}`", done.stderr);
    };
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let here = |image: &str, name: &str| format!("{image}={}", at(name));
    check(&["vol0"], 2, "expected an image and a path, such as `vol0=vol0.sock`");
    check(&[&here("vol0", "a"), &here("vol0", "b")], 2, "`vol0` stands there twice");
    check(&[&here("vol0", "a"), &here("vol0@x", "a")], 2, "is two images' path");
    check(&[&here("vol9", "a")], 2, "vol9");
    std::fs::write(folder.join("file"), "something").unwrap();
    check(&[&here("vol0", "file")], 2, "no socket");
    let taken = std::os::unix::net::UnixListener::bind(folder.join("taken")).unwrap();
    check(&[&here("vol0", "taken")], 1, "another process listens there");
    drop(taken);
    let node =
        Node::start(Path::new(dir), &[&SMALL[..], &["--vhost", &here("vol0", "taken")]].concat());
    node.stop();
}
