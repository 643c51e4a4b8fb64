//! The negotiation: every option, well and badly formed.

use crate::client::{MODERN, OptionReply, Reader, be, choice, contexts, hello, option, text};
use crate::disk::Shop;
use crate::talk::Talk;
use loadline_wire::nbd::{Close, ConnectionLimits, Violation};

const UNSUPPORTED: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;
const TOO_BIG: u32 = 0x8000_0009;

/// Flags, flush, FUA, trim, zeroes, many connections, cache, fast zeroes.
const DISK_FLAGS: u64 = 0b1101_0110_1101;
/// Flags, read-only, flush, FUA, rotational.
const TAPE_FLAGS: u64 = 0b1_1111;
/// Reads may be asked for in one piece.
const DF: u64 = 1 << 7;

fn replies(talk: &mut Talk, number: u32, data: &[u8]) -> Vec<OptionReply> {
    let heard = talk.say(&option(number, data));
    let replies = Reader(&heard).option_replies();
    assert!(replies.iter().all(|reply| reply.option == number), "replies name their option");
    replies
}

/// The kinds of the replies to an option.
fn kinds(talk: &mut Talk, number: u32, data: &[u8]) -> Vec<u32> {
    replies(talk, number, data).into_iter().map(|reply| reply.kind).collect()
}

#[track_caller]
fn violates(flags: u32, bytes: &[u8], expected: Violation) {
    let mut talk = Talk::greeted(flags);
    let taken = talk.session.receive(bytes, &Shop, &mut talk.out);
    assert_eq!(talk.out.close, Some(Close::Violated(expected)));
    assert_eq!((talk.session.want(), talk.heard()), (0, vec![]));
    assert!(taken <= bytes.len());
}

#[test]
fn the_greeting_offers_fixed_newstyle_without_zeroes() {
    let greeting = Talk::with(ConnectionLimits::default()).heard();
    assert_eq!(greeting, [b"NBDMAGICIHAVEOPT".as_slice(), &[0, 3]].concat());
}

#[test]
fn flags_that_were_not_offered_end_the_connection() {
    let mut talk = Talk::with(ConnectionLimits::default());
    talk.session.receive(&hello(7), &Shop, &mut talk.out);
    assert_eq!(talk.out.close, Some(Close::Violated(Violation::ClientFlags(7))));
}

#[test]
fn export_name_answers_with_size_and_flags_and_zeroes_for_old_clients() {
    for (flags, zeroes) in [(0, 124), (1, 124), (2, 0), (3, 0)] {
        let mut talk = Talk::greeted(flags);
        let heard = talk.say(&option(1, b"disk"));
        let expected = [be(&[(65536, 8), (DISK_FLAGS, 2)]), vec![0; zeroes]].concat();
        assert_eq!(heard, expected, "client flags {flags}");
        assert!(!talk.session.is_negotiating());
    }
}

#[test]
fn the_empty_name_is_the_default_export() {
    let mut talk = Talk::greeted(MODERN);
    assert_eq!(talk.say(&option(1, b"")), be(&[(65536, 8), (DISK_FLAGS, 2)]));
    assert_eq!(kinds(&mut Talk::greeted(MODERN), 7, &choice("", &[])), [3, 3, 1]);
}

#[test]
fn what_has_no_reply_ends_the_connection() {
    violates(MODERN, &option(1, b"none"), Violation::UnknownExport("none".into()));
    violates(MODERN, &option(1, b"\xff"), Violation::ExportName);
    violates(MODERN, &option(1, b"a\0b"), Violation::ExportName);
    violates(MODERN, &option(1, &[b'a'; 4097]), Violation::ExportName);
    violates(2, &option(3, &[]), Violation::NotFixed(3));
    violates(MODERN, &[b'x'; 16], Violation::OptionMagic(0x7878_7878_7878_7878));
}

#[test]
fn abort_is_acknowledged_and_closes() {
    for data in [&b""[..], b"with data"] {
        let mut talk = Talk::greeted(MODERN);
        assert_eq!(kinds(&mut talk, 2, data), [1]);
        assert!(talk.closed_by_request());
        assert_eq!(talk.session.want(), 0);
    }
}

#[test]
fn list_names_every_export() {
    let mut talk = Talk::greeted(MODERN);
    let listed: Vec<Vec<u8>> = replies(&mut talk, 3, &[]).into_iter().map(|r| r.data).collect();
    let tape = [text("tape"), b"slow and safe".to_vec()].concat();
    assert_eq!(listed, [text("disk"), tape, text("huge"), vec![]]);
    assert_eq!(kinds(&mut talk, 3, &[]), [2, 2, 2, 1]);
    assert_eq!(kinds(&mut talk, 3, b"x"), [INVALID]);
}

#[test]
fn info_and_go_tell_the_same() {
    let sizes = be(&[(3, 2), (1, 4), (4096, 4), (32 << 20, 4)]);
    let export = be(&[(0, 2), (65536, 8), (TAPE_FLAGS, 2)]);
    let name = [&[0, 1][..], b"tape"].concat();
    let description = [&[0, 2][..], b"slow and safe"].concat();
    let expected = [export, sizes, name, description, vec![]];
    for number in [6, 7] {
        let mut talk = Talk::greeted(MODERN);
        // Wish 9 does not exist and is ignored.
        let told = replies(&mut talk, number, &choice("tape", &[3, 1, 9, 2]));
        assert_eq!(told.iter().map(|r| r.kind).collect::<Vec<_>>(), [3, 3, 3, 3, 1]);
        assert_eq!(told.into_iter().map(|r| r.data).collect::<Vec<_>>(), expected);
        assert_eq!(talk.session.is_negotiating(), number == 6);
    }
}

