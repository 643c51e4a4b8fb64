//! The reader of logs with what may come: nothing panics, and what is accepted is written back to lines that mean the same.
//! Shared with the target in `fuzz/`, so it holds no tests.

use loadline_fio::{LatencyLogReader, LogLine, LogWriter};

/// Text as a log. Returns whether it was accepted to its end.
pub(crate) fn log(text: &[u8]) -> bool {
    let mut reader = LatencyLogReader::new(text);
    let mut lines = Vec::new();
    let accepted = loop {
        match reader.next_line() {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let mut writer = LogWriter::new(Vec::new());
    lines.iter().for_each(|line| writer.write(line).expect("memory takes everything"));
    let written = writer.finish().expect("memory takes everything");
    let again = written.split_inclusive(|byte| *byte == b'\n').map(LogLine::parse);
    assert!(again.eq(lines.iter().copied().map(Ok)), "a log is written as it was read");
    accepted
}
