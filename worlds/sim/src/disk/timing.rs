//! How long requests take: channels that work at once behind one link that transfers in turn.

use loadline_base::{Bytes, Span, Time};
use loadline_device::RequestKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The speed of a simulated disk.
///
/// A request waits for a channel, in the order of submission, and keeps it until it is answered: first for
/// `per_request`, then for the transfer of a read or write, which has the link for itself. So many small
/// requests reach `channels / per_request`, and large ones together `bytes_per_second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What each read, write and discard takes, whatever its size.
    pub per_request: Span,
    /// What the link transfers; 0 is without limit.
    pub bytes_per_second: u64,
    /// What a flush takes. It waits for no channel.
    pub flush: Span,
    /// How many requests are served at once; 0 is without limit.
    pub channels: u32,
}

impl Timing {
    /// A disk that costs nothing.
    pub const FREE: Timing =
        Timing { per_request: Span::ZERO, bytes_per_second: 0, flush: Span::ZERO, channels: 0 };
}

/// How a device serves what is no write of blocks that hold something, behind the block layer of a system. That joins a write that begins
/// where one ends that is still under way to that one: it waits for no channel and takes its transfer alone. And it lets reads go first:
/// they wait for each other alone, and what comes after them waits for what they have taken of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherAccesses {
    /// What the link transfers of reads, in bytes per second; 0 is without limit.
    pub read_bytes_per_second: u64,
    /// The same of writes to blocks that hold nothing yet: whoever is behind the link finds room for them first.
    pub first_write_bytes_per_second: u64,
}

/// What a device has to know of a request.
#[derive(Clone, Copy)]
pub(super) struct DeviceAccess {
    pub(super) kind: RequestKind,
    pub(super) length: Bytes,
    /// How much of a write goes to blocks that hold nothing yet; none, where that makes no difference.
    pub(super) first: Bytes,
    /// Whether it goes on where a write ends that is under way; never, where that makes no difference.
    pub(super) joins: bool,
}

fn transfer(bytes: Bytes, bytes_per_second: u64) -> Span {
    match bytes_per_second {
        0 => Span::ZERO,
        rate => {
            let nanos = u128::from(bytes.get()) * 1_000_000_000 / u128::from(rate);
            Span::from_nanos(nanos as u64)
        }
    }
}

/// When the channels and the link are free: what disks have in common that are parts of one device.
#[derive(Clone)]
pub(crate) struct Station {
    timing: Timing,
    others: Option<OtherAccesses>,
    channels: BinaryHeap<Reverse<Time>>,
    link: Time,
    /// When the reads are through that go first.
    reads: Time,
    /// Where the last write of its own disk ends, and when that is answered.
    last_write: (u64, Time),
}

impl Station {
    /// Everything is free.
    pub(super) fn new(timing: Timing, others: Option<OtherAccesses>) -> Station {
        let channels = (0..timing.channels).map(|_| Reverse(Time::ZERO)).collect();
        Station {
            timing,
            others,
            channels,
            link: Time::ZERO,
            reads: Time::ZERO,
            last_write: (0, Time::ZERO),
        }
    }

    /// Requests that come from now on take this long. The channels stay as many as they are.
    pub(super) fn set_timing(&mut self, timing: Timing) {
        self.timing = Timing { channels: self.timing.channels, ..timing };
    }

    /// How it serves what is no write of blocks that hold something, where that differs.
    pub(super) fn others(&self) -> Option<OtherAccesses> {
        self.others
    }

    /// The last write of its own disk, wherever that is served, ends there and is answered then.
    pub(super) fn wrote_to(&mut self, end: u64, answered: Time) {
        self.last_write = (end, answered);
    }

    /// Whether a write that ends there is under way.
    pub(super) fn is_written_to(&self, offset: u64, now: Time) -> bool {
        let (end, answered) = self.last_write;
        offset == end && answered > now
    }

    /// When a request that is submitted now will be answered.
    pub(super) fn due(&mut self, now: Time, access: DeviceAccess) -> Time {
        if access.kind == RequestKind::Flush {
            return now + self.timing.flush;
        }
        if access.joins {
            return self.transferred(now, access);
        }
        if access.kind == RequestKind::Read && self.others.is_some() {
            return self.read(now, access);
        }
        let begin = self.channels.pop().map_or(now, |Reverse(free)| free.max(now));
        let end = self.transferred(begin + self.timing.per_request, access);
        if self.timing.channels > 0 {
            self.channels.push(Reverse(end));
        }
        end
    }

