//! How Linux in user mode asks for its time where that is another's (`time-travel=ext`, include/uapi/linux/um_timetravel.h):
//! it names the time at which it next has something to do, waits, and runs when it is told to. Who keeps that time is called the calendar there, and the clock here.
//!
//! Every message has 16 bytes: what it is (32 bits), its number (32 bits), and a time in nanoseconds (64 bits), in the byte order of
//! the machine that both run on. Each is answered by an acknowledgement with its number.

use std::fmt;

/// Bytes of a message.
pub const TIME_MESSAGE_BYTES: usize = 16;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOp {
    /// The answer to a message.
    Acknowledged,
    /// The kernel has come.
    Start,
    /// It has something to do at a time; the last such wish counts.
    Request,
    /// It waits for its turn.
    Wait,
    /// It asks what time it is.
    Get,
    /// It tells what time it is for it, before others hear of it.
    Update,
    /// It may run: the only one that the clock begins.
    Run,
    /// It asks for the time of day.
    TimeOfDay,
    /// It says something to all others.
    Broadcast,
}

/// Each with its number.
const OPS: [(TimeOp, u32); 9] = [
    (TimeOp::Acknowledged, 0),
    (TimeOp::Start, 1),
    (TimeOp::Request, 2),
    (TimeOp::Wait, 3),
    (TimeOp::Get, 4),
    (TimeOp::Update, 5),
    (TimeOp::Run, 6),
    (TimeOp::TimeOfDay, 8),
    (TimeOp::Broadcast, 9),
];

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeMessage {
    /// What it is.
    pub op: TimeOp,
    /// Its number.
    pub number: u32,
    /// A time in nanoseconds, where it has one.
    pub nanos: u64,
}

/// A message that is none of those that a kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOp(pub u32);

impl fmt::Display for UnknownOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no message about time", self.0)
    }
}

impl std::error::Error for UnknownOp {}

impl TimeMessage {
    /// Reads one.
    pub fn decode(bytes: &[u8; TIME_MESSAGE_BYTES]) -> Result<TimeMessage, UnknownOp> {
        let word = |at: usize| {
            u32::from_ne_bytes(*bytes[at..].first_chunk().expect("a message has four words"))
        };
        let op = word(0);
        let known = OPS.iter().find(|(_, number)| *number == op);
        let (op, _) = *known.ok_or(UnknownOp(op))?;
        let nanos = *bytes.last_chunk().expect("the time is the last of it");
        Ok(TimeMessage { op, number: word(4), nanos: u64::from_ne_bytes(nanos) })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; TIME_MESSAGE_BYTES] {
        let (_, op) = OPS.iter().find(|(op, _)| *op == self.op).expect("every op has a number");
        let mut bytes = [0; TIME_MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&op.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.nanos.to_ne_bytes());
        bytes
    }

    /// The answer to it, with a time.
    pub fn acknowledged(&self, nanos: u64) -> TimeMessage {
        TimeMessage { op: TimeOp::Acknowledged, number: self.number, nanos }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        for (op, number) in OPS {
            let message = TimeMessage { op, number: 7, nanos: 1 << 40 };
            assert_eq!(TimeMessage::decode(&message.bytes()), Ok(message));
            assert_eq!(message.bytes()[..4], number.to_ne_bytes());
        }
        // 7 lets a kernel run freely, which only a clock says, and this one does not.
        for other in [7, 10, u32::MAX] {
            let mut bytes = [0; TIME_MESSAGE_BYTES];
            bytes[..4].copy_from_slice(&other.to_ne_bytes());
            assert_eq!(TimeMessage::decode(&bytes), Err(UnknownOp(other)));
        }
    }
}
