//! What is kept of writes on their way is, after any history, what counting all of them anew gives.

use crate::cluster::{Cluster, Config, OwnerEffects};
use crate::map::OsdState;
use crate::pool::PoolSpec;
use crate::router::tests::{READ, spec};
use crate::router::{Target, room_for};
use crate::served::LastServed;
use crate::settings::{Enforcement, Settings};
use crate::{IssuedOp, Placement};
use loadline_base::{Bytes, Time};
use loadline_device::Medium;
use loadline_osd::{
    AsideFor, Data, Directive, DiskRoom, Message, Notice, OpId, OpKind, OsdId, Policy,
};
use loadline_qos::LOADLINE_PRESET;
use loadline_store::ObjectNo;
use proptest::prelude::*;
use std::collections::BTreeSet;

const OSDS: u32 = 4;

#[derive(Clone, Debug)]
enum Step {
    Issue {
        kind: OpKind,
        object: u64,
        pages: u32,
    },
    /// The open op at this place ends.
    Finish(usize),
    /// An OSD goes, comes, leaves placement or is back in it.
    SetOsd(u32, bool, bool),
    /// An OSD says how much of its disk is free.
    Room(u32, u32),
    Look,
    /// So many of what OSDs were told are answered.
    Answer(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        4 => Just(OpKind::Write),
        1 => Just(OpKind::Zero),
        1 => Just(OpKind::Read)
    ];
    let step = prop_oneof![
        6 => (kind, 0_u64..40, 1_u32..128).prop_map(|(kind, object, pages)| Step::Issue { kind, object, pages }),
        3 => any::<usize>().prop_map(Step::Finish),
        1 => (0..OSDS, any::<bool>(), any::<bool>()).prop_map(|(osd, up, is_in)| Step::SetOsd(osd, up, is_in)),
        2 => (0..OSDS, 0_u32..100).prop_map(|(osd, free)| Step::Room(osd, free)),
        1 => Just(Step::Look),
        3 => (0_usize..40).prop_map(Step::Answer),
    ];
    prop::collection::vec(step, 1..150)
}

/// A cluster, and OSDs that answer what they are told, when they come to it.
struct History {
    cluster: Cluster,
    fx: OwnerEffects,
    lives: [u32; OSDS as usize],
    told: Vec<(OsdId, u32, Directive)>,
    /// Ops that were sent at some time.
    sent: BTreeSet<OpId>,
}

impl History {
    fn new() -> History {
        let osd = OsdId::new(0);
        let settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
        let mut cluster = Cluster::new(&Config {
            osds: OSDS,
            placement: Placement::Even,
            placement_seed: 1,
            policy: Policy { plan: settings.plan(osd), seed: 1 },
            options: settings.osd_options(osd),
        });
        let mut fx = OwnerEffects::default();
        cluster.create_pool(PoolSpec { pgs: 8, copies: 2, ..spec() }, &mut fx);
        let (lives, told, sent) = ([0; OSDS as usize], Vec::new(), BTreeSet::new());
        let mut history = History { cluster, fx, lives, told, sent };
        history.deliver();
        history.answer(usize::MAX);
        history
    }

    /// Ops and directives reach who is to have them.
    fn deliver(&mut self) {
        for envelope in self.fx.messages.drain(..) {
            let Message::Op(op) = envelope.message else { continue };
            self.sent.insert(op.id);
        }
        let lives = self.lives;
        let told = self.fx.directives.drain(..);
        self.told.extend(told.map(|(osd, it)| (osd, lives[osd.get() as usize], it)));
    }

