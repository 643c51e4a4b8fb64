//! Commands that reach the owner, and their answers byte for byte.

use crate::client::{be, request};
use crate::talk::Talk;
use loadline_wire::nbd::{
    CommandKind, ExportId, NbdError, NbdFailure, NbdReply, PAYLOAD_MAX, ReadPiece, ReplyPayload,
    StatusExtent,
};

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const DF: u16 = 4;
const REQ_ONE: u16 = 8;
const FAST_ZERO: u16 = 16;

const COOKIE: u64 = 0x0102_0304_0506_0708;

fn simple(error: u64) -> Vec<u8> {
    be(&[(0x6744_6698, 4), (error, 4), (COOKIE, 8)])
}

fn chunk(done: u64, kind: u64, data: &[u8]) -> Vec<u8> {
    let words = [(0x668e_33ef, 4), (done, 2), (kind, 2), (COOKIE, 8), (data.len() as u64, 4)];
    [be(&words), data.to_vec()].concat()
}

/// A chunk with data, or with a hole.
fn data_chunk(done: u64, offset: u64, data: &[u8]) -> Vec<u8> {
    chunk(done, 1, &[&be(&[(offset, 8)]), data].concat())
}

fn hole_chunk(done: u64, offset: u64, length: u64) -> Vec<u8> {
    chunk(done, 2, &be(&[(offset, 8), (length, 4)]))
}

#[test]
fn every_command_arrives_as_it_was_sent() {
    let zeroes = |no_hole, fast| CommandKind::WriteZeroes { no_hole, fast };
    let table = [
        (READ, 0, CommandKind::Read),
        (READ, FUA | DF, CommandKind::Read),
        (TRIM, FUA, CommandKind::Trim),
        (CACHE, FUA, CommandKind::Cache),
        (WRITE_ZEROES, 0, zeroes(false, false)),
        (WRITE_ZEROES, FUA | NO_HOLE, zeroes(true, false)),
        (WRITE_ZEROES, FAST_ZERO, zeroes(false, true)),
        (BLOCK_STATUS, FUA, CommandKind::BlockStatus { one: false, since: None }),
        (BLOCK_STATUS, REQ_ONE, CommandKind::BlockStatus { one: true, since: None }),
    ];
    for (number, flags, kind) in table {
        let mut talk = Talk::structured("disk");
        let command = talk.command(&request(flags, number, COOKIE, 513, 7));
        assert_eq!(command.kind, kind);
        assert_eq!((command.offset, command.length), (513, 7));
        assert_eq!((command.export, command.fua), (ExportId(1), flags & FUA != 0));
        assert_eq!(talk.session.in_flight(), 1);
    }
}

#[test]
fn a_write_brings_its_payload_and_a_flush_nothing() {
    for (mut talk, flags) in [(Talk::simple("disk"), 0), (Talk::structured("disk"), FUA)] {
        let bytes = [request(flags, WRITE, COOKIE, 1, 5), b"hello".to_vec()].concat();
        let command = talk.command(&bytes);
        assert_eq!(command.kind, CommandKind::Write(b"hello".to_vec()));
        assert_eq!(command.fua, flags == FUA);
        assert_eq!(talk.finish(&command, ReplyPayload::Done), simple(0));
        let command = talk.command(&request(flags, FLUSH, COOKIE, 0, 0));
        assert_eq!(command.kind, CommandKind::Flush);
        assert_eq!(talk.finish(&command, ReplyPayload::Done), simple(0));
    }
}

#[test]
fn the_last_byte_and_the_longest_payload_are_served() {
    let mut talk = Talk::simple("huge");
    let offset = u64::MAX - u64::from(PAYLOAD_MAX);
    let read = talk.command(&request(0, READ, COOKIE, offset, PAYLOAD_MAX));
    assert_eq!((read.export, read.length), (ExportId(3), PAYLOAD_MAX));
    let zeroes = talk.command(&request(0, WRITE_ZEROES, COOKIE, 0, u32::MAX));
    assert_eq!(zeroes.length, u32::MAX);
    let mut bytes = request(0, WRITE, COOKIE, offset, PAYLOAD_MAX);
    bytes.resize(bytes.len() + PAYLOAD_MAX as usize, 9);
    let CommandKind::Write(data) = talk.command(&bytes).kind else { panic!("a write") };
    assert_eq!((data.len(), data.capacity()), (PAYLOAD_MAX as usize, PAYLOAD_MAX as usize));
}

/// A read's answer in each way, for each answer of the owner.
fn check_read(talk: &mut Talk, flags: u16, answer: ReplyPayload, expected: &[u8]) {
    let command = talk.command(&request(flags, READ, COOKIE, 100, 6));
    assert_eq!(talk.finish(&command, answer), expected);
}

#[test]
fn reads_are_answered_simply() {
    let mut talk = Talk::simple("disk");
    let expected = [simple(0), b"abcdef".to_vec()].concat();
    check_read(&mut talk, 0, ReplyPayload::Data(b"abcdef".to_vec()), &expected);
    let pieces = vec![ReadPiece::Data(b"ab".to_vec()), ReadPiece::Hole(4)];
    let expected = [simple(0), b"ab\0\0\0\0".to_vec()].concat();
    check_read(&mut talk, 0, ReplyPayload::Pieces(pieces), &expected);
}