    /// When a read is answered that goes before all writes.
    fn read(&mut self, now: Time, access: DeviceAccess) -> Time {
        let transfer = self.transfer(access);
        self.reads = self.reads.max(now) + transfer;
        self.link = self.link.max(now) + transfer;
        self.reads + self.timing.per_request
    }

    /// When a request has gone over the link that is ready for it then.
    fn transferred(&mut self, ready: Time, access: DeviceAccess) -> Time {
        let transfer = self.transfer(access);
        if transfer == Span::ZERO {
            return ready;
        }
        self.link = ready.max(self.link) + transfer;
        self.link
    }

    fn transfer(&self, DeviceAccess { kind, length, first, .. }: DeviceAccess) -> Span {
        let rate = self.timing.bytes_per_second;
        match (kind, self.others) {
            (RequestKind::Discard, _) => Span::ZERO,
            (RequestKind::Read, Some(others)) => transfer(length, others.read_bytes_per_second),
            (RequestKind::Write, Some(others)) => {
                let again = Bytes::new(length.get() - first.get());
                transfer(again, rate) + transfer(first, others.first_write_bytes_per_second)
            }
            _ => transfer(length, rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: RequestKind, bytes: u64) -> DeviceAccess {
        DeviceAccess { kind, length: Bytes::new(bytes), first: Bytes::ZERO, joins: false }
    }

    /// Reads of these sizes, all submitted at time zero, are answered at these times, in nanoseconds.
    fn check(timing: Timing, sizes: &[u64], expected: &[u64]) {
        let mut station = Station::new(timing, None);
        let due = sizes.iter().map(|size| station.due(Time::ZERO, of(RequestKind::Read, *size)));
        assert_eq!(due.map(Time::nanos).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn requests_share_the_channels_and_transfers_the_link() {
        let per_request = Span::from_nanos(100);
        let timing = Timing { per_request, ..Timing::FREE };
        check(timing, &[512; 3], &[100; 3]);
        check(Timing { channels: 2, ..timing }, &[512; 5], &[100, 100, 200, 200, 300]);
        // A byte per nanosecond: the second transfer waits for the first, the third request for a channel.
        let linked = Timing { channels: 2, bytes_per_second: 1_000_000_000, ..timing };
        check(linked, &[512; 3], &[612, 1124, 1636]);
        check(Timing::FREE, &[4096; 3], &[0; 3]);
    }

    #[test]
    fn a_flush_waits_for_no_channel_and_a_discard_transfers_nothing() {
        let (per_request, flush) = (Span::from_nanos(100), Span::from_nanos(7));
        let timing = Timing { per_request, flush, channels: 1, bytes_per_second: 1 };
        let mut station = Station::new(timing, None);
        let due = |station: &mut Station, kind| station.due(Time::ZERO, of(kind, 512));
        assert_eq!(due(&mut station, RequestKind::Discard).nanos(), 100);
        assert_eq!(due(&mut station, RequestKind::Discard).nanos(), 200);
        assert_eq!(due(&mut station, RequestKind::Flush).nanos(), 7);
    }

    /// A link of one byte a nanosecond for what is written again, of half as much for reads, of a quarter for first writes.
    #[test]
    fn reads_first_writes_and_joined_writes_take_times_of_their_own() {
        let (per_request, bytes_per_second) = (Span::from_nanos(100), 1_000_000_000);
        let timing = Timing { per_request, bytes_per_second, channels: 1, ..Timing::FREE };
        let others = OtherAccesses {
            read_bytes_per_second: 500_000_000,
            first_write_bytes_per_second: 250_000_000,
        };
        let check = |access: DeviceAccess, takes: u64| {
            let mut station = Station::new(timing, Some(others));
            assert_eq!(station.due(Time::ZERO, access).nanos(), takes);
        };
        let write = of(RequestKind::Write, 512);
        check(write, 100 + 512);
        check(of(RequestKind::Read, 512), 100 + 1024);
        check(DeviceAccess { first: Bytes::new(512), ..write }, 100 + 2048);
        check(DeviceAccess { first: Bytes::new(256), ..write }, 100 + 256 + 1024);
        // It goes over the link behind the one that it is joined to, and leaves the channel to the third.
        let mut station = Station::new(timing, Some(others));
        let joined = DeviceAccess { joins: true, ..write };
        let due = [write, joined, write].map(|access| station.due(Time::ZERO, access).nanos());
        assert_eq!(due, [612, 1124, 1636]);
        // Reads wait for each other and for no write, and what is written next waits for both.
        let read = of(RequestKind::Read, 512);
        let due = [read, read, joined].map(|access| station.due(Time::ZERO, access).nanos());
        assert_eq!(due, [100 + 1024, 100 + 2048, 1636 + 2048 + 512]);
    }
}
