//! What a guest says on its console: all of it is kept, up to a bound, and the command's part is passed on.

use crate::init::{BEGIN, END};
use std::io::{self, Write};

/// Most bytes of a console that are kept or passed on. A guest that has gone mad fills disks.
pub(crate) const CONSOLE_BYTES_MAX: u64 = 64 << 20;

/// A console between the guest, its log, and whoever reads the command's output.
#[derive(Debug)]
pub(crate) struct Console<L, O> {
    log: L,
    out: O,
    bytes: u64,
    part: ConsolePart,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// An empty line that is the command's only if another follows.
    blank: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConsolePart {
    Boot,
    Command,
    After,
}

/// The console has said more than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

impl<L: Write, O: Write> Console<L, O> {
    pub(crate) fn new(log: L, out: O) -> Console<L, O> {
        Console { log, out, bytes: 0, part: ConsolePart::Boot, line: Vec::new(), blank: false }
    }

    /// Takes what the guest has said.
    pub(crate) fn take(&mut self, said: &[u8]) -> io::Result<Result<(), TooMuch>> {
        self.bytes += said.len() as u64;
        if self.bytes > CONSOLE_BYTES_MAX {
            return Ok(Err(TooMuch));
        }
        self.log.write_all(said)?;
        for piece in said.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend(piece.iter().filter(|byte| **byte != b'\r'));
            if self.line.ends_with(b"\n") {
                self.take_line()?;
            }
        }
        self.out.flush()?;
        Ok(Ok(()))
    }

    fn take_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii_end();
        match self.part {
            ConsolePart::Boot if text == BEGIN.as_bytes() => self.part = ConsolePart::Command,
            ConsolePart::Command if text == END.as_bytes() => self.part = ConsolePart::After,
            ConsolePart::Command => {
                if std::mem::replace(&mut self.blank, text.is_empty()) {
                    self.out.write_all(b"\n")?;
                }
                if !text.is_empty() {
                    self.out.write_all(&line)?;
                }
            }
            ConsolePart::Boot | ConsolePart::After => {}
        }
        Ok(())
    }

    /// Whether the command has begun.
    pub(crate) fn begun(&self) -> bool {
        self.part != ConsolePart::Boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_passed_on_and_nothing_else() {
        let (mut log, mut out) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut log, &mut out);
        for piece in
            ["noise\r\n", "loadline-guest: be", "gin\na\n\nb\n\n", "loadline-guest: end\nx\n"]
        {
            console.take(piece.as_bytes()).unwrap().unwrap();
        }
        assert!(console.begun());
        assert_eq!(String::from_utf8(out).unwrap(), "a\n\nb\n");
        assert!(log.starts_with(b"noise"), "the log has all");
    }

    #[test]
    fn a_console_is_bounded() {
        let mut console = Console::new(io::sink(), io::sink());
        let piece = vec![b'x'; 1 << 20];
        let more = (0..100).any(|_| console.take(&piece).unwrap().is_err());
        assert!(more, "64 MiB are enough");
    }
}
