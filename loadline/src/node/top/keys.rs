//! What is typed while somebody watches. The terminal is read here and not by the library that draws: that one reads one that has gone
//! again and again, without an end and without a look at any signal.

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Ctrl-C and Escape, as a terminal sends them that does nothing by itself.
const CTRL_C: u8 = 3;
const ESCAPE: u8 = 0x1b;

/// What somebody has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalInput {
    /// Asked for the end.
    End,
    /// Left: the terminal is no more.
    Gone,
}

/// The keys of this process's terminal.
pub(super) struct TerminalKeys(Receiver<TerminalInput>);

impl TerminalKeys {
    /// Reads the terminal from now on.
    pub(super) fn of_the_terminal() -> io::Result<TerminalKeys> {
        let terminal = File::open("/dev/tty")?;
        let (sender, receiver) = mpsc::channel();
        #[expect(
            clippy::disallowed_methods,
            reason = "a read of a terminal ends when somebody types"
        )]
        std::thread::spawn(move || follow(terminal, &sender));
        Ok(TerminalKeys(receiver))
    }

    /// What was typed within this time, if it means anything.
    pub(super) fn within(&self, time: Duration) -> Option<TerminalInput> {
        match self.0.recv_timeout(time) {
            Ok(typed) => Some(typed),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(TerminalInput::Gone),
        }
    }
}

/// Tells what keys mean until nobody listens or the terminal has gone.
fn follow(mut terminal: impl Read, told: &Sender<TerminalInput>) {
    let mut bytes = [0; 64];
    loop {
        let typed = match terminal.read(&mut bytes) {
            Ok(0) => Some(TerminalInput::Gone),
            Ok(count) => meaning(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => Some(TerminalInput::Gone),
        };
        let ended =
            typed.is_some_and(|typed| told.send(typed).is_err() || typed == TerminalInput::Gone);
        if ended {
            return;
        }
    }
}

/// An arrow is an Escape with more behind it, and means nothing.
fn meaning(bytes: &[u8]) -> Option<TerminalInput> {
    let ends = bytes == [ESCAPE]
        || bytes[0] != ESCAPE && bytes.iter().any(|byte| [b'q', CTRL_C].contains(byte));
    ends.then_some(TerminalInput::End)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_end_it_are_told_from_others() {
        for (typed, ends) in [
            (&b"q"[..], true),
            (b"\x03", true),
            (b"\x1b", true),
            (b"\x1b[A", false),
            (b"\x1bq", false),
            (b"xyq", true),
            (b"x", false),
        ] {
            assert_eq!(meaning(typed).is_some(), ends, "{typed:?}");
        }
    }

    /// `loadline top` of a window that was closed took a whole processor, and no signal ended it.
    #[test]
    fn a_terminal_that_has_gone_is_read_once() {
        struct Gone(u32);
        impl Read for Gone {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                assert!(self.0 < 3, "it is read again");
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let (sender, receiver) = mpsc::channel();
        follow(Gone(0), &sender);
        follow(io::empty(), &sender);
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [TerminalInput::Gone, TerminalInput::Gone]);
    }
}
