//! A calibrated drive: one request at a time, each as long as its size says.
//!
//! The figures of a calibrated drive contain everything between an OSD's store and the platter or the flash, since
//! they are derived from published rates of whole OSDs; nothing here models seeks or channels. `docs/drive-models.md`
//! tells how they are derived.
//!
//! Fault model: none. A calibrated drive answers every request, in the order described below, and a write that it
//! answered is durable. Drives that fail, tear and forget come with the paged store.

use loadline_base::{Bytes, Span, Time};
use loadline_device::{Request, RequestKind};
use loadline_osd::OsdId;
use loadline_store::{RequestId, Submission};
use std::collections::VecDeque;

/// How long requests take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTime {
    /// Of every request with which an access is durable.
    pub per_request: Span,
    /// Of a part of a large access that others follow: the device's own time, without the OSD's commit.
    pub per_part: Span,
    /// Of every MiB transferred, on top.
    pub per_mib: Span,
    /// Large requests in a line of their own; `None` for a single line.
    pub slices: Option<Slices>,
    /// How reads are served.
    pub reads: ReadService,
}

/// Two lines before one arm: small and large requests take turns by time, as an elevator with time slices lets
/// two writers take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Requests of at least this size are large.
    pub large_from: Bytes,
    /// A turn ends with the request that uses up this much time, or when nothing of the line is left.
    pub slice: Span,
}

/// How a calibrated drive serves reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadService {
    /// Like writes: one arm does both.
    InLine,
    /// Beside the writes, each in the time of one request whatever its size: flash reads pass queued writes, and
    /// the transfer of what recovery reads is part of the fitted handling time of an object.
    Beside,
    /// Beside the writes too, but at their cost: each is answered after a time of its own, and whoever is next in the line waits for what
    /// it has taken of the drive.
    Shared(ReadTime),
}

/// What a read that shares the drive with writes takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTime {
    /// Until its answer, without its transfer.
    pub latency: Span,
    /// Of the line, without its transfer.
    pub line: Span,
    /// Of every MiB, of both.
    pub per_mib: Span,
}

fn transfer(per_mib: Span, bytes: Bytes) -> Span {
    let transfer = (u128::from(per_mib.nanos()) * u128::from(bytes.get())) >> 20;
    Span::from_nanos(transfer as u64)
}

impl ServiceTime {
    /// The time one request takes, if it commits its access.
    pub fn of(&self, request: &Request) -> Span {
        self.per_request + self.transfer(request)
    }

    fn transfer(&self, request: &Request) -> Span {
        transfer(self.per_mib, request.length)
    }
}

/// When a request that has been started will be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is in service; [`DriveModel::finish`] is due then.
    InLine(Time, RequestId),
    /// It is served beside the line and needs nothing but its answer then.
    Beside(Time, RequestId),
}

/// A drive serving one request at a time.
#[derive(Clone, Debug)]
pub struct DriveModel {
    service: ServiceTime,
    /// Requests that wait, with their service times: the small ones, and the large ones if they stand apart.
    lines: [VecDeque<(OsdId, RequestId, Span)>; 2],
    /// Whose turn it is, and how much of its slice is used.
    turn: usize,
    used: Span,
    busy: bool,
    /// What reads have taken of the line since the request in service began.
    read: Span,
}

impl DriveModel {
    /// An idle drive.
    pub fn new(service: ServiceTime) -> DriveModel {
        DriveModel {
            service,
            lines: [VecDeque::new(), VecDeque::new()],
            turn: 0,
            used: Span::ZERO,
            busy: false,
            read: Span::ZERO,
        }
    }

    /// Requests that come from now on take this long.
    pub(crate) fn set_service(&mut self, service: ServiceTime) {
        self.service = service;
    }

    /// Takes a request of an OSD that stands on it. `None` if it has to wait for others.
    #[inline]
    pub fn submit(&mut self, now: Time, osd: OsdId, submission: &Submission) -> Option<Started> {
        let Submission { id, request, commits } = *submission;
        if request.kind == RequestKind::Read {
            match self.service.reads {
                ReadService::InLine => {}
                ReadService::Beside => {
                    return Some(Started::Beside(now + self.service.per_request, id));
                }
                ReadService::Shared(ReadTime { latency, line, per_mib }) => {
                    let transfer = transfer(per_mib, request.length);
                    // An idle line loses nothing.
                    self.read += if self.busy { line + transfer } else { Span::ZERO };
                    return Some(Started::Beside(now + latency + transfer, id));
                }
            }
        }
        let own = if commits { self.service.per_request } else { self.service.per_part };
        let time = own + self.service.transfer(&request);
        let large = self.service.slices.is_some_and(|slices| request.length >= slices.large_from);
        let line = usize::from(large);
        if self.busy {
            self.lines[line].push_back((osd, id, time));
            return None;
        }
        self.busy = true;
        self.begin_turn(line);
        self.used = time;
        Some(Started::InLine(now + time, id))
    }

    /// The request in service is done. The next one, if any waits, is in service until the time returned.
    #[inline]
    pub fn finish(&mut self, now: Time) -> Option<(Time, OsdId, RequestId)> {
        self.pass_turn();
        let read = std::mem::take(&mut self.read);
        let Some((osd, id, time)) = self.lines[self.turn].pop_front() else {
            self.busy = false;
            return None;
        };
        self.used += time;
        Some((now + read + time, osd, id))
    }

