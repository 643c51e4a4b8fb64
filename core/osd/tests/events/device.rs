//! On what terms requests go to the device, what follows when it ends one for time, and who waits where before it.

use crate::bench::{Bench, PG, interval, options, plan};
use loadline_base::{Bytes, Span};
use loadline_device::{Priority, PriorityClass};
use loadline_osd::{
    Aside, ChosenLimit, ClassTerms, ClientId, ClientOp, DeviceTerms, Effect, Message, OpId, OpKind,
    OsdOptions, Windowed,
};
use loadline_qos::{SchedulerKind, ServiceClass};
use loadline_store::{ObjectNo, WindowBounds};

fn limited() -> OsdOptions {
    let terms = ClassTerms {
        priority: Priority::new(PriorityClass::BestEffort, 0),
        reads: Some(ChosenLimit { limit: Span::from_millis(50), descriptor: 1 }),
        writes: None,
    };
    OsdOptions { device: DeviceTerms::default().with(ServiceClass::Client, terms), ..options() }
}

fn bench(scheduler: SchedulerKind, options: OsdOptions) -> Bench {
    let mut bench = Bench::new(1, plan("loadline", scheduler), options);
    bench.fill(0, &[1]);
    bench.activate(PG, interval(2, &[0]));
    bench.run();
    bench
}

#[test]
fn a_class_puts_its_limit_on_reads_and_none_on_writes_without_a_descriptor() {
    let mut bench = bench(SchedulerKind::Mclock, limited());
    bench.op(1, OpKind::Read, 1, 2);
    bench.check(&["osd.0: Read of 4096 as client within 50 ms by 0x4008", "reply 1"]);
    bench.op(2, OpKind::Write, 1, 2);
    bench.check(&["osd.0: Write of 4096 as client", "reply 2"]);
}

/// Ended for time is neither read nor damaged: the op goes on with the same request without a limit.
#[test]
fn a_request_that_is_ended_for_time_is_asked_again_without_a_limit() {
    let mut bench = bench(SchedulerKind::Mclock, limited());
    bench.end_limited();
    bench.op(1, OpKind::Read, 1, 2);
    bench.check(&[
        "osd.0: Read of 4096 as client within 50 ms by 0x4008",
        "osd.0: Read of 4096 as client",
        "reply 1",
    ]);
    assert_eq!(bench.osds[0].over_limit(), 1);
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// A drive that ended everything for time got the same requests for ever.
#[test]
fn what_is_ended_for_time_without_a_limit_has_failed() {
    let mut bench = bench(SchedulerKind::Mclock, options());
    bench.end_all();
    bench.op(1, OpKind::Read, 1, 2);
    let read = "osd.0: Read of 4096 as client";
    bench.check(&[read, read, "reply 1 failed"]);
    bench.op(2, OpKind::Write, 1, 2);
    let write = "osd.0: Write of 4096 as client";
    bench.check(&[write, write, "osd.0 stopped: the device could not write"]);
}

/// An answer to the life before a crash starts nothing anew.
#[test]
fn what_a_crash_has_forgotten_is_not_asked_again() {
    let mut bench = bench(SchedulerKind::Mclock, limited());
    bench.end_limited();
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.op(1, OpKind::Read, 1, 2);
    bench.check(&[]);
    bench.restart(0);
    bench.release();
    bench.check(&["osd.0: Read of 4096 as client within 50 ms by 0x4008"]);
}

/// With one worker and a window of one op, one read is at the device and the others wait where the scheduler orders them.
/// What a client declares as background work goes in that class.
#[test]
fn reads_wait_in_the_queue_while_the_window_is_full() {
    let window = WindowBounds { bytes: Bytes::from_mib(1), ops: 1 };
    let options = OsdOptions { threads_per_shard: 1, window, windowed: Windowed::All, ..options() };
    let mut bench = bench(SchedulerKind::Fifo, options);
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.op(1, OpKind::Read, 1, 2);
    bench.check(&[]);
    let background = ClientOp {
        id: OpId { slot: loadline_base::SlotId::new(2), number: 2 },
        client: ClientId::new(2),
        kind: OpKind::Read,
        traced: false,
        background: true,
        resent: false,
        aside: Aside::NONE,
        pg: PG,
        object: ObjectNo(1),
        offset: 0,
        length: 8192,
        given: loadline_osd::GivenOps::default(),
    };
    bench.message(None, 0, PG, 2, Message::Op(background));
    bench.op(3, OpKind::Read, 1, 2);
    bench.check(&[]);
    let now = bench.now;
    let waiting: usize = bench.osds[0].waiting(now).iter().map(|(_, items)| items.len()).sum();
    assert_eq!(waiting, 2);
    bench.release();
    bench.check(&[
        "osd.0: Read of 4096 as client",
        "reply 1",
        "osd.0: Read of 8192 as background_best_effort",
        "reply 2",
        "osd.0: Read of 4096 as client",
        "reply 3",
    ]);
}
