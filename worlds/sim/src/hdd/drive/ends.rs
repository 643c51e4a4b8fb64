//! Commands on their way out: done, ended for their time, or waited for by a flush; their counts, and their answers.

use super::{Current, Hdd};
use crate::hdd::access::Position;
use crate::hdd::command::{FinishedCommand, HddCommand};
use crate::hdd::ending::Ending;
use crate::hdd::faults::Finds;
use crate::hdd::limits::Missed;
use loadline_base::{Span, Time};

impl Hdd {
    /// Hands answers to the host; each frees a tag.
    pub(super) fn deliver(&mut self, done: &mut Vec<FinishedCommand>) {
        while let Some(finished) = self.answers.pop_until(self.now) {
            done.push(finished);
            self.free_tag(finished.at);
        }
    }

    /// Takes a command back of which the host wants to hear no more. It leaves the queue; one that is carried out goes on, one
    /// whose answer is on its way is answered, and the host has to overhear that.
    pub fn take_back(&mut self, now: Time, id: u64) {
        assert!(now >= self.now, "time does not run backwards");
        self.tags.backlog.retain(|(waiting, _)| *waiting != id);
        let queued = |drive: &Hdd| {
            drive.waiting.len() + usize::from(drive.next.is_some()) + drive.cache.flushes.len()
        };
        let before = queued(self);
        self.waiting.retain(|command| command.id != Some(id));
        self.next = self.next.take().filter(|command| command.id != Some(id));
        self.cache.flushes.retain(|(flush, _)| *flush != id);
        for _ in queued(self)..before {
            self.free_tag(now);
        }
    }

    /// A tag is free, for the command that has waited longest for one.
    fn free_tag(&mut self, at: Time) {
        self.tags.taken -= 1;
        if let Some((id, request)) = self.tags.backlog.pop_front() {
            self.accept(at, id, &request);
        }
    }

    pub(super) fn end_current(&mut self) {
        let Some(current) = self.current.take_if(|current| current.ends <= self.now) else {
            return;
        };
        let Current { command, begun, ends, ending, .. } = current;
        self.head.position = Position::after(&command.place);
        self.count_medium(&command, ends.since(begun), ending);
        if command.writes() && ending == Ending::Good {
            self.head.faults.written(&command.sectors());
        }
        let queued = begun.since(command.arrived);
        let missed = command.watch.missed(queued, ends.since(begun));
        self.conclude(&command, ends, ending, missed);
    }

    fn count_medium(&mut self, command: &HddCommand, busy: Span, ending: Ending) {
        let medium = &mut self.statistics.medium;
        medium.commands += 1;
        medium.busy_nanos += busy.nanos();
        medium.unreadable += u64::from(ending == Ending::MediaError);
        let finds = self.head.faults.read(&command.sectors());
        medium.recovered += u64::from(!command.writes() && matches!(finds, Finds::Slow(_)));
    }

    /// Counts a command that is over and answers it, or the flushes that it kept waiting.
    fn conclude(&mut self, command: &HddCommand, at: Time, ending: Ending, missed: Missed) {
        if let Some(index) = command.watch.index() {
            let sets = &mut self.statistics;
            let set = if command.writes() { &mut sets.writes } else { &mut sets.reads };
            set[index - 1].count(missed, !matches!(ending, Ending::Good | Ending::MediaError));
        }
        match command.id {
            Some(id) => self.answer(at, id, ending),
            None => {
                self.cache.unwritten -= 1;
                self.answer_flushes(at);
            }
        }
    }

    fn answer_flushes(&mut self, at: Time) {
        let oldest = self.unwritten().map(|write| write.number).min();
        let over = |number| oldest.is_none_or(|oldest| oldest > number);
        let (done, left) = self.cache.flushes.iter().partition(|(_, number)| over(*number));
        let done: Vec<(u64, u64)> = done;
        self.cache.flushes = left;
        for (id, _) in done {
            self.answer(at, id, Ending::Good);
        }
    }

    /// Ends queued commands whose time has run out under a policy that ends them.
    pub(super) fn end_expired(&mut self) {
        let now = self.now;
        let expired =
            |command: &mut HddCommand| command.expiry.is_some_and(|expiry| expiry.at <= now);
        let mut over: Vec<HddCommand> = self.next.take_if(expired).into_iter().collect();
        over.extend(self.waiting.extract_if(.., expired));
        for command in over {
            let expiry = command.expiry.expect("it has expired");
            let missed = command.watch.missed(expiry.at.since(command.arrived), Span::ZERO);
            self.conclude(&command, expiry.at, expiry.ending, missed);
        }
    }

    /// Sends the answer of a command that ended inside the drive.
    pub(super) fn answer(&mut self, ended: Time, id: u64, ending: Ending) {
        self.answers.push(ended + self.spec.turnaround / 2, id, ending);
    }
}
