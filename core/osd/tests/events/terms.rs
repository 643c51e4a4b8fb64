//! On what terms the requests go to the disk that a store makes for all of its ops: those of its log and of its checkpoints.

use crate::benchmark::{Rig, SHAPE};
use loadline_base::Span;
use loadline_device::{ClassTag, Priority, PriorityClass, Request, RequestKind};
use loadline_osd::{BenchStep, ChosenLimit, ClassTerms, DeviceTerms, Event};
use loadline_qos::ServiceClass;
use loadline_store::paged::Classes;

/// The benchmark's own writes are of the class that peering has.
const OPS: ServiceClass = ServiceClass::Immediate;
const LOG: ServiceClass = ServiceClass::Recovery;

fn classes(checkpoint: ServiceClass) -> Classes {
    let tag = |class: ServiceClass| ClassTag(class as u8);
    Classes { log: tag(LOG), checkpoint: tag(checkpoint), restart: tag(ServiceClass::Client) }
}

fn of(class: ServiceClass, asked: &[Request]) -> Vec<Request> {
    let tag = ClassTag(class as u8);
    asked.iter().copied().filter(|request| request.class == tag).collect()
}

/// Terms of a class with a limit on all that it does.
fn limited(priority: Priority) -> ClassTerms {
    let limit = Some(ChosenLimit { limit: Span::from_millis(50), descriptor: 1 });
    ClassTerms { priority, reads: limit, writes: limit }
}

/// Real-time reads of a client went before the log writes that its own writes waited for: the log's class asks for nothing,
/// and nobody else gave it a priority.
#[test]
fn the_log_is_as_urgent_as_the_most_urgent_class_and_has_no_limit() {
    let [none, rt, be, idle] = [
        PriorityClass::None,
        PriorityClass::RealTime,
        PriorityClass::BestEffort,
        PriorityClass::Idle,
    ];
    let check =
        |client: (PriorityClass, u8), log: (PriorityClass, u8), wanted: (PriorityClass, u8)| {
            let of_class = |(class, level)| limited(Priority::new(class, level));
            let terms = DeviceTerms::default()
                .with(ServiceClass::Client, of_class(client))
                .with(LOG, of_class(log));
            let mut rig = Rig::with(terms, classes(ServiceClass::BestEffort));
            rig.asked.clear();
            rig.bench(SHAPE, BenchStep::Fill).expect("there is room");
            rig.run_until(|rig| of(LOG, &rig.asked).iter().any(|io| io.kind == RequestKind::Flush));
            let log = of(LOG, &rig.asked);
            assert!(log.iter().any(|io| io.kind == RequestKind::Write));
            let wanted = Priority::new(wanted.0, wanted.1);
            assert!(
                log.iter().all(|io| io.priority == wanted && io.duration_limit.is_none()),
                "{client:?}: {:?}",
                log[0]
            );
        };
    check((rt, 2), (idle, 0), (rt, 2));
    check((be, 3), (rt, 0), (rt, 0));
    check((be, 3), (none, 0), (be, 3));
    check((be, 4), (none, 0), (none, 0));
    check((be, 7), (idle, 0), (none, 0));
}

#[test]
fn a_checkpoint_is_never_idle() {
    let check = |asked: Priority, wanted: Priority| {
        let terms = DeviceTerms::default().with(ServiceClass::BestEffort, limited(asked));
        let mut rig = Rig::with(terms, classes(ServiceClass::BestEffort));
        rig.bench(SHAPE, BenchStep::Fill).expect("there is room");
        rig.run_until(|rig| !of(ServiceClass::BestEffort, &rig.asked).is_empty());
        let request = of(ServiceClass::BestEffort, &rig.asked)[0];
        assert_eq!((request.kind, request.priority), (RequestKind::Write, wanted));
    };
    let best_effort = |level| Priority::new(PriorityClass::BestEffort, level);
    check(Priority::new(PriorityClass::Idle, 0), best_effort(7).with_descriptor(1));
    check(best_effort(2), best_effort(2).with_descriptor(1));
}

/// An op that had its turn in the queue had it a second time for each page that it read or wrote, if its class was the
/// checkpoint's: requests were told apart by their class.
#[test]
fn an_op_of_the_checkpoints_class_waits_for_one_turn_only() {
    let mut rig = Rig::with(DeviceTerms::default(), classes(OPS));
    rig.asked.clear();
    rig.step(Event::Bench(SHAPE, BenchStep::Fill));
    let is_own_write = |io: &Request| io.kind == RequestKind::Write && io.length.get() >= 64 << 10;
    rig.run_until(|rig| of(OPS, &rig.asked).iter().any(is_own_write));
    assert_eq!(rig.turns, 0);
}
