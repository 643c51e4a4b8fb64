//! OSDs without a world: effects are answered in the order in which they come, and written down.

use loadline_base::{Bytes, SlotId, Span, Time, WallClock};
use loadline_device::{Medium, Outcome, Request, RequestKind};
use loadline_osd::{
    Activation, Aside, ChunkBounds, ClientId, ClientOp, CopyReport, Data, DeviceTerms, Directive,
    Effect, Effects, Envelope, Event, HistoryPush, IntervalId, LogReach, Message, Notice, OpId,
    OpKind, Osd, OsdId, OsdOptions, OsdSet, PgId, Policy, ScrubMessage, ScrubOptions, ScrubReading,
    ScrubSchedule, ScrubSlots, ScrubWindow, TrimOptions, Windowed, WorkerRun, WriteTag,
};
use loadline_qos::{
    Capacity, ClassId, CostModel, CostRule, SchedulerKind, ServiceClass, ShardPlan, Urgency,
    WorkOptions, preset,
};
use loadline_store::{ObjectNo, WindowBounds};
use std::collections::{BTreeSet, VecDeque};

pub(crate) const PG: PgId = PgId::new(0);

pub(crate) fn plan(preset_name: &str, scheduler: SchedulerKind) -> ShardPlan {
    let preset = *preset(preset_name).expect("a preset's name");
    let capacity = Capacity::default_for(Medium::Ssd, 1);
    let cost_model = match preset.cost_rule {
        CostRule::Time(options) => CostModel::time(&options, Medium::Ssd),
        CostRule::Bytes(combine) => {
            CostModel::bytes(capacity.sequential_bandwidth, capacity.iops, combine)
        }
    };
    let profile = preset.profiles.profile("balanced").expect("every table has it");
    ShardPlan {
        preset,
        scheduler,
        capacity,
        values: profile.values(preset.profiles.unit, &capacity),
        cost_model,
        work_options: WorkOptions::default(),
        cut_off: 196,
    }
}

/// One shard with two workers, a window of 8 KiB, one slot and one object at a time.
pub(crate) fn options() -> OsdOptions {
    OsdOptions {
        shards: 1,
        threads_per_shard: 2,
        window: WindowBounds { bytes: Bytes::from_kib(8), ops: u32::MAX },
        windowed: Windowed::Writes,
        pacing: None,
        capacity_iops_max: u64::MAX,
        device: DeviceTerms::default(),
        backfills_max: 1,
        recovery_active_max: 1,
        recovery_single_start_max: 1,
        recovery_sleep: Span::ZERO,
        delete_sleep: Span::ZERO,
        asynchronous_above: 100,
        log_reach: LogReach::default(),
        recovery_priority_min: 0,
        recovery_retry_interval: Span::from_secs(20),
        backfill_retry_interval: Span::from_secs(40),
        backfill_scan_max: 4,
        scrub: ScrubOptions {
            is_paced: false,
            scrubs_max: 1,
            deep_chunk: ChunkBounds { least: 3, most: 4 },
            shallow_chunk: ChunkBounds { least: 3, most: 100 },
            preemptions_max: 2,
            sleep: Span::ZERO,
            reading: ScrubReading::Strides(64 << 10),
            slots: ScrubSlots::InLine,
            schedule: ScrubSchedule {
                least: Span::from_secs(1),
                most: Span::from_secs(7),
                deep: Span::from_secs(7),
                spread_ppm: 0,
                early_deep_ppm: 0,
                backoff_ppm: 0,
                hours: ScrubWindow::default(),
                week_days: ScrubWindow::default(),
                load_threshold_milli: 500,
                no_shallow: false,
                no_deep: false,
                during_recovery: false,
            },
            auto_repairs_max: 0,
        },
        trim: TrimOptions { pgs_max: 1, objects_max: 2, sleep: Span::ZERO, is_off: false },
        clock: WallClock::default(),
    }
}

/// What is not answered yet.
enum Asked {
    World(Effect),
    Owner(OsdId, Notice),
}

