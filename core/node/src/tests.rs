//! What leaves a node, and what does not, by what takes time.

use super::{Delays, Lateness, Node, OtherRacks, PgReport, Rack};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::images::{ImageId, JobId, JobWork, PendingJob, SnapshotId, View};
use loadline_cluster::settings::{Enforcement, Settings};
use loadline_cluster::{Config, OsdState, Placement, PoolId, PoolSpec, Target};
use loadline_device::{Medium, Outcome, RequestKind};
use loadline_osd::{
    ClientId, Data, Effect, Envelope, Event, Message, OpKind, OsdId, PgProgress, Policy, Push,
};
use loadline_qos::LOADLINE_PRESET;
use loadline_store::paged;
use loadline_store::{ObjectMeta, ObjectNo};
use std::cell::{Cell, RefCell};
use std::ops::DerefMut;
use std::rc::Rc;

/// Two OSDs on direct stores with one pool of one group and two copies.
pub(crate) fn node(delays: Delays) -> Node {
    node_of(2, delays)
}

fn config(osds: u32) -> Config {
    let osd = OsdId::new(0);
    let settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
    Config {
        osds,
        placement: Placement::Even,
        placement_seed: 1,
        policy: Policy { plan: settings.plan(osd), seed: 1 },
        options: settings.osd_options(osd),
    }
}

/// The same of so many OSDs.
fn node_of(osds: u32, delays: Delays) -> Node {
    let mut node = Node::new(&config(osds), delays);
    let (name, object_bytes) = ("pool".to_owned(), 1 << 20);
    let spec = PoolSpec { name, pgs: 1, copies: 2, object_bytes, recovery_priority: 0 };
    node.change(Time::ZERO, |cluster, fx| cluster.create_pool(spec, fx));
    node
}

/// A client's write of an object.
pub(crate) fn write(object: u64) -> Target {
    Target {
        client: ClientId::new(0),
        kind: OpKind::Write,
        traced: false,
        background: false,
        pool: PoolId::new(0),
        object: ObjectNo(object),
        offset: 0,
        length: 4096,
    }
}

/// What the world sees of one write of two copies: drives answer at once, and so does all that takes time.
fn seen(delays: Delays) -> Vec<&'static str> {
    let (mut node, target) = (node(delays), write(1));
    let (_, envelope) = node.cluster_mut().issue(Time::ZERO, &target, Data::NONE);
    node.send(envelope.expect("the group is served"));
    assert!(!node.is_settled());
    let mut seen = Vec::new();
    loop {
        while let Some(effect) = node.next(Time::ZERO) {
            match effect {
                Effect::Device(osd, submission) => {
                    seen.push("request");
                    node.happened(osd, Event::DeviceDone(submission.id, Outcome::Done));
                }
                Effect::Send(envelope) => {
                    seen.push("message");
                    node.happened(envelope.to, Event::Message(envelope));
                }
                Effect::Compute(osd, run, _) => {
                    seen.push("work");
                    node.happened(osd, Event::Computed(run));
                }
                Effect::Reply(_) => seen.push("reply"),
                effect => unreachable!("not of a write: {effect:?}"),
            }
        }
        if !node.fire(node.next_timer()) {
            assert!(node.is_settled());
            seen.sort_unstable();
            return seen;
        }
    }
}

#[test]
fn what_takes_no_time_never_leaves_the_node() {
    assert_eq!(seen(Delays::default()), ["reply", "request", "request"]);
    let link = Delays { link: Span::from_nanos(1), ..Delays::default() };
    assert_eq!(seen(link), ["message", "message", "message", "reply", "request", "request"]);
    let worker = Delays { worker: Span::from_nanos(1), ..Delays::default() };
    assert_eq!(seen(worker), ["reply", "request", "request", "work", "work", "work"]);
}

fn push_of(bytes: u64) -> Message {
    let meta = Some(ObjectMeta { length: bytes, ..ObjectMeta::default() });
    Message::Push(Push { object: ObjectNo(1), meta, base: None, bytes, pulled: false })
}

#[test]
fn a_push_takes_longer_than_other_messages() {
    let (link, link_mib) = (Span::from_micros(5), Span::from_micros(70));
    let delays = Delays { link, link_mib, ..Delays::default() };
    assert_eq!(delays.of(&push_of(4 << 20)), link + link_mib * 4);
    assert_eq!(delays.of(&push_of(1 << 19)), link + link_mib / 2);
    assert_eq!(delays.of(&Message::PushReply(ObjectNo(1))), link);
}

/// Without a link a write arrives at once, and a push still takes the time that its bytes take.
#[test]
fn a_push_leaves_the_node_though_the_link_takes_no_time() {
    let mut node = node(Delays { link_mib: Span::from_micros(70), ..Delays::default() });
    let (_, issued) = node.cluster_mut().issue(Time::ZERO, &write(1), Data::NONE);
    let issued = issued.expect("the group is served");
    node.send(Box::new(Envelope { message: push_of(1 << 20), ..*issued }));
    let leaves = matches!(node.next(Time::ZERO), Some(Effect::Send(_)));
    assert!(leaves && node.is_settled());
}

