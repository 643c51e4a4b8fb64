//! What an OSD with a disk tells the owner of the map.

use crate::bench::{PG, interval, write_of};
use crate::benchmark::Rig;
use loadline_device::RequestKind;
use loadline_osd::{Data, Directive, Envelope, Event, Message, Notice, OsdId};
use loadline_qos::Urgency;
use loadline_store::Version;

fn write() -> Event {
    let message = Message::Op(write_of(1, 1));
    let data = Data::new(vec![1; 4096]);
    let (to, urgency) = (OsdId::new(0), Urgency::default());
    let from = None;
    Event::Message(Box::new(Envelope { from, to, pg: PG, interval: 2, urgency, message, data }))
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
