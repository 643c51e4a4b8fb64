//! What a disk is to the engine: a request, its outcome, its priority and its duration limit.
//!
//! This crate is a contract and holds no disk. It may not know who sends a request, which world carries
//! it out, or what time it is.

pub mod cdl;
pub mod contract;

use loadline_base::{Bytes, Span};
use std::fmt;

/// What a request does to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Transfers data from the medium.
    Read,
    /// Transfers data to the medium. On a device with a volatile write cache it is durable after the next flush
    /// that begins when it is done; on one without, when it is done.
    Write,
    /// Makes every write durable that was done when the flush was submitted. It has no range.
    Flush,
    /// Tells the device that a range holds nothing any more. What it reads afterwards is undefined.
    Discard,
}

/// One request to a device, as the engine hands it to its world.
///
/// The world answers each request with exactly one [`Outcome`]. Requests may finish in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub kind: RequestKind,
    /// First byte on the device.
    pub offset: u64,
    /// How many bytes: at least one, or none for a flush.
    pub length: Bytes,
    /// The service class whose work this is.
    pub class: ClassTag,
    /// The I/O priority word that travels with the request.
    pub priority: Priority,
    /// How long the device may take, if the class sets a limit.
    pub duration_limit: Option<Span>,
}

/// The service class of a request, by its index in the owner's class table. A device never looks at it; it
/// is there so that no request can exist without one, and so that worlds can account per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassTag(pub u8);

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Carried out whole.
    Done,
    /// The device gave up because its duration limit passed; nothing may be concluded about the medium.
    OverLimit,
    /// What carries the device has no room for a write: a file on a full file system, a thin volume on a full pool. The range
    /// may hold the old bytes, the new ones or some of each, as that of any write without an answer; all that was answered
    /// before is as it was. So the same write may be asked for again.
    NoSpace,
    /// The medium or the path failed.
    Failed,
}

/// The kernel's I/O priority word: class in bits 13-15, hint in bits 3-12, level in bits 0-2
/// (`linux/ioprio.h`; a hint of 1 to 7 names a duration limit descriptor).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Priority(u16);

/// The class field of a [`Priority`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PriorityClass {
    /// Nothing was asked for.
    None,
    /// First access to the disk.
    RealTime,
    /// The default class.
    BestEffort,
    /// Only when nobody else asks.
    Idle,
}

impl Priority {
    /// The word for a class and its level, 0 (highest) to 7.
    pub const fn new(class: PriorityClass, level: u8) -> Priority {
        assert!(level < 8, "an I/O priority level is 0 to 7");
        Priority((class as u16) << 13 | level as u16)
    }

    /// The same priority with a duration limit descriptor, 1 to 7; 0 takes it away.
    pub const fn with_descriptor(self, descriptor: u8) -> Priority {
        assert!(descriptor < 8, "a duration limit descriptor is 0 to 7");
        Priority(self.0 & !(0x3ff << 3) | (descriptor as u16) << 3)
    }

    /// A word as the kernel has it.
    pub const fn from_word(word: u16) -> Priority {
        Priority(word)
    }

    /// The word as the kernel takes it.
    pub const fn word(self) -> u16 {
        self.0
    }

    /// The class; the kernel's four reserved values count as none.
    pub const fn class(self) -> PriorityClass {
        match self.0 >> 13 {
            1 => PriorityClass::RealTime,
            2 => PriorityClass::BestEffort,
            3 => PriorityClass::Idle,
            _ => PriorityClass::None,
        }
    }

    /// The level, 0 (highest) to 7.
    pub const fn level(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// The duration limit descriptor that it names, 1 to 7; 0 for none, as every other hint counts.
    pub const fn descriptor(self) -> u8 {
        let hint = self.0 >> 3 & 0x3ff;
        if hint < 8 { hint as u8 } else { 0 }
    }
}

/// What kind of medium a device has; it selects defaults, never behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Medium {
    /// Rotating disk.
    Hdd,
    /// Rotating disk whose log and metadata live on flash.
    Hybrid,
    /// Flash.
    Ssd,
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Medium::Hdd => "hdd",
            Medium::Hybrid => "hybrid",
            Medium::Ssd => "ssd",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as `fio` logs print them (cdl.md 4): class 2 is best effort, level 0, hint 1.
    #[test]
    fn the_priority_word_has_the_kernels_layout() {
        assert_eq!(Priority::new(PriorityClass::RealTime, 4).word(), 1 << 13 | 4);
        assert_eq!(Priority::new(PriorityClass::BestEffort, 0).with_descriptor(1).word(), 0x4008);
        let read = Priority::from_word(0x4008);
        assert_eq!(
            (read.class(), read.level(), read.descriptor()),
            (PriorityClass::BestEffort, 0, 1)
        );
        assert_eq!(Priority::from_word(0x4040).descriptor(), 0, "a hint of 8 is no descriptor");
    }
}