#[test]
fn what_is_sent_leaves_in_its_order() {
    let mut node = node(Delays { link: Span::from_nanos(1), ..Delays::default() });
    for object in 0..5 {
        let issued = node.cluster_mut().issue(Time::ZERO, &write(object), Data::NONE);
        node.send(issued.1.expect("the group is served"));
    }
    let sent = std::iter::from_fn(|| node.next(Time::ZERO)).map(|effect| match effect {
        Effect::Send(envelope) => format!("{:?}", envelope.message),
        effect => unreachable!("nothing has arrived yet: {effect:?}"),
    });
    let sent: Vec<String> = sent.collect();
    assert_eq!(sent.len(), 5);
    let names = |at: usize| sent[at].contains(&format!("{:?}", ObjectNo(at as u64)));
    assert!((0..5).all(names), "{sent:?}");
}

/// The owner takes an OSD down, and what it tells the others about it is on its way for a while.
#[test]
fn a_letter_on_its_way_is_waited_for() {
    let mut node = node(Delays::default());
    node.be_late(Lateness { seed: 1, most: Span::from_millis(5) });
    let state = OsdState { up: false, is_in: true };
    node.change(Time::ZERO, |cluster, fx| cluster.set_osd(OsdId::new(1), state, fx));
    let due = node.next_timer();
    assert!(Time::ZERO < due && due <= Time::ZERO + Span::from_millis(5), "{due}");
    assert!(!node.fire(due - Span::from_nanos(1)));
    assert!(node.fire(due));
}

#[test]
fn a_group_is_told_by_who_serves_it() {
    let mut node = node(Delays::default());
    let pg = node.cluster().map().pg_of(PoolId::new(0), ObjectNo(1));
    let told = |node: &mut Node| {
        let PgReport { down, active, clean, undersized, .. } = node.pg_report(pg);
        (down, active, clean, undersized)
    };
    assert_eq!(told(&mut node), (false, true, true, false));
    node.prefill(PoolId::new(0), ObjectNo(0), 3);
    assert_eq!((node.pg_report(pg).copies, node.copies_that_differ()), (6, Vec::new()));
    let replica = node.cluster().map().pg(pg).acting[1];
    node.osd(replica).prefill(pg, [ObjectNo(9)], 4096);
    assert_eq!(node.copies_that_differ(), [(pg, replica)]);
    let state = OsdState { up: false, is_in: true };
    node.change(Time::ZERO, |cluster, fx| cluster.set_osd(replica, state, fx));
    assert_eq!(told(&mut node), (false, true, false, true));
}

/// A copy that cannot be read is found in the middle of an interval: the group is not clean until that is whole again. (It was
/// `active+clean+degraded+recovery_wait`.)
#[test]
fn a_group_with_a_bad_copy_is_not_clean() {
    let mut node = node(Delays::default());
    let pool = PoolId::new(0);
    node.prefill(pool, ObjectNo(0), 3);
    let pg = node.cluster().map().pg_of(pool, ObjectNo(1));
    let read = Target { kind: OpKind::Read, ..write(1) };
    let (_, envelope) = node.cluster_mut().issue(Time::ZERO, &read, Data::NONE);
    node.send(envelope.expect("the group is served"));
    let (mut now, mut is_bad, mut degraded) = (Time::ZERO, true, 0);
    loop {
        while let Some(effect) = node.next(now) {
            let report = node.pg_report(pg);
            let is_whole = report.progress == PgProgress::default() && report.recovery.is_none();
            assert!(!report.clean || is_whole, "{report:?}");
            degraded = degraded.max(report.progress.degraded);
            match effect {
                Effect::Device(osd, submission) => {
                    let is_read = submission.request.kind == RequestKind::Read;
                    let fails = is_read && std::mem::take(&mut is_bad);
                    let outcome = if fails { Outcome::Failed } else { Outcome::Done };
                    node.happened(osd, Event::DeviceDone(submission.id, outcome));
                }
                Effect::Reply(reply) => assert!(reply.result.is_ok()),
                effect => unreachable!("not of a read: {effect:?}"),
            }
        }
        now = node.next_timer();
        if now == Time::MAX {
            break;
        }
        assert!(node.fire(now));
    }
    assert_eq!((degraded, node.pg_report(pg).clean), (1, true), "it was mended");
}