/// Some OSDs and what they want done.
pub(crate) struct Bench {
    pub(crate) osds: Vec<Osd>,
    pub(crate) now: Time,
    todo: VecDeque<Asked>,
    held: Vec<Effect>,
    holds: fn(&Effect) -> bool,
    /// Which requests the devices end for time.
    ends: fn(&Request) -> bool,
    /// Objects that OSDs cannot read, until they write them.
    bad: BTreeSet<(OsdId, u64)>,
    /// Items that workers have computed.
    pub(crate) computed: usize,
    /// Whether the devices cannot write.
    is_worn: bool,
    seen: Vec<String>,
    /// Who lacks something, as the owner was told last.
    pub(crate) lacking: Option<OsdSet>,
    /// The replies so far.
    pub(crate) replies: Vec<loadline_osd::Reply>,
}

/// A client's write to the first 4 KiB of an object.
pub(crate) fn write_of(number: u32, object: u64) -> ClientOp {
    ClientOp {
        id: OpId { slot: SlotId::new(number), number },
        client: ClientId::new(1),
        kind: OpKind::Write,
        traced: false,
        background: false,
        resent: false,
        aside: Aside::NONE,
        pg: PG,
        object: ObjectNo(object),
        offset: 0,
        length: 4096,
        given: loadline_osd::GivenOps::default(),
    }
}

impl Bench {
    pub(crate) fn new(osds: u32, plan: ShardPlan, options: OsdOptions) -> Bench {
        let osd = |id| Osd::new(OsdId::new(id), Policy { plan: plan.clone(), seed: 1 }, options);
        Bench {
            osds: (0..osds).map(osd).collect(),
            now: Time::ZERO,
            todo: VecDeque::new(),
            held: Vec::new(),
            holds: |_| false,
            ends: |_| false,
            bad: BTreeSet::new(),
            computed: 0,
            is_worn: false,
            seen: Vec::new(),
            lacking: None,
            replies: Vec::new(),
        }
    }

    /// Puts objects of 4 KiB into a copy, each in the next version.
    pub(crate) fn fill(&mut self, osd: u32, objects: &[u64]) {
        self.osds[osd as usize].place(PG, 0);
        for object in objects {
            self.osds[osd as usize].prefill(PG, [ObjectNo(*object)], 4096);
        }
    }

    /// All copies must hold the same objects, and these.
    #[track_caller]
    pub(crate) fn check_copies(&mut self, osds: &[u32], objects: &[u64]) {
        let first = self.osds[osds[0] as usize].objects(PG).clone();
        let numbers: Vec<u64> = first.list_after(None, usize::MAX).iter().map(|o| o.0.0).collect();
        assert_eq!(numbers, objects);
        for osd in osds {
            assert_eq!(self.osds[*osd as usize].objects(PG), &first, "osd.{osd}");
        }
    }

    /// Begins an interval on all its members, the primary last.
    pub(crate) fn activate(&mut self, pg: PgId, activation: Activation) {
        let members = activation.backfill.iter().chain(activation.acting.iter().rev());
        for osd in members.copied().collect::<Vec<_>>() {
            let activation = Activation { index_in_pool: pg.get(), ..activation.clone() };
            self.direct(osd, Directive::Activate(pg, Box::new(activation)));
        }
        self.direct(activation.acting[0], Directive::Serve(pg, activation.interval));
    }

    pub(crate) fn step(&mut self, osd: OsdId, event: Event) {
        let mut effects = Effects::default();
        self.osds[usize::from(osd)].step(self.now, event, &mut effects);
        self.todo.extend(effects.world.into_iter().map(Asked::World));
        let told = |notice| Asked::Owner(osd, notice);
        self.todo.extend(effects.owner.into_iter().map(told));
    }

    /// Has an OSD do what the owner of the map tells it.
    pub(crate) fn direct(&mut self, osd: OsdId, directive: Directive) {
        self.step(osd, Event::Directive(directive));
    }

    /// Ends an interval on an OSD. The answer is what its copy says.
    pub(crate) fn ask_for_copy(&mut self, osd: u32, pg: PgId) -> CopyReport {
        self.direct(OsdId::new(osd), Directive::Query(pg, 9));
        let answer = self.todo.iter().find_map(|asked| match asked {
            Asked::Owner(_, Notice::Copy(of, 9, copy)) if *of == pg => Some(copy.clone()),
            _ => None,
        });
        self.todo.clear();
        *answer.expect("it is answered").expect("there is a copy")
    }

    /// An OSD crashes, and takes part again.
    pub(crate) fn restart(&mut self, osd: u32) {
        self.direct(OsdId::new(osd), Directive::Crash);
        self.direct(OsdId::new(osd), Directive::Join);
    }

