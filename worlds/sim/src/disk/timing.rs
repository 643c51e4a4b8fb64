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

    fn transfer(&self, kind: RequestKind, length: Bytes) -> Span {
        if self.bytes_per_second == 0 || kind == RequestKind::Discard {
            return Span::ZERO;
        }
        let nanos = u128::from(length.get()) * 1_000_000_000 / u128::from(self.bytes_per_second);
        Span::from_nanos(nanos as u64)
    }
}

/// When the channels and the link are free: what disks have in common that are parts of one device.
#[derive(Clone)]
pub(crate) struct Station {
    timing: Timing,
    channels: BinaryHeap<Reverse<Time>>,
    link: Time,
}

impl Station {
    /// Everything is free.
    pub(super) fn new(timing: Timing) -> Station {
        let channels = (0..timing.channels).map(|_| Reverse(Time::ZERO)).collect();
        Station { timing, channels, link: Time::ZERO }
    }

    /// Requests that come from now on take this long. The channels stay as many as they are.
    pub(super) fn set_timing(&mut self, timing: Timing) {
        self.timing = Timing { channels: self.timing.channels, ..timing };
    }

    /// When a request that is submitted now will be answered.
    pub(super) fn due(&mut self, now: Time, kind: RequestKind, length: Bytes) -> Time {
        if kind == RequestKind::Flush {
            return now + self.timing.flush;
        }
        let begin = self.channels.pop().map_or(now, |Reverse(free)| free.max(now));
        let mut end = begin + self.timing.per_request;
        let transfer = self.timing.transfer(kind, length);
        if transfer > Span::ZERO {
            end = end.max(self.link) + transfer;
            self.link = end;
        }
        if self.timing.channels > 0 {
            self.channels.push(Reverse(end));
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of these sizes, all submitted at time zero, are answered at these times, in nanoseconds.
    fn check(timing: Timing, sizes: &[u64], expected: &[u64]) {
        let mut station = Station::new(timing);
        let due =
            sizes.iter().map(|size| station.due(Time::ZERO, RequestKind::Read, Bytes::new(*size)));
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
        let mut station = Station::new(timing);
        let due = |station: &mut Station, kind| station.due(Time::ZERO, kind, Bytes::new(512));
        assert_eq!(due(&mut station, RequestKind::Discard).nanos(), 100);
        assert_eq!(due(&mut station, RequestKind::Discard).nanos(), 200);
        assert_eq!(due(&mut station, RequestKind::Flush).nanos(), 7);
    }
}