/// Of three OSDs the two that hold a group serve it until the third, which is to take one's place, has its objects.
#[test]
fn a_group_that_moves_is_remapped() {
    let mut node = node_of(3, Delays::default());
    let pool = PoolId::new(0);
    let pg = node.cluster().map().pg_of(pool, ObjectNo(1));
    node.prefill(pool, ObjectNo(0), 3);
    assert!(!node.pg_report(pg).remapped);
    let replica = node.cluster().map().pg(pg).acting[1];
    let state = OsdState { up: true, is_in: false };
    node.change(Time::ZERO, |cluster, fx| cluster.set_osd(replica, state, fx));
    let PgReport { active, remapped, undersized, .. } = node.pg_report(pg);
    assert_eq!((active, remapped, undersized), (true, true, false));
}

/// What the first of a group's copies says that an object holds nothing counts when it serves the group, and no sooner: it may have
/// missed what was written. An op that was left away for it was an acknowledged zeroing that never happened.
#[test]
fn that_an_object_holds_nothing_only_who_serves_it_says() {
    let mut node = node_of(3, Delays::default());
    let pool = PoolId::new(0);
    let view = View {
        image: ImageId { family: 1, member: 0 },
        pool,
        size: 4 << 20,
        object_bytes: 1 << 20,
        read_at: SnapshotId::HEAD,
        newest: SnapshotId::HEAD,
        ancestors: Vec::new(),
    };
    let asked = |node: &mut Node| node.pieces_with_data(&view, (0, view.size)).len();
    assert_eq!(asked(&mut node), 0, "nothing was written");
    node.be_late(Lateness { seed: 1, most: Span::from_millis(5) });
    let pg = node.cluster().map().pg_of(pool, ObjectNo(1));
    let primary = node.cluster().map().pg(pg).acting[0];
    let state = OsdState { up: false, is_in: true };
    node.change(Time::ZERO, |cluster, fx| cluster.set_osd(primary, state, fx));
    assert_eq!(asked(&mut node), 4, "nobody serves them yet");
    while node.next_timer() < Time::MAX {
        let due = node.next_timer();
        assert!(node.fire(due));
        while node.next(due).is_some() {}
    }
    assert_eq!(asked(&mut node), 0, "another one does");
}

/// A disk is opened once more before anybody has carried out what its earlier life had asked of it. A write among that would meet the new
/// life's reads, or another disk that has taken the place of its own.
#[test]
fn what_an_ended_life_has_asked_of_its_disk_does_not_leave() {
    let requests = |openings: u32| {
        let mut node = Node::on_disks(&config(1), paged::Options::default(), Delays::default());
        for _ in 0..openings {
            let (osd, size) = (OsdId::new(0), Bytes::from_mib(64));
            node.change(Time::ZERO, |cluster, fx| cluster.open_osd(osd, size, fx));
        }
        let asked = std::iter::from_fn(|| node.next(Time::ZERO));
        let asked = asked.map(|effect| match effect {
            Effect::Io(_, life, io) => (life, io.request.offset),
            effect => unreachable!("nothing was read yet: {effect:?}"),
        });
        let (lives, offsets): (Vec<u32>, Vec<_>) = asked.unzip();
        assert!(!lives.is_empty() && lives.iter().all(|life| *life == openings));
        offsets
    };
    assert_eq!(requests(2), requests(1));
}

/// The racks of another loop, with how often one of them was asked for.
struct CountedRack(Rc<(RefCell<Rack>, Cell<usize>)>);

impl OtherRacks for CountedRack {
    fn hold(&self, _: OsdId) -> Option<Box<dyn DerefMut<Target = Rack> + '_>> {
        let (rack, asked) = &*self.0;
        asked.set(asked.get() + 1);
        Some(Box::new(rack.borrow_mut()))
    }

    fn hold_all(&self) -> Vec<Box<dyn DerefMut<Target = Rack> + '_>> {
        self.hold(OsdId::new(0)).into_iter().collect()
    }
}

/// Each time a rack is asked for, its loop goes on for a turn. A trim of 1,024 objects asked 1,024 times, and nobody else was served meanwhile.
#[test]
fn a_rack_is_asked_for_once_for_all_that_a_step_looks_at() {
    let mut node = node_of(3, Delays::default());
    let rack = node.rack().part(|_| true);
    let counted = Rc::new((RefCell::new(rack), Cell::new(0)));
    node.look_elsewhere(Box::new(CountedRack(Rc::clone(&counted))));
    let view = View {
        image: ImageId { family: 1, member: 0 },
        pool: PoolId::new(0),
        size: 1 << 30,
        object_bytes: 1 << 20,
        read_at: SnapshotId::HEAD,
        newest: SnapshotId::HEAD,
        ancestors: Vec::new(),
    };
    node.pieces_with_data(&view, (0, view.size));
    assert_eq!(counted.1.replace(0), 1);
    let (id, work) = (JobId(1), JobWork::Remove);
    let (image, pool) = (view.image, view.pool);
    node.part_of_job(&PendingJob { id, image, pool, work, next: 0, last: 1023 });
    assert_eq!(counted.1.get(), 1);
}
