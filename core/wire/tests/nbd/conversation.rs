//! One whole conversation, byte for byte, in every fragmentation.

use crate::disk::Shop;
use crate::talk::Talk;
use loadline_wire::nbd::ConnectionLimits;

/// Lines `C` with a client's message, `S` with what the server says to it, both in hexadecimal, and `#` in words.
const CONVERSATION: &str = include_str!("conversation.txt");

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).expect("hex");
    digits.chunks(2).map(byte).collect()
}

/// The messages of the client with the server's words to each; the greeting answers nothing.
fn conversation() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut turns = vec![(Vec::new(), Vec::new())];
    for line in CONVERSATION.lines() {
        match line.split_at_checked(2) {
            Some(("C ", rest)) => turns.push((hex(rest), Vec::new())),
            Some(("S ", rest)) => turns.last_mut().expect("not empty").1.extend(hex(rest)),
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
        }
    }
    turns
}

#[test]
fn the_conversation_goes_as_written() {
    let mut talk = Talk::with(ConnectionLimits::default());
    for (number, (said, expected)) in conversation().into_iter().enumerate() {
        let mut heard = talk.say(&said);
        talk.carry_out();
        heard.extend(talk.heard());
        assert_eq!(heard, expected, "turn {number}");
    }
    assert!(talk.closed_by_request());
}

#[test]
fn byte_by_byte_it_is_the_same() {
    let (said, expected): (Vec<Vec<u8>>, Vec<Vec<u8>>) = conversation().into_iter().unzip();
    let mut talk = Talk::with(ConnectionLimits::default());
    let mut heard = talk.heard();
    for byte in said.concat() {
        heard.extend(talk.say(&[byte]));
        talk.carry_out();
        heard.extend(talk.heard());
    }
    assert_eq!(heard, expected.concat());
    assert!(talk.closed_by_request());
}

/// The commands are carried out after the last byte, so that the order of the answers does not hang on the pieces.
#[test]
fn in_pieces_of_any_size_it_is_the_same() {
    let said: Vec<u8> = conversation().into_iter().flat_map(|(said, _)| said).collect();
    let in_pieces = |size: usize| {
        let mut talk = Talk::with(ConnectionLimits::default());
        for piece in said.chunks(size) {
            assert_eq!(talk.session.receive(piece, &Shop, &mut talk.out), piece.len());
        }
        talk.carry_out();
        assert!(talk.closed_by_request());
        talk.heard()
    };
    let whole = in_pieces(said.len());
    for size in 1..said.len() {
        assert!(in_pieces(size) == whole, "in pieces of {size}");
    }
}
