//! Requests that never find room for all of them: they are carried out in parts, and nobody can tell by what comes of them.

use crate::client::{Answer, Reader, request};
use crate::disk::{SIZE, Shop};
use crate::talk::Talk;
use loadline_wire::nbd::{
    Close, CommandKind, ExportCommand, NbdError, NbdReply, ReplyPayload, StatusExtent,
};
use loadline_wire::request_room::ROOM_MIN;
use proptest::prelude::*;

const DF: u16 = 4;

/// A read or a write of the disk.
#[derive(Clone, Debug)]
struct Transfer {
    writes: Option<u8>,
    whole: bool,
    offset: u64,
    length: u32,
}

impl Transfer {
    fn bytes(&self, cookie: u64, structured: bool) -> Vec<u8> {
        let flags = if structured && self.whole && self.writes.is_none() { DF } else { 0 };
        let head = |command| request(flags, command, cookie, self.offset, self.length);
        match self.writes {
            Some(byte) => [head(1), vec![byte; self.length as usize]].concat(),
            None => head(0),
        }
    }
}

fn transfer() -> impl Strategy<Value = Transfer> {
    let size = SIZE as u64;
    (any::<Option<u8>>(), any::<bool>(), 0..size, 1..=size).prop_map(
        move |(writes, whole, offset, length)| {
            let length = length.min(size - offset) as u32;
            Transfer { writes, whole, offset, length }
        },
    )
}

/// What each request is answered with, by its cookie: the data of a read.
fn answers(heard: &[u8], transfers: &[Transfer]) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new(); transfers.len()];
    let mut is_done = vec![false; transfers.len()];
    let mut reader = Reader(heard);
    while !reader.0.is_empty() {
        let read = |cookie: u64| match &transfers[cookie as usize] {
            Transfer { writes: None, length, .. } => *length as usize,
            _ => 0,
        };
        let (cookie, done) = match reader.answer(read) {
            Answer::Simple { cookie, error: 0, data } => {
                found[cookie as usize] = data;
                (cookie, true)
            }
            Answer::Chunk { cookie, done, kind, data } => {
                let mut reader = Reader(&data);
                let offset = reader.number(8);
                let data = match kind {
                    1 => reader.0.to_vec(),
                    2 => vec![0; reader.number(4) as usize],
                    kind => panic!("chunk {kind} answers no read"),
                };
                let before = &mut found[cookie as usize];
                let at = transfers[cookie as usize].offset + before.len() as u64;
                assert_eq!(offset, at, "parts come in order");
                before.extend(data);
                (cookie, done)
            }
            answer => panic!("nothing fails here: {answer:?}"),
        };
        assert!(!std::mem::replace(&mut is_done[cookie as usize], done), "nothing follows");
    }
    assert!(is_done.iter().all(|done| *done), "everything is answered");
    found
}