    /// Gives the turn to the other line if something waits there and this one's turn is over.
    fn pass_turn(&mut self) {
        let slice = self.service.slices.map_or(Span::MAX, |slices| slices.slice);
        let other = 1 - self.turn;
        let over = self.used >= slice || self.lines[self.turn].is_empty();
        if over && !self.lines[other].is_empty() {
            self.begin_turn(other);
        }
    }

    fn begin_turn(&mut self, line: usize) {
        if self.turn != line {
            (self.turn, self.used) = (line, Span::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::SlotId;
    use loadline_device::{ClassTag, Priority, RequestKind};

    const OSD: OsdId = OsdId::new(0);

    fn request_id(slot: u32) -> RequestId {
        RequestId::new(SlotId::new(slot), 0)
    }

    fn write(id: u32, length: Bytes) -> Submission {
        let request = Request {
            kind: RequestKind::Write,
            offset: 0,
            length,
            class: ClassTag(1),
            priority: Priority::default(),
            duration_limit: None,
        };
        Submission { id: request_id(id), request, commits: true }
    }

    fn service(slices: Option<Slices>) -> ServiceTime {
        let (per_request, per_mib) = (Span::from_nanos(100), Span::from_nanos(1000));
        ServiceTime {
            per_request,
            per_part: per_request,
            per_mib,
            slices,
            reads: ReadService::InLine,
        }
    }

    /// Submits everything at time zero and returns ids and times of the answers.
    fn answers(service: ServiceTime, requests: &[Submission]) -> Vec<(u32, u64)> {
        let mut drive = DriveModel::new(service);
        let started: Vec<_> =
            requests.iter().filter_map(|request| drive.submit(Time::ZERO, OSD, request)).collect();
        let [Started::InLine(at, id)] = started[..] else {
            panic!("one is in service: {started:?}")
        };
        let mut next = Some((at, id));
        let mut done = Vec::new();
        while let Some((at, id)) = next {
            done.push((id.slot().get(), at.nanos()));
            next = drive.finish(at).map(|(at, _, id)| (at, id));
        }
        done
    }

    #[test]
    fn one_line_serves_in_order_and_each_takes_its_size() {
        let requests = [write(1, Bytes::from_mib(4)), write(2, Bytes::ZERO), write(3, Bytes::ZERO)];
        assert_eq!(answers(service(None), &requests), [(1, 4100), (2, 4200), (3, 4300)]);
    }

    /// Slices of 1000 ns: ten small requests of 100 ns, or one large one of 4100 ns.
    #[test]
    fn two_lines_take_turns_by_time() {
        let slices = Slices { large_from: Bytes::from_mib(1), slice: Span::from_nanos(1000) };
        let mut requests: Vec<Submission> = (0..25).map(|id| write(id, Bytes::ZERO)).collect();
        requests.extend((100..104).map(|id| write(id, Bytes::from_mib(4))));
        let order: Vec<u32> =
            answers(service(Some(slices)), &requests).into_iter().map(|(id, _)| id).collect();
        let mut expected: Vec<u32> = (0..10).collect();
        expected.push(100);
        expected.extend(10..20);
        expected.push(101);
        expected.extend(20..25);
        expected.extend([102, 103]);
        assert_eq!(order, expected);
    }

    /// Two reads of 1 MiB come while a write of 100 ns is in service: they are answered 70 ns and their transfer of 1000 later, and the write
    /// behind that one waits for 2 x (30 + 1000) ns.
    #[test]
    fn reads_that_share_the_drive_delay_who_is_next() {
        let (latency, line) = (Span::from_nanos(70), Span::from_nanos(30));
        let time = ReadTime { latency, line, per_mib: Span::from_nanos(1000) };
        let reads = ReadService::Shared(time);
        let mut drive = DriveModel::new(ServiceTime { reads, ..service(None) });
        let read = |id| {
            let write = write(id, Bytes::from_mib(1));
            Submission { request: Request { kind: RequestKind::Read, ..write.request }, ..write }
        };
        let at = Time::from_nanos;
        let beside = |id, nanos| Some(Started::Beside(at(nanos), request_id(id)));
        assert_eq!(
            drive.submit(Time::ZERO, OSD, &read(9)),
            beside(9, 1070),
            "an idle line loses nothing"
        );
        drive.submit(Time::ZERO, OSD, &write(1, Bytes::ZERO));
        drive.submit(Time::ZERO, OSD, &write(2, Bytes::ZERO));
        assert_eq!(drive.submit(at(10), OSD, &read(3)), beside(3, 1080));
        assert_eq!(drive.submit(at(20), OSD, &read(4)), beside(4, 1090));
        assert_eq!(drive.finish(at(100)), Some((at(100 + 2060 + 100), OSD, request_id(2))));
        assert_eq!(drive.finish(at(2260)), None);
    }

    #[test]
    fn reads_beside_the_line_wait_for_nothing() {
        let mut drive =
            DriveModel::new(ServiceTime { reads: ReadService::Beside, ..service(None) });
        drive.submit(Time::ZERO, OSD, &write(1, Bytes::from_mib(4)));
        let read = write(2, Bytes::from_mib(4));
        let read =
            Submission { request: Request { kind: RequestKind::Read, ..read.request }, ..read };
        let due = Time::from_nanos(100);
        assert_eq!(drive.submit(Time::ZERO, OSD, &read), Some(Started::Beside(due, request_id(2))));
    }
}
