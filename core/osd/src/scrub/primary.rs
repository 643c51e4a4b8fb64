//! The scrub of a placement group on its primary, from its request to its end (scrub.md 2.5).
//!
//! A run asks one member after the other for a slot in order of their numbers, its own OSD among them. Where one has none, it stands in that
//! one's line, gives back what others gave, and asks all again when it is called: a slot that is kept for a run that waits is of use to nobody, and
//! on many OSDs most of them would be. They cannot turn each other away for ever: of runs that ask, the one with the highest slot that others of
//! them want meets only slots of scrubs under way, so it begins or waits for one of those to end. In presets of other systems a run asks all members
//! at once when its OSD looks, and is refused.

use super::Scrub;
use super::compare::{are_unreadable_alone, bad_copies};
use super::kind::{ScrubItem, ScrubKind, ScrubRequest, ScrubStep};
use super::load::MachineLoad;
use super::map::{ScrubMap, ScrubMessage};
use super::options::{ScrubOptions, ScrubSlots};
use super::record::{ScrubFindings, ScrubProgress, ScrubRecord};
use super::run::{ScrubPhase, ScrubRun, WriteMeets};
use super::schedule::{ScrubHeld, ScrubTurns};
use crate::access::{AccessKind, ObjectRange, Update};
use crate::commit::{Commit, ScrubRead};
use crate::directive::Notice;
use crate::disk::keep_scrubs;
use crate::event::{Effect, Effects, Timer};
use crate::ids::{OpId, OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::{ClientOp, Data, Message};
use crate::osd::Osd;
use crate::pg::Primary;
use crate::shard::KeptWorker;
use loadline_base::{Span, Time};
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

/// A copy of an object that is to be replaced.
struct ToReplace {
    osd: OsdId,
    object: ObjectNo,
    /// What can be read of it is right.
    may_lend: bool,
}

/// Between two looks whose time has come.
const TICK: Span = Span::from_secs(1);

impl Osd {
    /// Somebody asks for a scrub of a group that this OSD leads. One that is under way goes on if it does what is asked as well, and
    /// begins anew if it does not.
    pub(crate) fn ask_for_scrub(
        &mut self,
        now: Time,
        pg: PgId,
        request: ScrubRequest,
        fx: &mut Effects,
    ) {
        if self.primary(pg).is_none() {
            return;
        }
        self.stop_scrub(now, pg, fx);
        self.want_scrub(now, pg, request, fx);
        self.begin_scrubs(now, fx);
    }

    fn want_scrub(&mut self, now: Time, pg: PgId, request: ScrubRequest, fx: &mut Effects) {
        let began = self.options.clock.at(now);
        let record = self.scrub.records.entry(pg).or_default();
        let progress = match record.under_way.take() {
            Some(old) if old.request.does(request) => ScrubProgress {
                request: ScrubRequest {
                    is_requested: old.request.is_requested || request.is_requested,
                    ..old.request
                },
                ..old
            },
            old => {
                let request = old.map_or(request, |old| old.request.with(request));
                ScrubProgress::new(request, began, OsdSet::EMPTY)
            }
        };
        record.under_way = Some(progress);
        self.keep_scrub_record(now, pg);
        if request.is_requested && self.is_durable() {
            // What an operator asks for is not forgotten with a disk. What the clock begins, it begins again.
            self.tell_scrub_record(self.other_members(pg), pg, fx);
        }
    }

    /// Begins the scrubs that were asked for, or were broken off, and may go on. Where members refuse, one of them begins when the OSD looks.
    pub(crate) fn begin_scrubs(&mut self, now: Time, fx: &mut Effects) {
        let wanted = self.wanted_scrubs(now);
        match self.options.scrub.slots {
            ScrubSlots::InLine => wanted.into_iter().for_each(|pg| self.begin_scrub(now, pg, fx)),
            ScrubSlots::OrRefused(_) if !wanted.is_empty() && self.scrub.tick_at.is_none() => {
                self.set_scrub_tick(now, fx);
            }
            ScrubSlots::OrRefused(_) => {}
        }
    }

    /// Groups whose scrub may begin, or go on. One of a group that is trimmed waits until a snapshot is done, and one that is ahead of its pace rests.
    fn wanted_scrubs(&self, now: Time) -> Vec<PgId> {
        let Scrub { records, runs, .. } = &self.scrub;
        let wanted = records.iter().filter(|(_, record)| record.under_way.is_some());
        let wanted = wanted.map(|(pg, _)| *pg);
        let wanted = wanted.filter(|pg| !runs.contains_key(pg) && !self.trim.is_at(*pg));
        let wanted = wanted.filter(|pg| self.primary(*pg).is_some_and(Primary::is_whole));
        wanted.filter(|pg| self.scrub_rests_until(now, *pg).is_none()).collect()
    }

    fn begin_scrub(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let members = self.primary(pg).expect("it leads what it scrubs").members();
        let number = self.scrub.next_number();
        let record = self.scrub.records.get_mut(&pg).expect("it is wanted");
        let mut progress = record.under_way.clone().expect("it is wanted");
        if progress.members != members {
            // What is found is found by comparing these copies: another one may be the only good one, or be made from a bad one.
            progress = progress.anew(members);
        }
        let ScrubOptions { slots, preemptions_max, .. } = self.options.scrub;
        let terms = (slots != ScrubSlots::InLine, preemptions_max);
        let run = ScrubRun::new(number, progress, members, terms);
        let asked = run.asked();
        self.scrub.runs.insert(pg, run);
        for osd in asked.iter() {
            self.ask_for_scrub_slot(now, osd, pg, fx);
        }
    }

    /// Begins one of the scrubs that are wanted, where members refuse: of those that wait for nothing, or else of those that were refused.
    /// Whether one has begun.
    fn begin_wanted_scrub(&mut self, now: Time, fx: &mut Effects) -> bool {
        let wanted = self.wanted_scrubs(now);
        let refused = &mut self.scrub.refused;
        refused.retain(|pg, until| *until > now && wanted.contains(pg));
        if wanted.iter().all(|pg| refused.contains_key(pg)) {
            refused.clear();
        }
        let next = wanted.into_iter().find(|pg| !refused.contains_key(pg));
        next.inspect(|pg| self.begin_scrub(now, *pg, fx)).is_some()
    }

    /// Whether this OSD may begin a scrub at this second: it has a slot, and waits for no other's.
    fn may_begin_scrub(&self, now: Time) -> bool {
        let second = now.nanos() / 1_000_000_000;
        let is_reserving = self.scrub.runs.values().any(ScrubRun::is_reserving);
        let is_left_out = self.options.scrub.schedule.leaves_out(self.id.get(), second);
        !is_reserving && self.scrub.slots.free() > 0 && !is_left_out
    }

    /// A member has no slot: what others gave goes back.
    pub(super) fn scrub_slot_refused(
        &mut self,
        now: Time,
        from: OsdId,
        (pg, number): (PgId, u32),
        fx: &mut Effects,
    ) {
        let is_asked = self.scrub_run((pg, number)).is_some_and(|run| run.claimed().contains(from));
        if let ScrubSlots::OrRefused(wait) = self.options.scrub.slots
            && is_asked
        {
            self.stop_scrub(now, pg, fx);
            self.scrub.refused.insert(pg, now + wait);
            self.begin_scrubs(now, fx);
        }
    }

    /// An OSD that leads groups looks once a second whose time has come. What keeps nothing of its scrubs cannot tell.
    pub(crate) fn look_for_due_scrubs(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if !self.is_durable() {
            return;
        }
        let record = self.scrub.records.entry(pg).or_default();
        let is_new = record.is_new();
        if record.since.is_none() {
            record.since = Some(self.options.clock.at(now));
            self.keep_scrub_record(now, pg);
        }
        if is_new {
            // A disk that was made empty and filled again has the group's objects, and not what is known of its scrubs.
            for osd in self.other_members(pg).iter() {
                self.send(osd, pg, Message::Scrub(ScrubMessage::Recall), fx);
            }
        }
        self.tell_found_bad(pg, fx);
        if self.scrub.tick_at.is_none() {
            self.set_scrub_tick(now, fx);
        }
    }

    fn set_scrub_tick(&mut self, now: Time, fx: &mut Effects) {
        let at = now + TICK;
        self.scrub.tick_at = Some(at);
        fx.world.push(Effect::Timer(self.id, at, Timer::ScrubTick));
    }

    /// A second is over, or more: a real clock is never on time. One of a life that has ended does nothing.
    pub(crate) fn scrub_tick(&mut self, now: Time, fx: &mut Effects) {
        if self.scrub.tick_at.is_none_or(|at| at > now) {
            return;
        }
        self.scrub.tick_at = None;
        let leads = self.groups.iter().any(|(_, here)| here.primary.is_some());
        let is_refused = self.options.scrub.slots != ScrubSlots::InLine;
        let is_wanted = is_refused && !self.wanted_scrubs(now).is_empty();
        if !leads || !self.is_durable() && !is_wanted {
            return;
        }
        self.set_scrub_tick(now, fx);
        if !is_refused {
            // Those that have rested.
            self.begin_scrubs(now, fx);
        }
        let has_begun = is_wanted && self.may_begin_scrub(now) && self.begin_wanted_scrub(now, fx);
        if !has_begun && self.is_durable() {
            self.begin_due_scrub(now, fx);
        }
    }

    /// Begins the scrub of the group that is due for the longest, if nothing stands against it.
    fn begin_due_scrub(&mut self, now: Time, fx: &mut Effects) {
        let schedule = self.options.scrub.schedule;
        let recovers = self.recovers() && !schedule.during_recovery;
        if schedule.is_off() || recovers || !self.may_begin_scrub(now) {
            return;
        }
        let today = self.options.clock.at(now);
        let due = self.scrub.records.iter().filter(|(_, record)| record.under_way.is_none());
        let due = due.filter(|(pg, _)| self.primary(**pg).is_some_and(Primary::is_whole));
        let due = due.filter(|(pg, _)| !self.trim.is_at(**pg));
        let turns = self.scrub_turns(today);
        let due = due.filter_map(|(pg, record)| {
            let turns = if schedule.is_late(record, today) { ScrubTurns::ALL } else { turns };
            let kind = schedule.due(*pg, record, (today, &self.scrub.load), turns)?;
            Some((schedule.target(*pg, record.last_by(today)?), *pg, kind))
        });
        if let Some((_, pg, kind)) = due.min_by_key(|(target, pg, _)| (*target, *pg)) {
            let is_deep = kind == ScrubKind::Deep;
            let repairs = is_deep && self.options.scrub.auto_repairs_max > 0;
            self.want_scrub(now, pg, ScrubRequest { kind, is_requested: false, repairs }, fx);
            self.begin_scrub(now, pg, fx);
        }
    }

    /// The machine tells how busy it is.
    pub(crate) fn machine_load_told(&mut self, now: Time, load: MachineLoad) {
        self.scrub.load.told(now, load);
    }

    /// Why the clock does not begin the scrub of a group that this OSD leads and whose time has come; `None` if its time has not come, or
    /// nothing but its turn stands against it.
    pub fn scrub_held_back(&self, now: Time, pg: PgId) -> Option<ScrubHeld> {
        self.primary(pg)?;
        let record = self.scrub_record(pg).filter(|record| record.under_way.is_none())?;
        let today = self.options.clock.at(now);
        self.options.scrub.schedule.held_back(pg, record, (today, &self.scrub.load))
    }

    /// What the clock has begun and may not begin any more is ended.
    pub(crate) fn end_forbidden_scrubs(&mut self, now: Time, fx: &mut Effects) {
        let schedule = self.options.scrub.schedule;
        let forbidden = |request: ScrubRequest| match request.kind {
            _ if request.is_requested => false,
            ScrubKind::Shallow => schedule.no_shallow,
            ScrubKind::Deep => schedule.no_deep,
        };
        let under_way = self.scrub.records.iter().filter_map(|(pg, record)| {
            record.under_way.as_ref().filter(|it| forbidden(it.request)).map(|_| *pg)
        });
        for pg in under_way.collect::<Vec<_>>() {
            self.stop_scrub(now, pg, fx);
            self.scrub.records.get_mut(&pg).expect("it was found").under_way = None;
            self.keep_scrub_record(now, pg);
        }
    }

    /// Asks a member for a slot.
    fn ask_for_scrub_slot(&mut self, now: Time, osd: OsdId, pg: PgId, fx: &mut Effects) {
        let Some(number) = self.scrub.runs.get(&pg).map(|run| run.number) else { return };
        self.tell_scrub(now, osd, pg, ScrubMessage::Reserve(number), fx);
    }

    /// The run of this number, unless it is over.
    fn scrub_run(&mut self, (pg, number): (PgId, u32)) -> Option<&mut ScrubRun> {
        self.scrub.runs.get_mut(&pg).filter(|run| run.number == number)
    }

    /// A member has given a slot.
    pub(super) fn scrub_slot_granted(
        &mut self,
        now: Time,
        from: OsdId,
        (pg, number): (PgId, u32),
        fx: &mut Effects,
    ) {
        let Some(run) = self.scrub_run((pg, number)) else { return };
        let is_last = run.granted(from);
        let next = run.next_to_ask();
        if is_last {
            self.pause_scrub(now, pg, fx);
        } else if let Some(osd) = next {
            self.ask_for_scrub_slot(now, osd, pg, fx);
        }
    }

    /// A member has no slot, and will call: what the others gave is of no use until then.
    pub(super) fn scrub_slot_awaited(
        &mut self,
        now: Time,
        at: OsdId,
        (pg, number): (PgId, u32),
        fx: &mut Effects,
    ) {
        let Some(run) = self.scrub_run((pg, number)) else { return };
        let given = run.stands_in_line(at);
        self.give_scrub_slots_back(now, pg, given, fx);
    }

    /// A member in whose line a run stands has a slot, for now.
    pub(super) fn scrub_slot_called(
        &mut self,
        now: Time,
        by: OsdId,
        (pg, number): (PgId, u32),
        fx: &mut Effects,
    ) {
        let Some(run) = self.scrub_run((pg, number)) else { return };
        if let Some(first) = run.called(by) {
            self.ask_for_scrub_slot(now, first, pg, fx);
        }
    }

    /// A run needs the slots no longer that were granted, and those that it waits for.
    pub(super) fn give_scrub_slots_back(
        &mut self,
        now: Time,
        pg: PgId,
        osds: OsdSet,
        fx: &mut Effects,
    ) {
        for osd in osds.iter() {
            self.tell_scrub(now, osd, pg, ScrubMessage::Released, fx);
        }
    }

    /// Queues the next step of a run. One that others wait for is as urgent as clients' ops.
    fn queue_scrub(
        &mut self,
        now: Time,
        pg: PgId,
        step: ScrubStep,
        urgent: bool,
        fx: &mut Effects,
    ) {
        let Some(run) = self.scrub.runs.get(&pg) else { return };
        let (number, is_requested) = (run.number, run.request().is_requested);
        let is_urgent = urgent || run.has_blocked();
        let plain = ScrubItem::plain(pg, number, step);
        // Before a chunk is chosen no write meets it, so that a choice behind a pause may wait. All others are urgent, and do not.
        let may_wait = step == ScrubStep::Choose && !is_urgent;
        let item = ScrubItem { is_requested, is_urgent, may_wait, ..plain };
        self.enqueue(now, Item::Scrub(item), fx);
    }

    /// A worker carries out a step.
    pub(crate) fn execute_scrub(
        &mut self,
        now: Time,
        item: ScrubItem,
        keeps: Option<KeptWorker>,
        fx: &mut Effects,
    ) {
        let ScrubItem { pg, number, .. } = item;
        match item.step {
            ScrubStep::List => return self.list_for_scrub(now, pg, number),
            ScrubStep::Scan => return self.begin_scan_step(now, (pg, number), keeps, fx),
            _ => {}
        }
        if self.scrub.runs.get(&pg).is_none_or(|run| run.number != number) {
            return;
        }
        match item.step {
            ScrubStep::Choose => self.list_to_choose(now, pg, fx),
            ScrubStep::Free => self.ask_for_maps(now, pg, fx),
            ScrubStep::Compare => self.compare_chunk(now, pg, fx),
            ScrubStep::Next => self.pause_scrub(now, pg, fx),
            ScrubStep::Finish => self.finish_scrub(now, pg, fx),
            ScrubStep::List | ScrubStep::Scan => unreachable!("they were carried out above"),
        }
    }

    /// Looks which objects are next, on the disk where the preset does so.
    fn list_to_choose(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if !self.options.scrub.reading.lists_to_choose() {
            return self.choose_chunk(now, pg, fx);
        }
        let run = &self.scrub.runs[&pg];
        let most = run.bounds(self.options.scrub.chunk(run.request().kind)).most as usize + 1;
        let (after, number) = (run.progress.reached, run.number);
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        self.list_on_disk(now, (pg, after), most, ScrubRead::Choose { interval, number });
    }

    /// The store has listed what is next.
    pub(super) fn chunk_listed(&mut self, now: Time, pg: PgId, number: u32, fx: &mut Effects) {
        if self.scrub.runs.get(&pg).is_some_and(|run| run.number == number) {
            self.choose_chunk(now, pg, fx);
        }
    }

    /// Chooses the next objects, to which writes wait from now on.
    fn choose_chunk(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let run = &self.scrub.runs[&pg];
        if run.phase != ScrubPhase::BeforeChunk {
            return;
        }
        let bounds = run.bounds(self.options.scrub.chunk(run.request().kind));
        let after = run.progress.reached;
        let listed = self.list_after(pg, after, bounds.most as usize + 1);
        let states = |object: ObjectNo| {
            let history = self.pg(pg).and_then(|here| here.kept.get(object));
            1 + history.map_or(0, |history| history.states.len() as u32)
        };
        let counted: Vec<(ObjectNo, u32)> =
            listed.into_iter().map(|(object, _)| (object, states(object))).collect();
        let last = bounds.end_of(counted.iter().copied());
        let inside = counted.iter().filter(|(object, _)| last.is_none_or(|last| *object <= last));
        let states = inside.map(|(_, states)| states).sum();
        let number = self.scrub.next_number();
        let average = self.store.objects(pg).average_bytes();
        let run = self.scrub.runs.get_mut(&pg).expect("it runs");
        run.begin_chunk(number, last);
        let ScrubRequest { kind, is_requested, .. } = run.request();
        let object_bytes = if kind == ScrubKind::Deep { average } else { 0 };
        let is_urgent = run.has_blocked();
        let item = ScrubItem {
            pg,
            number: run.number,
            step: ScrubStep::Free,
            is_requested,
            is_urgent,
            may_wait: false,
            states,
            object_bytes,
            bytes: 0,
        };
        self.enqueue(now, Item::Scrub(item), fx);
    }

    /// Asks every copy for its map, as soon as the writes that were begun before are carried out on all of them.
    fn ask_for_maps(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let (this, run) = (self.id, self.scrub.runs.get_mut(&pg).expect("it runs"));
        let Some(chunk) = run.chunk().filter(|_| run.phase == ScrubPhase::WaitUpdates) else {
            return;
        };
        if self.ops.updates_any(pg, |object| chunk.contains(object)) {
            return;
        }
        let asked = run.scan();
        let others = run.reserved.iter().filter(|osd| *osd != this);
        for osd in others.collect::<Vec<_>>() {
            self.send(osd, pg, Message::Scrub(ScrubMessage::Scan(asked)), fx);
        }
        self.begin_scan(now, pg, this, asked, fx);
        self.list_for_scrub(now, pg, chunk.number);
    }

    /// An op has ended that a chunk may have waited for.
    pub(crate) fn scrub_op_ended(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if let Some(run) = self.scrub.runs.get(&pg)
            && run.phase == ScrubPhase::WaitUpdates
            && let Some(chunk) = run.chunk()
            && !self.ops.updates_any(pg, |object| chunk.contains(object))
        {
            self.queue_scrub(now, pg, ScrubStep::Free, false, fx);
        }
    }

    /// Whether a write has to wait for the chunk that it meets; then it is kept. If it need not, the chunk may begin anew for it.
    pub(crate) fn scrub_keeps(
        &mut self,
        now: Time,
        op: ClientOp,
        data: Data,
        fx: &mut Effects,
    ) -> Option<(ClientOp, Data)> {
        let Some(run) = self.scrub.runs.get_mut(&op.pg).filter(|_| op.kind.is_update()) else {
            return Some((op, data));
        };
        match run.meets(op.object) {
            WriteMeets::Nothing => {}
            WriteMeets::Preempts => {
                run.preempt();
                self.drop_scan(now, op.pg, fx);
                self.counters.scrub.preempted += 1;
                self.pause_scrub(now, op.pg, fx);
            }
            WriteMeets::Waits => {
                run.block(op, data);
                self.counters.scrub.blocked_writes += 1;
                return None;
            }
        }
        Some((op, data))
    }

    /// Whether this op waits for such a chunk.
    pub(crate) fn scrub_blocks(&self, pg: PgId, op: OpId) -> bool {
        self.scrub.runs.get(&pg).is_some_and(|run| run.blocks(op))
    }

    /// A copy's map is here.
    pub(super) fn scrub_map_came(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        map: ScrubMap,
        fx: &mut Effects,
    ) {
        if let Some(run) = self.scrub.runs.get_mut(&pg)
            && run.take_map(from, map)
        {
            self.queue_scrub(now, pg, ScrubStep::Compare, false, fx);
        }
    }

    fn compare_chunk(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let (this, run) = (self.id, self.scrub.runs.get_mut(&pg).expect("it runs"));
        if run.phase != ScrubPhase::Comparing {
            return;
        }
        let urgent = run.has_blocked();
        let (is_last, to_record) = run.compare(this);
        let (blocked, progress) = (run.take_blocked(), run.progress.clone());
        let record = self.scrub.records.get_mut(&pg).expect("it is wanted");
        record.under_way = Some(progress);
        self.tell_found_bad(pg, fx);
        for (osd, digests) in to_record {
            self.tell_scrub(now, osd, pg, ScrubMessage::Record(digests), fx);
        }
        if !is_last {
            self.keep_scrub_record(now, pg);
        }
        if !is_last && self.scrub_rests_until(now, pg).is_some() {
            self.stop_scrub(now, pg, fx);
            self.unpark(now, pg, blocked, fx);
            return self.begin_trim(now, pg, fx);
        }
        let step = if is_last { ScrubStep::Finish } else { ScrubStep::Next };
        self.queue_scrub(now, pg, step, urgent || is_last, fx);
        self.unpark(now, pg, blocked, fx);
    }

    /// The pause before a chunk, the first one too.
    fn pause_scrub(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let sleep = self.options.scrub.sleep;
        if sleep == Span::ZERO {
            return self.queue_scrub(now, pg, ScrubStep::Choose, true, fx);
        }
        let number = self.scrub.runs[&pg].number;
        fx.world.push(Effect::Timer(self.id, now + sleep, Timer::ScrubWake(pg, number)));
    }

    /// The pause is over.
    pub(crate) fn scrub_woke(&mut self, now: Time, pg: PgId, number: u32, fx: &mut Effects) {
        let run = self.scrub.runs.get(&pg).filter(|run| run.number == number);
        if run.is_some_and(|run| run.phase == ScrubPhase::BeforeChunk) {
            self.queue_scrub(now, pg, ScrubStep::Choose, false, fx);
        }
    }

    /// All of the group is compared.
    fn finish_scrub(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let progress = self.scrub.runs[&pg].progress.clone();
        let ScrubProgress { request, began, findings, .. } = progress;
        let ended = self.options.clock.at(now);
        let automatic = !request.is_requested;
        let auto_most = self.options.scrub.auto_repairs_max;
        // Many at once is no rot, and nothing to be mended unasked.
        let may_repair = !automatic || (1..=auto_most).contains(&findings.inconsistent);
        let looks_closer = automatic && request.kind == ScrubKind::Shallow && may_repair;
        let (to_repair, has_failed) = match request.repairs && may_repair {
            true => self.what_to_repair(pg, &findings),
            false => (Vec::new(), false),
        };
        let record = self.scrub.records.get_mut(&pg).expect("it is wanted");
        let is_clean = findings.counts.all() == 0;
        // A shallow scrub does not see what a deep one has found, and says nothing of it.
        let keeps = request.kind == ScrubKind::Shallow && record.findings.counts.deep > 0;
        let findings = match keeps {
            true => std::mem::take(&mut record.findings).with(findings),
            false => findings,
        };
        *record = ScrubRecord {
            since: record.since,
            last: Some(ended),
            last_deep: if request.kind == ScrubKind::Deep { Some(ended) } else { record.last_deep },
            last_clean: if is_clean { Some(ended) } else { record.last_clean },
            duration: ended.since(began),
            findings,
            // What could not be repaired stays so until nothing is wrong any more.
            has_failed_repair: has_failed
                || record.has_failed_repair && (keeps || !request.repairs && !is_clean),
            under_way: None,
        };
        self.counters.scrub.ended += 1;
        self.tell_found_bad(pg, fx);
        self.tell_scrub_record(self.other_members(pg), pg, fx);
        self.stop_scrub(now, pg, fx);
        if looks_closer {
            self.want_scrub(
                now,
                pg,
                ScrubRequest { kind: ScrubKind::Deep, repairs: true, ..request },
                fx,
            );
        } else if to_repair.is_empty() {
            self.keep_scrub_record(now, pg);
        } else {
            // What was replaced is looked at once more: until then nobody says that all is well.
            let again = ScrubRequest { repairs: false, kind: ScrubKind::Deep, ..request };
            self.want_scrub(now, pg, again, fx);
            for ToReplace { osd, object, may_lend } in to_repair {
                match may_lend {
                    true => self.note_unreadable(pg, osd, object),
                    false => self.note_wrong(pg, osd, object),
                }
                self.counters.scrub.repaired += 1;
            }
            self.begin_repair(now, pg, fx);
        }
        self.begin_scrubs(now, fx);
        self.begin_trim(now, pg, fx);
    }

    /// Which copies of which objects are to be replaced, and whether some have none that is good. Those of which each copy can only not be read
    /// everywhere may still be put together.
    fn what_to_repair(&self, pg: PgId, findings: &ScrubFindings) -> (Vec<ToReplace>, bool) {
        let primary = self.primary(pg).expect("it leads what it scrubs");
        let members: BTreeSet<OsdId> = primary.members().iter().collect();
        let mut objects = BTreeMap::<ObjectNo, Vec<_>>::new();
        for state in &findings.named {
            objects.entry(state.object).or_default().push(state.clone());
        }
        let (mut all, mut has_failed) = (Vec::new(), false);
        for (object, states) in objects {
            let (bad, has_good) = bad_copies(&members, &states);
            let may_lend = !has_good && are_unreadable_alone(&states);
            has_failed |= !has_good;
            // Where several may lend, the primary's is taken for unreadable, as when a client reads it: the others follow when they are asked.
            let all_bad = bad.into_iter().map(|osd| ToReplace { osd, object, may_lend });
            all.extend(all_bad.filter(|it| has_good || may_lend && it.osd == self.id));
        }
        (all, has_failed)
    }

    /// Who else has a copy of a group that this OSD leads.
    fn other_members(&self, pg: PgId) -> OsdSet {
        let mut members = self.primary(pg).expect("it leads what it scrubs").members();
        members.remove(self.id);
        members
    }

    /// Tells these what is known of a group's scrubs, if anything is.
    pub(super) fn tell_scrub_record(&self, osds: OsdSet, pg: PgId, fx: &mut Effects) {
        let Some(record) = self.scrub.records.get(&pg).filter(|record| !record.is_new()) else {
            return;
        };
        for osd in osds.iter() {
            // What is under way is this primary's doing, with these copies: whoever takes it up compares from the start.
            let under_way = record.under_way.as_ref().map(|it| it.anew(OsdSet::EMPTY));
            let known = ScrubMessage::Known(Box::new(ScrubRecord { under_way, ..record.clone() }));
            self.send(osd, pg, Message::Scrub(known), fx);
        }
    }

    /// Nobody lacks what a scrub has found bad and was not to repair, and a copy that is bad in something makes no other one needless: the owner of the map is told
    /// whose are. It goes by what it was told before until this OSD knows of a scrub.
    pub(super) fn tell_found_bad(&mut self, pg: PgId, fx: &mut Effects) {
        let Some(record) = self.scrub.records.get(&pg).filter(|record| !record.is_new()) else {
            return;
        };
        let Some(members) = self.primary(pg).map(Primary::members) else { return };
        let (interval, bad) =
            (self.pg(pg).map_or(0, |here| here.interval), record.found_bad(members));
        let primary = self.primary_mut(pg).expect("it leads");
        if primary.bad.told_found_bad.replace(bad) != Some(bad) {
            fx.owner.push(Notice::FoundBad(pg, interval, bad));
        }
    }

    /// A copy of a group is being filled, perhaps on another disk than before: what its scrub has compared is not what will be there. All who
    /// take part forget how far they had come, because each may lead when it is filled; and so does one that was away while others served, lacking something or not,
    /// as one may have been filled meanwhile.
    pub(crate) fn compare_anew(&mut self, now: Time, pg: PgId) {
        let record = self.scrub.records.get_mut(&pg);
        let Some(progress) = record.and_then(|record| record.under_way.as_mut()) else { return };
        *progress = progress.anew(OsdSet::EMPTY);
        self.keep_scrub_record(now, pg);
    }

    /// Writes down what is known of a group's scrubs.
    pub(super) fn keep_scrub_record(&mut self, now: Time, pg: PgId) {
        let Some(record) = self.scrub.records.get(&pg).filter(|_| self.is_durable()) else {
            return;
        };
        let edits = vec![keep_scrubs(pg, record.encode_within(self.store.value_bytes()))];
        let update = Update { edits, ..Update::none(AccessKind::Nothing) };
        let place = ObjectRange::of_group(pg);
        self.access(now, Urgency::default(), &place, update, Commit::ScrubKept);
    }

    /// Ends whatever this OSD does for the scrub of a group, as its primary or as a member: slots are free, writes that waited go on.
    /// What the scrub has come to stays known.
    pub(crate) fn stop_scrub(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if let Some(mut run) = self.scrub.runs.remove(&pg) {
            let blocked = run.take_blocked();
            self.give_scrub_slots_back(now, pg, run.claimed(), fx);
            self.drop_scan(now, pg, fx);
            self.unpark(now, pg, blocked, fx);
        }
    }
}