    /// Sends an op of 4 KiB to osd.0.
    pub(crate) fn op(&mut self, number: u32, kind: OpKind, object: u64, interval: u32) {
        self.op_in(PG, number, kind, object, interval, false);
    }

    pub(crate) fn op_in(
        &mut self,
        pg: PgId,
        number: u32,
        kind: OpKind,
        object: u64,
        interval: u32,
        resent: bool,
    ) {
        self.op_of(1, pg, number, kind, (object, interval), resent);
    }

    /// The same for a client.
    pub(crate) fn op_of(
        &mut self,
        client: u32,
        pg: PgId,
        number: u32,
        kind: OpKind,
        (object, interval): (u64, u32),
        resent: bool,
    ) {
        let client = ClientId::new(client);
        let op = ClientOp { client, kind, resent, pg, ..write_of(number, object) };
        self.message(None, 0, pg, interval, Message::Op(op));
    }

    pub(crate) fn message(
        &mut self,
        from: Option<u32>,
        to: u32,
        pg: PgId,
        interval: u32,
        message: Message,
    ) {
        let (from, to, urgency) = (from.map(OsdId::new), OsdId::new(to), Urgency::default());
        let envelope = Envelope { from, to, pg, interval, urgency, message, data: Data::NONE };
        self.step(to, Event::Message(Box::new(envelope)));
    }

    /// How many of the effects that are not answered yet are like this.
    pub(crate) fn due(&self, like: fn(&Effect) -> bool) -> usize {
        let world = |asked: &&Asked| matches!(asked, Asked::World(effect) if like(effect));
        self.todo.iter().filter(world).count()
    }

    /// Gives an OSD new settings.
    pub(crate) fn configure(&mut self, osd: u32, plan: ShardPlan, options: OsdOptions) {
        let settings = Box::new((Policy { plan, seed: 1 }, options));
        self.direct(OsdId::new(osd), Directive::Configure(settings));
    }

    /// From now on, effects like this are not answered until released.
    pub(crate) fn hold(&mut self, holds: fn(&Effect) -> bool) {
        self.holds = holds;
    }

    /// From now on, devices end for time what has a duration limit.
    pub(crate) fn end_limited(&mut self) {
        self.ends = |request| request.duration_limit.is_some();
    }

    /// From now on, devices end everything for time.
    pub(crate) fn end_all(&mut self) {
        self.ends = |_| true;
    }

    /// From now on, an OSD cannot read an object, until it writes it.
    pub(crate) fn spoil(&mut self, osd: u32, object: u64) {
        self.bad.insert((OsdId::new(osd), object));
    }

    /// An OSD can read an object again.
    pub(crate) fn heal(&mut self, osd: u32, object: u64) {
        self.bad.remove(&(OsdId::new(osd), object));
    }

    /// From now on, no device can write.
    pub(crate) fn wear_out(&mut self) {
        self.is_worn = true;
    }

    fn outcome(&mut self, osd: OsdId, request: &Request) -> Outcome {
        let object = (osd, request.offset >> 22);
        match request.kind {
            _ if (self.ends)(request) => Outcome::OverLimit,
            RequestKind::Read if self.bad.contains(&object) => Outcome::Failed,
            RequestKind::Write if self.is_worn => Outcome::Failed,
            RequestKind::Write => {
                self.bad.remove(&object);
                Outcome::Done
            }
            _ => Outcome::Done,
        }
    }

    /// The runs of workers that were held back, the oldest first.
    pub(crate) fn held_runs(&self) -> Vec<WorkerRun> {
        let run = |effect: &Effect| match effect {
            Effect::Compute(_, run, _) => Some(*run),
            _ => None,
        };
        self.held.iter().filter_map(run).collect()
    }

    /// The copies' parts of writes that were held back, the oldest first.
    pub(crate) fn held_writes(&self) -> Vec<WriteTag> {
        let tag = |effect: &Effect| match effect {
            Effect::Send(envelope) => match &envelope.message {
                Message::Write(write) => Some(write.tag),
                _ => None,
            },
            _ => None,
        };
        self.held.iter().filter_map(tag).collect()
    }

    /// How many of the effects that were held back are like this.
    pub(crate) fn held(&self, like: impl Fn(&Effect) -> bool) -> usize {
        self.held.iter().filter(|effect| like(effect)).count()
    }

    /// The oldest effects that were held back never happen.
    pub(crate) fn drop_held(&mut self, count: usize) {
        self.held.drain(..count);
    }