/// Says all of it at once to a session that is given these rooms in turns; what each request is answered with, and the most that commands
/// held together.
fn outcome(transfers: &[Transfer], structured: bool, rooms: &[u64]) -> (Vec<Vec<u8>>, u64) {
    let mut talk = if structured { Talk::structured("disk") } else { Talk::simple("disk") };
    let said = transfers.iter().zip(0..);
    let said: Vec<u8> = said.flat_map(|(one, cookie)| one.bytes(cookie, structured)).collect();
    let (mut input, mut heard, mut most) = (&said[..], Vec::new(), 0);
    for room in rooms.iter().cycle() {
        talk.session.set_room(*room, &mut talk.out);
        let taken = talk.session.receive(input, &Shop, &mut talk.out);
        input = &input[taken..];
        let held: u64 = talk.out.commands.iter().map(|command| command.holds).sum();
        assert!(held <= *room, "{held} bytes in {room}");
        most = most.max(held);
        talk.carry_out();
        heard.extend(talk.heard());
        if input.is_empty() && !talk.session.lacks_room() {
            break;
        }
    }
    assert_eq!((talk.session.in_flight(), talk.out.close), (0, None));
    (answers(&heard, transfers), most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nobody_can_tell_by_the_outcome_how_much_room_there_was(
        transfers in proptest::collection::vec(transfer(), 1..8),
        structured in any::<bool>(),
        rooms in proptest::collection::vec(ROOM_MIN..2 * ROOM_MIN, 1..5),
    ) {
        let (few, most) = outcome(&transfers, structured, &rooms);
        prop_assert!(most < 2 * ROOM_MIN);
        prop_assert_eq!(few, outcome(&transfers, structured, &[u64::MAX]).0);
    }
}

/// A session that carries out a request of 40,000 bytes at 1,000, and the first part of it.
fn begun(talk: &mut Talk, flags: u16, command: u16) -> ExportCommand {
    talk.session.set_room(ROOM_MIN, &mut talk.out);
    let head = request(flags, command, 7, 1000, 40_000);
    assert_eq!(talk.session.receive(&head, &Shop, &mut talk.out), 28);
    assert!(talk.session.waits_for_room() || command == 0 || command == 1);
    if command == 1 {
        let want = talk.session.want();
        assert_eq!(want, 16_384 - 1000, "up to the border of a block");
        talk.session.receive(&vec![7; want], &Shop, &mut talk.out);
    }
    assert_eq!((talk.session.want(), talk.session.lacks_room()), (0, true));
    let part = talk.out.commands.remove(0);
    assert_eq!((part.offset, part.length, part.holds), (1000, 15_384, 15_384));
    part
}

fn failed(talk: &mut Talk, command: &ExportCommand) {
    let result = Err(NbdError::Io.into());
    talk.session.finish(NbdReply { id: command.id, result }, &mut talk.out);
}

#[test]
fn a_write_whose_part_fails_is_answered_once_and_the_rest_of_it_is_passed_over() {
    let mut talk = Talk::simple("disk");
    let part = begun(&mut talk, 0, 1);
    assert_eq!(part.kind, CommandKind::Write(vec![7; 15_384]));
    failed(&mut talk, &part);
    assert_eq!(talk.heard(), [], "an error comes behind the payload, as any other does");
    assert!(!talk.session.lacks_room());
    let heard = talk.say(&vec![7; 40_000 - 15_384]);
    let failure = Answer::Simple { cookie: 7, error: 5, data: Vec::new() };
    assert_eq!(Reader(&heard).answer(|_| 0), failure);
    talk.command(&request(0, 0, 8, 0, 512));
}

/// The head of an answer in one piece says that all is well.
#[test]
fn a_read_that_fails_late_says_so_or_ends_its_connection() {
    for (structured, flags) in [(false, 0), (true, DF), (true, 0)] {
        let mut talk = if structured { Talk::structured("disk") } else { Talk::simple("disk") };
        let part = begun(&mut talk, flags, 0);
        let heard = talk.finish(&part, ReplyPayload::Data(vec![1; 15_384]));
        assert!(heard.len() >= 15_384 && talk.session.waits_for_room());
        talk.session.set_room(ROOM_MIN, &mut talk.out);
        let part = talk.out.commands.remove(0);
        assert_eq!((part.offset, part.length), (16_384, 16_384));
        failed(&mut talk, &part);
        let close = std::mem::take(&mut talk.out.close);
        if !structured || flags == DF {
            assert_eq!(close, Some(Close::CutShort(NbdError::Io.into())));
            assert_eq!((talk.heard(), talk.session.want()), (Vec::new(), 0));
            continue;
        }
        let heard = talk.heard();
        let answer = Reader(&heard).answer(|_| 0);
        assert!(matches!(answer, Answer::Chunk { done: true, kind: 0x8001, .. }), "{answer:?}");
        talk.session.set_room(ROOM_MIN, &mut talk.out);
        talk.command(&request(0, 0, 8, 0, 512));
    }
}

#[test]
fn a_read_whose_first_part_fails_is_answered_by_that() {
    let mut talk = Talk::simple("disk");
    let part = begun(&mut talk, 0, 0);
    failed(&mut talk, &part);
    let heard = talk.heard();
    assert_eq!(Reader(&heard).answer(|_| 9), Answer::Simple { cookie: 7, error: 5, data: vec![] });
    talk.command(&request(0, 0, 8, 0, 512));
}

/// What brings no data is carried out as a whole, with fewer ops at a time.
#[test]
fn a_question_takes_what_room_there_is() {
    let mut talk = Talk::structured("huge");
    talk.session.set_room(u64::MAX, &mut talk.out);
    let all = talk.command(&request(0, 7, 1, 0, 1 << 30));
    assert!(all.holds > 5 * ROOM_MIN, "{}", all.holds);
    talk.session.set_room(ROOM_MIN, &mut talk.out);
    let head = request(0, 7, 2, 0, 1 << 30);
    talk.session.receive(&head, &Shop, &mut talk.out);
    assert!(talk.session.waits_for_room(), "what the first one holds comes back");
    let extent = StatusExtent { length: 1 << 30, hole: true, zero: true };
    talk.finish(&all, ReplyPayload::Extents(vec![extent]));
    talk.session.set_room(ROOM_MIN, &mut talk.out);
    let few = talk.out.commands.remove(0);
    assert_eq!((few.length, few.holds), (1 << 30, ROOM_MIN));
    assert!(!talk.session.lacks_room());
}
