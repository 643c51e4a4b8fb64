//! The columns of a line, scanned byte by byte and digit by digit.

use super::line::{Direction, LineError, LogLine, LogPriority};
use loadline_device::Priority;

/// Reads the line at the start of `text`. Returns it with its length, line end included.
#[inline]
pub(super) fn take_line(text: &[u8]) -> Result<(LogLine, usize), LineError> {
    let mut columns = Columns { text, at: 0, column: 1 };
    let time_ms = columns.number()?;
    columns.separator()?;
    let value = columns.number()?;
    columns.separator()?;
    let direction = columns.direction()?;
    columns.separator()?;
    let block_bytes = columns.number()?;
    columns.separator()?;
    let (offset, priority, issue_ns) = columns.tail()?;
    let line = LogLine { time_ms, value, direction, block_bytes, offset, priority, issue_ns };
    Ok((line, columns.at))
}

/// The columns of a line, from the left.
pub(super) struct Columns<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) column: u8,
}

impl Columns<'_> {
    /// What stands here; the text's end counts as a line's.
    #[inline]
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, LineError> {
        let start = self.at;
        let mut value: u64 = 0;
        while let Some(eight) = self.text[self.at..].first_chunk() {
            let (digits, count) = leading_digits(*eight);
            value = value.wrapping_mul(POWERS_OF_TEN[count]).wrapping_add(digits);
            self.at += count;
            if count < 8 {
                break;
            }
        }
        // The last bytes of a text, or no digits any more.
        while let digit @ 0..=9 = self.byte().wrapping_sub(b'0') {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        // Nineteen digits always fit 64 bits, so nothing above has wrapped.
        match self.at - start {
            1..=19 => Ok(value),
            _ => Err(LineError::Number { column: self.column }),
        }
    }

    #[inline]
    fn direction(&mut self) -> Result<Direction, LineError> {
        let direction = match self.byte() {
            b'0' => Direction::Read,
            b'1' => Direction::Write,
            b'2' => Direction::Trim,
            _ => return Err(LineError::Direction),
        };
        self.at += 1;
        Ok(direction)
    }

    #[inline]
    fn separator(&mut self) -> Result<(), LineError> {
        if self.text.get(self.at..self.at + 2) != Some(b", ") {
            return Err(LineError::Separator { column: self.column });
        }
        self.at += 2;
        self.column += 1;
        Ok(())
    }

    /// Steps over the line's end if it is here.
    #[inline]
    fn ends(&mut self) -> bool {
        let ends = self.byte() == b'\n';
        self.at = self.text.len().min(self.at + usize::from(ends));
        ends
    }

    /// Whether a hexadecimal word begins here.
    #[inline]
    fn at_word(&self) -> bool {
        self.text.get(self.at..self.at + 2) == Some(b"0x")
    }

    /// What follows the block size. Six columns are read with an offset unless the fifth is a hexadecimal word, which
    /// no offset is.
    #[inline]
    fn tail(&mut self) -> Result<(Option<u64>, LogPriority, Option<u64>), LineError> {
        if self.at_word() {
            let priority = self.word()?;
            let issue_ns = if self.ends() { None } else { Some(self.last_number()?) };
            return Ok((None, priority, issue_ns));
        }
        let first = self.number()?;
        if self.ends() {
            return Ok((None, flag(first)?, None));
        }
        self.separator()?;
        let priority = if self.at_word() { self.word()? } else { flag(self.number()?)? };
        let issue_ns = if self.ends() { None } else { Some(self.last_number()?) };
        Ok((Some(first), priority, issue_ns))
    }

    fn last_number(&mut self) -> Result<u64, LineError> {
        self.separator()?;
        let number = self.number()?;
        if self.ends() { Ok(number) } else { Err(LineError::Separator { column: self.column }) }
    }

    #[inline]
    fn word(&mut self) -> Result<LogPriority, LineError> {
        self.at += 2;
        let start = self.at;
        let mut word: u16 = 0;
        while let Some(digit) = hex_digit(self.byte()) {
            word = word << 4 | u16::from(digit);
            self.at += 1;
        }
        match self.at - start {
            1..=4 => Ok(LogPriority::Word(Priority::from_word(word))),
            _ => Err(LineError::Priority),
        }
    }
}

const POWERS_OF_TEN: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that the digits at the start of eight bytes form, and how many they are.
///
/// All eight are treated at once, because numbers of different lengths defeat a processor's guesses at the end of a
/// loop over digits; a log is read twice as fast.
#[inline]
pub(super) fn leading_digits(bytes: [u8; 8]) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A digit becomes its value; the first byte of the text is the lowest of the word.
    let values = u64::from_le_bytes(bytes) ^ (EACH * 0x30);
    // The high bit of each byte above 9. A carry disturbs only bytes behind one that is no digit.
    let others = (values.wrapping_add(EACH * 0x76) | values) & (EACH * 0x80);
    let count = others.trailing_zeros() / 8;
    // Right-aligned: zeros take the place of the digits that are missing in front. Then pairs, fours and eights.
    let digits = values.checked_shl(64 - 8 * count).unwrap_or(0);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let even = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (odd.wrapping_add(even) >> 32, count as usize)
}

#[inline]
fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

fn flag(number: u64) -> Result<LogPriority, LineError> {
    match number {
        0 => Ok(LogPriority::RealTime(false)),
        1 => Ok(LogPriority::RealTime(true)),
        _ => Err(LineError::Priority),
    }
}