#[test]
fn an_unknown_export_is_refused_and_the_next_may_be_chosen() {
    let mut talk = Talk::greeted(MODERN);
    assert_eq!(kinds(&mut talk, 6, &choice("none", &[])), [UNKNOWN]);
    assert_eq!(kinds(&mut talk, 7, &choice("none", &[])), [UNKNOWN]);
    assert_eq!(kinds(&mut talk, 7, &choice("disk", &[])), [3, 3, 1]);
}

#[test]
fn structured_replies_add_a_flag() {
    let mut talk = Talk::greeted(MODERN);
    assert_eq!(kinds(&mut talk, 8, b"x"), [INVALID]);
    assert_eq!(kinds(&mut talk, 8, &[]), [1]);
    let told = replies(&mut talk, 7, &choice("disk", &[]));
    assert_eq!(told[0].data, be(&[(0, 2), (65536, 8), (DISK_FLAGS | DF, 2)]));
}

#[test]
fn badly_formed_choices_are_refused() {
    let named = |length: u64| [be(&[(length, 4)]), b"disk".to_vec(), be(&[(0, 2)])].concat();
    let bad = [
        vec![],
        text("disk"),
        named(5),
        named(u64::from(u32::MAX)),
        [text("disk"), be(&[(1, 2)])].concat(),
        [text("disk"), be(&[(0, 2), (0, 1)])].concat(),
        choice("di\0sk", &[]),
        choice(&"a".repeat(4097), &[]),
    ];
    for (number, data) in [6, 7].into_iter().flat_map(|n| bad.iter().map(move |data| (n, data))) {
        let mut talk = Talk::greeted(MODERN);
        assert_eq!(kinds(&mut talk, number, data), [INVALID], "{data:x?}");
        assert!(talk.session.is_negotiating());
    }
}

#[test]
fn unknown_options_are_refused_with_their_data() {
    let mut talk = Talk::greeted(MODERN);
    for number in [4, 5, 11, 12, 0x4c4c, u32::MAX] {
        assert_eq!(kinds(&mut talk, number, &[7; 100]), [UNSUPPORTED], "option {number}");
        assert_eq!(kinds(&mut talk, number, &[]), [UNSUPPORTED], "option {number}");
    }
    assert_eq!(kinds(&mut talk, 3, &[]), [2, 2, 2, 1]);
}

#[test]
fn options_longer_than_64_kib_are_skipped() {
    let mut talk = Talk::greeted(MODERN);
    assert_eq!(kinds(&mut talk, 99, &[0; 65536]), [UNSUPPORTED]);
    for number in [2, 3, 7, 99] {
        assert_eq!(kinds(&mut talk, number, &[0; 65537]), [TOO_BIG], "option {number}");
    }
    assert_eq!(kinds(&mut talk, 3, &[]), [2, 2, 2, 1]);
}

/// Contexts that a query finds: in a list with number 0, in a selection with number 1.
#[test]
fn queries_find_base_allocation() {
    let table: [(&[&str], bool, bool); 8] = [
        (&[], true, false),
        (&["base:"], true, false),
        (&["base:allocation"], true, true),
        (&["qemu:dirty-bitmap:x", "base:allocation"], true, true),
        (&["base:allocation", "base:allocation"], true, true),
        (&["base:other"], false, false),
        (&["x-mine:"], false, false),
        (&["base"], false, false),
    ];
    for (queries, listed, selected) in table {
        for (number, id, found) in [(9, 0, listed), (10, 1, selected)] {
            let mut talk = Talk::greeted(MODERN);
            talk.say(&option(8, &[]));
            let told = replies(&mut talk, number, &contexts("disk", queries));
            let (last, contexts) = told.split_last().expect("there is a reply");
            let context = [be(&[(id, 4)]), b"base:allocation".to_vec()].concat();
            assert_eq!(last.kind, 1, "{queries:?}");
            assert_eq!(contexts.len(), usize::from(found), "option {number}: {queries:?}");
            assert!(contexts.iter().all(|reply| reply.kind == 4 && reply.data == context));
        }
    }
}

#[test]
fn contexts_are_refused_where_they_make_no_sense() {
    for number in [9, 10] {
        let mut talk = Talk::greeted(MODERN);
        let good = contexts("disk", &["base:allocation"]);
        assert_eq!(kinds(&mut talk, number, &good), [INVALID], "before structured replies");
        talk.say(&option(8, &[]));
        assert_eq!(kinds(&mut talk, number, &contexts("none", &[])), [UNKNOWN]);
        assert_eq!(kinds(&mut talk, number, &good[..good.len() - 1]), [INVALID]);
        assert_eq!(kinds(&mut talk, number, &[&good[..], b"x"].concat()), [INVALID]);
        let many = [text("disk"), be(&[(u64::from(u32::MAX), 4)])].concat();
        assert_eq!(kinds(&mut talk, number, &many), [INVALID], "a count without queries");
    }
}