    /// Answers what was held back, and goes on holding back.
    pub(crate) fn answer_held(&mut self) {
        std::mem::take(&mut self.held).into_iter().for_each(|effect| self.answer(effect));
    }

    /// Answers what was held back.
    pub(crate) fn release(&mut self) {
        self.holds = |_| false;
        self.todo.extend(self.held.drain(..).map(Asked::World));
    }

    /// Lets the first of the effects that are held happen.
    pub(crate) fn release_one(&mut self) {
        let first = self.held.remove(0);
        self.answer(first);
        self.run();
    }

    /// Answers effects until none is left but timers later than `until`; returns what was seen.
    pub(crate) fn run_until(&mut self, until: Time) -> Vec<String> {
        loop {
            while let Some(asked) = self.todo.pop_front() {
                match asked {
                    Asked::World(effect) if (self.holds)(&effect) => self.held.push(effect),
                    Asked::World(effect) => self.answer(effect),
                    Asked::Owner(osd, notice) => self.told(osd, &notice),
                }
            }
            if !self.fire_next_timer(until) {
                return std::mem::take(&mut self.seen);
            }
        }
    }

    /// Answers effects at the present time.
    pub(crate) fn run(&mut self) -> Vec<String> {
        let now = self.now;
        self.run_until(now)
    }

    /// What is seen must be this.
    #[track_caller]
    pub(crate) fn check(&mut self, expected: &[&str]) {
        assert_eq!(self.run(), expected);
    }

    fn fire_next_timer(&mut self, until: Time) -> bool {
        let due = |effect: &Effect| match effect {
            Effect::Timer(_, at, _) if *at <= until => Some(*at),
            _ => None,
        };
        let next = self.held.iter().enumerate().filter_map(|(i, e)| Some((due(e)?, i))).min();
        let Some((at, index)) = next else { return false };
        self.now = self.now.max(at);
        let Effect::Timer(osd, _, timer) = self.held.remove(index) else { unreachable!() };
        self.step(osd, Event::Timer(timer));
        true
    }

    fn told(&mut self, osd: OsdId, notice: &Notice) {
        self.seen.push(match notice {
            Notice::Stopped(fault, _) => format!("{osd} stopped: {fault}"),
            Notice::Recovered(pg, interval) => format!("{pg} recovered in {interval}"),
            Notice::Lacking(_, _, osds) => return self.lacking = Some(*osds),
            Notice::Joined(..) | Notice::Unfound(..) | Notice::Copy(..) | Notice::FoundBad(..) => {
                return;
            }
            other => unreachable!("not of a direct store: {other:?}"),
        });
    }

    fn answer(&mut self, effect: Effect) {
        match effect {
            Effect::Compute(osd, run, _) => {
                self.computed += 1;
                self.step(osd, Event::Computed(run));
            }
            Effect::Timer(..) => self.held.push(effect),
            Effect::Device(osd, submission) => {
                let class = class_name(submission.request.class.0);
                let Request { kind, length, priority, duration_limit, .. } = submission.request;
                let limit = duration_limit.map_or(String::new(), |limit| {
                    format!(" within {limit} by {:#06x}", priority.word())
                });
                self.seen.push(format!("{osd}: {kind:?} of {} as {class}{limit}", length.get()));
                let outcome = self.outcome(osd, &submission.request);
                self.step(osd, Event::DeviceDone(submission.id, outcome));
            }
            Effect::Send(envelope) => {
                let from = envelope.from.expect("no OSD sends as the router");
                let what = message_name(&envelope.message);
                self.seen.push(format!("{from} to {}: {what}", envelope.to));
                self.step(envelope.to, Event::Message(envelope));
            }
            Effect::Reply(reply) => {
                let failed = if reply.result.is_err() { " failed" } else { "" };
                self.seen.push(format!("reply {}{failed}", reply.op.number));
                self.replies.push(*reply);
            }
            Effect::Trace(_) => {}
            other => unreachable!("not of a direct store: {other:?}"),
        }
    }
}

pub(crate) fn class_name(tag: u8) -> &'static str {
    ServiceClass::from_id(ClassId::new(u32::from(tag))).expect("a class of the table").name()
}