#[test]
fn reads_are_answered_in_chunks() {
    let mut talk = Talk::structured("disk");
    let data = || ReplyPayload::Data(b"abcdef".to_vec());
    let pieces = || {
        ReplyPayload::Pieces(vec![
            ReadPiece::Hole(1),
            ReadPiece::Data(b"bcd".to_vec()),
            ReadPiece::Hole(2),
        ])
    };
    check_read(&mut talk, 0, data(), &data_chunk(1, 100, b"abcdef"));
    check_read(&mut talk, DF, data(), &data_chunk(1, 100, b"abcdef"));
    let apart = [hole_chunk(0, 100, 1), data_chunk(0, 101, b"bcd"), hole_chunk(1, 104, 2)];
    check_read(&mut talk, 0, pieces(), &apart.concat());
    check_read(&mut talk, DF, pieces(), &data_chunk(1, 100, b"\0bcd\0\0"));
    check_read(
        &mut talk,
        0,
        ReplyPayload::Pieces(vec![ReadPiece::Hole(6)]),
        &hole_chunk(1, 100, 6),
    );
}

#[test]
fn a_long_payload_is_not_copied() {
    for mut talk in [Talk::simple("disk"), Talk::structured("disk")] {
        let data = vec![7; 8192];
        let address = data.as_ptr();
        let command = talk.command(&request(0, READ, COOKIE, 0, 8192));
        let result = Ok(ReplyPayload::Data(data));
        talk.session.finish(NbdReply { id: command.id, result }, &mut talk.out);
        assert_eq!(talk.out.send.len(), 2, "a head and a payload");
        assert_eq!(talk.out.send[1].as_ptr(), address);
    }
}

#[test]
fn block_status_describes_extents_inside_the_request() {
    let extent = |length, hole, zero| StatusExtent { length, hole, zero };
    let status =
        |descriptors: &[(u64, usize)]| chunk(1, 5, &[be(&[(1, 4)]), be(descriptors)].concat());
    let table = [
        (0, vec![extent(10, true, true)], status(&[(10, 4), (3, 4)])),
        (0, vec![extent(99, false, true)], status(&[(10, 4), (2, 4)])),
        (
            0,
            vec![extent(4, true, false), extent(6, false, false), extent(5, true, true)],
            status(&[(4, 4), (1, 4), (6, 4), (0, 4)]),
        ),
        (REQ_ONE, vec![extent(4, false, false), extent(6, true, true)], status(&[(4, 4), (0, 4)])),
    ];
    for (flags, extents, expected) in table {
        let mut talk = Talk::structured("disk");
        let command = talk.command(&request(flags, BLOCK_STATUS, COOKIE, 512, 10));
        assert_eq!(talk.finish(&command, ReplyPayload::Extents(extents)), expected);
    }
}

#[test]
fn block_status_stops_after_1024_extents() {
    let mut talk = Talk::structured("disk");
    let command = talk.command(&request(0, BLOCK_STATUS, COOKIE, 0, 2000));
    let extents = vec![StatusExtent { length: 1, hole: false, zero: false }; 2000];
    let heard = talk.finish(&command, ReplyPayload::Extents(extents));
    assert_eq!(heard.len(), 20 + 4 + 1024 * 8);
}

#[test]
fn errors_of_the_owner_are_told_with_their_message_where_there_is_room() {
    let table = [
        (NbdError::Permission, 1),
        (NbdError::Io, 5),
        (NbdError::Memory, 12),
        (NbdError::Invalid, 22),
        (NbdError::NoSpace, 28),
        (NbdError::Overflow, 75),
        (NbdError::NotSupported, 95),
        (NbdError::Shutdown, 108),
    ];
    for (error, number) in table {
        for command in [READ, TRIM, BLOCK_STATUS] {
            let mut talk = Talk::structured("disk");
            let command = talk.command(&request(0, command, COOKIE, 0, 8));
            let failure = NbdFailure { error, message: "no luck".into() };
            talk.session.finish(NbdReply { id: command.id, result: Err(failure) }, &mut talk.out);
            let data = [be(&[(number, 4), (7, 2)]), b"no luck".to_vec()].concat();
            assert_eq!(talk.heard(), chunk(1, 0x8001, &data));
        }
        let mut talk = Talk::simple("disk");
        let command = talk.command(&request(0, READ, COOKIE, 0, 8));
        let result = Err(error.into());
        talk.session.finish(NbdReply { id: command.id, result }, &mut talk.out);
        assert_eq!(talk.heard(), simple(number));
    }
}

#[test]
fn a_message_is_cut_between_characters() {
    let mut talk = Talk::structured("disk");
    let command = talk.command(&request(0, READ, COOKIE, 0, 8));
    let failure = NbdFailure { error: NbdError::Io, message: "€".repeat(2000).into() };
    talk.session.finish(NbdReply { id: command.id, result: Err(failure) }, &mut talk.out);
    // 4096 / 3 bytes of each character = 1365 characters.
    let data = [be(&[(5, 4), (4095, 2)]), "€".repeat(1365).into_bytes()].concat();
    assert_eq!(talk.heard(), chunk(1, 0x8001, &data));
}

#[test]
fn answers_may_come_in_any_order_and_cookies_twice() {
    let mut talk = Talk::simple("disk");
    let first = talk.command(&request(0, READ, COOKIE, 0, 3));
    let second = talk.command(&request(0, READ, COOKIE, 3, 2));
    let expected = [simple(0), b"de".to_vec()].concat();
    assert_eq!(talk.finish(&second, ReplyPayload::Data(b"de".to_vec())), expected);
    let expected = [simple(0), b"abc".to_vec()].concat();
    assert_eq!(talk.finish(&first, ReplyPayload::Data(b"abc".to_vec())), expected);
}
