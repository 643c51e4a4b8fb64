//! One line of a log, and what may be wrong with it.

use loadline_device::{Priority, PriorityClass};

/// One line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Milliseconds from the end of the ramp to the completion.
    pub time_ms: u64,
    /// What was measured: nanoseconds in a latency log, KiB/s in a bandwidth log, I/Os in an IOPS log.
    pub value: u64,
    /// What the I/O did.
    pub direction: Direction,
    /// Size of the I/O in bytes; 0 if the line stands for a window of time.
    pub block_bytes: u64,
    /// Where the I/O was, in bytes (`log_offset=1`).
    pub offset: Option<u64>,
    /// The priority it had.
    pub priority: LogPriority,
    /// When it was issued, in nanoseconds (`log_issue_time=1`).
    pub issue_ns: Option<u64>,
}

/// What an I/O of a log did, in fio's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// 0.
    Read,
    /// 1.
    Write,
    /// 2.
    Trim,
}

/// The priority column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPriority {
    /// The whole word in hexadecimal, as `log_prio=1` writes it.
    Word(Priority),
    /// 1 for the class real time and 0 for any other, as fio writes it otherwise.
    RealTime(bool),
}

impl LogPriority {
    /// The shorter form of a priority.
    pub fn flag(priority: Priority) -> LogPriority {
        LogPriority::RealTime(priority.class() == PriorityClass::RealTime)
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A column holds something else than a number.
    #[error("column {column} is no whole number of at most 19 digits")]
    Number {
        /// The first is 1.
        column: u8,
    },
    /// Something else than a comma and a blank follows a column.
    #[error(
        "column {column} must be followed by a comma and a blank, or end the line as column 5, 6 or 7"
    )]
    Separator {
        /// The first is 1.
        column: u8,
    },
    /// The direction is unknown.
    #[error("column 3 must be 0 (read), 1 (write) or 2 (trim)")]
    Direction,
    /// One line was asked for, and more is there.
    #[error("another line follows")]
    More,
    /// The priority is neither a word nor a flag.
    #[error("the priority must be 0, 1, or 0x and up to four hexadecimal digits")]
    Priority,
}
