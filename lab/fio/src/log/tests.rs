//! Lines as fio writes them, lines that it does not write, and logs in pieces.

use super::columns::{Columns, leading_digits};
use super::*;
use loadline_device::Priority;
use std::io::Cursor;

fn word(word: u16) -> LogPriority {
    LogPriority::Word(Priority::from_word(word))
}

const PLAIN: LogLine = LogLine {
    time_ms: 17,
    value: 15_051_627,
    direction: Direction::Read,
    block_bytes: 131_072,
    offset: None,
    priority: LogPriority::RealTime(false),
    issue_ns: None,
};

#[test]
fn a_line_is_read_and_written_to_the_byte() {
    let check = |text: &str, wanted: LogLine| {
        assert_eq!(LogLine::parse(text.as_bytes()), Ok(wanted), "{text}");
        let mut writer = LogWriter::new(Vec::new());
        writer.write(&wanted).unwrap();
        assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), format!("{text}\n"));
    };
    check("17, 15051627, 0, 131072, 0x4008", LogLine { priority: word(0x4008), ..PLAIN });
    check("17, 15051627, 0, 131072, 0x0000", LogLine { priority: word(0), ..PLAIN });
    check("17, 15051627, 0, 131072, 0", PLAIN);
    check("17, 15051627, 0, 131072, 1", LogLine { priority: LogPriority::RealTime(true), ..PLAIN });
    check("17, 15051627, 0, 131072, 4096, 0", LogLine { offset: Some(4096), ..PLAIN });
    check(
        "17, 15051627, 2, 0, 4096, 0xffff",
        LogLine {
            direction: Direction::Trim,
            block_bytes: 0,
            offset: Some(4096),
            priority: word(0xffff),
            ..PLAIN
        },
    );
    check(
        "17, 15051627, 1, 131072, 0x2000, 99",
        LogLine {
            direction: Direction::Write,
            priority: word(0x2000),
            issue_ns: Some(99),
            ..PLAIN
        },
    );
    check(
        "9999999999999999999, 1, 0, 1, 5, 0, 7",
        LogLine {
            time_ms: 9_999_999_999_999_999_999,
            value: 1,
            block_bytes: 1,
            offset: Some(5),
            issue_ns: Some(7),
            ..PLAIN
        },
    );
}

#[test]
fn what_is_no_line_is_named_by_its_column() {
    let check = |text: &str, wanted: LineError| {
        assert_eq!(LogLine::parse(text.as_bytes()), Err(wanted), "{text}");
    };
    check("", LineError::Number { column: 1 });
    check("x, 1, 0, 1, 0", LineError::Number { column: 1 });
    check("1, -1, 0, 1, 0", LineError::Number { column: 2 });
    check("1, 12345678901234567890, 0, 1, 0", LineError::Number { column: 2 });
    check("1,1, 0, 1, 0", LineError::Separator { column: 1 });
    check("1, 1, 0, 1", LineError::Separator { column: 4 });
    check("1, 1, 3, 1, 0", LineError::Direction);
    check("1, 1, 01, 1, 0", LineError::Separator { column: 3 });
    check("1, 1, 0, 1, 2", LineError::Priority);
    check("1, 1, 0, 1, 0x", LineError::Priority);
    check("1, 1, 0, 1, 0x12345", LineError::Priority);
    check("1, 1, 0, 1, 0x12, 3, 4", LineError::Separator { column: 6 });
    check("1, 1, 0, 1, 0, 0\r", LineError::Separator { column: 6 });
    check("1, 1, 0, 1, 0\n1, 1, 0, 1, 0\n", LineError::More);
}

/// Gives one byte at a time, so that every line is cut everywhere.
struct Dripping<'a>(&'a [u8]);

impl Read for Dripping<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
        into[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

fn read_all(source: impl Read) -> Result<Vec<LogLine>, LogError> {
    let mut reader = LatencyLogReader::new(source);
    std::iter::from_fn(|| reader.next_line().transpose()).collect()
}

/// More text than the reader's buffer holds, and a last line without its end.
#[test]
fn a_log_in_pieces_is_the_same_log() {
    let lines: Vec<LogLine> =
        (0..30_000).map(|n| LogLine { time_ms: n, value: n * n, ..PLAIN }).collect();
    let mut writer = LogWriter::new(Vec::new());
    lines.iter().for_each(|line| writer.write(line).unwrap());
    let mut text = writer.finish().unwrap();
    assert!(text.len() > 2 * READ_BYTES);
    assert_eq!(read_all(Cursor::new(&text)).unwrap(), lines);
    text.pop();
    assert_eq!(read_all(Cursor::new(&text)).unwrap(), lines);
    assert_eq!(read_all(Dripping(&text)).unwrap(), lines);
    assert_eq!(read_all(Cursor::new(b"")).unwrap(), []);
    let counts = |text: &[u8]| {
        let mut reader = LatencyLogReader::new(Cursor::new(text.to_vec()));
        while reader.next_line().unwrap().is_some() {}
        (reader.lines(), reader.line_ends())
    };
    assert_eq!(counts(b"1, 1, 0, 1, 0\n2, 1, 0, 1, 0\n"), (2, 2));
    assert_eq!(counts(b"1, 1, 0, 1, 0\n2, 1, 0, 1, 0"), (2, 1));
}

#[test]
fn an_error_names_its_line() {
    let error = read_all(Cursor::new("1, 1, 0, 1, 0\n\n1, 1, 0, 1, 0\n")).unwrap_err();
    let wanted = "line 2: column 1 is no whole number of at most 19 digits";
    assert_eq!(error.to_string(), wanted);
    let endless = vec![b'1'; 10_000];
    let error = read_all(Cursor::new(&endless)).unwrap_err();
    assert!(matches!(error, LogError::LongLine { line: 1 }), "{error}");
}

/// Every length of number before every kind of neighbour, near the end of the text and far from it.
#[test]
fn numbers_of_every_length_are_read() {
    for digits in 1..=19 {
        let number = "1234567890987654321"[..digits].to_owned();
        for rest in ["", ", 1, 0, 1, 0", ", 1, 0, 1, 0, 1234567, 1234567890"] {
            let text = format!("1, {number}{rest}");
            let mut columns = Columns { text: text.as_bytes(), at: 3, column: 2 };
            assert_eq!(columns.number(), Ok(number.parse().unwrap()), "{text}");
            assert_eq!(columns.at, 3 + digits);
        }
    }
    for neighbour in 0..=255 {
        let (number, count) = leading_digits([b'4', b'2', neighbour, b'7', 0xff, b'1', 0, b'3']);
        let wanted = if neighbour.is_ascii_digit() {
            (420 + u64::from(neighbour - b'0')) * 10 + 7
        } else {
            42
        };
        assert_eq!((number, count), (wanted, if wanted == 42 { 2 } else { 4 }), "{neighbour}");
    }
}