fn message_name(message: &Message) -> String {
    match message {
        Message::Write(write) => format!("write {}", write.object.0),
        Message::WriteDone(..) => "write done".to_owned(),
        Message::Push(push) if push.meta.is_none() => format!("push absence of {}", push.object.0),
        Message::Push(push) => format!("push {}", push.object.0),
        Message::PushHistory(object, HistoryPush::Begin { .. }) => {
            format!("push of {} with a past", object.0)
        }
        Message::PushHistory(object, HistoryPush::State { state, .. }) => {
            format!("push {} at {}", object.0, state.label.0)
        }
        Message::HistoryStored(object, label) => format!("stored {} at {}", object.0, label.0),
        Message::PushReply(object) => format!("push reply {}", object.0),
        Message::PushAsked(bytes) => format!("asked to push {bytes}"),
        Message::PushAllowed => "allowed to push".to_owned(),
        Message::Pull(object) => format!("pull {}", object.0),
        Message::Scan(range) => format!("scan after {:?}", range.after.map(|object| object.0)),
        Message::ScanReply(reply) => format!("scan reply with {}", reply.objects.len()),
        Message::Scrub(message) => scrub_name(message),
        Message::Reserve(kind, priority) => format!("reserve {kind:?} {priority}"),
        Message::ReserveGranted => "granted".to_owned(),
        Message::ReserveRevoked => "revoked".to_owned(),
        Message::ReserveReleased => "released".to_owned(),
        Message::ReserveTooFull => "too full".to_owned(),
        Message::NoRoom(object) => format!("no room for {}", object.0),
        Message::Unreadable(object) => format!("unreadable {}", object.0),
        Message::WhatIsLeft(object) => format!("what is left of {}", object.0),
        Message::Left(object, left) => format!("{} is left in {left:?}", object.0),
        Message::Settle(settlement) => {
            format!("{} counts as {:?}", settlement.object.0, settlement.left)
        }
        Message::Settled(object) => format!("settled {}", object.0),
        Message::WriteMissed(_, object) => format!("write missed {}", object.0),
        Message::WriteDoubted(..)
        | Message::GoPast(..)
        | Message::Unwritten(..)
        | Message::Mend(..) => {
            unreachable!("copies without bytes have none to lose or to lend")
        }
        Message::Op(_) => unreachable!("no OSD sends an op"),
    }
}

fn scrub_name(message: &ScrubMessage) -> String {
    match message {
        ScrubMessage::Reserve(_) => "reserve for scrub".to_owned(),
        ScrubMessage::Granted(_) => "granted for scrub".to_owned(),
        ScrubMessage::Waits(_) => "stands in line for scrub".to_owned(),
        ScrubMessage::Called(_) => "called for scrub".to_owned(),
        ScrubMessage::Refused(_) => "refused for scrub".to_owned(),
        ScrubMessage::Released => "released by scrub".to_owned(),
        ScrubMessage::Scan(asked) => {
            let end = |end: Option<ObjectNo>| end.map_or("-".to_owned(), |end| end.0.to_string());
            format!("look at {} to {}", end(asked.range.after), end(asked.range.last))
        }
        ScrubMessage::Map(map) => format!("map of {}", map.states.len()),
        ScrubMessage::Record(digests) => format!("record {} digests", digests.len()),
        ScrubMessage::Recall => "what is known of scrubs?".to_owned(),
        ScrubMessage::Known(record) => format!("scrub found {}", record.findings.counts.all()),
    }
}

/// An interval of three copies on these OSDs in which nothing is missing.
pub(crate) fn interval(number: u32, acting: &[u32]) -> Activation {
    Activation {
        interval: number,
        term: 0,
        acting: acting.iter().map(|osd| OsdId::new(*osd)).collect(),
        copies: acting.len() as u32,
        missing: Vec::new(),
        damaged: Vec::new(),
        asynchronous: OsdSet::EMPTY,
        backfill: Vec::new(),
        object_bytes: 4096,
        recovery_priority: 0,
        index_in_pool: 0,
        log: None,
        before: IntervalId::NEVER,
    }
}

/// The same, with an acting OSD that misses objects.
pub(crate) fn missing(activation: Activation, osd: u32, objects: &[u64]) -> Activation {
    let objects: BTreeSet<ObjectNo> = objects.iter().map(|object| ObjectNo(*object)).collect();
    let mut missing = activation.missing;
    missing.push((OsdId::new(osd), objects));
    Activation { missing, ..activation }
}

/// The same, with an OSD that is filled by scanning.
pub(crate) fn filling(activation: Activation, osd: u32) -> Activation {
    Activation { backfill: vec![OsdId::new(osd)], ..activation }
}
