//! What leaves a node, and what does not, by what takes time.

use super::{Delays, Node};
use loadline_base::{Span, Time};
use loadline_cluster::settings::{Enforcement, Settings};
use loadline_cluster::{Config, PoolId, PoolSpec, Target};
use loadline_device::{Medium, Outcome};
use loadline_osd::{ClientId, Data, Effect, Event, OpKind, OsdId, Policy};
use loadline_qos::LOADLINE_PRESET;
use loadline_store::ObjectNo;

/// What the world sees of one write of two copies: drives answer at once, and so does all that takes time.
fn seen(delays: Delays) -> Vec<&'static str> {
    let osd = OsdId::new(0);
    let settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
    let config = Config {
        osds: 2,
        placement_seed: 1,
        policy: Policy { plan: settings.plan(osd), seed: 1 },
        options: settings.osd_options(osd),
    };
    let mut node = Node::new(&config, delays);
    let (name, object_bytes) = ("pool".to_owned(), 1 << 20);
    let spec = PoolSpec { name, pgs: 1, copies: 2, object_bytes, recovery_priority: 0 };
    node.change(Time::ZERO, |cluster, fx| cluster.create_pool(spec, fx));
    let target = Target {
        client: ClientId::new(0),
        kind: OpKind::Write,
        traced: false,
        background: false,
        pool: PoolId::new(0),
        object: ObjectNo(1),
        offset: 0,
        length: 4096,
    };
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
                Effect::Compute(osd, run) => {
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