    fn answer(&mut self, mut most: usize) {
        while most > 0 && !self.told.is_empty() {
            most -= 1;
            let (osd, life, directive) = self.told.remove(0);
            let notice = match directive {
                Directive::Query(pg, number) => {
                    // As if nobody had ever served it: whoever runs has all that there is.
                    self.cluster.map.pg_mut(pg).served = LastServed::default();
                    Notice::Copy(pg, number, None)
                }
                Directive::Activate(pg, activation) => Notice::Joined(pg, activation.interval),
                _ => continue,
            };
            self.cluster.heard(osd, life, notice, &mut self.fx);
            self.deliver();
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Issue { kind, object, pages } => {
                let object = ObjectNo(object);
                let target = Target { kind, object, length: pages * 4096, ..READ };
                let (_, message) = self.cluster.issue(Time::ZERO, &target, Data::NONE);
                self.fx.messages.extend(message);
            }
            Step::Finish(place) => {
                let open: Vec<OpId> =
                    self.cluster.open_ops().iter().map(|open| open.op.id).collect();
                if let Some(id) = (!open.is_empty()).then(|| open[place % open.len()]) {
                    self.cluster.finish(id);
                }
            }
            Step::SetOsd(osd, up, is_in) => {
                let osd = OsdId::new(osd);
                let was_up = self.cluster.map().osds()[osd].up;
                self.lives[osd.get() as usize] += u32::from(was_up && !up);
                self.cluster.set_osd(osd, OsdState { up, is_in }, &mut self.fx);
            }
            Step::Room(osd, free) => {
                let bytes = Bytes::new(16 << 20);
                let room = DiskRoom { free_percent: Some(free), bytes, waiting: 0 };
                let life = self.lives[osd as usize];
                self.cluster.heard(OsdId::new(osd), life, Notice::Room(room), &mut self.fx);
            }
            Step::Look => self.cluster.check_fullness(&mut self.fx),
            Step::Answer(most) => self.answer(most),
        }
        self.deliver();
    }

    /// Writes that were sent and do not wait for room count on every OSD that takes part in their group.
    fn by_definition(&self, osd: OsdId) -> u64 {
        let for_room =
            |it| matches!(it, AsideFor::Room | AsideFor::RoomOfEarlier | AsideFor::RoomOfSent);
        let counts = |open: &&&IssuedOp| {
            let state = self.cluster.map().pg(open.op.pg);
            let is_member = state.acting.contains(&osd) || state.backfill.contains(&osd);
            let waits = self.cluster.held_for(&open.op).is_some_and(for_room);
            is_member && self.sent.contains(&open.op.id) && !waits
        };
        let open = self.cluster.open_ops();
        open.iter().filter(counts).map(|open| room_for(&open.op)).sum()
    }
}

proptest! {
    #[test]
    fn what_is_on_its_way_is_the_sum_of_all_that_was_sent(steps in steps()) {
        let mut history = History::new();
        for step in steps {
            let shown = format!("{step:?}");
            history.take(step);
            for osd in (0..OSDS).map(OsdId::new) {
                let kept = history.cluster.router.sent_bytes(osd).get();
                prop_assert_eq!(kept, history.by_definition(osd), "on {} after {}", osd, shown);
            }
        }
    }
}

/// The history has what it is about: writes go again in another interval, wait for room, and go when there is some.
#[test]
fn writes_go_again_and_wait_and_count_once() {
    let mut history = History::new();
    let write = |object| Step::Issue { kind: OpKind::Write, object, pages: 4 };
    (0..20).for_each(|object| history.take(write(object)));
    assert_eq!(history.sent.len(), 20);
    let sums = |history: &History| {
        (0..OSDS).map(|osd| history.cluster.router.sent_bytes(OsdId::new(osd)).get()).sum::<u64>()
    };
    let all = 2 * 20 * (4 * 4096 + (16 << 10));
    assert_eq!(sums(&history), all);
    history.take(Step::SetOsd(0, false, true));
    history.take(Step::Answer(usize::MAX));
    assert_eq!(history.cluster.router.sent_bytes(OsdId::new(0)).get(), 0);
    (1..OSDS).for_each(|osd| history.take(Step::Room(osd, 1)));
    history.take(Step::SetOsd(0, true, true));
    history.take(Step::Answer(usize::MAX));
    assert!(history.cluster.held_writes() > 0 && sums(&history) < all);
    (0..OSDS).for_each(|osd| history.take(Step::Room(osd, 99)));
    history.take(Step::Look);
    assert_eq!((history.cluster.held_writes(), sums(&history)), (0, all));
}

/// Two writes that had been sent waited for room. Each counted the other as on its way, so neither went where there was room for one.
#[test]
fn writes_that_wait_for_room_do_not_wait_for_each_other() {
    let mut history = History::new();
    let write = || Step::Issue { kind: OpKind::Write, object: 0, pages: 256 };
    history.take(write());
    history.take(write());
    let pg = history.cluster.open_ops()[0].op.pg;
    let primary = history.cluster.map().pg(pg).acting[0].get();
    (0..OSDS).for_each(|osd| history.take(Step::Room(osd, 1)));
    history.take(Step::SetOsd(primary, false, true));
    history.take(Step::Answer(usize::MAX));
    assert_eq!((history.sent.len(), history.cluster.held_writes()), (2, 2));
    (0..OSDS).for_each(|osd| history.take(Step::Room(osd, 14)));
    history.take(Step::Look);
    assert_eq!(history.cluster.held_writes(), 1);
}
