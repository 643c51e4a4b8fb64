//! The calendar of Linux in user mode whose time is virtual (`time-travel=ext`, `include/uapi/linux/um_timetravel.h` of 6.12): the
//! machine asks when it may run, and whoever owns the time says so. Messages are 16 bytes; what need not be said stands in
//! memory that both have ([`CalendarLayout`]).

/// Bytes of a message: what (32 bits), a number that its acknowledgement repeats (32 bits), a time in ns (64 bits); in the
/// order of the machine, which is little-endian.
pub const CALENDAR_MESSAGE_BYTES: usize = 16;

/// No time: a machine that waits for it waits for ever.
pub const NEVER_NS: u64 = i64::MAX as u64;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarOp {
    /// The answer to another message; its time is what was asked for, if something was.
    Ack,
    /// The machine begins. The answer's time is its place among those that share the memory, which comes beside it.
    Start,
    /// It wants to run at a time.
    Request,
    /// It waits for that time.
    Wait,
    /// It wants to know the time.
    Get,
    /// It says what time it is for it.
    Update,
    /// It may run; the time is this.
    Run,
    /// It may run without asking up to a time.
    FreeUntil,
    /// It wants to know the time of day.
    GetTimeOfDay,
    /// Something that all are to write down.
    Broadcast,
}

impl CalendarOp {
    const ALL: [CalendarOp; 10] = [
        CalendarOp::Ack,
        CalendarOp::Start,
        CalendarOp::Request,
        CalendarOp::Wait,
        CalendarOp::Get,
        CalendarOp::Update,
        CalendarOp::Run,
        CalendarOp::FreeUntil,
        CalendarOp::GetTimeOfDay,
        CalendarOp::Broadcast,
    ];
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarMessage {
    /// What it says.
    pub op: CalendarOp,
    /// Its number.
    pub sequence: u32,
    /// A time, or what else the message has to say.
    pub time_ns: u64,
}

/// A message that is none of those that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCalendarOp(pub u32);

impl CalendarMessage {
    /// Reads a message.
    pub fn decode(
        bytes: &[u8; CALENDAR_MESSAGE_BYTES],
    ) -> Result<CalendarMessage, UnknownCalendarOp> {
        let [o0, o1, o2, o3, s0, s1, s2, s3, time @ ..] = *bytes;
        let number = u32::from_le_bytes([o0, o1, o2, o3]);
        let op = CalendarOp::ALL.get(number as usize).ok_or(UnknownCalendarOp(number))?;
        Ok(CalendarMessage {
            op: *op,
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            time_ns: u64::from_le_bytes(time),
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; CALENDAR_MESSAGE_BYTES] {
        let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&(self.op as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes
    }
}

/// Where the fields of the shared memory stand, in bytes from its beginning: a head of a page, then 128 bytes for each who
/// takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarLayout;

impl CalendarLayout {
    /// The form of all this (32 bits).
    pub const VERSION: u64 = 0;
    /// The form that is written here.
    pub const VERSION_KNOWN: u32 = 2;
    /// How many bytes there are (32 bits).
    pub const LENGTH: u64 = 4;
    /// Up to which time whoever runs may go on without asking (64 bits, ns).
    pub const FREE_UNTIL: u64 = 8;
    /// What time it is (64 bits, ns); whoever runs writes it.
    pub const TIME: u64 = 16;
    /// Whose turn it is (16 bits).
    pub const RUNNING: u64 = 24;
    /// How many can take part (16 bits).
    pub const PLACES: u64 = 26;
    /// All bytes, for two who take part: the owner of the time in place 0, the machine in place 1.
    pub const BYTES: usize = 4096 + 2 * 128;

    /// Where a place begins.
    const fn place(id: u16) -> u64 {
        4096 + 128 * id as u64
    }

    /// What who has this place can do (32 bits).
    pub const fn capability(id: u16) -> u64 {
        CalendarLayout::place(id)
    }

    /// Bit of the capability: it reads and writes this memory instead of sending messages.
    pub const SHARES_TIME: u32 = 1;

    /// What it wants (32 bits).
    pub const fn flags(id: u16) -> u64 {
        CalendarLayout::place(id) + 4
    }

    /// Bit of the flags: it wants to run.
    pub const WANTS_TO_RUN: u32 = 1;

    /// When it wants to run (64 bits, ns).
    pub const fn wanted(id: u16) -> u64 {
        CalendarLayout::place(id) + 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_it_was() {
        for (number, op) in CalendarOp::ALL.into_iter().enumerate() {
            let message = CalendarMessage { op, sequence: 7, time_ns: NEVER_NS };
            let bytes = message.bytes();
            assert_eq!(bytes[0] as usize, number, "numbers are the kernel's");
            assert_eq!(CalendarMessage::decode(&bytes), Ok(message));
        }
        let mut bytes = [0; CALENDAR_MESSAGE_BYTES];
        bytes[0] = 10;
        assert_eq!(CalendarMessage::decode(&bytes), Err(UnknownCalendarOp(10)));
    }
}
