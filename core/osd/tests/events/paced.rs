//! A disk of bytes that holds back background work beside clients, and clients beside an image that is promised something.

use crate::bench::{PG, interval, write_of};
use crate::benchmark::Rig;
use loadline_base::Span;
use loadline_osd::{
    ClientOp, Data, Delay, DelayCause, Directive, Envelope, Event, Message, OpKind, OsdId, Stage,
    TenantTable, TenantTerms, WriteTag,
};
use loadline_qos::Urgency;
use loadline_store::paged::LostEnds;
use std::sync::Arc;

const OSD: OsdId = OsdId::new(0);

impl Rig {
    /// The OSD leads a group with others, or alone.
    fn lead_with(&mut self, number: u32, acting: &[u32]) {
        self.step(Event::Directive(Directive::Join));
        self.osd.place(PG, 0);
        let activation = Box::new(interval(number, acting));
        self.step(Event::Directive(Directive::Activate(PG, activation)));
        self.step(Event::Directive(Directive::Serve(PG, number)));
    }

    fn message(&mut self, from: Option<OsdId>, interval: u32, message: Message, data: Data) {
        let (to, pg, urgency) = (OSD, PG, Urgency::default());
        let envelope = Envelope { from, to, pg, interval, urgency, message, data };
        self.step(Event::Message(Box::new(envelope)));
    }

    /// A client writes so many bytes from here on.
    fn write(&mut self, interval: u32, number: u32, object: u64, (offset, length): (u32, u32)) {
        let op = ClientOp { kind: OpKind::Write, offset, length, ..write_of(number, object) };
        self.message(None, interval, Message::Op(op), Data::new(vec![7; length as usize]));
    }

    /// The parts of writes that the other copy got, the oldest first.
    fn parts(&self) -> Vec<WriteTag> {
        let tag = |envelope: &Envelope| match &envelope.message {
            Message::Write(write) => Some(write.tag),
            _ => None,
        };
        self.sent.iter().filter_map(tag).collect()
    }
}

/// Another image is promised ops, so that clients have a window. An update waits for what the other copy says of a page that is not read here, another one
/// of its group stands behind it, and with both the window is full: the other copy's answer waited in the queue for the window, and the window
/// for the answer.
#[test]
fn a_word_about_an_update_in_doubt_passes_a_full_window() {
    let mut rig = Rig::paced();
    rig.lead_with(1, &[0, 1]);
    rig.write(1, 1, 1, (0, 512 << 10));
    rig.settle();
    rig.step(Event::Directive(Directive::Crash));
    rig.open();
    rig.lead_with(2, &[0, 1]);
    rig.settle();
    let terms =
        TenantTerms { reservation: 100.0, weight: 1.0, limit: 0.0, burst: Span::ZERO, copies: 2 };
    let table = Arc::new(TenantTable { osds: 2, images: [(5, terms)].into() });
    rig.step(Event::Directive(Directive::ShareImages(table)));
    rig.is_unreadable = true;
    rig.sent.clear();
    rig.write(2, 2, 1, (5_000, 10));
    rig.write(2, 3, 2, (0, 4096));
    rig.settle();
    let parts = rig.parts();
    assert_eq!((parts.len(), rig.replies.len()), (2, 0));
    let (stage, cause) = (Stage::Worker, DelayCause::Worker);
    let delay = Delay { osd: OsdId::new(1), stage, span: Span::ZERO, cause };
    rig.message(
        Some(OsdId::new(1)),
        2,
        Message::WriteDone(parts[0], delay, LostEnds::default()),
        Data::NONE,
    );
    let until = rig.now() + Span::from_secs(1);
    rig.run_until(|rig| rig.is_answered(2) || rig.now() > until);
    assert!(rig.is_answered(2), "{:?}", rig.osd.unfinished());
}
