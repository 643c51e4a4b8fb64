//! Commands on their way in: a tag, a place, their limits, and what the write cache answers at once.

use super::Hdd;
use crate::hdd::Feature;
use crate::hdd::command::HddCommand;
use crate::hdd::ending::Ending;
use crate::hdd::limits::LimitWatch;
use crate::hdd::spec::SECTOR;
use loadline_base::{Span, Time};
use loadline_device::{PriorityClass, Request, RequestKind};

impl Hdd {
    /// Takes a tag for a command.
    pub(super) fn accept(&mut self, now: Time, id: u64, request: &Request) {
        self.tags.taken += 1;
        self.tags.arrivals += 1;
        let arrived = now + self.spec.turnaround / 2;
        match request.kind {
            RequestKind::Read => self.take_read(arrived, id, request),
            RequestKind::Write => self.take_write(arrived, id, request),
            RequestKind::Flush if self.cache.unwritten > 0 => {
                self.cache.flushes.push((id, self.tags.arrivals))
            }
            RequestKind::Flush | RequestKind::Discard => {
                self.answer(arrived + self.spec.overhead, id, Ending::Good)
            }
        }
    }

    fn take_read(&mut self, arrived: Time, id: u64, request: &Request) {
        let command = self.command(arrived, Some(id), request);
        let sectors = command.sectors();
        if self.cache.unwritten > 0 && self.unwritten().any(|write| write.caches(&sectors)) {
            self.answer_from_cache(arrived, id, request);
        } else {
            self.waiting.push(command);
        }
    }

    fn take_write(&mut self, arrived: Time, id: u64, request: &Request) {
        let cached = self.cache.unwritten < self.spec.cached_writes;
        let command = self.command(arrived, (!cached).then_some(id), request);
        self.waiting.push(command);
        if cached {
            self.cache.unwritten += 1;
            self.answer_from_cache(arrived, id, request);
        }
    }

    fn command(&self, arrived: Time, id: Option<u64>, request: &Request) -> HddCommand {
        let (sector, sectors) = (request.offset / SECTOR, request.length.get() / SECTOR);
        let set =
            if request.kind == RequestKind::Write { &self.terms.writes } else { &self.terms.reads };
        let limited = self.terms.feature == Feature::DurationLimits && id.is_some();
        let index = if limited { request.priority.descriptor() } else { 0 };
        let watch = LimitWatch::new(set, index);
        let prioritised = matches!(self.terms.feature, Feature::NcqPriority { .. });
        HddCommand {
            id,
            kind: request.kind,
            sector,
            sectors,
            place: self.head.geometry.place(sector, sectors),
            arrived,
            high: prioritised && request.priority.class() == PriorityClass::RealTime,
            steered: self.terms.reads.allowed_loss.code() > 0,
            expiry: watch.queued_expiry(arrived),
            watch,
            number: self.tags.arrivals,
        }
    }

    fn answer_from_cache(&mut self, arrived: Time, id: u64, request: &Request) {
        self.statistics.medium.from_cache += 1;
        let seconds = request.length.get() as f64 / self.spec.link_rate.get() as f64;
        let at = arrived + self.spec.overhead + Span::from_secs_f64(seconds);
        self.answer(at, id, Ending::Good);
    }
}
