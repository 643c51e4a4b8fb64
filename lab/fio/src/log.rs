//! The lines of fio's latency, bandwidth and IOPS logs (cdl.md 4.2).
//!
//! A line is `time, value, direction, block size[, offset], priority[, issue time]`, with a comma and a blank between
//! columns and no header. The tools that read these logs split at exactly that, so the writer keeps it to the byte.

mod columns;
mod line;

pub use line::{Direction, LineError, LogLine, LogPriority};

use columns::take_line;
use std::io::{self, Read, Write};

/// Why a log could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A line is not of the form.
    #[error("line {line}: {error}")]
    Line {
        /// The first is 1.
        line: u64,
        /// What is wrong.
        error: LineError,
    },
    /// A line is longer than any that fio writes.
    #[error("line {line}: longer than {LINE_BYTES_MAX} bytes, so this is no log of fio")]
    LongLine {
        /// The first is 1.
        line: u64,
    },
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

impl LogLine {
    /// Reads one line, with its line end or without.
    pub fn parse(line: &[u8]) -> Result<LogLine, LineError> {
        let (parsed, bytes) = take_line(line)?;
        if bytes < line.len() { Err(LineError::More) } else { Ok(parsed) }
    }
}

/// Longest line that is read: seven columns of 19 digits are far below it.
const LINE_BYTES_MAX: usize = 4096;

/// How much is read at once: it stays in the second-level cache while it is scanned.
const READ_BYTES: usize = 256 * 1024;

/// Reads the lines of a log one after another, in a fixed amount of memory.
pub struct LatencyLogReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// What has been handed out.
    start: usize,
    /// End of the last whole line.
    whole: usize,
    /// End of what was read.
    end: usize,
    lines: u64,
    bytes: u64,
    /// The last line lacked its line end.
    open_end: bool,
    /// The last line was cut short, and was not handed out.
    cut: bool,
}

impl<R: Read> LatencyLogReader<R> {
    /// A reader from the start of `source`, which needs no buffer of its own.
    pub fn new(source: R) -> LatencyLogReader<R> {
        let buffer = vec![0; READ_BYTES];
        LatencyLogReader {
            source,
            buffer,
            start: 0,
            whole: 0,
            end: 0,
            lines: 0,
            bytes: 0,
            open_end: false,
            cut: false,
        }
    }

    /// Lines handed out so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Line ends passed so far: one less than the lines once a last line without its end was handed out.
    pub fn line_ends(&self) -> u64 {
        self.lines - u64::from(self.open_end)
    }

    /// Whether the log ended within a line, as one of a fio that was killed does. What there is of it is not handed out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Bytes of the lines handed out so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line; `None` at the end. The last line may lack its line end, and is left out where that is not all that it lacks.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<LogLine>, LogError> {
        if self.start == self.whole && !self.fill()? {
            return Ok(None);
        }
        let text = &self.buffer[self.start..self.whole];
        match take_line(text) {
            Ok((line, bytes)) => {
                self.lines += 1;
                self.start += bytes;
                self.bytes += bytes as u64;
                Ok(Some(line))
            }
            Err(error) => self.refuse(error),
        }
    }

    /// A line that is none: the rest of one that was cut short, or a fault of the log.
    #[cold]
    fn refuse(&mut self, error: LineError) -> Result<Option<LogLine>, LogError> {
        let is_last = !self.buffer[self.start..self.whole - 1].contains(&b'\n');
        if self.open_end && is_last {
            (self.start, self.open_end, self.cut) = (self.whole, false, true);
            return Ok(None);
        }
        Err(LogError::Line { line: self.lines + 1, error })
    }

    /// Reads until there is a whole line again. Returns whether there is one.
    #[cold]
    fn fill(&mut self) -> Result<bool, LogError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        (self.start, self.whole) = (0, 0);
        while self.whole == 0 {
            if self.end > LINE_BYTES_MAX {
                return Err(LogError::LongLine { line: self.lines + 1 });
            }
            let read = match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if read == 0 {
                self.end_last_line();
                break;
            }
            let fresh = self.end;
            self.end += read;
            let line_end = self.buffer[fresh..self.end].iter().rposition(|byte| *byte == b'\n');
            self.whole = line_end.map_or(0, |place| fresh + place + 1);
        }
        Ok(self.whole > 0)
    }

    /// Gives the last line the end that it lacks.
    fn end_last_line(&mut self) {
        if self.end > 0 {
            self.buffer[self.end] = b'\n';
            self.end += 1;
            self.whole = self.end;
            self.open_end = true;
        }
    }
}

/// Writes the lines of a log.
pub struct LogWriter<W> {
    sink: W,
}

impl<W: Write> LogWriter<W> {
    /// A writer to `sink`, which should have a buffer.
    pub fn new(sink: W) -> LogWriter<W> {
        LogWriter { sink }
    }

    /// Adds a line.
    pub fn write(&mut self, line: &LogLine) -> io::Result<()> {
        let LogLine { time_ms, value, block_bytes, .. } = line;
        write!(self.sink, "{time_ms}, {value}, {}, {block_bytes}", line.direction as u8)?;
        if let Some(offset) = line.offset {
            write!(self.sink, ", {offset}")?;
        }
        match line.priority {
            LogPriority::Word(priority) => write!(self.sink, ", {:#06x}", priority.word())?,
            LogPriority::RealTime(flag) => write!(self.sink, ", {}", u8::from(flag))?,
        }
        if let Some(issue_ns) = line.issue_ns {
            write!(self.sink, ", {issue_ns}")?;
        }
        self.sink.write_all(b"\n")
    }

    /// Hands what was written on, and the sink back.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

#[cfg(test)]
mod tests;
