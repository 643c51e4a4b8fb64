//! What an OSD with a disk tells the owner of the map.

use crate::bench::{PG, interval};
use crate::benchmark::Rig;
use loadline_base::SlotId;
use loadline_device::RequestKind;
use loadline_osd::{
    ClientId, ClientOp, Data, Directive, Envelope, Event, GivenOps, Message, Notice, OpId, OpKind,
    OsdId,
};
use loadline_qos::Urgency;
use loadline_store::{ObjectNo, Version};

fn write() -> Event {
    let op = ClientOp {
        id: OpId { slot: SlotId::new(1), number: 1 },
        client: ClientId::new(1),
        kind: OpKind::Write,
        traced: false,
        background: false,
        resent: false,
        pg: PG,
        object: ObjectNo(1),
        offset: 0,
        length: 4096,
        given: GivenOps::default(),
    };
    let (message, data) = (Message::Op(op), Data::new(vec![1; 4096]));
    let (to, urgency) = (OsdId::new(0), Urgency::default());
    Event::Message(Envelope { from: None, to, pg: PG, interval: 2, urgency, message, data })
}

fn copies(rig: &Rig) -> usize {
    rig.told.iter().filter(|notice| matches!(notice, Notice::Copy(PG, 3, Some(_)))).count()
}

/// The owner wrote to others' disks that they lacked what a log told of. Then the power went, and took the log's last entries with it, which
/// the log mode had answered before they were durable: nobody had what others lacked.
#[test]
fn a_copy_is_told_when_all_of_it_is_durable() {
    let mut rig = Rig::new();
    rig.step(Event::Directive(Directive::Join));
    rig.step(Event::Directive(Directive::Activate(PG, Box::new(interval(2, &[0])))));
    rig.run_until(|rig| rig.told.contains(&Notice::Activated(PG, 2)));
    rig.step(write());
    rig.asked.clear();
    rig.step(Event::Directive(Directive::Query(PG, 3)));
    assert_eq!(copies(&rig), 0, "its last write is under way");
    rig.run_until(|rig| copies(rig) == 1);
    let flushes = rig.asked.iter().filter(|request| request.kind == RequestKind::Flush).count();
    assert!(flushes > 0, "{:?}", rig.asked);
    let Some(Notice::Copy(_, _, Some(copy))) = rig.told.pop() else { panic!("{:?}", rig.told) };
    assert!(copy.state().log.head() > Version(0));
}
